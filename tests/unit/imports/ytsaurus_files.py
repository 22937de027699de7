"""Pool trees, nodes and operations, as YSON or plain data, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from cede.imports.report import Imported
from cede.imports.ytsaurus.convert import from_ytsaurus
from cede.imports.ytsaurus.yson import read_yson
from cede.model.errors import InputError

GI = 2**30
NOW = "2026-03-02T09:00:00Z"
NO_NODES = "pool tree: there are no nodes in the file, without which nothing can start; give them with --nodes"


def imported(pools: str | dict[str, Any], nodes: Any = None, operations: Any = None, **options: Any) -> Imported:
    """What becomes of a tree, given as YSON or plain data, and of nodes and operations, likewise."""
    return from_ytsaurus(
        ("pools", _read(pools, "pools")),
        None if nodes is None else ("nodes", _read(nodes, "nodes")),
        [] if operations is None else [("operations", _read(operations, "operations"))],
        **options,
    )


def _read(given: Any, name: str) -> Any:
    return read_yson(given.encode(), name=name) if isinstance(given, str) else given


def document(pools: str | dict[str, Any], nodes: Any = None, operations: Any = None, **options: Any) -> dict[str, Any]:
    return imported(pools, nodes, operations, **options).document


def pool(attributes: str) -> dict[str, Any]:
    """The queue that a pool of such attributes becomes."""
    [found] = document(f"{{a=<{attributes}>{{}}}}")["queues"]
    return dict(found)


def options(config: str) -> dict[str, Any]:
    """The settings of the doctrine that such a config makes."""
    found = document(f"<config={{{config}}}>{{}}")["doctrine"]
    return {key: value for key, value in found.items() if key not in ("name", "edition")}


def notes(found: Imported) -> list[str]:
    """All that is said, but that there are no nodes."""
    return [text for text in map(str, found.notes) if text != NO_NODES]


def problems(pools: str | dict[str, Any], nodes: Any = None, operations: Any = None, **options: Any) -> list[str]:
    """What is wrong with them."""
    with pytest.raises(InputError) as error:
        imported(pools, nodes, operations, **options)
    return list(map(str, error.value.problems))


PLAIN = "{a={};b={}}"
"""A tree of two pools."""


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    """A node of 8 cores, 32 GiB and 10 slots, as JSON has it."""
    limits = {"cpu": 8.0, "user_slots": 10, "memory": 32 * GI}
    return {"$value": name, "$attributes": {"resource_limits": limits, "state": "online", **more}}


def allocation(name: str, where: str = "n1", cpu: float = 1, **more: Any) -> dict[str, Any]:
    """An allocation of one core, which began a minute ago."""
    usage = {"cpu": cpu, "user_slots": 1, "memory": GI}
    return {"id": name, "node": where, "start_time": "2026-03-02T08:59:00Z", "resource_usage": usage, **more}


def operation(allocations: Any = (), needed: int = 0, cpu: float = 1, **more: Any) -> dict[str, Any]:
    """An operation in the pool a, which still needs so many allocations."""
    group = {"allocation_count": needed, "min_needed_resources": {"cpu": cpu, "user_slots": 1, "memory": GI}}
    return {
        "pool": "a",
        "start_time": "2026-03-02T08:50:00Z",
        "allocations": list(allocations),
        "grouped_needed_resources": {"task": group} if needed else {},
        **more,
    }
