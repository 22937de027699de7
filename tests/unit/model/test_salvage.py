"""Everything that is wrong with a file is told at once, and nothing that is not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from cede.model.salvage import SECTIONS
from tests.spec.test_schema import mutated
from tests.unit.model.problems import paths_of, problems_of

NEGATIVE = "-1 is negative; a quantity is 0 or more"
POD = {"name": "a", "count": 1, "requests": {}}


def test_an_entry_that_cannot_be_read_is_still_checked_against_the_others() -> None:
    data = {
        "cede": 1,
        "doctrine": "backendai",
        "nodes": [{"name": "n1", "colour": "red"}, {"name": "n1", "colour": "red"}],
        "queues": [
            {"name": "a", "parent": "b", "max": {"cpu": -1}},
            {"name": "b", "parent": "a", "max": {"cpu": -1}},
        ],
        "workloads": [
            {
                "name": "w",
                "queue": "zz",
                "priority": 500,
                "requests": {"cpu": -1},
                "nodes": ["nx"],
                "required_node": "ny",
            },
            {"name": "w"},
        ],
    }

    assert problems_of(data) == [
        "nodes[0].colour: there is no key 'colour'",
        "nodes[1].name: 'n1' is already the name of nodes[0]",
        "nodes[1].colour: there is no key 'colour'",
        "queues[0].parent: the parents go in a circle: 'a' -> 'b' -> 'a'",
        f"queues[0].max.cpu: {NEGATIVE}",
        f"queues[1].max.cpu: {NEGATIVE}",
        "workloads[0].queue: no queue is called 'zz'",
        "workloads[0].priority: 500 is out of range; under backendai priorities go from 0 to 100",
        f"workloads[0].requests.cpu: {NEGATIVE}",
        "workloads[0].nodes[0]: no node is called 'nx'",
        "workloads[0].required_node: no node is called 'ny'",
        "workloads[1].name: 'w' is already the name of workloads[0]",
    ]


ALL_AT_ONCE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an entry without a name": (
        {"queues": [{"name": "q"}], "workloads": [{"queue": "p", "priority": 2**40}]},
        ["workloads[0].name", "workloads[0].queue", "workloads[0].priority"],
    ),
    "a list of nodes that is partly wrong": (
        {"nodes": [{"name": "n"}], "workloads": [{"name": "w", "members": 4, "nodes": ["n", 5, "m"]}]},
        ["workloads[0].nodes", "workloads[0].nodes[1]", "workloads[0].nodes[2]"],
    ),
    "allowed nodes beside a wrong label": (
        {
            "nodes": [{"name": "n"}],
            "workloads": [{"name": "w", "constraints": {"labels": {"a": 1}, "nodes": ["m", ""]}}],
        },
        ["workloads[0].constraints.labels.a", "workloads[0].constraints.nodes[0]", "workloads[0].constraints.nodes[1]"],
    ),
    "a checkpoint that is partly wrong": (
        {"workloads": [{"name": "w", "checkpoint": {"mode": "x", "last": "2026-01-31T12:00:00Z"}}]},
        ["workloads[0].checkpoint.mode", "workloads[0].checkpoint.last"],
    ),
    "pod sets that are partly wrong": (
        {
            "workloads": [
                {
                    "name": "w",
                    "members": 0,
                    "pod_sets": [
                        POD,
                        {"name": "a", "requests": {"cpu": -1}, "min_count": 3},
                        7,
                        POD | {"min_count": 2},
                    ],
                }
            ]
        },
        [
            "workloads[0].members",
            "workloads[0].members",
            "workloads[0].pod_sets[1].count",
            "workloads[0].pod_sets[1].name",
            "workloads[0].pod_sets[1].requests.cpu",
            "workloads[0].pod_sets[2]",
            "workloads[0].pod_sets[3].name",
            "workloads[0].pod_sets[3].min_count",
        ],
    ),
    "a setting that no file can hold beside others": (
        {"doctrine": "lattice", "queues": [{"name": "q", "settings": {"tpye": "x", "allow_lending": float("nan")}}]},
        ["queues[0].settings.tpye", "queues[0].settings.allow_lending"],
    ),
    "a wrong setting of the doctrine beside others": (
        {
            "doctrine": {"name": "lattice", "zzz": 1, "patience": float("inf"), "max_victims": -1},
            "queues": [{"name": "q", "settings": {"tpye": "x"}}],
            "workloads": [{"name": "w", "priority": 11}],
        },
        [
            "doctrine.zzz",
            "doctrine.patience",
            "doctrine.max_victims",
            "queues[0].settings.tpye",
            "workloads[0].priority",
        ],
    ),
    "a wrong edition": (
        {
            "doctrine": {"name": "backendai", "edition": "1"},
            "queues": [{"name": "q", "settings": {"enabled": True}}],
            "workloads": [{"name": "w", "priority": 101}],
        },
        ["doctrine.edition", "workloads[0].priority"],
    ),
    "a limit on YuniKorn's root that is none": (
        {"doctrine": "yunikorn", "queues": [{"name": "root", "max": 5}]},
        ["queues[0].max", "queues[0].max"],
    ),
    "a wrong weight that is given twice": (
        {
            "doctrine": "ytsaurus",
            "queues": [{"name": "q", "weight": -1, "settings": {"weight": float("nan")}}],
            "apps": [{"name": "a", "weight": -1, "settings": {"weight": 1}}],
        },
        [
            "queues[0].weight",
            "queues[0].settings.weight",
            "queues[0].settings.weight",
            "apps[0].weight",
            "apps[0].settings.weight",
        ],
    ),
    "policies that are partly wrong": (
        {
            "policies": [
                {"user": "a", "x": 1},
                {"user": "a", "min_priority": 5, "default_priority": "x", "max_priority": 3},
                {"user": 5, "project": "p"},
                {"user": 5},
                7,
            ]
        },
        [
            "policies[0].x",
            "policies[1].user",
            "policies[1].default_priority",
            "policies[1].max_priority",
            "policies[2]",
            "policies[2].user",
            "policies[3].user",
            "policies[4]",
        ],
    ),
    "keys that are no text": (
        {
            "workloads": [{5: 1, "name": "w", "queue": "q", "requests": {6: 1}}],
            "queues": [{"name": "x", "max": {7: 1}}],
        },
        ["workloads[0]", "workloads[0].queue", "workloads[0].requests.6", "queues[0].max.7"],
    ),
    "an object of odd keys where a list belongs": (
        {
            "workloads": [
                {"name": "w", "queue": "q", "nodes": {1: 2}, "checkpoint": {1: 2}},
                {"name": "v", "nodes": ["n", 5]},
            ],
            "queues": [{"name": "x"}],
        },
        [
            "workloads[0].queue",
            "workloads[0].nodes",
            "workloads[0].checkpoint",
            "workloads[1].nodes",
            "workloads[1].nodes[0]",
            "workloads[1].nodes[1]",
        ],
    ),
    "nodes whose count is wrong": (
        {
            "nodes": [{"name": "n", "count": 0}, {"name": "n", "count": "2"}],
            "workloads": [{"name": "w", "nodes": ["m"]}],
        },
        ["nodes[0].count", "nodes[1].name", "nodes[1].count", "workloads[0].nodes[0]"],
    ),
}

NO_CONSEQUENCES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "members that cannot be counted": (
        {"nodes": [{"name": "n"}], "workloads": [{"name": "w", "members": "2", "nodes": ["n", "n"]}]},
        ["workloads[0].members"],
    ),
    "pod sets that cannot be counted": (
        {
            "nodes": [{"name": "n"}],
            "workloads": [{"name": "w", "nodes": ["n", "n"], "pod_sets": [POD | {"count": "2"}]}],
        },
        ["workloads[0].pod_sets[0].count"],
    ),
    "a pod set that is none": (
        {"nodes": [{"name": "n"}], "workloads": [{"name": "w", "nodes": ["n"] * 3, "pod_sets": [POD, "b", 7]}]},
        ["workloads[0].pod_sets[1]", "workloads[0].pod_sets[2]"],
    ),
    "nodes that cannot be counted": (
        {
            "nodes": [{"name": "n", "count": "3"}],
            "workloads": [{"name": "w", "nodes": ["n-2"]}, {"name": "v", "required_node": "n"}],
        },
        ["nodes[0].count"],
    ),
    "a queue whose name cannot be read": (
        {"queues": [{"nmae": "q"}, {"name": 5}], "workloads": [{"name": "w", "queue": "q"}]},
        ["queues[0].name", "queues[0].nmae", "queues[1].name"],
    ),
    "a parent that cannot be read": (
        {"queues": [{"name": "q", "parent": 5}], "workloads": [{"name": "w", "queue": "5"}]},
        ["queues[0].parent"],
    ),
    "a node whose name cannot be read": (
        {"nodes": [{"name": 5}, "n"], "workloads": [{"name": "w", "nodes": ["5"]}]},
        ["nodes[0].name", "nodes[1]"],
    ),
    "a workload whose name cannot be read": (
        {"nodes": [{"name": "n", "reserved_for": "5"}], "workloads": [{"name": 5}, {"name": 5}, 3, 3]},
        ["workloads[0].name", "workloads[1].name", "workloads[2]", "workloads[3]"],
    ),
}


@pytest.mark.parametrize(("data", "paths"), ALL_AT_ONCE.values(), ids=ALL_AT_ONCE.keys())
def test_all_that_is_wrong_is_told_at_once(data: dict[str, Any], paths: list[str]) -> None:
    assert paths_of({"cede": 1} | data) == paths


@pytest.mark.parametrize(("data", "paths"), NO_CONSEQUENCES.values(), ids=NO_CONSEQUENCES.keys())
def test_nothing_is_told_that_only_follows_from_something_else(data: dict[str, Any], paths: list[str]) -> None:
    assert paths_of({"cede": 1} | data) == paths


@given(mutated())
def test_an_unknown_key_in_every_entry_hides_nothing_and_adds_nothing(data: Any) -> None:
    if not isinstance(data, dict):
        return
    spoilt = copy.deepcopy(data)
    for section in SECTIONS:
        for entry in spoilt[section] if isinstance(spoilt.get(section), list) else []:
            if isinstance(entry, dict):
                entry["~~~"] = 1

    found = problems_of(spoilt)

    assert [line for line in found if "~~~" not in line] == problems_of(data)
    assert len(set(found)) == len(found)


@pytest.mark.slow
def test_a_file_wrong_in_two_hundred_thousand_places_is_answered() -> None:
    unknown = {"cede": 1, "nodes": [{"name": "n", "labels": {f"k{i}": 1 for i in range(50_000)}}]}
    unknown["workloads"] = [{"name": "w", "colour": 1, "queue": f"q{i}"} for i in range(50_000)]

    assert len(problems_of(unknown)) == 199_999
