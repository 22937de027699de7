"""What acts without words is what the whole plan decides, through whatever happens: for every edition."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from cede.doctrines.document import parse_document
from cede.engine.drive.driver import Driver
from cede.engine.drive.options import DriverOptions
from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile
from cede.model.times import SECOND
from tests.properties.lives import busy, live
from tests.properties.lives_lattice import allocation, vcluster, vclusters
from tests.properties.twins import node
from tests.sampling import seeds

pytestmark = pytest.mark.slow

LIVES = 8


def terms(dice: Random) -> Terms:
    return Terms(
        checkpoint_timeout=dice.choice([3, 600]) * SECOND,
        grace_period=dice.choice([1, 30]) * SECOND,
        hold_timeout=dice.choice([None, None, 2 * SECOND]),
        requeue=dice.choice(["never", "always", "always", "always"]),
        answers=dice.choice([True, False]),
    )


def replays(dice: Random) -> DriverOptions:
    return DriverOptions(at_once=dice.random() < 0.7, walltimes=False)


# -- Backend.AI 26.8 -------------------------------------------------------------------------------------------------


def shipped(dice: Random) -> tuple[ClusterFile, dict[str, Any], dict[str, Any]]:
    """A cluster, its shape, and the settings of its queues."""
    rules = {
        "enabled": dice.random() < 0.9,
        "scheduler": dice.choice(["fifo", "lifo", "drf", "drf"]),
        "preemption_order": dice.choice(["oldest", "newest", "fewest-sessions", "smallest-resources"]),
        "preemption_mode": dice.choice(["terminate", "reschedule", "reschedule"]),
        "victim_scope": dice.choice(["resource-group", "resource-group", "user"]),
        "agent_selection_strategy": dice.choice(["concentrated", "dispersed", "roundrobin", "legacy"]),
        "preemption_min_runtime": dice.choice([0, 0, 3]),
    }
    parts = dice.choice([1, 1, 1, 2])
    shape: dict[str, Any] = {"partitions": parts, "nodes": [(4, 8)] * dice.randint(1, 4)}
    limit = {"max": {"gpu": 6}} if dice.random() < 0.2 else {}
    other = {"partition": "other"} if parts > 1 else {}
    document = parse_document(
        {
            "cede": 1,
            "doctrine": {"name": "backendai", "edition": "26.8"},
            "nodes": [node(number, gpu, cpu, partitions=parts) for number, (gpu, cpu) in enumerate(shape["nodes"])],
            "queues": [
                {"name": "a", "settings": rules, **limit},
                {"name": "b", "settings": rules},
                {"name": "c", "settings": rules, **other},
            ],
        }
    )
    return document, shape, rules


def session(dice: Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "queue": dice.choice(["a", "b", "b", "c"]),
        "user": dice.choice(["ann", "bob", "cyd", None]),
        "priority": dice.choice([0, 0, 0, 10]),
        "job_priority": dice.choice([0, 1, 5, 5]),
        "requests": {"gpu": dice.choice([1, 1, 2, 4]), "cpu": dice.choice([0, 1, 2])},
        "members": dice.choice([1, 1, 1, 2, 3]),
        "preemptible": dice.random() < 0.9,
        "preempts": dice.random() < 0.9,
        "kind": dice.choice(["batch"] * 9 + ["system"]),
        "checkpoint": dice.choice([None, {"mode": "auto"}]),
    }
    if dice.random() < 0.1:
        made |= dice.choice([{"placement": "tight"}, {"placement": "spread"}, {"constraints": {"nodes": ["n0"]}}])
    return made


@seeds(LIVES)
def test_release_26_8_acts_as_its_whole_plan(seed: int) -> None:
    steps, dice = busy(seed)
    document, shape, rules = shipped(dice)

    def queue(pick: int) -> dict[str, Any]:
        made = {"name": "abc"[pick % 3], "settings": rules | {"preemption_min_runtime": pick % 4}}
        return made | ({"max": {"gpu": 5}} if pick % 4 == 0 else {})

    kinds = [session(dice) for _ in range(8)]
    live(document, shape, kinds, terms(dice), replays(dice), steps, queue)


# -- YuniKorn --------------------------------------------------------------------------------------------------------


def tenants_tree(dice: Random, edition: str, *, odd: bool) -> tuple[ClusterFile, dict[str, Any]]:
    """Queues a and b below a parent, c beside it; some with a guarantee, a limit, a fence, offsets."""
    shape: dict[str, Any] = {"partitions": 1, "nodes": [(4, 8)] * dice.randint(1, 4)}
    mode: dict[str, Any] = {} if dice.random() < 0.9 else {"preemption.enabled": False}
    if edition == "1.9" and dice.random() < 0.3:
        mode["preemption.quotapreemptionenabled"] = True
    document = parse_document(
        {
            "cede": 1,
            "doctrine": {"name": "yunikorn", "edition": edition, **mode},
            "nodes": [node(number, gpu, cpu) for number, (gpu, cpu) in enumerate(shape["nodes"])],
            "queues": [
                {"name": "root"},
                {"name": "root.p", "parent": "root", **entry_of_queue(dice, edition)},
                {"name": "a", "parent": "root.p", **entry_of_queue(dice, edition)},
                {"name": "b", "parent": "root.p", **entry_of_queue(dice, edition)},
                {"name": "c", "parent": "root", **entry_of_queue(dice, edition)},
            ],
            **({"tenants": [{"name": "t", "max_workloads": 2, "max_nodes": 2}]} if odd else {}),
        }
    )
    return document, shape


def entry_of_queue(dice: Random, edition: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"preemption.delay": dice.choice(["1s", "1s", "3s", "20s"])}
    if dice.random() < 0.1:
        settings["preemption.policy"] = dice.choice(["fence", "disabled"])
    if edition == "1.9":
        if dice.random() < 0.2:
            settings["priority.offset"] = dice.choice([-5, 5])
        if dice.random() < 0.1:
            settings["priority.policy"] = "fence"
        if dice.random() < 0.3:
            settings["quota.preemption.delay"] = dice.choice(["2s", "5s"])
    made: dict[str, Any] = {"settings": settings}
    if dice.random() < 0.7:
        made["guaranteed"] = {"gpu": dice.choice([2, 4, 6]), **({"cpu": 4} if dice.random() < 0.3 else {})}
    if dice.random() < 0.2:
        made["max"] = {"gpu": dice.choice([4, 6, 8])}
    return made


def pod(dice: Random, *, odd: bool) -> dict[str, Any]:
    """An ask; `odd`: perhaps of an application or a tenant, or for a certain node."""
    made: dict[str, Any] = {
        "queue": dice.choice(["a", "b", "b", "c"]),
        "app": dice.choice([None, None, None, "w001", "x"]) if odd else None,
        "priority": dice.choice([0, 0, 5, 10]),
        "requests": {"gpu": dice.choice([1, 1, 2, 4]), "cpu": dice.choice([0, 1, 2])},
        "members": dice.choice([1, 1, 1, 1, 2]),
        "preemptible": dice.random() < 0.9,
        "preempts": dice.random() < 0.9,
        "originator": dice.random() < 0.1,
        "tenant": dice.choice([None, None, None, "t"]) if odd else None,
        "checkpoint": dice.choice([None, {"mode": "auto"}]),
    }
    if dice.random() < 0.15:
        made |= dice.choice(
            [
                {"placement": "tight"},
                {"placement": "spread"},
                {"constraints": {"nodes": ["n0"]}},
                {"required_node": "n0"} if odd else {"constraints": {"labels": {"kind": "k0"}}},
                {"exclusive": True},
            ]
        )
    return made


@seeds(LIVES)
@pytest.mark.parametrize("edition", ["laws", "1.9"])
def test_yunikorn_acts_as_its_whole_plan(edition: str, seed: int) -> None:
    steps, dice = busy(seed)
    odd = dice.random() < 0.3
    document, shape = tenants_tree(dice, edition, odd=odd)

    def queue(pick: int) -> dict[str, Any]:
        name = ("a", "b", "c", "root.p")[pick % 4]
        parent = "root" if name in ("c", "root.p") else "root.p"
        return {"name": name, "parent": parent, **entry_of_queue(Random(pick), edition)}

    kinds = [pod(dice, odd=odd) for _ in range(8)]
    live(document, shape, kinds, terms(dice), replays(dice), steps, queue)


# -- YTsaurus ----------------------------------------------------------------------------------------------------------


def pool_tree(dice: Random, edition: str) -> tuple[ClusterFile, dict[str, Any]]:
    """Pools a and b below another, c beside it, on a cluster that is sometimes crowded; operations of several jobs."""
    parts = dice.choice([1, 1, 1, 2])
    shape: dict[str, Any] = {"partitions": parts, "nodes": [(4, 8)] * dice.choice([1, 2, 4, 8])}
    options: dict[str, Any] = {
        "main_resource": "gpu",
        "fair_share_starvation_timeout": dice.choice(["1s", "2s", "5s"]),
        "fair_share_aggressive_starvation_timeout": dice.choice(["5s", "8s"]),
        "enable_aggressive_starvation": dice.random() < 0.5,
        "preemptive_scheduling_backoff": dice.choice(["0s", "1s", "5s"]),
        "fair_share_starvation_tolerance": dice.choice([0.8, 0.8, 1.0]),
    }
    if dice.random() < 0.4:
        options["max_running_operation_count_per_pool"] = dice.choice([1, 2, 3])
        options["max_operation_count_per_pool"] = dice.choice([3, 4])
    rare = {
        "enable_pool_starvation": False,
        "scheduling_preemption_priority_scope": "operation_only",
        "allow_preemption_from_starving_operations": True,
        "consider_allocation_on_fair_share_bound_preemptible": True,
        "disable_scheduling_on_node_with_waiting_allocations": False,
        "allocation_count_preemption_timeout_coefficient": 3.0,
        "default_gpu_full_host_preemption": {"enable": True, "max_preemption_penalty": 100, "timeout": "1s"},
        "enable_step_function_for_gang_operations": True,
        "enable_improved_fair_share_by_fit_factor_computation": True,
        "max_schedulable_element_count_in_fifo_pool": 1,
    }
    options |= {key: value for key, value in rare.items() if dice.random() < 0.1}
    other = {"partition": "other"} if parts > 1 else {}
    document = parse_document(
        {
            "cede": 1,
            "doctrine": {"name": "ytsaurus", "edition": edition, **options},
            "nodes": [node(number, gpu, cpu, partitions=parts) for number, (gpu, cpu) in enumerate(shape["nodes"])],
            "queues": [
                {"name": "p", "guaranteed": {"gpu": 8}},
                {"name": "a", "parent": "p", **pool(dice)},
                {"name": "b", "parent": "p", **pool(dice)},
                {"name": "c", **pool(dice), **other},
            ],
            "apps": [operation(dice, name) for name in ("x", "y", "z") if dice.random() < 0.3],
            **({"tenants": [{"name": "t", "max_workloads": 2, "max_nodes": 2}]} if dice.random() < 0.2 else {}),
        }
    )
    return document, shape


def pool(dice: Random) -> dict[str, Any]:
    made: dict[str, Any] = {"settings": {}}
    if dice.random() < 0.5:
        made["guaranteed"] = {"gpu": dice.choice([1, 2, 4])}
    if dice.random() < 0.4:
        made["weight"] = dice.choice([0.5, 2, 3])
    if dice.random() < 0.15:
        made["max"] = {"gpu": dice.choice([3, 4, 6])}
        if dice.random() < 0.4:
            made["settings"]["resource_limits_overcommit_tolerance"] = {"gpu": 1}
    if dice.random() < 0.1:
        made["settings"] |= {"mode": "fifo"}
    if dice.random() < 0.05:
        made["settings"] |= {"historic_usage_aggregation_period": "10s"}
    if dice.random() < 0.05:
        flow = {"guarantee_type": "relaxed", "resource_flow": {"gpu": 1}}
        made["settings"] |= {"integral_guarantees": flow}
    return made


def operation(dice: Random, name: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if dice.random() < 0.2:
        settings["preemption_mode"] = "graceful"
    if dice.random() < 0.2:
        settings["resource_limits"] = {"gpu": 4}
    if dice.random() < 0.2:
        settings["is_gang"] = True
    return {"name": name, "queue": dice.choice(["a", "b", "c"]), "settings": settings}


def job(dice: Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "queue": dice.choice(["a", "b", "b", "c"]),
        "app": dice.choice([None, None, "x", "y", "z"]),
        "requests": {"gpu": dice.choice([1, 1, 1, 2, 4]), "cpu": dice.choice([0, 1, 2])},
        "members": dice.choice([1, 1, 1, 1, 2]),
        "preemptible": dice.random() < 0.9,
        "preempts": dice.random() < 0.9,
        "tenant": dice.choice([None, None, None, "t"]),
        "checkpoint": dice.choice([None, {"mode": "auto"}]),
    }
    if dice.random() < 0.15:
        made |= dice.choice(
            [
                {"placement": "spread"},
                {"constraints": {"nodes": ["n0"]}},
                {"constraints": {"labels": {"kind": "k0"}}},
                {"exclusive": True},
                {"requests": {"gpu": 5}},
            ]
        )
    return made


@seeds(LIVES)
@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_ytsaurus_acts_as_its_whole_plan(edition: str, seed: int) -> None:
    steps, dice = busy(seed)
    document, shape = pool_tree(dice, edition)

    def queue(pick: int) -> dict[str, Any]:
        name = "abc"[pick % 3]
        made = {"name": name, **pool(Random(pick))} | ({"parent": "p"} if name in "ab" else {})
        return made | ({"partition": "other"} if name == "c" and shape["partitions"] > 1 else {})

    kinds = [job(dice) for _ in range(8)]
    # Whoever works everything out anew does the same, but may look again where nothing comes of it, and knows an
    # operation that the file lists in one pool and whose workloads were in another by its own pool once they ended.
    live(document, shape, kinds, terms(dice), replays(dice), steps, queue, look_at=shares_say_the_same, alike=False)


@seeds(2 * LIVES)
@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_ytsaurus_with_fifo_pools_acts_as_its_whole_plan(edition: str, seed: int) -> None:
    steps, dice = busy(seed)
    document, shape = fifo_pools(dice, edition)
    names = {queue.name for queue in document.queues}

    def queue(pick: int) -> dict[str, Any]:
        above = {"parent": "root"} if "root" in names else {}
        return {**fifo_pool(Random(pick), "abc"[pick % 3]), **above}

    kinds = [plain_job(dice) for _ in range(8)]
    live(document, shape, kinds, terms(dice), replays(dice), steps, queue, look_at=shares_say_the_same, alike=False)


def fifo_pools(dice: Random, edition: str) -> tuple[ClusterFile, dict[str, Any]]:
    """FIFO pools below the root, as a file to start from has them, on a cluster that is often crowded."""
    shape: dict[str, Any] = {"partitions": 1, "nodes": [(4, 8)] * dice.choice([1, 2, 2, 4, 8])}
    options: dict[str, Any] = {
        "main_resource": "gpu",
        "fair_share_starvation_timeout": dice.choice(["1s", "2s", "5s"]),
        "enable_aggressive_starvation": dice.random() < 0.2,
        "fair_share_aggressive_starvation_timeout": dice.choice(["5s", "8s"]),
        "preemptive_scheduling_backoff": dice.choice(["0s", "1s", "5s"]),
        "fair_share_starvation_tolerance": dice.choice([0.8, 0.8, 1.0]),
    }
    rare = {
        "enable_pool_starvation": False,
        "scheduling_preemption_priority_scope": "operation_only",
        "allow_preemption_from_starving_operations": True,
        "disable_scheduling_on_node_with_waiting_allocations": False,
        "allocation_count_preemption_timeout_coefficient": 3.0,
        "max_running_operation_count_per_pool": 3,
    }
    options |= {key: value for key, value in rare.items() if dice.random() < 0.1}
    queues = [fifo_pool(dice, name) for name in "abc"]
    if dice.random() < 0.5:  # as a file for every doctrine has them
        queues = [{"name": "root", "guaranteed": {"gpu": 12}}, *({**queue, "parent": "root"} for queue in queues)]
    document = parse_document(
        {
            "cede": 1,
            "doctrine": {"name": "ytsaurus", "edition": edition, **options},
            "nodes": [node(number, gpu, cpu) for number, (gpu, cpu) in enumerate(shape["nodes"])],
            "queues": queues,
        }
    )
    return document, shape


def fifo_pool(dice: Random, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "settings": {"mode": "fifo"}}
    if dice.random() < 0.7:
        made["guaranteed"] = {"gpu": dice.choice([1, 2, 4])}
    if dice.random() < 0.3:
        made["weight"] = dice.choice([0.5, 2, 3])
    if dice.random() < 0.1:
        made["max"] = {"gpu": dice.choice([3, 4, 6])}
    if dice.random() < 0.2:
        made["settings"]["fifo_sort_parameters"] = dice.choice([["pending_job_count"], ["weight", "start_time"]])
    return made


def plain_job(dice: Random) -> dict[str, Any]:
    """A job of its own operation, or of one of several jobs."""
    made: dict[str, Any] = {
        "queue": dice.choice(["a", "b", "b", "c"]),
        "app": dice.choice([None, None, None, "x", "y"]),
        "requests": {"gpu": dice.choice([0, 1, 1, 1, 2, 4]), "cpu": dice.choice([0, 1, 2])},
        "preemptible": dice.random() < 0.9,
        "preempts": dice.random() < 0.9,
        "checkpoint": dice.choice([None, {"mode": "auto"}]),
    }
    if dice.random() < 0.1:
        made |= dice.choice([{"constraints": {"nodes": ["n0"]}}, {"exclusive": True}, {"requests": {"gpu": 5}}])
    return made


def shares_say_the_same(driver: Driver) -> None:
    """Who is below its share by sums is below it by the share curves too."""
    memory = driver._roll.memory.get("ytsaurus")
    update = None if memory is None else memory.update
    if update is None or update.short is None:
        return
    assert set(np.flatnonzero(update.op_below).tolist()) == update.short
    ticks = update.pool_clocks.ticking
    assert ticks == (set(np.flatnonzero(update.pool_below).tolist()) if update.pools.tree.pool_starvation else set())


# -- Lattice ---------------------------------------------------------------------------------------------------------


@seeds(LIVES)
@pytest.mark.parametrize("edition", ["policy", "core"])
def test_lattice_acts_as_its_whole_plan(edition: str, seed: int) -> None:
    steps, dice = busy(seed)
    document, shape = vclusters(dice, edition)

    def queue(pick: int) -> dict[str, Any]:
        return {"name": "abc"[pick % 3], **vcluster(Random(pick), edition)}

    kinds = [allocation(dice, tenants=bool(document.tenants)) for _ in range(8)]
    live(document, shape, kinds, terms(dice), replays(dice), steps, queue)


# -- Kueue -------------------------------------------------------------------------------------------------------------


def cohorts(dice: Random) -> tuple[ClusterFile, dict[str, Any]]:
    """Queues a and b in a cohort, c beside it or in one above; sometimes fair sharing, limits, and no nodes' room."""
    shape: dict[str, Any] = {"partitions": 1, "nodes": [(4, 8)] * dice.randint(1, 4)}
    mode: dict[str, Any] = dice.choice([{}, {}, {"preemption": "FairSharing"}])
    if mode and dice.random() < 0.5:
        mode = mode | {"recheck_final_set": True}
    deep = dice.random() < 0.5
    document = parse_document(
        {
            "cede": 1,
            "doctrine": {"name": "kueue", **mode},
            "nodes": [node(number, gpu, cpu) for number, (gpu, cpu) in enumerate(shape["nodes"])],
            "queues": [
                {"name": "all"},
                *([{"name": "left", "parent": "all"}] if deep else []),
                {"name": "a", "parent": "left" if deep else "all", **cluster_queue(dice)},
                {"name": "b", "parent": "left" if deep else "all", **cluster_queue(dice)},
                {"name": "c", "parent": "all", **cluster_queue(dice)},
            ],
            **({"tenants": [{"name": "t", "max_workloads": 2, "max_nodes": 2}]} if dice.random() < 0.2 else {}),
        }
    )
    return document, shape | {"deep": deep}


