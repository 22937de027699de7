"""The seven laws: whom each protects and whom it leaves open, one queue or one number away from each other."""

from __future__ import annotations

import pytest

from tests.builders import asking, decided, laws, node, path, preempting, verdicts
from tests.unit.yunikorn.claims import IN, A, B, protected_by, taken, victims, waits_by, work

# -- law 1: wishes are strong suggestions --------------------------------------------------------------------------


@pytest.mark.parametrize("wish", [{"preemptible": False}, {"originator": True}], ids=["opted out", "originator"])
def test_who_wants_to_be_spared_goes_only_if_nobody_else_makes_room(wish: dict[str, bool]) -> None:
    shy = work("shy", "root.b", submitted=-1, **wish)

    assert victims(node("n1", cpu=4), A, B, shy, work("old", "root.b", submitted=-9), IN) == ["old"]
    assert victims(node("n1", cpu=2), A, B, shy, IN) == ["shy"]


def test_two_victims_rather_than_one_that_opted_out() -> None:
    shy = work("shy", "root.b", preemptible=False)
    small = (work("one", "root.b", cpu=1), work("two", "root.b", cpu=1))

    assert victims(node("n1", cpu=4), A, B, shy, *small, IN) == ["one", "two"]


def test_an_originator_rather_than_one_that_opted_out() -> None:
    both = (work("shy", "root.b", preemptible=False), work("driver", "root.b", originator=True))

    assert victims(node("n1", cpu=4), A, B, *both, IN) == ["driver"]


def test_another_node_rather_than_one_that_opted_out() -> None:
    shy = work("shy", "root.b", "n1", preemptible=False)
    far = (work("one", "root.b", "n2", cpu=1, priority=0), work("two", "root.b", "n2", cpu=1))

    assert victims(node("n1", cpu=2), node("n2", cpu=2), A, B, shy, *far, IN) == ["one", "two"]


# -- law 2: nobody ends below its guarantee ------------------------------------------------------------------------


@pytest.mark.parametrize(("guaranteed", "taken"), [(2, ["old"]), (3, [])])
def test_a_victim_leaves_its_queue_at_its_guarantee_at_least(guaranteed: int, taken: list[str]) -> None:
    full = (work("old", "root.b"), work("shy", "root.b", preemptible=False))

    assert victims(node("n1", cpu=4), A, path("root.b", cpu=guaranteed), *full, IN) == taken


def test_each_may_go_alone_but_not_both() -> None:
    """Of three one may go; both are needed."""
    three = (work("one", "root.b"), work("two", "root.b"), work("three", "root.b"))
    entries = (node("n1", cpu=6), A, path("root.b", cpu=3), *three, asking("in", "root.a", cpu=4))

    assert waits_by(laws(*entries)) == "no-lawful-set"
    assert set(verdicts(decided(laws(*entries), "in", explain=True)).values()) == {("not-needed", "not-enough")}


def test_the_guarantee_of_a_queue_above_counts_for_all_below_it_together() -> None:
    """The parent may lose 2 of its 4, and each child has one of 2."""
    below = (path("root.p", cpu=2), path("root.p.b"), path("root.p.c"))
    works = (work("b-1", "root.p.b"), work("c-1", "root.p.c"))

    assert victims(node("n1", cpu=4), A, *below, *works, IN) == ["b-1"]
    assert victims(node("n1", cpu=4), A, *below, *works, asking("in", "root.a", cpu=4)) == []


def test_a_queue_that_both_share_loses_nothing() -> None:
    """The guarantee of the common parent is not in the way, although it is under it."""
    tree = (path("root.p", cpu=9), path("root.p.a", cpu=4), path("root.p.b"))

    assert victims(node("n1", cpu=2), *tree, work("old", "root.p.b"), asking("in", "root.p.a", cpu=2)) == ["old"]


def test_types_that_nobody_asks_for_are_guaranteed_too() -> None:
    b = path("root.b", cpu=1, memory=8)
    old, lean = work("old", "root.b", memory=8), work("lean", "root.b", cpu=2, memory=1, submitted=-9)
    entries = (node("n1", cpu=4, memory=9), A, b, old, lean, IN)

    assert victims(*entries) == ["lean"]
    assert protected_by(laws(*entries), "old") == "law-2"


