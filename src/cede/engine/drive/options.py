"""What live and replay may want of the driver differently, beside the clock and the executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from cede.engine.drive.breaker import BreakerLimits
from cede.model.plan import Decision
from cede.model.times import SECOND

Backfill = Literal["off", "strict", "easy"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long one that failed waits before it is tried again, in microseconds: each time twice as long."""

    delay: int = SECOND
    max_delay: int = 300 * SECOND

    def after(self, failures: int) -> int:
        """The wait after so many failures; none without any."""
        # Doubling ends where it is longer than any delay, so that no number grows without end.
        return min(self.max_delay, self.delay << min(failures - 1, 40)) if failures > 0 else 0


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """The defaults are those of a live server."""

    reasons: bool = True
    """Whatever happens to a workload is told with its reason, and why it waits when somebody asks (`AskWhy`)."""
    words: bool = False
    """Every plan is made whole, with why each of those waits that do: slow, and for checks."""
    at_once: bool = False
    """The executor starts what it is told to at once, and says no more about it."""
    walltimes: bool = True
    """Who runs beyond its walltime is told to go. A recorded run time is not cut short by the limit it had."""
    instants: bool = True
    """Times are dates; otherwise numbers of seconds."""
    backfill: Backfill = "off"
    """Who may pass a workload that waits for room at the head of its line: whoever the doctrine lets pass (off), nobody
    (strict), or who does not delay it (easy)."""
    worth: bool = False
    """Who runs and answers is asked for a checkpoint when the doctrine finds one worth it, and not only on request."""
    moments: Callable[[Decision], bool] | None = None
    """Of which preempting decisions the cluster of that moment is kept; none: of all."""
    backoff: Backoff = field(default_factory=Backoff)
    breaker: BreakerLimits = field(default_factory=BreakerLimits)
    slows: bool = True
    """Backoff and breaker act. Otherwise the step only says where they would have: a replay shows the doctrine."""
    thrashing: int = 5
    """A workload that was preempted more often than this is said to thrash; drains do not count."""
    keeps: bool = True
    """Every step says what the doctrine remembers that must outlive a restart, if that changed."""


LIVE = DriverOptions()
