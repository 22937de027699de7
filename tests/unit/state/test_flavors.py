"""A node offers each resource in a flavor, and a member that pins one takes of it there and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import Ended, NodePut, Started, Submitted, apply
from cede.model.cluster import Node, Workload
from cede.state.build import build
from cede.state.columns import Int64s
from cede.state.snapshot import snapshot
from cede.state.state import State
from tests.state_views import unsound


def state_of(doctrine: str | None = None, **sections: Any) -> State:
    return build(parse_document({"cede": 1, **({"doctrine": doctrine} if doctrine else {}), **sections}))


def whole(state: State, counts: Int64s) -> dict[str, int]:
    """Whole units by name."""
    return {name: nano // 10**9 for name, nano in state.units.amounts(counts.tolist()).items()}


NODES: dict[str, tuple[dict[str, Any], dict[str, int], dict[str, int]]] = {
    "in the flavor of the node": (
        {"flavor": "spot", "capacity": {"cpu": 8}, "occupied": {"cpu": 1}},
        {"cpu": 8, "cpu@spot": 8},
        {"cpu": 1, "cpu@spot": 1},
    ),
    "in flavors of its own amounts": (
        {"capacity": {"gpu@a100": 4, "cpu": 8}, "occupied": {"gpu": 1, "cpu": 2}},
        {"gpu": 4, "gpu@a100": 4, "cpu": 8},
        {"gpu": 1, "gpu@a100": 1, "cpu": 2},
    ),
    "in both": (
        {"flavor": "spot", "capacity": {"gpu@a100": 4, "cpu": 8}, "occupied": {"gpu@a100": 1, "cpu": 2}},
        {"gpu": 4, "gpu@a100": 4, "cpu": 8, "cpu@spot": 8},
        {"gpu": 1, "gpu@a100": 1, "cpu": 2, "cpu@spot": 2},
    ),
    "in several at once": (
        {"flavor": "spot", "capacity": {"cpu@old": 3, "cpu": 5}, "occupied": {"cpu": 1}},
        {"cpu": 8, "cpu@old": 3, "cpu@spot": 5},
        {"cpu": 1, "cpu@spot": 1},
    ),
    "in several, and nobody knows of which is occupied": (
        {"capacity": {"cpu@old": 3, "cpu@new": 5}, "occupied": {"cpu": 1}},
        {"cpu": 8, "cpu@old": 3, "cpu@new": 5},
        {"cpu": 1},
    ),
    "in none": ({"capacity": {"cpu": 8}}, {"cpu": 8}, {}),
}


@pytest.mark.parametrize("case", NODES)
def test_a_node_has_what_it_offers(case: str) -> None:
    entry, capacity, occupied = NODES[case]

    for state in (state_of(nodes=[{"name": "n1", **entry}]), state_of()):
        apply(state, NodePut(Node.model_validate({"name": "n1", **entry})))
        assert whole(state, state.nodes.capacity[:, 0]) == capacity
        assert whole(state, state.nodes.occupied[:, 0]) == occupied


def test_a_node_without_a_flavor_offers_the_default_one_where_quota_is_in_flavors() -> None:
    nodes = [{"name": "n1", "capacity": {"cpu": 8}}, {"name": "n2", "flavor": "spot", "capacity": {"gpu": 4}}]
    state = state_of("kueue", nodes=nodes)

    assert whole(state, state.nodes.capacity[:, 0]) == {"cpu": 8, "cpu@default": 8}
    assert whole(state, state.nodes.capacity[:, 1]) == {"gpu": 4, "gpu@spot": 4}
    assert "gpu@default" in state.units.index


def test_every_flavor_of_a_resource_group_has_a_column_where_quota_is_in_flavors() -> None:
    groups = [{"resources": ["cpu", "memory"], "flavors": ["a", "b"]}]
    names = {"cpu@a", "cpu@b", "memory@a", "memory@b"}

    assert names <= state_of("kueue", queues=[{"name": "q", "resource_groups": groups}]).units.index.keys()
    assert not names & state_of(queues=[{"name": "q", "resource_groups": groups}]).units.index.keys()


def test_a_pinned_member_takes_of_the_resource_and_of_its_flavor() -> None:
    state = state_of(
        nodes=[{"name": "n1", "flavor": "spot", "capacity": {"cpu": 8}}],
        workloads=[{"name": "w", "requests": {"cpu@spot": 2, "cpu": 1}}, {"name": "x", "requests": {"cpu": 3}}],
    )

    apply(state, Started("w", ("n1",)))
    apply(state, Started("x", ("n1",)))
    assert whole(state, state.nodes.free[:, 0]) == {"cpu": 2, "cpu@spot": 6}
    apply(state, Ended("w"))
    assert whole(state, state.nodes.free[:, 0]) == {"cpu": 5, "cpu@spot": 8}


def test_a_resource_and_its_flavors_count_in_the_same_unit() -> None:
    state = state_of(
        nodes=[{"name": "n1", "flavor": "spot", "capacity": {"cpu": 8}}],
        queues=[{"name": "q", "max": {"cpu@old": 4}}],
    )

    apply(state, Submitted(Workload.model_validate({"name": "w", "requests": {"cpu": "250m"}})))
    assert {state.units.nano[state.units.index[name]] for name in ("cpu", "cpu@spot", "cpu@old")} == {10**7}
    assert state.tree.max[state.units.index["cpu@old"], 0] == 400
    apply(state, Submitted(Workload.model_validate({"name": "x", "requests": {"cpu@new": 1}})))
    assert state.units.nano[state.units.index["cpu@new"]] == 10**7
    assert unsound(state) == []


@pytest.mark.parametrize("doctrine", ["backendai", "kueue"])
def test_a_node_is_saved_as_it_was_given(doctrine: str) -> None:
    nodes = [
        {"name": "n1", "flavor": "spot", "capacity": {"cpu": 8}, "occupied": {"cpu": 1}},
        {"name": "n2", "capacity": {"gpu@a100": 4, "cpu": 8}},
        {"name": "n3", "capacity": {"cpu": 2}},
    ]
    document = parse_document({"cede": 1, "doctrine": doctrine, "nodes": nodes})

    assert snapshot(build(document)).nodes == document.nodes
