from typing import Any

import pytest

from tests.unit.model.problems import paths_of, problems_of

NODES = [{"name": "n1"}, {"name": "n2"}]
NOON = "2026-01-31T12:00:00Z"
INT32 = "priorities go from -2147483648 to 2147483647"

BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "two nodes of one name": (
        {"nodes": [{"name": "n"}, {"name": "m"}, {"name": "n"}]},
        ["nodes[2].name: 'n' is already the name of nodes[0]"],
    ),
    "a node named as one of those counted out": (
        {"nodes": [{"name": "n", "count": 3}, {"name": "n-1"}]},
        ["nodes[1].name: 'n-1' is already the name of nodes[0]"],
    ),
    "two counts that overlap": (
        {"nodes": [{"name": "n-1"}, {"name": "n", "count": 2}]},
        ["nodes[1].name: 'n-1' is already the name of nodes[0]"],
    ),
    "two queues of one name": (
        {"queues": [{"name": "q"}, {"name": "q"}]},
        ["queues[1].name: 'q' is already the name of queues[0]"],
    ),
    "two apps of one name": (
        {"apps": [{"name": "a"}, {"name": "a"}]},
        ["apps[1].name: 'a' is already the name of apps[0]"],
    ),
    "two tenants of one name": (
        {"tenants": [{"name": "t"}, {"name": "t"}]},
        ["tenants[1].name: 't' is already the name of tenants[0]"],
    ),
    "three workloads of one name": (
        {"workloads": [{"name": "w"}, {"name": "w"}, {"name": "w"}]},
        [f"workloads[{i}].name: 'w' is already the name of workloads[0]" for i in (1, 2)],
    ),
    "too many nodes": (
        {
            "nodes": [{"name": "a", "count": 999_999}, {"name": "b", "count": 2}],
            "workloads": [{"name": "w", "nodes": ["z"]}],
        },
        ["nodes[1].count: makes more than 1,000,000 nodes in all, which is the most"],
    ),
    "a queue that is its own parent": (
        {"queues": [{"name": "q", "parent": "q"}]},
        ["queues[0].parent: the parents go in a circle: 'q' -> 'q'"],
    ),
    "parents in a circle, with one that leads into it": (
        {
            "queues": [
                {"name": "in", "parent": "b"},
                {"name": "a", "parent": "b"},
                {"name": "b", "parent": "c"},
                {"name": "c", "parent": "a"},
            ]
        },
        ["queues[1].parent: the parents go in a circle: 'a' -> 'b' -> 'c' -> 'a'"],
    ),
    "a workload's queue": (
        {"queues": [{"name": "team-a"}], "workloads": [{"name": "w", "queue": "tema-a"}]},
        ["workloads[0].queue: no queue is called 'tema-a' (did you mean 'team-a'?)"],
    ),
    "a queue where there are none": (
        {"workloads": [{"name": "w", "queue": "q"}]},
        ["workloads[0].queue: no queue is called 'q'"],
    ),
    "an app's queue": (
        {"queues": [{"name": "pool"}], "apps": [{"name": "a", "queue": "pol"}]},
        ["apps[0].queue: no queue is called 'pol' (did you mean 'pool'?)"],
    ),
    "a node's home": (
        {"queues": [{"name": "vc-a"}], "nodes": [{"name": "n", "home": "vc-b"}]},
        ["nodes[0].home: no queue is called 'vc-b' (did you mean 'vc-a'?)"],
    ),
    "whom a node is reserved for": (
        {"nodes": [{"name": "n", "reserved_for": "train-2"}], "workloads": [{"name": "train-1"}]},
        ["nodes[0].reserved_for: no workload is called 'train-2' (did you mean 'train-1'?)"],
    ),
    "a workload's nodes": (
        {"nodes": NODES, "workloads": [{"name": "w", "members": 2, "nodes": ["n1", "n3"]}]},
        ["workloads[0].nodes[1]: no node is called 'n3'"],
    ),
    "the name of a counted node instead of one of its nodes": (
        {"nodes": [{"name": "gpu", "count": 2}], "workloads": [{"name": "w", "nodes": ["gpu"]}]},
        ["workloads[0].nodes[0]: no node is called 'gpu' (did you mean 'gpu-1'?)"],
    ),
    "a required node": (
        {"nodes": NODES, "workloads": [{"name": "w", "required_node": "N1"}]},
        ["workloads[0].required_node: no node is called 'N1' (did you mean 'n1'?)"],
    ),
    "the only nodes allowed": (
        {"nodes": NODES, "workloads": [{"name": "w", "constraints": {"nodes": ["n1", "x"]}}]},
        ["workloads[0].constraints.nodes[1]: no node is called 'x'"],
    ),
    "fewer nodes than members": (
        {"nodes": NODES, "workloads": [{"name": "w", "members": 2, "nodes": ["n1"]}]},
        ["workloads[0].nodes: has 1 entry for 2 members; each member has one"],
    ),
    "more nodes than members of pod sets": (
        {
            "nodes": NODES,
            "workloads": [
                {"name": "w", "nodes": ["n1", "n2"], "pod_sets": [{"name": "a", "count": 1, "requests": {}}]}
            ],
        },
        ["workloads[0].nodes: has 2 entries for 1 member; each member has one"],
    ),
    "pod sets beside members and requests": (
        {
            "workloads": [
                {"name": "w", "members": 1, "requests": {}, "pod_sets": [{"name": "a", "count": 1, "requests": {}}]}
            ]
        },
        [
            "workloads[0].members: stands beside pod_sets, which says the same; leave 'members' out",
            "workloads[0].requests: stands beside pod_sets, which says the same; leave 'requests' out",
        ],
    ),
    "a least count above the count": (
        {"workloads": [{"name": "w", "pod_sets": [{"name": "a", "count": 1, "requests": {}, "min_count": 2}]}]},
        ["workloads[0].pod_sets[0].min_count: 2 is above the count, 1"],
    ),
    "two pod sets of one name": (
        {"workloads": [{"name": "w", "pod_sets": [{"name": "a", "count": 1, "requests": {}}] * 2}]},
        ["workloads[0].pod_sets[1].name: 'a' is already the name of a pod set of this workload"],
    ),
    "too many members": (
        {"workloads": [{"name": "w", "members": 1_000_001}]},
        ["workloads[0].members: 1000001 members are too many; the most is 1,000,000"],
    ),
    "too many members in a pod set": (
        {"workloads": [{"name": "w", "pod_sets": [{"name": "a", "count": 10**30, "requests": {}}]}]},
        [f"workloads[0].pod_sets[0].count: {10**30} members are too many; the most is 1,000,000"],
    ),
    "too many members in all pod sets": (
        {"workloads": [{"name": "w", "pod_sets": [{"name": n, "count": 600_000, "requests": {}} for n in "ab"]}]},
        ["workloads[0].pod_sets: 1200000 members are too many; the most is 1,000,000"],
    ),
    "a priority beyond 32 bits": (
        {"workloads": [{"name": "w", "priority": 2**31}]},
        [f"workloads[0].priority: 2147483648 is out of range; {INT32}"],
    ),
    "a job priority beyond 32 bits": (
        {"workloads": [{"name": "w", "job_priority": -(10**5000)}]},
        [f"workloads[0].job_priority: a number of very many digits is out of range; {INT32}"],
    ),
    "a count of preemptions that no column holds": (
        {"workloads": [{"name": "w", "preempted": 10**12}]},
        ["workloads[0].preempted: 1000000000000 is out of range; it counts up to 2147483647"],
    ),
    "a priority Backend.AI does not have": (
        {"doctrine": "backendai", "workloads": [{"name": "w", "priority": 101}]},
        ["workloads[0].priority: 101 is out of range; under backendai priorities go from 0 to 100"],
    ),
    "a class Lattice does not have": (
        {"doctrine": {"name": "lattice"}, "workloads": [{"name": "w", "priority": 11}]},
        ["workloads[0].priority: 11 is out of range; under lattice priorities (preemption classes) go from 0 to 10"],
    ),
    "a policy for nobody": (
        {"policies": [{}]},
        ["policies[0]: names neither a user nor a project; a policy is for one of them"],
    ),
    "a policy for two": (
        {"policies": [{"user": "u", "project": "p"}]},
        ["policies[0]: names both a user and a project; a policy is for one of them"],
    ),
    "two policies for one user": (
        {"policies": [{"user": "a"}, {"project": "a"}, {"user": "a"}]},
        ["policies[2].user: 'a' already has a policy, policies[0]"],
    ),
    "a least priority above the greatest": (
        {"policies": [{"user": "a", "min_priority": 5, "max_priority": 3}]},
        ["policies[0].max_priority: min_priority 5 is above max_priority 3"],
    ),
    "a default below the least": (
        {"policies": [{"user": "a", "min_priority": 5, "default_priority": 3}]},
        ["policies[0].default_priority: min_priority 5 is above default_priority 3"],
    ),
    "a default above the greatest": (
        {"policies": [{"user": "a", "default_priority": 9, "max_priority": 8}]},
        ["policies[0].default_priority: default_priority 9 is above max_priority 8"],
    ),
    "a policy beyond what Backend.AI has": (
        {"doctrine": "backendai", "policies": [{"user": "a", "max_priority": 101}]},
        ["policies[0].max_priority: 101 is out of range; priorities go from 0 to 100"],
    ),
    "a policy with a class that there is not": (
        {"doctrine": "lattice", "policies": [{"user": "a", "default_priority": 11}]},
        ["policies[0].default_priority: 11 is out of range; priorities go from 0 to 10"],
    ),
    "a max on YuniKorn's root": (
        {"doctrine": "yunikorn", "queues": [{"name": "root", "max": {"cpu": 1}}]},
        ["queues[0].max: under yunikorn the root's limit is the sum of its nodes; it has no max of its own"],
    ),
}

