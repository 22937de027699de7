"""What makes two waiting workloads alike, and what tells them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.parts.shapes import OWN, shapes_of
from cede.state.columns import WorkloadColumns

PARTS = [{"name": "one", "count": 2, "requests": {"cpu": 1}}]

# A difference that a decision reads of a claimant, whatever the doctrine.
APART: dict[str, dict[str, Any]] = {
    "priority": {"priority": 4},
    "what it asks for": {"requests": {"cpu": 2}},
    "how many members it has": {"members": 2},
    "where its members may stand": {"placement": "tight"},
    "the node it wants": {"required_node": "n1"},
    "labels it wants": {"constraints": {"labels": {"zone": "a"}}},
    "nodes it names": {"constraints": {"nodes": ["n1"]}},
    "a node to itself": {"exclusive": True},
    "a flavor it names": {"requests": {"cpu@spot": 1}},
    "nothing, said of a resource": {"requests": {"cpu": 1, "gpu": 0}},
    "its pod sets": {"pod_sets": PARTS},
    "the usage it gives": {"usage": {"cpu": 3}},
    "nothing, said of its usage": {"usage": {"cpu": 1, "gpu": 0}},
    "whether it preempts": {"preempts": False},
    "whether it is preempted": {"preemptible": False},
    "its kind": {"kind": "interactive"},
    "its queue": {"queue": "other"},
    "its user": {"user": "ann"},
    "its project": {"project": "web"},
    "its tenant": {"tenant": "t"},
    "a node that is kept for it": {"name": "kept"},
    "a checkpoint to resume from": {"state": "suspended"},
}
ALIKE: dict[str, dict[str, Any]] = {
    "the time it came": {"submitted": -9},
    "its uid": {"uid": "0"},
    "how long it may run": {"walltime": 60},
    "how often it was preempted": {"preempted": 3},
    "its checkpoints": {"checkpoint": {"mode": "auto", "last": -5, "time": 3}},
}


def shapes(first: dict[str, Any], second: dict[str, Any], unread: tuple[str, ...] = ()) -> list[int]:
    """The numbers of two waiting workloads that are given so; whatever else they say is the same."""
    plain: dict[str, Any] = {"queue": "q", "requests": {"cpu": 1}}
    pair = [{"name": "one", **plain, **first}, {"name": "two", **plain, **second}]
    for workload in pair:
        if "pod_sets" in workload:
            del workload["requests"]
    document: dict[str, Any] = {
        "cede": 1,
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}, "flavor": "spot"}, {"name": "n2", "capacity": {"cpu": 4}}],
        "queues": [{"name": "q"}, {"name": "other"}],
        "tenants": [{"name": "t"}],
        "workloads": pair,
    }
    if any(workload["name"] == "kept" for workload in pair):
        document["nodes"].append({"name": "n3", "capacity": {"cpu": 4}, "reserved_for": "kept"})
    state = cede.load(document).state
    rows = [state.work_index[workload["name"]] for workload in pair]
    found = shapes_of(state, np.array(rows), unread)
    return [found[row] for row in rows]


@pytest.mark.parametrize("what", APART)
def test_two_are_told_apart_by(what: str) -> None:
    assert shapes({}, APART[what]) == [0, 1]


@pytest.mark.parametrize("what", sorted(APART.keys() - {"a node that is kept for it"}))
def test_two_that_share_it_are_alike(what: str) -> None:
    assert shapes(dict(APART[what]), dict(APART[what])) == [0, 0]


@pytest.mark.parametrize("what", ALIKE)
def test_two_are_not_told_apart_by(what: str) -> None:
    assert shapes({}, ALIKE[what]) == [0, 0]


def test_a_doctrine_may_name_what_it_does_not_read() -> None:
    assert shapes({}, {"user": "ann"}, unread=("user",)) == [0, 0]


def test_every_column_left_out_is_a_column() -> None:
    assert set(WorkloadColumns.scalars) >= OWN


def test_nobody_waits() -> None:
    assert shapes_of(cede.load({"cede": 1}).state, np.zeros(0, np.intp)) == {}
