"""In which order release 1.9 comes to queues, and to victims of one age."""

from __future__ import annotations

import pytest

import cede
from tests.builders import Entry, asking, node, path, release
from tests.unit.yunikorn.claims import IN, A, release_victims, work

N20 = node("n1", cpu=20, gpu=20)


def turns(*entries: Entry) -> list[str]:
    found = cede.plan(release(*entries), shares=True).to_dict()["workloads"]
    return sorted(found, key=lambda name: found[name]["turn"])


def both(a: dict[str, int], b: dict[str, int]) -> tuple[Entry, Entry]:
    return asking("of-a", "root.a", **a), asking("of-b", "root.b", **b)


A_, B_ = path("root.a"), path("root.b")

# -- whose share is less ---------------------------------------------------------------------------------------------

SHARES: dict[str, tuple[tuple[Entry, ...], list[str]]] = {
    "of its guarantee": (
        (path("root.a", cpu=4), path("root.b", cpu=10), work("a", "root.a"), work("b", "root.b", cpu=4)),
        ["of-b", "of-a"],
    ),
    "a type that the guarantee does not name counts against what there is": (
        (path("root.a", gpu=10), B_, work("a", "root.a", cpu=10), work("b", "root.b", cpu=2)),
        ["of-b", "of-a"],
    ),
    "or against the max of the queue": (
        (path("root.a", gpu=10, max={"cpu": 4}), B_, work("a", "root.a", cpu=3), work("b", "root.b", cpu=10)),
        ["of-b", "of-a"],
    ),
    "without a guarantee its own max counts": (
        (path("root.a", max={"cpu": 4}), B_, work("a", "root.a", cpu=3), work("b", "root.b", cpu=5)),
        ["of-b", "of-a"],
    ),
    "a guarantee of none that is used is used up": (
        (path("root.a", cpu=0, gpu=2), B_, work("a", "root.a", cpu=1), work("b", "root.b", cpu=15)),
        ["of-b", "of-a"],
    ),
    "what nobody has any of is no share": (
        (path("root.a"), B_, work("a", "root.a", cpu=1), work("b", "root.b", cpu=2)),
        ["of-a", "of-b"],
    ),
}


@pytest.mark.parametrize(("entries", "order"), SHARES.values(), ids=SHARES.keys())
def test_the_queue_with_the_smaller_share_comes_first(entries: tuple[Entry, ...], order: list[str]) -> None:
    assert turns(N20, *entries, *both({"cpu": 1}, {"cpu": 1})) == order


def test_the_max_of_a_queue_above_counts_where_the_queue_has_none() -> None:
    """Of the 4 below p one has used 2; of the 20 that nodes have the other has used 5."""
    tree = (path("root.p", max={"cpu": 4}), path("root.p.a"), path("root.p.b", max={"cpu": 9}))
    works = (work("a", "root.p.a", cpu=1), work("b", "root.p.b", cpu=2))
    asks = (asking("of-a", "root.p.a", cpu=1), asking("of-b", "root.p.b", cpu=1))

    assert turns(N20, *tree, *works, *asks) == ["of-b", "of-a"]


# -- equal shares ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        ({"cpu": 2}, {"cpu": 3}, ["of-b", "of-a"]),
        ({"cpu": 3}, {"cpu": 3}, ["of-a", "of-b"]),
        ({"cpu": 1, "gpu": 1}, {"cpu": 1, "gpu": 2}, ["of-b", "of-a"]),
        ({"cpu": 1, "gpu": 9}, {"cpu": 2, "gpu": 1}, ["of-b", "of-a"]),
    ],
    ids=["more of it", "as much: by name", "more of one and as much of the other", "more of the first type by name"],
)
def test_of_equal_shares_the_queue_comes_first_in_which_more_waits(
    a: dict[str, int], b: dict[str, int], order: list[str]
) -> None:
    assert turns(N20, A_, B_, *both(a, b)) == order


def test_all_that_waits_below_a_queue_counts_and_what_starts_does_no_more() -> None:
    """Together 4 wait below p, and 3 in b; when one of them has started, p holds more."""
    tree = (path("root.p"), path("root.p.a"), path("root.p.c"), B_)
    asks = (asking("a", "root.p.a", cpu=2), asking("c", "root.p.c", cpu=2), asking("b", "root.b", cpu=3))
    plan = cede.plan(release(N20, *tree, *asks))

    assert [made.workload for made in plan.decisions] == ["a", "b", "c"]


def test_shares_are_compared_as_the_release_does_in_doubles() -> None:
    """The share of `root.a` is less, but the same double: then the queue in which more waits comes first."""
    used, most = {"a": 7226161561168608, "b": 7226161560384292}, {"a": 7378732916781557, "b": 7378732915980681}
    assert used["a"] * most["b"] < used["b"] * most["a"]
    queues = [path(f"root.{name}", memory=most[name]) for name in "ab"]
    works = [work(name, f"root.{name}", cpu=0, memory=used[name]) for name in "ab"]

    assert turns(node("n1", memory=2**54), *queues, *works, *both({"memory": 1}, {"memory": 2})) == ["of-b", "of-a"]


# -- victims of one age ----------------------------------------------------------------------------------------------


def test_victims_of_one_age_come_leaf_by_leaf() -> None:
    """By uid alone `b1` of the second leaf would be the second."""
    works = [work(name, queue, uid=uid, submitted=-9) for name, queue, uid in (
        ("a1", "root.b", "1"), ("b1", "root.c", "2"), ("a2", "root.b", "3"))]  # fmt: skip
    entries = (node("n1", cpu=6), A, path("root.b"), path("root.c"), *works)

    assert release_victims(*entries, asking("in", "root.a", cpu=4)) == ["a1", "a2"]


def test_further_victims_of_one_age_come_leaf_by_leaf() -> None:
    """The node has room, and a max is short: the two of the first leaf go, wherever they stand."""
    tree = (path("root.t", max={"cpu": 6}), path("root.t.a", cpu=4), path("root.t.b"), path("root.t.c"))
    works = [work(name, f"root.t.{name[0]}", "n1", uid=uid, submitted=-9) for name, uid in (
        ("b1", "1"), ("c1", "2"), ("b2", "3"))]  # fmt: skip
    entries = (node("n1", cpu=9), node("n2", cpu=9), *tree, *works)

    assert release_victims(*entries, asking("in", "root.t.a", cpu=4)) == ["b1", "b2"]


def test_the_youngest_goes_before_the_leaf_counts() -> None:
    works = (work("old", "root.b", submitted=-99), work("new", "root.c", submitted=-9))

    assert release_victims(node("n1", cpu=4), A, path("root.b"), path("root.c"), *works, IN) == ["new"]
