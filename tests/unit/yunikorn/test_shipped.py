"""Release 1.9: fences and limits, offsets, reservations, attempts and intervals, and asks for a certain node."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, actions, asking, decided, node, path, pending, release, verdicts
from tests.unit.yunikorn.claims import IN, A, B, protected_by, release_victims, taken, waits_by, warned, work

N2 = node("n1", cpu=2)
OLD = work("old", "root.b")

# -- fences, explicit and implicit -----------------------------------------------------------------------------------


def test_a_fence_keeps_the_search_inside() -> None:
    tree = (path("root.t", policy="fence"), path("root.t.a", cpu=4))

    assert protected_by(release(N2, *tree, B, OLD, asking("in", "root.t.a", cpu=2)), "old") == "law-7"


def test_the_queue_whose_max_is_short_is_a_fence() -> None:
    tree = (path("root.t", max={"cpu": 4}), path("root.t.a", cpu=4), path("root.t.b"))
    works = (work("inside", "root.t.b", cpu=4, submitted=-9), work("outside", "root.b", cpu=4))
    cluster = release(node("n1", cpu=8), B, *tree, *works, asking("in", "root.t.a", cpu=2))

    assert taken(cluster) == ["inside"]
    assert protected_by(cluster, "outside") == "law-7"


def test_a_max_that_is_just_reached_is_no_fence() -> None:
    tree = (path("root.t", max={"cpu": 6}), path("root.t.a", cpu=4), path("root.t.b"))
    works = (work("inside", "root.t.b", cpu=4, submitted=-9), work("outside", "root.b", cpu=2))

    assert release_victims(node("n1", cpu=6), B, *tree, *works, asking("in", "root.t.a", cpu=2)) == ["outside"]


def test_a_leaf_at_its_own_max_finds_nobody() -> None:
    a = path("root.a", cpu=4, max={"cpu": 2})
    cluster = release(node("n1", cpu=9), a, B, work("mine", "root.a"), OLD, asking("in", "root.a", cpu=1))

    assert protected_by(cluster, "old") == "law-7"
    assert waits_by(cluster) == "shortfall"


@pytest.mark.parametrize(
    ("above", "own", "victims"),
    [("disabled", None, []), ("disabled", "default", ["old"]), ("fence", None, ["old"]), (None, "disabled", [])],
)
def test_of_the_policies_disabled_alone_is_inherited_until_a_queue_says_otherwise(
    above: str | None, own: str | None, victims: list[str]
) -> None:
    given: list[dict[str, Any]] = [{} if policy is None else {"policy": policy} for policy in (above, own)]
    tree = (path("root.p", **given[0]), path("root.p.b", **given[1]))

    assert release_victims(N2, A, *tree, work("old", "root.p.b"), IN) == victims


# -- priorities with offsets and fences ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("victim_queue", "priority", "victims"),
    [
        ({"offset": 3}, 2, ["old"]),
        ({"offset": 3}, 3, []),
        ({"offset": -3}, 8, ["old"]),
        ({"offset": -3}, 9, []),
        ({"offset": 5, "priority_policy": "fence"}, 99, ["old"]),
        ({"offset": 6, "priority_policy": "fence"}, 0, []),
    ],
)
def test_a_victim_counts_with_the_offset_of_its_queue_or_as_its_fence_says(
    victim_queue: dict[str, Any], priority: int, victims: list[str]
) -> None:
    b, old = path("root.b", **victim_queue), work("old", "root.b", priority=priority)

    assert release_victims(N2, A, b, old, asking("in", "root.a", cpu=2, priority=5)) == victims


@pytest.mark.parametrize(
    ("own_queue", "victims"),
    [({"offset": 1}, ["old"]), ({}, []), ({"offset": 6, "priority_policy": "fence"}, ["old"])],
)
def test_an_ask_counts_with_the_offset_of_its_queue_or_as_its_fence_says(
    own_queue: dict[str, Any], victims: list[str]
) -> None:
    a, old = path("root.a", cpu=4, **own_queue), work("old", "root.b", priority=6)

    assert release_victims(N2, a, B, old, asking("in", "root.a", cpu=2, priority=5)) == victims


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ({}, "its priority 6 is above the claimant's 5"),
        ({"offset": 3}, "its priority 6 is above the claimant's 5, which counts as 2 there"),
        (
            {"offset": 9, "priority_policy": "fence"},
            "its priority 6, 9 behind the priority fence of root.b, is above the claimant's 5",
        ),
    ],
)
def test_the_sentence_says_how_priorities_count(queue: dict[str, Any], said: str) -> None:
    old = work("old", "root.b", priority=6)
    cluster = release(N2, A, path("root.b", **queue), old, asking("in", "root.a", cpu=2, priority=5))

    assert [one.why for one in decided(cluster, "in", explain=True).candidates or ()] == [said]


# -- reservations ----------------------------------------------------------------------------------------------------


SPARE = node("n2", cpu=9, state="cordoned")
"""Takes nobody, and leaves the cluster as a whole with room."""


@pytest.mark.parametrize(
    ("holder", "victims"),
    [
        ({"submitted": -3603, "priority": -1}, ["old"]),
        ({"submitted": -3602, "priority": -1}, []),
        ({"submitted": -3603, "priority": 0}, []),
        ({"submitted": -3603, "priority": -1, "required_node": "n1"}, []),
    ],
    ids=["old and lower", "just an hour and two seconds", "not lower", "needs its node"],
)
def test_a_reservation_is_cancelled_if_it_is_old_and_of_lower_priority(
    holder: dict[str, Any], victims: list[str]
) -> None:
    kept = node("n1", cpu=2, reserved_for="other")
    old = work("old", "root.b", "n1")

    assert release_victims(kept, SPARE, A, B, old, asking("other", "root.b", cpu=1, **holder), IN) == victims


@pytest.mark.parametrize(("since", "submitted", "victims"), [(-3601, -60, ["old"]), (-3600, -9999, [])])
def test_a_reservation_is_as_old_as_its_node_says_whenever_its_holder_came(
    since: int, submitted: int, victims: list[str]
) -> None:
    kept = node("n1", cpu=2, reserved_for="other", reserved_since=since)
    other = asking("other", "root.b", cpu=1, submitted=submitted, priority=-1)

    assert release_victims(kept, SPARE, A, B, work("old", "root.b", "n1"), other, IN) == victims


def test_a_reservation_is_cancelled_by_who_preempts_and_not_by_who_could_start() -> None:
    """There is room on n1, and the claimant is owed nothing: it makes no attempt that would come to the nodes."""
    kept = node("n1", cpu=2, reserved_for="other")
    other = asking("other", "root.b", cpu=1, submitted=-9999, priority=-1)

    assert waits_by(release(kept, SPARE, path("root.a"), B, other, IN)) == "guarantee-check"


@pytest.mark.parametrize(
    ("holder", "limit", "action"),
    [
        ({"submitted": -3603}, 1, "start"),
        ({"submitted": -3602}, 1, "wait"),
        ({"submitted": -3603}, 2, "wait"),
        ({"submitted": -3603, "required_node": "n1"}, 1, "wait"),
    ],
    ids=["old, and above its max", "just an hour and two seconds", "within its max", "needs its node"],
)
def test_an_old_reservation_is_dropped_for_everybody_if_its_holder_does_not_fit_its_headroom(
    holder: dict[str, Any], limit: int, action: str
) -> None:
    """Though its priority is higher, and though the claimant may not preempt; `mine` fills one of the holder's max."""
    kept = node("n1", cpu=2, reserved_for="other")
    limited = path("root.b", max={"cpu": limit})
    other = asking("other", "root.b", cpu=1, priority=9, **holder)
    works = (node("n3", cpu=1), work("mine", "root.b", "n3", cpu=1))
    cluster = release(kept, SPARE, A, limited, *works, other, asking("in", "root.a", cpu=2, preempts=False))

    assert actions(cluster)["in"] == action
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_a_reservation_that_was_dropped_stays_dropped_for_the_passes_that_follow() -> None:
    kept = node("n1", cpu=4, reserved_for="other", reserved_since=-7200)
    works = (node("n3", cpu=2), work("mine", "root.b", "n3"), asking("other", "root.b", cpu=1))
    both = (asking("one", "root.a", cpu=2), asking("two", "root.a", cpu=2))
    cluster = release(kept, SPARE, A, path("root.b", max={"cpu": 2}), *works, *both)

    assert actions(cluster) == {"one": "start", "two": "start", "other": "wait"}
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_the_holder_uses_its_own_reservation() -> None:
    assert release_victims(node("n1", cpu=2, reserved_for="in"), A, B, OLD, IN) == ["old"]


