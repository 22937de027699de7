"""What the doctrine promises of a decision, re-derived from the entries by code that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from cede.doctrines.ytsaurus.clocks import Memory
from cede.doctrines.ytsaurus.settings import DOCS, pools_of, tree_of
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
            word = STATES[state.work.state[row]]
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
                if node not in state.nodes_of(state.work_index[victim.workload]):
                    yield f"{victim.workload} does not stand on {node}"
            if self.edition == DOCS:
                yield from self._superfluous(made, node)

    # -- whether it was open -------------------------------------------------------------------------------------------

    def _protected(self, victim: Victim, row: int) -> Iterator[str]:
        """An allocation that its operation's share protects; of operations that changed before, nothing is said."""
        if victim.reason == "overcommit" or self.state.work.preemptible[row] == 0:
            if victim.reason != "overcommit":
                yield f"{victim.workload} asks not to be preempted"
            return
        if self._update is None:
            self._update = Update(self.state, Memory())
        update = self._update
        operation = int(update.standing.operation[row])
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
        others = np.flatnonzero(update.standing.operation == operation).tolist()
        before = [
            other
            for other in others
            if STATES[state.work.state[other]] in ("running", "checkpointing", "reserved")
            and state.work_names[other] not in self.gone
            and self._age(other) < key
        ]
        fair, demand, total = update.fair_of(operation), update.demand_of(operation), update.totals[operation]
        open_ = [at for at in range(len(fair)) if fair[at] < demand[at] - SLACK]
        shares = []
        for at, columns in enumerate(update.pools.folded):
            used = sum(int(state.work.usage[column, other]) for other in before for column in columns)
            shares.append(float(Fraction(used) / Fraction(int(total[at]))) if total[at] else 0.0)
        if open_:
            return all(part * fair[at] > shares[at] + SLACK for at in open_)
        return any(part * fair[at] > shares[at] + SLACK for at in range(len(fair)))

    def _age(self, row: int) -> tuple[int, str, str]:
        work = self.state.work
        started, saved = int(work.started[row]), int(work.checkpoint_last[row])
        since = started if NEVER in (started, saved) else max(started, saved)
        return since, self.state.uids[row], self.state.work_names[row]

    # -- whether it was needed -----------------------------------------------------------------------------------------

    def _superfluous(self, made: Decision, node: str) -> Iterator[str]:
        assert made.workload is not None
        state = self.state
        index = state.node_index[node]
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
    update = state.tree.derived.get(UPDATE)
    return Audit(state, edition, update if update is not None and update.version == state.version else None)


def remembers(update: Update) -> bool:
    """Whether shares depend on what was before, which nobody tells here."""
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
