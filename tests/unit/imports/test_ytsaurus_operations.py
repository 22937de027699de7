"""Operations as apps, allocations and what is still needed as workloads."""

from typing import Any

import pytest

import cede
from cede.imports.ytsaurus import operations as module
from tests.unit.imports.ytsaurus_files import (
    GI,
    NOW,
    PLAIN,
    allocation,
    document,
    imported,
    node,
    notes,
    operation,
    problems,
)

NODES = [node()]
REQUESTS = {"cpu": 1, "user_slots": 1, "memory": GI}


def app(**more: Any) -> dict[str, Any]:
    """The app that an operation of such keys becomes."""
    [found] = document(PLAIN, NODES, {"op": operation(**more)})["apps"]
    return dict(found)


def test_an_operation_is_an_app_and_its_allocations_are_workloads() -> None:
    given = operation([allocation("x")], needed=2, weight=2.0, authenticated_user="ann")
    found = document(PLAIN, NODES, {"op": given})
    pending = {"queue": "a", "app": "op", "requests": REQUESTS, "submitted": "2026-03-02T08:50:00Z"}

    assert found["now"] == "2026-03-02T08:59:00Z"
    assert found["apps"] == [{"name": "op", "queue": "a", "weight": 2.0, "user": "ann"}]
    assert found["workloads"] == [
        {
            "name": "x",
            "queue": "a",
            "app": "op",
            "state": "running",
            "requests": REQUESTS,
            "nodes": ["n1"],
            "submitted": "2026-03-02T08:50:00Z",
            "started": "2026-03-02T08:59:00Z",
        },
        {"name": "op/task-0", **pending},
        {"name": "op/task-1", **pending},
    ]
    assert cede.load(found).to_dict()["apps"] == [{"name": "op", "queue": "a", "weight": 2, "user": "ann"}]


FORMS: dict[str, Any] = {
    "by id": {"op": operation([allocation("x")])},
    "a list": [{"id": "op", **operation([allocation("x")])}],
    "within another": {"operations": {"op": operation([allocation("x")])}},
    "with attributes": {"op": {"$value": operation([allocation("x")]), "$attributes": {"opaque": True}}},
    "allocations by id": {"op": operation() | {"allocations": {"x": allocation("x")}}},
    "another name of theirs": {"op": operation() | {"allocations": None, "running_allocations": [allocation("x")]}},
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS.keys())
def test_operations_may_be_written_in_several_forms(given: Any) -> None:
    found = imported(PLAIN, NODES, given)

    assert [one["name"] for one in found.document["workloads"]] == ["x"]
    assert [one["name"] for one in found.document["apps"]] == ["op"]
    assert notes(found) == []


def test_jobs_as_yt_lists_them_will_do() -> None:
    job = {"id": "x", "address": "n1", "start_time": NOW, "resources": {"cpu": 2}}
    [found] = document(PLAIN, NODES, {"op": operation([job])})["workloads"]

    assert (found["nodes"], found["requests"], found["started"]) == (["n1"], {"cpu": 2}, NOW)


def test_operations_of_several_files_stand_together() -> None:
    given = [{"id": "one", **operation()}, {"id": "two", **operation()}]

    assert [one["name"] for one in document(PLAIN, NODES, given)["apps"]] == ["one", "two"]
    assert problems(PLAIN, NODES, [given[0], given[0]]) == ["operations: operation one: it is given twice"]


def test_options_of_the_spec_are_settings() -> None:
    spec = {
        "fair_share_starvation_timeout": 60000,
        "is_gang": True,
        "scheduling_tag_filter": "ssd",
        "weight": 3,
        "mapper": {"command": "cat"},
    }

    assert app(spec=spec) == {
        "name": "op",
        "queue": "a",
        "weight": 3,
        "settings": {"fair_share_starvation_timeout": "1m", "is_gang": True, "scheduling_tag_filter": "ssd"},
    }
    assert app(spec=spec, weight=4.0)["weight"] == 4


def test_what_the_scheduler_says_of_limits_and_clocks_is_kept() -> None:
    found = app(
        specified_resource_limits={"user_slots": 5},
        resource_limits={"cpu": 1000},
        starvation_status="starving",
        below_fair_share_since="2026-03-02T08:58:00.000000Z",
    )

    assert found["settings"] == {
        "resource_limits": {"user_slots": 5},
        "below_fair_share_since": "2026-03-02T08:58:00Z",
    }


