"""What a replay may be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.engine.drive.terms import Terms
from cede.sim.assuming import Assumed
from cede.sim.faults import Fault
from cede.sim.machine import Habits

MOMENTS = 20
"""So many of the costliest preemptions are kept with the cluster of their moment."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Times in microseconds on the trace's clock. `backfill`: auto is easy where jobs have walltimes, else off."""

    backfill: str = "auto"
    extends: bool = False
    """Whether walltimes that jobs ran beyond are extended to their run times."""
    until: int | None = None
    habits: Habits = field(default_factory=Habits)
    terms: Terms = field(default_factory=Terms)
    """Of every job; those that save their work answer when they are asked for a checkpoint."""
    faults: Sequence[Fault] = ()
    assumed: Assumed = field(default_factory=Assumed)
    """Of jobs that do not say how they save their work."""
    breaker: bool = False
    """Backoff and breaker act as on a server; otherwise it is only told where they would."""
    moments: int = MOMENTS
    queue: str | None = None
    settings: Mapping[str, Any] | None = None
    """What was asked for, to be told beside the result."""
    reasons: bool = False
    """Every plan is made whole, with all its reasons: slow, and the same in every table."""
