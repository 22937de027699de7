"""Queue configurations as YAML, state dumps as plain data, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from cede.imports.report import Imported
from cede.imports.yunikorn.convert import from_yunikorn
from cede.model.errors import InputError
from cede.model.reading import read_text

SECOND = 10**9
NOW = 1_772_442_000 * SECOND
"""2026-03-02T09:00:00Z in nanoseconds."""
GI = 2**30


def queues(below: str, partition: str = "") -> str:
    """A partition `default`, whose root has the queues, in flow style."""
    return (
        f"partitions: [{{name: default, {partition and partition + ', '}queues: [{{name: root, queues: [{below}]}}]}}]"
    )


PLAIN = queues("{name: a}, {name: b, parent: true}")
"""A leaf, and a parent of queues made on the fly."""


def imported(text: str, state: object = None, objects: str = "", **options: Any) -> Imported:
    return from_yunikorn(
        ("queues.yaml", read_text(text)),
        None if state is None else ("dump.json", state),
        [("pods.yaml", read_text(objects))] if objects else [],
        **options,
    )


def document(text: str, state: object = None, **options: Any) -> dict[str, Any]:
    return imported(text, state, **options).document


def queue(text: str, path: str, state: object = None) -> dict[str, Any]:
    """The queue of that path."""
    return next(dict(one) for one in document(text, state)["queues"] if one["name"] == path)


def settings(properties: str) -> Any:
    """The settings that such properties of a configured queue become."""
    return queue(queues(f"{{name: a, properties: {{{properties}}}}}"), "root.a").get("settings", {})


def notes(found: Imported) -> list[str]:
    return list(map(str, found.notes))


def problems(text: str, state: object = None, **options: Any) -> list[str]:
    """What is wrong with them."""
    with pytest.raises(InputError) as error:
        imported(text, state, **options)
    return list(map(str, error.value.problems))


def allocation(key: str, node: str = "n1", vcore: int = 1000, **more: Any) -> dict[str, Any]:
    """An allocation of a thousandth of the vcores, asked for a minute ago and begun at once."""
    times = {"requestTime": NOW - 60 * SECOND, "allocationTime": NOW - 60 * SECOND}
    return {"allocationKey": key, "nodeId": node, "resource": {"vcore": vcore}, **times, **more}


def ask(key: str, vcore: int = 1000, **more: Any) -> dict[str, Any]:
    return {"allocationKey": key, "requestTime": NOW - 60 * SECOND, "resource": {"vcore": vcore}, **more}


def application(
    name: str = "app", queue_name: str = "root.a", allocations: Any = (), requests: Any = (), **more: Any
) -> dict[str, Any]:
    lists = {"allocations": list(allocations), "requests": list(requests)}
    return {"applicationID": name, "queueName": queue_name, "partition": "default", **lists, **more}


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    """A node of 8 cores and 32 GiB."""
    return {"nodeID": name, "capacity": {"vcore": 8000, "memory": 32 * GI}, "schedulable": True, **more}


def dump(*applications: dict[str, Any], nodes: Any = None, trees: Any = (), **more: Any) -> dict[str, Any]:
    """A state dump with one node, unless it is given others."""
    every = [{"partitionName": "default", "nodesInfo": [node()] if nodes is None else nodes}]
    return {"timestamp": NOW, "applications": list(applications), "nodes": every, "queues": list(trees), **more}


def workloads(state: object, **options: Any) -> dict[str, dict[str, Any]]:
    """The workloads by name, beside the plain queues."""
    return {one["name"]: one for one in document(PLAIN, state, **options).get("workloads", [])}
