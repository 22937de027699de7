"""Room that is held for a claimant: seen by all, entered by nobody else, given up with its time or its claimant."""

from typing import Any

import pytest

from cede.live.client.errors import ClientError
from tests.live.scenarios.scripts import SAVES, SAVING, SLEEPS, SLOW_TO_GO, SLOWLY
from tests.live.serving import Live, cluster_of, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return cluster_of("n1", "n2")


def test_a_hold_is_seen_and_has_a_deadline(live: Live) -> None:
    live.runs("leaver", SLOWLY, checkpoint=SAVES, members=2)
    live.preempt("leaver", members=2, cpu=3)

    held = live.wait("leaver-urgent", "held")
    assert (held["rule"], held["waits_for"], sorted(held["nodes"])) == ("live.held", ["leaver"], ["n1", "n2"])
    assert "leaver" in held["why"]
    assert held["deadline"] is not None
    leaving = live.client.job("leaver")
    assert (leaving["state"], leaving["claimant"]) == ("checkpointing", "leaver-urgent")
    for node in live.client.nodes():
        assert (node["held"]["cpu"], node["leaving"]["cpu"]) == (3, 4)
        assert node["workloads"] == ["leaver", "leaver-urgent"]
    assert live.client.queues()[0]["held"] == 1
    live.let_go("leaver")
    running = live.wait("leaver-urgent", "running")
    assert (running["waits_for"], running["deadline"]) == ([], None)
    assert live.node("n1")["held"] == {}


def test_nobody_slips_into_a_hold(live: Live) -> None:
    """Not even into the room that a first victim has left already, while the second has not."""
    live.runs("quick", SLEEPS)
    live.runs("slow", SLOWLY, checkpoint=SAVES)
    live.preempt("slow", members=2, cpu=3)
    live.wait("slow-urgent", "held")
    until(lambda: live.client.job("quick")["state"] == "pending")
    live.shell("equal", SLEEPS, cpu=3, priority=9)
    live.shell("lesser", SLEEPS, cpu=3, priority=5)
    live.shell("beside", SLEEPS, cpu=1, priority=5)

    assert live.client.job("slow-urgent")["waits_for"] == ["slow"]
    assert live.client.job("equal")["state"] == live.client.job("lesser")["state"] == "pending"
    live.wait("beside", "running")
    live.let_go("slow")
    live.wait("slow-urgent", "running")
    assert live.client.job("equal")["state"] == live.client.job("lesser")["state"] == "pending"


def test_a_hold_whose_deadline_is_over_is_given_up_and_its_victim_goes_on(live: Live) -> None:
    live.runs("dawdler", SLOWLY, checkpoint=SAVES, members=2)
    live.preempt("dawdler", members=2, times={"hold_timeout": 0.2})

    until(lambda: "live.hold-expired" in live.rules("dawdler-urgent"))
    assert "live.withdrawn" in live.rules("dawdler")


def test_a_claimant_that_is_cancelled_leaves_its_victim_alone(live: Live) -> None:
    live.runs("spared", SLOWLY, checkpoint=SAVES, members=2)
    live.preempt("spared", members=2)
    live.wait("spared-urgent", "held")
    live.client.cancel("spared-urgent")
    live.let_go("spared")

    live.happened("spared", "checkpointed")
    going_on = live.wait("spared", "running")
    assert (going_on["attempt"], going_on["preempted"], going_on["claimant"]) == (1, 0, None)
    assert going_on["checkpoint"]["last"] is not None
    assert all(node["held"] == {} and node["leaving"] == {} for node in live.client.nodes())
    assert "live.withdrawn" in live.rules("spared")


def test_a_victim_that_was_already_told_to_go_goes_though_its_claimant_was_cancelled(live: Live) -> None:
    live.runs("gone", SLOW_TO_GO, members=2)
    live.preempt("gone", members=2)
    live.wait("gone", "preempting")
    live.client.cancel("gone-urgent")
    live.let_go("gone")

    live.said("gone", "ready", attempt=2)
    assert live.client.job("gone")["preempted"] == 1


def test_two_urgent_claimants_at_once_have_a_hold_each(live: Live) -> None:
    live.runs("first", SLOWLY, checkpoint=SAVES)
    live.runs("second", SLOWLY, checkpoint=SAVES)
    live.preempt("first")
    live.preempt("second")

    one, other = live.wait("first-urgent", "held"), live.wait("second-urgent", "held")
    assert set(one["nodes"] + other["nodes"]) == {"n1", "n2"}
    assert set(one["waits_for"] + other["waits_for"]) == {"first", "second"}
    for name in ("first", "second"):
        live.let_go(name)
    live.wait("first-urgent", "running")
    live.wait("second-urgent", "running")
    assert all(live.client.job(name)["preempted"] == 1 for name in ("first", "second"))
    assert all(live.signals(name).count("hint") == 1 for name in ("first", "second"))


def test_one_room_for_two_urgent_claimants_goes_to_the_first(live: Live) -> None:
    live.runs("only", SAVING, checkpoint=SAVES, members=2)
    live.preempt("only", members=2)
    live.shell("too-late", SLEEPS, priority=9, members=2)

    live.wait("only-urgent", "running")
    assert live.client.job("too-late")["state"] == "pending"
    assert [one["victims"] for one in live.client.decisions(workload="only") if one["victims"]] == [["only"]]


def test_a_still_more_urgent_one_takes_a_room_that_is_held(live: Live) -> None:
    live.runs("bottom", SLOWLY, checkpoint=SAVES, members=2)
    live.preempt("bottom", members=2)
    live.wait("bottom-urgent", "held")
    live.shell("top", SLEEPS, priority=40, members=2)

    live.let_go("bottom")
    live.wait("top", "running")
    assert live.client.job("bottom-urgent")["state"] == "pending"
    assert live.signals("bottom").count("hint") == 1


def test_a_held_workload_that_somebody_suspends_gives_its_hold_up(live: Live) -> None:
    live.runs("stays", SLOWLY, checkpoint=SAVES, members=2)
    live.preempt("stays", members=2)
    live.wait("stays-urgent", "held")
    live.client.suspend("stays-urgent")

    parked = live.client.job("stays-urgent")
    assert (parked["state"], parked["nodes"]) == ("pending", [])
    live.let_go("stays")
    live.happened("stays", "checkpointed")
    assert live.wait("stays", "running")["attempt"] == 1
    with pytest.raises(ClientError, match="it is not suspended"):
        live.client.resume("stays")
    live.client.resume("stays-urgent")
    live.wait("stays-urgent", "running")
