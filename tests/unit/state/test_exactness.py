"""Amounts stay exact integers: they are never rounded, never overflow, and what could is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import Ended, NodePut, QueuePut, Submitted, apply
from cede.model.cluster import Node, Queue, Workload
from cede.model.errors import CedeError
from cede.state.build import build
from cede.state.state import State
from cede.state.units import FULL
from tests.state_views import bits, unsound

TIB = 2**40
HALF = 2**61
"""Half of what may be known of one resource in all."""


def state_of(**sections: Any) -> State:
    return build(parse_document({"cede": 1, **sections}))


def node(name: str = "n1", **amounts: int | str) -> dict[str, Any]:
    return {"name": name, "capacity": amounts}


def work(name: str, members: int = 1, **amounts: int | str) -> dict[str, Any]:
    return {"name": name, "members": members, "requests": amounts}


def free(state: State, name: str, resource: str) -> int:
    """In nano-units."""
    column = state.units.index[resource]
    return int(state.nodes.free[column, state.node_index[name]]) * state.units.nano[column]


def test_ten_thousand_nodes_of_two_tebibytes_add_up() -> None:
    state = state_of(nodes=[{**node(memory="2Ti"), "count": 10_000}])
    column = state.units.index["memory"]

    assert int(state.nodes.capacity[column].sum()) == 10_000 * 2 * TIB
    assert int(state.nodes.free[column].sum()) == 10_000 * 2 * TIB


def test_a_queue_adds_up_what_ten_thousand_such_nodes_run() -> None:
    running = {**work("w", 10_000, memory="2Ti"), "queue": "q", "state": "running"}
    state = state_of(queues=[{"name": "q", "parent": "root"}], workloads=[running])
    column = state.units.index["memory"]

    assert int(state.tree.usage[column, state.tree.index["root"]]) == 10_000 * 2 * TIB


def test_a_tenth_of_a_core_after_whole_cores_makes_every_amount_ten_times_finer() -> None:
    state = state_of(
        nodes=[{**node(cpu=4, memory="1Gi"), "occupied": {"cpu": 1}}],
        queues=[{"name": "q", "max": {"cpu": 3}, "guaranteed": {"memory": 5}}],
        workloads=[{**work("a", 2, cpu=1), "queue": "q", "state": "running", "nodes": ["n1", "n1"]}],
    )

    apply(state, Submitted(Workload.model_validate(work("b", cpu="100m"))))

    cpu, memory, row = state.units.index["cpu"], state.units.index["memory"], state.work_index["a"]
    assert state.units.nano[cpu] == 10**8
    assert (state.nodes.capacity[cpu, 0], state.nodes.occupied[cpu, 0]) == (40, 10)
    assert (state.nodes.used[cpu, 0], state.nodes.free[cpu, 0]) == (20, 10)
    assert (state.work.need[cpu, row], state.work.usage[cpu, row]) == (10, 20)
    assert (state.tree.max[cpu, 0], state.tree.usage[cpu, 0]) == (30, 20)
    assert state.work.need[cpu, state.work_index["b"]] == 1
    assert (state.nodes.capacity[memory, 0], state.tree.guaranteed[memory, 0]) == (2**30, 5)
    assert unsound(state) == []


def test_a_limit_that_is_not_given_stays_so_in_every_unit() -> None:
    state = state_of(queues=[{"name": "q", "max": {"cpu": 3}}])
    before = state.tree.lending_limit[:, 0].tolist()

    apply(state, Submitted(Workload.model_validate(work("b", cpu="1u"))))

    assert state.tree.lending_limit[:, 0].tolist() == before


def test_a_sum_of_flavors_that_no_one_flavor_shows_is_exact_on_the_node() -> None:
    placed = {**work("a", 1, **{"cpu@x": "500m", "cpu@y": "250m"}), "state": "running", "nodes": ["n1"]}
    state = state_of(nodes=[node(cpu=1)], workloads=[placed])

    assert free(state, "n1", "cpu") == 25 * 10**7


def test_a_nano_core_beside_billions_of_cores_is_refused() -> None:
    with pytest.raises(CedeError, match=r"'cpu' add up to 5000000000, .* in steps of 1n"):
        state_of(nodes=[node(cpu=5 * 10**9)], workloads=[work("a", cpu="1n")])


REFUSED: dict[str, tuple[dict[str, Any], Any]] = {
    "a node too many": (
        {"nodes": [node(memory=HALF)]},
        NodePut(Node.model_validate(node("n2", memory=HALF))),
    ),
    "a node that grew too large": (
        {"nodes": [node(memory=HALF), node("n2", memory=1)]},
        NodePut(Node.model_validate(node("n2", memory=HALF))),
    ),
    "too much in use by others": (
        {"nodes": [node(memory=HALF)]},
        NodePut(Node.model_validate({**node("n1", memory=HALF), "occupied": {"memory": HALF}})),
    ),
    "a workload too many": (
        {"workloads": [work("a", memory=HALF)]},
        Submitted(Workload.model_validate(work("b", memory=HALF))),
    ),
    "a gang that is too large in all": (
        {"workloads": []},
        Submitted(Workload.model_validate(work("b", 4, memory=2**60))),
    ),
    "pod sets that are too large in all": (
        {"workloads": []},
        Submitted(
            Workload.model_validate(
                {"name": "b", "pod_sets": [{"name": s, "count": 2, "requests": {"memory": 2**60}} for s in "xy"]}
            )
        ),
    ),
    "a usage that is too large": (
        {"workloads": [work("a", memory=HALF)]},
        Submitted(Workload.model_validate({**work("b", memory=1), "usage": {"memory": HALF}})),
    ),
    "flavors that are too much together": (
        {"workloads": [work("a", **{"memory@x": HALF})]},
        Submitted(Workload.model_validate(work("b", **{"memory@y": HALF}))),
    ),
    "a workload that asks for too fine a step": (
        {"nodes": [node(cpu=5 * 10**9)]},
        Submitted(Workload.model_validate(work("b", cpu="1n"))),
    ),
    "a node with too fine a step": (
        {"workloads": [work("a", cpu=5 * 10**9)]},
        NodePut(Node.model_validate(node("n1", cpu="1n"))),
    ),
    "a limit in too fine a step": (
        {"workloads": [work("a", **{"cpu@x": 5 * 10**9})]},
        QueuePut(Queue.model_validate({"name": "q", "max": {"cpu@x": "1n"}})),
    ),
    "more whole nodes than can be counted": (
        {"workloads": []},
        Submitted(Workload.model_validate({**work("b", 2**62 // FULL), "exclusive": True})),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_event_is_refused_and_changes_nothing_if_it_brings(case: str) -> None:
    sections, event = REFUSED[case]
    state = state_of(**sections)
    before = bits(state)

    with pytest.raises(CedeError, match=r"too much to count exactly|are too many"):
        apply(state, event)

    assert bits(state) == before


def test_what_an_event_may_not_bring_a_file_may_not_hold() -> None:
    with pytest.raises(CedeError, match=r"'memory' add up to 4611686018427387904"):
        state_of(workloads=[work("a", memory=HALF), work("b", memory=HALF)])


def test_what_ended_makes_room_for_as_much_again() -> None:
    state = state_of(nodes=[node(cpu=1)], workloads=[work("a", 2, memory=HALF // 2)])

    for turn in range(5):
        apply(state, Ended("ab"[turn % 2]))
        apply(state, Submitted(Workload.model_validate(work("ba"[turn % 2], 2, memory=HALF // 2))))

    assert state.units.total[state.units.index["memory"]] == HALF * 10**9


def test_a_node_that_comes_again_counts_once() -> None:
    state = state_of(nodes=[node(memory=HALF)])

    for _ in range(5):
        apply(state, NodePut(Node.model_validate(node(memory=HALF))))
        apply(state, QueuePut(Queue.model_validate({"name": "q", "max": {"memory": HALF - 1}})))

    assert state.units.total[state.units.index["memory"]] == HALF * 10**9
