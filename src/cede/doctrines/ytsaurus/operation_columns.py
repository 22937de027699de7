"""What counts for operations, as columns: one row an operation, in the order in which they came."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.elements import Operations, Pools
from cede.doctrines.ytsaurus.guarantees import limits_of_operation, shares_of, threshold_of
from cede.doctrines.ytsaurus.settings import Amounts
from cede.state.columns import Bools

COLUMNS = frozenset(
    {
        *("op_limits", "totals", "with_threshold", "op_threshold", "op_graceful", "op_on_ssd"),
        *("op_aggressive_allowed", "op_normal_allowed"),
    }
)
"""Those that heartbeats read."""


class OperationColumns:
    """Limits as shares, the totals that shares are of, thresholds in counts, times in microseconds, and flags."""

    def __init__(self, pools: Pools, operations: Operations) -> None:
        self.pools, self.operations = pools, operations
        resources = len(pools.columns)
        self.op_limits: Floats = np.ones((0, resources))
        self.totals: Floats = np.zeros((0, resources))
        self.with_threshold: Bools = np.zeros(0, np.bool_)
        self.op_threshold: Floats = np.zeros((0, resources))
        self.limits_demand: set[int] = set()
        self.steps: Bools = np.zeros(0, np.bool_)
        self.op_tolerance: Floats = np.zeros(0)
        self.op_patience: Floats = np.zeros(0)
        self.op_weights: Floats = np.zeros(0)
        self.op_aggressive_enabled: Bools = np.zeros(0, np.bool_)
        self.op_aggressive_allowed: Bools = np.zeros(0, np.bool_)
        self.op_normal_allowed: Bools = np.zeros(0, np.bool_)
        self.op_graceful: Bools = np.zeros(0, np.bool_)
        self.op_on_ssd: Bools = np.zeros(0, np.bool_)

    def enter(self) -> None:
        """Operations that came since."""
        known = len(self.totals)
        new = range(known, len(self.operations))
        if not new:
            return
        settings = self.operations.settings[known:]
        partitions = np.array(self.pools.tree_of, np.intp)[self.operations.above[known:]]
        totals = self.pools.total[partitions].astype(np.float64)
        limits = shares_of(totals, totals)
        for number, own in zip(new, settings, strict=True):
            if own.limits is not None:
                at = number - known
                limits[at] = limits_of_operation(self.pools, int(partitions[at]), own)
            if own.limits_demand:
                self.limits_demand.add(number)
        self.op_limits, self.totals = np.concatenate((self.op_limits, limits)), np.concatenate((self.totals, totals))
        self.steps = np.append(self.steps, [own.step for own in settings])
        self.op_tolerance = np.append(self.op_tolerance, [own.tolerance for own in settings])
        self.op_patience = np.append(self.op_patience, [float(own.timeout) for own in settings])
        self.op_weights = np.append(self.op_weights, [1.0 if own.weight is None else own.weight for own in settings])
        above = [self.pools.settings[self.operations.pool[number]] for number in new]
        self.op_aggressive_enabled = np.append(self.op_aggressive_enabled, [one.aggressive_starvation for one in above])
        self.op_aggressive_allowed = np.append(self.op_aggressive_allowed, [own.aggressive_allowed for own in settings])
        self.op_normal_allowed = np.append(self.op_normal_allowed, [one.normal_allowed for one in above])
        self.op_graceful = np.append(self.op_graceful, [own.graceful for own in settings])
        media = self.pools.tree.ssd.media
        self.op_on_ssd = np.append(self.op_on_ssd, [own.medium in media for own in settings])
        self._thresholds([own.threshold for own in settings])

    def _thresholds(self, given: list[Amounts]) -> None:
        """Usage thresholds of operations; equal ones, as from one pool, are worked out once."""
        found = np.zeros((len(given), self.op_threshold.shape[1]))
        there = np.zeros(len(given), np.bool_)
        known: dict[tuple[tuple[str, int], ...], Floats | None] = {}
        for at, amounts in enumerate(given):
            if amounts:
                key = tuple(sorted(amounts.items()))
                if key not in known:
                    known[key] = threshold_of(self.pools, amounts)
                own = known[key]
                if own is not None:
                    found[at], there[at] = own, True
        self.op_threshold = np.concatenate((self.op_threshold, found))
        self.with_threshold = np.append(self.with_threshold, there)
