"""What a workload asks for, and the members it is admitted with instead: in flavors, or fewer of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from cede.model.workloads import PodSet
from cede.state.amounts import DEFAULT_FLAVOR, Ask, Parts, is_odd, load_of, plain, sizes_of, total_of
from cede.state.cluster_columns import ClusterColumns
from cede.state.columns import Int64s
from cede.state.interning import key_of

MAIN = "main"
"""The name of the only pod set of a workload that lists none."""


def asks_of(state: ClusterColumns, row: int) -> Parts:
    """What the workload asks for, whether it is admitted or not, and with whatever.

    Its pod sets, else one of all its members. One that says only what it holds asks for that as one member, in any
    flavor.
    """
    ask = state.admitted.get(row)
    if ask is None:
        if row in state.parts:
            return state.parts[row]
        ask = standing_ask(state, row)
    if ask.parts is not None:
        return ask.parts
    if not ask.requests and ask.usage:
        return (pod_set(MAIN, 1, plain(ask.usage)),)
    return (pod_set(MAIN, ask.members, ask.requests),)


def admitted_parts(
    state: ClusterColumns, row: int, flavors: Mapping[str, Any], counts: Mapping[str, int], asks: Parts | None = None
) -> Parts | None:
    """The members that a decision's flavors and counts make of what the workload asks for; None if it gets just that.

    A request that names its flavor keeps it. `default` is the plain name where nothing is known in that flavor, that
    is, where no node has any of the resource. `asks` is what it asks for, where that is at hand.
    """
    if not state.static.flavored_quota or not (flavors or counts):
        return None
    key = None if counts or asks is not None else plain_key(state, row)
    if key is not None:
        values = tuple(flavors.items())
        if all(isinstance(flavor, str) for _, flavor in values):
            found = state.templates.parts.get((key, values))
            if found is None:
                found = _admitted_parts(state, flavors, counts, asks_of(state, row))
                state.templates.keep_parts((key, values), found)
            return found
    return _admitted_parts(state, flavors, counts, asks_of(state, row) if asks is None else asks)


def plain_key(state: ClusterColumns, row: int) -> Hashable:
    """Workloads for which this is the same ask for the same; none where more than columns say what one asks for."""
    work = state.work
    sides: tuple[dict[int, Any], ...] = (state.parts, state.odd_requests, state.odd_usages, state.admitted)
    if work.usage_given[row] or any(row in side for side in sides):
        return None
    return work.need[:, row].tobytes(), work.usage[:, row].tobytes(), int(work.members[row])


def _admitted_parts(state: ClusterColumns, flavors: Mapping[str, Any], counts: Mapping[str, int], asks: Parts) -> Parts:
    known = state.units.index
    parts = []
    for part in asks:
        own = flavors.get(part.name)
        chosen: Mapping[str, Any] = own if isinstance(own, Mapping) else flavors
        requests: dict[str, int] = {}
        for name, nano in part.requests.items():
            flavor = chosen.get(name)
            pinned = f"{name}@{flavor}"
            key = name if not isinstance(flavor, str) or (flavor == DEFAULT_FLAVOR and pinned not in known) else pinned
            requests[key] = requests.get(key, 0) + nano
        parts.append(pod_set(part.name, counts.get(part.name, part.count), requests, part.min_count))
    return tuple(parts)


def pod_set(name: str, count: int, requests: Mapping[str, int], min_count: int | None = None) -> PodSet:
    """A pod set of amounts that were checked before."""
    values: dict[str, Any] = {"name": name, "count": count, "requests": dict(requests), "min_count": min_count}
    given = {key for key, value in values.items() if value is not None}
    return PodSet.model_construct(given, **values)


def standing_ask(state: ClusterColumns, row: int) -> Ask:
    """The members that the columns now say the workload has."""
    requests = state.odd_requests.get(row)
    if requests is None:
        requests = state.units.amounts(state.work.need[:, row].tolist())
    usage = state.odd_usages.get(row)
    if usage is None:
        usage = state.units.amounts(state.work.usage[:, row].tolist())
    return Ask(state.parts.get(row), int(state.work.members[row]), requests, usage)


def put_parts(state: ClusterColumns, row: int, parts: Parts) -> None:
    """These are its members now; the amounts are known, and nothing is remembered."""
    if row in state.parts:
        ask = Ask(state.shared.parts(parts), sum(part.count for part in parts), {}, total_of(sizes_of(parts)))
    else:
        ask = Ask(None, parts[0].count, state.shared.amounts(parts[0].requests), total_of(sizes_of(parts)))
    put_ask(state, row, ask)


def admit(state: ClusterColumns, row: int, parts: Parts) -> None:
    """These are its members until it is put back; what it asks for is remembered. The amounts are known."""
    ask = state.admitted.get(row)
    if ask is None:
        ask = standing_ask(state, row)
        kinds = (None if ask.parts is None else key_of(ask.parts), tuple(ask.requests.items()))
        ask = state.shared.one((ask.members, *kinds, tuple(ask.usage.items())), ask)
    put_parts(state, row, parts)
    state.admitted[row] = ask


def put_back(state: ClusterColumns, row: int) -> None:
    """An admitted workload has the members again that it asks for, and is not admitted any more."""
    ask = state.admitted.pop(row)
    put_ask(state, row, ask)
    if not is_odd(ask.requests):
        state.odd_requests.pop(row, None)


def put_ask(state: ClusterColumns, row: int, ask: Ask) -> None:
    """These are its members now, with the usage that they had."""
    work = state.work
    if ask.parts is not None:
        state.parts[row] = ask.parts
    else:
        work.need[:, row] = state.member_vector(ask.requests, bool(work.exclusive[row]))
        if row in state.odd_requests or is_odd(ask.requests):
            state.odd_requests[row] = ask.requests
    if row in state.odd_usages:
        state.odd_usages[row] = ask.usage
    work.members[row] = ask.members
    work.usage[:, row] = state.units.vector(ask.usage)


def ask_for_usage_no_more(state: ClusterColumns, row: int) -> None:
    """Usage that a file gives says in which flavors a workload was admitted; it asks for its members in any."""
    put_parts(state, row, asks_of(state, row))
    state.work.usage_given[row] = False
    state.odd_usages.pop(row, None)


def load_of_row(state: ClusterColumns, row: int, parts: Parts | None = None) -> dict[str, int]:
    """What the workload adds to all that is known: as it asks and as it is admitted, of each resource the more.

    With `parts`: if it were admitted with these.
    """
    now = standing_ask(state, row)
    ask = state.admitted.get(row, now)
    usage, sizes = (now.usage, now.sizes) if parts is None else (total_of(sizes_of(parts)), sizes_of(parts))
    exclusive = bool(state.work.exclusive[row])
    load = load_of(ask.usage, ask.sizes, exclusive)
    if ask is now and parts is None:
        return load
    other = load_of(usage, sizes, exclusive)
    return {name: max(load.get(name, 0), other.get(name, 0)) for name in load.keys() | other.keys()}


def ask_again(state: ClusterColumns, row: int) -> None:
    """In a trial, a workload that left has the members that it would wait with."""
    if row in state.admitted:
        put_ask(state, row, state.admitted[row])
    elif state.static.flavored_quota and state.work.usage_given[row]:
        put_parts(state, row, asks_of(state, row))


@dataclass(frozen=True, slots=True)
class Members:
    """A workload's members to the last bit, for a trial to bring back."""

    ask: Ask | None
    parts: Parts | None
    requests: Mapping[str, int] | None
    used: Mapping[str, int] | None
    members: int
    need: Int64s
    usage: Int64s


def members_as_they_are(state: ClusterColumns, row: int) -> Members:
    work = state.work
    return Members(
        ask=state.admitted.get(row),
        parts=state.parts.get(row),
        requests=state.odd_requests.get(row),
        used=state.odd_usages.get(row),
        members=int(work.members[row]),
        need=work.need[:, row].copy(),
        usage=work.usage[:, row].copy(),
    )


def bring_back(state: ClusterColumns, row: int, before: Members) -> None:
    """The workload's members are what they were; whoever stood beside others stands there again."""
    work = state.work
    sides: tuple[tuple[dict[int, Any], Any], ...] = (
        (state.admitted, before.ask),
        (state.parts, before.parts),
        (state.odd_requests, before.requests),
        (state.odd_usages, before.used),
    )
    for side, value in sides:
        if value is None:
            side.pop(row, None)
        else:
            side[row] = value
    work.members[row] = before.members
    work.need[:, row] = before.need
    work.usage[:, row] = before.usage
