"""Fair sharing: the published endless loop, the setting that ends it, and what a plan says of either."""

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from tests.builders import Entry, cohort, decided, document_of, fair, pending, queue, running

VECTORS = Path(__file__).parents[2] / "vectors" / "kueue"
EQUAL = {"within": "LowerOrNewerEqualPriority", "reclaim": "Any"}


def published(name: str) -> dict[str, Any]:
    """A leg of the loop of Kueue's issue 14543."""
    document: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cluster"]
    return document


def ours() -> dict[str, Any]:
    """The same a level further down, with another resource: `mate` is taken, unlocks `theirs`, and is spared."""
    doctrine = {"name": "kueue", "preemption": "FairSharing"}
    return document_of(cohort("root", gpu=8), cohort("left", "root"), queue("a", "left", gpu=0, **EQUAL),
                       queue("b", "root", gpu=0, **EQUAL), running("mate", queue="a", gpu=2, submitted=-5, started=-4),
                       running("theirs", queue="b", gpu=6, submitted=-30, started=-30),
                       pending("mine", queue="a", gpu=5, submitted=-20), doctrine=doctrine)  # fmt: skip


LOOPS = {
    "published, first leg": (published("kueue-090"), "p-hero", "t-hero"),
    "published, second leg": (published("kueue-091"), "p-hero", "t-hero"),
    "ours": (ours(), "mine", "theirs"),
}


def with_recheck(document: dict[str, Any], recheck: bool) -> cede.Cluster:
    return cede.load({**document, "doctrine": {**document["doctrine"], "recheck_final_set": recheck}})


@pytest.mark.parametrize("name", LOOPS)
def test_as_shipped_two_workloads_evict_each_other_for_ever(name: str) -> None:
    document, one, other = LOOPS[name]

    end = cede.settle(with_recheck(document, False))

    assert not end.settled
    assert end.loop is not None
    assert {(step.victim, step.claimant) for step in end.loop} == {(one, other), (other, one)}
    assert {step.rule for step in end.loop} == {"kueue.fair-sharing"}


@pytest.mark.parametrize("name", LOOPS)
def test_with_the_final_set_checked_again_nobody_does(name: str) -> None:
    document, one, other = LOOPS[name]

    end = cede.settle(with_recheck(document, True))

    assert (end.settled, end.loop) == (True, None)
    assert end.pending == {one: "kueue.share-recheck"}
    assert other in end.running


@pytest.mark.parametrize("name", ["published, first leg", "ours"])
def test_a_victim_that_only_spared_ones_made_lawful_is_warned_of(name: str) -> None:
    document, one, other = LOOPS[name]

    shipped, checked = (decided(with_recheck(document, recheck), one) for recheck in (False, True))

    assert [warning.rule for warning in shipped.warnings] == ["kueue.unlawful-after-sparing"]
    assert f"without {other}; as shipped" in shipped.warnings[0].why
    assert (checked.action, checked.rule, checked.warnings) == ("wait", "kueue.share-recheck", ())
    assert other in checked.why


def test_a_lawful_victim_is_not_warned_of() -> None:
    """The other leg: p-hero gives way to t-hero by the shares as they are."""
    made = decided(with_recheck(published("kueue-091"), False), "t-hero")

    assert (made.action, made.warnings) == ("preempt", ())


@pytest.mark.parametrize("recheck", [False, True])
def test_a_plan_with_and_without_the_recheck_is_lawful(recheck: bool) -> None:
    for document, *_ in LOOPS.values():
        cluster = with_recheck(document, recheck)

        assert cede.verify(cluster, cede.plan(cluster)) == []


def test_victims_spared_in_another_order_may_be_lawful_where_the_first_were_not() -> None:
    """As shipped `theirs` goes and `mate` stays; checked again, `mate` goes, which is enough."""
    entries = (cohort("pool", cpu=10), queue("a", "pool", cpu=0, **EQUAL), queue("b", "pool", cpu=0, **EQUAL),
               running("mate", queue="a", cpu=5, submitted=-5, started=-4),
               running("theirs", queue="b", cpu=5, submitted=-30, started=-30),
               pending("mine", queue="a", cpu=5, submitted=-20))  # fmt: skip

    assert cede.plan(fair(*entries, recheck_final_set=True)).victims == {"mate"}


def test_a_refusal_after_the_recheck_names_the_breach_as_the_head_found_it() -> None:
    """`first` takes x meanwhile; what that would have made of the search of `in` is of no interest."""
    lower = {"within": "LowerPriority", "reclaim": "Any"}
    cluster = fair(cohort("pool", cpu=6), queue("a", "pool", cpu=2, **lower),
                   queue("b", "pool", cpu=1, weight=0, **lower), running("x", queue="a", cpu=7),
                   running("own", queue="b", cpu=1), running("y", queue="a", cpu=2),
                   pending("in", queue="b", cpu=1, priority=2),
                   pending("first", queue="a", cpu=6, priority=2), recheck_final_set=True)  # fmt: skip

    made = decided(cluster, "in")

    assert "  " not in made.why
    assert ("has share" in made.why) is (made.rule == "kueue.share-recheck")


