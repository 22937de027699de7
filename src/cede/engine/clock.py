"""The one place that asks the machine for the time, and the scheduler's clock, which no setting of the machine's moves.

Whatever is decided or due is told by the scheduler's clock: elapsed time while the machine is up, and from one boot to
the next the difference of the wall clock, never less than nothing. Wall time is for people.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from cede.model.times import SECOND

BOOT = Path("/proc/sys/kernel/random/boot_id")
TOLERANCE = SECOND // 10
"""By so much the wall clock may be off before that counts as a step of it."""
_AT_ONCE = 20_000
"""Nanoseconds: two clocks that were read within this time were read at one moment."""
_READS = 20


class Clock(Protocol):
    """Microseconds that never go back, on a scale that begins near 1970."""

    def now(self) -> int: ...


class Reading(NamedTuple):
    """What the machine's clocks say at one moment, in microseconds.

    `elapsed` counts from somewhere in this `boot`, and nobody can set it.
    """

    wall: int
    elapsed: int
    boot: str


class Machine:
    """This machine's clocks."""

    def __init__(self) -> None:
        try:
            self._boot = BOOT.read_text().strip()
        except OSError:  # then every start is taken for another boot
            self._boot = ""

    def read(self) -> Reading:
        """Both clocks, read at one moment however busy the machine is."""
        best: tuple[int, int, int] | None = None
        for _ in range(_READS):
            before = time.monotonic_ns()
            wall = time.time_ns()
            took = time.monotonic_ns() - before
            if best is None or took < best[0]:
                best = took, wall, before
            if took < _AT_ONCE:
                break
        assert best is not None, "they were read"
        return Reading(best[1] // 1000, best[2] // 1000, self._boot)


class WallClock:
    """The machine's time."""

    def now(self) -> int:
        return time.time_ns() // 1000


class ElapsedClock:
    """Time that passes, from somewhere: for limits on how long something may take."""

    def now(self) -> int:
        return time.monotonic_ns() // 1000


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment by all clocks: `at` is the scheduler's."""

    at: int
    wall: int
    elapsed: int
    boot: str


class Shift(NamedTuple):
    """From `at` on, on the scheduler's clock, the wall clock is ahead of it by this much."""

    at: int
    ahead: int


class SchedulerClock:
    """Goes on from the last mark that was kept, wherever the wall clock was set to since."""

    def __init__(
        self, machine: Machine | None = None, last: Mark | None = None, shifts: Iterable[Shift] = (), least: int = 0
    ) -> None:
        """`least`: a time that has been already."""
        self._machine = machine or Machine()
        reading = self._machine.read()
        if last is None:
            begun = reading.wall
        elif last.boot and reading.boot == last.boot and reading.elapsed >= last.elapsed:
            begun = last.at + reading.elapsed - last.elapsed
        else:
            begun = last.at + max(0, reading.wall - last.wall)
        self._boot = reading.boot
        self._origin = max(begun, least) - reading.elapsed
        """What the scheduler's clock shows when `elapsed` is 0."""
        self.shifts: tuple[Shift, ...] = tuple(shifts)
        """Every step of the wall clock that was noticed, oldest first."""
        self._notice(reading)

    def now(self) -> int:
        return self._origin + self._machine.read().elapsed

    def mark(self) -> Mark:
        """This moment, for the one who records what happens: if the wall clock was stepped, `shifts` says so."""
        return self._notice(self._machine.read())

    def _notice(self, reading: Reading) -> Mark:
        mark = Mark(self._origin + reading.elapsed, *reading)
        ahead = mark.wall - mark.at
        if abs(ahead - self.ahead) > TOLERANCE:
            since = max(mark.at, self.shifts[-1].at + 1) if self.shifts else mark.at
            self.shifts = (*self.shifts, Shift(since, ahead))
        return mark

    def wall_now(self) -> int:
        """The wall clock's time."""
        return self._machine.read().wall

    @property
    def ahead(self) -> int:
        """By how much the wall clock is ahead of this one, as was noticed last."""
        return self.shifts[-1].ahead if self.shifts else 0

    def wall(self, at: int) -> int:
        """What the wall clock showed, or will show as far as is known, when this one showed `at`."""
        shifts = self.shifts
        found = bisect_right(shifts, at, key=lambda shift: shift.at)
        return at + shifts[found - 1].ahead if found else at

    def when(self, boot: str, elapsed: int, wall: int) -> int:
        """What this clock showed at a moment that another process of this machine noted; never a time to come.

        Of another boot only the wall clock tells.
        """
        now = self.now()
        if boot and boot == self._boot:
            return min(now, self._origin + elapsed)
        end = now
        for shift in reversed(self.shifts):
            if shift.at <= wall - shift.ahead <= end:
                return wall - shift.ahead
            end = shift.at
        return min(end, wall)
