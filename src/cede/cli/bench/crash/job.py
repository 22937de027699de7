"""One member of a job of the crash test: it counts, saves, leaves and ends as it was told, and writes all of it down.

A program by itself: `python -I -S job.py FOLDER WISH`. Its interpreter may be another than Cede's, so that of Cede it
knows only `cede.checkpoint`, which needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cede.checkpoint import Checkpoint

SOURCES = str(Path(__file__).resolve().parents[4])
PROCESSES = ("begin", "stray")
"""What is written down by a process that has just begun."""


def started(pid: int) -> int | None:
    """When this process started, in ticks since the machine did; none if it is not there or has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


class Evidence:
    """A file of this job in a folder that Cede knows nothing of. Lines are only ever added, each in one write."""

    def __init__(self, folder: str) -> None:
        environ = os.environ
        self._path = Path(folder) / f"{environ['CEDE_JOB']}.log"
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._attempt = environ["CEDE_ATTEMPT"]
        self._member = environ["CEDE_RANK"]

    def note(self, what: str, *details: object, durable: bool = True) -> None:
        now, pid = time.clock_gettime_ns(time.CLOCK_MONOTONIC), os.getpid()
        words = (now, self._attempt, self._member, pid, started(pid) or 0, what, *details)
        os.write(self._fd, (" ".join(map(str, words)) + "\n").encode())
        if durable:
            os.fsync(self._fd)

    def others(self) -> list[str]:
        """Processes of other attempts that are still there."""
        processes = []
        for line in self._path.read_text().splitlines():
            _, attempt, _, pid, start, what = line.split()[:6]
            if attempt != self._attempt and what in PROCESSES and started(int(pid)) == int(start):
                processes.append(f"{attempt}:{pid}")
        return processes


class Member:
    """What it does between its first line and its last."""

    def __init__(self, evidence: Evidence, acts: dict[str, Any]) -> None:
        self._evidence = evidence
        self._acts = acts
        self._told = self._gave_way = False
        self._state = f"state-{os.environ['CEDE_RANK']}"

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._hear)
        if self._acts.get("stray"):
            self._let_go()
        if self._acts.get("deaf"):
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        if os.environ["CEDE_PROTOCOL"] == "none" or self._acts.get("deaf"):
            self._work(None)
        sys.path.append(SOURCES)
        from cede.checkpoint import listening

        with listening() as ck:
            self._work(ck)

    def _work(self, ck: Checkpoint | None) -> None:
        step = self._resumed(ck)
        while self._has_more(step):
            if ck is None:
                time.sleep(self._acts["tick"])
            else:
                ck.wait(self._acts["tick"])
            if self._told:
                self._leave()
            step += 1
            self._evidence.note("step", step, durable=False)
            if ck is not None and ck.wanted():
                self._answer(ck, step)
            elif ck is not None and self._acts.get("own") and step % self._acts["own"] == 0 and self._save(ck, step):
                ck.saved()
        self._end()

    def _has_more(self, step: int) -> bool:
        """Until it has counted far enough, or the file is there that it was told to wait for."""
        steps: int | str = self._acts["steps"]
        return step < steps if isinstance(steps, int) else not Path(steps).exists()

    def _pass(self, how_long: float | str) -> None:
        """Wait for seconds, or until the file is there; with a sign of life every now and then."""
        end = time.monotonic() + (how_long if isinstance(how_long, (int, float)) else 600)
        while (left := end - time.monotonic()) > 0 and not (isinstance(how_long, str) and Path(how_long).exists()):
            time.sleep(min(left, 0.05))
            self._evidence.note("waits", durable=False)

    def _resumed(self, ck: Checkpoint | None) -> int:
        if ck is None or not ck.resuming:
            return 0
        try:
            step = int(ck.read(self._state))
        except FileNotFoundError:  # another member saved, this one did not
            step = -1
        self._evidence.note("resumed", step)
        return max(0, step)

    def _answer(self, ck: Checkpoint, step: int) -> None:
        hint, leaving = ck.hint, ck.leaving
        self._evidence.note("hint", hint, int(leaving))
        self._pass(self._acts.get("takes", 0))
        if self._acts.get("refuses"):
            ck.failed("it never can")
            return
        if not self._save(ck, step):
            ck.failed("it could not be written")
            return
        ck.done()
        self._evidence.note("done", hint)
        self._gave_way = self._gave_way or leaving
        if leaving and self._acts.get("goes"):
            self._evidence.note("left")
            os._exit(0)

    def _save(self, ck: Checkpoint, step: int) -> bool:
        """Whether it is saved: a disk may be full."""
        self._evidence.note("saving", step)
        try:
            ck.write(self._state, str(step).encode())
        except OSError as error:
            self._evidence.note("unsaved", error.errno)
            return False
        self._evidence.note("saved", step)
        return True

    def _hear(self, *_: object) -> None:
        self._told = True
        self._evidence.note("told")

    def _leave(self) -> None:
        self._pass(self._acts.get("lingers", 0))
        self._evidence.note("left", durable=False)
        os._exit(143)

    def _end(self) -> None:
        """The end it came for, unless it was told to go before; from then to the exit there is next to no time."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        if self._told or signal.SIGTERM in signal.sigpending():
            self._leave()
        code = self._acts.get("code", 0)
        # One that ends after it was told to go has left with its checkpoint, however far it got: so says the protocol.
        success = "finished" if self._gave_way else "complete"
        self._evidence.note(success if code == 0 else "fail", code, durable=False)
        os._exit(code)

    def _let_go(self) -> None:
        """A process that nobody waits for, that minds no SIGTERM, and that must not outlive the attempt."""
        if os.fork():
            return
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        self._evidence.note("stray")
        while True:
            time.sleep(60)


def main(folder: str, acts: str) -> None:
    evidence = Evidence(folder)
    evidence.note("begin", os.environ["CEDE_RESUME"])
    for other in evidence.others():
        evidence.note("overlap", other)
    Member(evidence, json.loads(acts)).run()


def check() -> None:
    """Whether this interpreter, under this account, can run a job."""
    sys.path.append(SOURCES)
    from cede.checkpoint import listening

    assert callable(listening)


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else main(*sys.argv[1:])