def test_a_node_that_was_cleared_is_not_cleared_for_another() -> None:
    """The second would have its victim on the node that waits for the first."""
    nodes = (node("n1", cpu=2), node("n2", cpu=4))
    works = (work("one", "root.b", "n1", cpu=2), work("high", "root.c", "n2", cpu=4, priority=9))
    first = asking("first", "root.a", cpu=1, priority=1, submitted=-99)
    cluster = release(*nodes, A, B, path("root.c"), *works, first, asking("in", "root.a", cpu=1))

    assert taken(cluster, "first") == ["one"]
    assert decided(cluster, "in").action == "wait"


# -- attempts and intervals ------------------------------------------------------------------------------------------


def crowd(queue: str, count: int) -> list[Entry]:
    return [asking(f"{queue[-1]}-{n:02}", queue, cpu=1) for n in range(count)]


def test_ten_asks_of_a_leaf_are_looked_at_in_a_pass() -> None:
    """Every leaf has ten of its own; who comes later is not looked at."""
    both = (path("root.a", cpu=20), path("root.c", cpu=20))
    old = work("old", "root.b", priority=9)
    found = {
        made.workload: made.rule.removeprefix("yunikorn.")
        for made in cede.plan(release(N2, *both, B, old, *crowd("root.a", 12), *crowd("root.c", 3))).decisions
    }

    assert [found[f"a-{n:02}"] for n in range(12)] == ["no-victims"] * 10 + ["attempts"] * 2
    assert [found[f"c-{n:02}"] for n in range(3)] == ["no-victims"] * 3


