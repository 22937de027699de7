"""What `--shares` shows: vClusters with their nodes, and of what waits its turn, its score and what that is made of."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

import cede
from tests.unit.lattice.small import AUTO, MANUAL, NONE, core, node, nodes, part, policy, tenant, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
PLAIN = {"class": 0.0, "wait": 0.0, "share": 0.5, "topology": 0.5, "data": 0.5, "backlog": 1.0, "energy": 0.5,
         "checkpoint": 0.0, "conformance": 0.5}  # fmt: skip


def shown(cluster: cede.Cluster) -> dict[str, Any]:
    return cede.plan(cluster, shares=True).to_dict()


def of_in(cluster: cede.Cluster) -> dict[str, Any]:
    found: dict[str, Any] = shown(cluster)["workloads"]["in"]
    return found


def factor(name: str, cluster: cede.Cluster) -> float:
    return float(of_in(cluster)["factors"][name])


def test_queues_show_their_type_and_whose_nodes_they_use() -> None:
    entries = (*nodes("a1 a2 a3", "a"), node("b1", "b"), node("n1"), A, B, vcluster("c"))
    works = (
        whole("x", "a1 n1", queue="b"),
        part("y", "a2", queue="b"),
        part("z", "a2", queue="b"),
        whole("u", "a3", queue="a"),
    )

    assert shown(policy(*entries, *works))["queues"] == {
        "a": {"type": "hpc_batch", "home_nodes": 3, "lent": 2, "borrowed": 0},
        "b": {"type": "hpc_batch", "home_nodes": 1, "lent": 0, "borrowed": 2},
        "c": {"type": None, "home_nodes": 0, "lent": 0, "borrowed": 0},
    }


def test_what_a_file_does_not_say_counts_half() -> None:
    found = of_in(policy(node(), A, wants("in", submitted=0)))

    assert found["factors"] == pytest.approx(PLAIN)
    assert found["value"] == 0
    assert "budget_multiplier" not in found
    weights = (0.15, 0.20, 0.20, 0.15, 0.10, 0.05, 0.0, 0.05, 0.10)
    assert found["score"] == pytest.approx(sum(w * f for w, f in zip(weights, PLAIN.values(), strict=True)))


@pytest.mark.parametrize(
    ("mode", "policy_value", "core_value"),
    [
        (AUTO, 1 / 6, 1 / 6),
        (MANUAL, 1 / 31, 1 / 11),
        (NONE, 0, 0),
        ({"mode": "auto", "time": "1m"}, 1 / 2, 1 / 6),
        ({"mode": "manual", "time": "1m"}, 1 / 31, 1 / 11),
    ],
)
def test_ease_of_checkpoints_by_mode(mode: dict[str, str], policy_value: float, core_value: float) -> None:
    entries = (node(), A, wants("in", checkpoint=mode))
    settings: dict[str, Any] = {"manual_checkpoint_time": "30m"}

    assert factor("checkpoint", policy(*entries, **settings)) == pytest.approx(policy_value)
    assert factor("checkpoint", core(*entries, **settings)) == pytest.approx(core_value)


def test_class_and_waiting() -> None:
    cluster = policy(node(), A, wants("in", priority=7, submitted=-7200))

    assert factor("class", cluster) == pytest.approx(0.7)
    assert factor("wait", cluster) == pytest.approx(log(3))
    assert factor("wait", policy(node(), A, wants("in", submitted=0))) == 0


def test_share_is_what_a_tenant_holds_below_its_target() -> None:
    """Of five nodes that are not down one is held, so that the system is used by a fifth."""
    entries = (*nodes("n1 n2 n3 n4 n5"), node("n6", state="down"), A, whole("old", "n1", tenant="t"))
    mine = wants("in", tenant="t")

    assert factor("share", policy(*entries, tenant("t", share=0.5), mine)) == pytest.approx(0.3 / 0.5)
    burst = 0.5 * (1 + 0.5 * (0.8 - 0.2) / 0.8)
    assert factor("share", policy(*entries, tenant("t", share=0.5, burst=0.5), mine)) == pytest.approx(
        (burst - 0.2) / burst
    )
    assert factor("share", policy(*entries, tenant("t", share=0.1), mine)) == 0
    assert factor("share", policy(*entries, tenant("t", share=0), mine)) == 0.5
    assert factor("share", policy(*entries, tenant("t"), mine)) == 0.5
    assert of_in(policy(*entries, tenant("t", share=0.5, used=1.0), mine))["tenant_share"] == pytest.approx(0.2)


def test_topology_is_how_few_of_the_groups_are_needed() -> None:
    entries = (*nodes("n1 n2 n3", group="g"), *nodes("n4 n5", group="h"), node("n6", group="i"), node("n7"), A)

    def needs(members: int, edition: Any = policy) -> float:
        return factor("topology", edition(*entries, wants("in", members), topology="group"))

    assert [needs(count) for count in (1, 3, 4, 5, 6)] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3, 0])
    assert factor("topology", policy(*entries, wants("in", 3), topology="rack")) == 0.5
    assert needs(1, core) == pytest.approx(0.3 * (1 - 1 / 3) + 0.7 * 0.5)
    assert needs(4, core) == pytest.approx(0.7 * (1 - 2 / 3) + 0.3 * 0.5)


def test_sameness_is_the_largest_free_set_of_identical_nodes() -> None:
    entries = (*nodes("n1 n2 n3", fingerprint="x"), node("n4", fingerprint="y"), node("n5"), A, whole("old", "n1"))

    assert factor("conformance", policy(*entries, wants("in", 4))) == pytest.approx(0.5)
    assert factor("conformance", policy(*entries, wants("in", 1))) == 1.0
    assert factor("conformance", core(*entries, wants("in", 1))) == 2.0


def test_backlog_is_queued_over_running() -> None:
    """Queued 4 GPUs for 1 h, running 4 GPUs for 4 h; the library counts nodes for GPUs."""
    entries = (*nodes("n1 n2"), A, whole("old", "n1", walltime="4h", started=0), wants("in", walltime="1h"))

    assert factor("backlog", policy(*entries)) == pytest.approx(0.25)
    assert factor("backlog", core(*entries)) == pytest.approx(0.25)
    mixed = (node("n1", gpu=8), node("n2"), *entries[2:])
    assert factor("backlog", policy(*mixed)) == pytest.approx(0.125)
    assert factor("backlog", core(*mixed)) == pytest.approx(0.25)


def test_value_is_class_times_gpus_times_minutes() -> None:
    assert of_in(policy(node(), A, wants("in", priority=5, walltime="1h")))["value"] == 0.5 * 4 * 60
    assert of_in(policy(*nodes("n1 n2"), A, wants("in", 2, priority=5)))["value"] == 0.5 * 2 * 4 * 24 * 60
    smallest = (node("n1", gpu=8), node("n2", gpu=2), A)
    assert of_in(policy(*smallest, wants("in", priority=10, gpu=4, walltime="1m")))["value"] == 8
    assert of_in(policy(*smallest, wants("in", priority=10, gpu=1, walltime="1m")))["value"] == 2
    assert of_in(policy(node("n1", cpu=4), A, wants("in", priority=10, cpu=1, walltime="1m")))["value"] == 1


@pytest.mark.parametrize(("used", "multiplier"), [(0.8, 1.0), (0.9, 0.8608757211), (1.0, 0.525), (1.3, 0.05)])
def test_a_budget_that_is_used_up_lowers_the_score(used: float, multiplier: float) -> None:
    plain, poor = (of_in(policy(node(), A, tenant("t", used=at), wants("in", tenant="t"))) for at in (0, used))

    assert poor["budget_multiplier"] == pytest.approx(multiplier)
    assert poor["score"] == pytest.approx(plain["score"] * multiplier)


def test_the_turn_is_that_of_the_edition() -> None:
    works = (wants("low", queue="a", priority=1), wants("high", queue="b", priority=9))

    for edition, turns in ((policy, {"high": 1, "low": 2}), (core, {"low": 1, "high": 2})):
        cluster = edition(node(), A, B, *works)
        assert {name: one["turn"] for name, one in shown(cluster)["workloads"].items()} == turns
        plan = cede.plan(cluster)
        assert [made.workload for made in plan.decisions] == sorted(turns, key=lambda name: turns[name])


@pytest.mark.parametrize("kind", ["hpc_batch", "ml_training", "service", "sensitive", "interactive", None])
def test_equal_scores_are_ordered_by_submission_and_uid(kind: str | None) -> None:
    works = (wants("x", uid="2"), wants("y", uid="1"), wants("z", uid="3"))
    plan = cede.plan(policy(*nodes("n1 n2 n3"), vcluster("a", kind), *works))

    assert [made.workload for made in plan.decisions] == ["y", "x", "z"]
