"""One fair share update: shares, satisfaction, who is below its share, who starves and who may preempt."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.doctrines.ytsaurus.clocks import NOT, Key, Memory, Timers
from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.fair import FairShare
from cede.doctrines.ytsaurus.guarantees import (
    limits_of,
    limits_of_operation,
    shares_of,
    strong,
    threshold_of,
    weights_of,
)
from cede.doctrines.ytsaurus.integral import Integrals
from cede.doctrines.ytsaurus.running import fifo_order, memory_sizes, running_operations, slots_in_fifo
from cede.doctrines.ytsaurus.settings import Amounts
from cede.doctrines.ytsaurus.standing import WAITS, Standing
from cede.doctrines.ytsaurus.status import below_share, covered, dominates, satisfaction
from cede.model.quantities import NANO
from cede.state.columns import Bools, Int64s, Rows
from cede.state.state import State

BLOCK = 2**20
"""So many pairs of an operation and a size of node are looked at together: sizes may be as many as nodes."""


class Update:
    """Everything that heartbeats read until the next update. Rows of `op_` arrays are operations, of others pools."""

    def __init__(self, state: State, memory: Memory, *, keep: bool = True) -> None:
        self.state = state
        if not keep:
            memory = memory.copy()
        self.standing = Standing(state)
        self.pools, self.operations = self.standing.pools, self.standing.operations
        self.fair = FairShare(self.pools, self.operations, improved=self.pools.tree.improved)
        self.limits = limits_of(self.pools)
        self.integrals = Integrals(self.pools)
        self.strong, self.burst_factors = strong(self.pools, self.limits, self.integrals.burst_of_trees())
        self.fair.limits = self.limits
        self.weights = weights_of(self.pools, self.strong, self.integrals.flows())
        self.fair.weights = self.weights
        self.fair.guarantee = self.strong.copy()
        resources = len(self.pools.columns)
        self.op_limits: Floats = np.ones((0, resources))
        self.totals: Floats = np.zeros((0, resources))
        self.with_threshold: Bools = np.zeros(0, np.bool_)
        self.op_threshold: Floats = np.zeros((0, resources))
        self._memory_sizes = memory_sizes(self.pools)
        self.running: Bools = np.zeros(0, np.bool_)
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
        self.op_clocks = Timers(memory)
        self.pool_clocks = Timers(memory)
        self.pool_clocks.extend(self.pool_keys(), [one.since for one in self.pools.settings])
        self.pool_tolerance = np.array([one.tolerance for one in self.pools.settings])
        self.pool_timeout = np.array([one.timeout for one in self.pools.settings], np.float64)
        self.pool_aggressive_enabled = np.array([one.aggressive_starvation for one in self.pools.settings], np.bool_)
        self._entered = 0
        self.run(memory, range(len(self.operations)))
        memory.forget_others({*self.op_clocks.keys, *self.pool_clocks.keys})

    # -- the update ----------------------------------------------------------------------------------------------

    def run(self, memory: Memory, touched: Iterable[int]) -> None:
        """Shares and states at the state's time, after something happened to these operations."""
        again = self._enter_new() | set(touched)
        before = self.running
        self.running, self.refused = running_operations(self.standing)
        again |= set(np.flatnonzero(self.running[: len(before)] != before).tolist())
        self._enter(np.array(sorted(again), np.intp))
        elapsed = 0 if memory.updated is None else self.state.now - memory.updated
        self._usages()
        self._weigh(memory, elapsed, again)
        added = self.integrals.shares(self.fair, self.strong, self.burst_factors, memory, elapsed)
        if added is not None:
            guarantee = self.strong + added
            changed = np.flatnonzero((guarantee != self.fair.guarantee).any(axis=1))
            self.fair.guarantee = guarantee
            self.fair.touch(changed.tolist())
        self.integral = np.zeros_like(self.strong) if added is None else added
        self.fair.update()
        memory.updated = self.state.now
        self.op_fair, self.pool_fair = self.fair.op_share, self.fair.share
        self.op_promised = self.fair.promised() if self._promises() else np.zeros_like(self.op_fair)
        self._judge()

    def _enter_new(self) -> set[int]:
        """Operations that came since: their settings as columns."""
        new = range(self._entered, len(self.operations))
        if not new:
            return set()
        settings = self.operations.settings[self._entered :]
        partitions = np.array(self.pools.tree_of, np.intp)[self.operations.above[self._entered :]]
        totals = self.pools.total[partitions].astype(np.float64)
        limits = shares_of(totals, totals)
        for number, own in zip(new, settings, strict=True):
            if own.limits is not None:
                at = number - self._entered
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
        self.op_clocks.extend([self.op_key(number) for number in new], [own.since for own in settings])
        self._thresholds([own.threshold for own in settings])
        self._entered = len(self.operations)
        return set(new)

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

    def _enter(self, rows: Rows) -> None:
        """The curves of these operations."""
        self.op_usage = shares_of(self.standing.usage.astype(np.float64), self.totals)
        asked = np.where(self.running[:, None], self.standing.waiting, 0) + self.standing.usage
        self.op_demand = shares_of(asked.astype(np.float64), self.totals)
        for number in self.limits_demand:
            most = np.maximum(self.op_limits[number], self.op_usage[number])
            self.op_demand[number] = np.minimum(self.op_demand[number], most)
        limits = self._best_allocation(rows, asked[rows])
        self.fair.enter(rows, self.op_usage[rows], self.op_demand[rows], limits, self.steps[rows])

    def _best_allocation(self, rows: Rows, asked: Int64s) -> Floats:
        """Limits of these operations, with memory cut to what whole allocations can have of it on the nodes."""
        limits = self.op_limits[rows].copy()
        if self._memory_sizes is None:
            return limits
        memory, slots, sizes = self._memory_sizes
        cut = np.flatnonzero((asked[:, memory] > 0) & (asked[:, slots] > 0))
        if not len(cut):
            return limits
        one_slot = NANO / self.state.units.nano[int(self.pools.columns[slots])]
        each = asked[cut, memory] * one_slot / asked[cut, slots]
        trees = np.array(self.pools.tree_of)[self.operations.above[rows[cut]]]
        for partition, (size, count) in sizes.items():
            total = float(self.pools.total[partition, memory])
            among, block = np.flatnonzero(trees == partition), max(1, BLOCK // max(1, len(size)))
            for here in np.split(among, range(block, len(among), block)):
                fit = np.floor(size[None, :] / each[here][:, None] + EPSILON) @ count
                most = fit * each[here] / total if total > 0 else np.zeros(len(here))
                limits[cut[here], memory] = np.minimum(limits[cut[here], memory], most)
        return limits

    def _weigh(self, memory: Memory, elapsed: int, again: set[int]) -> None:
        """Weights of operations, and the order of FIFO pools that something changed in."""
        weights = self.op_weights.copy()
        self._lighten(memory, weights, elapsed)
        changed = np.flatnonzero(weights[: len(self.fair.op_weights)] != self.fair.op_weights[: len(weights)])
        self.fair.touch({self.operations.pool[number] for number in changed.tolist()})
        self.fair.op_weights = weights
        for pool in {self.operations.pool[number] for number in again.union(changed.tolist())}:
            settings = self.pools.settings[pool]
            if settings.fifo:
                order = fifo_order(self.standing, self.operations.below[pool], settings, weights)
                if not np.array_equal(order, self.fair.fifo.get(pool, ())):
                    self.fair.fifo[pool] = order
                    self.fair.touch([pool])

    def _lighten(self, memory: Memory, weights: Floats, elapsed: int) -> None:
        """Where a pool asks for it, whoever used much lately weighs less: by half for the whole cluster."""
        own = self.weights.copy()
        for pool, settings in enumerate(self.pools.settings):
            if settings.historic_period is None:
                continue
            kept = 0.5 ** (elapsed / settings.historic_period) if settings.historic_period else 0.0
            for child in self.operations.below[pool].tolist():
                used = float(self.op_usage[child].max(initial=0.0))
                first = self.operations.settings[child].historic
                weights[child] *= 0.5 ** _average(memory, self.op_clocks.keys[child], first, used, kept)
            for child in self.pools.children[pool]:
                used = float(self.pool_usage[child].max(initial=0.0))
                own[child] *= 0.5 ** _average(
                    memory, self.pool_clocks.keys[child], self.pools.settings[child].historic, used, kept
                )
        changed = np.flatnonzero(own != self.fair.weights).tolist()
        self.fair.weights = own
        self.fair.touch({self.pools.parent[pool] for pool in changed})

    def _usages(self) -> None:
        """Usage and demand of pools: sums of what is below them."""
        above, count = self.operations.above, len(self.pools.settings)
        own = np.concatenate((self.op_usage.T, self.op_demand.T))
        sums: Floats = np.stack([np.bincount(above, weights=column, minlength=count) for column in own], axis=1)
        for pools, parents in reversed(self.pools.levels):
            np.add.at(sums, parents, sums[pools])
        half = len(self.pools.columns)
        self.pool_usage, self.pool_demand = sums[:, :half], sums[:, half:]

    def _promises(self) -> bool:
        return any(pool.promised for pool in self.pools.settings)

    # -- who is below, who starves -------------------------------------------------------------------------------

    def _judge(self) -> None:
        waiting = self.standing.counts[:, WAITS] > 0
        self.schedulable = self.running & waiting & slots_in_fifo(self.standing, self.fair.fifo, self.running)
        self.op_local = satisfaction(self.op_usage, self.op_fair, self.op_demand)
        self.pool_local = satisfaction(self.pool_usage, self.pool_fair, self.pool_demand)
        tolerance = np.where(covered(self.op_fair, self.op_demand), 1.0, self.op_tolerance)
        self.op_below = self.schedulable & below_share(self.op_usage, self.op_fair, self.op_demand, tolerance)
        if self.pools.tree.absolute_tolerance:
            self.op_below &= covered(self.op_fair, self.op_demand) | self._misses_one()
        self.pool_below = below_share(self.pool_usage, self.pool_fair, self.pool_demand, self.pool_tolerance)
        self.pool_below[self.pools.size :] = False
        self._clock()
        self._priorities()

    def _misses_one(self) -> Bools:
        """Whether an operation misses more of its share than the least that one allocation of it asks for."""
        standing = self.standing
        least = np.full_like(self.op_fair, np.inf)
        rows = np.flatnonzero(standing.kind == WAITS)
        each = shares_of(standing.amount[rows].astype(np.float64), self.totals[standing.operation[rows]])
        np.minimum.at(least, standing.operation[rows], each)
        least[~np.isfinite(least)] = 0.0
        return dominates(self.op_fair - self.op_usage, least, self.op_fair, self.op_demand)

    def _clock(self) -> None:
        tree, now = self.pools.tree, self.state.now
        part = np.minimum(1.0, self.standing.counts[:, WAITS] / tree.timeout_coefficient)
        self.op_timeout, self.op_aggressive_timeout = self.op_patience * part, tree.aggressive_timeout * part
        self.op_clocks.step(self.op_below, now, self.op_timeout, self.op_aggressive_timeout, self.op_aggressive_enabled)
        self.op_since, self.op_starvation = self.op_clocks.since, self.op_clocks.level
        below = self.pool_below if tree.pool_starvation else np.zeros_like(self.pool_below)
        late = np.full(len(below), float(tree.aggressive_timeout))
        self.pool_clocks.step(below, now, self.pool_timeout, late, self.pool_aggressive_enabled)
        self.pool_since, self.pool_starvation = self.pool_clocks.since, self.pool_clocks.level

    def op_key(self, number: int) -> Key:
        return self.pools.name(self.operations.pool[number]), self.operations.names[number]

    def pool_keys(self) -> list[Key]:
        roots = [(partition, "", "") for partition in self.state.partitions.names]
        return [*((self.pools.name(pool),) for pool in range(self.pools.size)), *roots]

    def _priorities(self) -> None:
        """What each operation may use: nothing, preemption, or aggressive preemption, for itself or for its pools."""
        level = self.op_starvation.copy()
        if not self.pools.tree.scope_only_operation:
            inherited = self.pool_starvation.copy()
            for pools, parents in self.pools.levels:
                inherited[pools] = np.maximum(inherited[pools], inherited[parents])
            level = np.maximum(level, inherited[self.operations.above])
        level[~self.schedulable] = NOT
        self.op_priority = level


def _average(memory: Memory, key: Key, first: float | None, used: float, kept: float) -> float:
    """The usage of late, the present one counting the more the longer it lasts."""
    before = memory.historic.get(key, first)
    found = (before or 0.0) * kept + used * (1 - kept)
    memory.historic[key] = found
    return found
