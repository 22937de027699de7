"""What is kept of the clocks and volumes stands for the same memory, whatever became of the cluster meanwhile."""

from __future__ import annotations

import json
from typing import Any

import cede
from cede.doctrines.catalog import doctrine_of
from cede.doctrines.ytsaurus.memory import CycleMemory, kept, recalled
from cede.engine.cycle import plan_state
from cede.model.times import SECOND
from cede.state.build import build
from cede.state.snapshot import snapshot
from cede.state.state import State

SINCE = "below_fair_share_since"
NODE = [{"name": "n1", "capacity": {"cpu": 3}}]


def state_of(now: int = 0, **keys: Any) -> State:
    """Pool `a` has everything, of pool `b` one waits."""
    data = {
        "cede": 1,
        "now": now,
        "doctrine": "ytsaurus",
        "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
        "queues": [{"name": "a"}, {"name": "b"}],
        "workloads": [
            *(work(f"a{at}", "a", "exp", state="running", nodes=[f"n{1 + at // 2}"], started=-9) for at in range(4)),
            work("b0", "b", "claims"),
        ],
        **keys,
    }
    return build(cede.load(data).document)


def work(name: str, queue: str, app: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "queue": queue, "app": app, "requests": {"cpu": 2}, **keys}


def planned(state: State, *seconds: int, memory: dict[str, Any] | None = None) -> dict[str, Any]:
    """What is remembered after a plan at each of these times."""
    memory = {} if memory is None else memory
    for now in seconds:
        state.now = now * SECOND
        plan_state(state, doctrine_of(state.static.doctrine), memory=memory)
    return memory


def as_json(state: State, memory: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(kept(state, memory, None)))
    return found


def test_nothing_is_kept_of_nothing() -> None:
    state = state_of()

    assert kept(state, {}, None) == {}
    assert kept(state, {"ytsaurus": CycleMemory()}, None) == {}


def test_only_clocks_that_run_are_kept_and_how_one_starves_beside_them() -> None:
    state = state_of()
    memory = planned(state, 0, 31)

    assert as_json(state, memory) == {
        "apps": [{"name": "claims", "queue": "b", SINCE: 0, "starvation": 1}],
        "queues": [{"name": "b", SINCE: 0, "starvation": 1}],
        # That n2 preempts is a plan, of which nobody knows that it was carried out.
        "nodes": {"last_preemptive_attempt": [[0, ["n2"]], [31 * SECOND, ["n1"]]]},
    }


def test_what_is_recalled_is_kept_alike() -> None:
    state = state_of(queues=[{"name": "a"}, {"name": "b", "settings": {SINCE: -50}}], apps=[{"name": "exp"}])
    told = as_json(state, planned(state, 0, 3, 31))

    again = state_of()
    assert as_json(again, recalled(again, told)) == told
    planned(again, 32, memory=recalled(again, told))


def test_an_operation_without_a_pool_is_known_again() -> None:
    own = {"name": "own", "requests": {"cpu": 2}}
    state = state_of(workloads=[work("a0", "a", "exp", state="running", nodes=["n1"]), own], nodes=NODE)
    told = as_json(state, planned(state, 0))

    assert told["apps"] == [{"name": "own", SINCE: 0}]
    assert as_json(state, planned(state, 31, memory=recalled(state, told)))["apps"] == [
        {"name": "own", SINCE: 0, "starvation": 1}
    ]


def test_volumes_go_on_in_finer_units_and_with_another_resource() -> None:
    settings = {"integral_guarantees": {"guarantee_type": "relaxed", "resource_flow": {"cpu": 1}}}
    queues = [{"name": "a", "settings": settings}, {"name": "b"}]
    state = state_of(queues=queues, workloads=[])
    memory = planned(state, 0, 10)
    told = as_json(state, memory)
    assert (told["volumes"], told["resources"], told["updated"]) == ({"a": [10.0]}, {"cpu": 10**9}, 10 * SECOND)

    finer = [{"name": "n1", "capacity": {"cpu": "1500m", "memory": 6}}]
    for other in (state_of(queues=queues, workloads=[], nodes=finer), state_of(queues=queues, workloads=[])):
        again = planned(other, 20, memory=recalled(other, told))
        [pool] = [one for one in kept(other, again, 20 * SECOND)["queues"] if one["name"] == "a"]
        assert pool["accumulated_resource_volume"]["cpu"] == 20 * 10**9


def test_usage_of_late_is_kept_of_pools_and_of_operations_that_have_work() -> None:
    queues = [{"name": "a", "settings": {"historic_usage_aggregation_period": 10}}, {"name": "b"}]
    state = state_of(queues=queues)
    memory = planned(state, 0, 10)
    [told] = [one for one in as_json(state, memory)["apps"] if one["name"] == "exp"]
    assert told == {"name": "exp", "queue": "a", "historic_usage_share": 0.5}
    [later] = [one for one in kept(state, memory, 10 * SECOND)["apps"] if one["name"] == "exp"]
    assert later == told

    for name in [name for name in state.work_index if name.startswith("a")]:
        state.forget(state.work_index[name])
    assert "exp" not in {one["name"] for one in as_json(state, planned(state, 11, memory=memory)).get("apps", ())}


def test_an_operation_that_ended_is_another_one_when_its_name_comes_again() -> None:
    queues = [{"name": "a", "settings": {"historic_usage_aggregation_period": 10}}, {"name": "b"}]
    state = state_of(queues=queues)
    [entry] = [one for one in snapshot(state).workloads if one.name == "a0"]
    memory = planned(state, 0, 10)
    for name in [name for name in state.work_index if name.startswith("a")]:
        state.forget(state.work_index[name])
    planned(state, 11, memory=memory)

    state.submit(entry.like(name="later", uid="later", state="pending", nodes=None, started=None))
    planned(state, 12, memory=memory)
    [told] = [one for one in as_json(state, memory)["apps"] if one["name"] == "exp"]
    assert told["historic_usage_share"] == 0.0


def test_nodes_and_pools_that_are_no_more_are_left_out() -> None:
    state = state_of()
    told = as_json(state, planned(state, 0, 31))
    other = state_of(nodes=[{"name": "n2", "capacity": {"cpu": 4}}], queues=[{"name": "c"}], workloads=[])

    memory = planned(other, 32, memory=recalled(other, told))

    found = as_json(other, memory)
    assert "apps" not in found
    assert found["nodes"] == {"last_preemptive_attempt": [[32 * SECOND, ["n2"]]]}


def test_a_plan_of_the_moment_finds_what_was_tried_before_it() -> None:
    state = state_of()
    memory = planned(state, 0, 31)

    assert kept(state, memory, 31 * SECOND)["nodes"] == {"last_preemptive_attempt": [[0, ["n1", "n2"]]]}
    assert kept(state, memory, 32 * SECOND)["nodes"] == kept(state, memory, None)["nodes"]