GOOD: dict[str, dict[str, Any]] = {
    "a queue that is only named as a parent": {
        "queues": [{"name": "a", "parent": "root"}],
        "nodes": [{"name": "n", "home": "root"}],
        "workloads": [{"name": "w", "queue": "root"}],
    },
    "apps, tenants, users and projects that are not listed": {
        "workloads": [{"name": "w", "app": "a", "tenant": "t", "user": "u", "project": "p", "domain": "d"}]
    },
    "the nodes counted out": {
        "nodes": [{"name": "n", "count": 2}],
        "workloads": [{"name": "w", "nodes": ["n-1"], "required_node": "n-0"}],
    },
    "one name for a node, a queue and a workload": {
        "nodes": [{"name": "a"}],
        "queues": [{"name": "a"}],
        "workloads": [{"name": "a"}],
    },
    "a max on the root of others": {"doctrine": "kueue", "queues": [{"name": "root", "max": {"cpu": 1}}]},
    "a negative priority": {"workloads": [{"name": "w", "priority": -(2**31)}]},
    "one policy for a user and one for a project of that name": {"policies": [{"user": "a"}, {"project": "a"}]},
    "equal bounds": {"policies": [{"user": "a", "min_priority": 3, "default_priority": 3, "max_priority": 3}]},
}

