"""What each queue is entitled to: its guarantee, or its weight's share of what guarantees leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cede.sim.result import Queue, Result


@dataclass(frozen=True, slots=True)
class Entitlement:
    """Nano-units of one resource. `guaranteed` is none where the queue has no guarantee of it."""

    entitled: Fraction
    guaranteed: int | None


def entitlements(result: Result, resource: str, names: Iterable[str]) -> dict[str, Entitlement]:
    """Of each of these queues, which are those that had jobs.

    Below each parent (or in the whole cluster) what the guarantees of its children leave is divided by weight among
    those children that have no guarantee and had jobs in or below them.
    """
    wanted = set(names)
    known = {queue.name: queue for queue in result.queues}
    every = [*result.queues, *(Queue(name, None, None, 1.0) for name in sorted(wanted - known.keys()))]
    below: dict[str | None, list[Queue]] = {}
    for queue in every:
        below.setdefault(queue.parent if queue.parent in known else None, []).append(queue)
    busy = _with_jobs(every, wanted)
    found: dict[str, Entitlement] = {}
    _divide(below, None, Fraction(result.capacity.get(resource, 0)), resource, busy, found)
    return {name: found[name] for name in sorted(wanted) if name in found}


def _with_jobs(queues: Sequence[Queue], wanted: set[str]) -> set[str]:
    """The queues with jobs, and all above them."""
    parents = {queue.name: queue.parent for queue in queues}
    busy: set[str] = set()
    for name in wanted:
        at: str | None = name
        while at is not None and at not in busy:
            busy.add(at)
            at = parents.get(at)
    return busy


def _divide(
    below: Mapping[str | None, Sequence[Queue]],
    parent: str | None,
    whole: Fraction,
    resource: str,
    busy: set[str],
    found: dict[str, Entitlement],
) -> None:
    children = below.get(parent, ())
    promised = {queue.name: _guaranteed(queue, resource) for queue in children}
    left = max(Fraction(0), whole - sum(amount for amount in promised.values() if amount is not None))
    sharing = {queue.name: Fraction(queue.weight) for queue in children if promised[queue.name] is None}
    weights = sum((weight for name, weight in sharing.items() if name in busy), Fraction(0))
    for queue in children:
        own = promised[queue.name]
        share = left * sharing[queue.name] / weights if queue.name in sharing and weights else Fraction(0)
        entitled = share if own is None else Fraction(own)
        found[queue.name] = Entitlement(entitled, own)
        _divide(below, queue.name, entitled, resource, busy, found)


def _guaranteed(queue: Queue, resource: str) -> int | None:
    return None if queue.guaranteed is None else queue.guaranteed.get(resource)
