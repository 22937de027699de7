from decimal import Decimal
from typing import Any

import pytest

from tests.unit.model.problems import paths_of, problems_of

DOCUMENTS: dict[str, tuple[object, str]] = {
    "a list": ([], "a list is no cluster file, which is an object with the key 'cede'"),
    "nothing": (None, "null is no cluster file, which is an object with the key 'cede'"),
    "no version": ({}, "cede: this key is required and missing"),
    "another version": ({"cede": 2}, "cede: 2 is no format this Cede reads; write cede: 1"),
    "a version in quotes": ({"cede": "1"}, "cede: '1' is no format this Cede reads; write cede: 1"),
    "true for a version": ({"cede": True}, "cede: true is no format this Cede reads; write cede: 1"),
    "an unknown key": ({"cede": 1, "nodse": []}, "nodse: there is no key 'nodse' (did you mean 'nodes'?)"),
    "an unknown key like no other": ({"cede": 1, "zzz": 1}, "zzz: there is no key 'zzz'"),
    "a key that is a number": ({"cede": 1, 5: 1}, "the key 5 is not text"),
    "a section that is no list": ({"cede": 1, "nodes": {}}, "nodes: an object is no list"),
    "a section that is null": (
        {"cede": 1, "nodes": None},
        "nodes: null is no list (leave the key out to mean its default)",
    ),
    "an unknown selection": (
        {"cede": 1, "selection": "optimum"},
        "selection: 'optimum' is none of doctrine, optimal (did you mean 'optimal'?)",
    ),
    "a topology that is empty": ({"cede": 1, "topology": ""}, "topology: must not be empty"),
    "a time that is none": (
        {"cede": 1, "now": "soon"},
        "now: 'soon' is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z",
    ),
}

