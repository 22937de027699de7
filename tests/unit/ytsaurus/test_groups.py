"""Which allocations of an operation are protected: the cut of its list, and what the order of the list is."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, pending, running
from tests.unit.ytsaurus.small import docs, node, op, pool

N5 = node("n1", cpu=5)
TWO = (pool("a"), pool("b"))
NON, SOME, ALL = "non_preemptible", "aggressively_preemptible", "preemptible"
BOUND = {"consider_allocation_on_fair_share_bound_preemptible": True}


def held(count: int, **keys: Any) -> list[Entry]:
    """So many allocations of 1 cpu of one operation, the first the oldest."""
    return [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 100, **keys) for at in range(count)]


def groups(*entries: Entry, **tree: Any) -> list[str]:
    """The group of each allocation, by name."""
    found = cede.plan(docs(*entries, **tree), shares=True).to_dict()["workloads"]
    return [found[name] for name in sorted(found)]


HUNGRY = pending("in", queue="a", cpu=5)


def test_the_allocation_that_crosses_the_line_is_protected() -> None:
    """The share is 2.5 of 5 cpu: the third allocation begins at 2 and is on the protected side, the fourth at 3. A
    fifth of the share is 0.5: only the first begins below that."""
    assert groups(N5, *TWO, *held(4), HUNGRY) == [NON, SOME, SOME, ALL]


def test_with_the_option_of_2025_12_the_one_that_crosses_is_preemptible() -> None:
    """With it the second ends at 2, within 2.5, and the third at 3, beyond: both lines move one allocation up."""
    assert groups(N5, *TWO, *held(4), HUNGRY, **BOUND) == [SOME, SOME, ALL, ALL]


def test_with_the_option_an_allocation_that_ends_on_the_line_is_protected() -> None:
    """The share is 2 of 4 cpu, where the second allocation ends."""
    four = (node("n1", cpu=4), *TWO, *held(4), HUNGRY)

    assert groups(*four, **BOUND) == [SOME, SOME, ALL, ALL]
    assert groups(*four, aggressive_preemption_satisfaction_threshold=0.5, **BOUND) == [NON, SOME, ALL, ALL]


def test_a_share_of_nothing_protects_nothing() -> None:
    assert groups(N5, pool("a", cpu=5), pool("b"), *held(3), HUNGRY) == [ALL, ALL, ALL]


def test_where_the_share_is_all_that_is_asked_for_nothing_is_plainly_preemptible() -> None:
    """4 of 5 cpu are used and asked for: they are the share, and the aggressive line is at a fifth of them."""
    assert groups(N5, *TWO, *held(4)) == [NON, SOME, SOME, SOME]


def test_a_threshold_above_one_protects_beyond_the_share() -> None:
    """Twice 2.5 cpu are all of the cluster."""
    assert groups(N5, *TWO, *held(4), HUNGRY, preemption_satisfaction_threshold=2) == [NON, SOME, SOME, SOME]


def test_thresholds_of_zero_and_nearly_zero() -> None:
    """An aggressive line at 0 protects nobody; a line just above 0 protects the first."""
    line = "aggressive_preemption_satisfaction_threshold"

    assert groups(N5, *TWO, *held(4), HUNGRY, **{line: 0}) == [SOME, SOME, SOME, ALL]
    assert groups(N5, *TWO, *held(4), HUNGRY, **{line: 0.001}) == [NON, SOME, SOME, ALL]


@pytest.mark.parametrize(
    ("threshold", "found"),
    [
        ({"cpu": 2}, [NON, NON, ALL, ALL]),
        ({"cpu": "2500m"}, [NON, NON, NON, ALL]),
        ({"cpu": 100}, [NON, NON, NON, NON]),
        ({"user_slots": 0}, [ALL, ALL, ALL, ALL]),
        ({"cpu": 100, "user_slots": 0}, [ALL, ALL, ALL, ALL]),
        ({}, [ALL, ALL, ALL, ALL]),
    ],
)
def test_usage_below_a_threshold_in_every_resource_it_names_is_protected(
    threshold: dict[str, Any], found: list[str]
) -> None:
    """The share is nothing. Usage of 0 and 1 cpu before an allocation is below 2; nothing is below 0."""
    slots = node("n1", cpu=5, user_slots=9)
    entries = (slots, pool("a", cpu=5, user_slots=9), pool("b"), *held(4, user_slots=1))
    wanting = pending("in", queue="a", cpu=5, user_slots=9)

    assert groups(*entries, wanting, non_preemptible_resource_usage_threshold=threshold) == found


def test_an_operation_lowers_the_threshold_and_adds_to_it_but_never_raises_it() -> None:
    """The tree says 3 cpu: an operation that says 1 has 1, one that says 9 has 3."""
    name = "non_preemptible_resource_usage_threshold"
    entries = (N5, pool("a", cpu=5), pool("b"), *held(4), HUNGRY)

    assert groups(*entries, op("b", **{name: {"cpu": 1}}), **{name: {"cpu": 3}}) == [NON, ALL, ALL, ALL]
    assert groups(*entries, op("b", **{name: {"cpu": 9}}), **{name: {"cpu": 3}}) == [NON, NON, NON, ALL]
    assert groups(*entries, op("b", **{name: {"cpu": 1}})) == [NON, ALL, ALL, ALL]


# -- the order of the list ---------------------------------------------------------------------------------------------


def newest_first(*works: Entry) -> list[str]:
    """Who goes, in the order of taking, for somebody who needs all that is preemptible. The share is nothing."""
    [made] = cede.plan(docs(N5, pool("a", cpu=5, below_fair_share_since=-99), pool("b"), *works, HUNGRY)).decisions
    return [victim.workload for victim in made.victims]


def test_the_newest_goes_first_whatever_its_operation() -> None:
    works = [running(name, queue="b", cpu=1, started=at) for name, at in (("x", -9), ("y", -3), ("z", -6))]

    assert newest_first(*works, running("more", queue="b", cpu=2, started=-99)) == ["y", "z", "x", "more"]


def test_progress_begins_with_the_last_checkpoint() -> None:
    """`old` started first and saved itself a second ago: little is lost with it."""
    works = [running("old", queue="b", cpu=1, started=-90, checkpoint={"mode": "auto", "last": -1})]
    works += [running("new", queue="b", cpu=4, started=-9)]

    assert newest_first(*works) == ["old", "new"]


def test_a_checkpoint_before_the_start_says_nothing() -> None:
    works = [running("old", queue="b", cpu=1, started=-90, checkpoint={"mode": "auto", "last": -99})]
    works += [running("new", queue="b", cpu=4, started=-9)]

    assert newest_first(*works) == ["new", "old"]


def test_one_whose_start_is_unknown_goes_first_of_all() -> None:
    works = [running("known", queue="b", cpu=1, started=0), running("unknown", queue="b", cpu=4)]

    assert newest_first(*works) == ["unknown", "known"]


def test_equal_starts_are_ordered_by_uid_the_greatest_first() -> None:
    works = [running("x", queue="b", cpu=1, started=-9, uid="2"), running("y", queue="b", cpu=4, started=-9, uid="1")]

    assert newest_first(*works) == ["x", "y"]


def test_a_checkpoint_moves_an_allocation_behind_the_line() -> None:
    """Four of 1 cpu with a share of 2: the oldest saved itself last, so that it begins at 3 and is preemptible."""
    first = running("b0", queue="b", app="b", cpu=1, started=-200, checkpoint={"mode": "auto", "last": -1})
    entries = (node("n1", cpu=4), *TWO, first, *held(4)[1:], HUNGRY)

    assert groups(*entries) == [ALL, NON, SOME, ALL]


def test_plainly_preemptible_ones_go_before_newer_ones_that_are_not() -> None:
    """`b` is owed 1 cpu: its second is preemptible. `c` has the 2 it is owed: its second, which is newer, lies beyond
    half of that and is aggressively preemptible."""
    [made] = cede.plan(
        docs(
            *(node("n1", cpu=4), pool("a", cpu=1, below_fair_share_since=-999, enable_aggressive_starvation=True)),
            *(pool("b", cpu=1), pool("c", cpu=2), *held(2), pending("in", queue="a", cpu=2)),
            *(running(f"c{at}", queue="c", app="c", cpu=1, started=at - 10) for at in range(2)),
            aggressive_preemption_satisfaction_threshold=0.5,
        )
    ).decisions

    assert [victim.workload for victim in made.victims] == ["b1", "c1"]


def test_of_those_within_their_share_one_that_uses_less_cpu_than_it_may_goes_first() -> None:
    """Both are aggressively preemptible; `idle` is older, but uses half a cpu of its one."""
    idle = running("b1", queue="b", app="b", cpu=1, started=-90, usage={"cpu": "500m"})
    [made] = cede.plan(
        docs(
            *(node("n1", cpu=3), pool("a", cpu=1, below_fair_share_since=-999, enable_aggressive_starvation=True)),
            *(pool("b", cpu=2), running("b0", queue="b", app="b", cpu=1, started=-99), idle),
            *(running("b2", queue="b", app="b", cpu=1, started=-9), pending("in", queue="a", cpu=1)),
            *(pending("more", queue="b", app="b", cpu=1),),
        )
    ).decisions[:1]

    assert [victim.workload for victim in made.victims] == ["b1"]
