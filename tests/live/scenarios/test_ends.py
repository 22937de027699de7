"""How a workload ends when two ends meet: its own, its walltime, and that of its room."""

import pytest

from tests.live.scenarios.scripts import DEAF, SAVES, SAVING, SLEEPS, answering
from tests.live.serving import HASTY, LATE_S, Live, alive, until

pytestmark = pytest.mark.slow

LISTENS_S = 6
"""By then a command has set its traps, though it counts from the moment it was started."""


def test_a_victim_that_ends_by_itself_before_it_has_saved_has_completed(live: Live) -> None:
    live.runs("done-first", answering("exit 0"), checkpoint=SAVES)
    urgent = live.preempt("done-first")

    ended = live.end("done-first")
    assert (ended["state"], ended["rule"], ended["preempted"]) == ("completed", "live.completed", 0)
    live.wait(urgent, "running")


def test_a_victim_that_ends_by_itself_with_an_error_has_failed(live: Live) -> None:
    live.runs("broken", answering("exit 4"), checkpoint=SAVES)
    live.preempt("broken")

    ended = live.end("broken")
    assert (ended["state"], ended["rule"], ended["exit_code"]) == ("failed", "live.exit-code", 4)
    assert ended["preempted"] == 0


@pytest.mark.parametrize("code", [0, 5])
def test_a_victim_that_saves_and_goes_is_suspended_whatever_it_ends_with(live: Live, code: int) -> None:
    # It goes by itself: it does not hear that it is told to, as soon as it has answered.
    live.runs(f"goes-{code}", answering(f"trap '' TERM; put done \"$hint\"; exit {code}"), checkpoint=SAVES)
    live.preempt(f"goes-{code}")

    left = live.wait(f"goes-{code}", "suspended")
    assert (left["preempted"], left["exit_code"], left["attempt"]) == (1, code, 1)


def test_a_victim_that_is_told_to_go_and_ends_well_by_then_queues_again(live: Live) -> None:
    live.runs("obeys", "trap 'exit 0' TERM; sleep 300 & echo ready; wait")
    live.preempt("obeys")

    left = live.wait("obeys", "pending")
    assert (left["preempted"], left["exit_code"]) == (1, 0)


def test_a_workload_that_is_over_its_walltime_is_told_to_go_and_has_failed(live: Live) -> None:
    live.shell("late", "trap 'echo bye; exit 0' TERM; sleep 300 & wait", walltime=LISTENS_S)

    ended = live.end("late")
    assert (ended["state"], ended["rule"]) == ("failed", "live.walltime")
    assert f"{LISTENS_S}s" in ended["why"]
    assert live.log("late") == "bye\n"
    assert live.signals("late")[3:] == ["expire", "fail"]
    assert LISTENS_S <= live.seconds_between("late", "began", "expire") < LISTENS_S + LATE_S


def test_a_workload_that_ignores_the_end_of_its_walltime_is_killed(live: Live) -> None:
    live.shell("later", DEAF, walltime=LISTENS_S, times=HASTY)

    ended = live.end("later")
    assert (ended["state"], ended["rule"], ended["exit_signal"]) == ("failed", "live.walltime", 9)


def test_walltime_wins_over_checkpointing(live: Live) -> None:
    live.runs("torn", answering('put progress "$hint 0.1"; sleep 300'), checkpoint=SAVES, walltime=20)
    live.preempt("torn", times={"hold_timeout": 60})

    live.happened("torn", "expire")
    ended = live.end("torn")
    assert (ended["state"], ended["rule"]) == ("failed", "live.walltime")
    assert live.signals("torn")[3:] == ["hint", "expire", "fail"]
    live.wait("torn-urgent", "running")


def test_a_victim_that_saved_before_its_walltime_was_over_is_suspended(live: Live) -> None:
    """Its time counts by the attempt."""
    live.runs("saved-first", SAVING, checkpoint=SAVES, walltime=30)
    live.preempt("saved-first")

    left = live.wait("saved-first", "suspended")
    assert left["walltime"] == "30s"


def test_processes_that_a_workload_leaves_behind_end_with_it(live: Live) -> None:
    strays = f"(setsid sleep 300 & echo $! >{live.data}/stray); echo ready; exit 0"
    live.shell("parent", strays)

    live.completed("parent")
    pid = int((live.data / "stray").read_text())
    until(lambda: not alive(pid))


def test_a_workload_that_cannot_write_a_checkpoint_on_request_goes_on(live: Live) -> None:
    live.runs("unable", answering('put failed "$hint out of ink"'), checkpoint=SAVES)
    live.client.checkpoint("unable")

    live.happened("unable", "give up")
    assert live.wait("unable", "running")["attempt"] == 1
    assert "out of ink" in live.events("unable")[-1]["why"]


def test_a_workload_that_is_silent_when_asked_goes_on_too(live: Live) -> None:
    live.runs("quiet", f"trap '' USR1; {SLEEPS}", checkpoint=SAVES, times={"checkpoint_timeout": 0.3})
    live.client.checkpoint("quiet")

    live.happened("quiet", "give up")
    assert live.wait("quiet", "running")["attempt"] == 1
