"""A cluster file to start from under YTsaurus: pools that starve below their share, and take it back."""

from __future__ import annotations

from typing import Any

from cede.doctrines.parts.starter import Outline, Starter
from cede.model.quantities import NANO, format_quantity

OPERATIONS = 10_000
"""How many operations a pool may have and run. A job of a trace is an operation; a pool's own default, 50, is meant for
operations of thousands of jobs each."""
TREE = 50_000


def starter(outline: Outline, _edition: str) -> Starter:
    """Half of an even share is guaranteed to each pool, and the rest is shared by weight, so that fair share moves with
    demand and who is below it starves."""
    main = outline.main
    settings: dict[str, Any] = {} if main is None else {"main_resource": main}
    settings |= {
        "max_running_operation_count": TREE,
        "max_operation_count": TREE,
        "max_running_operation_count_per_pool": OPERATIONS,
        "max_operation_count_per_pool": OPERATIONS,
    }
    return Starter([_pool(name, outline, main) for name in outline.queues], settings)


def _pool(name: str, outline: Outline, main: str | None) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": name, "weight": 1, "settings": {"mode": "fifo"}}
    half = 0 if main is None else outline.queues[name].get(main, 0) // NANO // 2 * NANO
    return pool | ({"guaranteed": {main: format_quantity(half)}} if half else {})