def test_a_pass_that_served_somebody_is_followed_by_another_with_ten_more() -> None:
    """The eleventh is too late in the first pass; the other leaf's preemption ends it, and in the second it is looked
    at.
    """
    works = (work("old", "root.b", "n1", priority=9), work("low", "root.b", "n2"))
    cluster = release(N2, node("n2", cpu=2), path("root.a", cpu=20), path("root.z", cpu=2), B, *works,
                      *[asking(f"a-{n:02}", "root.a", cpu=1, constraints={"nodes": ["n1"]}) for n in range(11)],
                      asking("z", "root.z", cpu=2, priority=0))  # fmt: skip
    found = {made.workload: made.rule.removeprefix("yunikorn.") for made in cede.plan(cluster).decisions}

    assert found["z"] == "over-guarantee"
    assert found["a-10"] == "no-victims"


def test_who_is_too_young_uses_up_no_attempt() -> None:
    young = [pending(f"y-{n:02}", queue="root.a", cpu=1, priority=1) for n in range(12)]

    assert release_victims(N2, path("root.a", cpu=20), B, OLD, *young, IN) == ["old"]


def test_an_ask_is_looked_at_again_after_fifteen_seconds() -> None:
    """Root.a is above its guarantee until `late` takes `mine`, in the fifth cycle; `in` was looked at in the first."""
    queues = (path("root.a", cpu=4), B, path("root.c", cpu=5, delay="34s"))
    works = (work("old", "root.b", "n1"), work("mine", "root.a", "n2", cpu=5))
    late = asking("late", "root.c", cpu=5, submitted=-30, constraints={"nodes": ["n2"]})
    claimant = asking("in", "root.a", cpu=2, submitted=-30, constraints={"nodes": ["n1"]})

    found = cede.settle(release(N2, node("n2", cpu=5), *queues, *works, late, claimant))

    assert [(one.at, one.victim, one.claimant) for one in found.preemptions] == [(5, "mine", "late"), (16, "old", "in")]


def test_who_is_preempted_waits_and_does_not_take_the_room_back() -> None:
    found = cede.settle(release(N2, A, B, OLD, IN))

    assert found.settled
    assert found.running == {"in": ["n1"]}
    assert found.pending == {"old": "yunikorn.guarantee-check"}


