"""What waits in a long line costs little beyond the first of its kind; counted in calls, which no machine changes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import doctrine_of
from cede.engine.cycle import plan_state

DOCTRINES: dict[str, dict[str, Any]] = {
    "bep-1014": {"name": "backendai", "edition": "bep-1014"},
    "26.8": {"name": "backendai", "edition": "26.8"},
    "Classical": {"name": "kueue", "preemption": "Classical"},
    "FairSharing": {"name": "kueue", "preemption": "FairSharing"},
    "policy": {"name": "lattice", "edition": "policy"},
}
KINDS = 5
FEW = 90
"""Calls a workload, where a decision of its own takes several hundred."""


def calls(doctrine: str, waiting: int, queues: int) -> int:
    """How many functions one plan calls on full nodes, with so many waiting of a few kinds."""
    kueue = DOCTRINES[doctrine]["name"] == "kueue"
    names = [f"q{number}" for number in range(queues)]
    quota = {"guaranteed": {"cpu": 8 // queues}, "settings": {"withinClusterQueue": "LowerPriority"}, "parent": "pool"}
    cluster = cede.load(
        {
            "cede": 1,
            "doctrine": DOCTRINES[doctrine],
            "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
            "queues": [{"name": name, **(quota if kueue else {})} for name in names],
            "workloads": [
                {"name": f"r{number}", "queue": names[number % queues], "state": "running", "nodes": ["n1"],
                 "priority": 9, "requests": {"cpu": 1}} for number in range(8)
            ] + [
                {"name": f"p{number}", "queue": names[number % queues], "submitted": number,
                 "requests": {"cpu": 1 + number % KINDS}} for number in range(waiting)
            ],
        }
    )  # fmt: skip
    state, of = cluster.state, doctrine_of(cluster.document.doctrine)
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        plan = plan_state(state, of, misses=False)
    finally:
        sys.setprofile(before)
    assert {made.action for made in plan.decisions} <= {"wait", "refuse"}
    return count


@pytest.mark.parametrize("doctrine", DOCTRINES)
@pytest.mark.parametrize("queues", [1, 4])
def test_one_more_of_a_kind_costs_a_few_calls(doctrine: str, queues: int) -> None:
    more = calls(doctrine, 400, queues) - calls(doctrine, 200, queues)

    assert more < 200 * FEW
