"""Edition bep-1014: who may go, in what order, for whom, and what the rest of the queue may do meanwhile."""

import pytest

import cede
from tests.builders import (
    Entry,
    actions,
    cluster_of,
    decided,
    group,
    node,
    pending,
    preempting,
    reserved,
    running,
    suspended,
    verdicts,
)

IN = pending("in", cpu=4, priority=9)


# -- who may go ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priority", "threshold", "claimant", "goes"),
    [(5, 5, 10, True), (6, 5, 10, False), (4, 5, 4, False), (3, 5, 4, True), (99, 100, 100, True), (0, 0, 1, True)],
)
def test_priority_is_at_most_the_threshold_and_below_the_claimants(
    priority: int, threshold: int, claimant: int, goes: bool
) -> None:
    cluster = cluster_of(group(preemptible_priority=threshold), node("n1", cpu=4),
                         running("old", cpu=4, priority=priority), pending("in", cpu=4, priority=claimant))  # fmt: skip

    assert cede.plan(cluster).victims == ({"old"} if goes else set())


def test_the_default_threshold_is_five_and_the_default_priority_ten() -> None:
    cluster = cluster_of(node("n1", cpu=8), running("five", cpu=4, priority=5), running("ten", cpu=4),
                         pending("in", cpu=4, priority=11))  # fmt: skip

    assert cede.plan(cluster).victims == {"five"}


@pytest.mark.parametrize("state", ["reserved", "checkpointing", "preempting"])
def test_only_running_work_gives_way(state: str) -> None:
    cluster = cluster_of(node("n1", cpu=4), running("old", cpu=4, priority=1, state=state), IN)

    assert actions(cluster) == {"in": "wait"}


@pytest.mark.parametrize("kind", ["batch", "interactive", "inference", "service"])
def test_every_kind_but_system_may_go(kind: str) -> None:
    cluster = cluster_of(node("n1", cpu=8), running("sys", cpu=4, priority=0, kind="system"),
                         running("old", cpu=4, priority=1, kind=kind), IN)  # fmt: skip

    assert cede.plan(cluster).victims == {"old"}


def test_the_job_priority_of_the_shipped_edition_does_not_matter() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("old", cpu=4, priority=1, job_priority=9),
                         pending("in", cpu=4, priority=9, job_priority=0))  # fmt: skip

    assert cede.plan(cluster).victims == {"old"}


# -- in what order ---------------------------------------------------------------------------------------------------

A, B = running("a", cpu=4, priority=2, started=-20), running("b", cpu=4, priority=2, started=-10)
NEVER = running("never", cpu=4, priority=2)


@pytest.mark.parametrize(
    ("order", "entries", "goes"),
    [
        ("oldest", (A, B), "a"),
        ("newest", (A, B), "b"),
        ("oldest", (B, NEVER), "b"),
        ("newest", (B, NEVER), "never"),
        ("oldest", (running("z", cpu=4, priority=1, started=-1), A), "z"),
        ("newest", (running("z", cpu=4, priority=1, started=-99), B), "z"),
        ("oldest", (NEVER, running("ever", cpu=4, priority=2, uid="zz")), "never"),
        ("newest", (running("x", cpu=4, priority=2, started=-5, uid="2"), running("y", cpu=4, priority=2, started=-5,
                                                                                 uid="1")), "y"),
    ],
)  # fmt: skip
def test_the_lowest_priority_goes_first_then_by_start_then_by_uid(
    order: str, entries: tuple[Entry, ...], goes: str
) -> None:
    cluster = cluster_of(group(preemption_order=order), node("n1", cpu=8), *entries, IN)

    assert cede.plan(cluster).victims == {goes}


def test_the_order_runs_over_all_nodes_and_the_first_that_becomes_ready_is_cleared() -> None:
    cluster = cluster_of(
        node("n1", cpu=4), node("n2", cpu=4),
        running("a1", "n1", cpu=2, priority=1), running("a2", "n2", cpu=2, priority=2),
        running("b1", "n1", cpu=2, priority=4), running("b2", "n2", cpu=2, priority=3),
        pending("in", cpu=4, priority=9),
    )  # fmt: skip

    made = decided(cluster, "in")

    assert {victim.workload for victim in made.victims} == {"a2", "b2"}
    assert made.nodes == ("n2",)


