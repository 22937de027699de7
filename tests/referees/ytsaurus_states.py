"""What follows from shares: satisfaction, status, starvation, who may preempt, and which allocations are protected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from cede.model.times import parse_duration, parse_time
from tests.referees.ytsaurus_tree import USES, ZERO, Amounts, Element, Tree, Vector, Work, amounts_of, exact

INFINITE = Fraction(10**9)
CLOSE = Fraction(1, 10**4)
TINY = Fraction(1, 10**9)
STARVES = ("starving", "aggressively_starving")
GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")


@dataclass
class Clocks:
    """Since when elements are below their fair share, and the state they were left in."""

    since: dict[tuple[str, str], int | None] = field(default_factory=dict)
    state: dict[tuple[str, str], str] = field(default_factory=dict)


# -- satisfaction ------------------------------------------------------------------------------------------------------


def local_satisfaction(tree: Tree, element: Element) -> Fraction:
    """From the element's own usage at this moment."""
    columns = list(zip(tree.usage_share(element), element.share, element.demand, strict=True))
    if all(fair <= TINY for _, fair, _ in columns):
        return INFINITE
    if any(used > fair for used, fair, _ in columns):
        return min(INFINITE, max(_above(used, fair) for used, fair, _ in columns))
    open_ones = [(used, fair) for used, fair, demand in columns if fair < demand]
    if not open_ones:
        return min(used / fair if fair else Fraction(1) for used, fair, _ in columns)
    return max((used / fair for used, fair in open_ones if fair), default=ZERO)


def _above(used: Fraction, fair: Fraction) -> Fraction:
    if not fair:
        return INFINITE if used else ZERO
    return used / fair


def satisfaction(tree: Tree, element: Element) -> Fraction:
    """Of a pool, the least of its children that have something to schedule."""
    if element.kind == "operation":
        return local_satisfaction(tree, element)
    found = [satisfaction(tree, child) for child in element.children if schedulable(child)]
    return min(found) if found else local_satisfaction(tree, element)


def schedulable(element: Element) -> bool:
    return any(one.schedulable for one in element.below)


# -- status and starvation ---------------------------------------------------------------------------------------------


def dominates(element: Element, more: Vector, less: Vector) -> bool:
    """Whether the one vector is above the other where the element's share leaves something of its demand."""
    columns = list(zip(more, less, element.share, element.demand, strict=True))
    open_ones = [(a, b) for a, b, fair, demand in columns if fair < demand]
    if not open_ones:
        return any(a > b for a, b, _, _ in columns)
    return all(a > b for a, b in open_ones)


def covers(element: Element) -> bool:
    return all(fair + CLOSE >= demand for fair, demand in zip(element.share, element.demand, strict=True))


def status_of(tree: Tree, element: Element) -> str:
    tolerance = tolerance_of(tree, element)
    if element.kind == "operation":
        if not element.schedulable:
            return "normal"
        if covers(element):
            tolerance = Fraction(1)
        elif tree.option("enable_absolute_fair_share_starvation_tolerance", False):
            wants = [work.need for work in element.waiting]
            one = {name: min(want.get(name, ZERO) for want in wants) for name in tree.resources}
            missing = tuple(a - b for a, b in zip(element.share, element.usage, strict=True))
            if not dominates(element, missing, tree.ratio(tree.vector(one))):
                return "normal"
    bound = tuple(min(fair * tolerance, demand) for fair, demand in zip(element.share, element.demand, strict=True))
    return "below_fair_share" if dominates(element, bound, element.usage) else "normal"


def judge(tree: Tree, clocks: Clocks) -> None:
    """Statuses and starvation of all, at one update."""
    for element in tree.elements:
        if element.kind == "root":
            continue
        key = (element.kind, element.name)
        given = element.settings.get("below_fair_share_since")
        element.since = clocks.since.setdefault(key, None if given is None else parse_time(given))
        element.starvation = clocks.state.get(key, "non_starving")
        element.status = status_of(tree, element)
        if element.kind == "operation" or tree.option("enable_pool_starvation", True):
            _tick(tree, element)
        clocks.since[key], clocks.state[key] = element.since, element.starvation


def _tick(tree: Tree, element: Element) -> None:
    if element.status == "normal":
        element.since, element.starvation = None, "non_starving"
        return
    if element.since is None:
        element.since = tree.now
        return
    late = Fraction(tree.duration("fair_share_aggressive_starvation_timeout", 120))
    soon = Fraction(timeout_of(tree, element))
    if element.kind == "operation":
        coefficient = exact(tree.option("allocation_count_preemption_timeout_coefficient", 1))
        part = min(Fraction(1), len(element.waiting) / coefficient)
        late, soon = late * part, soon * part
    if aggressive_enabled(tree, element) and tree.now > element.since + late:
        element.starvation = "aggressively_starving"
    elif tree.now > element.since + soon:
        element.starvation = "starving"