# -- asks for a certain node -----------------------------------------------------------------------------------------


def agent(**values: Any) -> Entry:
    return asking("in", "root.a", **{"cpu": 2, "submitted": 0, "required_node": "n1", **values})


ROOM = node("n2", cpu=9)
"""Elsewhere, so that the cluster as a whole has room."""


def test_it_needs_no_delay_no_guarantee_no_policy_and_no_switch() -> None:
    queues = (path("root.a", policy="fence"), path("root.b", cpu=9, policy="disabled"))
    cluster = release(N2, ROOM, *queues, work("old", "root.b", "n1"), agent(), **{"preemption.enabled": False})

    assert taken(cluster) == ["old"]


def test_it_takes_its_own_application_with_a_warning() -> None:
    cluster = release(N2, ROOM, A, work("mine", "root.a", "n1", app="job"), agent(app="job"))

    assert taken(cluster) == ["mine"]
    assert warned(cluster) == {"breaks-law-3"}


def test_it_never_preempts_for_a_limit_nor_in_a_cluster_that_is_full_in_all() -> None:
    limited = path("root.a", max={"cpu": 3})
    mine = work("mine", "root.a", "n1")

    assert waits_by(release(N2, ROOM, limited, mine, agent())) == "required-node-headroom"
    assert waits_by(release(N2, A, B, OLD, agent())) == "required-node-headroom"


def test_it_collects_until_the_victims_alone_are_enough() -> None:
    """With what is free the first would do."""
    works = (work("one", "root.b", "n1", cpu=1), work("two", "root.b", "n1", cpu=1, submitted=-9))
    cluster = release(node("n1", cpu=3), ROOM, A, B, *works, agent())

    assert taken(cluster) == ["one", "two"]
    assert warned(cluster) == {"needless-victim"}


@pytest.mark.parametrize(
    ("first", "second", "gone"),
    [
        ({"originator": True}, {"preemptible": False}, "second"),
        ({"preemptible": False, "priority": -9}, {}, "second"),
        ({"priority": -1, "submitted": -9}, {}, "first"),
        ({"submitted": -9}, {}, "second"),
    ],
    ids=["originators last", "then who opted out", "then lower priority first", "then the youngest first"],
)
def test_it_takes(first: dict[str, Any], second: dict[str, Any], gone: str) -> None:
    works = (work("first", "root.b", "n1", **first), work("second", "root.b", "n1", **second))

    assert release_victims(node("n1", cpu=4), ROOM, A, B, *works, agent()) == [gone]


def test_it_takes_no_higher_priority_and_nobody_elsewhere() -> None:
    works = (work("high", "root.b", "n1", priority=1), work("far", "root.b", "n2", priority=-9))
    made = decided(release(N2, ROOM, A, B, *works, agent()), "in", explain=True)

    assert made.rule == "yunikorn.required-node-full"
    assert verdicts(made) == {"high": ("protected", "law-6"), "far": ("not-eligible", "usable-nodes")}


def test_it_preempts_whatever_it_says_of_that_with_a_warning() -> None:
    cluster = release(N2, ROOM, A, B, work("old", "root.b", "n1"), agent(preempts=False))

    assert taken(cluster) == ["old"]
    assert warned(cluster) == {"preempts-not-read"}


@pytest.mark.parametrize(
    ("works", "action"), [((), "start"), ((work("old", "root.b", "n1"),), "preempt")], ids=["room", "no room"]
)
@pytest.mark.parametrize(("state", "taken"), [("cordoned", True), ("down", False)])
def test_it_takes_its_node_cordoned_as_well(works: tuple[Entry, ...], action: str, state: str, taken: bool) -> None:
    cluster = release(node("n1", cpu=2, state=state), ROOM, A, B, *works, agent())

    assert actions(cluster)["in"] == (action if taken else "wait")
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_it_cancels_the_reservation_of_an_ordinary_ask() -> None:
    kept = node("n1", cpu=2, reserved_for="other")
    other = asking("other", "root.b", cpu=1, submitted=0, priority=-1)

    assert actions(release(kept, ROOM, A, B, other, agent()))["in"] == "start"
