"""Nodes that are drained: what runs there ends in peace, or is sent away."""

from typing import Any

import pytest

from tests.live.scenarios.scripts import POLITE, SAVES, SAVING, SILENT, SLEEPS
from tests.live.serving import Live, cluster_of, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return cluster_of("n1", "n2")


def other(node: str) -> str:
    return {"n1": "n2", "n2": "n1"}[node]


def test_nothing_new_starts_on_a_drained_node_and_what_runs_there_goes_on(live: Live) -> None:
    (node,) = live.runs("resident", SLEEPS)["nodes"]
    assert live.client.drain(node)["state"] == "cordoned"
    live.runs("elsewhere", SLEEPS)
    live.shell("homeless", "echo here")

    assert live.client.job("elsewhere")["nodes"] == [other(node)]
    assert live.client.job("homeless")["state"] == "pending"
    assert live.client.job("resident")["state"] == "running"
    live.client.cancel("resident")
    live.end("resident")
    assert live.client.job("homeless")["state"] == "pending"
    assert live.client.undrain(node)["state"] == "ready"
    assert live.end("homeless")["nodes"] == [node]


def test_what_runs_on_a_drained_node_leaves_it_with_its_checkpoint_if_it_shall(live: Live) -> None:
    (node,) = live.runs("mover", SAVING, checkpoint=SAVES)["nodes"]
    live.client.drain(node, evict=True)

    live.said("mover", "ready 2 1", attempt=2)
    moved = live.wait("mover", "running")
    assert (moved["nodes"], moved["attempt"]) == ([other(node)], 2)
    assert live.signals("mover")[3:7] == ["hint", "saved", "evict", "suspend"]
    assert live.node(node)["workloads"] == []


def test_what_saves_nothing_begins_anew_elsewhere(live: Live) -> None:
    (node,) = live.runs("restarter", POLITE)["nodes"]
    live.client.drain(node, evict=True)

    live.said("restarter", "ready", attempt=2)
    assert live.wait("restarter", "running")["nodes"] == [other(node)]


def test_a_drain_with_eviction_after_one_without_sends_away_too(live: Live) -> None:
    (node,) = live.runs("reluctant", POLITE)["nodes"]
    live.client.drain(node)
    assert live.client.job("reluctant")["state"] == "running"
    live.client.drain(node, evict=True)

    live.said("reluctant", "ready", attempt=2)
    assert live.wait("reluctant", "running")["nodes"] == [other(node)]


def test_a_hold_on_a_drained_node_is_lost(live: Live) -> None:
    live.runs("leaver", SILENT, checkpoint=SAVES, members=2, times={"checkpoint_timeout": 600})
    live.preempt("leaver", members=2)
    live.wait("leaver-urgent", "held")
    live.client.drain("n1")

    assert live.client.job("leaver-urgent")["state"] == "pending"
    assert "live.hold-lost" in live.rules("leaver-urgent")
    assert "live.withdrawn" in live.rules("leaver")


def test_the_state_of_a_node_outlives_the_server(live: Live) -> None:
    live.client.drain("n2")
    live.stop()
    live.start()

    assert (live.node("n1")["state"], live.node("n2")["state"]) == ("ready", "cordoned")


def test_a_gang_is_placed_where_there_are_nodes_enough(live: Live) -> None:
    live.client.drain("n1")
    live.shell("gang", "sleep 0.1", members=2)
    assert live.client.job("gang")["state"] == "pending"

    live.client.undrain("n1")
    live.completed("gang")
    until(lambda: all(node["used"] == {} for node in live.client.nodes()))
