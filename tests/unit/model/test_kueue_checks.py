"""What Kueue refuses is refused here, with the place and what would be right."""

from typing import Any

import pytest

from tests.unit.model.problems import paths_of, problems_of

ALL = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
GROUP = {"resources": ["cpu"], "flavors": ["a"]}


def with_queue(**queue: Any) -> dict[str, Any]:
    return {"cede": 1, "doctrine": "kueue", "queues": [{"name": "q", **queue}]}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "borrowing takes from others, who are never reclaimed from": (
        {"settings": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
        "settings.borrowWithinCohort.policy: is LowerPriority, but reclaimWithinCohort is Never, "
        "and then nothing is taken from the cohort (set reclaimWithinCohort too)",
    ),
    "a preference, and the defaults": (
        {"settings": {"flavorFungibility": {"preference": "BorrowingOverPreemption"}}},
        "settings.flavorFungibility.preference: counts only if all flavors are tried, but whenCanBorrow "
        "may stop the search (set whenCanBorrow to TryNextFlavor)",
    ),
    "a preference, and a search that stops": (
        {
            "settings": {
                "flavorFungibility": {"preference": "PreemptionOverBorrowing", **ALL, "whenCanPreempt": "MayStopSearch"}
            }
        },
        "settings.flavorFungibility.preference: counts only if all flavors are tried, but whenCanPreempt "
        "may stop the search (set whenCanPreempt to TryNextFlavor)",
    ),
    "a limit on borrowing from nobody": (
        {"borrowing_limit": {"cpu@a": 1}},
        "borrowing_limit: there is no parent to share with (add a parent, or leave out 'borrowing_limit')",
    ),
    "a limit on lending to nobody": (
        {"lending_limit": {"cpu@a": 1}},
        "lending_limit: there is no parent to share with (add a parent, or leave out 'lending_limit')",
    ),
    "a weight that is next to nothing": (
        {"weight": 1e-9},
        "weight: 1e-09 is too small; a weight is 0, or above 1e-09",
    ),
    "a resource in two groups": (
        {"resource_groups": [GROUP, {"resources": ["memory", "cpu"], "flavors": ["b"]}]},
        "resource_groups[1].resources[1]: 'cpu' is in resource_groups[0] already; a resource is in one group",
    ),
}


@pytest.mark.parametrize(("queue", "problem"), BAD.values(), ids=BAD.keys())
def test_it_is_refused(queue: dict[str, Any], problem: str) -> None:
    assert problems_of(with_queue(**queue)) == [f"queues[0].{problem}"]


@pytest.mark.parametrize("queue", [queue for queue, _ in BAD.values() if "settings" not in queue])
def test_other_doctrines_have_rules_of_their_own(queue: dict[str, Any]) -> None:
    assert problems_of(with_queue(**queue) | {"doctrine": "lattice"}) == []


GOOD: dict[str, dict[str, Any]] = {
    "borrowing and reclaiming": {
        "settings": {"borrowWithinCohort": {"policy": "LowerPriority"}, "reclaimWithinCohort": "Any"}
    },
    "neither": {"settings": {"borrowWithinCohort": {"policy": "Never"}, "reclaimWithinCohort": "Never"}},
    "a threshold alone": {"settings": {"borrowWithinCohort": {"maxPriorityThreshold": 3}}},
    "a preference among all": {"settings": {"flavorFungibility": {"preference": "BorrowingOverPreemption", **ALL}}},
    "limits below a parent that is not listed": {
        "parent": "all",
        "borrowing_limit": {"cpu@a": 0},
        "lending_limit": {"cpu@a": 0},
    },
    "no limits at all": {"borrowing_limit": {}, "lending_limit": {}},
    "a weight of nothing": {"weight": 0},
    "a small weight": {"weight": 2e-9},
    "a flavor in two groups": {"resource_groups": [GROUP, {"resources": ["memory"], "flavors": ["a"]}]},
}


@pytest.mark.parametrize("queue", GOOD.values(), ids=GOOD.keys())
def test_it_is_let_pass(queue: dict[str, Any]) -> None:
    assert problems_of(with_queue(**queue)) == []


FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


@pytest.mark.parametrize("strategies", [[FINAL], [INITIAL], [FINAL, INITIAL]])
def test_strategies_are_one_or_both_in_kueues_order(strategies: list[str]) -> None:
    assert problems_of({"cede": 1, "doctrine": {"name": "kueue", "strategies": strategies}}) == []


def test_strategies_in_the_other_order_are_refused() -> None:
    assert problems_of({"cede": 1, "doctrine": {"name": "kueue", "strategies": [INITIAL, FINAL]}}) == [
        "doctrine.strategies: LessThanOrEqualToFinalShare comes first; "
        "Kueue takes both in that order only, or one alone"
    ]


def test_nothing_is_concluded_from_what_could_not_be_read() -> None:
    broken = {
        "parent": 5,
        "borrowing_limit": {"cpu": 1},
        "settings": {"borrowWithinCohort": {"policy": "LowerPriority"}, "reclaimWithinCohort": "Sometimes"},
    }

    assert paths_of(with_queue(**broken)) == ["queues[0].parent", "queues[0].settings.reclaimWithinCohort"]
