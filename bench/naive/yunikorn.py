"""One preemption attempt of YuniKorn 1.9 as one writes it down first: copies of the queues, two passes on all nodes.

The delay, reservations and required nodes are left out: the clusters of the benchmark have nothing of them to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.naive.yunikorn_amounts import (
    Amounts,
    add,
    clip,
    covers,
    fill,
    fits,
    fits_actual,
    fits_undefined,
    least,
    over,
    same,
    sub,
    sub_existing,
    under,
)
from bench.naive.yunikorn_cluster import Allocation, Cluster, Machine, Queue


@dataclass(slots=True)
class Snapshot:
    """What one queue held when the attempt began, and what it would hold after some removals."""

    name: str
    parent: Snapshot | None
    guaranteed: Amounts | None
    usage: Amounts
    preempting: Amounts
    asking: Queue

    def book(self, need: Amounts) -> None:
        self.usage = add(self.usage, need)
        if self.parent is not None:
            self.parent.book(need)

    def release(self, need: Amounts) -> None:
        self.usage = sub(self.usage, need)
        if self.parent is not None:
            self.parent.release(need)

    def rest(self) -> Amounts | None:
        """The remaining guarantee; unset where no guarantee on the path counts."""
        above = None if self.parent is None else self.parent.rest()
        if not above and not self.guaranteed:
            return None
        here = sub_existing(self.guaranteed, sub_existing(self.usage, self.preempting))
        if self.parent is not None and here:
            if self.name == self.asking.name:
                return fill(here, above)
            if self.asking.name.startswith(self.name) and self.asking.guaranteed:
                return None
        return least(here, above)


Snapshots = dict[str, Snapshot]


@dataclass(frozen=True, slots=True)
class Check:
    """What would go on one node: the victims in order, and the place of the last one that is needed."""

    node: Machine
    victims: list[Allocation]
    last: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """The parts that every step reads: who asks, the queues as they stand, and who may be taken."""

    ask: Allocation
    queues: Snapshots
    candidates: list[Allocation]

    @property
    def need(self) -> Amounts:
        return self.ask.need


def attempt(cluster: Cluster) -> tuple[str, list[str]] | None:
    """The node and the victims of one attempt; none where it is refused."""
    ask = cluster.ask
    tried = fits_undefined(ask.queue.headroom(), ask.need)
    candidates = list(_candidates(ask))
    snapshots: Snapshots = {}
    for queue in (ask.queue, *(one.queue for one in candidates)):
        _snapshot(snapshots, queue, ask.queue)
    this = Attempt(ask, snapshots, candidates)
    if not _can_be_satisfied(this):
        return None
    open_to: dict[str, list[Allocation]] = {}
    for candidate in sorted(candidates, key=_last_resort):
        open_to.setdefault(candidate.node or "", []).append(candidate)
    checks = []
    for node in cluster.nodes:
        if node.ready and fits(node.capacity, ask.need):
            check = _check(this, node, open_to.get(node.name, []))
            if check is not None and (check.victims or not tried):
                checks.append(check)
    if not checks:
        return None
    best = min(checks, key=lambda check: (check.last, check.node.name))
    return _finished(this, best.node, best.victims[: best.last + 1])


def _last_resort(one: Allocation) -> tuple[bool, bool, float, str, str]:
    """The order of victims: opted out last, originators before them, else the youngest first."""
    return one.opted_out, one.originator, -one.submitted, one.uid, one.name


# -- who may be taken --------------------------------------------------------------------------------------------------


def _candidates(ask: Allocation) -> Iterator[Allocation]:
    """Up to the fence with the priority as each queue adjusts it, then down into every queue that is open."""
    priority, ladder = ask.priority, {}
    for queue in ask.queue.path():
        priority = queue.offset if queue.priority_fence else priority + queue.offset
        ladder[queue.name] = priority
        most, wanted = queue.most() or {}, add(queue.usage, ask.need)
        if queue.parent is None or queue.fence or any(wanted[kind] > most[kind] for kind in wanted.keys() & most):
            return _below(queue, ask, ladder, priority, fenced=False)
    raise AssertionError("a path ends at the root")


def _below(
    queue: Queue, ask: Allocation, ladder: dict[str, int], threshold: int, *, fenced: bool
) -> Iterator[Allocation]:
    if not queue.children:
        for one in queue.held if _is_open(queue, ask) else ():
            standing = one.need.keys() & ask.need.keys() and not one.required and not one.preempting
            if standing and (fenced or one.priority <= threshold):
                yield one
        return
    for child in queue.children:
        if child.name in ladder:
            yield from _below(child, ask, ladder, ladder[child.name], fenced=fenced)
        elif not child.priority_fence:
            yield from _below(child, ask, ladder, threshold - child.offset, fenced=fenced)
        elif child.offset <= threshold:
            yield from _below(child, ask, ladder, threshold, fenced=True)


def _is_open(leaf: Queue, ask: Allocation) -> bool:
    """Not the asking leaf, not disabled itself or by what it inherits, and over some guarantee, if it has any."""
    if leaf is ask.queue or leaf.policies[:1] == ["disabled"]:
        return False
    rest = _snapshot({}, leaf, ask.queue).rest()
    return rest is None or any(value < 0 for value in rest.values())


def _snapshot(found: Snapshots, queue: Queue, asking: Queue) -> Snapshot:
    """The queue and all above it, each once."""
    if queue.name not in found:
        parent = None if queue.parent is None else _snapshot(found, queue.parent, asking)
        found[queue.name] = Snapshot(
            queue.name, parent, queue.guaranteed, dict(queue.usage), dict(queue.preempting), asking
        )
    return found[queue.name]


def _copied(queues: Snapshots) -> Snapshots:
    """Fresh copies; parents come before their children."""
    found: Snapshots = {}
    for name, one in queues.items():
        parent = None if one.parent is None else found[one.parent.name]
        found[name] = Snapshot(name, parent, one.guaranteed, dict(one.usage), dict(one.preempting), one.asking)
    return found


# -- what each node would take -----------------------------------------------------------------------------------------


def _can_be_satisfied(this: Attempt) -> bool:
    """Whether the asking queue would be within its guarantee, at the latest when every candidate is gone."""
    queues = _copied(this.queues)
    asking = queues[this.ask.queue.name]
    rest = asking.rest()
    if rest is not None and fits_actual(rest, this.need):
        return True
    asking.book(this.need)
    for candidate in this.candidates:
        queues[candidate.queue.name].release(candidate.need)
        rest = asking.rest()
        if rest is not None and under(this.need, rest):
            return True
    return False


def _check(this: Attempt, node: Machine, candidates: list[Allocation]) -> Check | None:
    if fits(node.free, this.need):
        return Check(node, [], -1)
    ordered = _first_pass(this, node, candidates)
    return _second_pass(this, node, ordered) if ordered else None


def _first_pass(this: Attempt, node: Machine, candidates: list[Allocation]) -> list[Allocation]:
    """Whom the asking queue may take here: those who help first, then the others."""
    queues, free = _copied(this.queues), node.free
    asking = queues[this.ask.queue.name]
    head, tail = [], []
    for candidate in candidates:
        queue = queues[candidate.queue.name]
        if not _released(queue, candidate, this.need):
            continue
        owed = asking.rest()
        if owed is None or not fits_actual(owed, candidate.need):
            queue.book(candidate.need)
            break
        asking.book(candidate.need)
        more = add(free, candidate.need)
        if same(clip(sub(this.need, free)), clip(sub(this.need, more))):
            asking.release(candidate.need)
            queue.book(candidate.need)
            tail.append(candidate)
        else:
            free = more
            head.append(candidate)
    return head + tail


def _second_pass(this: Attempt, node: Machine, ordered: list[Allocation]) -> Check | None:
    queues, free = _copied(this.queues), node.free
    kept: list[Allocation] = []
    last = None
    for candidate in ordered:
        if _released(queues[candidate.queue.name], candidate, this.need):
            free = add(free, candidate.need)
            kept.append(candidate)
            if last is None and fits(free, this.need):
                last = len(kept) - 1
    return None if last is None else Check(node, kept, last)


def _released(queue: Snapshot, candidate: Allocation, need: Amounts) -> bool:
    """Take the candidate from a queue that is over its guarantee; from another it is not taken."""
    rest = queue.rest()
    if rest is not None and not over(need, rest):
        return False
    queue.release(candidate.need)
    return True


# -- the end -----------------------------------------------------------------------------------------------------------


def _extra(this: Attempt, chosen: list[Allocation]) -> list[Allocation] | None:
    """Who else goes, from any node, for what the asking queue is owed; none where that does not help it."""
    queues = _copied(this.queues)
    asking = queues[this.ask.queue.name]
    for victim in chosen:
        queues[victim.queue.name].release(victim.need)
    names = {victim.name for victim in chosen}
    kept: list[Allocation] = []
    for candidate in sorted((one for one in this.candidates if one.name not in names), key=_last_resort):
        queue = queues[candidate.queue.name]
        if not _released(queue, candidate, this.need):
            continue
        owed = asking.rest()
        if owed is None or not fits_actual(owed, candidate.need):
            queue.book(candidate.need)
            break
        asking.book(candidate.need)
        if same(owed, asking.rest()):
            asking.release(candidate.need)
            queue.book(candidate.need)
        else:
            kept.append(candidate)
    rest = asking.rest()
    return kept if not kept or (rest is not None and under(this.need, rest)) else None


def _finished(this: Attempt, node: Machine, chosen: list[Allocation]) -> tuple[str, list[str]] | None:
    """The victims as far as the ask is not yet covered by those before; none where all together do not."""
    extra = _extra(this, chosen)
    if extra is None:
        return None
    total: Amounts = {}
    final: list[Allocation] = []
    for victim in _useful([*chosen, *extra], node, this.need):
        if covers(this.need, total):
            final.append(victim)
        total = add(total, victim.need)
    return None if covers(this.need, total) else (node.name, [victim.name for victim in final])


def _useful(victims: Iterable[Allocation], node: Machine, need: Amounts) -> Iterator[Allocation]:
    """Those on the node; on another only where this one has room already."""
    room = fits(node.free, need)
    return (victim for victim in victims if room or victim.node == node.name)
