"""A whole cycle: who hands over to whom, what a blocked head keeps from others, and victims that several want."""

import pytest

import cede
from tests.builders import (
    Entry,
    actions,
    cohort,
    decided,
    fair,
    kueue,
    pending,
    preempting,
    queue,
    running,
    suspended,
)

ALL = {"within": "LowerPriority", "reclaim": "Any"}


def rules(cluster: cede.Cluster) -> dict[str | None, str]:
    return {made.workload: made.rule.partition(".")[2] for made in cede.plan(cluster).decisions}


def victims(cluster: cede.Cluster) -> dict[str | None, set[str]]:
    return {made.workload: {victim.workload for victim in made.victims} for made in cede.plan(cluster).decisions}


# -- within a queue --------------------------------------------------------------------------------------------------

LINE = (running("old", cpu=3), pending("big", cpu=2, priority=3), pending("mid", cpu=2, priority=2),
        pending("small", cpu=1, priority=1), pending("last", cpu=1))  # fmt: skip


def test_a_parked_head_of_a_best_effort_queue_hands_over_to_the_next() -> None:
    cluster = kueue(queue("q", cpu=4), *LINE)

    assert actions(cluster) == {"big": "wait", "mid": "wait", "small": "start", "last": "wait"}


def test_nobody_passes_a_parked_head_of_a_strict_queue() -> None:
    cluster = kueue(queue("q", cpu=4, strict=True), *LINE)

    assert rules(cluster) == {"big": "no-victims", "mid": "behind-head", "small": "behind-head", "last": "behind-head"}
    assert decided(cluster, "small").why == "big is ahead in q and cannot start; a StrictFIFO queue lets nothing pass"


@pytest.mark.parametrize("strict", [False, True])
def test_behind_one_that_waits_for_its_victims_the_rest_wait(strict: bool) -> None:
    cluster = kueue(queue("q", cpu=4, within="LowerPriority", strict=strict), *LINE)

    assert rules(cluster) == {
        "big": "within-cluster-queue",
        "mid": "behind-head",
        "small": "behind-head",
        "last": "behind-head",
    }


@pytest.mark.parametrize("strict", [False, True])
def test_a_started_head_hands_over(strict: bool) -> None:
    cluster = kueue(queue("q", cpu=4, strict=strict), pending("a", cpu=2, priority=1), pending("b", cpu=2))

    assert actions(cluster) == {"a": "start", "b": "start"}


@pytest.mark.parametrize("strict", [False, True])
def test_a_refused_head_blocks_only_a_strict_queue(strict: bool) -> None:
    cluster = kueue(queue("q", cpu=4, strict=strict), pending("huge", cpu=5, priority=1), pending("b", cpu=2))

    assert actions(cluster) == {"huge": "refuse", "b": "wait" if strict else "start"}


def test_other_queues_do_not_wait_for_a_blocked_one() -> None:
    cluster = kueue(queue("q", cpu=1, strict=True), queue("r", cpu=4), running("old", queue="q", cpu=1),
                    pending("head", queue="q", cpu=1), pending("a", queue="r", cpu=2, submitted=-1),
                    pending("b", queue="r", cpu=2))  # fmt: skip

    assert actions(cluster) == {"head": "wait", "a": "start", "b": "start"}


def test_suspended_work_queues_like_pending_work() -> None:
    cluster = kueue(queue("q", cpu=1), pending("late", cpu=1), suspended("early", cpu=1, submitted=-1))

    assert actions(cluster) == {"early": "start", "late": "wait"}


# -- what a blocked head keeps from others ---------------------------------------------------------------------------


def blocked(reclaim: str, *more: Entry, asks: int = 4, **values: object) -> cede.Cluster:
    """`head` may have all of its quota of 4, of which `old` holds 2; `other` would borrow the rest."""
    queues = (queue("q", "pool", cpu=4, within="LowerPriority", reclaim=reclaim, **values), queue("r", "pool", cpu=0))
    heads = (pending("head", queue="q", cpu=asks, priority=3), pending("other", queue="r", cpu=2))
    return kueue(*queues, running("old", queue="q", cpu=2, priority=9), *heads, *more)


