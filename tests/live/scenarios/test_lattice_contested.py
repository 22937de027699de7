"""Turns go by score, preemption does not: who waits for a node that somebody ahead just started on has it all the same,
and not only when something else happens."""

from typing import Any

import pytest

from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SLEEPS
from tests.live.serving import Live

pytestmark = pytest.mark.slow

N1: dict[str, Any] = {"constraints": {"nodes": ["n1"]}}
LENT: dict[str, Any] = {"constraints": {"nodes": ["lent"]}}


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    homes = {"lent": "hpc_batch"}
    return lattice_of("n1", "lent", homes=homes, queues=("hpc_batch", "ml_training", "sensitive"), value_rule=False)


def taken(live: Live, claimant: str) -> list[tuple[str, str]]:
    made = [one["decision"] for one in live.client.decisions(workload=claimant) if one["workload"] == claimant]
    return [(one["workload"], one["reason"]) for decision in made for one in decision.get("victims", [])]


def test_a_sensitive_claim_has_its_node_though_one_ahead_of_it_started_there(live: Live) -> None:
    live.runs("first", SLEEPS, queue="sensitive", priority=5, sensitive=True, **N1)
    live.shell("ahead", SLEEPS, queue="ml_training", priority=9, **N1)
    live.shell("claim", SLEEPS, queue="sensitive", priority=0, sensitive=True, **N1)
    assert {live.client.job(name)["state"] for name in ("ahead", "claim")} == {"pending"}

    live.client.cancel("first")

    live.wait("claim", "running")
    assert taken(live, "claim") == [("ahead", "sensitive")]
    assert live.client.job("ahead")["state"] == "pending"


def test_a_home_queue_has_its_node_back_though_a_guest_ahead_of_it_started_there(live: Live) -> None:
    live.runs("resident", SLEEPS, queue="hpc_batch", priority=9, **LENT)
    live.shell("guest", SLEEPS, queue="ml_training", priority=9, **LENT)
    live.shell("home", SLEEPS, queue="hpc_batch", priority=0, **LENT)
    assert {live.client.job(name)["state"] for name in ("guest", "home")} == {"pending"}

    live.client.cancel("resident")

    live.wait("home", "running")
    assert taken(live, "home") == [("guest", "reclaim")]
    assert live.client.job("guest")["state"] == "pending"
