"""Nodes that hold more than they have."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, pending, preempting, reserved, running
from tests.unit.ytsaurus.small import docs, node, pool


def held(count: int, **keys: Any) -> list[Entry]:
    """Allocations of 1 cpu of one operation, the first the oldest."""
    return [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 100, **keys) for at in range(count)]


def alone(count: int, **keys: Any) -> list[Entry]:
    """Allocations of 1 cpu, each the only one of its operation, and so protected."""
    return [running(f"c{at}", queue="b", cpu=1, started=at - 100, **keys) for at in range(count)]


def gone(*entries: Entry, **tree: Any) -> list[tuple[str, list[str]]]:
    """What happens without a claimant: rule and victims."""
    return [
        (made.rule.partition(".")[2], [one.workload for one in made.victims])
        for made in cede.plan(docs(pool("a"), pool("b"), *entries, **tree)).decisions
        if made.workload is None
    ]


def over(cpu: int = 2, ago: float = 0, **keys: Any) -> Entry:
    return node("n1", cpu=cpu, overcommitted_since=-ago, **keys)


def test_what_is_preemptible_goes_at_once_the_newest_first() -> None:
    """4 cpu stand on a node of 3: the last lies beyond the share, which is 3."""
    assert gone(node("n1", cpu=3), *held(4)) == [("overcommit", ["b3"])]


def test_no_more_go_than_must() -> None:
    """4 cpu on a node of 3, and a share of 1.5: the last two are preemptible, and one is enough."""
    assert gone(node("n1", cpu=3), *held(4), pending("in", queue="a", cpu=3)) == [("overcommit", ["b3"])]


def test_what_is_protected_stays_for_the_time_that_is_allowed() -> None:
    assert gone(over(ago=15), *alone(3)) == []


def test_after_that_those_stay_that_fit_beside_the_older_ones() -> None:
    assert gone(over(ago=15.000001), *alone(3)) == [("overcommit-abort", ["c2"])]
    assert gone(over(ago=2), *alone(3), allowed_node_resources_overcommit_duration=1) == [("overcommit-abort", ["c2"])]


def test_the_better_protected_are_kept_before_the_older() -> None:
    """`b1` is older than `c0`. It begins at 1 cpu of a share of 1, which with a threshold of 2 only aggressive
    preemption would take."""
    works = [*held(2), running("c0", queue="a", cpu=1, started=-5)]

    assert gone(over(ago=16), *works, preemption_satisfaction_threshold=2) == [("overcommit-abort", ["b1"])]


def test_one_that_does_not_fit_is_passed_over_for_a_smaller_one() -> None:
    """Of 3 cpu the first takes 2; the second would take 2 more, the third 1."""
    works = [running(f"c{at}", queue="b", cpu=cpu, started=at - 100) for at, cpu in enumerate((2, 2, 1))]

    assert gone(over(cpu=3, ago=16), *works) == [("overcommit-abort", ["c1"])]


def test_an_abort_takes_those_who_ask_to_be_spared_too() -> None:
    assert gone(over(ago=16), *alone(3, preemptible=False)) == [("overcommit-abort", ["c2"])]


def test_an_abort_does_not_wait_for_the_backoff() -> None:
    assert gone(over(ago=16, last_preemptive_attempt=-1), *alone(3)) == [("overcommit-abort", ["c2"])]


def test_the_normal_stage_does() -> None:
    assert gone(over(cpu=3, ago=1, last_preemptive_attempt=-1), *held(4)) == []


def test_an_abort_does_not_wait_for_those_who_wait_on_the_node() -> None:
    soon = (reserved("soon", queue="a", cpu=1), preempting("x", queue="b", cpu=1))

    assert gone(over(cpu=3, ago=16), *alone(3), *soon) == [("overcommit-abort", ["c2"])]


def test_what_leaves_already_is_not_counted() -> None:
    assert gone(over(cpu=3, ago=16), *alone(3), preempting("x", queue="b", cpu=1)) == []


def test_what_others_occupy_is_taken_off_the_node() -> None:
    assert gone(over(cpu=4, ago=16, occupied={"cpu": 2}), *alone(3)) == [("overcommit-abort", ["c2"])]


def test_any_resource_may_be_the_one_that_is_exceeded() -> None:
    works = [running(f"c{at}", queue="b", cpu=1, memory=at, started=at - 100) for at in range(1, 4)]

    assert gone(node("n1", cpu=8, memory=4, overcommitted_since=-16), *works) == [("overcommit-abort", ["c3"])]


@pytest.mark.parametrize("slots", [0, 1])
def test_a_node_without_user_slots_keeps_nobody(slots: int) -> None:
    """It has room in all else, and is over nothing."""
    found = gone(node("n1", cpu=8, user_slots=slots), *alone(3, preemptible=False))

    assert found == ([("no-slots", ["c0", "c1", "c2"])] if slots == 0 else [])


def test_nothing_starts_on_a_node_without_user_slots() -> None:
    cluster = docs(node("n1", cpu=8, user_slots=0), pool("a"), pending("in", cpu=1))

    assert cede.plan(cluster).decisions[0].rule == "ytsaurus.min-spare"


def test_the_clock_begins_with_the_first_cycle_that_sees_it() -> None:
    """From cycle 1 at 0 s the node is over; the first time after more than 15 s is cycle 17, at 16 s."""
    end = cede.settle(docs(node("n1", cpu=2), pool("b"), *alone(3)))

    assert [(one.at, one.victim, one.rule) for one in end.preemptions] == [(17, "c2", "ytsaurus.overcommit-abort")]
    assert end.settled


def test_the_clock_stops_when_the_node_is_no_longer_over() -> None:
    """Two nodes: what is preemptible leaves n1 in the first cycle. Nobody else goes, though the file's clock is old."""
    works = [*held(3), running("c0", queue="a", cpu=1, started=-5)]
    end = cede.settle(docs(over(cpu=3, ago=14), pool("a"), pool("b"), *works))

    assert [one.victim for one in end.preemptions] == ["b2"]