def test_what_turns_out_not_to_be_needed_is_spared_last_taken_first() -> None:
    cluster = cluster_of(node("n1", cpu=6), running("a", cpu=1, priority=1), running("b", cpu=2, priority=2),
                         running("c", cpu=3, priority=3), pending("in", cpu=3, priority=9))  # fmt: skip

    made = decided(cluster, "in", explain=True)

    assert {victim.workload for victim in made.victims} == {"a", "b"}
    assert verdicts(made)["c"] == ("not-needed", "not-needed")


def test_for_a_gang_too_the_last_taken_is_looked_at_first() -> None:
    cluster = cluster_of(node("n1", cpu=6), running("a", cpu=1, priority=1), running("b", cpu=2, priority=2),
                         running("c", cpu=3, priority=3), pending("in", cpu=2, members=2, priority=9))  # fmt: skip

    assert cede.plan(cluster).victims == {"a", "c"}


def test_a_large_victim_replaces_the_small_ones_taken_before_it() -> None:
    cluster = cluster_of(node("n1", cpu=6), running("a", cpu=1, priority=1), running("b", cpu=1, priority=2),
                         running("c", cpu=4, priority=3), pending("in", cpu=4, priority=9))  # fmt: skip

    assert cede.plan(cluster).victims == {"c"}


def test_a_victim_on_two_nodes_frees_both() -> None:
    cluster = cluster_of(node("n1", cpu=4), node("n2", cpu=4), running("wide", ["n1", "n2"], cpu=4, members=2,
                         priority=1), pending("in", cpu=4, members=2, priority=9))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.nodes) == ("preempt", ("n1", "n2"))


def test_a_gang_is_placed_whole_or_not_at_all() -> None:
    entries = (node("n1", cpu=4), node("n2", cpu=4), running("low", "n1", cpu=4, priority=1),
               running("high", "n2", cpu=4, priority=50))  # fmt: skip

    assert actions(cluster_of(*entries, pending("in", cpu=4, members=2, priority=9))) == {"in": "wait"}
    assert actions(cluster_of(*entries, pending("in", cpu=2, members=2, priority=9))) == {"in": "preempt"}


# -- for whom --------------------------------------------------------------------------------------------------------


def test_only_the_head_may_preempt() -> None:
    cluster = cluster_of(node("n1", cpu=2), running("a", cpu=1, priority=1), running("b", cpu=1, priority=1),
                         pending("head", cpu=1, priority=9), pending("second", cpu=1, priority=8))  # fmt: skip

    assert actions(cluster) == {"head": "preempt", "second": "wait"}
    assert cede.plan(cluster).victims == {"a"}


def test_what_fits_ahead_of_it_does_not_take_the_heads_place() -> None:
    cluster = cluster_of(node("n1", cpu=5), running("a", cpu=4, priority=1), pending("small", cpu=1, priority=20),
                         pending("large", cpu=4, priority=9))  # fmt: skip

    assert actions(cluster) == {"small": "start", "large": "preempt"}


@pytest.mark.parametrize(
    "first",
    [
        pending("first", cpu=99, priority=20),
        pending("first", cpu=1, priority=20, constraints={"labels": {"arch": "arm"}}),
    ],
)
def test_what_is_refused_does_not_take_the_heads_place(first: Entry) -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4, priority=1), first, IN)

    assert actions(cluster) == {"first": "refuse", "in": "preempt"}


def test_a_head_that_never_preempts_keeps_the_place_all_the_same() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4, priority=1),
                         pending("first", cpu=4, priority=20, preempts=False), IN)  # fmt: skip

    assert actions(cluster) == {"first": "wait", "in": "wait"}
    assert decided(cluster, "in").rule == "backendai.head-only"


