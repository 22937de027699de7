"""Who queues again after a failure: never, when a node was at fault, or always, and how often."""

import os
import signal
from pathlib import Path

import pytest

from tests.live.scenarios.scripts import DEAF, POLITE, SAVES, SILENT, SLEEPS
from tests.live.serving import HASTY, Live, alive, cluster_of, serving, until

pytestmark = pytest.mark.slow

SUPERVISED = f"echo supervisor $PPID; {SLEEPS}"


def lose(live: Live, name: str) -> None:
    """Its supervisor dies, as it would with its machine."""
    said = live.said(name, "ready", attempt=1)
    os.kill(int(said.split()[1]), signal.SIGKILL)


def test_a_silent_victim_queues_again_unless_it_said_never(live: Live) -> None:
    live.runs("silent-once", SILENT, checkpoint=SAVES, times={"checkpoint_timeout": 1})
    urgent = live.preempt("silent-once", "sleep 0.2")

    live.said("silent-once", "ready", attempt=2)
    assert live.client.job(urgent)["state"] == "completed"
    again = live.wait("silent-once", "running")
    assert (again["requeues"], again["preempted"], again["attempt"]) == (1, 1, 2)
    assert live.signals("silent-once")[3:7] == ["hint", "evict", "fail", "requeue"]
    assert "from the start, 1 of at most 3 times" in next(
        e["why"] for e in live.events("silent-once") if e["signal"] == "requeue"
    )


def test_a_victim_whose_policy_is_never_ends_as_preempted_when_it_leaves_without_a_checkpoint(live: Live) -> None:
    live.runs("never", POLITE, requeue="never")
    live.preempt("never")

    ended = live.end("never")
    assert (ended["state"], ended["rule"], ended["preempted"]) == ("preempted", "live.preempted", 1)
    assert "never-urgent" in ended["why"]


def test_a_silent_victim_whose_policy_is_never_has_failed(live: Live) -> None:
    live.runs("never-deaf", DEAF, checkpoint=SAVES, requeue="never", times=HASTY)
    live.preempt("never-deaf")

    ended = live.end("never-deaf")
    assert (ended["state"], ended["rule"], ended["requeues"]) == ("failed", "live.unresponsive", 0)


def test_a_lost_workload_queues_again_when_its_node_was_at_fault(live: Live) -> None:
    live.runs("lost", SUPERVISED, requeue="on_node_failure")
    lose(live, "lost")

    live.said("lost", "ready", attempt=2)
    again = live.wait("lost", "running")
    assert (again["requeues"], again["preempted"]) == (1, 0)
    assert "live.node-failure" in live.rules("lost")


def test_nothing_of_a_lost_attempt_runs_beside_the_next(live: Live) -> None:
    live.runs("ghost", f"echo $$ >{live.data}/ghost-$CEDE_ATTEMPT; {SUPERVISED}")
    lose(live, "ghost")

    live.said("ghost", "ready", attempt=2)
    assert not alive(int((live.data / "ghost-1").read_text()))


def test_a_lost_workload_whose_policy_is_never_has_failed(live: Live) -> None:
    live.runs("lost-for-good", SUPERVISED, requeue="never")
    lose(live, "lost-for-good")

    ended = live.end("lost-for-good")
    assert (ended["state"], ended["rule"]) == ("failed", "live.node-failure")


def test_an_error_of_its_own_is_no_failure_of_a_node(live: Live) -> None:
    live.shell("own-fault", "exit 7", requeue="on_node_failure")

    ended = live.end("own-fault")
    assert (ended["state"], ended["rule"], ended["exit_code"]) == ("failed", "live.exit-code", 7)
    assert ended["attempt"] == 1


def test_a_workload_that_always_fails_queues_again_only_so_often(live: Live) -> None:
    live.shell("hopeless", "echo try $CEDE_ATTEMPT $CEDE_RESUME; exit 1", requeue="always", max_requeues=2)

    until(lambda: live.client.job("hopeless")["attempt"] == 3)
    ended = live.end("hopeless")
    assert (ended["state"], ended["attempt"], ended["requeues"]) == ("failed", 3, 2)
    assert [live.log("hopeless", attempt=n) for n in (1, 2, 3)] == ["try 1 0\n", "try 2 0\n", "try 3 0\n"]


def test_a_command_that_cannot_be_started_says_why(live: Live) -> None:
    live.submit("nowhere", "/no/such/program")
    live.shell("lost-folder", "true", cwd="/no/such/folder")

    for name, what in (("nowhere", "/no/such/program"), ("lost-folder", "/no/such/folder")):
        ended = live.end(name)
        assert (ended["state"], ended["rule"]) == ("failed", "live.cannot-start")
        assert what in ended["why"]


def test_nobody_is_told_that_what_is_tried_again_later_could_start_now(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1"), backoff={"delay": "4m"}) as live:
        live.shell("again", "false", requeue="always")
        live.happened("again", "back off")

        story = live.client.why("again")
        assert story["story"][-1]["sentence"].endswith("it is tried again in 4m, and later each time")
        assert story["stands_in_its_way"] is None
