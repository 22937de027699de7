"""YuniKorn's state dump as the nodes, apps and workloads of a cluster file."""

from typing import Any

import pytest

import cede
from cede.imports.yunikorn.queues import SINCE
from tests.unit.imports.yunikorn_files import (
    GI,
    NOW,
    PLAIN,
    SECOND,
    allocation,
    application,
    ask,
    document,
    dump,
    imported,
    node,
    notes,
    problems,
    queues,
    workloads,
)

NO_PODS = (
    "state dump: a dump does not say which pods asked not to be preempted, and which may not preempt; "
    "all count as ordinary; give Pods and PriorityClasses with --objects"
)


def test_an_allocation_runs_where_and_since_it_was_allocated() -> None:
    more: dict[str, Any] = {"allocationTime": NOW - 58 * SECOND, "priority": "7", "originator": True}
    found = workloads(dump(application("spark", "root.A", [allocation("k", vcore=1500, **more)], user="ann")))

    assert found["k"] == {
        "name": "k",
        "queue": "root.a",
        "app": "spark",
        "user": "ann",
        "priority": 7,
        "state": "running",
        "requests": {"vcore": "1500m"},
        "nodes": ["n1"],
        "submitted": "2026-03-02T08:59:00Z",
        "started": "2026-03-02T08:59:02Z",
        "originator": True,
        "uid": "k",
    }


def test_an_ask_waits() -> None:
    found = workloads(dump(application(requests=[ask("k", vcore=2000, priority="-1")])))

    assert found["k"] == {
        "name": "k",
        "queue": "root.a",
        "app": "app",
        "priority": -1,
        "requests": {"vcore": 2},
        "submitted": "2026-03-02T08:59:00Z",
        "uid": "k",
    }


def test_the_file_that_was_made_can_be_read() -> None:
    made = document(PLAIN, dump(application(allocations=[allocation("a")], requests=[ask("b")])))

    assert cede.load(made).to_dict() == cede.load(cede.load(made).to_dict()).to_dict()
    assert [one["name"] for one in made["workloads"]] == ["a", "b"]
    assert made["now"] == "2026-03-02T09:00:00Z"
    assert made["apps"] == [{"name": "app", "queue": "root.a"}]


def test_an_allocation_that_was_preempted_and_not_released_yet_is_preempting() -> None:
    assert workloads(dump(application(allocations=[allocation("k", preempted=True)])))["k"]["state"] == "preempting"


def test_an_ask_that_was_allocated_counts_once() -> None:
    assert list(workloads(dump(application(allocations=[allocation("k")], requests=[ask("k")])))) == ["k"]


def test_a_pod_is_called_by_its_namespace_and_name() -> None:
    tags = {"kubernetes.io/meta/namespace": "team", "kubernetes.io/meta/podName": "pod"}
    found = workloads(dump(application(requests=[ask("k1", allocationTags=tags), ask("k2", allocationTags=tags)])))

    assert {name: one["uid"] for name, one in found.items()} == {"team/pod": "k1", "k2": "k2"}


def test_a_daemon_sets_pod_is_for_its_node() -> None:
    tag = {"yunikorn.apache.org/requiredNode": "n1"}
    state = dump(
        application(allocations=[allocation("a", allocationTags=tag)], requests=[ask("b", requiredNodeId="n1")])
    )
    found = workloads(state)

    assert (found["a"]["required_node"], found["b"]["required_node"]) == ("n1", "n1")


def test_what_waits_for_a_node_that_is_gone_is_left_out() -> None:
    found = imported(PLAIN, dump(application(requests=[ask("k", requiredNodeId="n9")])))

    assert "workloads" not in found.document
    assert [place.name for place in found.left_out] == ["k"]
    assert notes(found) == ["ask k: it is for the node n9, which the dump does not have; it is left out"]


def test_an_allocation_whose_node_is_gone_holds_no_room() -> None:
    found = imported(PLAIN, dump(application(allocations=[allocation("k", "n9")])))

    assert "nodes" not in found.document["workloads"][0]
    assert notes(found)[0] == (
        "application app: allocations[0].nodeId: the dump does not have its node, so it takes room on no node"
    )


