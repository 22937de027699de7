"""How a supervisor asks its application for checkpoints and hears its answers, in whatever protocol."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Any

from . import files, procfs
from .checkpoint_answers import CheckpointAnswers, SignalFiles
from .dumps import Dump
from .notifier import Notifier
from .outcome import gave_way
from .shared_memory import SharedMemoryFlag

SPACING = 0.2
"""Seconds between two notes to the server that can wait: progress, and checkpoints that nobody asked for."""
UNHEARD = 0.1
"""Seconds until the next try to find a process that minds the signal."""


class CheckpointProtocol:
    """Hints go in by `ask`; what the application says lands in said.json, and the server is told."""

    def __init__(self, spec: dict[str, Any], notifier: Notifier) -> None:
        self._spec = spec
        self._notifier = notifier
        self._answers = CheckpointAnswers()
        self._files: SignalFiles | SharedMemoryFlag | None = None
        self._published = dict(self._answers.said)
        self._to_leave: set[int] = set()
        """The hints that asked it to leave, though that may have been taken back since."""
        self._gave_way: dict[str, Any] = {}
        """The one of these that it answered last, and when."""
        self._published_at = 0.0
        self._signal_at: float | None = None
        self._look_at: float | None = None
        self.dump: Dump | None = None
        if spec["protocol"] == "signal":
            self._files = SignalFiles(self._answers, "control", spec["uid"])
        elif spec["protocol"] == "shm":
            self._files = SharedMemoryFlag(self._answers, "control", spec["uid"], spec["gid"])
        elif spec["protocol"] == "criu":
            self.dump = Dump(spec)
        self.fd = self._files.fd if self._files else -1
        self._plan()

    def ask(self, order: dict[str, Any], pid: int) -> None:
        """The application is asked: signalled once for each number, and shown the deadline as it moves."""
        hint, leaving = int(order.get("hint", 0)), bool(order.get("leaving"))
        if hint < self._answers.hint:
            return
        new = (hint, leaving) != (self._answers.hint, self._answers.leaving)
        self._answers.hint, self._answers.leaving = hint, leaving
        if leaving:
            self._to_leave.add(hint)
        if self.dump is not None and new:
            self.dump.begin(pid, leaving)
        elif self._files is not None:
            self._files.ask(int(order.get("deadline") or 0), new=new)
            if self._spec["protocol"] == "signal" and new:
                self._signal_at = 0.0
        self.turn()

    @property
    def left(self) -> bool:
        """Whether the member was ended by the dump that was asked for: it had been told to leave, so to speak."""
        return self.dump is not None and self.dump.took_all

    def due(self) -> float | None:
        """When `turn` must be called though nothing happened."""
        publish = self._published_at + SPACING if self._published != self._answers.said else None
        times = [at for at in (self._signal_at, self._look_at, publish) if at is not None]
        return min(times, default=None)

    def turn(self) -> None:
        """Whatever is due is done, whatever was said is heard."""
        now = time.monotonic()
        if self._signal_at is not None and now >= self._signal_at:
            self._signal_at = None if self._signal() or not self._answers.outstanding else now + UNHEARD
        if self._files is not None:
            self._files.look()
        if self.dump is not None:
            self._hear(self.dump)
        self._publish(now)
        self._plan()

    def close(self) -> None:
        """Everything said until now has been told."""
        self._published_at = 0.0
        self.turn()

    def _plan(self) -> None:
        every = self._files.every() if self._files else None
        self._look_at = None if every is None else time.monotonic() + every

    def _signal(self) -> bool:
        """Whether a process got the signal. One that does not mind it would only be ended by it."""
        number = signal.Signals.__members__.get(self._spec["hint_signal"])
        if number is None:
            self._answers.failed(self._answers.hint, f"there is no signal {self._spec['hint_signal']}")
            return True
        minding = [process for process in procfs.below(os.getpid()) if procfs.minds(process.pid, number)]
        return sum(procfs.send(process, number) for process in minding) > 0

    def _hear(self, dump: Dump) -> None:
        why = dump.result()
        if why is None:
            return
        if why:
            self._answers.failed(self._answers.hint, why)
        else:
            self._answers.done(self._answers.hint)

    def _publish(self, now: float) -> None:
        said = self._answers.said
        if said == self._published:
            return
        if said["done"] != self._published["done"]:
            self._gave_way = gave_way(said["done"]) if said["done"] in self._to_leave else {}
        urgent = any(said[key] != self._published[key] for key in ("done", "failed"))
        if urgent or now >= self._published_at + SPACING:
            self._published_at = now
            with suppress(OSError):  # no room: it is tried again
                leaving = self._answers.leaving if self.dump is None else self.dump.took_all
                files.put(".", "said.json", {**said, "leaving": leaving, **self._gave_way}, durable=False)
                self._published = dict(said)
                self._notifier.send("said")
