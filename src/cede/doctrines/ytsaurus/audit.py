"""What the doctrine promises of a decision, re-derived from the entries by code that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.ytsaurus.settings import DOCS, pools_of, tree_of
from cede.doctrines.ytsaurus.starvation import Memory
from cede.doctrines.ytsaurus.update import UPDATE, Update
from cede.model.plan import REQUEUED, Decision, Victim
from cede.state.columns import NEVER, STATES, UNSET
from cede.state.state import State
from cede.state.units import WHOLE

REASONS = {"starving", "aggressive", "ssd", "full-host"}
UNCLAIMED = {"overcommit", "limits", "graceful"}
SLACK = 1e-9


class Audit:
    """Follows a plan: one preemption a node, on one node each, of allocations beyond their operation's share."""

    def __init__(self, state: State, edition: str, update: Update | None = None) -> None:
        """`update`: shares that need not be worked out anew."""
        self.state = state
        self.edition = edition
        self.used: set[str] = set()
        self.touched: set[int] = set()
        self.gone: set[str] = set()
        self.asked: set[str] = set()
        """Those asked to go gracefully, whose room their node does not count on yet."""
        self.came: dict[str, list[str]] = {}
        self._update = update

    def __call__(self, made: Decision) -> Iterator[str]:
        if made.victims:
            yield from self._objections(made)
        if made.workload is not None and made.action in ("start", "preempt"):
            if len(set(made.nodes)) > 1:
                yield f"{len(set(made.nodes))} nodes in one heartbeat"
            for node in set(made.nodes):
                self.came.setdefault(node, []).append(made.workload)
        self.gone |= {victim.workload for victim in made.victims}
        self.asked |= {victim.workload for victim in made.victims if victim.reason == "graceful"}

    def _objections(self, made: Decision) -> Iterator[str]:
        state = self.state
        allowed = UNCLAIMED if made.workload is None else REASONS
        for victim in made.victims:
            row = state.work_index[victim.workload]
            word = self._word(row)
            if word not in ("running", "checkpointing"):
                yield f"{victim.workload} is {word}, not running"
            if victim.reason not in allowed:
                yield f"{victim.reason} is no reason here"
            if victim.fate != REQUEUED:
                yield f"{victim.workload} does not queue again"
            yield from self._protected(victim, row)
        if made.workload is None:
            return
        for node in set(made.nodes):
            if node in self.used:
                yield f"{node} preempts twice in one heartbeat"
            self.used.add(node)
            for victim in made.victims:
                if node not in self._nodes_of(state.work_index[victim.workload]):
                    yield f"{victim.workload} does not stand on {node}"
            if self.edition == DOCS:
                yield from self._superfluous(made, node)

    # -- whether it was open -------------------------------------------------------------------------------------------

    def _protected(self, victim: Victim, row: int) -> Iterator[str]:
        """An allocation that its operation's share protects; of operations that changed before, nothing is said."""
        record = self.state.records.get(row)
        preemptible = self.state.work.preemptible[row] != 0 if record is None else record.preemptible
        if victim.reason == "overcommit" or not preemptible:
            if victim.reason != "overcommit":
                yield f"{victim.workload} asks not to be preempted"
            return
        if self._update is None:
            self._update = Update(self.state, Memory())
        update = self._update
        operation = int(update.operation_usage.operation[row])
        settings = update.operations.settings[operation]
        if settings.graceful and victim.reason != "graceful":
            yield f"{victim.workload} is of a graceful operation"
        if operation in self.touched or victim.reason in ("ssd", "full-host"):
            return
        self.touched.add(operation)
        tree = update.pools.tree
        hard = victim.reason == "aggressive"
        if victim.reason == "limits":  # in whichever stage that was
            hard = any(pool.aggressive_starvation for pool in update.pools.settings)
            if tree.ssd.enable or tree.full_host.enable:
                return
        part = tree.aggressive_satisfaction if hard else tree.satisfaction
        if self._below(update, operation, row, part):
            yield f"{victim.workload} is within the part of its operation's fair share that is protected"

    def _below(self, update: Update, operation: int, row: int, part: float) -> bool:
        """Whether what its operation uses before this one is below so much of its share, summed up one by one."""
        state = self.state
        if update.pools.tree.bound_is_preemptible or settings_threshold(update, operation) or remembers(update):
            return False
        key = self._age(row)
        others = np.flatnonzero(update.operation_usage.operation == operation).tolist()
        before = [
            other
            for other in others
            if self._word(other) in ("running", "checkpointing", "reserved")
            and state.work_names[other] not in self.gone
            and self._age(other) < key
        ]
        fair, demand = update.fair_of(operation).tolist(), update.demand_of(operation).tolist()
        total = update.pools.total[update.pools.tree_of[update.operations.pool[operation]]].tolist()
        open_ = [at for at in range(len(fair)) if fair[at] < demand[at] - SLACK]
        shares = []
        for at, columns in enumerate(update.pools.folded):
            used = sum(self._uses(other, column) for other in before for column in columns)
            shares.append(used / total[at] if total[at] else 0.0)
        if open_:
            return all(part * fair[at] > shares[at] + SLACK for at in open_)
        return any(part * fair[at] > shares[at] + SLACK for at in range(len(fair)))

    def _age(self, row: int) -> tuple[int, str, str]:
        record = self.state.records.get(row)
        if record is None:
            started, saved = int(self.state.work.started[row]), int(self.state.work.checkpoint_last[row])
        else:
            started, saved = record.started, record.checkpoint_last if record.saved else record.template.checkpoint_last
        since = started if NEVER in (started, saved) else max(started, saved)
        return since, self.state.uids[row], self.state.work_names[row]

    def _nodes_of(self, row: int) -> list[str]:
        record = self.state.records.get(row)
        if record is None:
            return self.state.nodes_of(row)
        return [self.state.node_names[node] for node in record.nodes]

    def _word(self, row: int) -> str:
        record = self.state.records.get(row)
        return STATES[self.state.work.state[row] if record is None else record.code]

    def _uses(self, row: int, column: int) -> int:
        record = self.state.records.get(row)
        if record is None:
            return int(self.state.work.usage[column, row])
        return sum(count for at, count in record.template.need if at == column) * record.template.members

    # -- whether it was needed -----------------------------------------------------------------------------------------

    def _superfluous(self, made: Decision, node: str) -> Iterator[str]:
        assert made.workload is not None
        state = self.state
        index = state.node_index[node]
        if len(state.records) == len(state.work_index):
            yield from self._superfluous_records(made, node, index)
            return
        free = [int(amount) for amount in state.nodes.capacity[:, index] - state.nodes.occupied[:, index]]
        leaving = {victim.workload for victim in made.victims}
        for resident in state.node_residents[index]:
            name = state.work_names[int(state.residents.work[resident])]
            if name not in leaving | (self.gone - self.asked):
                free = [a - int(b) for a, b in zip(free, state.residents.amount[:, resident], strict=True)]
        for name in (*self.came.get(node, ()), made.workload):
            for member in state.members_of(state.work_index[name]):
                free = [a - int(b) for a, b in zip(free, member, strict=True)]
        need = np.sum(state.members_of(state.work_index[made.workload]), axis=0)
        for victim in made.victims:
            held = self._held(victim.workload, index)
            alone = need[WHOLE] > 1 or held[WHOLE] > 1  # one of them wants the node to itself
            left = [a - b for at, (a, b) in enumerate(zip(free, held, strict=True)) if at != WHOLE or alone]
            if min(left) >= 0:
                yield f"would fit without the eviction of {victim.workload}"

    def _superfluous_records(self, made: Decision, node: str, index: int) -> Iterator[str]:
        """The same where all workloads are records: no column is up to date then."""
        state, room = self.state, self.state.room()
        free = room.capacity[index].copy()
        leaving = {victim.workload for victim in made.victims}
        held: dict[str, dict[int, int]] = {}
        for row, members in room.standing[index].items():
            name = state.work_names[row]
            amount = {column: count * members for column, count in state.records[row].template.need}
            if name in leaving:
                held[name] = amount
            elif name not in self.gone - self.asked:
                for column, count in amount.items():
                    free[column] -= count
        need: dict[int, int] = {}
        for name in (*self.came.get(node, ()), made.workload or ""):
            template = state.records[state.work_index[name]].template
            need = {column: count * template.members for column, count in template.need}
            for column, count in need.items():
                free[column] -= count
        for victim in made.victims:
            own = held.get(victim.workload, {})
            alone = need.get(WHOLE, 0) > 1 or own.get(WHOLE, 0) > 1
            left = [has - own.get(at, 0) for at, has in enumerate(free) if at != WHOLE or alone]
            if min(left) >= 0:
                yield f"would fit without the eviction of {victim.workload}"

    def _held(self, name: str, node: int) -> list[int]:
        state = self.state
        total = [0] * len(state.units)
        for resident in state.residents_of(state.work_index[name]):
            if state.residents.node[resident] == node:
                total = [a + int(b) for a, b in zip(total, state.residents.amount[:, resident], strict=True)]
        return total


def audit_touched(state: State, edition: str) -> Audit:
    """The same at the cost of what a plan touches: with the shares that it was made by, if they are of this state. What
    is used of a share is summed up anew all the same."""
    update = state.derived.get(UPDATE)
    return Audit(state, edition, update if update is not None and update.version == state.version else None)


def remembers(update: Update) -> bool:
    """Whether shares depend on what was before, which is not known here."""
    return bool(update.integrals.all) or any(pool.historic_period is not None for pool in update.pools.settings)


def settings_threshold(update: Update, operation: int) -> bool:
    """Whether a usage threshold protects some of this operation's allocations too."""
    return bool(update.operations.settings[operation].threshold)


def tolerated(state: State, queue: int, column: int) -> int:
    """By how much a start for a starving operation may take a pool above its limit."""
    tree = tree_of(state)
    if tree.infinite_overcommit:
        return -UNSET
    amount = pools_of(state, tree)[queue].overcommit.get(state.units.names[column], 0)
    return int(amount // state.units.nano[column])