TIMES: dict[str, tuple[dict[str, Any], str]] = {
    "when a workload was submitted": ({"workloads": [{"name": "w", "submitted": None}]}, "workloads[0].submitted"),
    "when a workload started": ({"workloads": [{"name": "w", "started": None}]}, "workloads[0].started"),
    "the last checkpoint": (
        {"workloads": [{"name": "w", "checkpoint": {"last": None}}]},
        "workloads[0].checkpoint.last",
    ),
    "since when a node is reserved": (
        {"nodes": [{"name": "n", "reserved_since": None}]},
        "nodes[0].reserved_since",
    ),
    "since when a node is overcommitted": (
        {"nodes": [{"name": "n", "overcommitted_since": None}]},
        "nodes[0].overcommitted_since",
    ),
    "the last attempt on a node": (
        {"nodes": [{"name": "n", "last_preemptive_attempt": None}]},
        "nodes[0].last_preemptive_attempt",
    ),
    "since when a queue is over its limit": (
        {"queues": [{"name": "q", "over_limit_since": None}]},
        "queues[0].over_limit_since",
    ),
    "the starvation clock of a queue": (
        {"doctrine": "ytsaurus", "queues": [{"name": "q", "settings": {"below_fair_share_since": None}}]},
        "queues[0].settings.below_fair_share_since",
    ),
    "the starvation clock of an app": (
        {"doctrine": "ytsaurus", "apps": [{"name": "a", "settings": {"below_fair_share_since": None}}]},
        "apps[0].settings.below_fair_share_since",
    ),
}


