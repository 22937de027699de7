"""Members whose supervisors find no room on the disk: they have not begun, and are not lost."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.engine.drive.facts import Exited
from cede.live.task import Task
from tests.live.disks import fill, small_disk
from tests.live.executor.stand import Stand, shell, until


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[Stand]:
    with small_disk(tmp_path) as disk:
        stand = Stand(disk / "data")
        stand.open()
        yield stand
        stand.clear()


def launch_as_the_disk_becomes_full(stand: Stand, wanted: Task) -> Path:
    """There was room for all that the server wrote of it, and is none for its supervisor; the file that takes it."""
    zygotes = until(lambda: list(stand.zygotes()))
    for pid in zygotes:
        os.kill(pid, signal.SIGSTOP)
    stand.launch("job", wanted)
    hog = fill(stand.data)
    for pid in zygotes:
        os.kill(pid, signal.SIGCONT)
    time.sleep(2.5)  # it tries again meanwhile
    assert stand.supervised() == [stand.folder("job")]
    assert stand.facts == []
    return hog


@pytest.mark.parametrize("protocol", ["none", "signal", "shm"])
def test_it_begins_when_there_is_room(cramped: Stand, protocol: str) -> None:
    hog = launch_as_the_disk_becomes_full(cramped, shell("echo here; exit 6", protocol=protocol))
    hog.unlink()

    assert cramped.wait(Exited, "job") == Exited("job", 1, code=6)
    assert cramped.text("job") == "here\n"


@pytest.mark.parametrize("room", [False, True])
def test_it_does_not_begin_if_it_is_told_to_go_before(cramped: Stand, room: bool) -> None:
    hog = launch_as_the_disk_becomes_full(cramped, shell("echo here", protocol="none"))
    if room:
        with hog.open("r+b") as file:
            file.truncate(0)
    cramped.terminate("job", cause="cancel")
    if not room:
        time.sleep(1.5)
    hog.unlink()

    end = cramped.wait(Exited, "job")
    if end.told:
        assert (end, end.cause) == (Exited("job", 1, told=True), "cancel")
        assert cramped.text("job") == ""
    else:  # it had begun already when it was told
        assert room
