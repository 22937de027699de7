"""A guest whose node was taken back does not take it again by its class from who is at home there."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.catalog import find
from cede.doctrines.lattice.memory import homes_of, kept, lasting, recalled
from cede.engine.cycle import plan_state
from tests.unit.drive.lattice_worlds import given, lattice
from tests.unit.lattice.small import node, nodes, policy, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
GUEST = whole("guest", "n1", queue="a", priority=9)
HOST = wants("host", queue="b", submitted=-36000)
CLUSTER = (node("n1", "b"), A, B, GUEST, HOST)


def remembered(cluster: cede.Cluster) -> dict[str, Any]:
    """What is remembered after one plan."""
    memory: dict[str, Any] = {}
    plan_state(cluster.state, find("lattice"), memory=memory)
    return memory


def test_who_is_sent_away_by_a_reclaim_is_remembered_with_whose_nodes_they_are() -> None:
    memory = remembered(policy(*CLUSTER))

    assert homes_of(memory, "guest") == ("b",)
    assert homes_of(memory, "host") == ()
    assert lasting(memory) == frozenset({("guest", "b")})


@pytest.mark.parametrize(
    "claimant", [wants("in", queue="a", priority=9), wants("in", queue="a", sensitive=True, required_node="n1")]
)
def test_other_reasons_are_not_remembered(claimant: Any) -> None:
    cluster = policy(node("n1"), A, whole("guest", "n1", queue="a", priority=1), claimant)

    assert cede.plan(cluster).victims == {"guest"}
    assert remembered(cluster) == {}


@pytest.mark.parametrize("guest", [0, 4, 9])
def test_home_wins_in_the_end_whatever_the_class_of_the_guest(guest: int) -> None:
    entries = (node("n1", "b"), A, B, whole("guest", "n1", queue="a", priority=guest), wants("host", queue="b"))
    end = cede.settle(policy(*entries), cycles=50)

    assert (end.settled, end.loop) == (True, None)
    assert dict(end.running) == {"host": ["n1"]}
    assert set(end.pending) == {"guest"}
    once = [one.victim for one in end.preemptions]
    assert max(once.count(name) for name in set(once)) <= 2


def test_elsewhere_the_guest_may_use_its_class() -> None:
    """Somebody of class 0 who is nowhere at home has to go instead."""
    entries = (*CLUSTER, node("n2"), whole("low", "n2", queue="b"))
    end = cede.settle(policy(*entries), cycles=50)

    assert dict(end.running) == {"host": ["n1"], "guest": ["n2"]}


def test_a_guest_that_was_never_sent_away_may_use_its_class_there() -> None:
    entries = (node("n1", "b"), A, B, whole("host", "n1", queue="b"), wants("in", queue="a", priority=9))

    assert cede.plan(policy(*entries)).victims == {"host"}


def test_what_is_kept_is_of_those_who_are_there_and_comes_back_the_same() -> None:
    cluster = policy(*CLUSTER)
    memory = remembered(cluster)
    said = kept(cluster.state, memory, None)

    assert said == {"sent_home": {"guest": ["b"]}}
    assert recalled(cluster.state, said) == memory
    gone = policy(*nodes("n1"), A, B)
    assert kept(gone.state, memory, None) == {}
    assert recalled(gone.state, {}) == {}


def test_it_outlives_a_restart_of_the_driver() -> None:
    world = lattice("b")
    world.run("guest", queue="a", cpu=4, priority=9, terms=given())
    world.submit("host", queue="b", cpu=4, priority=0, after=100)
    world.exit("guest", after=1)
    for _ in range(4):
        if world.phase("host") == "preempting":
            world.exit("host", after=1)
        world.restart()
        world.wait(1)
        for name in sorted(process.name for process in world.processes.values() if process.told):
            world.exit(name, after=1)
        for name in sorted(process.name for process in world.processes.values() if not process.began):
            world.begin(name)

    assert world.phases() == {"guest": "pending", "host": "running"}
