"""What lint says of Kueue's settings, each with a case and a counter-case; and warnings about interactive work."""

from typing import Any

import pytest

import cede
from cede.engine.lint import lint
from tests.builders import Entry, cohort, decided, fair, kueue, node, pending, queue, running

BOTH = {"within": "LowerPriority", "reclaim": "Any"}
A, B = queue("a", "pool", cpu=2, **BOTH), queue("b", "pool", cpu=2, reclaim="Any")
PLAIN = queue("a", "pool", cpu=2)
BORROWS = queue("a", "pool", cpu=2, reclaim="Any", borrow={"policy": "LowerPriority"})
ONLY_OWN = queue("a", "pool", cpu=2, within="LowerPriority")
TALK = pending("talk", queue="a", cpu=1, kind="interactive")


PREEMPT_FIRST = {
    "whenCanBorrow": "TryNextFlavor",
    "whenCanPreempt": "TryNextFlavor",
    "preference": "PreemptionOverBorrowing",
}


def preferring(
    fungibility: dict[str, str], *, within: str = "LowerPriority", apart: bool = False, **more: Any
) -> Entry:
    """A queue with CPU and GPU in one group, or each in its own."""
    groups = [["cpu"], ["gpu"]] if apart else [["cpu", "gpu"]]
    listed = [{"resources": names, "flavors": ["default"]} for names in groups]
    return queue("a", "pool", cpu=2, gpu=1, within=within, fungibility=fungibility, resource_groups=listed, **more)


def found(cluster: cede.Cluster) -> dict[str, str]:
    """Kueue's findings by name, with their places."""
    return {one.rule: one.path for one in lint(cluster) if one.rule.startswith("kueue.lint.")}