# -- the share rules -------------------------------------------------------------------------------------------------


def shared(*work: Entry, strategies: list[str] | None = None, **weights: float) -> cede.Cluster:
    """Two queues that borrow all they have of 12."""
    both = [queue(name, "pool", cpu=0, weight=weights.get(name, 1), **EQUAL) for name in "ab"]
    doctrine = {} if strategies is None else {"strategies": strategies}
    return fair(cohort("pool", cpu=12), *both, *work, **doctrine)


FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


@pytest.mark.parametrize(
    ("sizes", "asks", "strategies", "goes"),
    [
        ((6, 6), 6, [FINAL], True),
        ((6, 6), 6, [INITIAL], True),
        ((7, 5), 6, [FINAL], False),
        ((12,), 6, [FINAL], False),
        ((12,), 6, [INITIAL], True),
        ((12,), 6, [FINAL, INITIAL], True),
        ((12,), 6, None, True),
        ((12,), 11, None, True),
        ((12,), 12, None, False),
    ],
)
def test_the_strategies_ask_for_the_share_after_or_before(
    sizes: tuple[int, ...], asks: int, strategies: list[str] | None, goes: bool
) -> None:
    """`b` holds all 12; what `a` would have is compared with what is left to `b`, or with what it had."""
    held = [running(f"x{at}", queue="b", cpu=size, started=-at) for at, size in enumerate(sizes)]
    cluster = shared(*held, pending("in", queue="a", cpu=asks), strategies=strategies)

    assert cede.plan(cluster).victims == ({"x0"} if goes else set())


def test_the_second_strategy_takes_one_of_each_queue() -> None:
    three = [running(f"x{at}", queue="b", cpu=4, started=-at) for at in range(3)]
    cluster = shared(*three, pending("in", queue="a", cpu=9))

    assert decided(cluster, "in").action == "wait"


@pytest.mark.parametrize(("weight", "goes"), [(1, False), (3, True), (0, False)])
def test_a_heavier_queue_may_take_more_and_one_of_weight_zero_nothing(weight: float, goes: bool) -> None:
    work = [running("mine", queue="a", cpu=6, priority=9), running("x0", queue="b", cpu=3, started=-1),
            running("x1", queue="b", cpu=3, started=-2)]  # fmt: skip
    cluster = shared(*work, pending("in", queue="a", cpu=3), a=weight)

    assert (cede.plan(cluster).victims == {"x0"}) is goes


def test_within_its_quota_a_claimant_need_not_look_at_shares() -> None:
    cluster = fair(queue("a", "pool", cpu=4, weight=0, **EQUAL), queue("b", "pool", cpu=0, **EQUAL),
                   running("x", queue="b", cpu=4, priority=9), pending("in", queue="a", cpu=4))  # fmt: skip

    [victim] = decided(cluster, "in").victims

    assert (victim.workload, victim.reason) == ("x", "InCohortReclamation")


def test_borrow_within_cohort_chooses_no_victims_under_fair_sharing() -> None:
    cluster = fair(cohort("pool", cpu=4), queue("a", "pool", cpu=0, reclaim="LowerPriority",
                                                borrow={"policy": "LowerPriority", "maxPriorityThreshold": 0}),
                   queue("b", "pool", cpu=0), running("x", queue="b", cpu=2, priority=3, started=-1),
                   running("y", queue="b", cpu=2, priority=3, started=-2),
                   pending("in", queue="a", cpu=1, priority=5))  # fmt: skip

    [victim] = decided(cluster, "in").victims

    assert (victim.workload, victim.reason) == ("x", "InCohortFairSharing")


SIBLING = (cohort("pool", cpu=100), cohort("left", "pool"), queue("a", "left", cpu=0, weight=10, reclaim="Any"),
           queue("c", "left", cpu=0), queue("b", "pool", cpu=0), running("near", queue="c", cpu=30),
           running("far", queue="b", cpu=70), pending("in", queue="a", cpu=60))  # fmt: skip
"""Only with `near` gone has left a smaller share than b; then `near` is spared."""


def test_work_of_the_claimants_branch_that_is_spared_can_make_a_victim_unlawful_too() -> None:
    made = decided(fair(*SIBLING), "in")

    assert [victim.workload for victim in made.victims] == ["far"]
    assert [warning.rule for warning in made.warnings] == ["kueue.unlawful-after-sparing"]


def test_the_recheck_looks_at_spared_work_of_the_whole_branch() -> None:
    cluster = fair(*SIBLING, recheck_final_set=True)

    assert decided(cluster, "in").rule == "kueue.share-recheck"
    assert cede.verify(cluster, cede.plan(cluster)) == []
