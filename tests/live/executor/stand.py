"""A local executor on a data directory of its own, and what it reported."""

from __future__ import annotations

import fcntl
import os
import pwd
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from cede.engine.drive.facts import Began, Checkpointed, CheckpointFailed, Deferral, Exited, Fact, Heard
from cede.engine.drive.orders import Kill, Launch, Terminate
from cede.live.executors.local.executor import LocalExecutor
from cede.live.executors.local.gpus import NodeFacts
from cede.live.executors.local.guard import files, procfs
from cede.live.task import Task

DEADLINE = 60.0
ME = pwd.getpwuid(os.getuid()).pw_name
ROOT = os.getuid() == 0
F = TypeVar("F", Began, Exited, Heard, Checkpointed, CheckpointFailed, Deferral)


def until(condition: Callable[[], Any], deadline: float = DEADLINE) -> Any:
    """What the condition became, once it is true."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.002)
    return value


def task(*command: str, **others: Any) -> Task:
    """A task of the account that runs the tests."""
    usual: dict[str, Any] = {"command": command, "cwd": "/", "owner": "ann", "account": ME, "grace_us": 30_000_000}
    return Task(**usual | others)


def shell(script: str, **others: Any) -> Task:
    return task("/bin/sh", "-c", script, **others)


class Stand:
    """`facts` is all that was reported, in order."""

    def __init__(self, data: Path, **options: Any) -> None:
        self.data = data
        self.facts: list[Fact] = []
        self._news = threading.Condition()
        self._options = options
        self.executor = self._new()

    def _new(self) -> LocalExecutor:
        nodes = {f"n{number}": NodeFacts(address=f"10.0.0.{number}") for number in range(4)}
        return LocalExecutor(self.data, **({"nodes": nodes} | self._options))

    def open(self) -> None:
        self.executor.open(self._report)

    def restart(self, attempts: dict[str, int]) -> None:
        """Another server on the same data directory."""
        self.executor.close()
        self.executor = self._new()
        self.open()
        self.executor.adopt(attempts)

    def _report(self, fact: Fact) -> None:
        with self._news:
            self.facts.append(fact)
            self._news.notify_all()

    def launch(self, name: str, wanted: Task, *, members: int = 1, attempt: int = 1, resume: bool = False) -> None:
        nodes = tuple(f"n{number}" for number in range(members))
        self.executor.launch(Launch(name, attempt, nodes, resume), wanted)

    def run(self, name: str, wanted: Task, *, members: int = 1) -> None:
        """It is launched, and has begun."""
        self.launch(name, wanted, members=members)
        self.wait(Began, name)

    def terminate(self, name: str, grace_s: float = 30.0, cause: str = "preempt") -> None:
        self.executor.terminate(Terminate(name, 1, cause, round(grace_s * 1e6)))

    def wait(self, kind: type[F], name: str, *, count: int = 1) -> F:
        """The last of so many facts of this kind about the job."""

        def reported() -> list[F]:
            return [fact for fact in self.facts if isinstance(fact, kind) and fact.name == name]

        with self._news:
            assert self._news.wait_for(lambda: len(reported()) >= count, DEADLINE), self.facts
            return reported()[count - 1]

    def end(self, name: str, wanted: Task, *, members: int = 1) -> Exited:
        """How it ended by itself."""
        self.launch(name, wanted, members=members)
        return self.wait(Exited, name)

    def folder(self, name: str, member: int = 0, attempt: int = 1) -> Path:
        return self.data / "jobs" / name / "attempts" / str(attempt) / str(member)

    def text(self, name: str, member: int = 0, stream: str = "out") -> str:
        return self.executor.logs(name, 1, member, stream, 0, 1 << 20).data.decode()

    def said(self, name: str, line: str, member: int = 0) -> None:
        """It has written this line to its output."""
        until(lambda: line in self.text(name, member).splitlines())

    def pid(self, name: str, member: int = 0) -> int:
        """The pid of its command."""
        return int(until(lambda: (files.get(str(self.folder(name, member)), "began.json") or {}).get("pid")))

    def supervisor(self, name: str, member: int = 0) -> int:
        return int((self.folder(name, member) / "lock").read_text().split()[0])

    def processes(self) -> list[procfs.Process]:
        """Whatever is left of any member, whose ever child it is."""
        specs = [files.get(str(spec.parent), "spec.json") for spec in self.data.glob("jobs/*/attempts/*/*/spec.json")]
        marks = {f"CEDE_MARK={spec['mark']}".encode() for spec in specs if spec}
        environments = {pid: procfs.read(f"/proc/{pid}/environ") or b"" for pid in procfs.pids()}
        marked = [procfs.look(pid) for pid, text in environments.items() if marks & set(text.split(b"\0"))]
        return [process for process in marked if process is not None and process.state not in "ZX"]

    def supervised(self) -> list[Path]:
        return [lock.parent for lock in self.data.glob("jobs/*/attempts/*/*/lock") if _held(lock)]

    def clear(self) -> None:
        """Nothing is left."""
        for attempt in self.data.glob("jobs/*/attempts/*"):
            self.executor.kill(Kill(attempt.parent.parent.name, int(attempt.name)))
        until(lambda: not self.supervised() and not self.processes())
        self.executor.close()

    def zygotes(self) -> Iterator[int]:
        """Zygotes of this process, and their spares."""
        for process in procfs.below(os.getpid()):
            if b"guard.zygote" in (procfs.read(f"/proc/{process.pid}/cmdline") or b""):
                yield process.pid


def _held(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
