"""Under Lattice, a server that is told to asks for checkpoints that are worth it, though nobody must leave."""

from typing import Any

import pytest

from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SAVING, SLEEPS
from tests.live.serving import Live

pytestmark = pytest.mark.slow
TWO_MINUTES = 120


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    """By the library's reckoning, whoever never wrote a checkpoint is due when the next minute begins."""
    made = lattice_of("n1", "n2")
    return made | {"doctrine": {"name": "lattice", "edition": "core"}}


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"checkpoints": "worth"}


def test_who_saves_when_asked_is_asked_and_runs_on(live: Live) -> None:
    live.runs("deaf", SLEEPS, checkpoint={"mode": "none"})
    live.runs("saves", SAVING, checkpoint={"mode": "auto", "protocol": "signal"})
    live.happened("saves", "checkpointed", within=TWO_MINUTES)

    job = live.client.job("saves")
    assert (job["state"], job["attempt"], job["preempted"]) == ("running", 1, 0)
    assert "live.worth-saving" in live.rules("saves")
    assert "are saved nowhere" in str(live.client.why("saves"))
    assert "hint" not in live.signals("deaf")
