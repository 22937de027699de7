"""The shared memory protocol: hint and answer are numbers in a file that both sides have mapped.

Little endian, each number at a multiple of its size. Whoever writes several writes the number of the hint last.
"""

from __future__ import annotations

import mmap
import time

from cede.checkpoint.channel import Hint
from cede.checkpoint.environment import Environment

MAGIC = b"CEDESHM1"
LENGTH = 64
HINT, LEAVING, DONE, FAILED, PROGRESS, DEFER = 8, 12, 24, 28, 32, 36
DEADLINE, SAVED = 16, 40

LOOK_EVERY = 0.02
SECOND = 1_000_000


class Flag:
    """The mapped file. A number of it is read and written in one instruction, so that none is seen half written."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._small = memoryview(mapped).cast("I")
        self._large = memoryview(mapped).cast("Q")
        self._real = memoryview(mapped).cast("f")

    def small(self, place: int) -> int:
        return self._small[place // 4]

    def set_small(self, place: int, value: int) -> None:
        self._small[place // 4] = value

    def large(self, place: int) -> int:
        return self._large[place // 8]

    def set_large(self, place: int, value: int) -> None:
        self._large[place // 8] = value

    def real(self, place: int) -> float:
        return self._real[place // 4]

    def set_real(self, place: int, value: float) -> None:
        self._real[place // 4] = value


class ByShm:
    """Cede looks at the answers some fifty times a second while a hint is unanswered."""

    def __init__(self, environment: Environment) -> None:
        if environment.control is None:
            raise ValueError("CEDE_PROTOCOL is shm, and CEDE_CONTROL_DIR is not set")
        path = environment.control / "flag"
        with path.open("r+b") as file:
            if file.read(LENGTH)[: len(MAGIC)] != MAGIC or file.tell() < LENGTH:
                raise ValueError(f"{path} is not a flag of Cede's shared memory protocol")
            self._flag = Flag(mmap.mmap(file.fileno(), LENGTH))

    def latest(self) -> Hint | None:
        hint = self._flag.small(HINT)
        if hint == 0:
            return None
        deadline = self._flag.large(DEADLINE)
        return Hint(hint, self._flag.small(LEAVING) != 0, deadline / SECOND if deadline else None)

    def granted(self, hint: int) -> float | None:
        return None

    def mark(self) -> int:
        return self._flag.small(HINT)

    def wait(self, seconds: float, since: object) -> None:
        end = time.monotonic() + seconds
        while self._flag.small(HINT) == since and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_EVERY))

    def seen(self, hint: int) -> None:
        """There is no place for it: progress above 0 is the first sign of life."""

    def progress(self, hint: int, part: float) -> None:
        self._flag.set_real(PROGRESS, part)

    def defer(self, hint: int, seconds: float) -> None:
        self._flag.set_small(DEFER, max(1, round(seconds)))

    def done(self, hint: int) -> None:
        self._flag.set_large(SAVED, time.time_ns() // 1000)
        if hint:
            self._flag.set_small(DONE, hint)

    def failed(self, hint: int, why: str) -> None:
        self._flag.set_small(FAILED, hint)

    def close(self) -> None:
        """The file stays mapped as long as somebody may be looking: another thread."""


def opened(environment: Environment, estimate: float, interval: float) -> ByShm:  # noqa: ARG001  there is no place for these
    """The channel, with the flag mapped."""
    return ByShm(environment)