@pytest.mark.parametrize(("reclaim", "other"), [("Never", "wait"), ("LowerPriority", "wait"), ("Any", "start")])
def test_a_blocked_head_keeps_its_quota_from_borrowers_unless_it_could_reclaim_it_from_anybody(
    reclaim: str, other: str
) -> None:
    assert actions(blocked(reclaim)) == {"head": "wait", "other": other}


def test_the_numbers_of_a_blocked_head_are_those_it_found() -> None:
    """What it keeps for itself is not counted against it in its own sentence."""
    assert decided(blocked("Never"), "head").why.startswith("quota is short (cpu 4 asked, 2 available); ")


def test_no_more_is_kept_than_was_asked_for() -> None:
    cluster = kueue(queue("q", "pool", cpu=4, gpu=0, reclaim="LowerPriority"), queue("r", "pool", cpu=0, gpu=1),
                    running("old", queue="r", gpu=1), pending("head", queue="q", cpu=1, gpu=1, priority=3),
                    pending("a", queue="r", cpu=3), pending("b", queue="r", cpu=1))  # fmt: skip

    assert actions(cluster)["a"] == "start"


def test_the_next_of_a_best_effort_queue_may_have_what_its_head_kept() -> None:
    cluster = blocked("Never", pending("small", queue="q", cpu=2))

    assert actions(cluster) == {"head": "wait", "other": "wait", "small": "start"}


def test_the_head_of_a_strict_queue_keeps_it_for_the_whole_plan() -> None:
    cluster = blocked("Never", pending("small", queue="q", cpu=2), pending("more", queue="r", cpu=1), strict=True)

    assert actions(cluster) == {"head": "wait", "other": "wait", "small": "wait", "more": "wait"}


def test_a_head_that_asks_for_more_than_its_queue_can_ever_have_keeps_nothing() -> None:
    assert actions(blocked("Never", asks=5)) == {"head": "refuse", "other": "start"}


def test_what_a_strict_head_keeps_makes_no_borrower_of_its_queue() -> None:
    """`mine` is within the quota of q, though its queue's head keeps more than that from others."""
    cluster = kueue(queue("q", "pool", cpu=2, strict=True), queue("r", "pool", cpu=1, reclaim="Any"),
                    running("mine", queue="q", cpu=2), pending("head", queue="q", cpu=2, submitted=-3),
                    pending("nothing", queue="r", cpu=0, submitted=-2), pending("other", queue="r", cpu=1))  # fmt: skip

    assert cede.plan(cluster).victims == set()
    assert cede.verify(cluster, cede.plan(cluster)) == []


# -- victims that several want ---------------------------------------------------------------------------------------

TWO = (queue("a", "pool", cpu=4, **ALL), queue("b", "pool", cpu=4, **ALL), queue("c", "pool", cpu=0),
       pending("first", queue="a", cpu=4, priority=6), pending("second", queue="b", cpu=4, priority=5))  # fmt: skip


def test_one_that_fits_once_the_victims_of_another_have_left_waits_for_that() -> None:
    cluster = kueue(*TWO, running("big", queue="c", cpu=8))

    assert rules(cluster) == {"first": "reclaim-within-cohort", "second": "deferred-fit"}
    assert victims(cluster) == {"first": {"big"}, "second": set()}
    assert set(cede.settle(cluster).running) == {"first", "second"}


def test_one_whose_victims_are_taken_takes_others() -> None:
    cluster = kueue(*TWO, running("x", queue="c", cpu=4), running("y", queue="c", cpu=4, priority=1))

    assert victims(cluster) == {"first": {"x"}, "second": {"y"}}


