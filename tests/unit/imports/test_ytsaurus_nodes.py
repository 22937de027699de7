"""Nodes: those of Cypress, those of the scheduler, and those of a cluster file."""

from typing import Any

import pytest

import cede
from tests.unit.imports.ytsaurus_files import (
    GI,
    PLAIN,
    allocation,
    document,
    imported,
    node,
    notes,
    operation,
    problems,
)

N1 = {"name": "n1", "capacity": {"cpu": 8, "user_slots": 10, "memory": 32 * GI}}


def nodes(given: Any, tree: str = PLAIN) -> list[dict[str, Any]]:
    return list(document(tree, given).get("nodes", []))


LIMITS = f"resource_limits={{cpu=8.;user_slots=10;memory={32 * GI}}}"
FORMS: dict[str, Any] = {
    "yt list": f'[<{LIMITS};state=online>"n1"]',
    "yt list as JSON": [node()],
    "yt get": f"{{n1=<{LIMITS}>{{}}}}",
    "yt get without what is below": f"{{n1=<{LIMITS}>#}}",
    "what the scheduler says": f"{{n1={{{LIMITS}}}}}",
    "nodes of a cluster file": [N1],
    "a cluster file": {"cede": 1, "nodes": [N1]},
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS.keys())
def test_nodes_may_be_written_in_several_forms(given: Any) -> None:
    found = imported(PLAIN, given)

    assert found.document["nodes"] == [N1]
    assert notes(found) == []
    assert cede.load(found.document).to_dict()["nodes"] == [N1]


def test_memory_is_that_of_users() -> None:
    limits = {"cpu": 1.5, "user_memory": GI, "system_memory": 5, "replication_slots": 3, "gpu": 0}

    assert nodes([node(resource_limits=limits)]) == [
        {"name": "n1", "capacity": {"cpu": "1500m", "memory": GI, "gpu": 0}}
    ]


def test_tags_are_labels() -> None:
    [found] = nodes([node(tags=["ssd", "a/b"], user_tags=["own"])])

    assert found["labels"] == {"a/b": "true", "own": "true", "ssd": "true"}


STATES: dict[str, tuple[dict[str, Any], str]] = {
    "online": ({}, "ready"),
    "offline": ({"state": "offline"}, "down"),
    "being disposed": ({"state": "being_disposed"}, "down"),
    "banned": ({"banned": True}, "down"),
    "banned and without jobs": ({"banned": True, "disable_scheduler_jobs": True}, "down"),
    "without jobs": ({"disable_scheduler_jobs": True}, "cordoned"),
    "neither": ({"banned": False, "disable_scheduler_jobs": False}, "ready"),
}


@pytest.mark.parametrize(("attributes", "state"), STATES.values(), ids=STATES.keys())
def test_states(attributes: dict[str, Any], state: str) -> None:
    [found] = nodes([node(**attributes)])

    assert found.get("state", "ready") == state


def test_nodes_of_another_tree_are_left_out() -> None:
    tree = '<config={nodes_filter="a & !gpu"}>{}'
    given = [node("n1", tags=["a"]), node("n2", tags=["a", "gpu"]), node("n3")]
    found = imported(tree, given)

    assert [one["name"] for one in found.document["nodes"]] == ["n1"]
    assert notes(found) == [
        "node n2: tags: its tags do not fit the nodes_filter of the tree; it is left out",
        "node n3: tags: its tags do not fit the nodes_filter of the tree; it is left out",
    ]


def test_nodes_that_run_no_operations_are_left_out() -> None:
    found = imported(PLAIN, [node("n1", flavors=["data", "exec"]), node("n2", flavors=["data"])])

    assert [one["name"] for one in found.document["nodes"]] == ["n1"]
    assert notes(found) == ["node n2: flavors: it runs no operations, by its flavors; it is left out"]


def test_nodes_of_a_cluster_file_are_all_taken() -> None:
    assert len(nodes([N1, {**N1, "name": "n2"}], "<config={nodes_filter=gpu}>{}")) == 2


def test_what_runs_there_and_is_not_in_the_file_is_noted() -> None:
    usage = {"cpu": 2.0, "user_slots": 2, "memory": 2 * GI}
    message = (
        "node n1: resource_usage: it uses more than the operations in the file hold there; here the rest counts as free"
    )
    work = {"op": operation([allocation("x"), allocation("y")])}

    assert notes(imported(PLAIN, [node(resource_usage=usage)])) == [message]
    assert notes(imported(PLAIN, [node(resource_usage=usage)], work)) == []


def test_what_is_not_carried_over_is_named() -> None:
    found = imported(PLAIN, [node(decommissioned=True, scheduling_segment="default")])

    assert notes(found) == [
        "node n1: decommissioned: that its data is moved away means nothing to a plan",
        "node n1: scheduling_segment: scheduling segments are not planned here",
    ]


WRONG: dict[str, tuple[Any, str]] = {
    "a number": (3, "nodes: 3 is no list of nodes"),
    "no names": ("[<a=1>5]", "nodes: 5 is no name of a node"),
    "names alone": ('["n1";"n2"]', "nodes: node n1: resource_limits: this attribute is required and missing"),
    "no amount": ([node(resource_limits={"cpu": -1})], "nodes: node n1: resource_limits.cpu: -1 is negative"),
    "no tags": ([node(tags="a")], "nodes: node n1: tags: 'a' is no list"),
    "twice": ([node(), node()], "nodes: node n1: name: "),
    "a node of a cluster file": ([{**N1, "capacity": 3}], "nodes: node n1: capacity: "),
    "another node of a cluster file": ([{"nam": "n1"}], "nodes: node 0: name: "),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_node_is_refused(given: Any, message: str) -> None:
    assert problems(PLAIN, given)[0].startswith(message)
