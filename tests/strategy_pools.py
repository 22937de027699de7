"""What YTsaurus demands between pools, made true of pools that were drawn one by one."""

from __future__ import annotations

from typing import Any

from cede.model.quantities import parse_quantity

Document = dict[str, Any]


def as_ytsaurus_has_them(queues: list[Document]) -> list[Document]:
    """FIFO pools have no subpools, no pool is promised more than its parent, integral guarantees are not nested."""
    by_name = {queue["name"]: queue for queue in queues}
    for name, pool in by_name.items():
        children = [queue for queue in queues if queue.get("parent") == name]
        if children and pool.get("settings", {}).get("mode") == "fifo":
            del pool["settings"]["mode"]
        for child in children:
            _promise_less(pool, child)
        for resource, amount in pool.get("guaranteed", {}).items():
            asked = [child for child in children if resource in child.get("guaranteed", {})]
            while sum(parse_quantity(child["guaranteed"][resource]) for child in asked) > parse_quantity(amount):
                del asked.pop()["guaranteed"]
    return queues


def _promise_less(pool: Document, child: Document) -> None:
    integral = child.get("settings", {}).get("integral_guarantees")
    if integral is not None and "integral_guarantees" in pool.get("settings", {}):
        del child["settings"]["integral_guarantees"]