def test_one_whose_victims_are_taken_and_who_finds_no_others_waits() -> None:
    cluster = kueue(*TWO, running("x", queue="c", cpu=4), running("y", queue="c", cpu=4, preemptible=False))

    assert rules(cluster) == {"first": "reclaim-within-cohort", "second": "no-victims"}


def test_new_victims_are_looked_for_in_the_flavor_nominated_before() -> None:
    """In the flavor `fast` there would be room; but `second` was nominated for `spot`, whose victims are taken."""
    groups = [{"resources": ["cpu"], "flavors": ["spot", "fast"]}]
    same = {"resource_groups": groups, "fungibility": {"whenCanPreempt": "MayStopSearch"}, **ALL}
    queues = [queue(name, "pool", guaranteed={"cpu@spot": 4, "cpu@fast": 4}, **same) for name in ("a", "b")]
    cluster = kueue(*queues, queue("c", "pool", guaranteed={"cpu@spot": 0}), running("x", queue="c", **{"cpu@spot": 4}),
                    running("y", queue="c", preemptible=False, **{"cpu@spot": 4}), *TWO[3:])  # fmt: skip

    assert rules(cluster) == {"first": "reclaim-within-cohort", "second": "no-victims"}


def test_two_that_take_different_victims_both_preempt() -> None:
    cluster = kueue(queue("a", cpu=4, **ALL), queue("b", cpu=4, **ALL), running("x", queue="a", cpu=4),
                    running("y", queue="b", cpu=4), *TWO[3:])  # fmt: skip

    assert victims(cluster) == {"first": {"x"}, "second": {"y"}}


def test_what_an_earlier_head_takes_is_gone_for_the_next() -> None:
    cluster = kueue(cohort("pool", cpu=4), queue("a", "pool", cpu=0), queue("b", "pool", cpu=0),
                    pending("first", queue="a", cpu=3, priority=1), pending("second", queue="b", cpu=3),
                    pending("third", queue="b", cpu=1, submitted=1))  # fmt: skip

    assert rules(cluster) == {"first": "fits", "second": "lost-capacity", "third": "behind-head"}
    assert decided(cluster, "third").why.startswith("second is ahead in b and is tried again in the next cycle")


# -- order of entries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heads", "order"),
    [
        ((pending("x", queue="a", cpu=1), pending("y", queue="b", cpu=1, priority=1)), ["y", "x"]),
        ((pending("x", queue="a", cpu=1), pending("y", queue="b", cpu=1, submitted=-1)), ["y", "x"]),
        ((pending("x", queue="a", cpu=1), pending("y", queue="b", cpu=1, uid="0")), ["y", "x"]),
        ((pending("x", queue="a", cpu=4), pending("y", queue="b", cpu=5, priority=9)), ["x", "y"]),
        ((pending("x", queue="a", cpu=5), pending("y", queue="far", cpu=1, priority=9)), ["x", "y"]),
    ],
)
def test_who_borrows_from_further_up_comes_later_then_priority_and_age_decide(
    heads: tuple[Entry, ...], order: list[str]
) -> None:
    cluster = kueue(cohort("root", cpu=20), cohort("pool", "root"), queue("a", "pool", cpu=4),
                    queue("b", "pool", cpu=4), cohort("left", "root"), queue("far", "left", cpu=0), *heads)  # fmt: skip

    assert list(actions(cluster)) == order


def test_with_fair_sharing_shares_are_worked_out_anew_after_every_head() -> None:
    """Each queue borrows 2 at a time, so that they take turns, whatever the priority."""
    heads = [pending(f"{name}{at}", queue=name, cpu=2, priority=9 if name == "a" else 0, submitted=at)
             for name in "ab" for at in range(3)]  # fmt: skip
    cluster = fair(cohort("pool", cpu=8), queue("a", "pool", cpu=0), queue("b", "pool", cpu=0), *heads)

    assert actions(cluster) == {"a0": "start", "b0": "start", "a1": "start", "b1": "start", "a2": "wait", "b2": "wait"}


