"""What live and replay may want of the driver differently, beside the clock and the executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cede.model.plan import Decision

Backfill = Literal["off", "strict", "easy"]


@dataclass(frozen=True, slots=True)
class Ways:
    """The defaults are those of a live server."""

    reasons: bool = True
    """Those that wait are told why with every step. Without, nothing is worked out but what acts."""
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
    keeps: bool = True
    """Every step says what the doctrine remembers that must outlive a restart, if that changed."""


LIVE = Ways()
