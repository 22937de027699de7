"""The allocations on one node: their groups, how easily each may be taken, and in which order they go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.orders import order_of
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.cycle_usage import CycleUsage
from cede.doctrines.ytsaurus.operation_usage import progress_of
from cede.doctrines.ytsaurus.preemption_status import AGGRESSIVELY, NON_PREEMPTIBLE, PREEMPTIBLE
from cede.doctrines.ytsaurus.starvation import NOT
from cede.doctrines.ytsaurus.update import Update
from cede.model.rules import Rule
from cede.state.columns import CHECKPOINTING, PREEMPTING, RESERVED, RUNNING, Bools, Int8s, Int64s, Rows
from cede.state.state import State

SSD_NON, SSD_AGGRESSIVELY, LEVEL_NON, LEVEL_AGGRESSIVELY, LEVEL_PREEMPTIBLE = range(5)


@dataclass(frozen=True, slots=True)
class NodeAllocations:
    """Running allocations on a node, one entry each, in the order in which they are taken."""

    rows: Rows
    operation: Rows
    amount: Int64s
    """What each holds on this node, (allocations, columns)."""
    group: Int8s
    before: Int64s
    """What its operation uses before it, (allocations, resources)."""
    level: Int64s
    progress: Int64s
    shielded: Bools
    """By its own wish, its operation's graceful mode, or because that starves itself."""
    from_normal: Bools
    """By a pool that forbids normal preemption."""

    def __len__(self) -> int:
        return len(self.rows)

    def open(self, least: int, *, normal: bool) -> Bools:
        """What a stage may take that takes this level and all above."""
        mask: Bools = (self.level >= least) & ~self.shielded
        return mask & ~self.from_normal if normal else mask


def look(cycle_usage: CycleUsage, node: int, gone: set[int], *, ssd: bool) -> NodeAllocations:
    """What runs on this node; `gone` are those that go but still hold their room. `ssd`: its disks have priority."""
    update = cycle_usage.update
    state, operation_usage = update.state, update.operation_usage
    residents = np.array(state.node_residents[node], np.intp)
    works = state.residents.work[residents].astype(np.intp)
    running = is_running(state, works)
    if gone:
        running &= ~np.isin(works, list(gone))
    residents, works = residents[running], works[running]
    operation = operation_usage.operation[works]
    before, group = cycle_usage.groups(works, operation)
    progress = progress_of(state, works)
    gap = np.where(group < PREEMPTIBLE, _gap(cycle_usage, works), 0)
    turn = order_of(state, works, group, gap, progress)[::-1]
    works, operation, group = works[turn], operation[turn], group[turn]
    level, shielded, from_normal = levels_of(update, works, operation, group, np.full(len(works), ssd))
    amount = state.residents.amount[:, residents[turn]].T
    return NodeAllocations(works, operation, amount, group, before[turn], level, progress[turn], shielded, from_normal)


def is_running(state: State, works: Rows) -> Bools:
    """Which of these run: others that hold room cannot be taken."""
    code = state.work.state[works]
    mask: Bools = (code == RUNNING) | (code == CHECKPOINTING)
    return mask


def levels_of(update: Update, works: Rows, operation: Rows, group: Int8s, ssd: Bools) -> tuple[Int64s, Bools, Bools]:
    """The levels of allocations in these groups, `ssd` of them on nodes whose disks have priority; which are
    shielded from every stage, and which from normal preemption.
    """
    aggressively = (group == AGGRESSIVELY) & update.op_aggressive_allowed[operation]
    level = np.where(group == PREEMPTIBLE, LEVEL_PREEMPTIBLE, np.where(aggressively, LEVEL_AGGRESSIVELY, LEVEL_NON))
    if ssd.any():
        level -= LEVEL_NON * (ssd & update.op_on_ssd[operation] & (level < LEVEL_PREEMPTIBLE))
    shielded = update.op_graceful[operation] | ~update.state.work.preemptible[works]
    if not update.pools.tree.from_starving:
        shielded |= update.op_starvation[operation] != NOT
    return level, shielded, ~update.op_normal_allowed[operation]


def _gap(cycle_usage: CycleUsage, works: Rows) -> Int64s:
    """1 for allocations that use less cpu than they may."""
    state = cycle_usage.update.state
    cpu = state.units.index.get("cpu")
    gap = np.zeros(len(works), np.int64)
    if cpu is not None:
        for at in np.flatnonzero(state.work.usage_given[works]).tolist():
            asked = sum(int(member[cpu]) for member in state.members_of(int(works[at])))
            gap[at] = state.work.usage[cpu, works[at]] < asked
    return gap


def others_on(cycle_usage: CycleUsage, node: int) -> list[int]:
    """Workloads on a node that hold room and do not run: they have not begun, or are leaving."""
    state = cycle_usage.update.state
    rows = {int(state.residents.work[resident]) for resident in state.node_residents[node]}
    return sorted(row for row in rows if state.work.state[row] in (RESERVED, PREEMPTING))


def shield_of(
    cycle_usage: CycleUsage, here: NodeAllocations, at: int, least: int, *, normal: bool, ssd: bool
) -> Rule | None:
    """The first rule that keeps this allocation from a stage; none, if the stage may take it."""
    update = cycle_usage.update
    row, settings = int(here.rows[at]), update.operations.settings[int(here.operation[at])]
    if not update.state.work.preemptible[row]:
        return rules.OPTED_OUT
    if settings.graceful:
        return rules.GRACEFUL_MODE
    if here.shielded[at]:
        return rules.STARVES_ITSELF
    if normal and here.from_normal[at]:
        return rules.NORMAL_FORBIDDEN
    if here.level[at] >= least:
        return None
    if ssd and here.level[at] < LEVEL_NON:
        return rules.SSD_SHIELD
    if here.group[at] == NON_PREEMPTIBLE:
        return rules.PROTECTED
    return rules.ONLY_AGGRESSIVE if settings.aggressive_allowed else rules.AGGRESSIVE_FORBIDDEN
