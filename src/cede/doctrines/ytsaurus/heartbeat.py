"""Heartbeats of nodes: what starts where there is room, and the preemptive stages that take the newest first.

What is not needed of the victims is spared under the documented edition only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.limits import limits_of, nodes_over
from cede.doctrines.parts.orders import order_of
from cede.doctrines.parts.selection import best_of
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.cycle_usage import CycleUsage
from cede.doctrines.ytsaurus.node_allocations import (
    LEVEL_AGGRESSIVELY,
    LEVEL_NON,
    LEVEL_PREEMPTIBLE,
    SSD_AGGRESSIVELY,
    SSD_NON,
    NodeAllocations,
    look,
)
from cede.doctrines.ytsaurus.preemption_status import NON_PREEMPTIBLE, PREEMPTIBLE
from cede.doctrines.ytsaurus.question import about_node
from cede.doctrines.ytsaurus.satisfaction import dominates
from cede.doctrines.ytsaurus.settings import DOCS, Tree
from cede.doctrines.ytsaurus.starvation import AGGRESSIVE, NOT, STARVING, UNSET_CLOCK
from cede.doctrines.ytsaurus.update import Update
from cede.doctrines.ytsaurus.waiting_kinds import WaitingKinds
from cede.model.quantities import NANO
from cede.model.rules import Rule
from cede.model.times import SECOND
from cede.state.columns import NEVER, NONE, Bools, Int64s, Rows
from cede.state.state import State
from cede.state.units import WHOLE

Victims = tuple[list[int], list[int]]
"""Places of the victims in the order of taking, and of those that were taken and are not needed."""


def victims_for(cycle: Cycle, claim: Claim, here: NodeAllocations, open_: list[int], short: Int64s) -> Victims:
    """The victims for a start that is short of so much, as the edition or the file's `selection` has it."""

    def take(places: Sequence[int]) -> Victims:
        taken = newest(here, places, short)
        return spare(cycle.state, here, taken, short) if cycle.edition == DOCS else (taken, [])

    def again(only: Bools) -> Victims | None:
        victims = take([at for at in open_ if only[here.rows[at]]])
        return victims if (here.amount[victims[0]].sum(axis=0) >= short).all() else None

    own = take(open_)
    if not cycle.optimal or not own[0] or (here.amount[own[0]].sum(axis=0) < short).any():
        return own
    ask = about_node(cycle.state, claim, here, np.array(open_, np.intp), short)
    return best_of(cycle, own, lambda found: here.rows[found[0]].tolist(), lambda: ask, again)


def newest(here: NodeAllocations, places: Sequence[int], short: Int64s) -> list[int]:
    """As many as it takes, in the order in which they stand."""
    taken: list[int] = []
    freed = np.zeros_like(short)
    for at in places:
        if (freed >= short).all():
            break
        taken.append(at)
        freed = freed + here.amount[at]
    return taken


def spare(state: State, here: NodeAllocations, taken: list[int], short: Int64s) -> Victims:
    """Those that are needed, and those that are not: the oldest is spared first."""
    freed = here.amount[taken].sum(axis=0)
    spared: list[int] = []
    oldest = order_of(state, here.rows[taken], here.progress[taken])
    for place in oldest.tolist():
        at = taken[place]
        if (freed - here.amount[at] >= short).all():
            freed = freed - here.amount[at]
            spared.append(at)
    return [at for at in taken if at not in spared], spared


GPUS = 8


def waits_long(update: Update) -> Bools:
    """Operations that may preempt and were below their share for longer than the stage asks for."""
    late = (update.op_since != UNSET_CLOCK) & (update.state.now - update.op_since > update.pools.tree.full_host.timeout)
    mask: Bools = (update.op_priority > NOT) & late
    return mask


def ask_for_one(waiting_kinds: WaitingKinds) -> Bools:
    """Kinds that ask for a whole host."""
    mask: Bools = _gpus(waiting_kinds.update.state, waiting_kinds.need) == GPUS
    return mask


def within_share(waiting_kinds: WaitingKinds, cycle_usage: CycleUsage) -> Bools:
    """Kinds that keep their operation within its fair share."""
    update, owners = cycle_usage.update, waiting_kinds.operation
    total = update.totals[owners].T
    asked = cycle_usage.usage[owners].T + waiting_kinds.amount
    share = np.divide(asked, total, out=np.zeros_like(total), where=total > 0)
    mask: Bools = np.all((share <= update.op_fair[owners].T + EPSILON) | (waiting_kinds.amount == 0), axis=0)
    return mask


