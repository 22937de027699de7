"""In which order what waits is looked at: by score, then submission, then uid.

The policy counts all that hold room and all nodes that are not down. The library counts what runs and nodes that are
ready, and scores services without looking at the cluster at all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from cede.doctrines.lattice import factors
from cede.doctrines.lattice.kept import fingerprints, group_sizes, in_groups, least_gpus, wheres
from cede.doctrines.lattice.settings import SERVICE, Settings, vclusters_of
from cede.doctrines.parts.cost import (
    AUTO,
    HOUR,
    MANUAL,
    MINUTE,
    gpus_of,
    nodes_of,
    sizes_of,
)
from cede.doctrines.parts.orders import Rows, nine_decimals, ordered
from cede.model.times import SECOND
from cede.state.columns import DOWN, NEVER, READY, RESERVED, RUNNING, Bools, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE

Floats = factors.Floats

OF_CLUSTER = np.isin(factors.NAMES, ("share", "conformance"))
"""Factors that are not known to whoever does not look at the cluster."""


class Scores:
    """Scores of what waits; what they share is worked out once."""

    def __init__(self, state: State, settings: Settings, *, policy: bool) -> None:
        self.state, self.settings, self.policy = state, settings, policy
        self.weights = factors.weights(normalized=policy)
        self.there = _nodes_that_count(state, policy=policy)
        self.count = int(self.there.sum())
        self.holding = _work_that_counts(state, policy=policy)
        self._held: list[int] | None = None
        self._sized: tuple[Int64s, Floats] | None = None
        self.utilization = self._utilization()

    def ordered(self, rows: Rows) -> Rows:
        return ordered(self.state, rows, -nine_decimals(self.of(rows)), self.state.work.submitted[rows])

    def of(self, rows: Rows) -> Floats:
        table = self.factors(rows)
        types = vclusters_of(self.state).type[self.state.work.queue[rows]]
        found: Floats = (table * self.weights[types]).sum(axis=1) * self.budgets(rows)
        return found

    def budgets(self, rows: Rows) -> Floats:
        """What each score is multiplied by."""
        return np.where(self._plain(rows), 1.0, self._each_tenant(rows, self._budget))

    def factors(self, rows: Rows) -> Floats:
        """One row a workload, one column a factor. Where data is and what power costs no file says."""
        state, work = self.state, self.state.work
        table = np.full((len(rows), len(factors.NAMES)), factors.UNKNOWN)
        nodes = asked_nodes(state, rows)
        table[:, 0] = factors.of_class(work.priority[rows].astype(np.float64))
        table[:, 1] = factors.of_wait(self._waited(rows))
        table[:, 2] = self._each_tenant(rows, self._share)
        table[:, 3] = self._topologies(rows, nodes)
        table[:, 5] = self.backlog()
        table[:, 7] = self._checkpoints(rows)
        table[:, 8] = self._conformance(nodes)
        plain = self._plain(rows)
        if plain.any():
            table[plain] = np.where(OF_CLUSTER, factors.UNKNOWN, table[plain])
            table[plain, 3] = [factors.of_topology(int(count), 1) for count in nodes[plain]]
            table[plain, 5] = factors.of_backlog(0.0, 0.0)
        return table

    def _plain(self, rows: Rows) -> Bools:
        """Whom the library scores without looking at the cluster: as if there were one group and nobody else."""
        found: Bools = vclusters_of(self.state).type[self.state.work.queue[rows]] == SERVICE
        return found & (not self.policy)

    def _waited(self, rows: Rows) -> Floats:
        """In seconds, whole ones as the library has it."""
        waited = self.state.now - self.state.work.submitted[rows]
        return waited / SECOND if self.policy else (waited // SECOND).astype(np.float64)

    # -- tenants -------------------------------------------------------------------------------------------------

    def _each_tenant(self, rows: Rows, value: Callable[[int], float]) -> Floats:
        codes, places = np.unique(self.state.work.tenant[rows], return_inverse=True)
        return np.array([value(code) for code in codes.tolist()], np.float64)[places]

    def _share(self, code: int) -> float:
        tenant = self.state.static.tenants.get(self.state.tenants.name(code) or "")
        if tenant is None or not tenant.share:
            return factors.UNKNOWN
        return factors.of_share(tenant.share, self._actual_share(code), tenant.burst, self.utilization)

    def _actual_share(self, code: int) -> float:
        """`actual_share`, counted once for all tenants."""
        if self._held is None:
            codes = self.state.work.tenant[self.holding] + 1
            counts = np.bincount(codes, self._sizes()[0], len(self.state.tenants.names) + 1)
            self._held = [int(count) for count in counts.tolist()]
        return self._held[code + 1] / self.count if self.count else 0.0

    def _sizes(self) -> tuple[Int64s, Floats]:
        """Nodes, and GPUs of nodes, that those have who hold room."""
        if self._sized is None:
            self._sized = sizes_of(self.state, self.holding)
        return self._sized

    def _budget(self, code: int) -> float:
        tenant = self.state.static.tenants.get(self.state.tenants.name(code) or "")
        return factors.of_budget(None if tenant is None else tenant.used)

    def _utilization(self) -> float:
        if not self.policy:
            return int(self._sizes()[0].sum()) / self.count if self.count else 0.0
        nodes = self.state.nodes
        busy = (nodes.used[WHOLE] + nodes.held[WHOLE] + nodes.leaving[WHOLE] + nodes.booked[WHOLE])[: nodes.size] > 0
        return int((busy & self.there).sum()) / self.count if self.count else 0.0

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _topologies(self, rows: Rows, nodes: Int64s) -> Floats:
        state = self.state
        known = in_groups(state)
        if not self.policy:
            groups = len(np.unique(state.nodes.group[: state.nodes.size][known]))
            return np.array([factors.of_topology(int(count), max(1, groups)) for count in nodes])
        if not known.any():
            return np.full(len(nodes), factors.UNKNOWN)
        by_kind: dict[tuple[int, Hashable], float] = {}
        kinds = list(zip(nodes.tolist(), wheres(state, rows), strict=True))
        for row, kind in zip(rows.tolist(), kinds, strict=True):
            if kind not in by_kind:
                sizes = group_sizes(state, row, kind[1])
                by_kind[kind] = factors.of_groups(int(sizes.searchsorted(kind[0])) + 1, len(sizes))
        return np.array([by_kind[kind] for kind in kinds], np.float64)

    def _conformance(self, nodes: Int64s) -> Floats:
        state, size = self.state, self.state.nodes.size
        kinds = fingerprints(state)
        if self.policy and not kinds.any():
            return np.full(len(nodes), factors.UNKNOWN)
        free = (state.nodes.free[WHOLE, :size] >= FULL) & (state.nodes.state[:size] == READY)
        sizes = np.bincount(kinds[free], minlength=1)
        if self.policy:
            sizes[0] = min(1, sizes[0])
        largest = int(sizes.max())
        counts, places = np.unique(nodes, return_inverse=True)
        found = [factors.of_conformance(largest, count, capped=self.policy) for count in counts.tolist()]
        return np.array(found, np.float64)[places]

    # -- work ----------------------------------------------------------------------------------------------------

    def _checkpoints(self, rows: Rows) -> Floats:
        work, assumed = self.state.work, self.settings.assumed
        mode, takes = work.checkpoint[rows], work.checkpoint_time[rows]
        auto = np.where((takes == NEVER) | (not self.policy), assumed.auto, takes)
        manual = assumed.manual if self.policy else 10 * MINUTE
        minutes = np.where(mode == MANUAL, manual, auto) / MINUTE
        return np.where((mode == AUTO) | (mode == MANUAL), 1 / (1 + minutes), factors.of_checkpoint(None))

    def backlog(self) -> float:
        """Queued over running GPU-hours; the library counts nodes for GPUs, and whole hours."""
        state = self.state
        waiting: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
        nodes, gpus = self._sizes()
        if not self.policy:
            return factors.of_backlog(self._hours(waiting, nodes_of(state, waiting)), self._hours(self.holding, nodes))
        booked = state.work.resident[self.holding] < 0
        if booked.any():
            gpus = gpus.copy()
            gpus[booked] = self._asked(self.holding[booked])
        return factors.of_backlog(self._hours(waiting, self._asked(waiting)), self._hours(self.holding, gpus))

    def _asked(self, rows: Rows) -> Floats:
        """What work that stands nowhere yet asks for, in GPUs of nodes."""
        return asked_nodes(self.state, rows) * gpus_per_node(self.state, rows)

    def _hours(self, rows: Rows, size: Int64s | Floats) -> float:
        walltime = self.state.work.walltime[rows]
        hours = walltime / HOUR if self.policy else walltime // HOUR
        return float((np.where(walltime == NEVER, factors.DAY, hours) * size).sum())


def asked_nodes(state: State, rows: Rows) -> Int64s:
    """On how many nodes waiting work is taken to stand: one for each member."""
    return state.work.members[rows].astype(np.int64)


def gpus_per_node(state: State, rows: Rows) -> Floats:
    """GPUs per node of waiting work: what a member asks for, or for a whole node what the smallest one has that it
    could stand on; 1 if there are none."""
    asked = gpus_of(state, state.work.need[:, rows])
    for at, row in enumerate(rows.tolist() if state.parts else ()):
        if row in state.parts:
            members = state.members_of(row)
            asked[at] = gpus_of(state, np.sum(members, axis=0)[:, None])[0] / len(members)
    whole = np.flatnonzero(state.work.exclusive[rows])
    if len(whole) and state.nodes.size:
        least = least_gpus(state, rows[whole])
        asked[whole] = np.where(np.isnan(least), asked[whole], least)
    return np.where(asked > 0, asked, 1.0)


def actual_share(state: State, tenant: int, *, policy: bool) -> float:
    """The share of the nodes that count which a tenant's work holds."""
    rows = _work_that_counts(state, policy=policy)
    rows = rows[state.work.tenant[rows] == tenant]
    count = int(_nodes_that_count(state, policy=policy).sum())
    return int(nodes_of(state, rows).sum()) / count if count else 0.0


def _work_that_counts(state: State, *, policy: bool) -> Rows:
    """Whose nodes count as used: of all that hold room, or of what runs."""
    held = state.work.state[: state.work.size]
    found: Rows = np.flatnonzero(held >= RESERVED if policy else held == RUNNING)
    return found


def _nodes_that_count(state: State, *, policy: bool) -> Bools:
    """Nodes that are part of the cluster now: those that are not down, or only those that are ready."""
    states = state.nodes.state[: state.nodes.size]
    found: Bools = states != DOWN if policy else states == READY
    return found