def test_a_node_has_its_labels_and_what_others_use_of_it() -> None:
    attributes = {"si.io/hostname": "n1", "si/node-partition": "default", "ready": "true", "zone": "z"}
    state = dump(
        nodes=[node(attributes=attributes, occupied={"vcore": 500, "memory": GI}), node("n2", schedulable=False)]
    )

    assert document(PLAIN, state)["nodes"] == [
        {
            "name": "n1",
            "capacity": {"vcore": 8, "memory": 32 * GI},
            "occupied": {"vcore": "500m", "memory": GI},
            "labels": {"zone": "z"},
        },
        {"name": "n2", "capacity": {"vcore": 8, "memory": 32 * GI}, "state": "cordoned"},
    ]


def test_an_allocation_of_no_application_occupies_its_node() -> None:
    state = dump(
        application(allocations=[allocation("a")]), nodes=[node(allocations=[allocation("a"), allocation("b")])]
    )
    found = imported(PLAIN, state)

    assert found.document["nodes"][0]["occupied"] == {"vcore": 1}
    assert notes(found)[1] == (
        "node n1: allocations[1]: it belongs to no application of the dump; its room counts as occupied"
    )


RESERVATIONS = {
    "for what waits": (["app|w"], "w", []),
    "for what runs": (
        ["app|r"],
        None,
        ["nothing that waits is called like what it is reserved for; the reservation is not carried over"],
    ),
    "twice": (["app|w", "app|v"], None, ["it is reserved more than once; the reservation is not carried over"]),
}


@pytest.mark.parametrize(("given", "holder", "why"), RESERVATIONS.values(), ids=RESERVATIONS.keys())
def test_a_node_is_reserved_for_the_one_ask_that_holds_it(given: list[str], holder: str | None, why: list[str]) -> None:
    app = application(allocations=[allocation("r")], requests=[ask("w"), ask("v")])
    found = imported(PLAIN, dump(app, nodes=[node(isReserved=True, reservations=given)]))

    assert found.document["nodes"][0].get("reserved_for") == holder
    assert notes(found)[1:] == [f"node n1: reservations: {one}" for one in why]


def test_finished_applications_are_left_out() -> None:
    found = imported(PLAIN, dump(application("old", applicationState="Completed")))

    assert notes(found) == ["application old: it has finished, and is left out"]
    assert [place.name for place in found.finished] == ["old"]


def test_placeholders_and_asks_that_triggered_are_named() -> None:
    state = dump(
        application(
            allocations=[allocation("p", placeholder=True)],
            requests=[ask("t", triggeredPreemption=True)],
            placeholderData=[{"taskGroupName": "g"}],
        )
    )

    assert notes(imported(PLAIN, state)) == [
        "application app: allocations[0].placeholder: it is a placeholder of a gang, and counts as any other work",
        "application app: requests[0].triggeredPreemption: it made others go already, and YuniKorn lets an ask do that "
        "once; here it may again",
        "application app: placeholderData: gangs are not carried over; their placeholders count as any other work",
        NO_PODS,
    ]


QUOTA = "preemption: {quotapreemptionenabled: true}"
OVERUSE = {
    "with a delay of its own": (
        QUOTA,
        "{name: a, resources: {max: {vcore: 1}}, properties: {quota.preemption.delay: 1m}}",
        1,
    ),
    "with that of its parent": (
        *(
            QUOTA,
            "{name: p, properties: {quota.preemption.delay: 1m}, queues: [{name: a, resources: {max: {vcore: 1}}}]}",
        ),
        1,
    ),
    "without a delay": (QUOTA, "{name: a, resources: {max: {vcore: 1}}}", 0),
    "switched off": ("", "{name: a, resources: {max: {vcore: 1}}, properties: {quota.preemption.delay: 1m}}", 0),
    "just full": (QUOTA, "{name: a, resources: {max: {vcore: 2}}, properties: {quota.preemption.delay: 1m}}", 0),
}


