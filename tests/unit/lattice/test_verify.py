"""Plans that break one rule each, made from a right one by another victim, claimant or node: each is objected to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cede
from cede.model.plan import ENDED
from tests.unit.lattice.small import NONE, core, node, nodes, policy, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
QUIET, SERVICE = vcluster("quiet", "sensitive"), vcluster("s", "service")
NAMES = "right high shy flag ten quiet near late firm serves guest"
NODES = tuple(node(name, "s" if name == "serves" else "b" if name == "guest" else None) for name in NAMES.split())
WORKS = (
    whole("right", "right", queue="a", priority=1),
    whole("high", "high", queue="a", priority=8),
    whole("shy", "shy", queue="a", priority=1, preemptible=False),
    whole("flag", "flag", queue="a", priority=1, sensitive=True),
    whole("ten", "ten", queue="a", priority=10),
    whole("quiet", "quiet", queue="quiet", priority=1),
    whole("near", "near", queue="a", priority=1, started=-3300, walltime="1h"),
    whole("late", "late", queue="a", priority=1, state="checkpointing"),
    whole("firm", "firm", queue="a", priority=7, checkpoint=NONE),
    whole("serves", "serves", queue="s", priority=1),
    whole("guest", "guest", queue="s", priority=1),
)
CLAIMANT = wants("in", queue="a", priority=8)
ENTRIES = (*NODES, A, B, QUIET, SERVICE, *WORKS, CLAIMANT, wants("meek", queue="a", priority=8, preempts=False))
LAWFUL, LIBRARY = policy(*ENTRIES), core(*ENTRIES)


def edited(cluster: cede.Cluster, victim: str = "", **changes: Any) -> list[str]:
    """What is wrong with the plan for `in` alone, after the change; a victim's node goes with it."""
    plan = cede.plan(cluster, only="in")
    [right] = plan.decisions
    if victim:
        changes = {"victims": tuple(replace(right.victims[0], workload=name) for name in victim.split())} | changes
        changes.setdefault("nodes", (victim.split(maxsplit=1)[0],))
    return cede.verify(cluster, replace(plan, decisions=(replace(right, **changes),)))


def test_the_right_plan_passes() -> None:
    for cluster in (LAWFUL, LIBRARY):
        assert edited(cluster) == []
    assert edited(LAWFUL, "right") == []
    assert edited(LAWFUL, "guest") == [], "a service on a node that it borrows"


NOT_LOWER = "in: high has class 8, not below 8"


@pytest.mark.parametrize(
    ("victim", "objections"),
    [
        ("high", [NOT_LOWER]),
        ("shy", ["in: shy asks not to be preempted"]),
        ("flag", ["in: flag is sensitive"]),
        ("ten", ["in: ten is sensitive", "in: ten has class 10, not below 8"]),
        ("quiet", ["in: quiet is sensitive", "in: quiet is of a sensitive vCluster"]),
        ("near", ["in: near has 300000000 microseconds to its end, within 300000000"]),
        ("late", ["in: late is checkpointing"]),
        ("firm", ["in: firm writes no checkpoints and has class 7"]),
        ("serves", ["in: serves is a service on a node that it does not borrow"]),
    ],
)
def test_another_victim_breaks_a_rule(victim: str, objections: list[str]) -> None:
    assert edited(LAWFUL, victim) == objections


@pytest.mark.parametrize(
    ("victim", "objections"),
    [
        ("high", [NOT_LOWER]),
        ("shy", ["in: shy asks not to be preempted"]),
        ("flag", ["in: flag is sensitive"]),
        ("ten", ["in: ten is sensitive", "in: ten has class 10, not below 8"]),
        ("late", ["in: late is checkpointing"]),
        *((name, []) for name in ("quiet", "near", "firm", "serves", "guest")),
    ],
)
def test_of_the_library_only_what_it_promises_is_asked(victim: str, objections: list[str]) -> None:
    assert edited(LIBRARY, victim) == objections


