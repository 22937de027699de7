import os
import signal
import time
from pathlib import Path
from shlex import quote

import pytest

from cede.engine.drive.facts import Began, Exited
from cede.engine.drive.orders import Kill
from cede.live.executors.local.guard import files, procfs
from tests.live.executor.stand import Stand, shell, task, until

IGNORES = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
STRAY = "setsid sh -c 'trap \"\" TERM; echo stray; exec sleep 100' & "


def test_one_that_is_told_ends_at_once_and_says_it_was_told(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    stand.terminate("job")

    assert stand.wait(Exited, "job") == Exited("job", 1, signal=15, told=True)


def test_one_that_minds_the_signal_ends_as_it_likes(stand: Stand) -> None:
    stand.run("job", shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done"))
    stand.said("job", "ready")
    stand.terminate("job")

    assert stand.wait(Exited, "job") == Exited("job", 1, code=7, told=True)
    assert stand.text("job").endswith("bye\n")


def test_one_that_ignores_the_signal_is_killed_after_its_grace(stand: Stand) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    told = time.monotonic()
    stand.terminate("job", grace_s=0.3)

    assert stand.wait(Exited, "job") == Exited("job", 1, signal=9, told=True)
    assert time.monotonic() - told >= 0.3


def test_a_later_order_never_moves_the_deadline_back(stand: Stand) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    stand.terminate("job", grace_s=0.3)
    stand.terminate("job", grace_s=100)

    assert stand.wait(Exited, "job").signal == 9


def test_the_grace_ends_though_the_server_is_gone(stand: Stand) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    stand.terminate("job", grace_s=0.3)
    stand.executor.close()

    until(lambda: (stand.folder("job") / "exit.json").exists() and not stand.supervised())
    stand.executor = stand._new()
    stand.open()
    stand.executor.adopt({"job": 1})
    assert stand.wait(Exited, "job") == Exited("job", 1, signal=9, told=True)


def test_a_kill_needs_no_grace(stand: Stand) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    stand.executor.kill(Kill("job", 1))

    assert stand.wait(Exited, "job") == Exited("job", 1, signal=9, told=True)


def test_who_is_killed_at_once_has_it_written_down_why(stand: Stand) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    stand.executor.kill(Kill("job", 1, "cancel"))

    assert stand.wait(Exited, "job").cause == "cancel"


@pytest.mark.parametrize("again", ["terminate", "kill"])
def test_who_was_cancelled_was_so_whatever_it_was_told_for_before(stand: Stand, again: str) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    stand.terminate("job", cause="preempt")
    if again == "kill":
        stand.executor.kill(Kill("job", 1, "cancel"))
    else:
        stand.terminate("job", grace_s=0.1, cause="cancel")

    assert stand.wait(Exited, "job").cause == "cancel"


def test_one_that_lost_its_supervisor_when_it_was_told_has_it_written_down_why(stand: Stand) -> None:
    stand.run("job", shell(IGNORES))
    stand.said("job", "ready")
    stand.terminate("job", cause="preempt")
    stand.terminate("job", cause="cancel")
    os.kill(stand.supervisor("job"), signal.SIGKILL)

    ended = stand.wait(Exited, "job")
    assert ended == Exited("job", 1, lost=True)
    assert ended.cause == "cancel"


def test_an_order_that_came_before_the_start_is_written_down_with_its_cause(stand: Stand) -> None:
    for number in range(20):
        name = f"job-{number}"
        stand.launch(name, task("sleep", "100"))
        time.sleep(0.001 * (number % 10))
        stand.terminate(name, cause="cancel")

        assert stand.wait(Exited, name).cause == "cancel"


def test_one_that_ended_by_itself_was_not_told(stand: Stand) -> None:
    stand.run("job", shell(f"{STRAY} exit 4"))

    assert stand.wait(Exited, "job") == Exited("job", 1, code=4)
    assert stand.facts == [Began("job", 1), Exited("job", 1, code=4)]
    stand.terminate("job")
    stand.executor.kill(Kill("job", 1))
    assert {fact for fact in stand.facts if isinstance(fact, Exited)} == {Exited("job", 1, code=4)}


def test_who_ends_while_being_told_was_told_only_if_the_signal_came_first(stand: Stand) -> None:
    """Each job ends by itself at about the time at which it is told to. One that was told does not live to say 0."""
    for number in range(30):
        stand.run(f"job-{number}", shell("sleep 0.02"))
        time.sleep(0.0007 * number)
        stand.terminate(f"job-{number}")
        ended = stand.wait(Exited, f"job-{number}")

        assert (ended.code, ended.signal, ended.told) in [(0, None, False), (None, 15, True), (143, None, True)]


def test_the_whole_group_and_those_who_left_it_are_told(stand: Stand) -> None:
    script = "trap 'echo $0 told; exit 0' TERM; echo $0 ready; while :; do sleep 0.01; done"
    stand.run(
        "job", task("/bin/bash", "-c", f"bash -c {quote(script)} same & setsid bash -c {quote(script)} other & wait")
    )
    stand.said("job", "same ready")
    stand.said("job", "other ready")
    stand.terminate("job")

    stand.wait(Exited, "job")
    assert {"same told", "other told"} <= set(stand.text("job").splitlines())


def test_children_of_one_that_was_told_have_its_grace_too(stand: Stand) -> None:
    saves = "trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    stand.run("job", task("/bin/bash", "-c", f"bash -c {quote(saves)} & wait"))
    stand.said("job", "ready")
    stand.terminate("job")

    assert stand.wait(Exited, "job").told
    assert stand.text("job").endswith("saved\n")


@pytest.mark.parametrize(
    "script",
    {
        "in a session of its own": f"{STRAY} exec sleep 100",
        "whose parent is gone": f"( {STRAY} ); sleep 100",
        "in the background": "sleep 100 & sleep 100",
        "stopped": "sleep 100 & kill -STOP $!; sleep 100",
    }.values(),
)
def test_nothing_is_left_when_the_end_is_reported(stand: Stand, script: str) -> None:
    stand.run("job", shell(f"{script}"))
    until(lambda: len(stand.processes()) >= 2)
    stand.terminate("job", grace_s=0.2)
    stand.wait(Exited, "job")

    assert stand.processes() == []


def test_a_daemon_ends_with_the_command_that_started_it(stand: Stand) -> None:
    ended = stand.end("job", shell(f"( {STRAY} ) ; sleep 0.1; exit 0"))

    assert ended == Exited("job", 1, code=0)
    assert stand.processes() == []


def test_a_command_that_closes_its_outputs_goes_on(stand: Stand) -> None:
    stand.run("job", shell("exec >&- 2>&-; exec sleep 100"))
    until(lambda: not Path(f"/proc/{stand.pid('job')}/fd/1").is_symlink())

    def calm() -> bool:
        before = _ticks(supervisor)
        time.sleep(0.3)  # in which a supervisor that did not notice would be busy
        return _ticks(supervisor) == before

    supervisor = stand.supervisor("job")
    assert until(calm)
    stand.terminate("job")
    assert stand.wait(Exited, "job").told


def test_an_end_is_ordered_before_the_command_began(stand: Stand) -> None:
    """However the order and the start overtake each other, the attempt ends once, as told."""
    for number in range(20):
        name = f"job-{number}"
        stand.launch(name, task("sleep", "100"))
        time.sleep(0.001 * (number % 10))
        stand.terminate(name)

        assert stand.wait(Exited, name).told
    assert len([fact for fact in stand.facts if isinstance(fact, Exited)]) == 20


def test_the_end_of_what_never_started_is_reported_too(stand: Stand) -> None:
    stand.terminate("job")

    assert stand.wait(Exited, "job") == Exited("job", 1, told=True, lost=True)


def test_its_walltime_is_told_as_the_cause(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    stand.terminate("job", cause="walltime")

    assert stand.wait(Exited, "job") == Exited("job", 1, signal=15, told=True, walltime=True)


@pytest.mark.slow
def test_a_supervisor_keeps_to_the_walltime_if_the_server_does_not(stand: Stand) -> None:
    stand.run("job", task("sleep", "100", walltime_us=100_000))

    assert stand.wait(Exited, "job") == Exited("job", 1, signal=15, told=True, walltime=True)


def test_a_supervisor_that_is_told_to_end_ends_its_job_as_lost(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    os.kill(stand.supervisor("job"), signal.SIGTERM)

    assert stand.wait(Exited, "job").lost


def test_the_end_is_written_down_last(stand: Stand) -> None:
    stand.run("job", shell(f"{STRAY} {STRAY} sleep 100"))
    until(lambda: len(stand.processes()) >= 3)
    stand.terminate("job", grace_s=0.1)
    until((stand.folder("job") / "exit.json").exists)

    assert stand.processes() == []
    assert (files.get(str(stand.folder("job")), "exit.json") or {})["told"]


def _ticks(pid: int) -> int:
    """Processor time that the process has used."""
    text = procfs.read(f"/proc/{pid}/stat") or b""
    fields = text[text.rindex(b")") + 2 :].split()
    return int(fields[11]) + int(fields[12])
