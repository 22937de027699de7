"""A wall clock that the benchmark sets on and back while servers and supervisors read it: by as much as a small file
says.

Only servers that the benchmark starts read the file, and the supervisors they ask for; `cede serve` has no such way.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from cede.engine.clock import Machine, Reading
from cede.live.executors.local import zygote

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


_START = """
import mmap, struct, sys, time, types
sys.path.append(sys.argv[1])
from guard import outcome
with open({path!r}, "r+b") as file:
    off = mmap.mmap(file.fileno(), struct.calcsize({format!r}))
outcome.time = types.SimpleNamespace(**vars(time))
outcome.time.time_ns = lambda: time.time_ns() + 1000 * struct.unpack({format!r}, off[:])[0]
from guard.zygote import main
main(*map(int, sys.argv[2:]))
"""


def step_supervisors(path: Path) -> None:
    """Supervisors of servers in this process note moments by the same wall clock: what they note it with is replaced
    before they are forked."""
    zygote.START = _START.format(path=str(path), format=_FORMAT)