def test_a_superfluous_victim_is_objected_to_in_the_policy() -> None:
    assert edited(LAWFUL, "right guest") == [
        "in would fit without the eviction of right",
        "in would fit without the eviction of guest",
    ]
    assert edited(LIBRARY, "right guest") == []


def test_too_many_victims_of_a_lower_class_are_objected_to() -> None:
    five = (*nodes("n1 n2 n3 n4"), A, *(whole(f"w{at}", f"n{at}", priority=1) for at in range(1, 5)))
    cluster = policy(*five, wants("in", 4, priority=8), max_victims=4)
    plan = cede.plan(cluster)
    strict = policy(*five, wants("in", 4, priority=8))

    assert cede.verify(cluster, plan) == []
    found = cede.verify(strict, replace(plan, version=strict.state.version))
    assert found == ["in: 4 victims for a higher class, where 3 is the most"]


def test_another_claimant_may_not_preempt() -> None:
    assert edited(LAWFUL, workload="meek") == ["meek: meek never preempts, yet it has victims"]


@pytest.mark.parametrize("cluster", [LAWFUL, LIBRARY], ids=["policy", "core"])
def test_victims_queue_again(cluster: cede.Cluster) -> None:
    [right] = cede.plan(cluster, only="in").decisions
    ended = tuple(replace(victim, fate=ENDED) for victim in right.victims)

    name = right.victims[0].workload
    assert edited(cluster, victims=ended) == [f"in: {name} would be ended, and Lattice queues its victims again"]


@pytest.mark.parametrize(
    ("reason", "objections"),
    [
        ("reclaim", ["in: right borrows no node of the claimant's vCluster"]),
        ("sensitive", ["in: right goes for a sensitive claim, which the claimant is not"]),
    ],
)
def test_a_reason_that_does_not_hold_is_objected_to(reason: str, objections: list[str]) -> None:
    [right] = cede.plan(LAWFUL, only="in").decisions
    victims = (replace(right.victims[0], workload="right", reason=reason),)

    assert edited(LAWFUL, victims=victims, nodes=("right",)) == objections
    assert edited(LIBRARY, victims=victims, nodes=("right",)) == [
        f"in: right goes by {reason}, which the library does not know"
    ]


# -- lending -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("borrower", "lender", "objection"),
    [
        ({"allow_borrowing": False}, {}, "n2 is not lent to it"),
        ({}, {"allow_lending": False}, "n2 is not lent to it"),
    ],
)
def test_a_node_that_is_not_lent_is_objected_to(
    borrower: dict[str, Any], lender: dict[str, Any], objection: str
) -> None:
    cluster = policy(
        node("n1"), node("n2", "b"), vcluster("a", **borrower), vcluster("b", **lender), wants("in", queue="a")
    )

    assert decided_nodes(cluster) == ("n1",)
    assert f"in: {objection}" in edited(cluster, nodes=("n2",))


@pytest.mark.parametrize(("borrower", "lender"), [("sensitive", "hpc_batch"), ("hpc_batch", "sensitive")])
def test_a_node_lent_by_or_to_a_sensitive_vcluster_is_objected_to(borrower: str, lender: str) -> None:
    cluster = policy(
        node("n1"), node("n2", "b"), vcluster("a", borrower), vcluster("b", lender), wants("in", queue="a")
    )

    assert "in: n2 would be lent by or to a sensitive vCluster" in edited(cluster, nodes=("n2",))


def decided_nodes(cluster: cede.Cluster) -> tuple[str, ...]:
    [made] = cede.plan(cluster).decisions
    return made.nodes


def test_a_sensitive_claim_stands_where_it_says_and_goes_by_its_own_reason() -> None:
    shut = vcluster("b", "hpc_batch", allow_lending=False)
    claim = wants("in", queue="quiet", priority=2, constraints={"nodes": ["n1"]})
    cluster = policy(node("n1", "b"), shut, QUIET, whole("old", "n1", queue="b", priority=9), claim)

    assert edited(cluster) == []
    [right] = cede.plan(cluster).decisions
    by_class = (replace(right.victims[0], reason="priority"),)
    assert edited(cluster, victims=by_class) == ["in: old has class 9, not below 2"]
