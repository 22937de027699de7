"""A wall clock that the benchmark sets on and back while a server reads it: by as much as a small file says.

Only servers that the benchmark starts read the file; `cede serve` has no such way.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from cede.engine.clock import Machine, Reading

_FORMAT = "=q"
_SIZE = struct.calcsize(_FORMAT)


class ClockStep:
    """By how many microseconds the wall clock is off, for whoever has mapped the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(struct.pack(_FORMAT, 0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)

    @property
    def us(self) -> int:
        return int(struct.unpack(_FORMAT, self._map[:])[0])

    def step(self, seconds: float) -> None:
        """The wall clock is set on by so much; back, if that is below 0."""
        self._map[:] = struct.pack(_FORMAT, self.us + round(seconds * 1e6))


class SteppedMachine(Machine):
    """This machine's clocks, with a wall clock that is off by what the file says at present."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._off = ClockStep(path)

    def read(self) -> Reading:
        real = super().read()
        return real._replace(wall=real.wall + self._off.us)
