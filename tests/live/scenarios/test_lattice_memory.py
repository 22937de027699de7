"""What a server says it would do is what it does: a plan of it remembers what its scheduler remembers."""

from typing import Any

import pytest

from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SLEEPS
from tests.live.serving import Live

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    homes = {"lent": "hpc_batch"}
    return lattice_of("n1", "lent", homes=homes, queues=("hpc_batch", "ml_training"), value_rule=False)


def test_who_was_sent_home_is_told_that_it_waits_as_it_does(live: Live) -> None:
    there: dict[str, Any] = {"constraints": {"nodes": ["lent"]}}
    live.runs("guest", SLEEPS, queue="ml_training", priority=6, **there)
    live.shell("home", SLEEPS, queue="hpc_batch", priority=1, **there)
    live.wait("home", "running")
    live.wait("guest", "pending")

    told = live.client.why("guest")["stands_in_its_way"]
    planned = live.client.plan(only="guest", explain=True)["decisions"]
    differs = live.client.diff(set=["workloads[guest].job_priority=2"])

    assert told is not None
    assert [told["action"], *(one["action"] for one in planned)] == ["wait", "wait"]
    assert [(one["workload"], one["rule"]) for one in planned[0]["candidates"]] == [("home", "lattice.sent-home")]
    assert (differs["evicted"], differs["spared"]) == ([], [])
    assert live.client.job("home")["state"] == "running"


def test_a_certificate_does_not_offer_what_is_protected_by_memory(live: Live) -> None:
    dear: dict[str, Any] = {"checkpoint": {"mode": "manual"}}
    live.runs("dear", SLEEPS, queue="ml_training", priority=2, constraints={"nodes": ["n1"]}, **dear)
    live.runs("away", SLEEPS, queue="ml_training", priority=6, constraints={"nodes": ["lent", "n1"]})
    live.shell("host", SLEEPS, queue="hpc_batch", priority=1, constraints={"nodes": ["lent"]})
    live.wait("host", "running")
    live.happened("dear", "evict")
    live.wait("away", "running")

    (number,) = (one["number"] for one in live.client.decisions(workload="dear") if one["victims"] == ["dear"])
    made = live.client.decision(number, certify=20)["decision"]["certificate"]
    assert (made["optimal"], made.get("better")) == (True, None), "host would be cheaper, but took its node back"


@pytest.mark.parametrize("restarts", [False, True])
def test_one_that_was_suspended_meanwhile_is_still_known_to_have_been_sent_home(live: Live, restarts: bool) -> None:
    guest, home, more = (f"{name}-{restarts}" for name in ("away", "home", "more"))
    there: dict[str, Any] = {"constraints": {"nodes": ["lent"]}}
    live.runs(guest, SLEEPS, queue="ml_training", priority=6, **there)
    live.shell(home, SLEEPS, queue="hpc_batch", priority=1, **there)
    live.wait(home, "running")
    live.client.suspend(guest)
    if restarts:
        live.stop()
        live.start()
    live.client.resume(guest)

    live.submit(more, "true", queue="ml_training", constraints={"nodes": ["n1"]})
    live.completed(more)
    assert (live.client.job(guest)["state"], live.client.job(home)["state"]) == ("pending", "running")
    assert live.client.job(home)["preempted"] == 0