@pytest.mark.parametrize(("weight", "order"), [(1, ["y", "x"]), (4, ["x", "y"])])
def test_with_fair_sharing_weight_makes_a_share_smaller(weight: float, order: list[str]) -> None:
    cluster = fair(cohort("pool", cpu=9), queue("a", "pool", cpu=0, weight=weight), queue("b", "pool", cpu=0),
                   pending("x", queue="a", cpu=4, priority=9), pending("y", queue="b", cpu=2))  # fmt: skip

    assert list(actions(cluster)) == order


# -- one of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["big", "mid", "small", "last"])
def test_asked_for_alone_a_workload_gets_the_answer_it_has_among_all(name: str) -> None:
    cluster = kueue(queue("q", cpu=4), *LINE)

    assert cede.plan(cluster, only=name).decisions == (decided(cluster, name),)


# -- what is leaving already -----------------------------------------------------------------------------------------


def test_what_is_leaving_already_is_taken_first_and_not_evicted_again() -> None:
    cluster = kueue(queue("q", cpu=4, **ALL), preempting("gone", cpu=2, priority=4), running("low", cpu=2),
                    pending("in", cpu=2, priority=5))  # fmt: skip

    assert rules(cluster) == {"in": "awaits-victims"}
    assert cede.plan(cluster).victims == set()


def test_beside_new_victims_those_that_are_leaving_are_marked() -> None:
    cluster = kueue(queue("q", cpu=4, **ALL), preempting("gone", cpu=2), running("low", cpu=2),
                    pending("in", cpu=4, priority=5))  # fmt: skip

    [made] = cede.plan(cluster).decisions

    assert {victim.workload: victim.leaving for victim in made.victims} == {"gone": True, "low": False}
    assert [one.victim for one in cede.settle(cluster).preemptions] == ["low"]


def test_two_heads_do_not_wait_for_the_same_one_to_leave() -> None:
    cluster = kueue(*TWO, running("x", queue="c", cpu=4, preemptible=False), preempting("gone", queue="c", cpu=4))

    assert rules(cluster) == {"first": "awaits-victims", "second": "no-victims"}


def test_a_head_may_count_on_what_an_earlier_one_waits_for() -> None:
    """`gone` leaves more than `first` needs; the rest, and `low`, are enough for `second`."""
    lower = {"within": "LowerPriority", "reclaim": "LowerPriority"}
    heads = (pending("first", queue="a", cpu=2, priority=6), pending("second", queue="b", cpu=4, priority=5))
    cluster = kueue(queue("a", "pool", cpu=2, **lower), queue("b", "pool", cpu=4, **lower), queue("c", "pool", cpu=0),
                    running("low", queue="b", cpu=2), preempting("gone", queue="c", cpu=4), *heads)  # fmt: skip

    assert cede.verify(cluster, cede.plan(cluster)) == []
    assert set(cede.settle(cluster).running) == {"first", "second"}


def test_a_head_that_took_lawfully_what_it_found_is_lawful_whoever_started_before_it() -> None:
    """With `other` started in the same cycle, `left` has a larger share than when `in` was nominated."""
    both = {"cpu@default": 2, "cpu@spot": 2}
    cluster = fair(cohort("left", "root"), queue("a", "left", guaranteed=both, reclaim="LowerPriority"),
                   queue("l", "left", cpu=6), queue("s", "left", cpu=2),
                   queue("b", "root", guaranteed={"cpu@default": 6, "cpu@spot": 1}), running("x", queue="l", cpu=4),
                   running("y", queue="b", cpu=7), running("z", queue="b", cpu=2),
                   running("spot", queue="s", **{"cpu@spot": 6}), running("more", queue="b", **{"cpu@spot": 3}),
                   pending("in", queue="a", cpu=4, priority=3), pending("other", queue="l", cpu=3),
                   recheck_final_set=True)  # fmt: skip

    assert actions(cluster) == {"other": "start", "in": "preempt"}
    assert cede.verify(cluster, cede.plan(cluster)) == []