def priority_of(tree: Tree, operation: Element) -> str | None:
    """Which preemption the operation may use: aggressive, normal or none."""
    if not operation.schedulable:
        return None
    whole = tree.option("scheduling_preemption_priority_scope", "operation_and_ancestors") == "operation_and_ancestors"
    states = {one.starvation for one in (operation.path if whole else [operation])}
    if "aggressively_starving" in states:
        return "aggressive"
    return "normal" if "starving" in states else None


# -- settings that are inherited ---------------------------------------------------------------------------------------


def nearest(element: Element, *names: str) -> Any:
    """The value of the nearest pool that gives one, from the element itself upwards."""
    given = (one.settings.get(name) for one in element.pools for name in names)
    return next((value for value in given if value is not None), None)


def tolerance_of(tree: Tree, element: Element) -> Fraction:
    name = "fair_share_starvation_tolerance"
    given = nearest(element, name)
    found = exact(tree.option(name, "0.8") if given is None else given)
    own = element.settings.get(name) if element.kind == "operation" else None
    return found if own is None else min(found, exact(own))


def timeout_of(tree: Tree, element: Element) -> int:
    names = ("fair_share_starvation_timeout", "fair_share_preemption_timeout")
    given = nearest(element, *names)
    given = next((tree.option(name) for name in names if tree.option(name) is not None), 30) if given is None else given
    found = parse_duration(given)
    own = [element.settings[name] for name in names if element.settings.get(name) is not None]
    return max(found, parse_duration(own[0])) if own and element.kind == "operation" else found


def aggressive_enabled(tree: Tree, element: Element) -> bool:
    given = nearest(element, "enable_aggressive_starvation")
    return bool(tree.option("enable_aggressive_starvation", False) if given is None else given)


def aggressive_allowed(tree: Tree, operation: Element) -> bool:
    """Whether its aggressively preemptible allocations may be taken."""
    if operation.settings.get("is_gang") and not tree.option("allow_aggressive_preemption_for_gang_operations", True):
        return False
    given = nearest(operation, "allow_aggressive_preemption", "allow_aggressive_starvation_preemption")
    return True if given is None else bool(given)


def threshold_of(tree: Tree, operation: Element) -> Amounts:
    """Usage below which nothing of the operation is preemptible; empty: there is no such usage."""
    name = "non_preemptible_resource_usage_threshold"
    given = nearest(operation, name)
    found = amounts_of(tree.option(name, {}) if given is None else given)
    for resource, amount in amounts_of(operation.settings.get(name)).items():
        found[resource] = min(amount, found.get(resource, amount))
    return found


# -- allocation groups -------------------------------------------------------------------------------------------------


def in_order(operation: Element) -> list[Work]:
    """Its allocations as they were registered: by progress, those of unknown start later, those just started last."""
    held = [work for work in operation.works if work.state in USES]
    return sorted(held, key=lambda w: (w.order, w.progress is None, w.progress or 0, w.uid, w.name))


def groups(tree: Tree, operation: Element) -> Mapping[Work, str]:
    """The group of each allocation, from the share of the update and the usage of this moment."""
    works = in_order(operation)
    sums: list[Amounts] = [{}]
    for work in works:
        names = sums[-1].keys() | work.usage.keys()
        sums.append({name: sums[-1].get(name, ZERO) + work.usage.get(name, ZERO) for name in names})
    pairs = list(zip(operation.share, operation.demand, strict=True))
    same = any(demand for _, demand in pairs) and all(abs(fair - demand) <= TINY for fair, demand in pairs)
    first = _cut(tree, operation, sums, 0, exact(tree.option("aggressive_preemption_satisfaction_threshold", "0.2")))
    second = exact(tree.option("preemption_satisfaction_threshold", 1))
    last = len(works) if same else _cut(tree, operation, sums, first, second)
    return {work: GROUPS[(index >= first) + (index >= last)] for index, work in enumerate(works)}


def _cut(tree: Tree, operation: Element, sums: list[Amounts], start: int, part: Fraction) -> int:
    """How many of the first allocations are on the protected side of a part of the fair share."""
    bound = tuple(one * part for one in operation.share)
    threshold = threshold_of(tree, operation)
    strict = bool(tree.option("consider_allocation_on_fair_share_bound_preemptible", False))
    for index in range(start, len(sums) - 1):
        usage = sums[index + 1] if strict else sums[index]
        share = tree.ratio(tree.vector(usage))
        low = bool(threshold) and all(usage.get(name, ZERO) < most for name, most in threshold.items())
        exactly = strict and all(abs(one - most) <= TINY for one, most in zip(share, bound, strict=True))
        if not (low or exactly or dominates(operation, bound, share)):
            return index
    return max(start, len(sums) - 1)
