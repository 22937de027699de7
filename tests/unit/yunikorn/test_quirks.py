"""What release 1.9 does where its own design says otherwise: every quirk, with the warning that goes with it."""

from __future__ import annotations

import pytest

import cede
from tests.builders import asking, decided, laws, node, path, release, verdicts
from tests.unit.yunikorn.claims import IN, A, B, release_victims, taken, waits_by, warned, work


def test_a_queue_over_its_guarantee_is_left_below_it() -> None:
    """Law 2 is looked at before the victim goes: of 8 it loses 4, and 5 are guaranteed."""
    works = (work("young", "root.b", cpu=4), work("old", "root.b", cpu=4, submitted=-9))
    cluster = release(node("n1", cpu=8), A, path("root.b", cpu=5), *works, asking("in", "root.a", cpu=4))

    assert taken(cluster) == ["young"]
    assert warned(cluster) == {"breaks-law-2"}


def test_types_that_are_not_asked_for_are_not_looked_at() -> None:
    old = work("old", "root.b", memory=8)
    cluster = release(node("n1", cpu=2, memory=8), A, path("root.b", cpu=1, memory=8), old, IN)

    assert taken(cluster) == ["old"]
    [warning] = [one for one in decided(cluster, "in").warnings if one.rule.endswith("law-2")]
    assert warning.why.endswith("root.b ends with 0 cpu, 0 memory of 1 cpu, 8 memory")


def test_a_large_young_one_shields_small_old_ones() -> None:
    """The claimant's queue is owed 4: who holds 5 ends the search."""
    young, old = work("young", "root.b", cpu=5), work("old", "root.b", submitted=-9)
    entries = (node("n1", cpu=7), A, B, young, old, IN)

    assert waits_by(release(*entries)) == "no-victims"
    assert verdicts(decided(release(*entries), "in", explain=True))["old"] == ("not-eligible", "scan-stopped")
    assert taken(laws(*entries)) == ["young"]


@pytest.mark.parametrize(("asking_leaf", "victims"), [("root.ab", ["old"]), ("root.xy", [])])
def test_a_queue_whose_name_begins_the_claimants_loses_its_protection(asking_leaf: str, victims: list[str]) -> None:
    tree = (path("root.a", cpu=2), path("root.a.b"), path(asking_leaf, cpu=4))
    claimant = asking("in", asking_leaf, cpu=2)

    assert release_victims(node("n1", cpu=2), *tree, work("old", "root.a.b"), claimant) == victims


@pytest.mark.parametrize(
    ("offset", "own", "other", "victims"),
    [(50, 0, 40, ["old"]), (50, 0, 51, []), (-10, 5, 5, []), (-10, 5, -5, ["old"]), (0, 5, 5, ["old"])],
)
def test_the_offset_of_a_shared_queue_counts_between_those_inside(
    offset: int, own: int, other: int, victims: list[str]
) -> None:
    tree = (path("root.t", offset=offset), path("root.t.a", cpu=4), path("root.t.b"))
    works = (work("old", "root.t.b", priority=other), asking("in", "root.t.a", cpu=2, priority=own))
    cluster = release(node("n1", cpu=2), *tree, *works)

    assert taken(cluster) == victims
    assert warned(cluster) == ({"breaks-law-6"} if victims and other > own else set())


def test_work_of_a_disabled_queue_still_preempts() -> None:
    disabled = path("root.a", cpu=4, policy="disabled")

    assert release_victims(node("n1", cpu=2), disabled, B, work("old", "root.b"), IN) == ["old"]


def test_a_node_with_room_wins_where_a_limit_is_short() -> None:
    """Its victim then stands on another node."""
    tree = (path("root.t", max={"cpu": 4}), path("root.t.a", cpu=4), path("root.t.b"))
    nodes = (node("n1", cpu=4), node("n2", cpu=4))
    cluster = release(*nodes, *tree, work("old", "root.t.b", "n1", cpu=4), asking("in", "root.t.a", cpu=2))

    assert decided(cluster, "in").nodes == ("n2",)
    assert taken(cluster) == ["old"]
    assert warned(cluster) == {"breaks-one-node"}