@pytest.mark.parametrize(("data", "lines"), BAD.values(), ids=BAD.keys())
def test_what_does_not_agree_is_said_with_its_place(data: dict[str, Any], lines: list[str]) -> None:
    assert problems_of({"cede": 1} | data) == lines


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD.keys())
def test_what_agrees_is_accepted(data: dict[str, Any]) -> None:
    assert problems_of({"cede": 1} | data) == []


def _filled(data: Any, value: object) -> Any:
    """The document with the value wherever it has None."""
    if isinstance(data, dict):
        return {key: _filled(item, value) for key, item in data.items()}
    if isinstance(data, list):
        return [_filled(item, value) for item in data]
    return value if data is None else data


@pytest.mark.parametrize(("data", "path"), TIMES.values(), ids=TIMES.keys())
def test_all_times_are_of_the_kind_that_now_is(data: dict[str, Any], path: str) -> None:
    in_seconds, as_instants = {"cede": 1} | _filled(data, -5), {"cede": 1} | _filled(data, NOON)

    assert problems_of(in_seconds) == []
    assert problems_of(as_instants | {"now": NOON}) == []
    assert problems_of(as_instants) == [
        f"{path}: is RFC 3339, but `now` is a number of seconds; times are all of one kind"
    ]
    assert problems_of(in_seconds | {"now": NOON}) == [
        f"{path}: is a number of seconds, but `now` is RFC 3339; times are all of one kind"
    ]


def test_a_chain_of_parents_may_be_very_long() -> None:
    queues = [{"name": f"q{i}", "parent": f"q{i + 1}"} for i in range(20_000)]

    assert problems_of({"cede": 1, "queues": queues}) == []


def test_a_very_long_circle_is_not_spelled_out() -> None:
    queues = [{"name": f"q{i}", "parent": f"q{(i + 1) % 5000}"} for i in range(5000)]

    [line] = problems_of({"cede": 1, "queues": queues})

    assert line.startswith("queues[0].parent: the parents go in a circle: 'q0' -> 'q1' -> ")
    assert line.endswith("'q7' -> ... -> 'q0'")


def test_a_document_may_be_wrong_in_many_ways_at_once() -> None:
    data = {
        "cede": 1,
        "doctrine": "lattice",
        "queues": [{"name": "a", "settings": {"tpye": "service"}}, {"name": "a"}],
        "nodes": [{"name": "n", "home": "b"}, {"name": "n"}],
        "workloads": [{"name": "w", "priority": 12, "nodes": ["n", "m"], "submitted": NOON, "queue": "c"}],
    }

    assert paths_of(data) == [
        "queues[0].settings.tpye",
        "queues[1].name",
        "nodes[0].home",
        "nodes[1].name",
        "workloads[0].priority",
        "workloads[0].nodes",
        "workloads[0].nodes[1]",
        "workloads[0].submitted",
        "workloads[0].queue",
    ]
