"""Each member goes where its own flavors are, and what is short of them is said."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.verify import verify
from tests.builders import Entry, cluster_of, decided, group, node, pending, running

SPOT = node("s1", cpu=4, flavor="spot")
SPOTS = node("s", count=2, cpu=4, flavor="spot")
OLD = node("o1", cpu=4, flavor="old")
MIXED = node("m1", **{"cpu@spot": 2, "cpu@old": 6})
BAR = group(preemptible_priority=5)


def sets(*parts: tuple[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": f"p{at}", "count": count, "requests": asked} for at, (count, asked) in enumerate(parts)]


PLACED: dict[str, tuple[tuple[Entry, ...], dict[str, Any], tuple[str, ...]]] = {
    "two pod sets pin different flavors": (
        (SPOT, OLD),
        {"pod_sets": sets((1, {"cpu@old": 1}), (2, {"cpu@spot": 2}))},
        ("o1", "s1", "s1"),
    ),
    "one pod set pins a flavor, and the other goes where it fits best": (
        (SPOT, node("o1", cpu=9, flavor="old")),
        {"pod_sets": sets((1, {"cpu": 4}), (1, {"cpu@spot": 1}))},
        ("o1", "s1"),
    ),
    "a member pins one flavor of each resource": (
        (node("x", cpu=4, flavor="spot", **{"gpu@a100": 1}), node("y", cpu=4, gpu=1, flavor="spot")),
        {"cpu@spot": 1, "gpu@a100": 1},
        ("x",),
    ),
    "a gang fills the nodes of its flavor": (
        (SPOTS, OLD),
        {"members": 4, "cpu@spot": 2},
        ("s-0", "s-0", "s-1", "s-1"),
    ),
    "exclusive members have nodes of their flavor to themselves": (
        (SPOTS, OLD),
        {"members": 2, "exclusive": True, "cpu@spot": 1},
        ("s-0", "s-1"),
    ),
    "members that can only be packed one way": (
        (node("a", cpu=4, flavor="spot"), node("b", cpu=4)),
        {"pod_sets": sets((2, {"cpu": 2}), (2, {"cpu@spot": 2}))},
        ("b", "b", "a", "a"),
    ),
    "a node has enough of one flavor only": (
        (MIXED, SPOT),
        {"cpu@spot": 3},
        ("s1",),
    ),
}


@pytest.mark.parametrize("case", PLACED)
def test_a_place_is_found_where(case: str) -> None:
    nodes, asked, places = PLACED[case]
    cluster = cluster_of(BAR, *nodes, pending("in", **asked))

    made = decided(cluster, "in")
    assert (made.action, made.nodes) == ("start", places)
    assert verify(cluster, cede.plan(cluster)) == []


def test_what_runs_in_another_flavor_of_the_node_makes_no_room() -> None:
    cluster = cluster_of(BAR, MIXED, running("low", "m1", **{"cpu@old": 4}, priority=1),
                         running("mid", "m1", **{"cpu@spot": 2}, priority=2),
                         pending("in", **{"cpu@spot": 2}, priority=9))  # fmt: skip

    assert cede.plan(cluster).victims == {"mid"}


def test_victims_of_a_gang_stand_on_nodes_of_its_flavor() -> None:
    cluster = cluster_of(BAR, SPOTS, OLD, running("a", "s-0", cpu=4, priority=2),
                         running("b", "s-1", cpu=4, priority=2), running("c", "o1", cpu=4, priority=1),
                         pending("in", members=2, **{"cpu@spot": 4}, priority=9))  # fmt: skip

    assert cede.plan(cluster).victims == {"a", "b"}


SHORT: dict[str, tuple[tuple[Entry, ...], dict[str, Any], str]] = {
    "the flavor alone": (
        (MIXED, running("x", "m1", **{"cpu@spot": 1}, priority=9)),
        {"cpu@spot": 2},
        "closest is m1: cpu@spot 2 asked, 1 free",
    ),
    "the resource as such, which is said once": (
        (SPOT, running("x", "s1", **{"cpu@spot": 3}, priority=9)),
        {"cpu@spot": 2},
        "closest is s1: cpu 2 asked, 1 free",
    ),
}


@pytest.mark.parametrize("case", SHORT)
def test_what_is_short_is_said_to_be(case: str) -> None:
    entries, asked, words = SHORT[case]

    assert words in decided(cluster_of(BAR, *entries, pending("in", **asked)), "in").why


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nobody has": ({"cpu@fast": 1}, "no node of its group has flavor fast"),
    "no node has for any of its members": (
        {"pod_sets": sets((1, {"cpu@fast": 1}), (1, {"cpu@new": 1, "cpu": 1}))},
        "no node of its group has cpu@fast or cpu@new",
    ),
    "no node has together": ({"cpu@spot": 1, "gpu@a100": 1}, "no node of its group has cpu@spot and gpu@a100"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_workload_is_refused_that_asks_for_what(case: str) -> None:
    asked, why = REFUSED[case]
    made = decided(cluster_of(BAR, SPOT, node("g", **{"gpu@a100": 1}), pending("in", **asked)), "in")

    assert (made.action, made.why) == ("refuse", why)


def test_a_plan_that_puts_a_member_on_a_node_without_its_flavor_is_unlawful() -> None:
    cluster = cluster_of(BAR, SPOT, OLD, pending("in", pod_sets=sets((1, {"cpu@old": 1}), (1, {"cpu@spot": 1}))))
    made = cede.plan(cluster)
    crossed = cede.Plan(made.doctrine, made.edition, made.now, (_with_nodes(made.decisions[0], ("s1", "o1")),))

    assert verify(cluster, made) == []
    assert verify(cluster, crossed) == ["in oversubscribes cpu@old of s1", "in oversubscribes cpu@spot of o1"]


def _with_nodes(made: cede.Decision, nodes: tuple[str, ...]) -> cede.Decision:
    return cede.Decision(made.workload, made.action, made.rule, made.why, nodes=nodes)
