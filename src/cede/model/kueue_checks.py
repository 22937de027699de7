"""What Kueue demands of a queue beyond the shape of its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cede.model.errors import Loc, shown
from cede.model.queues import Queue
from cede.model.reports import Finding

LEAST_WEIGHT = 1e-9


def queue_findings(queue: Queue, settings: Mapping[str, Any], broken: frozenset[Loc]) -> Iterator[Finding]:
    """Everything that Kueue would refuse, beside what is `broken`; places are relative to the queue.

    `settings` are those of the queue, or none if they are wrong as they stand.
    """
    yield from _policies(settings, broken)
    yield from _preference(settings, broken)
    if queue.parent is None and ("parent",) not in broken:
        for key in ("borrowing_limit", "lending_limit"):
            if getattr(queue, key):
                yield Finding((key,), "there is no parent to share with", f"add a parent, or leave out '{key}'")
    if queue.weight is not None and 0 < queue.weight <= LEAST_WEIGHT:
        yield Finding(("weight",), f"{shown(queue.weight)} is too small; a weight is 0, or above {LEAST_WEIGHT}")
    first: dict[str, int] = {}
    for index, group in enumerate(queue.resource_groups or ()):
        for at, name in enumerate(group.resources):
            if first.setdefault(name, index) != index:
                message = f"{shown(name)} is in resource_groups[{first[name]}] already; a resource is in one group"
                yield Finding(("resource_groups", index, "resources", at), message)


def _policies(settings: Mapping[str, Any], broken: frozenset[Loc]) -> Iterator[Finding]:
    policy = settings.get("borrowWithinCohort", {}).get("policy", "Never")
    reclaim = settings.get("reclaimWithinCohort", "Never")
    if policy != "Never" and reclaim == "Never" and ("settings", "reclaimWithinCohort") not in broken:
        message = f"is {policy}, but reclaimWithinCohort is Never, and then nothing is taken from the cohort"
        yield Finding(("settings", "borrowWithinCohort", "policy"), message, "set reclaimWithinCohort too")


def _preference(settings: Mapping[str, Any], broken: frozenset[Loc]) -> Iterator[Finding]:
    given = settings.get("flavorFungibility", {})
    if "preference" not in given or any(loc[:2] == ("settings", "flavorFungibility") for loc in broken):
        return
    when = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"} | given
    stops = [key for key in ("whenCanBorrow", "whenCanPreempt") if when[key] != "TryNextFlavor"]
    if stops:
        message = f"counts only if all flavors are tried, but {' and '.join(stops)} may stop the search"
        hint = f"set {' and '.join(stops)} to TryNextFlavor"
        yield Finding(("settings", "flavorFungibility", "preference"), message, hint)
