"""Everything that may be asked of a trace before it is replayed, done in one order: mapping, window, take, load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cede.sim.traces.cutting import load_factor, take, window_of
from cede.sim.traces.mapping import mapped, read_mapping
from cede.sim.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class Shaping:
    """What is asked for; None leaves the trace as it is. `window` is a text like `2d..9d`."""

    mapping: Path | None = None
    window: str | None = None
    take: int | None = None
    load_factor: float | None = None

    def of(self, trace: Trace) -> Trace:
        """The trace in this shape.

        The mapping comes first, so that what it draws for a job does not depend on what is cut; the load factor last,
        so that a window is one of the trace's own time.
        """
        if self.mapping is not None:
            trace = mapped(trace, read_mapping(self.mapping))
        if self.window is not None:
            trace = window_of(trace, self.window)
        if self.take is not None:
            trace = take(trace, self.take)
        return trace if self.load_factor is None else load_factor(trace, self.load_factor)
