"""No number of a document is infinite, or none at all; each place that takes one says so."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from cede.model.reading import read_text
from tests.unit.model.problems import problems_of

VALUES = [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity"), float("nan"), float("-inf")]

TAKERS: dict[str, Any] = {
    "now": {"now": None},
    "doctrine.max_victims": {"doctrine": {"name": "lattice", "max_victims": None}},
    "doctrine.timeout_extension": {"doctrine": {"name": "lattice", "timeout_extension": None}},
    "doctrine.grace_period": {"doctrine": {"name": "lattice", "grace_period": None}},
    "doctrine.fair_share_total[0].x": {"doctrine": {"name": "ytsaurus", "fair_share_total": [{"x": None}]}},
    "nodes[0].count": {"nodes": [{"name": "n", "count": None}]},
    "nodes[0].capacity.cpu": {"nodes": [{"name": "n", "capacity": {"cpu": None}}]},
    "nodes[0].occupied.cpu": {"nodes": [{"name": "n", "occupied": {"cpu": None}}]},
    "nodes[0].overcommitted_since": {"nodes": [{"name": "n", "overcommitted_since": None}]},
    "queues[0].weight": {"queues": [{"name": "q", "weight": None}]},
    "queues[0].settings.a.b[1]": {"queues": [{"name": "q", "settings": {"a": {"b": [1, None]}}}]},
    "apps[0].weight": {"apps": [{"name": "a", "weight": None}]},
    "apps[0].settings.x": {"apps": [{"name": "a", "settings": {"x": None}}]},
    "tenants[0].max_nodes": {"tenants": [{"name": "t", "max_nodes": None}]},
    "tenants[0].share": {"tenants": [{"name": "t", "share": None}]},
    "policies[0].max_priority": {"policies": [{"user": "u", "max_priority": None}]},
    "workloads[0].priority": {"workloads": [{"name": "w", "priority": None}]},
    "workloads[0].members": {"workloads": [{"name": "w", "members": None}]},
    "workloads[0].requests.cpu": {"workloads": [{"name": "w", "requests": {"cpu": None}}]},
    "workloads[0].pod_sets[0].count": {"workloads": [{"name": "w", "pod_sets": [{"name": "p", "count": None}]}]},
    "workloads[0].submitted": {"workloads": [{"name": "w", "submitted": None}]},
    "workloads[0].walltime": {"workloads": [{"name": "w", "walltime": None}]},
    "workloads[0].checkpoint.time": {"workloads": [{"name": "w", "checkpoint": {"time": None}}]},
    "workloads[0].preempted": {"workloads": [{"name": "w", "preempted": None}]},
}

OTHERS: dict[str, Any] = {
    "cede": {"cede": None},
    "topology": {"topology": None},
    "doctrine": {"doctrine": None},
    "doctrine.edition": {"doctrine": {"name": "backendai", "edition": None}},
    "nodes": {"nodes": None},
    "nodes[0]": {"nodes": [None]},
    "nodes[0].state": {"nodes": [{"name": "n", "state": None}]},
    "nodes[0].labels.a": {"nodes": [{"name": "n", "labels": {"a": None}}]},
    "workloads[0].exclusive": {"workloads": [{"name": "w", "exclusive": None}]},
    "workloads[0].nodes[0]": {"workloads": [{"name": "w", "nodes": [None]}]},
}


def filled(data: Any, value: object) -> Any:
    """The data with the value in place of None."""
    if isinstance(data, dict):
        return {key: filled(item, value) for key, item in data.items()}
    if isinstance(data, list):
        return [filled(item, value) for item in data]
    return value if data is None else data


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize(("path", "data"), TAKERS.items(), ids=TAKERS.keys())
def test_what_takes_a_number_takes_a_finite_one(path: str, data: Any, value: object) -> None:
    assert f"{path}: {value} is no finite number" in problems_of({"cede": 1} | filled(data, value))


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize(("path", "data"), OTHERS.items(), ids=OTHERS.keys())
def test_what_takes_no_number_does_not_take_these_either(path: str, data: Any, value: object) -> None:
    [line] = problems_of({"cede": 1} | filled(data, value))

    assert line.startswith(f"{path}: ")
    assert str(value) in line


def test_in_a_file_they_are_told_with_their_place_along_with_all_else() -> None:
    text = """
        cede: 1
        doctrine: backendai
        queues: [{name: q, weight: .inf, settings: {preemptible_priority: .nan, zzz: 1}}]
        workloads:
          - {name: w, queue: p, requests: {cpu: .nan, gpu: -1}, walltime: -.inf}
    """

    assert problems_of(read_text(text)) == [
        "queues[0].weight: Infinity is no finite number",
        "queues[0].settings.preemptible_priority: NaN is no finite number",
        "queues[0].settings.zzz: there is no key 'zzz'",
        "workloads[0].queue: no queue is called 'p'",
        "workloads[0].requests.cpu: NaN is no finite number",
        "workloads[0].requests.gpu: -1 is negative; a quantity is 0 or more",
        "workloads[0].walltime: -Infinity is no finite number",
    ]
