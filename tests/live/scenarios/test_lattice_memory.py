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