def test_options_for_the_tree_count_before_those_of_the_spec() -> None:
    options = {"x": {"weight": 5, "resource_limits": {"cpu": 1}}, "y": {"weight": 7}}
    work = {"op": operation(spec={"weight": 3, "scheduling_options_per_pool_tree": options})}
    [found] = document("{x=<config={}>{a={}};y={}}", NODES, work, tree="x")["apps"]

    assert (found["weight"], found["settings"]) == (5, {"resource_limits": {"cpu": 1}})


def test_an_operation_without_a_pool_is_below_the_root() -> None:
    found = document(PLAIN, NODES, {"op": operation([allocation("x")], pool=None)})

    assert found["apps"] == [{"name": "op"}]
    assert "queue" not in found["workloads"][0]


@pytest.mark.parametrize(("name", "above"), [("a$ann", "a"), ("ann", None), ("c$ann", None)])
def test_a_pool_that_was_made_on_the_fly_becomes_a_queue(name: str, above: str | None) -> None:
    found = imported(PLAIN, NODES, {"op": operation(pool=name), "two": operation(pool=name)})
    parent = {} if above is None else {"parent": above}

    assert found.document["queues"][2:] == [{"name": name, **parent}]
    assert notes(found) == [
        f"operation op: pool: its pool {name} is not in the tree, so it is put below {above or 'the root'}"
    ]


def test_of_a_suspended_operation_only_what_runs_is_taken() -> None:
    found = imported(PLAIN, NODES, {"op": operation([allocation("x")], needed=3, suspended=True)})

    assert [one["name"] for one in found.document["workloads"]] == ["x"]
    assert notes(found) == [
        "operation op: grouped_needed_resources: "
        "it is suspended: what it still needs is left out, for a plan would start it"
    ]
    assert {place.name for place in found.left_out} == {"op"}


def test_what_is_not_known_is_noted() -> None:
    usage = {"cpu": 2, "memory": GI, "user_slots": 1}
    given = operation([allocation("x", "n9")], resource_usage=usage, starvation_status="starving")

    assert notes(imported(PLAIN, NODES, {"op": given})) == [
        "allocation x: node: its node is not among the nodes, so it takes room on none",
        "operation op: resource_usage: "
        "it uses more than the allocations that are listed hold; the rest is not in the file",
        "operation op: starvation_status: since when it is below its fair share is not said; "
        "`below_fair_share_since` says it, else the clock starts now",
    ]


def test_the_clock_can_be_set() -> None:
    assert document(PLAIN, NODES, {"op": operation()}, now=NOW)["now"] == NOW
    assert document(PLAIN, NODES, now=NOW)["now"] == NOW
    assert problems(PLAIN, now=NOW) == ["--now: means the state of a cluster (add --operations)"]
    assert problems(PLAIN, NODES, now="soon")[0].startswith("--now: 'soon' is no time")


def test_no_more_is_written_out_than_one_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PENDING", 5)

    assert len(document(PLAIN, NODES, {"op": operation(needed=5)})["workloads"]) == 5
    assert problems(PLAIN, NODES, {"op": operation(needed=3), "two": operation(needed=3)}) == [
        "operations: operation two: grouped_needed_resources.task.allocation_count: "
        "that is more than 5 allocations that wait, which is the most"
    ]


WRONG: dict[str, tuple[Any, str]] = {
    "a number": (3, "operations: 3 is no set of operations"),
    "an operation that is a number": ({"op": 3}, "operations: operation op: 3 is no operation"),
    "a list without ids": ([operation()], "operations: [0]: this has no id"),
    "an allocation without an id": (
        {"op": operation([{"node": "n1", "resources": {"cpu": 1}}])},
        "operations: operation op: allocations[0].id: this key is required and missing",
    ),
    "an allocation of nothing": (
        {"op": operation([{"id": "x", "node": "n1"}])},
        "operations: allocation x: resource_usage: this key is required and missing",
    ),
    "no time": (
        {"op": operation([allocation("x", start_time="then")])},
        "operations: allocation x: start_time: 'then' is no time",
    ),
    "a group without resources": (
        {"op": operation(grouped_needed_resources={"map": {"allocation_count": 1}})},
        "operations: operation op: grouped_needed_resources.map.min_needed_resources: ",
    ),
    "less than none": (
        {"op": operation(grouped_needed_resources={"map": {"allocation_count": -1}})},
        "operations: operation op: grouped_needed_resources.map.allocation_count: -1 is negative",
    ),
    "an option": (
        {"op": operation(spec={"preemption_mode": "rude"})},
        "operations: operation op: spec.preemption_mode: ",
    ),
    "an allocation twice": ({"op": operation([allocation("x"), allocation("x")])}, "operations: allocation x: name: "),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_operation_is_refused(given: Any, message: str) -> None:
    assert problems(PLAIN, NODES, given)[0].startswith(message)
