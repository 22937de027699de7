"""The fair share update: usage and demand, fair shares, and what is below its share and since when.

Heartbeats read what is here until the next update.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.fair_share import FairShare
from cede.doctrines.ytsaurus.guarantees import (
    counted,
    counts_of,
    limits_in_counts,
    limits_of,
    limits_of_operation,
    shares_of,
    strong,
    threshold_of,
    weights_of,
)
from cede.doctrines.ytsaurus.integral_guarantees import Integrals
from cede.doctrines.ytsaurus.operation_usage import WAITS, OperationUsage
from cede.doctrines.ytsaurus.pool_tree import Operations, Pools
from cede.doctrines.ytsaurus.running_operations import RunningOperations, fifo_order, memory_sizes, slots_in_fifo
from cede.doctrines.ytsaurus.satisfaction import below_share, covered, dominates, satisfaction
from cede.doctrines.ytsaurus.settings import Amounts
from cede.doctrines.ytsaurus.starvation import NOT, Key, Memory, StarvationClocks
from cede.doctrines.ytsaurus.summed_shares import DemandSums, FifoShares
from cede.model.quantities import NANO
from cede.state.columns import READY, UNLIMITED, Bools, Int8s, Int64s, Rows
from cede.state.row_templates import RowTemplate
from cede.state.state import State
from cede.state.units import WHOLE


class FreeRoom:
    """What is free by node and column, and on which nodes that is less than nothing; as of the last update."""

    def __init__(self, state: State) -> None:
        size = state.nodes.size
        self.state = state
        free: Int64s = state.nodes.free[:, :size]
        self.free: list[list[int]] = free.T.tolist()
        """By node and column. Lists to look at: where it becomes another, another one takes its place."""
        self.short: set[int] = set(np.flatnonzero((free[WHOLE + 1 :] < 0).any(axis=0)).tolist())
        """Nodes that hold more than they have."""
        self.ready: Bools = state.nodes.state[:size] == READY
        self.nowhere: Bools = np.zeros(size, np.bool_)
        """No node. To look at, not to change."""
        self.rank: Int64s = state.node_rank()
        """The place of each node in the order of names."""
        self.changed: set[int] = set()
        """Nodes on which it is not the same as in the update before."""

    def follow(self, touched: Iterable[int]) -> None:
        """After something happened on these nodes."""
        self.changed = set()
        room = self.state.room().free
        for node in touched:
            free = room[node]
            if self.free[node] != free:
                self.free[node] = free.copy()
                self.changed.add(node)
                self.short.add(node) if min(free[WHOLE + 1 :], default=0) < 0 else self.short.discard(node)


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
        thresholds = np.zeros((len(given), self.op_threshold.shape[1]))
        there = np.zeros(len(given), np.bool_)
        known: dict[tuple[tuple[str, int], ...], Floats | None] = {}
        for at, amounts in enumerate(given):
            if amounts:
                key = tuple(sorted(amounts.items()))
                if key not in known:
                    known[key] = threshold_of(self.pools, amounts)
                own = known[key]
                if own is not None:
                    thresholds[at], there[at] = own, True
        self.op_threshold = np.concatenate((self.op_threshold, thresholds))
        self.with_threshold = np.append(self.with_threshold, there)


BLOCK = 2**20
"""Pairs of an operation and a size of node that are looked at together: sizes may be as many as nodes."""
UPDATE = "ytsaurus.update"
"""Where the last update of a state that is followed is kept beside its pools."""
SHARES = (
    *("op_usage", "op_demand", "pool_usage", "pool_demand", "op_fair", "pool_fair", "op_promised", "integral"),
    *("op_local", "pool_local", "op_below", "pool_below"),
)
"""What is worked out together, when one of them is asked for."""


class Update:
    """Everything that heartbeats read until the next update. Rows of `op_` arrays are operations, of others pools.

    Where demand is covered everywhere, what is below its share follows from sums, and shares are worked out only when
    one is asked for.
    """

    op_usage: Floats
    op_demand: Floats
    pool_usage: Floats
    pool_demand: Floats
    op_fair: Floats
    pool_fair: Floats
    op_promised: Floats
    integral: Floats
    op_local: Floats
    pool_local: Floats
    op_below: Bools
    pool_below: Bools
    op_graceful: Bools
    op_on_ssd: Bools
    op_aggressive_allowed: Bools
    op_normal_allowed: Bools
    op_threshold: Floats
    with_threshold: Bools
    totals: Floats
    op_limits: Floats

    def __init__(self, state: State, memory: Memory, *, keep: bool = True) -> None:
        self.state = state
        if not keep:
            memory = memory.copy()
        self.memory = memory
        self.operation_usage = OperationUsage(state)
        self.pools, self.operations = self.operation_usage.pools, self.operation_usage.operations
        self.fair = FairShare(self.pools, self.operations, improved=self.pools.tree.improved)
        self.limits = limits_of(self.pools)
        self.integrals = Integrals(self.pools)
        self.strong, self.burst_factors = strong(self.pools, self.limits, self.integrals.burst_of_trees())
        self.fair.limits = self.limits
        self.weights = weights_of(self.pools, self.strong, self.integrals.flows())
        self.fair.weights = self.weights
        self.fair.guarantee = self.strong.copy()
        self.columns = OperationColumns(self.pools, self.operations)
        self._memory_sizes = memory_sizes(self.pools)
        self.running_operations = RunningOperations(self.operation_usage)
        self.demand_sums = DemandSums(self.operation_usage, self.running_operations, self.limits, alone=self._alone())
        self.fifo = FifoShares(self.operation_usage, self.demand_sums, self.strong, self.limits, self.weights)
        self._served_by_fifo = (
            self.demand_sums.alone and bool(self.fifo.lines) and not self.pools.tree.absolute_tolerance
        )
        self.by_fifo = False
        """Whether the shares of this update are those of `fifo`."""
        self.touched: set[int] = set()
        """Operations that something happened to since the update before."""
        self._room: FreeRoom | None = None
        self._low: set[int] | None = None
        """Pools below their share by the update before, if that was by sums."""
        self.op_clocks = StarvationClocks(memory)
        self.pool_clocks = StarvationClocks(memory)
        self.pool_clocks.extend(self.pool_keys(), [one.since for one in self.pools.settings])
        self.pool_tolerance = np.array([one.tolerance for one in self.pools.settings])
        self.pool_timeout = np.array([one.timeout for one in self.pools.settings], np.float64)
        self.pool_aggressive_enabled = np.array([one.aggressive_starvation for one in self.pools.settings], np.bool_)
        self.pool_limits = limits_in_counts(self.pools)
        """What pools may use, in counts, and by how much a preemptive start may exceed that."""
        self._operation_limits: dict[int, Int64s] = {}
        self.limited = bool((self.pool_limits[0] < UNLIMITED).any())
        self.tolerates = bool(self.pool_limits[1].any())
        self.spare: tuple[list[int], Int64s] | None = None
        """What a node must have left to be worth a look, by column, if no workload changes that."""
        self.possible: set[Hashable] = set()
        """Kinds of workloads that were found to be able to run some time, as `WaitReasons` describes them."""
        self.likes: dict[RowTemplate, Hashable] = {}
        """How `WaitReasons` describes those that are cast in one template."""
        self.promises = any(pool.promised for pool in self.pools.settings)
        self.short: set[int] | None = None
        """Operations below their share, where that follows from sums."""
        self._again: set[int] = set()
        """Operations that something happened to since shares were worked out."""
        self._priority: Int8s | None = None
        self._schedulable: Bools | None = None
        self.version = state.version
        """Of the state, when this was worked out."""
        self.strongest = NOT
        """The most that any operation may use: nothing, preemption, or aggressive preemption."""
        self.run(memory, range(len(self.operations)))
        listed = {app.name for app in state.static.apps}
        memory.forget_others({*self.op_clocks.keys, *self.pool_clocks.keys}, listed)

    def _alone(self) -> bool:
        """Whether shares depend on nothing but what is used, asked for and limited."""
        tree, settings = self.pools.tree, self.pools.settings
        return not (
            self.integrals.all
            or any(one.historic_period is not None or one.promised for one in settings)
            or tree.improved
            or tree.fifo_schedulable is not None
            or self._memory_sizes is not None
        )

    # -- the update ----------------------------------------------------------------------------------------------

    def run(self, memory: Memory, touched: Iterable[int]) -> None:
        """Shares and states at the state's time, after something happened to these operations."""
        touched = set(touched)
        self._start_clocks()
        touched |= self.running_operations.follow(touched)
        self._again |= touched
        self.demand_sums.follow(touched)
        self.touched = touched
        if self._room is not None:
            self._room.follow(self.operation_usage.nodes)
        self._priority = self._schedulable = None
        if "op_fair" in self.__dict__:
            for name in SHARES:
                del self.__dict__[name]
        self.by_fifo = self._served_by_fifo and self.fifo.follow(touched) and self.demand_sums.serves_sums
        below = (self.fifo.short, self.fifo.low) if self.by_fifo else self.demand_sums.below()
        if below is None:
            self.short = self._low = None
            self._work_out(memory)
            self._judge()
        else:
            self.short = below[0]
            self._judge_by_sums(*below)
        memory.updated = self.state.now
        self.version = self.state.version

    @property
    def room(self) -> FreeRoom:
        """What is free on nodes, as the cycle found it. It is asked for before the cycle books anything."""
        if self._room is None:
            self._room = FreeRoom(self.state)
        return self._room

    def operation_limits(self) -> dict[int, Int64s]:
        """What operations with limits of their own may use, in counts. To look at, not to change."""
        counts, limited = self._operation_limits, self.operations.limited
        for number, limits in islice(limited.items(), len(counts), None):  # operations are only ever added
            counts[number] = counted(counts_of(self.pools, limits, float(UNLIMITED)))
        return counts

    def fair_and_demand(self, operations: Rows) -> tuple[Floats, Floats]:
        """Fair share and demand share of each of these operations."""
        if self.by_fifo:
            numbers = operations.tolist()
            shape = len(numbers), len(self.pools.columns)
            fair = np.array([self.fifo.fair(number) for number in numbers], np.float64).reshape(shape)
            return fair, np.array([self.fifo.demand(number) for number in numbers], np.float64).reshape(shape)
        return self.op_fair[operations], self.op_demand[operations]

    def fair_of(self, operation: int) -> Floats:
        """The fair share of an operation."""
        share: Floats = np.array(self.fifo.fair(operation)) if self.by_fifo else self.op_fair[operation]
        return share

    def demand_of(self, operation: int) -> Floats:
        """The demand share of an operation."""
        share: Floats = np.array(self.fifo.demand(operation)) if self.by_fifo else self.op_demand[operation]
        return share

    def __getattr__(self, name: str) -> Any:
        """Shares and what follows from them, on demand."""
        if name in COLUMNS:
            self.columns.enter()
            return getattr(self.columns, name)
        if name not in SHARES:
            raise AttributeError(name)
        self._work_out(self.memory)
        self._compare()
        return self.__dict__[name]

    @property
    def running(self) -> Bools:
        """Operations that are not too many."""
        return self.running_operations.running

    @property
    def refused(self) -> Bools:
        """Operations that a pool is too full to know at all."""
        return self.running_operations.refused

    def _work_out(self, memory: Memory) -> None:
        self.columns.enter()
        again = np.array(sorted(self._again), np.intp)
        self._enter(again)
        elapsed = 0 if memory.updated is None else self.state.now - memory.updated
        self._usages()
        self._weigh(memory, elapsed, self._again)
        added = self.integrals.shares(self.fair, self.strong, self.burst_factors, memory, elapsed)
        if added is not None:
            guarantee = self.strong + added
            changed = np.flatnonzero((guarantee != self.fair.guarantee).any(axis=1))
            self.fair.guarantee = guarantee
            self.fair.touch(changed.tolist())
        self.integral = np.zeros_like(self.strong) if added is None else added
        self.fair.update()
        self._again = set()
        self.op_fair, self.pool_fair = self.fair.op_share, self.fair.share
        self.op_promised = self.fair.promised() if self.promises else np.zeros_like(self.op_fair)

    def _start_clocks(self) -> None:
        """Clocks of operations that came since."""
        new = range(len(self.op_clocks.keys), len(self.operations))
        if new:
            settings = self.operations.settings
            self.op_clocks.extend([self.op_key(number) for number in new], [settings[number].since for number in new])

    def _enter(self, rows: Rows) -> None:
        """The curves of these operations."""
        self.op_usage = shares_of(self.operation_usage.usage.astype(np.float64), self.totals)
        asked = np.where(self.running[:, None], self.operation_usage.waiting, 0) + self.operation_usage.usage
        self.op_demand = shares_of(asked.astype(np.float64), self.totals)
        for number in self.columns.limits_demand:
            most = np.maximum(self.columns.op_limits[number], self.op_usage[number])
            self.op_demand[number] = np.minimum(self.op_demand[number], most)
        limits = self._best_allocation(rows, asked[rows])
        self.fair.enter(rows, self.op_usage[rows], self.op_demand[rows], limits, self.columns.steps[rows])

    def _best_allocation(self, rows: Rows, asked: Int64s) -> Floats:
        """Limits of these operations, with memory cut to what whole allocations can have of it on the nodes."""
        limits = self.columns.op_limits[rows].copy()
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
        weights = self.columns.op_weights.copy()
        self._lighten(memory, weights, elapsed)
        changed = np.flatnonzero(weights[: len(self.fair.op_weights)] != self.fair.op_weights[: len(weights)])
        self.fair.touch({self.operations.pool[number] for number in changed.tolist()})
        self.fair.op_weights = weights
        for pool in {self.operations.pool[number] for number in again.union(changed.tolist())}:
            settings = self.pools.settings[pool]
            if settings.fifo:
                order = fifo_order(self.operation_usage, self.operations.below[pool], settings, weights)
                if not np.array_equal(order, self.fair.fifo.get(pool, ())):
                    self.fair.fifo[pool] = order
                    self.fair.touch([pool])

    def _lighten(self, memory: Memory, weights: Floats, elapsed: int) -> None:
        """Where a pool asks for it, children that used much lately weigh less: by half for the whole cluster."""
        own = self.weights.copy()
        for pool, settings in enumerate(self.pools.settings):
            if settings.historic_period is None:
                continue
            kept = 0.5 ** (elapsed / settings.historic_period) if settings.historic_period else 0.0
            for child in self.operations.below[pool].tolist():
                if not self.running_operations.is_there(
                    child
                ):  # it is over: if one of its name comes, that is another one
                    memory.historic.pop(self.op_clocks.keys[child], None)
                    continue
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

    # -- what is below, what starves ------------------------------------------------------------------------------

    @property
    def schedulable(self) -> Bools:
        """Operations that wait, run, and are far enough ahead in their FIFO pool."""
        if self._schedulable is None:
            waiting = self.operation_usage.counts[:, WAITS] > 0
            self._schedulable = (
                self.running & waiting & slots_in_fifo(self.operation_usage, self.fair.fifo, self.running)
            )
        return self._schedulable

    def _judge(self) -> None:
        self._compare()
        self._clock()
        self.strongest = int(self.op_priority.max(initial=NOT))

    def _compare(self) -> None:
        """Usage with fair shares: how satisfied each is, and what is below."""
        self.op_local = satisfaction(self.op_usage, self.op_fair, self.op_demand)
        self.pool_local = satisfaction(self.pool_usage, self.pool_fair, self.pool_demand)
        tolerance = np.where(covered(self.op_fair, self.op_demand), 1.0, self.columns.op_tolerance)
        self.op_below = self.schedulable & below_share(self.op_usage, self.op_fair, self.op_demand, tolerance)
        if self.pools.tree.absolute_tolerance:
            self.op_below &= covered(self.op_fair, self.op_demand) | self._misses_one()
        self.pool_below = below_share(self.pool_usage, self.pool_fair, self.pool_demand, self.pool_tolerance)
        self.pool_below[self.pools.size :] = False

    def _judge_by_sums(self, operations: set[int], pools: set[int]) -> None:
        """The clocks with these below their share, of those alone that are or were; and what may preempt.

        A clock goes on as long as its element is below its share, and its level changes at times known before: only
        those are looked at that something happened to, whose share changed, or whose time has come.
        """
        if not self.pools.tree.pool_starvation:
            pools = set()
        some = self._low is not None and self.by_fifo and not self.fifo.anew
        if not some:
            self.op_clocks.watch_none()
            self.pool_clocks.watch_none()
        changed = self.fifo.changed if some else self.op_clocks.ticking | operations
        self._step(self.op_clocks, changed, operations, self.timeouts)
        changed = self._low ^ pools if some and self._low is not None else self.pool_clocks.ticking | pools
        self._step(self.pool_clocks, changed, pools, self.pool_timeouts)
        self._low = set(pools)
        self.strongest = self.op_clocks.strongest
        if not self.pools.tree.scope_only_operation:  # an operation in it waits, at its level
            self.strongest = max(self.strongest, self.pool_clocks.strongest)

    def _step(
        self,
        clocks: StarvationClocks,
        changed: Iterable[int],
        below: set[int],
        timeouts: Callable[[int], tuple[float, float | None]],
    ) -> None:
        now = self.state.now
        for at in {*changed, *clocks.due(now)}:
            if at in below or at in clocks.ticking:
                timeout, aggressive = timeouts(at)
                clocks.step_one(at, below=at in below, now=now, timeout=timeout, aggressive_timeout=aggressive)
                time = clocks.next_level_at(at, now, timeout, aggressive) if at in below else None
                clocks.watch(at, time)

    def timeouts(self, operation: int) -> tuple[float, float | None]:
        """How long this one is below its share until it starves, and starves aggressively, if it may."""
        tree = self.pools.tree
        part = min(1.0, self.operation_usage.tally[operation][WAITS] / tree.timeout_coefficient)
        hard = self.pools.settings[self.operations.pool[operation]].aggressive_starvation
        timeout = float(self.operations.settings[operation].timeout)
        return timeout * part, tree.aggressive_timeout * part if hard else None

    def pool_timeouts(self, pool: int) -> tuple[float, float | None]:
        """The same of a pool."""
        settings = self.pools.settings[pool]
        hard = settings.aggressive_starvation
        return float(settings.timeout), float(self.pools.tree.aggressive_timeout) if hard else None

    def _misses_one(self) -> Bools:
        """Whether an operation misses more of its share than the least that one allocation of it asks for."""
        operation_usage = self.operation_usage
        least = np.full_like(self.op_fair, np.inf)
        rows = np.flatnonzero(operation_usage.kind == WAITS)
        each = shares_of(operation_usage.amount[rows].astype(np.float64), self.totals[operation_usage.operation[rows]])
        np.minimum.at(least, operation_usage.operation[rows], each)
        least[~np.isfinite(least)] = 0.0
        return dominates(self.op_fair - self.op_usage, least, self.op_fair, self.op_demand)

    def _clock(self) -> None:
        tree, now = self.pools.tree, self.state.now
        enabled = self.columns.op_aggressive_enabled
        self.op_clocks.step(self.op_below, now, self.op_timeout, self.op_aggressive_timeout, enabled)
        below = self.pool_below if tree.pool_starvation else np.zeros_like(self.pool_below)
        late = np.full(len(below), float(tree.aggressive_timeout))
        self.pool_clocks.step(below, now, self.pool_timeout, late, self.pool_aggressive_enabled)

    @property
    def op_timeout(self) -> Floats:
        """How long each may be below its share until it starves."""
        self.columns.enter()
        return self.columns.op_patience * self._part_of_timeouts()

    @property
    def op_aggressive_timeout(self) -> Floats:
        return self.pools.tree.aggressive_timeout * self._part_of_timeouts()

    def _part_of_timeouts(self) -> Floats:
        part: Floats = np.minimum(1.0, self.operation_usage.counts[:, WAITS] / self.pools.tree.timeout_coefficient)
        return part

    @property
    def op_since(self) -> Int64s:
        return self.op_clocks.since

    @property
    def op_starvation(self) -> Int8s:
        return self.op_clocks.level

    @property
    def pool_since(self) -> Int64s:
        return self.pool_clocks.since

    @property
    def pool_starvation(self) -> Int8s:
        return self.pool_clocks.level

    def op_key(self, number: int) -> Key:
        return self.pools.name(self.operations.pool[number]), self.operations.names[number]

    def pool_keys(self) -> list[Key]:
        roots = [(partition, "", "") for partition in self.state.partitions.names]
        return [*((self.pools.name(pool),) for pool in range(self.pools.size)), *roots]

    def starves(self, operation: int, pool: int) -> bool:
        """Whether an operation of this pool may preempt once it waits: it starves, or a pool above it does for it."""
        if operation in self.op_clocks.raised:
            return True
        raised = self.pool_clocks.raised
        if not raised or self.pools.tree.scope_only_operation:
            return False
        return any(above in raised for above in self.pools.paths[pool])

    @property
    def op_priority(self) -> Int8s:
        """What each operation may use: nothing, preemption, or aggressive preemption, for itself or for its pools."""
        if self._priority is None:
            level = self.op_starvation.copy()
            if not self.pools.tree.scope_only_operation:
                inherited = self.pool_starvation.copy()
                for pools, parents in self.pools.levels:
                    inherited[pools] = np.maximum(inherited[pools], inherited[parents])
                level = np.maximum(level, inherited[self.operations.above])
            level[~self.schedulable] = NOT
            self._priority = level
        return self._priority