def test_the_number_of_victims_decides_between_nodes_and_not_what_they_ask_for() -> None:
    nodes = (node("n1", cpu=2), node("n2", cpu=2))
    shy = work("shy", "root.b", "n1", preemptible=False)
    cluster = release(*nodes, A, B, shy, work("old", "root.b", "n2"), IN)

    assert taken(cluster) == ["shy"]
    assert warned(cluster) == {"breaks-law-1"}


def test_of_two_victims_one_is_trimmed_away_and_the_claimant_does_not_fit() -> None:
    """It asks for 2 and 5; one victim gives 1 and 10, and 10 is more than 5."""
    both = (work("young", "root.b", cpu=1, memory=10), work("old", "root.b", cpu=1, memory=10, submitted=-9))
    claimant = asking("in", "root.a", cpu=2, memory=5)
    cluster = release(node("n1", cpu=2, memory=20), path("root.a", cpu=2, memory=20), B, *both, claimant)

    assert taken(cluster) == ["young"]
    assert warned(cluster) == {"does-not-fit"}
    made = decided(cluster, "in", explain=True)
    assert verdicts(made)["old"] == ("not-needed", "passed-over")

    found = cede.settle(cluster)
    assert [(one.at, one.victim) for one in found.preemptions] == [(1, "young")]
    assert found.pending["in"] == "yunikorn.triggered-once"


def test_a_plan_that_falls_short_without_saying_so_is_objected_to() -> None:
    both = (work("young", "root.b", cpu=1, memory=10), work("old", "root.b", cpu=1, memory=10, submitted=-9))
    claimant = asking("in", "root.a", cpu=2, memory=5)
    cluster = release(node("n1", cpu=2, memory=20), path("root.a", cpu=2, memory=20), B, *both, claimant)
    plan = cede.plan(cluster)

    silent = tuple(cede.Decision(one.workload, one.action, one.rule, one.why, one.victims, one.nodes)
                   for one in plan.decisions)  # fmt: skip
    mute = cede.Plan(plan.doctrine, plan.edition, plan.now, silent, plan.version)

    assert cede.verify(cluster, mute) == ["in oversubscribes cpu of n1"]


def test_a_node_that_is_half_free_is_refused() -> None:
    """One free and three that go would be enough, but what is free is not counted."""
    cluster = release(node("n1", cpu=4), A, B, work("old", "root.b", cpu=3), asking("in", "root.a", cpu=4))

    assert waits_by(cluster) == "shortfall"


def test_asks_for_what_nobody_guarantees_pass_the_check_of_guarantees() -> None:
    nodes = node("n1", cpu=2, gpu=1)
    old = work("old", "root.b", cpu=0, gpu=1)
    cluster = release(nodes, path("root.a", cpu=2), B, work("mine", "root.a"), old, asking("in", "root.a", gpu=1))

    assert taken(cluster) == ["old"]
    assert warned(cluster) == {"breaks-law-4"}


def test_the_ask_itself_must_fit_what_its_queue_is_owed() -> None:
    """At 3 of 4 the design lets it preempt for 2; the release does not."""
    entries = (node("n1", cpu=5), A, B, work("mine", "root.a", cpu=3), work("old", "root.b"), IN)

    assert waits_by(release(*entries)) == "guarantee-check"
    assert taken(laws(*entries)) == ["old"]


def test_a_parent_over_its_guarantee_opens_a_leaf_that_is_not() -> None:
    tree = (path("root.p", cpu=4), path("root.p.b", cpu=2), path("root.p.c"))
    works = (work("young", "root.p.b"), work("old", "root.p.c", cpu=4, submitted=-9))
    cluster = release(node("n1", cpu=6), A, *tree, *works, IN)

    assert taken(cluster) == ["young"]
    assert warned(cluster) == {"breaks-law-2", "breaks-law-5"}


def test_nobody_of_another_application_is_looked_for() -> None:
    cluster = release(
        node("n1", cpu=2), A, B, work("old", "root.b", app="job"), asking("in", "root.a", cpu=2, app="job")
    )

    assert taken(cluster) == ["old"]
    assert warned(cluster) == {"breaks-law-3"}


def test_priority_has_no_part_in_the_choice() -> None:
    young, low = work("young", "root.b", priority=5), work("low", "root.b", submitted=-9)
    entries = (node("n1", cpu=4), A, B, young, low, asking("in", "root.a", cpu=2, priority=5))

    assert release_victims(*entries) == ["young"]
    assert taken(laws(*entries)) == ["low"]
