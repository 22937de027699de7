"""A snapshot holds every key of the contract, in its leanest form."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import Marked, NodeMarked, QueuePut, Requeued, Started, Submitted, Ticked, apply
from cede.model.cluster import (
    App,
    Checkpoint,
    ClusterFile,
    Constraints,
    DoctrineChoice,
    Node,
    PodSet,
    Policy,
    Queue,
    ResourceGroup,
    Tenant,
    Workload,
)
from cede.model.document import dump_document
from cede.model.values import Part
from cede.state.build import build
from cede.state.snapshot import snapshot

EVERYTHING: dict[str, Any] = {
    "cede": 1,
    "now": 100,
    "doctrine": {"name": "lattice", "edition": "core", "max_victims": 2},
    "topology": "rack",
    "nodes": [
        {
            "name": "n1",
            "capacity": {"cpu": 8, "memory": 2**35, "nvidia.com/gpu": 0},
            "occupied": {"cpu": "500m"},
            "partition": "blue",
            "flavor": "spot",
            "home": "root",
            "labels": {"rack": "r1", "zone": "a"},
            "state": "cordoned",
            "reserved_for": "waiting",
            "reserved_since": 60,
            "overcommitted_since": 80,
            "last_preemptive_attempt": 95.5,
        },
        {"name": "n2", "capacity": {"cpu@spot": 2, "cpu@old": 1, "memory": "1500m"}},
    ],
    "queues": [
        {
            "name": "team-a",
            "parent": "root",
            "partition": "blue",
            "guaranteed": {"cpu": 10},
            "max": {"cpu": 20, "memory": 0},
            "borrowing_limit": {"cpu@spot": 5},
            "lending_limit": {"cpu": "100m"},
            "weight": 2.5,
            "resource_groups": [{"resources": ["cpu", "memory"], "flavors": ["on-demand", "spot"]}],
            "over_limit_since": 70,
            "settings": {"type": "service", "allow_lending": False},
        }
    ],
    "apps": [{"name": "exp", "queue": "team-a", "weight": 2, "user": "ann", "settings": {"pool": {"deep": [1]}}}],
    "tenants": [{"name": "t", "max_nodes": 1, "max_workloads": 2, "share": 0.5, "used": 0.25, "burst": 0.125}],
    "policies": [
        {"project": "vision", "default_priority": 3, "may_change": False},
        {"user": "ann", "min_priority": 1, "max_priority": 9},
    ],
    "selection": "optimal",
    "workloads": [
        {
            "name": "parts",
            "state": "reserved",
            "pod_sets": [
                {"name": "driver", "count": 1, "requests": {"cpu": 1}, "min_count": 1},
                {"name": "worker", "count": 2, "requests": {"cpu@spot": "250m", "memory": 0}},
            ],
            "usage": {"cpu@spot": 4, "memory@spot": 0},
            "nodes": ["n2", "n1", "n2"],
            "started": 50,
        },
        {
            "name": "running",
            "queue": "team-a",
            "app": "exp",
            "user": "ann",
            "project": "speech",
            "domain": "lab",
            "tenant": "t",
            "kind": "inference",
            "priority": 5,
            "job_priority": -3,
            "state": "checkpointing",
            "members": 3,
            "requests": {"cpu": 1, "nvidia.com/gpu": "1u"},
            "exclusive": True,
            "nodes": ["n1", "n1", "n2"],
            "placement": "spread",
            "constraints": {"labels": {"zone": "a"}, "nodes": ["n1", "n2"]},
            "required_node": "n2",
            "submitted": -20,
            "started": 10,
            "walltime": "1h30m",
            "checkpoint": {"mode": "auto", "last": 60, "time": "5m"},
            "preemptible": False,
            "preempts": False,
            "originator": True,
            "sensitive": True,
            "preempted": 4,
            "uid": "0-first",
        },
        {"name": "waiting", "state": "suspended", "requests": {"cpu": 0}},
    ],
}


def saved(document: dict[str, Any]) -> dict[str, Any]:
    return dump_document(snapshot(build(parse_document(document))))


def keys_of(part: object) -> set[tuple[type[Part], str]]:
    """Every key that is given anywhere in a document."""
    if isinstance(part, list):
        return {key for item in part for key in keys_of(item)}
    if not isinstance(part, Part):
        return set()
    below = (keys_of(getattr(part, key)) for key in part.model_fields_set)
    return {(type(part), key) for key in part.model_fields_set}.union(*below)


def test_every_key_of_the_contract_is_saved_as_it_was_given() -> None:
    assert saved(EVERYTHING) == dump_document(parse_document(EVERYTHING))


def test_the_example_above_leaves_no_key_out() -> None:
    given = keys_of(parse_document(EVERYTHING))
    keys = {(model, key) for model in {model for model, _ in given} for key in model.model_fields}

    assert keys - given == {(Node, "count")}
    assert {model for model, _ in given} == {
        *(ClusterFile, DoctrineChoice, Node, Queue, ResourceGroup, App, Tenant, Policy),
        *(Workload, PodSet, Constraints, Checkpoint),
    }


SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "defaults are left out": (
        {
            "topology": "group",
            "nodes": [{"name": "n", "state": "ready", "labels": {}, "partition": "default", "occupied": {}}],
            "queues": [{"name": "q", "settings": {}, "partition": "default"}],
            "workloads": [
                {
                    "name": "w",
                    "kind": "batch",
                    "members": 1,
                    "placement": "any",
                    "uid": "w",
                    "submitted": 0,
                    "priority": 0,
                }
                | {"preemptible": True, "preempted": 0, "job_priority": 0, "checkpoint": {"mode": "none"}}
            ],
        },
        {"nodes": [{"name": "n"}], "queues": [{"name": "q"}], "workloads": [{"name": "w"}]},
    ),
    "the priority that the owner has anyway is left out": (
        {
            "policies": [{"user": "ann", "default_priority": 4}],
            "workloads": [{"name": "w", "user": "ann", "priority": 4}, {"name": "x", "priority": 4}],
        },
        {
            "policies": [{"user": "ann", "default_priority": 4}],
            "workloads": [{"name": "w", "user": "ann"}, {"name": "x", "priority": 4}],
        },
    ),
    "entries are in the order of their names": (
        {"nodes": [{"name": "b"}, {"name": "a"}], "workloads": [{"name": "y"}, {"name": "x"}]},
        {"nodes": [{"name": "a"}, {"name": "b"}], "workloads": [{"name": "x"}, {"name": "y"}]},
    ),
    "nodes are counted out": (
        {"nodes": [{"name": "n", "count": 2, "capacity": {"cpu": 1}}]},
        {"nodes": [{"name": "n-0", "capacity": {"cpu": 1}}, {"name": "n-1", "capacity": {"cpu": 1}}]},
    ),
    "equal members are in the order of their nodes": (
        {
            "nodes": [{"name": "a"}, {"name": "b"}],
            "workloads": [{"name": "w", "members": 3, "state": "running", "nodes": ["b", "a", "b"]}],
        },
        {
            "nodes": [{"name": "a"}, {"name": "b"}],
            "workloads": [{"name": "w", "members": 3, "state": "running", "nodes": ["a", "b", "b"]}],
        },
    ),
    "work that waits stands nowhere": (
        {"nodes": [{"name": "a"}], "workloads": [{"name": "w", "nodes": ["a"]}]},
        {"nodes": [{"name": "a"}], "workloads": [{"name": "w"}]},
    ),
    "an app of the workload's own name stays": (
        {"workloads": [{"name": "w", "app": "w"}]},
        {"workloads": [{"name": "w", "app": "w"}]},
    ),
    "nothing is more than nothing said": (
        {"queues": [{"name": "q", "max": {}}], "workloads": [{"name": "w", "usage": {}, "constraints": {}}]},
        {"queues": [{"name": "q", "max": {}}], "workloads": [{"name": "w", "usage": {}, "constraints": {}}]},
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_a_snapshot_says_the_same_in_fewer_words(case: str) -> None:
    given, lean = SAME[case]

    assert saved({"cede": 1, **given}) == {"cede": 1, **lean}


def test_times_stay_of_the_kind_the_file_uses() -> None:
    work = {"name": "w", "submitted": "2026-01-01T00:00:00.5Z", "checkpoint": {"last": "2026-01-01T00:00:00Z"}}
    document = {
        "cede": 1,
        "now": "2026-01-01T12:00:00Z",
        "nodes": [{"name": "n", "overcommitted_since": "2026-01-01T11:00:00Z"}],
        "queues": [{"name": "q", "over_limit_since": "2026-01-01T10:00:00Z"}],
        "workloads": [{**work, "started": "2026-01-01T09:00:00Z", "state": "running"}],
    }

    assert saved(document) == dump_document(parse_document(document))


def test_what_happened_is_in_the_snapshot() -> None:
    state = build(parse_document({"cede": 1, "nodes": [{"name": "n1", "capacity": {"cpu": 4}}]}))
    apply(state, Submitted(Workload.model_validate({"name": "w", "requests": {"cpu": 1}})))
    apply(state, Submitted(Workload.model_validate({"name": "x", "requests": {"cpu": "100m"}})))
    apply(state, Ticked(2 * 10**6))
    apply(state, Started("w", ("n1",)))
    apply(state, Started("x", ("n1",)))
    apply(state, Marked("w", "preempting"))
    apply(state, Ticked(3 * 10**6))
    apply(state, Requeued("x"))
    apply(state, NodeMarked("n1", "down"))

    assert dump_document(snapshot(state)) == {
        "cede": 1,
        "now": 3,
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}, "state": "down"}],
        "workloads": [
            {
                "name": "w",
                "state": "preempting",
                "requests": {"cpu": 1},
                "nodes": ["n1"],
                "submitted": 0,
                "started": 2,
            },
            {"name": "x", "requests": {"cpu": "100m"}, "submitted": 0, "preempted": 1},
        ],
    }


def test_a_queue_without_an_entry_gets_a_bare_one_when_only_work_still_names_it() -> None:
    state = build(
        parse_document(
            {"cede": 1, "queues": [{"name": "q", "parent": "above"}], "workloads": [{"name": "w", "queue": "above"}]}
        )
    )
    assert dump_document(snapshot(state))["queues"] == [{"name": "q", "parent": "above"}]

    apply(state, QueuePut(Queue.model_validate({"name": "q"})))

    document = dump_document(snapshot(state))
    assert document["queues"] == [{"name": "above"}, {"name": "q"}]
    assert parse_document(document).workloads[0].queue == "above"


def test_a_snapshot_does_not_change_when_the_state_does() -> None:
    state = build(parse_document(EVERYTHING))
    taken = snapshot(state)
    before = dump_document(taken)

    apply(state, Requeued("running"))
    apply(state, Requeued("parts"))
    apply(state, NodeMarked("n1", "down"))
    apply(state, Submitted(Workload.model_validate({"name": "new", "requests": {"cpu": "1u"}})))

    assert dump_document(taken) == before
