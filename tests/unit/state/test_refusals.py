"""What cannot happen is refused in words, and what can is followed everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import Event, NodePut, QueuePut, Started, Submitted, apply
from cede.model.cluster import Node, Queue, Workload
from cede.model.errors import CedeError
from cede.state.build import build
from cede.state.columns import NEVER
from cede.state.state import State
from cede.state.trial import Trial
from tests.state_views import bits

CLUSTER: dict[str, Any] = {
    "cede": 1,
    "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
    "queues": [{"name": "a", "parent": "root"}, {"name": "b", "parent": "a"}],
    "workloads": [{"name": "w", "queue": "b", "members": 2, "requests": {"cpu": 1}}],
}


def cluster(**sections: Any) -> State:
    return build(parse_document(CLUSTER | sections))


def submitted(**keys: Any) -> Submitted:
    return Submitted(Workload.model_validate({"name": "new", "requests": {"tpu": "1n"}, **keys}))


def node(**keys: Any) -> NodePut:
    return NodePut(Node.model_validate({"name": "n2", "capacity": {"tpu": 1}, **keys}))


def queue(**keys: Any) -> QueuePut:
    return QueuePut(Queue.model_validate({"name": "a", "max": {"tpu": 1}, **keys}))


REFUSED: dict[str, tuple[Event, str]] = {
    "a name that is taken": (submitted(name="w"), "a workload called 'w' is already there"),
    "a queue nobody knows": (submitted(queue="c"), "no queue is called 'c'"),
    "a required node nobody knows": (submitted(required_node="n9"), "no node is called 'n9'"),
    "a wish for a node nobody knows": (submitted(constraints={"nodes": ["n9"]}), "no node is called 'n9'"),
    "a place nobody knows": (submitted(state="running", nodes=["n9"]), "no node is called 'n9'"),
    "a member without a place": (submitted(state="running", members=2, nodes=["n1"]), "each member has one node"),
    "a start on too few nodes": (Started("w", ("n1",)), "w has 2 members and is placed on 1"),
    "a start on too many nodes": (Started("w", ("n1", "n1", "n1")), "w has 2 members and is placed on 3"),
    "a node of a queue nobody knows": (node(home="c"), "no queue is called 'c'"),
    "a node kept for a workload nobody knows": (node(reserved_for="x"), "no workload is called 'x'"),
    "several nodes under one name": (node(count=3), "n2 stands for 3 nodes"),
    "a queue below itself": (queue(parent="a"), "the parents would go in a circle"),
    "a queue below its child": (queue(parent="b"), "the parents would go in a circle: 'b' stands below 'a'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_event_is_refused_and_changes_nothing_if_it_means(case: str) -> None:
    event, words = REFUSED[case]
    state = cluster()
    before = bits(state)

    with pytest.raises(CedeError, match=words):
        apply(state, event)

    assert bits(state) == before


def test_work_follows_its_queue_to_another_partition() -> None:
    state = cluster()

    apply(state, QueuePut(Queue.model_validate({"name": "b", "parent": "a", "partition": "blue"})))

    assert state.partitions.names[state.work.partition[state.work_index["w"]]] == "blue"


def test_usage_follows_its_queue_to_another_parent() -> None:
    state = cluster()
    apply(state, Started("w", ("n1", "n1")))

    apply(state, QueuePut(Queue.model_validate({"name": "b", "parent": "root"})))

    cpu = state.units.index["cpu"]
    assert {name: int(state.tree.usage[cpu, row]) for name, row in state.tree.index.items()} == {
        "a": 0,
        "b": 2,
        "root": 2,
    }


@pytest.mark.parametrize(("victim", "left"), [("leaves", 2), ("comes", 5)])
def test_evicting_who_leaves_or_comes_frees_only_what_the_other_does_not_need(victim: str, left: int) -> None:
    work = [
        {"name": "leaves", "requests": {"cpu": 3}, "state": "preempting", "nodes": ["n1"]},
        {"name": "comes", "requests": {"cpu": 6}, "state": "reserved", "nodes": ["n1"]},
    ]
    state = cluster(workloads=work)
    cpu = state.units.index["cpu"]

    with Trial(state) as trial:
        trial.evict(state.work_index[victim])
        assert int(state.nodes.free[cpu, 0]) == left

    assert int(state.nodes.free[cpu, 0]) == 2


def test_a_node_is_kept_for_nobody_once_its_workload_has_ended() -> None:
    state = cluster(nodes=[{"name": "n1", "capacity": {"cpu": 8}, "reserved_for": "w", "reserved_since": -5}])
    row = state.work_index["w"]

    state.forget(row)

    assert int(state.nodes.reserved_for[0]) != row
    assert int(state.nodes.reserved_since[0]) == NEVER
    assert state.reservations == {}
