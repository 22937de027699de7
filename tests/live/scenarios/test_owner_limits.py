"""Who ignores what it is told keeps nobody waiting: killed now by whoever may, and clamped where the limits fell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cede.live.client import Client
from cede.live.config import ServerLimits
from tests.live.scenarios.scripts import DEAF, SAVES, SAVING
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import Live, cluster_of, serving

pytestmark = pytest.mark.slow

WEEKS = {"grace_period": "590h"}


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"limits": {"grace_period": "1000h"}}


def test_one_that_ignores_it_for_weeks_is_cancelled_now(live: Live) -> None:
    live.runs("deaf", DEAF, times=WEEKS)
    assert live.client.cancel("deaf")["state"] == "cancelling"

    live.client.cancel("deaf", now=True)
    ended = live.end("deaf")
    assert (ended["state"], ended["exit_signal"]) == ("cancelled", 9)


def test_one_that_ignores_it_for_weeks_is_suspended_now_and_can_be_resumed(live: Live) -> None:
    live.runs("still", DEAF, times=WEEKS)

    live.client.suspend("still", now=True)
    live.wait("still", "pending")
    assert "live.parked" in live.rules("still")
    live.client.resume("still")
    live.wait("still", "running")
    live.client.cancel("still", now=True)
    live.end("still")


def test_one_that_saves_is_suspended_now_without_being_asked(live: Live) -> None:
    live.runs("saves", SAVING, checkpoint=SAVES)

    live.client.suspend("saves", now=True)
    live.wait("saves", "pending")
    assert "hint" not in live.signals("saves")


def test_what_is_stored_above_a_new_maximum_runs_on_with_that_maximum_and_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1"), limits={"grace_period": "1000h"}) as live:
        live.runs("old", DEAF, times=WEEKS)
        live.stop()
        live.config = live.config.model_copy(update={"limits": ServerLimits(grace_period=1)})
        live.start()
        live.happened("old", "clamp")

        assert live.client.job("old")["state"] == "running"
        says = (
            "grace_period 590h is 30s from now on (limits.grace_period)"  # the server gives 30 s to who asks for none
        )
        assert any(says in notice and notice.startswith("old was") for notice in live.client.server()["notices"])
        stranger = Client(live.client.url, live.client.make_token("eve")["token"])
        [notice] = [notice for notice in stranger.server()["notices"] if says in notice]
        assert notice.startswith("hidden-")
        stranger.close()
        assert any(says in event["why"] for event in live.events("old"))
        live.client.cancel("old")
        assert "with 30s before it is killed" in live.client.job("old")["why"]
        live.client.cancel("old", now=True)
        assert live.end("old")["state"] == "cancelled"
    assert_replays(tmp_path)