def test_a_queue_that_was_below_in_a_type_loses_nobody() -> None:
    b = path("root.b", cpu=1, memory=8)

    assert protected_by(laws(node("n1", cpu=2, memory=9), A, b, work("old", "root.b", memory=1), IN), "old") == "law-2"


def test_a_queue_that_was_below_and_is_not_touched_does_not_matter() -> None:
    c = path("root.c", cpu=9)

    assert victims(node("n1", cpu=4), A, B, c, work("old", "root.b"), work("other", "root.c"), IN) == ["old"]


# -- law 3: not the same application --------------------------------------------------------------------------------


def test_the_claimants_application_is_spared_in_every_queue() -> None:
    mine, other = work("mine", "root.b", app="job", priority=-9), work("other", "root.b", app="another")
    claimant = asking("in", "root.a", cpu=2, app="job")

    assert victims(node("n1", cpu=4), A, B, mine, other, claimant) == ["other"]
    assert protected_by(laws(node("n1", cpu=2), A, B, mine, claimant), "mine") == "law-3"


def test_a_workload_without_an_application_has_one_of_its_own_name() -> None:
    mine = work("mine", "root.b", app="in")

    assert protected_by(laws(node("n1", cpu=2), A, B, mine, IN), "mine") == "law-3"


# -- law 4: only a queue under its guarantee ------------------------------------------------------------------------


@pytest.mark.parametrize(("guaranteed", "taken"), [(3, ["old"]), (2, [])])
def test_the_queue_must_be_below_its_guarantee(guaranteed: int, taken: list[str]) -> None:
    """Below is enough: with the claimant it may be above."""
    full = (work("mine", "root.a"), work("old", "root.b"))

    assert victims(node("n1", cpu=4), path("root.a", cpu=guaranteed), B, *full, IN) == taken


def test_without_any_guarantee_nobody_preempts() -> None:
    assert waits_by(laws(node("n1", cpu=2), path("root.a"), B, work("old", "root.b"), IN)) == "law-4"


def test_the_nearest_guarantee_that_names_a_requested_type_decides() -> None:
    """The leaf guarantees memory only, which is not asked for; its parent is under, the one above it is not."""
    tree = (path("root.t", cpu=1), path("root.t.p", cpu=3), path("root.t.p.a", memory=1))
    full = (work("mine", "root.t.p.a", memory=1), work("old", "root.b"))
    claimant = asking("in", "root.t.p.a", cpu=2)

    assert victims(node("n1", cpu=4, memory=1), *tree, B, *full, claimant) == ["old"]


def test_the_leafs_own_guarantee_comes_before_its_parents() -> None:
    full = (work("mine", "root.p.a"), work("old", "root.b"))
    claimant = asking("in", "root.p.a", cpu=2)

    above = (path("root.p", cpu=1), path("root.p.a", cpu=3))
    assert victims(node("n1", cpu=4), *above, B, *full, claimant) == ["old"]
    below = (path("root.p", cpu=9), path("root.p.a", cpu=2))
    assert victims(node("n1", cpu=4), *below, B, *full, claimant) == []


def test_every_requested_type_that_is_guaranteed_must_be_below() -> None:
    a = path("root.a", cpu=4, memory=1)
    full = (work("mine", "root.a", memory=1), work("old", "root.b", memory=1))
    nodes = node("n1", cpu=4, memory=2)

    assert waits_by(laws(nodes, a, B, *full, asking("in", "root.a", cpu=2, memory=1))) == "law-4"
    assert victims(nodes, a, B, *full, asking("in", "root.a", cpu=2)) == ["old"]


def test_a_guarantee_of_nothing_is_none() -> None:
    """The leaf guarantees 0, so that its parent decides."""
    tree = (path("root.p", cpu=4), path("root.p.a", cpu=0))

    assert victims(node("n1", cpu=2), *tree, B, work("old", "root.b"), asking("in", "root.p.a", cpu=2)) == ["old"]


# -- law 5: only from a queue over its guarantee --------------------------------------------------------------------


@pytest.mark.parametrize(("guaranteed", "rule"), [(3, "law-5"), (2, "law-5"), (1, "law-2")])
def test_a_queue_at_its_guarantee_is_closed(guaranteed: int, rule: str) -> None:
    assert (
        protected_by(laws(node("n1", cpu=2), A, path("root.b", cpu=guaranteed), work("old", "root.b"), IN), "old")
        == rule
    )


