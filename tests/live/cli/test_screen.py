"""Full-screen views on a real terminal, and the demo from its beginning to its end."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.live.cli.serving import DEADLINE_S, Served
from tests.unit.cli.calls import CEDE, cede, environment


class Screen:
    """A command on a terminal of 80 by 24; `seen` is everything it drew so far."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self.seen = b""

    def shows(self, text: str) -> None:
        """Wait until the text was drawn since this was asked last."""
        ends = time.monotonic() + DEADLINE_S
        while text.encode() not in self.seen:
            assert time.monotonic() < ends, f"{text!r} was not drawn: {self.seen[-2000:]!r}"
            if select.select([self._terminal], [], [], 0.1)[0]:
                with suppress(OSError):
                    self.seen += os.read(self._terminal, 65536)
        self.seen = b""

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def ended(self) -> int:
        """The exit code; what is drawn meanwhile is read, so that nothing waits for it."""
        ends = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < ends:
            if select.select([self._terminal], [], [], 0.1)[0]:
                with suppress(OSError):
                    os.read(self._terminal, 65536)
        return self.process.wait(1)


@contextmanager
def on_a_screen(server: Served, *arguments: str) -> Iterator[Screen]:
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    given = environment(TERM="xterm-256color", CEDE_DATA=str(server.data))
    process = subprocess.Popen(
        [str(CEDE), *arguments], stdin=slave, stdout=slave, stderr=slave, env=given, start_new_session=True
    )
    os.close(slave)
    try:
        yield Screen(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


@pytest.mark.slow
def test_top_shows_what_happens_and_ends_with_q(server: Served) -> None:
    with on_a_screen(server, "top") as screen:
        screen.shows("2 nodes, 0 running, 0 waiting")
        server.client.submit(["sleep", "600"], name="seen-on-top", cpu=1, cwd="/")
        screen.shows("seen-on-top")
        screen.shows("1 running")
        server.client.cancel("seen-on-top")
        screen.shows("0 running")
        screen.press(b"q")

        assert screen.ended() == 0


@pytest.mark.slow
def test_top_scrolls_and_sorts_by_keys(server: Served) -> None:
    names = [f"row-{number:02}" for number in range(30)]
    for number, name in enumerate(names):
        server.client.submit(["sleep", "600"], name=name, cpu="50m", priority=number, cwd="/")
    with on_a_screen(server, "top") as screen:
        screen.shows("row-00")
        screen.press(b"\x1b[F")
        screen.shows("row-29")
        screen.press(b"\x1b[H")
        screen.shows("row-00")
        screen.press(b"s")
        screen.shows("s sorts (priority)")
        screen.press(b"r")
        screen.shows("s sorts (priority, turned)")
        screen.press(b"\t")
        screen.shows(">")
        screen.press(b"q")

        assert screen.ended() == 0
    for name in names:
        server.client.cancel(name)


@pytest.mark.slow
def test_a_watched_list_changes_with_the_workloads(server: Served) -> None:
    with on_a_screen(server, "ps", "--watch") as screen:
        screen.shows("q ends")
        server.client.submit(["sleep", "600"], name="watched", cpu=1, cwd="/")
        screen.shows("watched")
        server.client.cancel("watched")
        screen.press(b"q")

        assert screen.ended() == 0


@pytest.mark.slow
def test_followed_logs_go_on_with_the_next_attempt(server: Served) -> None:
    server.counting("twice", priority=1, steps=300)
    given = environment(CEDE_DATA=str(server.data))
    follower = subprocess.Popen(
        [str(CEDE), "logs", "twice", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=given
    )
    assert follower.stdout is not None
    first = follower.stdout.readline()
    server.client.suspend("twice")
    server.client.wait("twice", DEADLINE_S, states=["suspended"])
    server.client.resume("twice")
    out, err = follower.communicate(timeout=300)
    lines = (first + out).decode().splitlines()

    assert lines[0] == "starting from 0"
    assert lines[2] == f"resuming from {lines[1].removeprefix('saved ')}, attempt 2"
    assert lines[3:] == ["counted to 300"]
    assert err.decode() == "-- attempt 2 --\n"
    assert follower.returncode == 0


@pytest.mark.slow
def test_the_demo_happens_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = cede("demo", "--once", "--json", TMPDIR=str(tmp_path))
    outcome = ran.data

    assert outcome["happened"]
    assert outcome["missing"] == []
    assert set(outcome["ended"].values()) == {"completed"}
    assert outcome["saved"] == outcome["resumed"]
    assert [told["decision"]["workload"] for told in outcome["why"]["story"] if told["decision"]].count("urgent") == 1
    assert list(tmp_path.glob("cede-demo-*")) == []


@pytest.mark.slow
def test_the_demo_stays_up_until_it_is_told_to_end(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with subprocess.Popen(
        [str(CEDE), "demo", "--data", str(data)], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "stays up at" in line:
                break
        server = json.loads((data / "server.json").read_text())
        assert cede("ps", "--all", CEDE_DATA=str(data)).code == 0
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        assert process.wait(DEADLINE_S) == 0

    with pytest.raises(ProcessLookupError):
        os.kill(server["pid"], 0)
    assert not (data / "server.json").exists()