ENTRIES: dict[str, tuple[str, dict[Any, Any], str]] = {
    "a node without a name": ("nodes", {}, "name: this key is required and missing"),
    "a name that is a number": ("nodes", {"name": 5}, "name: 5 is no text (write it in quotes)"),
    "a name that is null": ("nodes", {"name": None}, "name: null is no text"),
    "a name that is empty": ("nodes", {"name": ""}, "name: must not be empty"),
    "an unknown key of a node": (
        "nodes",
        {"name": "n", "capcity": {}},
        "capcity: there is no key 'capcity' (did you mean 'capacity'?)",
    ),
    "no nodes at all": ("nodes", {"name": "n", "count": 0}, "count: 0 is too small; the least is 1"),
    "half a node": ("nodes", {"name": "n", "count": 1.5}, "count: 1.5 is no whole number"),
    "a count in quotes": ("nodes", {"name": "n", "count": "2"}, "count: '2' is no whole number"),
    "a negative amount": (
        "nodes",
        {"name": "n", "capacity": {"cpu": 1, "nvidia.com/gpu": -1}},
        'capacity["nvidia.com/gpu"]: -1 is negative; a quantity is 0 or more',
    ),
    "an amount that is true": (
        "nodes",
        {"name": "n", "occupied": {"cpu": True}},
        "occupied.cpu: true is no quantity; write a number or a string like 500m or 16Gi",
    ),
    "amounts that are a list": (
        "nodes",
        {"name": "n", "capacity": []},
        "capacity: a list is no object of resource names and quantities",
    ),
    "a label that is a number": (
        "nodes",
        {"name": "n", "labels": {"a": 1}},
        "labels.a: 1 is no text (write it in quotes)",
    ),
    "a label whose key is a number": ("nodes", {"name": "n", "labels": {1: "a"}}, "labels: the key 1 is not text"),
    "an unknown state of a node": (
        "nodes",
        {"name": "n", "state": "raedy"},
        "state: 'raedy' is none of ready, cordoned, down (did you mean 'ready'?)",
    ),
    "a weight that is text": ("queues", {"name": "q", "weight": "2"}, "weight: '2' is no number"),
    "a weight that is negative": ("queues", {"name": "q", "weight": -1}, "weight: -1 is negative; 0 is the least"),
    "a weight that is no number": (
        "queues",
        {"name": "q", "weight": float("nan")},
        "weight: nan is no finite number",
    ),
    "a weight beyond all bounds": (
        "queues",
        {"name": "q", "weight": Decimal("1e999")},
        "weight: 1E+999 is no finite number",
    ),
    "settings that are a list": ("queues", {"name": "q", "settings": []}, "settings: a list is no object"),
    "settings that no file can hold": (
        "queues",
        {"name": "q", "settings": {"a": {"b": [{1, 2}]}}},
        "settings.a.b[0]: {1, 2} is no value of a document",
    ),
    "settings with an infinite number": (
        "queues",
        {"name": "q", "settings": {"a": float("inf")}},
        "settings.a: inf is no finite number",
    ),
    "a resource group without flavors": (
        "queues",
        {"name": "q", "resource_groups": [{"resources": ["cpu"], "flavors": []}]},
        "resource_groups[0].flavors: must not be empty",
    ),
    "a resource named twice": (
        "queues",
        {"name": "q", "resource_groups": [{"resources": ["cpu", "cpu"], "flavors": ["a"]}]},
        "resource_groups[0].resources: 'cpu' stands here twice",
    ),
    "a resource group that lacks a key": (
        "queues",
        {"name": "q", "resource_groups": [{"resources": ["cpu"]}]},
        "resource_groups[0].flavors: this key is required and missing",
    ),
    "an unknown key of a resource group": (
        "queues",
        {"name": "q", "resource_groups": [{"resources": ["cpu"], "flavors": ["a"], "flavor": "a"}]},
        "resource_groups[0].flavor: there is no key 'flavor' (did you mean 'flavors'?)",
    ),
    "an app without a name": ("apps", {"user": "u"}, "name: this key is required and missing"),
    "a share above one": ("tenants", {"name": "t", "share": 1.5}, "share: 1.5 is too large; the most is 1"),
    "a negative limit": ("tenants", {"name": "t", "max_nodes": -1}, "max_nodes: -1 is too small; the least is 0"),
    "a policy that may perhaps": (
        "policies",
        {"user": "u", "may_change": "perhaps"},
        "may_change: 'perhaps' is neither true nor false",
    ),
    "an unknown key of a workload": (
        "workloads",
        {"name": "w", "qeue": "q"},
        "qeue: there is no key 'qeue' (did you mean 'queue'?)",
    ),
    "a queue that is null": (
        "workloads",
        {"name": "w", "queue": None},
        "queue: null is no text (leave the key out to mean its default)",
    ),
    "a priority that is null": (
        "workloads",
        {"name": "w", "priority": None},
        "priority: null is no whole number (leave the key out to mean its default)",
    ),
    "a priority that is true": ("workloads", {"name": "w", "priority": True}, "priority: true is no whole number"),
    "a yes in YAML": ("workloads", {"name": "w", "preemptible": "yes"}, "preemptible: 'yes' is neither true nor false"),
    "no pod sets": ("workloads", {"name": "w", "pod_sets": []}, "pod_sets: must not be empty"),
    "a pod set without requests": (
        "workloads",
        {"name": "w", "pod_sets": [{"name": "a", "count": 1}]},
        "pod_sets[0].requests: this key is required and missing",
    ),
    "an unknown key of a pod set": (
        "workloads",
        {"name": "w", "pod_sets": [{"name": "a", "count": 1, "requests": {}, "min": 1}]},
        "pod_sets[0].min: there is no key 'min'",
    ),
    "nodes that are text": ("workloads", {"name": "w", "nodes": "n1"}, "nodes: 'n1' is no list"),
    "a node that is a number": (
        "workloads",
        {"name": "w", "nodes": [1]},
        "nodes[0]: 1 is no text (write it in quotes)",
    ),
    "a duration that is negative": (
        "workloads",
        {"name": "w", "walltime": -1},
        "walltime: -1 is negative; a duration is 0 or more",
    ),
    "an unknown mode": (
        "workloads",
        {"name": "w", "checkpoint": {"mode": "atuo"}},
        "checkpoint.mode: 'atuo' is none of auto, manual, none (did you mean 'auto'?)",
    ),
    "a checkpoint that is text": ("workloads", {"name": "w", "checkpoint": "auto"}, "checkpoint: 'auto' is no object"),
    "an unknown key of the constraints": (
        "workloads",
        {"name": "w", "constraints": {"lables": {}}},
        "constraints.lables: there is no key 'lables' (did you mean 'labels'?)",
    ),
}