@pytest.mark.parametrize(("partition", "text", "count"), OVERUSE.values(), ids=OVERUSE.keys())
def test_a_queue_above_its_max_that_would_be_enforced_is_named(partition: str, text: str, count: int) -> None:
    path = "root.p.a" if "name: p" in text else "root.a"
    app = application(queue_name=path, allocations=[allocation("k", vcore=2000)], requests=[ask("w", vcore=9000)])
    why = SINCE

    found = notes(imported(queues(text, partition), dump(app)))
    assert found[1:] == [f"queue {path}: resources.max.vcore: {why}"] * count


def test_the_clock_can_be_set() -> None:
    assert document(PLAIN, dump(), now="2026-03-03T00:00:00Z")["now"] == "2026-03-03T00:00:00Z"
    assert problems(PLAIN, dump(), now="noon") == [
        "--now: 'noon' is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z"
    ]


@pytest.mark.parametrize("timestamp", [None, 0, "Mon Mar 2 2026"])
def test_without_a_time_of_the_dump_the_clock_is_the_latest_time_in_it(timestamp: object) -> None:
    state = dump(application(requests=[ask("a"), ask("b", requestTime=NOW - SECOND)]), timestamp=timestamp)

    assert document(PLAIN, state)["now"] == "2026-03-02T08:59:59Z"


def other_partition(state: dict[str, Any]) -> dict[str, Any]:
    """The same with an application and a node of another partition."""
    nodes = [*state["nodes"], {"partitionName": "gpu", "nodesInfo": [node("g1")]}]
    app = application("other", allocations=[allocation("x", "g1")]) | {"partition": "gpu"}
    return state | {"nodes": nodes, "applications": [*state["applications"], app]}


STATE = dump(application(allocations=[allocation("a")]))
SHAPES: dict[str, dict[str, Any]] = {
    "sections with capitals": {key.capitalize(): value for key, value in STATE.items()},
    "the cluster before the partition": STATE
    | {"applications": [STATE["applications"][0] | {"partition": "[mycluster]default"}]},
    "nodes by partition": STATE | {"nodes": {"default": [node()]}},
    "nodes without a partition": STATE | {"nodes": [node()]},
    "with another partition": other_partition(STATE),
    "amounts and names of older releases": STATE
    | {
        "applications": [
            application(
                allocations=[
                    {"allocationKey": "a", "nodeID": "n1", "resourcePerAlloc": {"vcore": 1000}, "priority": "<nil>"}
                    | dict.fromkeys(("requestTime", "allocationTime"), NOW - 60 * SECOND)
                ]
            )
        ]
    },
    "null for what is empty": STATE | {"queues": None, "applications": [STATE["applications"][0] | {"requests": None}]},
}


@pytest.mark.parametrize("state", SHAPES.values(), ids=SHAPES.keys())
def test_releases_shape_their_dumps_differently(state: dict[str, Any]) -> None:
    assert document(PLAIN, state) == document(PLAIN, STATE)


WRONG = {
    "no dump": ([1], "dump.json: a list is no state dump (give what /ws/v1/fullstatedump answers)"),
    "another answer": ({"name": "x"}, "dump.json: an object is no state dump (give what /ws/v1/fullstatedump answers)"),
    "an amount that is no number": (
        dump(application(requests=[ask("k", resource={"vcore": "1"})])),
        "dump.json: application app: requests[0].resource.vcore: '1' is no whole number",
    ),
    "a priority that is none": (
        dump(application(requests=[ask("k", priority="high")])),
        "dump.json: application app: requests[0].priority: 'high' is no whole number",
    ),
    "a time that is none": (
        dump(application(requests=[ask("k", requestTime="now")])),
        "dump.json: application app: requests[0].requestTime: 'now' is no time in nanoseconds since 1970",
    ),
    "a node without a name": (
        dump(nodes=[{"capacity": {}}]),
        "dump.json: state dump: nodes[0].nodesInfo[0].nodeID: this key is required and missing",
    ),
    "a node twice": (
        dump(nodes=[node(), node()]),
        "dump.json: node n1: in the cluster file, name: 'n1' is already the name of nodes[0]",
    ),
}


@pytest.mark.parametrize(("state", "problem"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_understood_is_refused_with_its_place(state: object, problem: str) -> None:
    assert problems(PLAIN, state) == [problem]
