"""What lint says of YTsaurus's settings, each with a case and counter-cases."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.lint import lint
from tests.builders import Entry, pending, running
from tests.unit.ytsaurus.small import docs, node, op, pool, shipped

N = node("n1", cpu=4, labels={"ssd": "yes"})
A, B = pool("a", cpu=2), pool("b")
TWO = (pending("x", queue="a", cpu=1), pending("y", queue="a", cpu=1))
ONLY: dict[str, Any] = {"scheduling_preemption_priority_scope": "operation_only"}
AGGRESSIVE = {"enable_aggressive_starvation": True, "aggressive_preemption_satisfaction_threshold": 0.8}
NO_MORE = {"aggressive_preemption_satisfaction_threshold": 1}
FLOW = {"resource_flow": {"cpu": 1}}
RELAXED = {"integral_guarantees": {"guarantee_type": "relaxed", **FLOW}}
BURST = {"integral_guarantees": {"guarantee_type": "burst", "burst_guarantee_resources": {"cpu": 2}, **FLOW}}
EMPTY = {"integral_guarantees": {"guarantee_type": "relaxed"}}
INFINITE = {"use_precommit_for_preemption": True, "enable_infinite_resource_limits_overcommit": True}
SSD = {"enable": True, "node_tag_filter": "ssd", "medium_names": ["nvme"]}
NEVER = {"allow_aggressive_preemption": False}


def file(*entries: Entry, **tree: Any) -> cede.Cluster:
    """A file that has a node and two pools if it says nothing else, and nothing that lint finds by itself."""
    sections = {entry.section for entry in entries}
    more = [*([] if "nodes" in sections else [N]), *([] if "queues" in sections else [A, B])]
    return docs(*more, *entries, **(ONLY | tree))


def found(cluster: cede.Cluster) -> dict[str, str]:
    """YTsaurus's findings by name, with their places."""
    return {one.rule: one.path for one in lint(cluster) if one.rule.startswith("ytsaurus.lint.")}