CASES: dict[str, tuple[cede.Cluster, str, list[cede.Cluster]]] = {
    "fair-sharing-loop": (
        fair(A, B),
        "doctrine.recheck_final_set",
        [
            fair(A, B, recheck_final_set=True),
            kueue(A, B),
            fair(PLAIN, B),
            fair(A, queue("b", "pool", cpu=2)),
            fair(A, queue("b", "other", cpu=2, reclaim="Any")),
        ],
    ),
    "interactive-may-be-preempted": (
        kueue(A, B, TALK),
        "queues[a].settings",
        [
            kueue(PLAIN, queue("b", "pool", cpu=2, within="LowerPriority"), TALK),
            kueue(A, B, pending("talk", queue="a", cpu=1, kind="interactive", preemptible=False)),
            kueue(A, B, pending("talk", queue="a", cpu=1)),
            kueue(PLAIN, queue("b", "other", cpu=2, reclaim="Any"), TALK),
        ],
    ),
    "cohort-settings": (
        kueue(cohort("pool", cpu=1, within="LowerPriority"), PLAIN),
        "queues[pool].settings",
        [kueue(cohort("pool", cpu=1), PLAIN), kueue(queue("pool", cpu=1, within="LowerPriority"))],
    ),
    "no-cohort": (
        kueue(queue("a", cpu=2, reclaim="Any")),
        "queues[a].settings.reclaimWithinCohort",
        [kueue(A, B), kueue(queue("a", cpu=2, within="LowerPriority"))],
    ),
    "borrow-ignored": (
        fair(BORROWS, recheck_final_set=True),
        "queues[a].settings.borrowWithinCohort",
        [kueue(BORROWS), fair(A, recheck_final_set=True)],
    ),
    "stuck-by-preference": (
        kueue(cohort("pool", cpu=1), preferring(PREEMPT_FIRST)),
        "queues[a].settings.flavorFungibility.preference",
        [
            kueue(cohort("pool", cpu=1), preferring(PREEMPT_FIRST | {"preference": "BorrowingOverPreemption"})),
            kueue(cohort("pool", cpu=1), preferring(PREEMPT_FIRST, within="Never")),
            kueue(cohort("pool", cpu=1), preferring(PREEMPT_FIRST, apart=True)),
            kueue(cohort("pool", cpu=1), preferring(PREEMPT_FIRST, borrowing_limit={"cpu": 0, "gpu": 0})),
            kueue(cohort("pool", cpu=0), preferring(PREEMPT_FIRST)),
        ],
    ),
    "no-own-preemption-above-quota": (
        fair(ONLY_OWN),
        "queues[a].settings.reclaimWithinCohort",
        [kueue(ONLY_OWN), fair(A), fair(PLAIN), fair(queue("a", cpu=2, within="LowerPriority"))],
    ),
    "flavor-without-nodes": (
        kueue(queue("a", guaranteed={"cpu@spot": 1, "cpu@fast": 1}), node("n1", cpu=4, flavor="fast")),
        "queues[a].guaranteed",
        [
            kueue(queue("a", guaranteed={"cpu@spot": 1, "cpu@fast": 0}), node("n1", cpu=4, flavor="spot")),
            kueue(queue("a", cpu=1), node("n1", cpu=4)),
            kueue(queue("a", guaranteed={"cpu@spot": 1})),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding_points_to_the_setting(name: str) -> None:
    cluster, path, _ = CASES[name]

    assert found(cluster).get(f"kueue.lint.{name}") == path


@pytest.mark.parametrize("name", CASES)
def test_where_the_setting_does_what_it_seems_to_there_is_no_finding(name: str) -> None:
    for counter in CASES[name][2]:
        assert f"kueue.lint.{name}" not in found(counter)


def test_every_finding_has_a_case() -> None:
    seen = {rule.removeprefix("kueue.lint.") for cluster, *_ in CASES.values() for rule in found(cluster)}

    assert seen == set(CASES)


def test_a_file_that_loops_is_found_by_lint_and_one_without_findings_does_not_loop() -> None:
    equal = {"within": "LowerOrNewerEqualPriority", "reclaim": "Any"}
    entries = (cohort("pool", cpu=100), queue("a", "pool", cpu=0, **equal), queue("b", "pool", cpu=0, **equal),
               running("small", queue="a", cpu=30, submitted=-10, started=-9),
               running("rival", queue="b", cpu=70, submitted=-30, started=-30),
               pending("in", queue="a", cpu=60, submitted=-20))  # fmt: skip

    for recheck in (False, True):
        cluster = fair(*entries, recheck_final_set=recheck)

        assert ("kueue.lint.fair-sharing-loop" in found(cluster)) is (cede.settle(cluster).loop is not None)


# -- interactive work that is submitted ------------------------------------------------------------------------------


def warned(cluster: cede.Cluster) -> list[str]:
    return [warning.rule for warning in decided(cluster, "talk").warnings]


def talk(**values: object) -> Entry:
    return pending("talk", **{"queue": "a", "kind": "interactive", "cpu": 1, "priority": 5, **values})


@pytest.mark.parametrize(
    ("action", "entries"),
    [
        ("start", ()),
        ("preempt", (running("old", queue="a", cpu=4),)),
        ("wait", (running("old", queue="a", cpu=4, priority=9),)),
        ("wait", (running("old", queue="a", cpu=4), pending("first", queue="a", cpu=1, priority=9))),
    ],
)
def test_the_answer_to_interactive_work_says_that_it_may_be_preempted(action: str, entries: tuple[Entry, ...]) -> None:
    cluster = kueue(A, B, *entries, talk())

    assert (decided(cluster, "talk").action, warned(cluster)) == (action, ["kueue.interactive-may-be-preempted"])


def test_so_does_the_answer_that_a_limit_stands_in_its_way() -> None:
    limited = queue("a", "pool", cpu=2, max={"cpu": 1}, **BOTH)
    cluster = kueue(limited, B, running("old", queue="a", cpu=1, priority=9), talk())

    assert (decided(cluster, "talk").rule, warned(cluster)) == ("kueue.limit", ["kueue.interactive-may-be-preempted"])


@pytest.mark.parametrize(
    "entries",
    [
        (PLAIN, queue("b", "pool", cpu=2)),
        (PLAIN, queue("b", "other", cpu=2, reclaim="Any")),
        (PLAIN, queue("b", "pool", cpu=2, within="LowerPriority"), running("old", queue="a", cpu=4)),
    ],
)
def test_in_a_queue_that_nobody_preempts_from_there_is_no_warning(entries: tuple[Entry, ...]) -> None:
    assert warned(kueue(*entries, talk())) == []


def test_one_that_asks_not_to_be_preempted_is_not_warned() -> None:
    assert warned(kueue(A, B, talk(preemptible=False))) == []


@pytest.mark.parametrize("kind", ["batch", "service", "inference"])
def test_other_kinds_of_work_are_not_warned(kind: str) -> None:
    assert warned(kueue(A, B, talk(kind=kind))) == []