def is_allowed(state: State, tree: Tree, here: NodeAllocations) -> bool:
    """Whether little enough would be lost on a node, and no other whole host's work is there alone."""
    held = _gpus(state, here.amount.T)
    if ((here.group == NON_PREEMPTIBLE) & (held == GPUS)).sum() == 1:
        return False
    known = here.progress != NEVER
    seconds = np.where(known, state.now - np.where(known, here.progress, 0), 0) / SECOND
    lost = (np.maximum(seconds, 0) * held)[here.group != PREEMPTIBLE].sum()
    return bool(lost <= tree.full_host.max_penalty)


def _gpus(state: State, counts: Int64s) -> Floats:
    """How many GPUs, of whatever name, each column of these amounts has."""
    units = state.units
    gpus = [column for column in units.plain if units.names[column].endswith("gpu")]
    worth = np.array([units.nano[column] for column in gpus], np.int64)
    counted: Floats = (worth @ counts[gpus]) / NANO
    return counted


FEW = 8
"""Up to this many operations are put in order one by one,"""
MANY = 64
"""and up to this many where the order of all is not known yet."""


@dataclass(slots=True)
class HeartbeatOutcome:
    """One action of a heartbeat: the workload that starts, and what is preempted, by which rule."""

    kind: int = NONE
    row: int = NONE
    node: int = NONE
    rule: Rule | None = None
    victims: list[int] = field(default_factory=list)
    """Places in `here`, in the order of taking."""
    spared: list[int] = field(default_factory=list)
    here: NodeAllocations | None = None
    least: int = LEVEL_PREEMPTIBLE
    normal: bool = True
    free: Int64s | None = None
    """What was free before."""
    short: Int64s | None = None
    """What had to be freed."""
    over: tuple[int, int] | None = None
    """For limits: whose, and of what."""
    used: int = 0
    """How much of it was used before."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One preemptive stage: which operations may start, and down to which level it takes allocations."""

    rule: Rule
    word: str
    least: int
    target: Bools
    normal: bool = False