@pytest.mark.parametrize(("data", "line"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_what_is_wrong_with_the_document_is_said(data: object, line: str) -> None:
    assert problems_of(data) == [line]


@pytest.mark.parametrize(("section", "entry", "line"), ENTRIES.values(), ids=ENTRIES.keys())
def test_what_is_wrong_with_an_entry_is_said_with_its_place(section: str, entry: dict[Any, Any], line: str) -> None:
    joint = "" if line.startswith("[") else "."
    data = {"cede": 1, section: [entry]}

    assert problems_of(data) == [f"{section}[0]{joint}{line}"]


def test_an_entry_that_is_no_object_is_named() -> None:
    assert problems_of({"cede": 1, "workloads": [{"name": "w"}, 7]}) == ["workloads[1]: 7 is no object"]


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    data = {
        "workloads": [
            {"uid": 5, "name": "a", "queue": "tema"},
            {"name": "a", "nodes": ["n9"], "priority": "high"},
            {"nmae": "c"},
            {"name": "d", "queue": "tema", "nodes": ["n-1", "n-2"]},
        ],
        "cede": 1,
        "queues": [{"name": "team", "parent": "team", "wieght": 1}, {"name": "x", "parent": "x"}],
        "nodes": [{"state": "up", "name": "m", "capacity": {"cpu": -1, "memory": "x"}}, {"name": "n", "count": 2}],
        "now": "later",
    }

    assert paths_of(data) == [
        "workloads[0].uid",
        "workloads[0].queue",
        "workloads[1].name",
        "workloads[1].nodes[0]",
        "workloads[1].priority",
        "workloads[2].name",
        "workloads[2].nmae",
        "workloads[3].queue",
        "workloads[3].nodes",
        "workloads[3].nodes[1]",
        "queues[0].parent",
        "queues[0].wieght",
        "queues[1].parent",
        "nodes[0].state",
        "nodes[0].capacity.cpu",
        "nodes[0].capacity.memory",
        "now",
    ]


def test_names_of_entries_that_cannot_be_read_are_still_known() -> None:
    data = {
        "cede": 1,
        "queues": [{"name": "team", "weight": -1, "parent": "all"}],
        "nodes": [{"name": "n", "count": 2, "state": "up"}, {"name": "m", "reserved_for": "v", "home": "all"}],
        "workloads": [{"name": "w", "queue": "team", "nodes": ["n-1"]}, {"name": "v", "members": 0}],
    }

    assert paths_of(data) == ["queues[0].weight", "nodes[0].state", "workloads[1].members"]


def test_what_refers_to_a_section_that_cannot_be_read_is_not_called_unknown() -> None:
    data = {"cede": 1, "queues": 5, "nodes": "n", "now": [], "workloads": [{"name": "w", "queue": "q", "nodes": ["n"]}]}

    assert paths_of(data) == ["queues", "nodes", "now"]


def test_nodes_that_cannot_be_read_are_not_counted_out_without_end() -> None:
    nodes = [{"name": f"n{i}", "count": 10**12, "state": "up"} for i in range(3)]
    data = {"cede": 1, "nodes": nodes, "workloads": [{"name": "w", "nodes": ["n0-0"]}]}

    assert paths_of(data) == ["nodes[0].count", *(f"nodes[{i}].state" for i in range(3))]


def test_a_file_wrong_in_very_many_places_is_answered_in_good_time() -> None:
    workloads = [{"name": f"w{i}", "qeue": "q", "queue": f"q{i}", "nodes": [f"nod-{i}"]} for i in range(5000)]
    data = {"cede": 1, "nodes": [{"name": "node", "count": 100_000}], "workloads": workloads}

    assert len(problems_of(data)) == 15_000
    for workload in workloads:
        del workload["qeue"]
    assert len(problems_of(data)) == 10_000
