"""Corners in which an answer was once wrong: many nodes, names as applications, partitions, many sizes, headroom."""

from __future__ import annotations

import pytest

import cede
from cede.engine.lint import lint
from tests.builders import asking, laws, node, path, release
from tests.unit.yunikorn.claims import work


def test_a_set_on_the_last_of_many_nodes_is_found_though_another_queue_is_under_its_guarantee() -> None:
    """On each of the first twenty nodes a queue may lose one of two; root.idle, which has nobody there, is under."""
    tree = [path("root.me", cpu=4), path("root.idle", cpu=9), path("root.c")]
    entries = [node("n99", cpu=2), work("c0", "root.c", "n99", cpu=1), work("c1", "root.c", "n99", cpu=1)]
    entries += [node("far", cpu=1), work("idle", "root.idle", "far", cpu=1)]
    for number in range(20):
        tree.append(path(f"root.b{number:02}", cpu=1))
        entries += [node(f"n{number:02}", cpu=2)]
        entries += [work(f"b{number:02}{one}", f"root.b{number:02}", f"n{number:02}", cpu=1) for one in "xy"]
    made = cede.plan(laws(*tree, *entries, asking("in", "root.me", cpu=2))).of("in")

    assert made is not None
    assert ([victim.workload for victim in made.victims], made.nodes) == (["c0", "c1"], ("n99",))


def test_who_has_no_application_is_one_of_its_own_name_and_not_like_others() -> None:
    tree = (path("root.me", cpu=4), path("root.b"))
    waiting = [asking(name, "root.me", cpu=2, submitted=at) for name, at in (("a1", -99), ("a2", -98))]
    plan = cede.plan(laws(node("n1", cpu=2), *tree, work("v", "root.b", app="a1"), *waiting))

    assert [(made.workload, made.action) for made in plan.decisions] == [("a1", "wait"), ("a2", "preempt")]


def test_for_a_limit_alone_who_opted_out_goes_where_only_its_room_is_of_use() -> None:
    """`high` opted out and stands where the claimant would fit; `low` stands where it would not; n2 has room."""
    tree = (path("root.p", max={"cpu": 3}), path("root.p.a", cpu=2), path("root.p.b"))
    nodes = (node("n1", cpu=1), node("n2", cpu=3))
    works = (work("low", "root.p.b", "n1", cpu=1), work("high", "root.p.b", "n2", cpu=1, preemptible=False))
    cluster = laws(*nodes, *tree, *works, asking("in", "root.p.a", cpu=2))
    [made] = cede.plan(cluster).decisions

    assert ([victim.workload for victim in made.victims], made.nodes) == (["high"], ("n2",))
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_what_another_partition_holds_fills_no_node_of_this_one() -> None:
    """Release 1.9 has a tree for each partition; here both are below one root."""
    nodes = (node("n1", cpu=2, partition="x"), node("n2", cpu=2, partition="y"))
    tree = (path("root.x", partition="x"), path("root.y", partition="y"))
    cluster = release(*nodes, *tree, work("other", "root.y", "n2"), asking("in", "root.x", cpu=2))

    assert [made.action for made in cede.plan(cluster).decisions] == ["start"]


@pytest.mark.slow
def test_a_thousand_sizes_are_no_matter_of_depth() -> None:
    """Without nodes everybody stands in one place, and is one of a thousand different kinds."""
    works = [work(f"w{size:04}", "root.p.b", None, cpu=size) for size in range(1, 1001)]
    tree = (path("root.p", max={"cpu": 500_501}), path("root.p.a", cpu=5_000), path("root.p.b"))
    [made] = cede.plan(laws(*tree, *works, asking("in", "root.p.a", cpu=2_000)), misses=False).decisions

    assert len(made.victims) == 2


def test_where_a_node_has_room_the_sentence_speaks_of_all_nodes_together() -> None:
    """N1 holds more than it has, so that all nodes together have no room for 2, though n2 has."""
    tree = (path("root.a"), path("root.b"))
    works = (work("much", "root.b", "n1", cpu=4),)
    cluster = release(node("n1", cpu=2), node("n2", cpu=2), *tree, *works, asking("in", "root.a", cpu=2))
    [made] = cede.plan(cluster).decisions

    assert made.why.startswith("the nodes of the cluster lack 2 cpu in all, and")


def test_a_queue_that_is_named_by_a_path_needs_its_parent() -> None:
    cluster = cede.load({"cede": 1, "doctrine": "yunikorn", "queues": [{"name": "root.a"}]})

    assert [finding.rule for finding in lint(cluster)] == ["yunikorn.lint.path-without-parent"]


def test_a_shortfall_counts_only_whom_the_release_counted() -> None:
    """Room on n1 and victims elsewhere do not count there: of 4 cpu only the 2 of `near` are seen."""
    works = (work("near", "root.b", "n1", cpu=2), work("far", "root.b", "n2", cpu=4, submitted=-9))
    nodes = (node("n1", cpu=4), node("n2", cpu=4))
    [made] = cede.plan(
        release(*nodes, path("root.a", cpu=8), path("root.b"), *works, asking("in", "root.a", cpu=4))
    ).decisions

    assert made.rule == "yunikorn.shortfall"
    assert "what preemption found (2 cpu)" in made.why
