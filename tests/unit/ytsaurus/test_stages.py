"""The preemptive stages of a heartbeat: their order, who starts in which, and how often."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, decided, pending, running, verdicts
from tests.unit.ytsaurus.small import docs, hungry, node, op, pool, shipped, starving

N4 = node("n1", cpu=4)
OWED = starving("a", cpu=4)
BOTH = pytest.mark.parametrize("cluster", [docs, shipped], ids=["docs", "25.4"])


def four(on: str = "n1", queue: str = "b", **keys: Any) -> list[Entry]:
    """Four allocations of 1 cpu of one operation, the first the oldest."""
    return [running(f"{queue}{at}", on, queue=queue, app=queue, cpu=1, started=at - 100, **keys) for at in range(4)]


def victims(cluster: cede.Cluster, workload: str | None = "in") -> list[tuple[str, str]]:
    """Who goes for a workload, and for what reason."""
    return [(one.workload, one.reason) for one in decided(cluster, workload or "").victims]


def test_the_aggressive_stage_comes_before_the_normal_one() -> None:
    """Both claimants want 1 cpu and have nothing. `a` comes first by name, `z` starves aggressively: z is served."""
    cluster = docs(
        *(N4, starving("a", cpu=1), starving("z", cpu=1, enable_aggressive_starvation=True), pool("b"), *four()),
        *(pending("first", queue="a", cpu=1), pending("in", queue="z", cpu=1)),
    )

    assert victims(cluster) == [("b3", "aggressive")]
    assert decided(cluster, "first").rule == "ytsaurus.one-per-heartbeat"


def test_whoever_starves_only_takes_nothing_that_is_aggressively_preemptible() -> None:
    """`b` is owed 2 cpu and has 3: one of them is preemptible, and `in` wants 2. `big` starves aggressively and fits
    nowhere; for it the aggressive stage is entered, but `in` has no part in that."""
    cluster = docs(
        *(N4, starving("a", cpu=1), starving("z", cpu=1, enable_aggressive_starvation=True), pool("b", cpu=2)),
        *(pool("c"), *four()[:3], running("c", queue="c", cpu=1, preemptible=False)),
        *(pending("in", queue="a", cpu=2), pending("big", queue="z", cpu=4)),
    )

    assert decided(cluster, "in").rule == "ytsaurus.no-room"
    assert verdicts(decided(cluster, "in", explain=True))["b1"] == ("protected", "aggressively-preemptible")


def test_who_starves_aggressively_takes_preemptible_ones_first_and_for_its_own_reason() -> None:
    cluster = docs(
        N4,
        starving("a", cpu=4, enable_aggressive_starvation=True),
        pool("b", cpu=4),
        *four(),
        pending("in", queue="a", cpu=3),
    )

    assert victims(cluster) == [("b3", "aggressive"), ("b2", "aggressive"), ("b1", "aggressive")]


def test_a_node_preempts_for_one_allocation_in_a_heartbeat() -> None:
    """Two nodes serve two, the third one waits; what is free goes to as many as fit."""
    nodes = (node("n1", cpu=4), node("n2", cpu=5))
    asks = [pending(f"in{at}", queue="a", app="in", cpu=1, submitted=at) for at in range(4)]
    cluster = docs(*nodes, starving("a", cpu=9), pool("b"), pool("c"), *four(), *four("n2", "c"), *asks)

    found = {made.workload: (made.action, made.nodes) for made in cede.plan(cluster).decisions}

    assert found["in0"] == ("preempt", ("n1",))
    assert found["in1"] == ("start", ("n2",))
    assert found["in2"] == ("preempt", ("n2",))
    assert found["in3"][0] == "wait"


@pytest.mark.parametrize(("ago", "action"), [(4, "wait"), (5, "wait"), (5.000001, "preempt"), (60, "preempt")])
def test_a_node_rests_for_the_backoff_and_strictly_so(ago: float, action: str) -> None:
    """The backoff is 5 s: a node may try again when more than 5 s have passed since it tried."""
    rested = node("n1", cpu=4, last_preemptive_attempt=-ago)

    assert decided(docs(rested, OWED, pool("b"), *four(), pending("in", queue="a", cpu=1)), "in").action == action


def test_a_node_that_rests_starts_what_fits() -> None:
    rested = node("n1", cpu=5, last_preemptive_attempt=-1)

    assert decided(docs(rested, OWED, pool("b"), *four(), pending("in", queue="a", cpu=1)), "in").action == "start"


def test_a_backoff_of_nothing_still_asks_for_a_later_moment() -> None:
    rested = node("n1", cpu=4, last_preemptive_attempt=0)
    cluster = docs(rested, OWED, pool("b"), *four(), pending("in", queue="a", cpu=1), preemptive_scheduling_backoff=0)

    assert decided(cluster, "in").rule == "ytsaurus.backoff"


# -- who is shielded ---------------------------------------------------------------------------------------------------


def test_an_operation_that_starves_keeps_what_it_has_unless_the_tree_says_otherwise() -> None:
    """`b` is owed 3 cpu, has 1 and starves. With a line at 0 even that one is preemptible but for the shield."""
    rest = running("c", queue="c", cpu=3, preemptible=False)
    entries = (N4, OWED, pool("b", cpu=3), pool("c"), hungry("b"), *four()[:1], rest)
    asks = (pending("in", queue="a", cpu=1), pending("b9", queue="b", app="b", cpu=3, preempts=False))
    low = {"preemption_satisfaction_threshold": 0.0001, "aggressive_preemption_satisfaction_threshold": 0}
    aggressive = {**low, "enable_aggressive_starvation": True}

    assert verdicts(decided(docs(*entries, *asks, **aggressive), "in", explain=True))["b0"][1] == "starves-itself"
    freed = docs(*entries, *asks, allow_preemption_from_starving_operations=True, **aggressive)
    assert victims(freed) == [("b0", "aggressive")]


def test_the_starvation_of_its_pool_shields_nobody() -> None:
    """The pool `b` starves for `b9`, which fits nowhere; `b` itself is beyond its share and gives way."""
    cluster = docs(
        *(N4, OWED, starving("b", cpu=3), op("b", weight=0.1), op("b9", weight=9), *four()),
        *(pending("in", queue="a", cpu=1), pending("b9", queue="b", cpu=9)),
    )

    assert [name for name, _ in victims(cluster)] == ["b3"]


def test_allow_normal_preemption_off_protects_from_the_normal_stage_only() -> None:
    kept = pool("b", allow_normal_preemption=False)
    ask = pending("in", queue="a", cpu=1)

    assert decided(docs(N4, OWED, kept, *four(), ask), "in").rule == "ytsaurus.no-room"
    aggressive = starving("a", cpu=4, enable_aggressive_starvation=True)
    assert victims(docs(N4, aggressive, kept, *four(), ask)) == [("b3", "aggressive")]


def test_allow_normal_preemption_off_on_a_pool_above_protects_all_below() -> None:
    tree = (pool("p", allow_normal_preemption=False), pool("b", "p", allow_normal_preemption=True))

    assert decided(docs(N4, OWED, *tree, *four(), pending("in", queue="a", cpu=1)), "in").rule == "ytsaurus.no-room"


def test_who_asks_not_to_be_preempted_is_not_and_who_asks_never_to_preempt_does_not() -> None:
    shy = four(preemptible=False)

    assert decided(docs(N4, OWED, pool("b"), *shy, pending("in", queue="a", cpu=1)), "in").rule == "ytsaurus.no-room"
    meek = pending("in", queue="a", cpu=1, preempts=False)
    assert decided(docs(N4, OWED, pool("b"), *four(), meek), "in").rule == "ytsaurus.may-not-preempt"


# -- graceful operations -----------------------------------------------------------------------------------------------

GENTLE = op("b", preemption_mode="graceful")


def test_a_graceful_operation_is_asked_to_leave_though_nobody_needs_the_room() -> None:
    """Its share is 1 of 8 cpu, as `a` is owed 7; but all that `a` asks for may stand on n2 only, which is cordoned."""
    nodes = (node("n1", cpu=4), node("n2", cpu=4, state="cordoned"))
    far = [pending(f"in{at}", queue="a", app="in", cpu=4, constraints={"nodes": ["n2"]}) for at in range(2)]
    cluster = docs(*nodes, pool("a", cpu=7), pool("b", cpu=1), GENTLE, *four(), *far)

    made = cede.plan(cluster).decisions[0]

    assert (made.workload, [one.workload for one in made.victims]) == (None, ["b3", "b2", "b1"])
    assert {one.reason for one in made.victims} == {"graceful"}


def test_nobody_takes_the_allocations_of_a_graceful_operation() -> None:
    """Its share is 2 of 4 cpu: two are asked to leave, and the two that stay are no candidates even aggressively."""
    aggressive = starving("a", cpu=4, enable_aggressive_starvation=True)
    cluster = docs(N4, aggressive, pool("b", cpu=4), GENTLE, *four(), pending("in", queue="a", cpu=3))

    assert decided(cluster, "in").action == "wait"
    found = verdicts(decided(cluster, "in", explain=True))
    assert (found["b0"], found["b1"]) == (("protected", "graceful-mode"), ("protected", "graceful-mode"))


def test_the_room_of_a_graceful_victim_is_not_used_in_the_same_heartbeat() -> None:
    cluster = docs(N4, OWED, pool("b"), GENTLE, *four(), pending("in", queue="a", cpu=2))

    assert decided(cluster, "in").rule == "ytsaurus.next-heartbeat"


# -- greed -------------------------------------------------------------------------------------------------------------

WIDE = (
    *(node("n1", cpu=8), starving("a", cpu=8), pool("b")),
    *(running("b0", queue="b", app="b", cpu=4, started=-9), running("b1", queue="b", app="b", cpu=3, started=-8)),
    *(running("b2", queue="b", app="b", cpu=1, started=-7), pending("in", queue="a", app="in", cpu=3, submitted=-1)),
    pending("next", queue="a", app="in", cpu=1),
)


def test_the_release_takes_a_prefix_and_warns_of_whom_it_did_not_need() -> None:
    """The newest has 1 cpu, the next 3: both go, though 3 cpu are asked for."""
    made = decided(shipped(*WIDE), "in")

    assert [one.workload for one in made.victims] == ["b2", "b1"]
    assert [(one.rule, one.why) for one in made.warnings] == [
        ("ytsaurus.smallest-set", "the document takes the smallest set: b1 would be enough, without b2")
    ]


def test_the_document_spares_whom_it_does_not_need() -> None:
    made = decided(docs(*WIDE), "in", explain=True)

    assert [one.workload for one in made.victims] == ["b1"]
    assert made.warnings == ()
    assert verdicts(made)["b2"] == ("not-needed", "spared")


def test_of_several_that_are_not_needed_the_oldest_is_spared() -> None:
    """Newest first 1, 1 and 2 cpu for 2 that are asked for: without the oldest, the two small ones are enough."""
    cluster = docs(
        *(node("n1", cpu=8), starving("a", cpu=8), pool("b"), running("b0", queue="b", app="b", cpu=4, started=-9)),
        *(running("b1", queue="b", app="b", cpu=2, started=-8), running("b2", queue="b", app="b", cpu=1, started=-7)),
        *(running("b3", queue="b", app="b", cpu=1, started=-6), pending("in", queue="a", app="in", cpu=3)),
        pending("next", queue="a", app="in", cpu=1, submitted=1),
    )

    assert [name for name, _ in victims(cluster)] == ["b3", "b1"]


@BOTH
def test_asked_for_alone_a_workload_is_decided_as_among_all(cluster: Any) -> None:
    """`--for`: the others still count as demand, and before it where they come before it."""
    made = cluster(
        N4, OWED, pool("b"), *four(), *(pending(f"in{at}", queue="a", cpu=1, submitted=at) for at in range(3))
    )
    everybody = cede.plan(made, explain=True).decisions

    assert len(everybody) == 3
    for one in everybody:
        assert cede.plan(made, only=one.workload, explain=True).decisions == (one,)
