"""Quota preemption: who is cut back, when, and what is said of it."""

from __future__ import annotations

import pytest

import cede
from tests.unit.yunikorn.fact_files import NOW, load
from tests.unit.yunikorn.quota_files import FULL, LEAF, ON, Entry, cluster, cuts, queue, victims, work

# -- when ------------------------------------------------------------------------------------------------------------


def test_a_queue_that_was_above_its_max_long_enough_gives_back_what_is_too_much() -> None:
    [made] = cuts(cluster(*FULL))

    assert (made.action, made.rule, made.nodes) == ("preempt", "yunikorn.quota", ())
    assert [(victim.workload, victim.reason) for victim in made.victims] == [("two", "yunikorn.quota")]
    assert made.why == ("root.a holds 8 cpu and may hold 4 cpu; it gives back up to 4 cpu and preempts two (root.a)")


@pytest.mark.parametrize(
    "leaf",
    {
        "too short": queue("root.a", max={"cpu": 4}, since=NOW - 59),
        "from now on, where nobody says since when": queue("root.a", max={"cpu": 4}),
        "with no delay, which means for ever": queue("root.a", max={"cpu": 4}, since=NOW - 60, delay=None),
        "with a delay of nothing, which means for ever": queue("root.a", max={"cpu": 4}, since=NOW - 60, delay="0s"),
        "of another type only": queue("root.a", max={"gpu": 4}, since=NOW - 60),
        "not at all": queue("root.a", max={"cpu": 8}, since=NOW - 60),
    }.items(),
    ids=lambda item: item[0],
)
def test_nobody_goes_while_the_queue_is_above_its_max(leaf: tuple[str, Entry]) -> None:
    assert cuts(cluster(leaf[1], *FULL[1:])) == []


def test_it_is_off_unless_switched_on() -> None:
    assert cuts(cluster(*FULL, settings={})) == []


def test_the_delay_is_inherited() -> None:
    root = queue("root", delay="60s")

    assert victims(cluster(root, queue("root.a", max={"cpu": 4}, since=NOW - 60, delay=None), *FULL[1:])) == {"two"}


def test_settle_waits_for_the_timer_and_cuts_back_once() -> None:
    leaf = queue("root.a", max={"cpu": 4}, delay="3s")

    found = cede.settle(cluster(leaf, work("one", "root.a", 3), work("two", "root.a", 3), work("three", "root.a", 3)))

    assert found.settled
    assert [(each.at, each.victim, each.claimant, each.rule) for each in found.preemptions] == [
        (4, "two", None, "yunikorn.quota")
    ]
    assert sorted(found.running) == ["one", "three"]
    assert list(found.pending) == ["two"]


def test_who_is_being_preempted_counts_as_usage_but_not_in_what_is_given_back() -> None:
    leaving = work("leaving", "root.a", 4, state="preempting")

    assert victims(cluster(LEAF, leaving, work("one", "root.a", 4))) == set()
    assert victims(cluster(LEAF, leaving, work("one", "root.a", 4), work("two", "root.a", 4))) == {"two"}


# -- where -----------------------------------------------------------------------------------------------------------


def test_what_is_below_a_queue_that_is_cut_back_is_left_alone_until_later() -> None:
    """Of 4 too much, 12 parts of 14 fall to a, and everybody there is larger than that."""
    parent = queue("root.p", max={"cpu": 10}, since=NOW - 60)
    leaf = queue("root.p.a", max={"cpu": 4}, since=NOW - 60)
    works = [work(name, "root.p.a", 4) for name in ("one", "two", "three")]
    found = cluster(parent, leaf, queue("root.p.b"), *works, work("other", "root.p.b", 2))

    assert cuts(found) == []
    assert [(each.at, each.victim) for each in cede.settle(found).preemptions] == [(2, "two"), (2, "three")]


def test_two_queues_are_cut_back_by_themselves() -> None:
    other = queue("root.b", max={"cpu": 2}, since=NOW - 60)

    made = cuts(cluster(*FULL, other, work("three", "root.b", 2), work("four", "root.b", 2)))

    assert [[victim.workload for victim in each.victims] for each in made] == [["two"], ["three"]]


def test_shares_are_rounded_down_as_the_release_counts() -> None:
    """A cpu is split by thousandths, other types by whole units: 1 over three equal leaves is 0.333 and 0."""
    parent = queue("root.p", max={"cpu": 2}, since=NOW - 60)
    leaves = [queue(f"root.p.{name}") for name in "abc"]
    small = [work(f"{name}-{size}", f"root.p.{name}", size) for name in "abc" for size in ("333m", "667m")]

    assert victims(cluster(parent, *leaves, *small)) == {"a-333m", "b-333m", "c-333m"}
    for entry in small:
        entry["requests"] = {"gpu": 1}
    parent = queue("root.p", max={"gpu": 5}, since=NOW - 60)
    nodes = [{"name": "n", "capacity": {"gpu": 9}}]
    assert victims(load([parent, *leaves], small, nodes, **ON)) == set()