CASES: dict[str, tuple[cede.Cluster, str, list[cede.Cluster]]] = {
    "without-effect": (
        file(min_child_heap_size=8),
        "doctrine.min_child_heap_size",
        [file(max_running_operation_count=8), file(**INFINITE)],
    ),
    "pool-starvation-loop": (
        docs(N, A, *TWO),
        "doctrine.scheduling_preemption_priority_scope",
        [
            docs(N, A, *TWO, **ONLY),
            docs(N, A, *TWO, enable_pool_starvation=False),
            docs(N, A, B, pending("x", queue="a", cpu=1), pending("y", queue="b", cpu=1)),
            docs(N, A, B, *TWO[:1], pending("z", queue="a", app="x", cpu=1)),
            docs(N, A, *(pending(name, cpu=1) for name in ("x", "y")), B),
            docs(N, pool("a", fair_share_starvation_tolerance=0, cpu=2), *TWO),
        ],
    ),
    "crossing-allocation-loop": (
        file(consider_allocation_on_fair_share_bound_preemptible=True),
        "doctrine.consider_allocation_on_fair_share_bound_preemptible",
        [file(), file(consider_allocation_on_fair_share_bound_preemptible=True, fair_share_starvation_tolerance=0)],
    ),
    "aggressive-loop": (
        file(enable_aggressive_starvation=True),
        "doctrine.enable_aggressive_starvation",
        [file(), file(**AGGRESSIVE), file(enable_aggressive_starvation=True, fair_share_starvation_tolerance=0.2)],
    ),
    "aggressive-nobody": (
        file(fair_share_aggressive_starvation_timeout="5m"),
        "doctrine.fair_share_aggressive_starvation_timeout",
        [
            file(**AGGRESSIVE, fair_share_aggressive_starvation_timeout="5m"),
            file(pool("a", enable_aggressive_starvation=True), aggressive_preemption_satisfaction_threshold=0.8),
        ],
    ),
    "aggressive-takes-no-more": (
        file(enable_aggressive_starvation=True, **NO_MORE),
        "doctrine.aggressive_preemption_satisfaction_threshold",
        [file(**AGGRESSIVE), file(enable_aggressive_starvation=True, preemption_satisfaction_threshold=1.2, **NO_MORE)],
    ),
    "aggressive-from-nobody": (
        file(pool("a", **NEVER), pool("b", **NEVER), **AGGRESSIVE),
        "doctrine.enable_aggressive_starvation",
        [
            file(pool("a", **NEVER), B, **AGGRESSIVE),
            file(pool("a", **NEVER), pool("c", "a", allow_aggressive_preemption=True), **AGGRESSIVE),
            docs(N, pending("x", cpu=1), **AGGRESSIVE),
        ],
    ),
    "starves-at-once": (
        file(fair_share_starvation_timeout=0),
        "doctrine.fair_share_starvation_timeout",
        [file(fair_share_starvation_timeout=1), file()],
    ),
    "no-backoff": (
        file(preemptive_scheduling_backoff=0),
        "doctrine.preemptive_scheduling_backoff",
        [file(preemptive_scheduling_backoff=1)],
    ),
    "graceful-in-a-hurry": (
        file(allocation_preemption_timeout="2m"),
        "doctrine.allocation_preemption_timeout",
        [file(allocation_preemption_timeout="1m"), file(allocation_graceful_preemption_timeout="30s")],
    ),
    "main-resource-nowhere": (
        file(pool("a", gpu=4), B, main_resource="gpu"),
        "doctrine.main_resource",
        [file(node("n1", gpu=4), pool("a", gpu=4), main_resource="gpu"), docs(A, main_resource="cpu")],
    ),
    "ssd-nowhere": (
        file(ssd_priority_preemption=SSD | {"node_tag_filter": "fast"}),
        "doctrine.ssd_priority_preemption",
        [file(ssd_priority_preemption=SSD), file(ssd_priority_preemption=SSD | {"enable": False})],
    ),
    "ssd-loop": (
        file(ssd_priority_preemption=SSD),
        "doctrine.ssd_priority_preemption",
        [file(ssd_priority_preemption=SSD | {"medium_names": []})],
    ),
    "slotless-loop": (
        file(N, node("n2", cpu=4, user_slots=0), min_spare_allocation_resources_on_node={"cpu": 1}),
        "nodes[n2].capacity.user_slots",
        [
            file(N, node("n2", cpu=4, user_slots=0)),
            file(N, node("n2", cpu=4, user_slots=1), min_spare_allocation_resources_on_node={"cpu": 1}),
        ],
    ),
    "full-host-nowhere": (
        file(node("n1", cpu=4, gpu=7), default_gpu_full_host_preemption={"enable": True}),
        "doctrine.default_gpu_full_host_preemption",
        [file(node("n1", cpu=4, gpu=8), default_gpu_full_host_preemption={"enable": True})],
    ),
    "nothing-to-spare": (
        file(node("n1", cpu=4, memory=64)),
        "doctrine.min_spare_allocation_resources_on_node",
        [
            file(node("n1", cpu=4, memory="64Gi")),
            file(node("n1", cpu=4, memory=64), min_spare_allocation_resources_on_node={"cpu": 1}),
            file(min_spare_allocation_resources_on_node={"gpu": 1}),
        ],
    ),
    "void-guarantee": (
        file(pool("p"), pool("q", "p"), pool("a", "q", cpu=2)),
        "queues[a].guaranteed",
        [
            file(pool("p", cpu=2), pool("a", "p", cpu=2)),
            file(pool("p", cpu=2), pool("a", "p")),
            file(pool("p"), pool("a", "p", cpu=0)),
        ],
    ),
    "burst-above-cluster": (
        file(pool("a", cpu=3), pool("b", **BURST)),
        "queues[b].settings.integral_guarantees.burst_guarantee_resources",
        [
            file(pool("a", cpu=2), pool("b", **BURST)),
            file(pool("a", cpu=3), pool("b", **RELAXED)),
        ],
    ),
    "never-starves": (
        file(pool("a", fair_share_starvation_tolerance=0), B),
        "queues[a].settings.fair_share_starvation_tolerance",
        [file(pool("a", fair_share_starvation_tolerance=0.1), B)],
    ),
    "not-fifo": (
        file(pool("a", fifo_sort_parameters=["start_time"]), B),
        "queues[a].settings.fifo_sort_parameters",
        [file(pool("a", fifo_sort_parameters=["start_time"], mode="fifo"), B)],
    ),
    "tolerance-without-limit": (
        file(pool("a", resource_limits_overcommit_tolerance={"cpu": 1}), B),
        "queues[a].settings.resource_limits_overcommit_tolerance.cpu",
        [file(pool("a", max={"cpu": 2}, resource_limits_overcommit_tolerance={"cpu": 1}), B)],
    ),
    "promises-nothing": (
        file(pool("a", compute_promised_guarantee_fair_share=True), B),
        "queues[a].settings.compute_promised_guarantee_fair_share",
        [
            file(pool("a", cpu=1, compute_promised_guarantee_fair_share=True), B),
            file(pool("p", cpu=1), pool("a", "p", compute_promised_guarantee_fair_share=True)),
        ],
    ),
    "integral-of-type-none": (
        file(pool("a", integral_guarantees=FLOW), B),
        "queues[a].settings.integral_guarantees.guarantee_type",
        [
            file(pool("p", integral_guarantees=FLOW), pool("a", "p", **RELAXED)),
            file(pool("a", **RELAXED), B),
        ],
    ),
    "integral-without-flow": (
        file(pool("a", **EMPTY), B),
        "queues[a].settings.integral_guarantees.resource_flow",
        [
            file(pool("a", **RELAXED), B),
            file(pool("a", **EMPTY, accumulated_resource_volume={"cpu": 9}), B),
        ],
    ),
    "overruled": (
        file(op("x", "a", fair_share_starvation_timeout=10)),
        "apps[x].settings.fair_share_starvation_timeout",
        [
            file(op("x", "a", fair_share_starvation_timeout=40)),
            file(pool("a", fair_share_starvation_timeout=10), B, op("x", "a", fair_share_starvation_timeout=10)),
            file(op("x", "a", fair_share_starvation_tolerance=0.5)),
            file(op("x", "a", non_preemptible_resource_usage_threshold={"cpu": 5})),
        ],
    ),
    "gang-like-any-other": (
        file(op("x", "a", is_gang=True)),
        "apps[x].settings.is_gang",
        [
            file(op("x", "a", is_gang=True), enable_step_function_for_gang_operations=True),
            file(op("x", "a", is_gang=True), allow_aggressive_preemption_for_gang_operations=False),
        ],
    ),
    "tag-filter-nowhere": (
        file(op("x", "a", scheduling_tag_filter="fast")),
        "apps[x].settings.scheduling_tag_filter",
        [file(op("x", "a", scheduling_tag_filter="ssd | fast")), file(op("x", "a", scheduling_tag_filter=""))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_lint_says_it_where_it_is_so_and_nothing_else(name: str) -> None:
    cluster, path, _ = CASES[name]

    assert found(cluster) == {f"ytsaurus.lint.{name}": path}


@pytest.mark.parametrize("name", CASES)
def test_lint_says_nothing_where_it_is_not_so(name: str) -> None:
    for cluster in CASES[name][2]:
        assert f"ytsaurus.lint.{name}" not in found(cluster)


@pytest.mark.parametrize("cluster", [docs, shipped], ids=["docs", "25.4"])
def test_lint_says_nothing_of_a_clean_file(cluster: Any) -> None:
    clean = cluster(
        *(
            N,
            pool("p", cpu=4),
            pool("a", "p", cpu=2, max={"cpu": 3}),
            pool("b", "p", mode="fifo"),
            op("x", "a", weight=2),
        ),
        *(running("x1", queue="a", app="x", cpu=1), pending("y", queue="a", cpu=1), pending("z", queue="b", cpu=1)),
        **ONLY,
    )

    assert lint(clean) == []


def messages(*entries: Entry, **tree: Any) -> list[str]:
    return [one.message for one in lint(file(*entries, **tree)) if one.rule.startswith("ytsaurus.lint.")]


def test_an_option_that_died_is_told_from_one_about_speed() -> None:
    assert messages(enable_conditional_preemption=True, node_shard_count=8, use_precommit_for_preemption=True) == [
        "enable_conditional_preemption has no effect since September 2025: an allocation is preemptible for all or for "
        "none",
        "node_shard_count changes no plan of Cede",
        "use_precommit_for_preemption alone changes no plan: one heartbeat comes after the other here",
    ]
    path = "apps[x].settings.waiting_for_resources_on_node_timeout"
    assert [one.path for one in lint(file(op("x", "a", waiting_for_resources_on_node_timeout=9)))] == [path]


def test_the_pools_that_may_loop_are_named() -> None:
    """The operations of a pool are those of all pools below it."""
    pools = [pool("p"), *(pool(f"q{at}", "p") for at in range(4))]
    asks = [pending(f"w{at}", queue=f"q{at // 2}", cpu=1) for at in range(8)]
    [one] = [one for one in lint(docs(N, *pools, *asks)) if one.rule == "ytsaurus.lint.pool-starvation-loop"]

    assert one.message.startswith("while one of p, q0, q1 and 2 more starves, each of its operations may preempt")
    alone = messages(pool("a"), pool("b"), *TWO, scheduling_preemption_priority_scope="operation_and_ancestors")
    assert alone[0].startswith("while a starves")


def test_a_file_that_is_flagged_for_a_loop_loops_and_the_hint_ends_it() -> None:
    """The cluster of examples/ytsaurus/loop.yaml."""
    looping = cede.load("examples/ytsaurus/loop.yaml")

    assert set(found(looping)) == {"ytsaurus.lint.pool-starvation-loop"}
    assert cede.settle(looping).loop is not None


def test_nodes_that_are_too_small_are_named() -> None:
    small = [node(f"n{at}", cpu=1, memory="1Gi") for at in range(5)]
    two = {"min_spare_allocation_resources_on_node": {"cpu": 2}}

    assert messages(*small, **two) == [
        "a node needs 2 cpu free to be looked at, and n0, n1, n2 and 2 more has less when it is empty: nothing ever "
        "starts"
    ]
    assert messages(*small[:1], node("n9", cpu=4, memory="1Gi"), **two) == [
        "a node needs 2 cpu free to be looked at, and n0 has less when it is empty: nothing ever starts on n0"
    ]


def test_what_a_pool_overrules_of_an_operation_is_told_with_both_values() -> None:
    said = {
        "fair_share_starvation_timeout": 10,
        "fair_share_starvation_tolerance": 0.9,
        "non_preemptible_resource_usage_threshold": {"cpu": 3},
    }
    threshold = {"non_preemptible_resource_usage_threshold": {"cpu": 2}}

    assert messages(pool("a", **threshold), B, op("x", "a", **said)) == [
        "10s is shorter than the 30s of its pool, which count: an operation may only starve later",
        "0.9 is above the 0.8 of its pool, which count: an operation may only tolerate more",
        "3 is above the 2 of its pool, which count: an operation may only be protected less",
    ]


def test_aggressive_starvation_on_a_pool_is_found_there() -> None:
    cluster = file(pool("a", enable_aggressive_starvation=True), B)

    assert found(cluster) == {"ytsaurus.lint.aggressive-loop": "queues[a].settings.enable_aggressive_starvation"}


def test_burst_and_strong_guarantees_shrink_together() -> None:
    """3 strong and 2 burst of 4 cpu: 0.8 of each."""
    [one] = messages(pool("a", cpu=3), pool("b", **BURST))

    assert one.endswith("all of them count as 80% of what they say")
