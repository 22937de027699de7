"""Who starves, since when, and to whom that gives the right to preempt."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, decided, pending, running
from tests.unit.ytsaurus.small import docs, node, op, pool

N4 = node("n1", cpu=4)
NOT, STARVES, FURTHER = "non_starving", "starving", "aggressively_starving"
FOUR = [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 100) for at in range(4)]
IN = pending("in", queue="a", cpu=1)
MORE = pending("in", queue="a", cpu=4)


def starvation(*entries: Entry, name: str = "in", **tree: Any) -> str:
    """The state of a pool or an operation."""
    plan = cede.plan(docs(N4, *entries, **tree), shares=True).to_dict()
    found: str = (plan["queues"] | plan["apps"])[name]["starvation"]
    return found


@pytest.mark.parametrize(("ago", "state"), [(0, NOT), (30, NOT), (30.000001, STARVES), (1000, STARVES)])
def test_an_operation_starves_when_more_than_its_timeout_has_passed(ago: float, state: str) -> None:
    """The timeout is 30 s, and the comparison is strict."""
    assert starvation(pool("a"), pool("b"), op("in", below_fair_share_since=-ago), *FOUR, IN) == state


@pytest.mark.parametrize(("ago", "state"), [(31, STARVES), (120, STARVES), (120.000001, FURTHER)])
def test_it_starves_aggressively_after_two_minutes_where_that_is_enabled(ago: float, state: str) -> None:
    entries = (pool("a"), pool("b"), op("in", below_fair_share_since=-ago), *FOUR, IN)

    assert starvation(*entries, enable_aggressive_starvation=True) == state
    assert starvation(*entries) == (STARVES if ago > 30 else NOT)


def test_a_pool_starves_by_its_own_clock() -> None:
    entries = (pool("a", below_fair_share_since=-31), pool("b"), *FOUR, IN)

    assert starvation(*entries, name="a") == STARVES
    assert starvation(*entries, name="in") == NOT
    assert starvation(*entries, name="a", enable_pool_starvation=False) == NOT


def test_who_is_not_below_its_share_does_not_starve_whatever_its_clock_says() -> None:
    """`in` has 2 cpu, which is its share."""
    held = running("a0", queue="a", app="in", cpu=2)
    entries = (pool("a"), pool("b"), op("in", below_fair_share_since=-1000), held, *FOUR[:2], IN)

    assert starvation(*entries, pending("b9", queue="b", app="b", cpu=1)) == NOT


def test_an_operation_without_pending_work_does_not_starve() -> None:
    """A listed operation that asks for nothing; and one that is not among those of a FIFO pool that are scheduled."""
    assert starvation(pool("a"), pool("b"), op("idle", "a", below_fair_share_since=-99), *FOUR, name="idle") == NOT
    fifo = (pool("a", mode="fifo"), pool("b"), op("late", below_fair_share_since=-99))
    asks = (IN, pending("late", queue="a", cpu=1, submitted=1))
    assert starvation(*fifo, *FOUR, *asks, name="late") == STARVES
    assert starvation(*fifo, *FOUR, *asks, name="late", max_schedulable_element_count_in_fifo_pool=1) == NOT


def test_with_few_pending_allocations_the_timeouts_of_operations_shrink() -> None:
    """One of four: 30 s become 7.5, 2 minutes become 30 s. With four it is all of them. Pools do not know this."""
    few: dict[str, Any] = {"allocation_count_preemption_timeout_coefficient": 4, "enable_aggressive_starvation": True}

    def after(seconds: float, *asks: Entry) -> str:
        return starvation(pool("a"), pool("b"), op("in", below_fair_share_since=-seconds), *FOUR, *asks, **few)

    assert [after(seconds, IN) for seconds in (7.5, 8, 30, 31)] == [NOT, STARVES, STARVES, FURTHER]
    all_four = [pending(f"in{at}", queue="a", app="in", cpu=1) for at in range(4)]
    assert [after(seconds, *all_four) for seconds in (30, 31)] == [NOT, STARVES]
    pools = (pool("a", below_fair_share_since=-8), pool("b"), *FOUR, IN)
    assert starvation(*pools, name="a", **few) == NOT


def test_an_operation_starves_later_than_its_pool_says_and_never_earlier() -> None:
    """The pool says 10 s. An operation that says 60 has 60, one that says 1 has 10."""
    name = "fair_share_starvation_timeout"

    def after(seconds: float, own: int) -> str:
        one = op("in", below_fair_share_since=-seconds, **{name: own})
        return starvation(pool("a", **{name: 10}), pool("b"), one, *FOUR, IN)

    assert [after(11, 60), after(61, 60), after(9, 1), after(11, 1)] == [NOT, STARVES, NOT, STARVES]


def test_the_tolerance_is_the_lower_of_pool_and_operation() -> None:
    """The share is 2 cpu of a demand of 5, usage 1. With a tolerance of a half that is not below it."""
    name = "fair_share_starvation_tolerance"

    def state(of_pool: float, own: float) -> str:
        one = op("in", below_fair_share_since=-99, **{name: own})
        held = running("a0", queue="a", app="in", cpu=1)
        return starvation(pool("a", **{name: of_pool}), pool("b"), one, held, *FOUR[:3], MORE)

    assert [state(0.8, 0.8), state(0.8, 0.5), state(0.5, 0.8)] == [STARVES, NOT, NOT]


def test_with_the_absolute_tolerance_more_than_one_allocation_must_be_missing() -> None:
    """The share is 2 cpu of a demand of 4, usage 1: one allocation of 1 cpu is missing, and no more."""
    held = running("a0", queue="a", app="in", cpu=1)
    asks = [pending(f"in{at}", queue="a", app="in", cpu=1) for at in range(3)]
    entries = (pool("a"), pool("b"), op("in", below_fair_share_since=-99), held, *FOUR[:3])
    absolute: dict[str, Any] = {"enable_absolute_fair_share_starvation_tolerance": True}

    assert starvation(*entries, *asks) == STARVES
    assert starvation(*entries, *asks, **absolute) == NOT
    halves = [pending(f"in{at}", queue="a", app="in", cpu="500m") for at in range(6)]
    assert starvation(*entries, *halves, **absolute) == STARVES


# -- flags of pools ----------------------------------------------------------------------------------------------------


def test_the_nearest_pool_that_sets_it_decides_whether_one_starves_aggressively() -> None:
    flag = "enable_aggressive_starvation"
    clocks = op("in", below_fair_share_since=-1000)

    def state(*tree: Entry, **of_tree: Any) -> str:
        return starvation(*tree, pool("b"), clocks, *FOUR, IN, **of_tree)

    assert state(pool("p", **{flag: True}), pool("a", "p")) == FURTHER
    assert state(pool("p", **{flag: True}), pool("a", "p", **{flag: False})) == STARVES
    assert state(pool("p"), pool("a", "p"), **{flag: True}) == FURTHER


def test_the_nearest_pool_that_sets_it_decides_whether_one_may_be_taken_from_aggressively() -> None:
    flag = "allow_aggressive_preemption"
    claimant = pool("a", cpu=4, below_fair_share_since=-999, enable_aggressive_starvation=True)

    def action(*tree: Entry) -> str:
        return decided(docs(N4, claimant, *tree, *FOUR, pending("in", queue="a", cpu=3)), "in").action

    assert action(pool("b", cpu=4)) == "preempt"
    assert action(pool("p", cpu=4, **{flag: False}), pool("b", "p", cpu=4)) == "wait"
    assert action(pool("p", cpu=4, **{flag: False}), pool("b", "p", cpu=4, **{flag: True})) == "preempt"


def test_gangs_may_be_spared_from_aggressive_preemption() -> None:
    claimant = pool("a", cpu=4, below_fair_share_since=-999, enable_aggressive_starvation=True)
    entries = (N4, claimant, pool("b", cpu=4), op("b", is_gang=True), *FOUR, pending("in", queue="a", cpu=3))

    assert decided(docs(*entries), "in").action == "preempt"
    spared = docs(*entries, allow_aggressive_preemption_for_gang_operations=False)
    assert decided(spared, "in").rule == "ytsaurus.no-room"


# -- whose starvation counts -------------------------------------------------------------------------------------------

ONLY: dict[str, Any] = {"scheduling_preemption_priority_scope": "operation_only"}


def test_a_pool_that_starves_lends_its_right_to_all_its_operations() -> None:
    """The pool `p` has starved for long; `in`, two pools below it, is below its share since now."""
    tree = (pool("p", below_fair_share_since=-99, cpu=4), pool("q", "p"), pool("a", "q"), pool("b"))
    entries = (N4, *tree, *FOUR, IN)

    assert decided(docs(*entries), "in").action == "preempt"
    assert decided(docs(*entries, **ONLY), "in").rule == "ytsaurus.not-starving"


def test_with_scope_operation_only_an_operation_needs_its_own_starvation() -> None:
    entries = (N4, pool("a", cpu=4), pool("b"), op("in", below_fair_share_since=-31), *FOUR, IN)

    assert decided(docs(*entries, **ONLY), "in").action == "preempt"


def test_an_operation_that_has_its_share_preempts_for_its_pool() -> None:
    """`in` has its cpu and more; its pool starves for `far`, which fits nowhere. It takes one more from `b`."""
    entries = (
        *(N4, pool("a", cpu=3, below_fair_share_since=-99), pool("b", cpu=1), op("far", weight=9)),
        *(running("a0", queue="a", app="in", cpu=1), *FOUR[:3], IN, pending("far", queue="a", cpu=9)),
    )

    assert decided(docs(*entries), "in").action == "preempt"
    assert decided(docs(*entries, **ONLY), "in").rule == "ytsaurus.not-starving"


def test_the_aggressive_starvation_of_a_pool_counts_for_its_operations_too() -> None:
    """The operation starves plainly, its pool aggressively: what it takes is taken aggressively."""
    flag = {"enable_aggressive_starvation": True}
    entries = (
        *(N4, pool("a", cpu=4, below_fair_share_since=-121, **flag), pool("b", cpu=4)),
        *(op("in", below_fair_share_since=-31), *FOUR, pending("in", queue="a", cpu=3)),
    )
    made = decided(docs(*entries), "in")

    assert {one.reason for one in made.victims} == {"aggressive"}
    assert "its pool a is below its fair share for 2m 1s" in made.why