class Heartbeats:
    """The heartbeats of one cycle."""

    def __init__(self, cycle: Cycle, update: Update, rows: Iterable[int] | None = None) -> None:
        """Of these waiting workloads, or of all."""
        self.cycle, self.update = cycle, update
        self.state: State = cycle.state
        self.tree = update.pools.tree
        self.waiting_kinds = WaitingKinds(update, self.state.pending if rows is None else rows)
        self.spare = spare_of(update)
        self.leaving_later: set[int] = set()
        """Those asked to go gracefully: the node does not count on their room in this heartbeat."""
        self.idle: Bools = np.zeros(len(update.operations), np.bool_)
        """Graceful operations that are not below their share start nothing."""
        if update.operations.graceful:
            self.idle = update.op_graceful & ~update.op_below
        self.started: set[int] = set()
        self.used_up: Bools = np.zeros(self.state.nodes.size, np.bool_)
        """Nodes that preempted for a workload in this cycle."""
        self.held = held_nodes(update)
        """Nodes on which room is held for a workload that waits for it."""
        self.discount: Int64s | None = None
        """What could be taken on each node at the most, (columns, nodes), if that is known and is all that counts."""
        self.ssd_nodes = self._ssd_nodes()
        """Nodes on which SSD work has priority."""

    @cached_property
    def cycle_usage(self) -> CycleUsage:
        return CycleUsage(self.update)

    # -- the sequence ------------------------------------------------------------------------------------------------

    def beat(self, node: int, *, preemptive: bool) -> Iterator[HeartbeatOutcome]:
        """What this node's heartbeat does, in order; `preemptive`: its backoff is over."""
        if self.update.operations.graceful:
            yield from self._graceful(node)
        if not (self.tree.waiting_blocks and self.held[node]):
            yield from self._regular(node)
            if preemptive and self._wants(node):
                yield from self._preemptive(node)
        if self.leaving_later:
            for row in sorted(self.leaving_later):
                self.cycle.trial.evict(row)
            self.leaving_later.clear()

    def _wants(self, node: int) -> bool:
        """Whether a workload that may preempt and has not started yet fits this node with what could be taken there.

        `discount` is from the beginning of the cycle, and stays an upper bound until its end. An allocation that goes
        lowers what its operation uses before the others in its list, which protects these more, not less; and what
        starts in the cycle does not run yet, so it is never preemptible. What is free is read as it is now.
        """
        if self.discount is None:
            return True
        waiting_kinds = self.waiting_kinds
        claims = waiting_kinds.open & waiting_kinds.preempts & (self.update.op_priority[waiting_kinds.operation] > NOT)
        room = self.state.nodes.free[:, node] + self.discount[:, node]
        return bool((waiting_kinds.need[:, claims] <= np.maximum(room, 0)[:, None]).all(axis=0).any())

    def _graceful(self, node: int) -> Iterator[HeartbeatOutcome]:
        here = self._look(node)
        asked = [
            at
            for at in range(len(here))
            if self.update.op_graceful[here.operation[at]]
            and here.group[at] == PREEMPTIBLE
            and self.state.work.preemptible[here.rows[at]]
        ]
        if asked:
            yield HeartbeatOutcome(node=node, rule=rules.GRACEFUL, victims=asked, here=here)
            for at in asked:
                self.cycle_usage.drop(int(here.rows[at]), int(here.operation[at]))
                self.leaving_later.add(int(here.rows[at]))

    def _look(self, node: int) -> NodeAllocations:
        return look(self.cycle_usage, node, self.leaving_later, ssd=bool(self.ssd_nodes[node]))

    def _ssd_nodes(self) -> Bools:
        state = self.state
        if not self.tree.ssd.enable:
            return np.zeros(state.nodes.size, np.bool_)
        matches = [self.tree.ssd.filter.matches(frozenset(labels)) for labels in state.labels.sets]
        return np.array(matches, np.bool_)[state.nodes.labels[: state.nodes.size]]

    def labels(self, node: int) -> frozenset[str]:
        return frozenset(self.state.labels.sets[int(self.state.nodes.labels[node])])

    # -- what fits now -------------------------------------------------------------------------------------------------

    def _regular(self, node: int) -> Iterator[HeartbeatOutcome]:
        update = self.update
        active_all = ~self.idle
        stages = [active_all]
        if self.tree.guarantee_priority and update.promises and update.op_promised.any():
            used = np.divide(
                self.cycle_usage.usage, update.totals, out=np.zeros_like(update.totals), where=update.totals > 0
            )
            high = dominates(update.op_promised, used, update.op_fair, update.op_demand)
            high &= (update.op_promised > 0).any(axis=1)
            stages = [active_all & high, active_all & ~high]
        for active in stages:
            while True:
                free = self.state.nodes.free[:, node]
                kind = self._choose(node, free, active, preemptive=False)
                if kind == NONE:
                    break
                before = free.copy()
                row = self._start(kind, node)
                yield HeartbeatOutcome(kind, row, node, rules.STARTS, free=before)

    def _start(self, kind: int, node: int) -> int:
        row = self.waiting_kinds.serve(kind)
        self.cycle.trial.book(row, [node] * int(self.state.work.members[row]))
        self.cycle_usage.add(row, int(self.waiting_kinds.operation[kind]))
        self.started.add(row)
        return row

    def has_spare(self, free: Int64s) -> bool:
        """Whether a node with so much is worth a look at all."""
        columns, least = self.spare
        return bool((free[columns] >= least).all())

    def _choose(self, node: int, free: Int64s, active: Bools, *, preemptive: bool, kinds: Bools | None = None) -> int:
        """The kind that starts next: of the least satisfied operation that fits, what was submitted first."""
        if not self.waiting_kinds.open.any() or not self.has_spare(free):
            return NONE
        waiting_kinds = self.waiting_kinds
        fits = waiting_kinds.open & active[waiting_kinds.operation]
        if preemptive:
            fits &= waiting_kinds.preempts
        if kinds is not None:
            fits &= kinds
        for column in range(len(free)):
            fits &= waiting_kinds.need[column] <= max(int(free[column]), 0)
        among, checked = np.flatnonzero(fits), False
        while len(among):
            owners = waiting_kinds.operation[among]
            operation = self._least_satisfied(owners)
            mine = among[owners == operation]
            for kind in mine[np.argsort(waiting_kinds.first[mine], kind="stable")].tolist():
                if self.may_stand(kind, node) and self.within(kind, preemptive=preemptive):
                    return int(kind)
            among = among[owners != operation]
            room = None if checked else self.cycle_usage.room(preemptive=preemptive)
            if room is not None:  # the first was refused: limits of pools for all others at once
                among = among[(waiting_kinds.amount[:, among] <= room[waiting_kinds.pool[among]].T).all(axis=0)]
            checked = True
        return NONE

    def _least_satisfied(self, owners: Rows) -> int:
        """The operation whose turn it is."""
        first = int(owners[0])
        if (owners == first).all():
            return first
        satisfied = self.cycle_usage.satisfied(owners)
        best = owners[satisfied == satisfied.min()]
        operations = self.update.operations
        if len(best) > (FEW if operations.is_ordered else MANY):
            return int(best[np.argmin(operations.order[best])])
        among: set[int] = set(best.tolist())
        return min(among, key=operations.place)

    def may_stand(self, kind: int, node: int) -> bool:
        """Whether this node takes such a workload at all, room aside."""
        if not self.waiting_kinds.claim(kind).allowed[node]:
            return False
        wanted = self.update.operations.settings[int(self.waiting_kinds.operation[kind])].tag_filter
        return wanted is None or wanted.matches(self.labels(node))

    def within(self, kind: int, *, preemptive: bool) -> bool:
        """Whether all limits allow one more of a kind."""
        pool, amount = int(self.waiting_kinds.pool[kind]), self.waiting_kinds.amount[:, kind]
        return self.cycle_usage.allows(pool, amount, preemptive=preemptive) and self.within_own(kind)

    def within_own(self, kind: int) -> bool:
        """Whether the operation's own limits and its tenant's allow one more."""
        operation = int(self.waiting_kinds.operation[kind])
        most = self.cycle_usage.op_limits.get(operation)
        if most is not None and (self.cycle_usage.usage[operation] + self.waiting_kinds.amount[:, kind] > most).any():
            return False
        if not self.state.static.tenants:
            return True
        row = self.waiting_kinds.front(kind)
        if any(limit.tenant != NONE and limit.short > 0 for limit in limits_of(self.state, row)):
            return False
        return nodes_over(self.state, row, []) is None

    # -- preemption ---------------------------------------------------------------------------------------------------

    def _preemptive(self, node: int) -> Iterator[HeartbeatOutcome]:
        here, moves = self._look(node), self.cycle_usage.moves
        for stage in self._stages(node):
            started = False
            for taken in self._stage(node, here, stage):
                started |= taken.row != NONE
                yield taken
            if started:
                return
            if self.cycle_usage.moves != moves:
                here, moves = self._look(node), self.cycle_usage.moves
        if self.tree.full_host.enable:
            yield from self._full_host(node, here)

    def _full_host(self, node: int, here: NodeAllocations) -> Iterator[HeartbeatOutcome]:
        target = ~self.idle & waits_long(self.update)
        whole = self.waiting_kinds.open & ask_for_one(self.waiting_kinds) & target[self.waiting_kinds.operation]
        if not whole.any() or not is_allowed(self.state, self.tree, here):
            return
        stage = Stage(rules.FULL_HOST, "full-host", SSD_NON, target)
        open_ = np.flatnonzero(here.open(SSD_NON, normal=False))
        free = self.state.nodes.free[:, node].copy()
        kinds = whole & within_share(self.waiting_kinds, self.cycle_usage)
        kind = self._choose(node, free + here.amount[open_].sum(axis=0), target, preemptive=True, kinds=kinds)
        yield from self._make_room(node, here, stage, open_.tolist(), free, kind)

    def _stages(self, node: int) -> list[Stage]:
        priority = self.update.op_priority
        on_ssd = self.update.op_on_ssd
        own = on_ssd if self.ssd_nodes[node] else np.zeros_like(on_ssd)
        active = ~self.idle
        aggressive, normal = active & (priority == AGGRESSIVE), active & (priority == STARVING)
        stages = [
            Stage(rules.SSD, "ssd", SSD_AGGRESSIVELY, aggressive & own),
            Stage(rules.SSD, "ssd", LEVEL_NON, normal & own),
            Stage(rules.AGGRESSIVE, "aggressive", LEVEL_AGGRESSIVELY, aggressive & ~own),
        ]
        stages = [stage for stage in stages if stage.target.any()]
        return [*stages, Stage(rules.STARVING, "starving", LEVEL_PREEMPTIBLE, normal & ~own, normal=True)]

    def _stage(self, node: int, here: NodeAllocations, stage: Stage) -> Iterator[HeartbeatOutcome]:
        open_ = np.flatnonzero(here.open(stage.least, normal=stage.normal))
        free = self.state.nodes.free[:, node].copy()
        kind = NONE
        if stage.target.any():
            kind = self._choose(node, free + here.amount[open_].sum(axis=0), stage.target, preemptive=True)
        yield from self._make_room(node, here, stage, open_.tolist(), free, kind)

    def _make_room(
        self, node: int, here: NodeAllocations, stage: Stage, open_: list[int], free: Int64s, kind: int
    ) -> Iterator[HeartbeatOutcome]:
        """Take as many as it needs, newest first, then those of operations and pools above a limit."""
        short = -self.without_leaving(node, free)
        short[WHOLE] = 0
        if kind != NONE:
            need = self.waiting_kinds.need[:, kind]
            short = np.where(need > 0, need - free, short)
        if kind == NONE:
            taken, spared = newest(here, open_, short), list[int]()
        else:
            taken, spared = victims_for(self.cycle, self.waiting_kinds.claim(kind), here, open_, short)
        if kind != NONE or taken:
            outcome = HeartbeatOutcome(
                kind, NONE, node, stage.rule, taken, spared, here, stage.least, stage.normal, free, short
            )
            if kind == NONE:
                outcome.rule = rules.OVERCOMMIT
            elif not taken:
                outcome.rule = rules.STARTS
            for at in taken:
                self.evict(here, at)
            if kind != NONE:
                outcome.row = self._start(kind, node)
                self.used_up[node] = True
            yield outcome
        if self.cycle_usage.any_over():
            yield from self._limits(node, here, stage, [at for at in open_ if at not in taken])

    def without_leaving(self, node: int, free: Int64s) -> Int64s:
        """What is free once everything has left that is leaving."""
        nodes = self.state.nodes
        leaving, held = nodes.leaving[:, node], nodes.held[:, node]
        total: Int64s = free + np.maximum(leaving, held) - held
        for row in self.leaving_later:
            for resident in self.state.residents_of(row):
                if self.state.residents.node[resident] == node:
                    total = total + self.state.residents.amount[:, resident]
        return total

    def spared(self, outcome: HeartbeatOutcome) -> tuple[list[int], list[int]]:
        """Of a start's victims those that were needed, and those that were not."""
        assert outcome.here is not None
        assert outcome.short is not None
        return spare(self.state, outcome.here, outcome.victims, outcome.short)

    def look_again(self, node: int) -> NodeAllocations:
        """What runs on this node now."""
        return self._look(node)

    def evict(self, here: NodeAllocations, at: int) -> None:
        row = int(here.rows[at])
        self.cycle.trial.evict(row)
        self.cycle_usage.drop(row, int(here.operation[at]))

    def _limits(self, node: int, here: NodeAllocations, stage: Stage, rest: list[int]) -> Iterator[HeartbeatOutcome]:
        """Allocations of operations and pools above a limit, as many as it takes, newest first; a decision a limit."""
        by_limit: dict[tuple[int, int, int], HeartbeatOutcome] = {}
        for at in rest:
            operation = int(here.operation[at])
            over = self.cycle_usage.over_limit(operation)
            if over is None:
                continue
            pool, resource = over
            key = (operation if pool == NONE else NONE, pool, resource)
            if key not in by_limit:
                used = self.cycle_usage.usage[operation] if pool == NONE else self.cycle_usage.pool_usage[pool]
                by_limit[key] = HeartbeatOutcome(
                    node=node, rule=rules.LIMITS, here=here, least=stage.least, normal=stage.normal, over=over
                )
                by_limit[key].used = int(used[resource])
            by_limit[key].victims.append(at)
            self.evict(here, at)
        yield from by_limit.values()


def held_nodes(update: Update) -> Bools:
    """Nodes on which room is held for a workload that waits for it."""
    held = np.zeros(len(update.state.node_names), np.bool_)
    for nodes in update.operation_usage.reserved.values():
        held[list(nodes)] = True
    return held


def spare_of(update: Update) -> tuple[list[int], Int64s]:
    """What a node must have left to be worth a look: of resources that nodes or workloads have anything to do with."""
    if update.spare is not None:
        return update.spare
    state, units = update.state, update.state.units
    columns, least = [], []
    lasts = True
    for name, nano in sorted(update.pools.tree.min_spare.items()):
        column = units.index.get(name)
        if column is None:
            continue
        if not state.nodes.capacity[column, : state.nodes.size].any():
            lasts = False  # workloads come and go
            odd = [*(node.capacity for node in state.odd_nodes.values()), *state.odd_requests.values()]
            if not state.work.need[column].any() and not any(name in amounts for amounts in odd):
                continue
        columns.append(column)
        least.append(-(-nano // units.nano[column]))
    spare = columns, np.array(least, np.int64)
    if lasts:
        update.spare = spare
    return spare