def test_above_in_another_type_is_not_above() -> None:
    b = path("root.b", cpu=2, memory=1)

    assert protected_by(laws(node("n1", cpu=2, memory=9), A, b, work("old", "root.b", memory=9), IN), "old") == "law-5"


def test_a_queue_without_a_guarantee_is_always_open() -> None:
    assert victims(node("n1", cpu=2), A, B, work("old", "root.b"), IN) == ["old"]


def test_siblings_below_the_guarantee_that_the_claimant_counts_on_are_protected() -> None:
    """Neither leaf has a guarantee of its own: what one gave up it could claim back at once."""
    tree = (path("root.p", cpu=9), path("root.p.a"), path("root.p.b"))
    entries = (node("n1", cpu=2), *tree, B, asking("in", "root.p.a", cpu=2))

    assert protected_by(laws(*entries, work("old", "root.p.b")), "old") == "law-5"
    assert taken(laws(*entries, work("old", "root.b"))) == ["old"]


def test_a_sibling_over_a_guarantee_of_its_own_is_open() -> None:
    tree = (path("root.p", cpu=9), path("root.p.a"), path("root.p.b", cpu=1))
    works = (work("old", "root.p.b"), work("new", "root.p.b", cpu=1, priority=1))

    assert victims(node("n1", cpu=3), *tree, *works, asking("in", "root.p.a", cpu=2)) == ["old"]


def test_a_guarantee_between_the_sibling_and_the_one_they_share_decides() -> None:
    tree = (path("root.p", cpu=9), path("root.p.a"), path("root.p.q", cpu=2), path("root.p.q.b"))
    works = (work("old", "root.p.q.b"), work("new", "root.p.q.b"))

    assert victims(node("n1", cpu=4), *tree, *works, asking("in", "root.p.a", cpu=2)) == ["new"]


def test_what_is_leaving_already_counts_no_more() -> None:
    """Of 4 it keeps 2, which is its guarantee."""
    full = (work("old", "root.b"), preempting("gone", queue="root.b", cpu=2))

    assert protected_by(
        laws(node("n1", cpu=4), A, path("root.b", cpu=2), *full, asking("in", "root.a", cpu=4)), "old"
    ) == ("law-5")


# -- law 6: not above the claimant -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("priority", "taken"), [(4, ["old"]), (5, ["old"]), (6, [])])
def test_equal_priority_may_be_taken_and_higher_may_not(priority: int, taken: list[str]) -> None:
    old = work("old", "root.b", priority=priority)

    assert victims(node("n1", cpu=2), A, B, old, asking("in", "root.a", cpu=2, priority=5)) == taken


def test_offsets_and_priority_fences_are_not_in_the_design() -> None:
    b = path("root.b", offset=-9, priority_policy="fence")

    assert protected_by(laws(node("n1", cpu=2), A, b, work("old", "root.b", priority=1), IN), "old") == "law-6"


# -- whom it takes, if it has a choice -------------------------------------------------------------------------------


def test_lower_priorities_first_then_the_youngest_then_the_node_then_the_uid() -> None:
    nodes = (node("n1", cpu=4), node("n2", cpu=4))
    old, young = work("old", "root.b", "n1", submitted=-9), work("young", "root.b", "n1", submitted=-1)
    far, low = work("far", "root.b", "n2", submitted=-1, uid="0"), work("low", "root.b", "n2", priority=-1)

    assert victims(*nodes, A, B, old, young, far, low, IN) == ["low"]
    high = work("low", "root.b", "n2", priority=0, submitted=-99)
    assert victims(*nodes, A, B, old, young, far, high, IN) == ["young"]
    twin = work("old", "root.b", "n1", submitted=-1, uid="1")
    assert victims(*nodes, A, B, twin, young, far, high, IN) == ["old"]


def test_fewer_victims_come_before_lower_priorities() -> None:
    small = (work("one", "root.b", cpu=1, priority=-1), work("two", "root.b", cpu=1, priority=-1))

    assert victims(node("n1", cpu=4), A, B, work("big", "root.b"), *small, IN) == ["big"]


def test_nobody_goes_who_is_not_needed() -> None:
    works = [work(f"w{n}", "root.b", cpu=1, submitted=-n) for n in range(5)]

    assert victims(node("n1", cpu=6), A, B, *works, IN) == ["w0"]
