"""One decision by YuniKorn's seven laws as one writes it down first: every set of every node, until one is lawful."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

from bench.naive.yunikorn_amounts import Amounts, add, fits, sub
from bench.naive.yunikorn_cluster import Allocation, Cluster, Machine, Queue

Victims = tuple[Allocation, ...]


def search(cluster: Cluster) -> tuple[str, list[str]] | None:
    """The node and the victims that the laws prefer; none where no set is lawful."""
    ask = cluster.ask
    if not _is_owed(ask):
        return None
    fence = next(queue for queue in ask.queue.path() if queue.fence or queue.parent is None)
    taken = {leaf.name for leaf in _leaves(fence) if _is_open(leaf, ask)}
    found = []
    for node in cluster.nodes:
        if not node.ready:
            continue
        there = [one for one in node.held if one.queue.name in taken and _may_go(one, ask)]
        victims = _best(there, ask, node)
        if victims is not None:
            found.append((_preference(victims, node), victims, node))
    if not found:
        return None
    _, victims, node = min(found, key=lambda one: one[0])
    return node.name, [victim.name for victim in victims]


def _is_owed(ask: Allocation) -> bool:
    """Law 4: below the nearest guarantee that names a requested type, in every such type."""
    for queue in ask.queue.path():
        named = (queue.guaranteed or {}).keys() & ask.need.keys()
        if named:
            return all(queue.usage.get(kind, 0) < (queue.guaranteed or {})[kind] for kind in named)
    return False


def _leaves(queue: Queue) -> Iterator[Queue]:
    if not queue.children:
        yield queue
    for child in queue.children:
        yield from _leaves(child)


def _is_open(leaf: Queue, ask: Allocation) -> bool:
    """Law 5: over its guarantee in a requested type; and neither the asking leaf nor below one that is disabled."""
    promised = leaf.guaranteed or {}
    over = any(leaf.usage.get(kind, 0) > promised.get(kind, 0) for kind in ask.need)
    return over and leaf is not ask.queue and "disabled" not in leaf.policies


def _may_go(one: Allocation, ask: Allocation) -> bool:
    """Laws 3 and 6, and no required node."""
    return one.app != ask.app and one.priority <= ask.priority and not one.required and not one.preempting


def _best(there: list[Allocation], ask: Allocation, node: Machine) -> Victims | None:
    """The preferred lawful set of one node: the first number of opted out, of originators and of victims with any."""
    ordinary = [one for one in there if not one.opted_out and not one.originator]
    spared = [one for one in there if one.opted_out or one.originator]
    levels: dict[tuple[int, int], list[Victims]] = {}
    for extra in _sets(spared):
        level = sum(one.opted_out for one in extra), sum(one.originator for one in extra)
        levels.setdefault(level, []).append(extra)
    for level in sorted(levels):
        for size in range(len(there) + 1):
            tried = (
                (*extra, *rest)
                for extra in levels[level]
                if len(extra) <= size
                for rest in combinations(ordinary, size - len(extra))
            )
            lawful = [victims for victims in tried if _makes_room(victims, ask, node) and _keeps_law_2(victims, ask)]
            if lawful:
                return min(lawful, key=lambda victims: _preference(victims, node))
    return None


def _sets(among: list[Allocation]) -> Iterator[Victims]:
    for size in range(len(among) + 1):
        yield from combinations(among, size)


def _makes_room(victims: Victims, ask: Allocation, node: Machine) -> bool:
    """With them gone, the ask fits its node and every limit on its path."""
    free = node.free
    for victim in victims:
        free = add(free, victim.need)
    if not fits(free, ask.need):
        return False
    for queue in ask.queue.path():
        if queue.limit is not None:
            usage = add(_left(queue, victims), ask.need)
            if any(usage.get(kind, 0) > most for kind, most in queue.limit.items() if kind in ask.need):
                return False
    return True


def _keeps_law_2(victims: Victims, ask: Allocation) -> bool:
    """No queue that loses a victim, below those shared with the ask, is left under its guarantee."""
    shared = {queue.name for queue in ask.queue.path()}
    for victim in victims:
        for queue in victim.queue.path():
            if queue.guaranteed is not None and queue.name not in shared:
                left = _left(queue, victims)
                if any(left.get(kind, 0) < promised for kind, promised in queue.guaranteed.items()):
                    return False
    return True


def _left(queue: Queue, victims: Collection[Allocation]) -> Amounts:
    """What a queue still uses without these victims."""
    usage = queue.usage
    for victim in victims:
        if any(above is queue for above in victim.queue.path()):
            usage = sub(usage, victim.need)
    return usage


def _preference(victims: Victims, node: Machine) -> tuple[object, ...]:
    """Less is better."""
    return (
        sum(one.opted_out for one in victims),
        sum(one.originator for one in victims),
        len(victims),
        sorted((one.priority for one in victims), reverse=True),
        sorted(-one.submitted for one in victims),
        node.name,
        sorted((one.uid, one.name) for one in victims),
    )
