"""Cede's side of each protocol, as small as it can be: what a supervisor, or the broker, does for one member."""

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from cede.engine.drive.facts import Checkpointed, CheckpointFailed, Deferral, Fact, Heard
from cede.engine.drive.orders import Hint
from cede.live.broker.service import Broker

SECRET = b"a secret of thirty-two bytes or so"
PATIENCE_S = 60.0
FLAG = struct.Struct("<8sIIQIIfIQ16x")


def eventually(condition: Callable[[], bool], what: str, patience: float = PATIENCE_S) -> None:
    """Return as soon as it is so."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"it never came to be: {what}"
        time.sleep(0.005)


class Child:
    """A program under test, with its lines as they come."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        base = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            command, env=base | environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def says(self, text: str) -> str:
        """The first line that begins so, as soon as it is there."""
        eventually(lambda: any(line.startswith(text) for line in self.lines), f"{text!r} in {self.lines}")
        return next(line for line in self.lines if line.startswith(text))

    def has_said(self, *lines: str) -> None:
        """These lines and no others, as soon as they are there."""
        eventually(lambda: len(self.lines) >= len(lines), f"{lines} in {self.lines}")
        assert tuple(self.lines) == lines

    def ends(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self._reader.join()
        return code

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.ends()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            self.lines.extend(line.rstrip("\n") for line in iter(stream.readline, ""))


class Peer(Protocol):
    """What asks one program of a job named `count`, in its first attempt."""

    folder: Path

    def environment(self) -> dict[str, str]: ...

    def ask(self, child: Child, hint: int, leaving: bool, deadline: float | None = None) -> None: ...

    def answered(self, kind: str) -> str | None:
        """`done`, `failed`, `progress` or `defer` as the signal protocol writes it, once it was said."""

    def close(self) -> None: ...


def place(folder: Path, protocol: str) -> dict[str, str]:
    """The environment of a member, whatever its protocol."""
    checkpoint, control = folder / "checkpoint", folder / "control"
    for each in (checkpoint, control):
        each.mkdir(exist_ok=True)
    return {
        "CEDE_JOB": "count",
        "CEDE_ATTEMPT": "1",
        "CEDE_RESUME": "0",
        "CEDE_CHECKPOINT_DIR": str(checkpoint),
        "CEDE_CONTROL_DIR": str(control),
        "CEDE_PROTOCOL": protocol,
        "CEDE_HINT_SIGNAL": "SIGUSR1",
        "CEDE_RANK": "0",
        "CEDE_SIZE": "1",
    }


class BySignal:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = place(folder, "signal")

    def environment(self) -> dict[str, str]:
        return self._environment

    def write(self, hint: int, leaving: bool, deadline: float | None = None) -> None:
        told = {"hint": hint, "leaving": leaving, "deadline": deadline or time.time() + 600}
        fresh = self.folder / "control/hint.fresh"
        fresh.write_text(json.dumps(told), encoding="ascii")
        fresh.replace(self.folder / "control/hint")

    def ask(self, child: Child, hint: int, leaving: bool, deadline: float | None = None) -> None:
        self.write(hint, leaving, deadline)
        os.killpg(child.process.pid, signal.SIGUSR1)

    def answered(self, kind: str) -> str | None:
        path = self.folder / "control" / kind
        return path.read_text(encoding="utf-8") if path.exists() else None

    def close(self) -> None: ...


class ByShm:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = place(folder, "shm")
        path = folder / "control/flag"
        path.write_bytes(FLAG.pack(b"CEDESHM1", 0, 0, 0, 0, 0, 0.0, 0, 0))
        with path.open("r+b") as file:
            self._flag = mmap.mmap(file.fileno(), 64)

    def environment(self) -> dict[str, str]:
        return self._environment

    def ask(self, child: Child, hint: int, leaving: bool, deadline: float | None = None) -> None:
        until = round((deadline or time.time() + 600) * 1e6)
        self._flag[12:24] = struct.pack("<IQ", leaving, until)
        self._flag[24:40] = bytes(16)
        self._flag[8:12] = struct.pack("<I", hint)

    def answered(self, kind: str) -> str | None:
        _, hint, _, _, done, failed, progress, defer, saved = FLAG.unpack(self._flag[:])
        said = {
            "done": f"{done}" if done else "0" if saved else None,
            "failed": f"{failed} " if failed else None,
            "progress": f"{hint} {progress:g}" if progress else None,
            "defer": f"{hint} {defer}" if defer else None,
        }
        return said[kind]

    def close(self) -> None:
        self._flag.close()


class ByGrpc:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts: list[Fact] = []
        self.broker = Broker(self.facts.append, SECRET)
        self._environment = place(folder, "grpc")
        self._environment["CEDE_BROKER"] = self.broker.open(folder)
        self._environment["CEDE_BROKER_TOKEN"] = self.broker.token("count", 1)

    def environment(self) -> dict[str, str]:
        return self._environment

    def ask(self, child: Child, hint: int, leaving: bool, deadline: float | None = None) -> None:
        until = round((deadline or time.time() + 600) * 1e6)
        self.broker.hint(Hint("count", 1, hint, leaving, until))

    def answered(self, kind: str) -> str | None:
        for fact in reversed(self.facts):
            match fact:
                case Checkpointed(name="count", attempt=1) if kind == "done":
                    return f"{fact.hint}"
                case CheckpointFailed(name="count", attempt=1) if kind == "failed":
                    return f"{fact.hint} {fact.why}"
                case Heard(name="count", attempt=1) if kind == "progress" and fact.progress is not None:
                    return f"{fact.hint} {fact.progress:g}"
                case Deferral(name="count", attempt=1) if kind == "defer":
                    return f"{fact.hint} {fact.wanted / 1e6:g}"
        return None

    def close(self) -> None:
        self.broker.close()


PEERS: dict[str, Callable[[Path], Peer]] = {"signal": BySignal, "shm": ByShm, "grpc": ByGrpc}


@contextmanager
def running(peer: Peer, program: Path, *arguments: object, **environment: str) -> Iterator[Child]:
    """The program with the peer's environment: Python, or a shell script by its name. Nothing of it is left over."""
    starter = ["sh"] if program.suffix == ".sh" else [sys.executable]
    child = Child([*starter, str(program), *map(str, arguments)], peer.environment() | environment)
    try:
        yield child
    finally:
        child.stop()