def cluster_queue(dice: Random) -> dict[str, Any]:
    reclaim = dice.choice(["Any", "Any", "LowerPriority", "Never"])
    settings: dict[str, Any] = {
        "withinClusterQueue": dice.choice(["LowerPriority", "LowerOrNewerEqualPriority", "Never"]),
        "reclaimWithinCohort": reclaim,
        "queueingStrategy": dice.choice(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"]),
    }
    if reclaim != "Never" and dice.random() < 0.3:
        settings["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": 5}
    made: dict[str, Any] = {
        "guaranteed": {"gpu": dice.choice([0, 2, 4, 6]), "cpu": dice.choice([4, 8, 12])},
        "weight": dice.choice([1, 1, 3]),
        "settings": settings,
    }
    if dice.random() < 0.2:
        made[dice.choice(["borrowing_limit", "lending_limit", "max"])] = {"gpu": dice.choice([1, 3])}
    return made


def admitted(dice: Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "queue": dice.choice(["a", "b", "b", "c"]),
        "priority": dice.choice([0, 0, 5, 10]),
        "requests": {"gpu": dice.choice([1, 1, 2, 4]), "cpu": dice.choice([1, 1, 2])},
        "members": dice.choice([1, 1, 1, 2, 3]),
        "preemptible": dice.random() < 0.9,
        "preempts": dice.random() < 0.9,
        "tenant": dice.choice([None, None, None, "t"]),
        "checkpoint": dice.choice([None, {"mode": "auto"}]),
    }
    if dice.random() < 0.2:
        made |= dice.choice(
            [
                {"placement": "tight"},
                {"placement": "spread"},
                {"constraints": {"nodes": ["n0"]}},
                {"constraints": {"labels": {"kind": "k0"}}},
                {"exclusive": True},
                {"requests": {"gpu": 5, "cpu": 1}},
                {"requests": {"gpu": "500m", "cpu": 1}},
            ]
        )
    return made


@seeds(2 * LIVES)
def test_kueue_acts_as_its_whole_plan(seed: int) -> None:
    steps, dice = busy(seed)
    document, shape = cohorts(dice)

    def queue(pick: int) -> dict[str, Any]:
        name = "abc"[pick % 3]
        parent = "left" if shape["deep"] and name in "ab" else "all"
        return {"name": name, "parent": parent, **cluster_queue(Random(pick))}

    kinds = [admitted(dice) for _ in range(8)]
    live(document, shape, kinds, terms(dice), replays(dice), steps, queue)
