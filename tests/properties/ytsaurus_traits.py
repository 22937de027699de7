"""What only some clusters have: limits, overcommit, graceful work, SSD nodes, full hosts, gangs and the like."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Any

Document = dict[str, Any]

TRAITS = {
    "limits": 0.22,
    "operation limits": 0.15,
    "overcommit": 0.2,
    "node states": 0.1,
    "graceful": 0.12,
    "ssd": 0.18,
    "full-host": 0.15,
    "gangs": 0.08,
    "improved": 0.04,
    "integral": 0.12,
    "inferred weights": 0.1,
    "historic weights": 0.05,
    "promised": 0.15,
    "labels": 0.15,
    "tag filters": 0.1,
    "leaving": 0.1,
    "backoff": 0.12,
    "running counts": 0.08,
    "usage thresholds": 0.1,
    "partitions": 0.05,
    "no slots": 0.02,
    "no queue": 0.04,
}
"""Each trait, and how likely a cluster has it."""


def add_traits(dice: Random, document: Document, chosen: Collection[str]) -> None:
    for name, add in _ADD.items():
        if name in chosen:
            add(dice, document)


def _running(document: Document) -> list[Document]:
    return [work for work in document["workloads"] if work.get("state") == "running"]


def _limits(dice: Random, document: Document) -> None:
    total = sum(node["capacity"]["cpu"] for node in document["nodes"])
    for queue in document["queues"]:
        if dice.random() < 0.6:
            queue["max"] = {"cpu": dice.choice((0, 1, 2, 3, 1.5, total // 2, total // 2, total - 1, total))}
            if dice.random() < 0.2:
                queue["max"]["user_slots"] = dice.choice((1, 2, 5))
            if dice.random() < 0.4:
                queue["settings"]["resource_limits_overcommit_tolerance"] = {"cpu": dice.choice((1, 2, 4))}
    if dice.random() < 0.15:
        document["doctrine"] |= {
            "use_precommit_for_preemption": True,
            "enable_infinite_resource_limits_overcommit": True,
        }


def _operation_limits(dice: Random, document: Document) -> None:
    for app in document["apps"]:
        if dice.random() < 0.5:
            app["settings"]["resource_limits"] = {"cpu": dice.choice((0, 1, 2, 3, 5))}


def _overcommit(dice: Random, document: Document) -> None:
    for node in document["nodes"]:
        if dice.random() < 0.6:
            resource = dice.choice(list(node["capacity"]))
            if dice.random() < 0.7:
                node["capacity"][resource] = max(1, node["capacity"][resource] - dice.choice((1, 2, 3)))
            else:
                node["occupied"] = {resource: dice.choice((0.5, 1, 2))}
            if dice.random() < 0.7:
                since = int(document["now"]) - dice.choice((1, 10, 15, 16, 21, 100))
                node["overcommitted_since"] = since


def _node_states(dice: Random, document: Document) -> None:
    for node in document["nodes"]:
        if dice.random() < 0.5:
            node["state"] = dice.choice(("cordoned", "cordoned", "down", "ready"))
        if dice.random() < 0.15:
            names = [work["name"] for work in document["workloads"] if work.get("state", "pending") == "pending"]
            if names:
                node["reserved_for"] = dice.choice(names)


def _graceful(dice: Random, document: Document) -> None:
    for app in document["apps"]:
        if dice.random() < 0.5:
            app["settings"]["preemption_mode"] = "graceful"


def _ssd(dice: Random, document: Document) -> None:
    document["doctrine"]["ssd_priority_preemption"] = {
        "enable": dice.random() < 0.95,
        "node_tag_filter": dice.choice(("ssd", "ssd", "ssd & !old", "ssd | fast")),
        "medium_names": ["ssd"],
    }
    for node in document["nodes"]:
        if dice.random() < 0.75:
            node.setdefault("labels", {})["ssd"] = "true"
        if dice.random() < 0.1:
            node.setdefault("labels", {})["old"] = "true"
    for app in document["apps"]:
        if dice.random() < 0.6:
            app["settings"]["disk_request"] = {"medium_name": dice.choice(("ssd", "ssd", "ssd", "hdd"))}


def _full_host(dice: Random, document: Document) -> None:
    """The first that waits is owed one whole node of GPUs, the others what is left."""
    document["doctrine"]["default_gpu_full_host_preemption"] = {
        "enable": dice.random() < 0.95,
        "max_preemption_penalty": dice.choice((0, 48, 100, 400, 10000, 10000)),
        "timeout": dice.choice((5, 30, 30, 100, 200)),
    }
    waiting = [work for work in document["workloads"] if work.get("state", "pending") == "pending"]
    for work in waiting:
        if dice.random() < 0.7:
            work["requests"] = {"gpu": 8, "cpu": dice.choice((0.5, 1))}
    if waiting and dice.random() < 0.85:
        document["doctrine"]["main_resource"] = "gpu"
        parents = {queue["name"]: queue.get("parent") for queue in document["queues"]}
        path, name = [], waiting[0]["queue"]
        while name is not None:
            path.append(name)
            name = parents[name]
        for queue in document["queues"]:
            queue.pop("guaranteed", None)
            if queue["name"] in path:
                queue["guaranteed"] = {"gpu": 8}
            elif queue.get("parent") is None and dice.random() < 0.8:
                queue["guaranteed"] = {"gpu": 8 * (len(document["nodes"]) - 1)}
        others = [name for name in parents if name not in path and name not in parents.values()]
        if others and dice.random() < 0.7:
            _fill_hosts(dice, document, others)


def _fill_hosts(dice: Random, document: Document, queues: list[str]) -> None:
    """GPU work of many small operations on every node, most of it within its share."""
    document["workloads"] = [work for work in document["workloads"] if work.get("state", "pending") == "pending"]
    for node in document["nodes"]:
        app, queue = f"s-{node['name']}", dice.choice(queues)
        for number, gpus in enumerate(dice.choice(((4, 4), (4, 4), (2, 4, 2), (8,), (4,)))):
            work: Document = {"name": f"{node['name']}-{number}", "queue": queue, "app": app, "state": "running"}
            work |= {"requests": {"gpu": gpus, "cpu": 0.5}, "nodes": [node["name"]]}
            document["workloads"].append(work | {"started": dice.choice((-3, -6, -6, -20, -50))})


def _gangs(dice: Random, document: Document) -> None:
    document["doctrine"]["enable_step_function_for_gang_operations"] = True
    for app in document["apps"]:
        if dice.random() < 0.6:
            app["settings"]["is_gang"] = True
    for queue in document["queues"]:
        if dice.random() < 0.1:
            queue["settings"]["enable_step_function_for_gang_operations"] = False


def _improved(dice: Random, document: Document) -> None:
    """Gangs of a third, a half or more of the cluster, which mostly do not all fit."""
    _gangs(dice, document)
    document["doctrine"]["enable_improved_fair_share_by_fit_factor_computation"] = True
    if dice.random() < 0.6:
        document["workloads"] = []
        for node in document["nodes"]:
            node.pop("reserved_for", None)
    total = sum(node["capacity"]["cpu"] for node in document["nodes"])
    parents = {queue.get("parent") for queue in document["queues"]}
    leaves = [queue["name"] for queue in document["queues"] if queue["name"] not in parents]
    for number in range(dice.choice((2, 3, 4))):
        name, queue, size = f"g{number}", dice.choice(leaves), dice.choice((0.3, 0.5, 0.6, 0.6))
        document["apps"].append({"name": name, "queue": queue, "settings": {"is_gang": True}})
        for index in range(max(1, round(total * size))):
            work: Document = {"name": f"{name}-{index:02}", "queue": queue, "app": name, "requests": {"cpu": 1}}
            document["workloads"].append(work | {"submitted": -100 - number})


def _integral(dice: Random, document: Document) -> None:
    main = document["doctrine"].get("main_resource", "cpu")
    total = sum(node["capacity"][main] for node in document["nodes"])
    parents = {queue.get("parent") for queue in document["queues"]}
    for queue in document["queues"]:
        if queue["name"] in parents or dice.random() < 0.3:
            continue
        flow = dice.choice((1, 2, 3, total // 2, total))
        given: Document = {"guarantee_type": dice.choice(("burst", "relaxed")), "resource_flow": {main: flow}}
        if given["guarantee_type"] == "burst":
            given["burst_guarantee_resources"] = {main: dice.choice((1, 2, total // 2))}
        queue["settings"]["integral_guarantees"] = given
        queue["settings"]["accumulated_resource_volume"] = {main: 60 * dice.choice((0, 1, 2, total // 2, total))}


def _inferred_weights(dice: Random, document: Document) -> None:
    document["doctrine"]["infer_weight_from_guarantees_share_multiplier"] = dice.choice((1, 2, 10))


def _historic_weights(dice: Random, document: Document) -> None:
    parents = {queue.get("parent") for queue in document["queues"]}
    for queue in document["queues"]:
        queue["settings"]["historic_usage_share"] = dice.choice((0, 0.25, 0.5, 1, 1))
        if queue["name"] in parents or dice.random() < 0.7:
            queue["settings"]["historic_usage_aggregation_period"] = "1h"
    for app in document["apps"]:
        if dice.random() < 0.8:
            app["settings"]["historic_usage_share"] = dice.choice((0, 0.25, 0.5, 1, 1))


def _promised(dice: Random, document: Document) -> None:
    for queue in document["queues"]:
        if dice.random() < 0.5:
            queue["settings"]["compute_promised_guarantee_fair_share"] = True
    if dice.random() < 0.1:
        document["doctrine"]["enable_guarantee_priority_scheduling"] = False
    for node in document["nodes"]:
        node["capacity"]["cpu"] += dice.choice((0, 1, 2, 3))


def _labels(dice: Random, document: Document) -> None:
    for node in document["nodes"]:
        node.setdefault("labels", {})["zone"] = dice.choice(("x", "y"))
    names = [node["name"] for node in document["nodes"]]
    for work in document["workloads"]:
        if work.get("state", "pending") == "pending" and dice.random() < 0.4:
            if dice.random() < 0.5:
                work["constraints"] = {"labels": {"zone": dice.choice(("x", "y", "z"))}}
            elif dice.random() < 0.7:
                work["constraints"] = {"nodes": dice.sample(names, dice.randint(1, len(names)))}
            else:
                work["required_node"] = dice.choice(names)


def _tag_filters(dice: Random, document: Document) -> None:
    for node in document["nodes"]:
        if dice.random() < 0.5:
            node.setdefault("labels", {})["fast"] = "yes"
    for app in document["apps"]:
        if dice.random() < 0.4:
            app["settings"]["scheduling_tag_filter"] = dice.choice(("fast", "!fast", "fast | ssd", "zone & !fast", ""))


def _leaving(dice: Random, document: Document) -> None:
    """Some leave, and here and there somebody waits for their room."""
    for work in _running(document):
        if dice.random() < 0.3:
            work["state"] = "preempting"
            work.pop("usage", None)
            if dice.random() < 0.4:
                twin = {key: value for key, value in work.items() if key in ("requests", "nodes", "queue", "app")}
                document["workloads"].append({**twin, "name": f"h-{work['name']}", "state": "reserved"})
    if dice.random() < 0.3:
        document["doctrine"]["disable_scheduling_on_node_with_waiting_allocations"] = False


def _backoff(dice: Random, document: Document) -> None:
    if dice.random() < 0.5:
        document["doctrine"]["preemptive_scheduling_backoff"] = dice.choice((0, 1, 10))
    for node in document["nodes"]:
        if dice.random() < 0.6:
            node["last_preemptive_attempt"] = document["now"] - dice.choice((0, 1, 4, 5, 6, 11))


def _running_counts(dice: Random, document: Document) -> None:
    for queue in document["queues"]:
        if dice.random() < 0.4:
            queue["settings"]["max_running_operation_count"] = dice.choice((1, 1, 2))
            if dice.random() < 0.3:
                queue["settings"]["max_operation_count"] = dice.choice((2, 2, 3))
    if dice.random() < 0.2:
        document["doctrine"]["max_running_operation_count"] = dice.choice((1, 2, 3))
    if dice.random() < 0.4:
        document["doctrine"]["max_schedulable_element_count_in_fifo_pool"] = dice.choice((1, 1, 2))


def _usage_thresholds(dice: Random, document: Document) -> None:
    for entry in [*document["queues"], *document["apps"]]:
        if dice.random() < 0.4:
            value = dice.choice(({"user_slots": 0}, {"cpu": 2}, {"cpu": 1, "user_slots": 2}, {"user_slots": 3}))
            entry["settings"]["non_preemptible_resource_usage_threshold"] = value


def _partitions(dice: Random, document: Document) -> None:
    """A second tree with a node and a pool of its own."""
    document["nodes"].append({"name": "m1", "capacity": {"cpu": 3}, "partition": "other"})
    document["queues"].append({"name": "z", "partition": "other", "settings": {}})
    for number in range(dice.choice((1, 2, 3))):
        work: Document = {"name": f"z{number}", "queue": "z", "app": f"z{number % 2}", "requests": {"cpu": 1}}
        document["workloads"].append(work | {"submitted": dice.choice((-10, -5))})


def _no_slots(dice: Random, document: Document) -> None:
    node = dice.choice(document["nodes"])
    node["capacity"]["user_slots"] = 0


def _no_queue(dice: Random, document: Document) -> None:
    """Work right below the root."""
    for number in range(dice.choice((1, 2))):
        document["workloads"].append({"name": f"free{number}", "requests": {"cpu": 1}, "submitted": -50})


_ADD: dict[str, Callable[[Random, Document], None]] = {
    "limits": _limits,
    "operation limits": _operation_limits,
    "overcommit": _overcommit,
    "node states": _node_states,
    "graceful": _graceful,
    "ssd": _ssd,
    "full-host": _full_host,
    "gangs": _gangs,
    "improved": _improved,
    "integral": _integral,
    "inferred weights": _inferred_weights,
    "historic weights": _historic_weights,
    "promised": _promised,
    "labels": _labels,
    "tag filters": _tag_filters,
    "leaving": _leaving,
    "backoff": _backoff,
    "running counts": _running_counts,
    "usage thresholds": _usage_thresholds,
    "partitions": _partitions,
    "no slots": _no_slots,
    "no queue": _no_queue,
}
