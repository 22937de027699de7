"""Plans that break one law each, made from a right one by another victim or another claimant: each is objected to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import doctrine_of
from cede.engine.verify import verify_state
from cede.model.plan import Victim
from tests.builders import Entry, asking, laws, node, path, pending, preempting, release
from tests.unit.yunikorn.claims import work

QUEUES: tuple[Entry, ...] = (
    path("root.t", policy="fence"),
    path("root.t.a", cpu=4),
    path("root.t.b"),
    path("root.t.scarce", cpu=3),
    path("root.t.calm", cpu=2),
    path("root.t.shut", policy="disabled"),
    path("root.t.poor"),
    path("root.out"),
)
WORKS: tuple[Entry, ...] = (
    work("right", "root.t.b", "n1", submitted=-1),
    work("also", "root.t.b", "n1", submitted=-9),
    work("kin", "root.t.b", "n1", app="job"),
    work("high", "root.t.b", "n1", priority=9),
    work("agent", "root.t.b", "n1", required_node="n1"),
    preempting("gone", "n1", queue="root.t.b", cpu=2),
    work("scarce-1", "root.t.scarce", "n1"),
    work("scarce-2", "root.t.scarce", "n1"),
    work("calm", "root.t.calm", "n1"),
    work("shut", "root.t.shut", "n1"),
    work("mine", "root.t.a", "n1", priority=5, app="other"),
    work("outside", "root.out", "n1"),
    work("far", "root.t.b", "n2", submitted=-99),
)
JOB = {"cpu": 2, "priority": 5, "app": "job"}
ASKS: tuple[Entry, ...] = (
    asking("in", "root.t.a", submitted=-99, **JOB),
    asking("meek", "root.t.a", preempts=False, **JOB),
    pending("young", queue="root.t.a", submitted=-29, **JOB),
    asking("full", "root.t.calm", **JOB),
    asking("poor", "root.t.poor", **JOB),
)
ENTRIES = (node("n1", cpu=24), node("n2", cpu=2), *QUEUES, *WORKS, *ASKS)
LAWFUL, SHIPPED = laws(*ENTRIES), release(*ENTRIES)


def edited(cluster: cede.Cluster, victims: str = "", **changes: Any) -> list[str]:
    """What is wrong with the plan for `in` alone, after the change."""
    plan = cede.plan(cluster, only="in")
    [right] = plan.decisions
    if victims:
        changes["victims"] = tuple(replace(right.victims[0], workload=name) for name in victims.split())
    return cede.verify(cluster, replace(plan, decisions=(replace(right, **changes),)))


def test_the_right_plan_passes() -> None:
    assert cede.plan(LAWFUL, only="in").victims == {"right"}
    assert edited(LAWFUL) == []
    assert edited(LAWFUL, "also") == []
    assert edited(SHIPPED) == []


@pytest.mark.parametrize(
    ("victim", "objections"),
    [
        ("scarce-1", ["in: law 2: root.t.scarce is left with less cpu than it is guaranteed"]),
        ("kin", ["in: law 3: kin is of the application job too"]),
        (
            "calm",
            [
                "in: law 5: root.t.calm of calm is not over its guarantee",
                "in: law 2: root.t.calm is left with less cpu than it is guaranteed",
            ],
        ),
        ("high", ["in: law 6: high has priority 9, above 5"]),
        ("outside", ["in: law 7: outside is outside the claimant's fence"]),
        ("shut", ["in: shut is in a queue whose policy is disabled"]),
        ("mine", ["in: mine is in the claimant's own queue", "in: law 5: root.t.a of mine is not over its guarantee"]),
        ("agent", ["in: agent needs its node and is never a victim"]),
        ("gone", ["in: gone is preempting"]),
    ],
)
def test_another_victim_breaks_a_law(victim: str, objections: list[str]) -> None:
    assert edited(LAWFUL, victim) == objections


def test_each_may_go_alone_but_not_both() -> None:
    """Root.t.b has no guarantee; its parent here has: of 4 it may lose 2."""
    tree = (path("root.p", cpu=2), path("root.p.b"), path("root.p.c"), path("root.a", cpu=9))
    works = (work("one", "root.p.b"), work("two", "root.p.c"), work("more", "root.x", cpu=4))
    cluster = laws(node("n1", cpu=8), *tree, path("root.x"), *works, asking("in", "root.a", cpu=4))

    assert cede.plan(cluster).victims == {"more"}
    assert edited(cluster, "one two") == ["in: law 2: root.p is left with less cpu than it is guaranteed"]


def test_a_victim_on_another_node_is_objected_to() -> None:
    assert edited(LAWFUL, "far") == ["in oversubscribes cpu of n1"]
    assert "in: its victims do not stand on one node" in edited(LAWFUL, "far right")
    assert edited(LAWFUL, "far", nodes=("n2",)) == []


def test_a_victim_that_is_not_needed_is_objected_to() -> None:
    assert edited(LAWFUL, "right also") == [
        "in would fit without the eviction of right",
        "in would fit without the eviction of also",
    ]


def test_what_is_looked_for_on_all_nodes_is_left_out_of_a_check_of_what_the_plan_touches() -> None:
    plan = cede.plan(LAWFUL, only="in")
    [right] = plan.decisions
    more = tuple(replace(right.victims[0], workload=name) for name in ("right", "also"))

    def touched(**changes: Any) -> list[str]:
        changed = replace(plan, decisions=(replace(right, **changes),))
        return verify_state(LAWFUL.state, doctrine_of(LAWFUL.document.doctrine), changed, whole=False)

    assert touched(victims=more) == []
    assert touched(victims=(replace(right.victims[0], workload="far"),)) == ["in oversubscribes cpu of n1"]


def test_who_is_leaving_still_counts_under_a_limit() -> None:
    """With one victim it would fit only when `gone` is gone, for whom another may have asked."""
    tree = (path("root.p", max={"cpu": 3}), path("root.p.a", cpu=6), path("root.p.b"))
    works = (preempting("gone", queue="root.p.a", cpu=1), *(work(f"w{n}", "root.p.b", cpu=1) for n in range(3)))
    cluster = laws(*tree, *works, asking("in", "root.p.a", cpu=1))

    assert len(cede.plan(cluster).victims) == 2
    assert edited(cluster) == []


@pytest.mark.parametrize(
    ("claimant", "objection"),
    [
        ("full", "full: law 4: root.t.calm is not under its guarantee"),
        ("poor", "poor: law 4: no queue on the claimant's path guarantees what it asks for"),
        ("meek", "meek: meek never preempts, yet it has victims"),
        ("young", "young: young has not waited for its preemption.delay"),
    ],
)
def test_another_claimant_may_not_preempt(claimant: str, objection: str) -> None:
    assert edited(LAWFUL, workload=claimant) == [objection]


def test_a_later_claimant_finds_the_guarantee_used() -> None:
    """Two of 2 bring root.t.a to 4 with the first one that is there; the sums follow the plan."""
    plan = cede.plan(LAWFUL, only="in")
    [right] = plan.decisions
    again = asking("in-2", "root.t.a", submitted=-98, **JOB)
    cluster = laws(*ENTRIES, again)
    second = replace(right, workload="in-2", victims=(replace(right.victims[0], workload="also"),))

    found = cede.verify(cluster, replace(plan, decisions=(right, second), version=cluster.state.version))

    assert found == ["in-2: law 4: root.t.a is not under its guarantee"]


def test_preemption_that_is_off_is_objected_to() -> None:
    plan = cede.plan(LAWFUL, only="in")
    off = laws(*ENTRIES, **{"preemption.enabled": False})

    assert cede.verify(off, replace(plan, version=off.state.version)) == ["in: preemption is off"]


def test_what_is_preempted_is_made_anew() -> None:
    ended = (Victim("right", "yunikorn.over-guarantee", fate="ended"),)

    plan = cede.plan(LAWFUL, only="in")
    wrong = replace(plan, decisions=(replace(plan.decisions[0], victims=ended),))
    assert cede.verify(LAWFUL, wrong) == ["in: right would be ended; what YuniKorn preempts is made anew"]


def test_the_laws_evict_for_a_claimant_only() -> None:
    assert "nobody: edition laws evicts for a claimant only" in edited(LAWFUL, workload=None, nodes=())


def test_a_claimant_that_needs_its_node_is_bound_by_laws_3_and_6_only() -> None:
    pinned = asking("in", "root.t.a", submitted=0, required_node="n1", **JOB)
    cluster = laws(node("n1", cpu=24), node("n2", cpu=2), *QUEUES, *WORKS, pinned)

    for victim in ("calm", "scarce-1", "shut", "mine", "outside"):
        assert edited(cluster, victim) == []
    assert edited(cluster, "kin") == ["in: law 3: kin is of the application job too"]
    assert edited(cluster, "high") == ["in: law 6: high has priority 9, above 5"]
    assert edited(cluster, "agent") == ["in: agent needs its node and is never a victim"]


@pytest.mark.parametrize(
    ("victim", "objections"),
    [
        ("scarce-1", []),
        ("kin", []),
        ("outside", ["in: law 7: outside is outside the claimant's fence"]),
        ("shut", ["in: shut is in a queue whose policy is disabled"]),
        ("mine", ["in: mine is in the claimant's own queue"]),
        ("agent", ["in: agent needs its node and is never a victim"]),
    ],
)
def test_of_the_release_only_what_it_promises_is_asked(victim: str, objections: list[str]) -> None:
    assert edited(SHIPPED, victim) == objections


def test_a_sibling_below_the_guarantee_that_the_claimant_counts_on_is_no_victim() -> None:
    tree = (path("root.p", cpu=9), path("root.p.a"), path("root.p.b"), path("root.x"))
    works = (work("sibling", "root.p.b"), work("right", "root.x"))
    cluster = laws(node("n1", cpu=4), *tree, *works, asking("in", "root.p.a", cpu=2))

    assert cede.plan(cluster).victims == {"right"}
    assert edited(cluster, "sibling") == ["in: law 5: root.p.b of sibling is not over its guarantee"]


def started_on(cluster: cede.Cluster, name: str, on: str) -> list[str]:
    """What is wrong with a plan that starts this workload on that node and does nothing else."""
    plan = cede.plan(cluster, only=name)
    [made] = plan.decisions
    there = replace(made, action="start", rule="yunikorn.fits", victims=(), nodes=(on,))
    return cede.verify(cluster, replace(plan, decisions=(there,)))


@pytest.mark.parametrize(
    ("holder", "objections"),
    [
        ({"cpu": 3, "priority": 9, "submitted": -9999}, []),
        ({"cpu": 2, "priority": 9, "submitted": -9999}, ["in: n1 is reserved for hold, which nothing cancels"]),
        (
            {"cpu": 3, "priority": 9, "submitted": -99},
            ["in: n1 is reserved for hold, which nothing cancels", "in may not use n1"],
        ),
        ({"cpu": 2, "priority": -9, "submitted": -9999}, []),
    ],
    ids=["old and without headroom", "old, with headroom", "young", "old and lower"],
)
def test_a_reserved_node_is_for_others_only_when_that_has_ended(holder: dict[str, Any], objections: list[str]) -> None:
    entries = (node("n1", cpu=4, reserved_for="hold"), path("root.a", cpu=4), path("root.b", max={"cpu": 2}))
    cluster = release(*entries, asking("hold", "root.b", **holder), asking("in", "root.a", cpu=2))

    assert started_on(cluster, "in", "n1") == objections


@pytest.mark.parametrize(
    ("state", "pinned", "right"), [("cordoned", True, True), ("cordoned", False, False), ("down", True, False)]
)
def test_a_cordoned_node_is_for_who_needs_it_by_the_release_alone(state: str, pinned: bool, right: bool) -> None:
    nodes = (node("n1", cpu=4, state=state), node("n2", cpu=4))
    ask = asking("in", "root.a", cpu=2, **({"required_node": "n1"} if pinned else {}))

    assert (started_on(release(*nodes, path("root.a"), ask), "in", "n1") == []) is right
    assert started_on(laws(*nodes, path("root.a"), ask), "in", "n1") != []


def test_who_says_that_it_never_preempts_does_so_on_a_required_node_alone_and_with_a_warning() -> None:
    meek = asking("in", "root.t.a", required_node="n1", preempts=False, **JOB)
    entries = (node("n1", cpu=24), node("n2", cpu=9), *QUEUES, *WORKS, meek)

    assert edited(release(*entries)) == []
    assert edited(release(*entries), warnings=()) == [
        "in: in says that it never preempts, and no warning says why it does"
    ]
