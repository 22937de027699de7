"""Cycle after cycle: what is remembered between them, when a run ends, and which runs never do."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, pending, reserved, running
from tests.unit.ytsaurus.small import docs, node, op, pool, shipped, starving

N4 = node("n1", cpu=4)
BOTH = pytest.mark.parametrize("cluster", [docs, shipped], ids=["docs", "25.4"])


def four(**keys: Any) -> list[Entry]:
    return [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 100, **keys) for at in range(4)]


def preemptions(end: cede.Settled) -> list[tuple[int, str, str | None]]:
    return [(one.at, one.victim, one.claimant) for one in end.preemptions]


# -- what is remembered ------------------------------------------------------------------------------------------------


def test_a_claimant_without_a_clock_starves_after_its_timeout() -> None:
    """Below its share from 0 s, cycle 1; it starves when more than 30 s have passed, at 31 s. Every node tries to
    preempt whenever its backoff of 5 s allows it, that is at 0, 6, ... 30 and 36 s, cycle 37."""
    end = cede.settle(docs(N4, pool("a", cpu=4), pool("b"), *four(), pending("in", queue="a", cpu=2)))

    assert preemptions(end) == [(37, "b3", "in"), (37, "b2", "in")]
    assert end.settled


def test_with_a_longer_step_between_cycles_it_is_the_first_one_after() -> None:
    cluster = docs(N4, pool("a", cpu=4), pool("b"), *four(), pending("in", queue="a", cpu=2))

    assert preemptions(cede.settle(cluster, interval=31)) == [(2, "b3", "in"), (2, "b2", "in")]


def test_the_clock_of_the_file_goes_on() -> None:
    """Below its share since 20 s before the first cycle: it starves at 11 s, and the node tries at 12 s, cycle 13."""
    clock = op("in", below_fair_share_since=-20)
    end = cede.settle(docs(N4, pool("a", cpu=4), pool("b"), clock, *four(), pending("in", queue="a", cpu=2)))

    assert {at for at, _, _ in preemptions(end)} == {13}


def test_who_has_its_share_for_a_moment_begins_anew() -> None:
    """`in` starves from the start. Its first allocation gives it its share, and the clock of the file with it: for the
    second, which it wants beyond its share, nobody goes."""
    clock = op("in", below_fair_share_since=-60)
    asks = [pending(f"in{at}", queue="a", app="in", cpu=2, submitted=at) for at in range(2)]
    end = cede.settle(docs(N4, pool("a", cpu=2), pool("b", cpu=2), clock, *four(), *asks))

    assert preemptions(end) == [(1, "b3", "in0"), (1, "b2", "in0")]
    assert end.pending["in1"] == "ytsaurus.not-starving"


def test_aggressive_starvation_comes_after_two_minutes() -> None:
    """`b` has what it is owed: only aggressive preemption helps, at 121 s; the node tries at 126 s, cycle 127."""
    tree = {"enable_aggressive_starvation": True, "aggressive_preemption_satisfaction_threshold": 0.9}
    ask = pending("in", queue="a", cpu=2)
    end = cede.settle(
        docs(N4, pool("a", cpu=4), pool("b", cpu=4), *four()[:3], ask, preemption_satisfaction_threshold=2, **tree)
    )

    assert preemptions(end) == [(127, "b2", "in")]


def test_a_node_rests_between_two_preemptions() -> None:
    """Two claimants of one operation: one is served in cycle 1, the other when more than 5 s have passed, cycle 7."""
    asks = [pending(f"in{at}", queue="a", app="in", cpu=1, submitted=at) for at in range(2)]
    end = cede.settle(docs(N4, starving("a", cpu=4), pool("b"), *four(), *asks))

    assert preemptions(end) == [(1, "b3", "in0"), (7, "b2", "in1")]
    shorter = docs(N4, starving("a", cpu=4), pool("b"), *four(), *asks, preemptive_scheduling_backoff=1.5)
    assert preemptions(cede.settle(shorter)) == [(1, "b3", "in0"), (3, "b2", "in1")]


def test_a_victim_waits_again_in_the_next_cycle_and_not_on_a_later_node_of_the_same_one() -> None:
    """n2, whose turn comes after n1, has room for both that go from n1: they start there in cycle 2."""
    held = [running(f"b{at}", "n1", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]
    asks = [pending(f"in{at}", queue="a", app="in", cpu=2, required_node="n1", submitted=at) for at in range(2)]
    cluster = docs(node("n1", cpu=4), node("n2", cpu=2), starving("a", cpu=6), pool("b"), *held, *asks)

    assert [made.workload for made in cede.plan(cluster).decisions if made.action == "start"] == []
    end = cede.settle(cluster)
    assert preemptions(end) == [(1, "b3", "in0"), (1, "b2", "in0")]
    assert (end.running["b2"], end.running["b3"]) == (["n2"], ["n2"])


def test_what_is_reserved_in_the_file_starts_before_the_first_cycle() -> None:
    end = cede.settle(docs(N4, pool("a"), reserved("soon", cpu=2), pending("in", cpu=2)))

    assert sorted(end.running) == ["in", "soon"]


# -- a run ends --------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("entries", "cycles"),
    [
        ((N4,), 1),
        ((N4, pool("a"), running("x", cpu=4)), 1),
        ((N4, pool("a"), pending("x", cpu=4)), 2),
        ((N4, pool("a", max_running_operation_count=1), running("x", cpu=1), pending("y", cpu=1)), 1),
        ((node("n1", cpu=4, state="cordoned"), pool("a"), pending("x", cpu=4)), 32),
        ((N4, pool("a"), pending("x", cpu=9)), 37),
    ],
    ids=["nothing", "all runs", "all starts", "nobody may run", "no node is ready", "refused"],
)
def test_a_run_ends_when_nothing_can_change_any_more(cluster: Any, entries: tuple[Entry, ...], cycles: int) -> None:
    """Whoever waits with a share has a clock, which runs out at 31 s, cycle 32; a node then tries once more to preempt,
    at 36 s."""
    end = cede.settle(cluster(*entries))

    assert (end.settled, end.loop, end.cycles) == (True, None, cycles)


@BOTH
def test_a_claimant_that_starves_and_finds_nobody_does_not_keep_a_run_alive(cluster: Any) -> None:
    """It starves from 31 s on. The node has tried at 30 s and may try again after 35 s; that it tries in vain, at 36 s,
    cycle 37, is the last thing that happens."""
    end = cede.settle(
        cluster(N4, pool("a", cpu=2), pool("b", cpu=2), *four(preemptible=False), pending("in", queue="a", cpu=1))
    )

    assert (end.settled, end.cycles, end.preemptions) == (True, 37, ())
    assert end.pending == {"in": "ytsaurus.no-room"}


@BOTH
def test_a_run_does_not_end_while_a_node_rests(cluster: Any) -> None:
    """Tried 3 s ago with a backoff of 5 s: nothing can happen in cycles 1 to 3, and in cycle 4 it does."""
    resting = node("n1", cpu=4, last_preemptive_attempt=-3)
    end = cede.settle(cluster(resting, starving("a", cpu=4), pool("b"), *four(), pending("in", queue="a", cpu=1)))

    assert preemptions(end) == [(4, "b3", "in")]


@BOTH
def test_a_run_does_not_end_while_a_node_is_over_its_capacity(cluster: Any) -> None:
    over = node("n1", cpu=2, overcommitted_since=-10)
    works = [running(f"c{at}", queue="b", cpu=1, started=at - 9) for at in range(3)]
    end = cede.settle(cluster(over, pool("b"), *works))

    assert preemptions(end) == [(7, "c2", None)]
    assert end.settled


@BOTH
def test_a_longer_timeout_keeps_a_run_alive_longer(cluster: Any) -> None:
    late = {"fair_share_starvation_timeout": "10m", "fair_share_aggressive_starvation_timeout": "20m"}
    end = cede.settle(cluster(N4, pool("a", cpu=4), pool("b"), *four(), pending("in", queue="a", cpu=2), **late))

    assert {at for at, _, _ in preemptions(end)} == {607}


@BOTH
def test_a_run_that_needs_more_cycles_than_it_may_have_says_so(cluster: Any) -> None:
    end = cede.settle(cluster(N4, pool("a", cpu=4), pool("b"), *four(), pending("in", queue="a", cpu=2)), cycles=20)

    assert (end.settled, end.loop, end.cycles) == (False, None, 20)


# -- a run that never ends ---------------------------------------------------------------------------------------------

ONLY = {"scheduling_preemption_priority_scope": "operation_only"}
TURNS = (
    *(node("n1", cpu=3), node("n2", cpu=4), pool("lab", cpu=6), pool("guests", cpu=1), op("wide", weight=4)),
    *(
        running("guest", "n2", queue="guests", cpu=4, started=-9),
        running("x1", "n1", queue="lab", app="x", cpu=1, started=-9),
    ),
    running("y1", "n1", queue="lab", app="y", cpu=1, started=-8),
    *(running("x2", "n1", queue="lab", app="x", cpu=1, started=-7), pending("y2", queue="lab", app="y", cpu=1)),
    pending("wide", queue="lab", cpu=4),
)


def loop(end: cede.Settled) -> list[tuple[str, str | None]] | None:
    return None if end.loop is None else [(one.victim, one.claimant) for one in end.loop]


@BOTH
@pytest.mark.parametrize(
    "option",
    [ONLY, {"enable_pool_starvation": False}, {"preemption_satisfaction_threshold": 2}],
    ids=lambda option: next(iter(option)),
)
def test_two_operations_of_a_starving_pool_take_turns_for_ever_unless_an_option_ends_it(
    cluster: Any, option: dict[str, Any]
) -> None:
    """The pool is owed 6 cpu and has 3, as `wide` fits nowhere. Both have their share of 1, and whoever has the third
    cpu has it beyond that: the other, who may preempt for the pool, takes it."""
    assert loop(cede.settle(cluster(*TURNS))) == [("x2", "y2"), ("y2", "x2")]
    assert cede.settle(cluster(*TURNS, **option)).settled


@BOTH
def test_an_operation_of_a_starving_pool_may_take_from_itself(cluster: Any) -> None:
    """`x` alone has 2 cpu of its share of 1.2, and one more waits: it takes the place of the newest, for ever."""
    entries = [one for one in TURNS if one.values["name"] not in ("y1", "y2")]
    more = [running(f"x{at}", "n1", queue="lab", app="x", cpu=1, started=at - 9) for at in (3,)]
    end = cede.settle(cluster(*entries, *more, pending("x4", queue="lab", app="x", cpu=1)))

    assert end.loop is not None
    assert {name[0] for victim, claimant in loop(end) or () for name in (victim, claimant or "")} == {"x"}
    assert cede.settle(cluster(*entries, *more, pending("x4", queue="lab", app="x", cpu=1), **ONLY)).settled


SEATS = (
    *(node("n1", cpu=3), pool("all"), running("x1", app="x", cpu=1, started=-9)),
    *(running(f"y{at}", app="y", cpu=1, started=at - 9) for at in (1, 2)),
    pending("x2", app="x", cpu=1),
)


@BOTH
def test_aggressive_preemption_lets_two_take_turns_where_it_takes_below_the_tolerance(cluster: Any) -> None:
    """3 cpu, a share of 1.5 each. Who has 1 starves, and aggressively so after 2 minutes; the second of the other
    begins beyond a fifth of its share. It is left with 1 and starves in its turn. Above the tolerance nobody would."""
    aggressive = {"enable_aggressive_starvation": True}

    assert loop(cede.settle(cluster(*SEATS, **aggressive))) == [("y2", "x2"), ("x2", "y2")]
    assert loop(cede.settle(cluster(*SEATS, **aggressive, **ONLY))) is not None
    kept = {**aggressive, "aggressive_preemption_satisfaction_threshold": 0.8}
    assert cede.settle(cluster(*SEATS, **kept)).settled
    assert cede.settle(cluster(*SEATS)).settled


@BOTH
def test_so_does_the_option_of_2025_12_by_plain_preemption(cluster: Any) -> None:
    """The second allocation of 1 cpu ends beyond the share of 1.5, and whoever loses it has 1, below 0.8 of that."""
    bound = {"consider_allocation_on_fair_share_bound_preemptible": True}

    assert loop(cede.settle(cluster(*SEATS, **bound, **ONLY))) == [("y2", "x2"), ("x2", "y2")]
    assert cede.settle(cluster(*SEATS, **bound, fair_share_starvation_tolerance=0.5)).settled
