"""Measures of preempting decisions: what they took, whether it helped, and how long it took."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.sim.measures.columns import HOUR, NEVER, SECOND, Columns, times
from cede.sim.measures.groups import Groups, over, spread, sums
from cede.sim.measures.job_measures import Found, Mask, Window
from cede.sim.tables import Tables


def of_decisions(table: Columns, window: Window, groups: Groups) -> Found:
    """Every measure of decisions in the window, by the group of their claimant; `all` has those without one too."""
    made = table.result.decisions.filter(pl.col("at").is_between(window.begin, window.end)).sort("decision")
    served = made["job"].is_not_null().to_numpy()
    code = np.zeros(len(made), np.int64)
    claimant = table.rows_of(made["job"].drop_nulls())
    code[served] = groups.code[claimant]
    # Without a claimant there is no group but the one of all.
    told = served | (len(groups) == 1 and groups.labels == ("all",))
    size = len(groups)
    asked, taken = table.each_units[claimant], _taken(table, made)[served]
    started, freed, at = times(made["started"]), times(made["freed"]), times(made["at"])
    settled = served & ~_under_way(table, made, started, freed)
    surplus = np.maximum(taken - asked, 0) * table.duration[claimant] / HOUR
    return {
        "evicted_to_requested": over(sums(taken, code[served], size), sums(asked, code[served], size)),
        "collateral_hours": sums(surplus, code[served], size).tolist(),
        "precision": over(
            sums(started[settled] != NEVER, code[settled], size),
            np.bincount(code[settled], minlength=size).astype(np.float64),
        ),
        **_between("decision_to_freed", at, freed, told, code, size),
        **_between("freed_to_started", freed, started, told, code, size),
        **_between("decision_to_started", at, started, told, code, size),
    }


def new_victims(result: Tables) -> pl.DataFrame:
    """Victims by decision and job; one that several decisions counted on belongs to the first, which sent it away."""
    part = [name for name in ("allocation",) if name in result.victims.columns]
    ordered = result.victims.sort("decision", "job", *part)
    return ordered.unique(["job", *part, "attempt"], keep="first", maintain_order=True)


def _taken(table: Columns, made: pl.DataFrame) -> NDArray[np.float64]:
    """What the victims of each decision held, in units."""
    new = new_victims(table.result).filter(pl.col("decision").is_in(made["decision"].implode()))
    each = np.searchsorted(made["decision"].to_numpy(), new["decision"].to_numpy()).astype(np.int64)
    return sums(table.each_units[table.rows_of(new["job"])], each, len(made))


def _under_way(table: Columns, made: pl.DataFrame, started: NDArray[np.int64], freed: NDArray[np.int64]) -> Mask:
    """Decisions of which the end of the replay leaves open whether their claimant starts."""
    held = table.result.holds.filter(pl.col("how") == "open")["decision"].drop_nulls()
    still = made["decision"].is_in(held.implode()).to_numpy()
    return np.asarray((started == NEVER) & ((freed == NEVER) | still), np.bool_)


def _between(
    key: str, since: NDArray[np.int64], until: NDArray[np.int64], told: Mask, code: NDArray[np.int64], size: int
) -> Found:
    chosen = told & (since != NEVER) & (until != NEVER)
    lasted = np.maximum(until - since, 0)[chosen] / SECOND
    mean, ranks = spread(lasted, code[chosen], size, (95,))
    return {f"{key}_mean": mean, f"{key}_p95": ranks[95]}
