"""The nine factors of a score, the weights that a vCluster's type gives them, and the budget's multiplier.

Plain numbers in, plain numbers out; arrays where all that waits is scored at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from math import ceil, cos, pi
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cede.doctrines.lattice.node_facts import fingerprints, group_sizes, in_groups, least_gpus, wheres
from cede.doctrines.lattice.settings import SERVICE, TYPES, Settings, vclusters_of
from cede.doctrines.parts.cost import AUTO, HOUR, MANUAL, MINUTE, gpus_of, nodes_of, sizes_of
from cede.doctrines.parts.orders import Rows, nine_decimals, ordered
from cede.model.times import SECOND
from cede.state.columns import DOWN, NEVER, READY, RESERVED, RUNNING, SUSPENDED, Bools, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE

Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", float, Floats)

NAMES = ("class", "wait", "share", "topology", "data", "backlog", "energy", "checkpoint", "conformance")
UNKNOWN = 0.5
"""What a factor counts whose input is not known."""
QUIET = 0.8
"""Up to this use of the whole system a burst allowance counts, and up to this use of a budget nothing is taken off."""
DAY = 24.0
"""Hours that work without a walltime is taken to last."""

_DOCUMENT = {
    "hpc_batch": (0.15, 0.20, 0.20, 0.15, 0.10, 0.05, 0.00, 0.05, 0.10),
    "ml_training": (0.10, 0.10, 0.10, 0.25, 0.15, 0.05, 0.05, 0.10, 0.10),
    "service": (0.15, 0.05, 0.10, 0.05, 0.10, 0.05, 0.10, 0.10, 0.30),
    "sensitive": (0.90, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.10),
    "interactive": (0.10, 0.30, 0.10, 0.00, 0.05, 0.15, 0.00, 0.00, 0.30),
}
_DEFAULT = (0.20, 0.20, 0.20, 0.15, 0.10, 0.05, 0.00, 0.00, 0.10)
_CHECKPOINT = NAMES.index("checkpoint")
SEED_ML_CHECKPOINT = 0.15


def weights(*, normalized: bool) -> Floats:
    """One row a type of vCluster, a last one for none. Normalized: as the policy has them, each row a sum of 1."""
    table = np.array([*(_DOCUMENT[name] for name in TYPES), _DEFAULT])
    if normalized:
        table[TYPES.index("ml_training"), _CHECKPOINT] = SEED_ML_CHECKPOINT
        table /= table.sum(axis=1, keepdims=True)
    return table


def added(a: Number, b: Number, c: Number, d: Number, e: Number, f: Number, g: Number, h: Number, i: Number) -> Number:
    """The sum of nine weighted factors, always added in this order: the same to the last bit of one and of many."""
    return ((a + b) + (c + d)) + ((e + f) + (g + h)) + i


def of_class(class_: Number) -> Number:
    return class_ / 10


def of_wait(seconds: Number, reference: float = 3600.0) -> Number:
    score: Number = np.log1p(np.maximum(0.0, seconds) / reference)
    return score


def of_waited(seconds: float) -> float:
    """`of_wait` of one that has waited so long, which is not less than nothing."""
    score: float = np.log1p(seconds / 3600.0)
    return score


def of_share(target: float, actual: float, burst: float | None, utilization: float) -> float:
    """How far a tenant is below its target share; the target is higher for a burst while the system is quiet."""
    if burst and utilization < QUIET:
        target *= 1 + burst * (QUIET - utilization) / QUIET
    return UNKNOWN if target <= 0 else max(0.0, target - actual) / target


def of_groups(needed: int, groups: int) -> float:
    """As the document has it: the fewer of the groups it needs the better."""
    return UNKNOWN if groups <= 0 else 1 - min(needed, groups) / groups


def of_topology(nodes: int, groups: int, locality: float = UNKNOWN) -> float:
    """As the library has it: between groups, and within nodes."""
    between = UNKNOWN
    if groups > 0:
        between = 1 - min(1.0, max(1, ceil(nodes / groups)) / groups)
    blend = 0.3 if nodes <= 1 else 0.7
    return blend * between + (1 - blend) * locality


def of_backlog(queued: float, running: float) -> float:
    """Queued over running GPU-hours, of which there is at least 1."""
    return min(1.0, queued / max(1.0, running))


def of_checkpoint(minutes: float | None) -> float:
    """How easily it is saved; not at all for one without checkpoints."""
    return 0.0 if minutes is None else 1 / (1 + minutes)


def of_conformance(largest: int, nodes: int, *, capped: bool) -> float:
    """The largest set of identical nodes over what is asked for."""
    score = largest / max(1, nodes)
    return min(1.0, score) if capped else score


def of_budget(used: float | None) -> float:
    """What a score is multiplied by: less and less from four fifths of the budget on, never nothing."""
    if used is None or used <= QUIET:
        return 1.0
    if used >= 1.2:
        return 0.05
    return 0.05 + 0.95 * (1 + cos(pi * (used - QUIET) / 0.4)) / 2


OF_CLUSTER = np.isin(NAMES, ("share", "conformance"))
"""Factors that are not known to whoever does not look at the cluster."""
HOUR_PARTS = 1 << 40
"""Into so many parts hours are cut before they are added, so that sums are the same in whichever order."""


class Scores:
    """Scores of what waits; what they share is worked out once."""

    def __init__(self, state: State, settings: Settings, *, policy: bool) -> None:
        self.state, self.settings, self.policy = state, settings, policy
        self.weights = weights(normalized=policy)
        self.there = nodes_that_count(state, policy=policy)
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
        scores: Floats = added(*(table * self.weights[types]).T) * self.budgets(rows)
        return scores

    def budgets(self, rows: Rows) -> Floats:
        """What each score is multiplied by."""
        return np.where(self._plain(rows), 1.0, self._each_tenant(rows, partial(budget_of, self.state)))

    def factors(self, rows: Rows) -> Floats:
        """One row a workload, one column a factor. Where data is and what power costs no file says."""
        state, work = self.state, self.state.work
        table = np.full((len(rows), len(NAMES)), UNKNOWN)
        nodes = asked_nodes(state, rows)
        table[:, 0] = of_class(work.priority[rows].astype(np.float64))
        table[:, 1] = of_wait(self._waited(rows))
        table[:, 2] = self._each_tenant(rows, self._share)
        table[:, 3] = topologies(state, rows, nodes, policy=self.policy)
        table[:, 5] = self.backlog()
        table[:, 7] = checkpoints(state, rows, self.settings, policy=self.policy)
        table[:, 8] = self._conformance(nodes)
        plain = self._plain(rows)
        if plain.any():
            table[plain] = np.where(OF_CLUSTER, UNKNOWN, table[plain])
            table[plain, 3] = [of_topology(int(count), 1) for count in nodes[plain]]
            table[plain, 5] = of_backlog(0.0, 0.0)
        return table

    def _plain(self, rows: Rows) -> Bools:
        """Whom the library scores without looking at the cluster: as if there were one group and no other work."""
        services: Bools = vclusters_of(self.state).type[self.state.work.queue[rows]] == SERVICE
        return services & (not self.policy)

    def _waited(self, rows: Rows) -> Floats:
        """In seconds, whole ones as the library has it."""
        waited = self.state.now - self.state.work.submitted[rows]
        return waited / SECOND if self.policy else (waited // SECOND).astype(np.float64)

    # -- tenants -------------------------------------------------------------------------------------------------

    def _each_tenant(self, rows: Rows, value: Callable[[int], float]) -> Floats:
        codes, places = np.unique(self.state.work.tenant[rows], return_inverse=True)
        return np.array([value(code) for code in codes.tolist()], np.float64)[places]

    def _share(self, code: int) -> float:
        """`share_of`, what all tenants hold counted once."""
        if self._held is None:
            codes = self.state.work.tenant[self.holding] + 1
            counts = np.bincount(codes, self._sizes()[0], len(self.state.tenants.names) + 1)
            self._held = [int(count) for count in counts.tolist()]
        return share_of(self.state, code, self._held[code + 1], self.count, self.utilization)

    def _sizes(self) -> tuple[Int64s, Floats]:
        """Nodes, and GPUs of nodes, that those have who hold room."""
        if self._sized is None:
            self._sized = sizes_of(self.state, self.holding)
        return self._sized

    def _utilization(self) -> float:
        used = busy_nodes(self.state, self.there) if self.policy else int(self._sizes()[0].sum())
        return used / self.count if self.count else 0.0

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _conformance(self, nodes: Int64s) -> Floats:
        largest = largest_set(self.state, policy=self.policy)
        if largest is None:
            return np.full(len(nodes), UNKNOWN)
        counts, places = np.unique(nodes, return_inverse=True)
        by_count = [of_conformance(largest, count, capped=self.policy) for count in counts.tolist()]
        return np.array(by_count, np.float64)[places]

    # -- work ----------------------------------------------------------------------------------------------------

    def backlog(self) -> float:
        """Queued over running GPU-hours; the library counts nodes for GPUs, and whole hours."""
        state = self.state
        waiting: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
        nodes, gpus = self._sizes()
        if not self.policy:
            return of_backlog(self._hours(waiting, nodes_of(state, waiting)), self._hours(self.holding, nodes))
        booked = state.work.resident[self.holding] < 0
        if booked.any():
            gpus = gpus.copy()
            gpus[booked] = self._asked(self.holding[booked])
        return of_backlog(self._hours(waiting, self._asked(waiting)), self._hours(self.holding, gpus))

    def _asked(self, rows: Rows) -> Floats:
        """What work that stands nowhere yet asks for, in GPUs of nodes."""
        return asked_nodes(self.state, rows) * gpus_per_node(self.state, rows)

    def _hours(self, rows: Rows, size: Int64s | Floats) -> float:
        walltime = self.state.work.walltime[rows]
        hours = walltime / HOUR if self.policy else walltime // HOUR
        amounts = np.where(walltime == NEVER, DAY, hours) * size
        whole = np.floor(amounts)
        parts = np.floor((amounts - whole) * HOUR_PARTS)
        return (int(whole.astype(np.int64).sum()) * HOUR_PARTS + int(parts.astype(np.int64).sum())) / HOUR_PARTS


def hours_of(walltime: int, size: float, *, policy: bool) -> int:
    """What work of this walltime and size adds to the hours that are queued or running, in parts of an hour."""
    hours = DAY if walltime == NEVER else walltime / HOUR if policy else walltime // HOUR
    return int(hours * size * HOUR_PARTS)


def topologies(state: State, rows: Rows, nodes: Int64s, *, policy: bool) -> Floats:
    """How few groups each needs."""
    known = in_groups(state)
    if not policy:
        groups = len(np.unique(state.nodes.group[: state.nodes.size][known]))
        return np.array([of_topology(int(count), max(1, groups)) for count in nodes])
    if not known.any():
        return np.full(len(nodes), UNKNOWN)
    by_kind: dict[tuple[int, Hashable], float] = {}
    kinds = list(zip(nodes.tolist(), wheres(state, rows), strict=True))
    for row, kind in zip(rows.tolist(), kinds, strict=True):
        if kind not in by_kind:
            sizes = group_sizes(state, row, kind[1])
            by_kind[kind] = of_groups(int(sizes.searchsorted(kind[0])) + 1, len(sizes))
    return np.array([by_kind[kind] for kind in kinds], np.float64)


def largest_set(state: State, *, policy: bool) -> int | None:
    """How many identical nodes are ready and free, of whichever kind most are; none where that is not known."""
    size, kinds = state.nodes.size, fingerprints(state)
    if policy and not kinds.any():
        return None
    free = (state.nodes.free[WHOLE, :size] >= FULL) & (state.nodes.state[:size] == READY)
    sizes = np.bincount(kinds[free], minlength=1)
    if policy:
        sizes[0] = min(1, sizes[0])
    return int(sizes.max())


def checkpoints(state: State, rows: Rows, settings: Settings, *, policy: bool) -> Floats:
    """How easily each is saved."""
    work, assumed = state.work, settings.assumed
    mode, takes = work.checkpoint[rows], work.checkpoint_time[rows]
    auto = np.where((takes == NEVER) | (not policy), assumed.auto, takes)
    manual = assumed.manual if policy else 10 * MINUTE
    minutes = np.where(mode == MANUAL, manual, auto) / MINUTE
    return np.where((mode == AUTO) | (mode == MANUAL), 1 / (1 + minutes), of_checkpoint(None))


def share_of(state: State, tenant: int, held: int, nodes: int, utilization: float) -> float:
    """How far a tenant that holds so many of all nodes is below its target."""
    target = state.static.tenants.get(state.tenants.name(tenant) or "")
    if target is None or not target.share:
        return UNKNOWN
    return of_share(target.share, held / nodes if nodes else 0.0, target.burst, utilization)


def budget_of(state: State, tenant: int) -> float:
    """What the scores of a tenant's work are multiplied by."""
    owner = state.static.tenants.get(state.tenants.name(tenant) or "")
    return of_budget(None if owner is None else owner.used)


def busy_nodes(state: State, there: Bools) -> int:
    """How many of these nodes hold work."""
    nodes = state.nodes
    busy = (nodes.used[WHOLE] + nodes.held[WHOLE] + nodes.leaving[WHOLE] + nodes.booked[WHOLE])[: nodes.size] > 0
    return int((busy & there).sum())


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
    count = int(nodes_that_count(state, policy=policy).sum())
    return int(nodes_of(state, rows).sum()) / count if count else 0.0


def _work_that_counts(state: State, *, policy: bool) -> Rows:
    """Whose nodes count as used: of all that hold room, or of what runs."""
    held = state.work.state[: state.work.size]
    rows: Rows = np.flatnonzero(held >= RESERVED if policy else held == RUNNING)
    return rows


def nodes_that_count(state: State, *, policy: bool) -> Bools:
    """Nodes that are part of the cluster now: those that are not down, or only those that are ready."""
    states = state.nodes.state[: state.nodes.size]
    counts: Bools = states != DOWN if policy else states == READY
    return counts


def waiting_rows(state: State) -> Rows:
    """Work that waits and is not decided yet."""
    rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    waiting: Rows = rows[state.work.state[rows] <= SUSPENDED]
    return waiting
