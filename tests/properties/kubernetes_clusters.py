"""Crowded small clusters of pods with disruption budgets, some of whose pods are leaving or have a nominated node."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

PRIORITIES = (-3, 0, 1, 2, 5)


@st.composite
def kubernetes_clusters(draw: DrawFn) -> dict[str, Any]:
    """Plain documents under the doctrine `kubernetes`."""
    nodes: list[dict[str, Any]] = [
        {"name": f"n{at}", "capacity": draw(amounts(3, 6))} for at in range(draw(st.integers(1, 3)))
    ]
    workloads: list[dict[str, Any]] = []
    for node in nodes:
        left = dict(node["capacity"])
        for _ in range(draw(st.integers(0, 5))):
            asked = draw(amounts(1, 3))
            if any(asked[name] > left[name] for name in asked):
                continue
            left = {name: left[name] - asked[name] for name in left}
            workloads.append(
                {
                    "name": f"w{len(workloads)}",
                    "app": draw(st.sampled_from("ab")),
                    "state": draw(st.sampled_from(("running",) * 6 + ("preempting", "reserved", "checkpointing"))),
                    "nodes": [node["name"]],
                    "priority": draw(st.sampled_from(PRIORITIES)),
                    "requests": asked,
                    "started": -draw(st.integers(1, 9)),
                    "preemptible": draw(st.integers(0, 9)) > 0,
                }
            )
    for _ in range(draw(st.integers(1, 4))):
        workloads.append(
            {
                "name": f"w{len(workloads)}",
                "priority": draw(st.sampled_from(PRIORITIES)),
                "requests": draw(amounts(1, 4)),
                "members": draw(st.sampled_from((1, 1, 1, 1, 2))),
                "submitted": -draw(st.integers(0, 5)),
                "preempts": draw(st.integers(0, 9)) > 0,
            }
        )
    budgets = [
        {"name": app, "apps": [app], draw(st.sampled_from(("allowed", "min_available", "max_unavailable"))): count}
        for app in "ab"
        if (count := draw(st.integers(-1, 2))) >= 0
    ]
    return {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "kubernetes", "edition": "1.36", "disruption_budgets": budgets},
        "nodes": nodes,
        "workloads": workloads,
    }


def amounts(least: int, most: int) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({name: st.integers(least, most) for name in ("cpu", "memory")})
