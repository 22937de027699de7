"""The signal protocol: a hint is a file and a signal, an answer is a file."""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from cede.checkpoint.channel import Hint
from cede.checkpoint.environment import Environment
from cede.checkpoint.files import replace

POST_EVERY = 0.2
"""Seconds between two tries to write an answer that must be there before the application goes on."""
LOOK_EVERY = 1.0
"""Seconds between looks at the file without a signal: one that came before the handler was there is not missed."""


class BySignal:
    """The file is the truth; the signal only says that it is time to look."""

    def __init__(self, environment: Environment) -> None:
        if environment.control is None:
            raise ValueError("CEDE_PROTOCOL is signal, and CEDE_CONTROL_DIR is not set")
        self._control = environment.control
        self._signal = environment.hint_signal
        self._call: Callable[[], object] | None = None
        self._latest: Hint | None = None
        self._unsent: dict[str, str] = {}
        self._look_at = 0.0
        self._process = os.getpid()
        # A pipe, for a handler may interrupt anything: the lock of an Event may be held by what it interrupts, and a
        # SimpleQueue of Python 3.11 waits for ever if the handler takes longer than the time that was left.
        self._bell, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # Python hands signals to the main thread alone. Elsewhere the file is looked at.
        self.interrupts = threading.current_thread() is threading.main_thread()
        self._before: Any = signal.signal(self._signal, self._arrived) if self.interrupts else None
        self._look()

    def latest(self) -> Hint | None:
        if time.monotonic() >= self._look_at:
            self._look()
        return self._latest

    def granted(self, hint: int) -> float | None:
        return None

    def mark(self) -> object:
        """The bell keeps ringing until it is waited for."""
        return None

    def wait(self, seconds: float, since: object) -> None:
        longest = LOOK_EVERY if self.interrupts else LOOK_EVERY / 10
        if select.select([self._bell] if self._bell >= 0 else [], [], [], max(0.0, min(seconds, longest)))[0]:
            with suppress(OSError):
                os.read(self._bell, 4096)
        self._look()

    def seen(self, hint: int) -> None:
        self._answer("progress", f"{hint} 0")

    def progress(self, hint: int, part: float) -> None:
        self._answer("progress", f"{hint} {part:g}")

    def defer(self, hint: int, seconds: float) -> None:
        self._answer("defer", f"{hint} {seconds:g}")

    def done(self, hint: int) -> None:
        self._answer("done", f"{hint}")
        while hint and "done" in self._unsent:
            # A process that leaves before its answer is there would count as one that got to its end.
            time.sleep(POST_EVERY)
            self._post()

    def failed(self, hint: int, why: str) -> None:
        self._answer("failed", f"{hint} {why}")

    def call_on_hint(self, call: Callable[[], object]) -> None:
        """From now on `call` is called, in the main thread between two instructions, when a hint may have come."""
        self._call = call
        call()

    def close(self) -> None:
        self._call = None
        self._post()
        if self.interrupts and self._before is not None:
            # By default the signal would end the process. A hint that nobody waits for any more must not.
            before = signal.SIG_IGN if self._before == signal.SIG_DFL else self._before
            signal.signal(self._signal, before)
        if self._bell >= 0:
            os.close(self._bell)
            os.close(self._ring)
            self._bell = self._ring = -1

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:
            return  # a child that was forked off: its parent answers
        self._look()
        with suppress(OSError):  # it is full: then somebody will look anyway
            os.write(self._ring, b"!")
        if self._call is not None:
            self._call()

    def _look(self) -> None:
        self._look_at = time.monotonic() + LOOK_EVERY
        self._post()
        # No program dies of a hint that cannot be read.
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            told = json.loads((self._control / "hint").read_bytes())
            deadline = told.get("deadline")
            until = None if deadline is None else float(deadline)
            self._latest = Hint(int(told["hint"]), bool(told["leaving"]), until)

    def _answer(self, name: str, text: str) -> None:
        self._unsent[name] = text
        self._post()

    def _post(self) -> None:
        """Answers go out. No program dies of a full disk because it was asked something: what cannot be written now is
        written later."""
        for name, text in list(self._unsent.items()):
            try:
                replace(self._control / name, text.encode(), durable=False)
            except OSError:
                continue
            if self._unsent.get(name) == text:  # a signal may have come in between, with more to say
                del self._unsent[name]


def opened(environment: Environment, estimate: float, interval: float) -> BySignal:  # noqa: ARG001  files say nothing of these
    """The channel, with the signal's handler in place."""
    return BySignal(environment)