class Priorities:
    """What starves at one version of the state. Two are equal where every operation may use the same at one version."""

    def __init__(self, update: Update) -> None:
        self.version = update.state.version
        self._update = update
        self._operations = _levels(update.op_clocks)
        self._pools = {} if update.pools.tree.scope_only_operation else _levels(update.pool_clocks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Priorities) or self.version != other.version:
            return False
        if self._operations == other._operations and self._pools == other._pools:
            return True
        return self._all() == other._all()

    __hash__ = None  # type: ignore[assignment]

    def _all(self) -> dict[Key, int]:
        """What operations that wait may use, each for itself or for its pools; at one version the same ones wait."""
        update = self._update
        pools, names = update.pools, update.pool_clocks.keys
        levels: dict[Key, int] = {}
        for number in update.demand_sums.asking:
            path = pools.paths[update.operations.pool[number]]
            key = update.op_clocks.keys[number]
            levels[key] = max([self._operations.get(key, NOT), *(self._pools.get(names[pool], NOT) for pool in path)])
        return levels


def _levels(clocks: StarvationClocks) -> dict[Key, int]:
    return {clocks.keys[at]: int(clocks.level[at]) for at in clocks.raised}


def _average(memory: Memory, key: Key, first: float | None, used: float, kept: float) -> float:
    """The usage of late, the present one counting the more the longer it lasts."""
    before = memory.historic.get(key, first)
    average = (before or 0.0) * kept + used * (1 - kept)
    memory.historic[key] = average
    return average
