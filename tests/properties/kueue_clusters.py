"""Small crowded Kueue clusters without nodes: amounts of a few units, so that ties and exact boundaries are common."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Document = dict[str, Any]

SHAPES: Sequence[dict[str, str | None]] = (
    {"r": None},
    {"r": None},
    {"r": None, "a": "r"},
    {"r": None, "a": "r", "b": "r"},
    {"r": None, "a": "r", "b": "a"},
    {"r": None, "a": "r", "b": "a", "c": "r"},
    {"r": None, "s": None, "a": "r"},
)
FLAVORS = (["default"], ["default"], ["default", "spot"], ["spot", "default"], ["fast", "default", "spot"])
WEIGHTS = (None, None, None, 1, 2, 0.5, 0.3, 0)
STRATEGIES = (
    None,
    None,
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
)
LIMITS = (None,) * 12 + (0, 1, 2, 4)
WITHIN = (None, "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "LowerOrNewerEqualPriority", "Never")
RECLAIM = (None, "LowerPriority", "LowerPriority", "Any", "Any", "Any", "Any")
BORROW: Sequence[Document | None] = (
    None,
    None,
    {"policy": "Never"},
    {"policy": "LowerPriority"},
    {"policy": "LowerPriority", "maxPriorityThreshold": 1},
)
FUNGIBILITY: Sequence[Document | None] = (
    None,
    None,
    {"whenCanPreempt": "MayStopSearch"},
    {"whenCanBorrow": "TryNextFlavor"},
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "PreemptionOverBorrowing"},
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": "BorrowingOverPreemption"},
)
QUEUEING = (None, None, None, "BestEffortFIFO", "StrictFIFO")
STATES = ("running",) * 8 + ("preempting", "preempting", "checkpointing")
STARTS = (None, -30, -20, -20, -10, -10)


@st.composite
def kueue_clusters(draw: DrawFn, *, preemption: str | None = None) -> Document:
    """Plain documents; `preemption` fixes the mode."""
    dice = Dice(draw)
    shape, flavors, gpus, mode, strategies, queues, many, more, crowded = dice.pick(
        SHAPES,
        FLAVORS,
        (False, False, True),
        (preemption,) if preemption else ("Classical", "FairSharing"),
        STRATEGIES,
        range(2, 7),
        (10, 10, 10, 9, 9, 8, 8, 7, 6, 5, 3, 0),
        (1, 2, 3, 4, 5),
        (0, 0, 1, 2),
    )
    resources = ["cpu", "gpu"] if gpus else ["cpu"]
    doctrine: Document = {"name": "kueue", "preemption": mode}
    if strategies is not None and mode == "FairSharing":
        doctrine["strategies"] = strategies
    cohorts = [cohort for name in shape if (cohort := _cohort(dice, name, shape[name], flavors, resources))]
    names = [f"q{number}" for number in range(queues)]
    leaves = [_queue(dice, name, list(shape), flavors, resources) for name in names]
    places = _places(cohorts, leaves)
    crowd = places + names[:crowded] * (12 * queues)
    workloads: list[Document] = []
    for number in range(many):
        workloads.append(_running(dice, number, crowd, flavors, resources, workloads))
    workloads += [_pending(dice, number, places, flavors, resources) for number in range(more)]
    return {"cede": 1, "now": 0, "doctrine": doctrine, "queues": cohorts + leaves, "workloads": workloads}


@st.composite
def kueue_rushes(draw: DrawFn) -> Document:
    """Clusters of one tree where one queue holds nearly all, and a head in each of the others wants the same back."""
    document = draw(kueue_clusters())
    leaves = [queue for queue in document["queues"] if queue["name"].startswith("q")]
    for queue in leaves:
        queue["parent"] = queue.get("parent", "r").replace("s", "r")
        queue["settings"] = queue.get("settings", {}) | {"reclaimWithinCohort": "Any"}
        queue.pop("borrowing_limit", None)
    document["queues"] = [queue for queue in document["queues"] if queue["name"] != "s"]
    others = [queue["name"] for queue in leaves[1:]]
    for at, workload in enumerate(document["workloads"]):
        if workload["name"].startswith("p"):
            workload |= {"queue": others[at % len(others)], "priority": workload["priority"] + 2}
        elif at % 5:
            workload["queue"] = leaves[0]["name"]
    return document


class Dice:
    """Several choices in one draw, each of them even: Hypothesis likes small numbers, so they are scattered."""

    PRIME = 2_654_435_761

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw

    def pick(self, *choices: Sequence[Any]) -> tuple[Any, ...]:
        total = prod(map(len, choices))
        number = self.draw(st.integers(0, total - 1)) * self.PRIME % total
        found = []
        for options in choices:
            number, at = divmod(number, len(options))
            found.append(options[at])
        return tuple(found)


def _given(**values: Any) -> Document:
    return {key: value for key, value in values.items() if value is not None}


def _name(dice: Dice, resource: str, flavor: str) -> str:
    """The flavor `default` may be left unsaid."""
    [plain] = dice.pick((False, True)) if flavor == "default" else (False,)
    return resource if plain else f"{resource}@{flavor}"


def _quotas(
    dice: Dice, flavors: Sequence[str], resources: Sequence[str], most: Sequence[int], *, limits: bool
) -> Document:
    kinds: dict[str, Document] = {"guaranteed": {}, "borrowing_limit": {}, "lending_limit": {}}
    for flavor in flavors:
        for resource in resources:
            name = _name(dice, resource, flavor)
            nominal, borrow, lend = dice.pick(most, LIMITS, LIMITS)
            kinds["guaranteed"][name] = nominal
            if limits and borrow is not None:
                kinds["borrowing_limit"][name] = borrow
            if limits and lend is not None:
                kinds["lending_limit"][name] = lend
    return {kind: amounts for kind, amounts in kinds.items() if amounts}


def _cohort(
    dice: Dice, name: str, parent: str | None, flavors: Sequence[str], resources: Sequence[str]
) -> Document | None:
    """A cohort; a root is sometimes only named, by its children."""
    listed, own, weight = dice.pick((True, True, False), (False, False, True), WEIGHTS)
    if parent is None and not listed:
        return None
    entry = _given(name=name, parent=parent, weight=weight)
    return entry | (_quotas(dice, flavors, resources, (0, 1, 2, 4, 6), limits=parent is not None) if own else {})


def _queue(dice: Dice, name: str, cohorts: Sequence[str], flavors: Sequence[str], resources: Sequence[str]) -> Document:
    parent, weight, within, reclaim, borrow, queueing = dice.pick(
        [*cohorts, *cohorts, *cohorts, None], WEIGHTS, WITHIN, RECLAIM, BORROW, QUEUEING
    )
    fungibility, fewer, grouped, nothing, turned = dice.pick(
        FUNGIBILITY, range(4), (None, "each", "all"), (False,) * 23 + (True,), (False, True)
    )
    entry = _given(name=name, parent=parent, weight=weight)
    if reclaim in (None, "Never"):
        borrow = None
    settings = _given(
        withinClusterQueue=within,
        reclaimWithinCohort=reclaim,
        borrowWithinCohort=borrow,
        flavorFungibility=fungibility,
        queueingStrategy=queueing,
    )
    if settings:
        entry["settings"] = settings
    if nothing:
        return entry
    own = [flavor for at, flavor in enumerate(flavors) if at == 0 or at != fewer]
    entry |= _quotas(dice, own, resources, (0, 1, 2, 3, 4, 6, 8), limits=parent is not None)
    if grouped is not None:
        order = own[::-1] if turned else own
        groups = [list(resources)] if grouped == "all" else [[resource] for resource in resources]
        entry["resource_groups"] = [{"resources": group, "flavors": order} for group in groups]
    return entry


def _places(cohorts: Sequence[Document], leaves: Sequence[Document]) -> list[str]:
    """Where workloads are: mostly in queues, once in a while in a cohort."""
    parents = sorted({entry["parent"] for entry in [*cohorts, *leaves] if "parent" in entry})
    return [entry["name"] for entry in leaves] * 12 + parents[:1]


def _running(
    dice: Dice,
    number: int,
    places: Sequence[str],
    flavors: Sequence[str],
    resources: Sequence[str],
    others: Sequence[Document],
) -> Document:
    twin, uid, queue, flavor, second, cpu, gpu = dice.pick(
        (False, False, False, True), range(3), places, flavors, flavors, (1, 2, 3, 3, 4, 5, 6, 8, 0), (0, 1, 2, 3, 4)
    )
    priority, submitted, started, state, preemptible, form = dice.pick(
        (0, 0, 1, 1, 2, 3), range(3), STARTS, STATES, (True,) * 11 + (False,), range(6)
    )
    name = f"w{number}"
    if twin and others:
        return others[-1] | {"name": name, "uid": f"{uid}-{name}"}
    entry: Document = {"name": name, "uid": f"{uid}-{name}", "queue": queue, "priority": priority, "state": state}
    entry |= _given(submitted=-submitted, started=started)
    if not preemptible:
        entry["preemptible"] = False
    held = {_name(dice, "cpu", flavor): cpu}
    if "gpu" in resources and gpu:
        held[_name(dice, "gpu", second)] = gpu
    if form == 0:
        return entry | {"requests": held, "members": 1}
    if form == 1:
        return entry | {"requests": {key: 1 for key, amount in held.items() if amount}, "members": max(1, cpu)}
    return entry | {"requests": {"cpu": 1}, "usage": held}


def _pending(
    dice: Dice, number: int, places: Sequence[str], flavors: Sequence[str], resources: Sequence[str]
) -> Document:
    uid, queue, priority, submitted, preempts, parts, state = dice.pick(
        range(2),
        places,
        (0, 1, 2, 3, 3, 4, 4),
        range(4),
        (True,) * 11 + (False,),
        (0, 0, 0, 0, 1, 1, 2, 3),
        ("pending",) * 5 + ("suspended",),
    )
    name = f"p{number}"
    entry: Document = {"name": name, "uid": f"{uid}-{name}", "queue": queue, "priority": priority, "state": state}
    entry["submitted"] = -submitted
    if not preempts:
        entry["preempts"] = False
    if parts == 0:
        [members] = dice.pick((1, 1, 1, 2, 3))
        return entry | {"members": members, "requests": _requests(dice, flavors, resources, members)}
    entry["pod_sets"] = []
    for part in range(parts):
        count, fewer = dice.pick((1, 1, 2, 2, 3, 4, 5), (0, 0, 1, 2, 3, 4))
        pod_set: Document = {"name": f"s{part}", "count": count}
        pod_set["requests"] = _requests(dice, flavors, resources, count)
        if 0 < fewer < count:
            pod_set["min_count"] = count - fewer
        entry["pod_sets"].append(pod_set)
    return entry


def _requests(dice: Dice, flavors: Sequence[str], resources: Sequence[str], count: int) -> Document:
    cpu, gpu, pinned, flavor, odd = dice.pick(
        (1, 1, 2, 2, 3, 3, 4, 6) if count == 1 else (1, 1, 1, 2),
        (0, 1, 1, 2, None, None, None),
        (False,) * 7 + (True,),
        flavors,
        (None,) * 28 + (0, 1),
    )
    requests: Document = {f"cpu@{flavor}" if pinned else "cpu": cpu}
    if "gpu" in resources and gpu is not None:
        requests["gpu"] = gpu
    if odd is not None:
        requests["fpga"] = odd
    return requests