# -- who -------------------------------------------------------------------------------------------------------------


def goes(*works: Entry, most: int = 4) -> set[str]:
    return victims(cluster(queue("root.a", max={"cpu": most}, since=NOW - 60), *works))


@pytest.mark.parametrize(
    ("first", "second"),
    {
        "who asks not to be preempted": ({"preemptible": False}, {"originator": True}),
        "then originators": ({"originator": True}, {}),
        "then the lower priority": ({"priority": 1}, {"priority": 2}),
        "then the younger hour": ({"submitted": NOW - 1800}, {"submitted": NOW - 1801}),
        "not the younger within the hour": ({"submitted": NOW - 1800, "uid": "9"}, {"submitted": NOW - 1, "uid": "1"}),
        "of equals the later uid": ({"uid": "2"}, {"uid": "1"}),
    }.values(),
    ids=str,
)
def test_the_first_to_go_is(first: Entry, second: Entry) -> None:
    assert goes(work("first", "root.a", 4, **first), work("second", "root.a", 4, **second)) == {"first"}


def test_the_smaller_share_goes_before_the_larger() -> None:
    assert goes(work("a", "root.a", 2), work("b", "root.a", 3), work("c", "root.a", 4), most=5) == {"a"}


def test_who_holds_more_of_other_things_goes_later() -> None:
    mixed = work("a", "root.a", 4)
    mixed["requests"] = {"cpu": 4, "memory": "1Gi"}
    nodes = [{"name": "n", "capacity": {"cpu": 9, "memory": "1Gi"}}]

    found = load([LEAF], [mixed, work("b", "root.a", 4, priority=9)], nodes, **ON)

    assert victims(found) == {"b"}


# -- in words --------------------------------------------------------------------------------------------------------


def test_everybody_below_the_queue_is_explained() -> None:
    """6 of 12 are too much, and all of that falls to a, for the other leaf is within its guarantee."""
    parent = queue("root.p", max={"cpu": 6}, since=NOW - 60)
    guaranteed = queue("root.p.calm", guaranteed={"cpu": 2})
    works = (
        work("taken", "root.p.a", 4, priority=-1),
        work("kept", "root.p.a", 4),
        work("pinned", "root.p.a", 1, required_node="n"),
        work("starting", "root.p.a", 1, state="reserved"),
        work("calm", "root.p.calm", 2),
    )

    [made] = cuts(cluster(parent, queue("root.p.a"), guaranteed, *works), explain=True)

    assert {each.workload: (each.verdict, each.rule, each.why) for each in made.candidates or ()} == {
        "taken": (
            "victim",
            "yunikorn.quota",
            "queue root.p is above its max; root.p.a gives back up to 6 cpu, and it holds 4 cpu",
        ),
        "kept": (
            "not-needed",
            "yunikorn.within-max",
            "it may go, but root.p.a would give back more than 6 cpu: it holds 4 cpu",
        ),
        "pinned": (
            "not-eligible",
            "yunikorn.pinned-work",
            "it needs the node n and no other; such work is never a victim",
        ),
        "starting": ("not-eligible", "yunikorn.running-only", "it is reserved; only running work can be preempted"),
        "calm": (
            "not-eligible",
            "yunikorn.no-share",
            "it holds nothing of what root.p.calm gives back for the max of root.p, which is nothing",
        ),
    }


def test_a_warning_names_who_could_have_gone_instead() -> None:
    [made] = cuts(cluster(LEAF, work("driver", "root.a", 4, originator=True), work("executor", "root.a", 4)))

    assert [(each.rule, each.why) for each in made.warnings] == [
        (
            "yunikorn.breaks-law-1",
            "the design takes pods that opted out last; driver started the others of its application, and executor "
            "would have been enough",
        )
    ]


def test_a_warning_names_the_queue_that_ends_below_its_guarantee() -> None:
    """Only the types of its max count in what is given back, and victims hold others too."""
    leaf = queue("root.a", guaranteed={"memory": 2}, max={"cpu": 4}, since=NOW - 60)
    works = [work("one", "root.a", 4), work("two", "root.a", 4)]
    works[0]["requests"] = works[1]["requests"] = {"cpu": 4, "memory": 1}

    [made] = cuts(load([leaf], works, [{"name": "n", "capacity": {"cpu": 9, "memory": 9}}], **ON))

    assert [(each.rule, each.why) for each in made.warnings] == [
        (
            "yunikorn.breaks-law-2",
            "the design leaves no queue below its guarantee; root.a ends with 1 memory of 2 memory",
        )
    ]