def test_every_group_has_a_head_of_its_own() -> None:
    cluster = cluster_of(
        group("red"), group("blue"), node("r1", cpu=4, partition="red"), node("b1", cpu=4, partition="blue"),
        running("r", "r1", cpu=4, priority=1, queue="red"), running("b", "b1", cpu=4, priority=1, queue="blue"),
        pending("to-red", cpu=4, queue="red"), pending("to-blue", cpu=4, queue="blue"),
    )  # fmt: skip

    assert cede.plan(cluster).victims == {"r", "b"}
    assert decided(cluster, "to-red").nodes == ("r1",)


# -- what the rest may do --------------------------------------------------------------------------------------------


def test_the_rest_starts_only_where_it_leaves_the_heads_room_alone() -> None:
    cluster = cluster_of(node("n1", cpu=5), node("n2", cpu=1), running("a", "n1", cpu=4, priority=1),
                         pending("head", cpu=4, priority=20), pending("next", cpu=1), pending("then", cpu=1),
                         pending("last", cpu=1))  # fmt: skip

    assert actions(cluster) == {"head": "preempt", "last": "start", "next": "start", "then": "wait"}
    assert {decided(cluster, "last").nodes, decided(cluster, "next").nodes} == {("n1",), ("n2",)}


def test_a_head_that_cannot_preempt_holds_nothing() -> None:
    cluster = cluster_of(node("n1", cpu=5), running("a", cpu=4, priority=50), pending("head", cpu=4, priority=20),
                         pending("next", cpu=1))  # fmt: skip

    assert actions(cluster) == {"head": "wait", "next": "start"}


def test_what_a_victim_leaves_over_may_be_used_by_the_next() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4, priority=1), pending("head", cpu=1, priority=20),
                         pending("next", cpu=3))  # fmt: skip

    assert actions(cluster) == {"head": "preempt", "next": "start"}


# -- states that hold room -------------------------------------------------------------------------------------------


def test_a_reservation_and_those_who_make_way_for_it_share_their_room() -> None:
    cluster = cluster_of(node("n1", cpu=8), preempting("leaving", cpu=4, priority=1), reserved("coming", cpu=4),
                         pending("in", cpu=4))  # fmt: skip

    assert actions(cluster) == {"in": "start"}


@pytest.mark.parametrize(("leaving", "coming", "free"), [(6, 4, 2), (4, 6, 2), (8, 8, 0)])
def test_the_larger_of_leaving_and_coming_counts(leaving: int, coming: int, free: int) -> None:
    entries = (node("n1", cpu=8), preempting("leaving", cpu=leaving), reserved("coming", cpu=coming))

    assert actions(cluster_of(*entries, pending("in", cpu=free + 1))) == {"in": "wait"}
    assert actions(cluster_of(*entries, pending("in", cpu=free))) == {"in": "start"}


def test_suspended_work_is_planned_like_pending() -> None:
    cluster = cluster_of(node("n1", cpu=8), running("a", cpu=4, priority=1), suspended("first", cpu=4, priority=20),
                         suspended("in", cpu=4, priority=9), pending("last", cpu=4, priority=8))  # fmt: skip

    assert actions(cluster) == {"first": "start", "in": "preempt", "last": "wait"}


# -- one workload alone ----------------------------------------------------------------------------------------------


def test_planned_alone_it_is_still_behind_the_head() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4, priority=1), pending("head", cpu=4, priority=20), IN)

    assert actions(cluster, only="in") == {"in": "wait"}
    assert actions(cluster, only="head") == {"head": "preempt"}


def test_planned_alone_it_may_preempt_if_all_ahead_of_it_fit() -> None:
    cluster = cluster_of(node("n1", cpu=5), running("a", cpu=4, priority=1), pending("small", cpu=1, priority=20), IN)

    assert actions(cluster, only="in") == {"in": "preempt"}


def test_only_waiting_work_can_be_planned_alone() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("a", cpu=4), IN)

    with pytest.raises(cede.InputError, match="a is running, not pending"):
        cede.plan(cluster, only="a")
    with pytest.raises(cede.InputError, match="no workload is called 'inn'"):
        cede.plan(cluster, only="inn")
