"""What a replay returns: its tables, and whatever is measured on them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cede.sim.measures.measure import Measured, measure
from cede.sim.measures.timeline import timeline
from cede.sim.tables import Tables


@dataclass(frozen=True, slots=True)
class Result(Tables):
    """One replay, with every measure of it."""

    def timeline(self, by: str = "queue", bins: int = 400) -> pl.DataFrame:
        """What each group held and waited for over `bins` parts of the time; by state, queue, priority or size."""
        return timeline(self, by, bins)

    def measure(self, *, warm_up: float = 0.0, bound_s: float = 10.0) -> Measured:
        """Every measure of this replay."""
        return measure(self, warm_up=warm_up, bound_s=bound_s)
