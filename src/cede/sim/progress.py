"""How far a replay is, told in one number while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cede.sim.options import ReplayChoices, stops_at
from cede.sim.replay import Watch
from cede.sim.traces.cutting import begin_of
from cede.sim.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """`share` of the whole is behind it; `passed` is simulated time in microseconds, the others are counts of jobs."""

    share: float = 0.0
    passed: int = 0
    submitted: int = 0
    finished: int = 0


Tell = Callable[[ReplayProgress], bool]
"""Told how far a replay is; whether to go on."""

Look = Callable[[Sequence[ReplayProgress]], bool]
"""Shown how far each of several replays is; whether to go on."""


def watch_of(trace: Trace, choices: ReplayChoices, tell: Tell) -> Watch:
    """A watch that tells how far this replay is: in jobs that came and ended, or in time if it will be stopped."""
    jobs, begin, until = len(trace.jobs), begin_of(trace), stops_at(trace, choices)

    def looks(now: int, submitted: int, finished: int) -> bool:
        share = (submitted + finished) / (2 * jobs) if jobs else 1.0
        if until is not None and until > begin:
            share = max(share, (now - begin) / (until - begin))
        return tell(ReplayProgress(min(share, 1.0), now - begin, submitted, finished))

    return looks
