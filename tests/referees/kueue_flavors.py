"""Which flavors a pending workload gets, with how many members, whether it fits there, and at whose cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.naive.quota import Amounts, FlavorResource
from tests.referees.kueue_reading import Ask, Board, Group, Part

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
Verdict = tuple[int, int]
"""A mode and a borrowing level."""
Flavors = dict[str, dict[str, str]]


@dataclass
class Assignment:
    """Flavors by pod set and resource; `never`: no flavor could ever hold what is asked."""

    counts: tuple[int, ...]
    mode: int = FIT
    level: int = 0
    never: bool = False
    usage: Amounts = field(default_factory=dict)
    flavors: Flavors = field(default_factory=dict)
    contested: set[FlavorResource] = field(default_factory=set)


@dataclass(frozen=True)
class Choice:
    """One flavor tried for the resources of one group: the verdict on each, and the worst of them."""

    flavor: str
    verdicts: dict[str, Verdict]
    worst: Verdict


def nominate(board: Board, ask: Ask, only: Flavors | None = None) -> tuple[Assignment, dict[str, str] | None]:
    """The assignment of an ask and its victims, if it needs and finds any: at full size, else as large as can be."""

    def probe(shrink: int) -> tuple[Assignment, dict[str, str] | None]:
        counts = tuple(
            part.count - delta * shrink // total if total else part.count
            for part, delta in zip(ask.parts, deltas, strict=True)
        )
        found = assign(board, ask, counts, only)
        return found, board.search(ask, found.usage, found.contested) if found.mode == PREEMPT else None

    def good(result: tuple[Assignment, dict[str, str] | None]) -> bool:
        return result[0].mode == FIT or bool(result[1])

    deltas = [part.count - part.least for part in ask.parts]
    total = sum(deltas)
    full = probe(0)
    full[0].never = full[0].mode == NO_FIT and never(board, ask)
    if good(full) or total == 0:
        return full
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        if good(probe(middle)):
            high = middle
        else:
            low = middle + 1
    if low <= total:
        return probe(low)
    return full


def never(board: Board, ask: Ask) -> bool:
    """Whether it would find no flavors at its smallest if nobody else used anything."""
    with board.tree.emptied():
        least = assign(board, ask, [part.least for part in ask.parts], None)
    return least.mode == NO_FIT


def assign(board: Board, ask: Ask, counts: Sequence[int], only: Flavors | None) -> Assignment:
    """Flavors for one pod set after another, each group of resources by itself."""
    result = Assignment(tuple(counts))
    for part, count in zip(ask.parts, counts, strict=True):
        chosen: list[Choice] = []
        groups, undeclared = _groups_of(board, ask, part)
        for group in groups:
            choice = _choose(board, ask, part, count, group, result.usage, only)
            if choice is None:
                result.mode = NO_FIT
                return result
            chosen.append(choice)
        if undeclared:
            result.mode = NO_FIT
            return result
        flavors = result.flavors.setdefault(part.name, {})
        for choice in chosen:
            for resource, (mode, level) in choice.verdicts.items():
                fr = choice.flavor, resource
                flavors[resource] = choice.flavor
                result.usage[fr] = result.usage.get(fr, 0) + count * part.requests[resource]
                result.level = max(result.level, level)
                if mode != FIT:
                    result.contested.add(fr)
        if any(choice.worst[0] != FIT for choice in chosen):
            result.mode = PREEMPT
        flavors |= _flavors_of_nothing(board, ask, part, flavors)
    return result


def _flavors_of_nothing(board: Board, ask: Ask, part: Part, flavors: dict[str, str]) -> dict[str, str]:
    """What is reported for requests of zero, which were not looked at."""
    found: dict[str, str] = {}
    for resource in part.nothing:
        group = board.group_of(ask.queue, resource)
        if group is not None:
            beside = {flavors[other] for other in group.resources if other in flavors} or {group.flavors[0]}
            [found[resource]] = part.pins.get(resource, beside)
    return found


def _groups_of(board: Board, ask: Ask, part: Part) -> tuple[list[Group], bool]:
    """The groups that the pod set needs, and whether it asks for something that its queue does not declare."""
    groups: list[Group] = []
    undeclared = False
    for resource in sorted(part.requests):
        group = board.group_of(ask.queue, resource)
        if group is None:
            undeclared = True
        elif group not in groups:
            groups.append(group)
    return groups, undeclared


def _choose(
    board: Board, ask: Ask, part: Part, count: int, group: Group, taken: Amounts, only: Flavors | None
) -> Choice | None:
    """The flavor of one group, if there is one."""
    fungibility = board.settings[ask.queue].get("flavorFungibility") or {}
    better = preferring(fungibility.get("preference"))
    resources = [resource for resource in sorted(part.requests) if resource in group.resources]
    best: Choice | None = None
    for flavor in group.flavors:
        if any(part.pins.get(resource, {flavor}) != {flavor} for resource in resources):
            continue
        if only is not None and any(only.get(part.name, {}).get(resource) != flavor for resource in resources):
            continue
        asked = {resource: count * part.requests[resource] + taken.get((flavor, resource), 0) for resource in resources}
        tried = _try(board, ask, flavor, asked, better)
        mode, level = tried.worst
        try_next = (
            mode in (NO_FIT, NO_CANDIDATES)
            or (mode in (PREEMPT, RECLAIM) and fungibility.get("whenCanPreempt", "TryNextFlavor") == "TryNextFlavor")
            or (level > 0 and fungibility.get("whenCanBorrow", "MayStopSearch") == "TryNextFlavor")
        )
        if not try_next:
            return tried
        if mode != NO_FIT and (best is None or better(tried.worst, best.worst)):
            best = tried
    return best


def _try(
    board: Board, ask: Ask, flavor: str, asked: dict[str, int], better: Callable[[Verdict, Verdict], bool]
) -> Choice:
    worst: Verdict = (FIT, 0)
    verdicts = {}
    for resource, amount in asked.items():
        verdicts[resource] = verdict(board, ask, (flavor, resource), amount)
        if better(worst, verdicts[resource]):
            worst = verdicts[resource]
    return Choice(flavor, verdicts, worst)


def verdict(board: Board, ask: Ask, fr: FlavorResource, amount: int) -> Verdict:
    """Whether this much of one flavor fits the queue, now or after preemptions that concern nothing else."""
    node = board.tree.nodes[ask.queue]
    if amount > node.potential(fr):
        return NO_FIT, 0
    level, may_reclaim = node.level(fr, amount)
    if amount <= node.available(fr):
        return FIT, level
    while_borrowing = node.policy.borrowing != "Never" or (board.fair and node.policy.reclaim != "Never")
    if not (node.quota(fr) >= amount or may_reclaim or while_borrowing):
        return NO_FIT, 0
    victims = [board.workload(name) for name in board.search(ask, {fr: amount}, {fr}) or ()]
    if not victims:
        return NO_CANDIDATES, level
    for victim in victims:
        board.tree.release(victim)
    level, _ = node.level(fr, amount)
    for victim in victims:
        board.tree.hold(victim)
    return PREEMPT if any(victim.queue == ask.queue for victim in victims) else RECLAIM, level


def preferring(preference: str | None) -> Callable[[Verdict, Verdict], bool]:
    """Whether the first verdict is better than the second, in this order of preference."""

    def better(a: Verdict, b: Verdict) -> bool:
        for poor in (NO_FIT, NO_CANDIDATES):
            if a[0] == poor or b[0] == poor:
                if a[0] != b[0]:
                    return b[0] == poor
                if poor == NO_FIT:
                    return False
        if preference == "PreemptionOverBorrowing":
            return (-a[1], a[0]) > (-b[1], b[0])
        return (a[0], -a[1]) > (b[0], -b[1])

    return better
