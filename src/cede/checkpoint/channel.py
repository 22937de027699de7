"""What every protocol does for the application's side."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from cede.checkpoint.environment import Environment


@dataclass(frozen=True, slots=True)
class Hint:
    """A request to write a checkpoint; those of an attempt are numbered from 1.

    `leaving`: the processes will be told to go when it is written. `deadline`: until when
    it is waited for, in seconds since 1970, where that is known.
    """

    hint: int
    leaving: bool
    deadline: float | None = None


class Channel(Protocol):
    """The way to Cede and back. Only `latest` is called often, and it costs next to nothing."""

    def latest(self) -> Hint | None:
        """The newest hint that came, answered or not."""

    def granted(self, hint: int) -> float | None:
        """Seconds of deferral granted for this hint, where it was said: 0 is a refusal."""

    def mark(self) -> object:
        """What came so far."""

    def wait(self, seconds: float, since: object) -> None:
        """Return when something may have come since that mark, and not later than this."""

    def seen(self, hint: int) -> None:
        """A sign of life: the application knows of the hint."""

    def progress(self, hint: int, part: float) -> None: ...

    def defer(self, hint: int, seconds: float) -> None: ...

    def done(self, hint: int) -> None: ...

    def failed(self, hint: int, why: str) -> None: ...

    def close(self) -> None:
        """Every answer has gone out, as far as somebody takes it."""


class Silence:
    """Outside Cede, and under protocols that ask nothing of the application."""

    def latest(self) -> Hint | None:
        return None

    def granted(self, hint: int) -> float | None:
        return None

    def mark(self) -> object:
        return None

    def wait(self, seconds: float, since: object) -> None:
        time.sleep(seconds)

    def seen(self, hint: int) -> None: ...

    def progress(self, hint: int, part: float) -> None: ...

    def defer(self, hint: int, seconds: float) -> None: ...

    def done(self, hint: int) -> None: ...

    def failed(self, hint: int, why: str) -> None: ...

    def close(self) -> None: ...


MODULES = {"signal": "by_signal", "shm": "by_shm", "grpc": "by_grpc"}


def opened(environment: Environment, estimate: float, interval: float) -> Channel:
    """The channel of the job's protocol. gRPC is imported only where it is that."""
    name = MODULES.get(environment.protocol)
    if name is None:
        if environment.protocol not in ("none", "criu"):
            warnings.warn(f"nobody here knows the protocol {environment.protocol!r}: no hint is heard", stacklevel=2)
        return Silence()
    made: Channel = import_module(f"cede.checkpoint.{name}").opened(environment, estimate, interval)
    return made
