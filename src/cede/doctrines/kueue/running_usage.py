"""What admitted workloads hold: usage by queue and pair, kept from cycle to cycle by following the journal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from cede.doctrines.kueue.node_bounds import AdmittedWorkload, NodeBounds, NodeUsages, node_usages_of
from cede.doctrines.kueue.quota import DEFAULT, Asked, Quotas
from cede.doctrines.kueue.usage import QuotaUsage, WorkloadUsage, quota_usage_of
from cede.doctrines.parts.orders import Rows
from cede.model.resources import split_flavor
from cede.state.columns import NONE, PREEMPTING, RESERVED, Bools
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class AdmittedWorkloads:
    """Workloads that hold room, in the order of their rows; beside each its queue, and whether it is leaving."""

    rows: Rows
    queue: Rows
    leaving: Bools
    roots: Rows

    def only(self, stay: Bools) -> AdmittedWorkloads:
        return AdmittedWorkloads(self.rows[stay], self.queue[stay], self.leaving[stay], self.roots[stay])

    def without(self, rows: Collection[int]) -> AdmittedWorkloads:
        if not rows:
            return self
        return self.only(~np.isin(self.rows, list(rows)))

    def none(self) -> AdmittedWorkloads:
        return AdmittedWorkloads(self.rows[:0], self.queue[:0], self.leaving[:0], self.roots[:0])


def holders_of(state: State, quotas: Quotas) -> AdmittedWorkloads:
    """All workloads that hold room of a queue now."""
    work, size = state.work, state.work.size
    rows = np.flatnonzero((work.state[:size] >= RESERVED) & (work.queue[:size] != NONE))
    return _holders(state, quotas, rows, work.state[rows] == PREEMPTING)


def _holders(state: State, quotas: Quotas, rows: Rows, leaving: Bools) -> AdmittedWorkloads:
    roots = quotas.kept.get("roots")
    if not isinstance(roots, np.ndarray):
        roots = quotas.kept["roots"] = np.array(quotas.root, np.intp)
    queue = state.work.queue[rows].astype(np.intp)
    return AdmittedWorkloads(rows, queue, leaving, roots[queue])


class RunningUsage:
    """The usage as it is, and what each priority of a queue holds of it.

    `changes` counts how often a workload took room or gave it back. `codes` are the states of those that overlap.
    """

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self.pairs = tuple(range(len(quotas.pairs)))
        self.workload_usage = WorkloadUsage(state, quotas)
        self.quota_usage: QuotaUsage = quota_usage_of(state, quotas, self.workload_usage)
        self.changes = 0
        self.codes = self._overlapping() if state.between else {}
        self.leaving = frozenset(row for row, code in self.codes.items() if code == PREEMPTING)
        self._node_bounds: NodeBounds | None = None
        self._aside: dict[int, NodeUsages] = {}
        self._held: dict[int, AdmittedWorkload] | None = None
        self._zeros: dict[int, frozenset[int]] | None = None
        self.went: list[AdmittedWorkload] = []
        self.gone: set[int] = set()
        """Those that left in this plan."""

    def _overlapping(self) -> dict[int, int]:
        work, size = self.state.work, self.state.work.size
        codes = work.state[:size]
        rows = np.flatnonzero(((codes == PREEMPTING) | (codes == RESERVED)) & (work.queue[:size] != NONE))
        return dict(zip(rows.tolist(), codes[rows].tolist(), strict=True))

    @property
    def zeros(self) -> dict[int, frozenset[int]]:
        """The pairs of which a holder says that it holds nothing."""
        if self._zeros is None:
            state = self.state
            odd = {*state.odd_usages, *state.odd_requests, *state.parts}  # of the others the columns say all
            zeros_by_row = ((row, zeros_of(state, self.quotas, row)) for row in odd if row not in state.pending)
            self._zeros = {row: zeros for row, zeros in zeros_by_row if zeros}
        return self._zeros

    # -- following -----------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """From now on changes are told by `follow`."""
        state, work = self.state, self.state.work
        self._held = {}
        self._node_bounds = NodeBounds(state, self.quotas)
        _ = self.zeros
        for row in holders_of(state, self.quotas).rows.tolist():
            held = self._held[row] = self._admitted_workload(row)
            self._node_bounds.move(held, 1)
        aside = np.flatnonzero((work.state[: work.size] >= RESERVED) & (work.queue[: work.size] == NONE))
        self._aside = {row: node_usages_of(state, row) for row in aside.tolist()}

    def follow(self, rows: Iterable[int]) -> None:
        """These came, moved or ended."""
        assert self._held is not None
        assert self._zeros is not None
        state, quota_usage, codes, node_bounds = self.state, self.quota_usage, self.codes, self.node_bounds
        states, queues = state.work.state, state.work.queue
        self.workload_usage.changed()
        nodes: set[int] = set()
        for row in rows:
            before = self._held.pop(row, None)
            holds = states[row] >= RESERVED and queues[row] != NONE
            aside = self._aside.pop(row, ())
            if before is None and not holds:
                if states[row] >= RESERVED:  # work of no queue holds nodes too
                    self._aside[row] = node_usages_of(state, row)
                    aside += self._aside[row]
                if aside:
                    self.changes += 1
                    nodes.update([place.node for place in aside])
                continue
            nodes.update([place.node for place in aside])
            self.changes += 1
            if before is not None:
                nodes.update([place.node for place in before.places])
                quota_usage.remove_all(before.queue, before.amounts, before.code)
                node_bounds.move(before, -1)
                codes.pop(row, None)
                self._zeros.pop(row, None)
            if holds:
                held = self._held[row] = self._admitted_workload(row)
                if held.code in (PREEMPTING, RESERVED):
                    codes[row] = held.code
                quota_usage.add_all(held.queue, held.amounts, held.code)
                node_bounds.move(held, 1)
                nodes.update([place.node for place in held.places])
                if row in state.odd_usages or row in state.odd_requests or row in state.parts:
                    zeros = zeros_of(state, self.quotas, row)
                    if zeros:
                        self._zeros[row] = zeros
        node_bounds.look_at(nodes)
        if codes or self.leaving:
            self.leaving = frozenset(row for row, code in codes.items() if code == PREEMPTING)
        self._tell_apart()

    def _tell_apart(self) -> None:
        """What is preempting makes way for what is reserved, where there is some of both."""
        assert self._held is not None
        quota_usage = self.quota_usage
        both = bool(self.leaving) and len(self.leaving) < len(self.codes)
        if both and quota_usage.moments is None:
            tables = []
            for code in (RESERVED, PREEMPTING):
                without = QuotaUsage(self.quotas, [row[:] for row in quota_usage.used])
                for row, other in self.codes.items():
                    if other == code:
                        without.remove_all(self._held[row].queue, self._held[row].amounts)
                tables.append(without.used)
            quota_usage.overlap(*tables)
        elif not both and quota_usage.moments is not None:
            quota_usage.used = quota_usage.moments[0 if self.leaving else 1]
            quota_usage.moments = None

    def _admitted_workload(self, row: int) -> AdmittedWorkload:
        state, work = self.state, self.state.work
        code, priority = int(work.state[row]), int(work.priority[row])
        return AdmittedWorkload(
            row=row,
            queue=int(work.queue[row]),
            priority=priority,
            preemptible=bool(work.preemptible[row]),
            amounts=self.workload_usage.amounts(row, self.pairs),
            code=code,
            places=node_usages_of(state, row),
            turn=(code != PREEMPTING, priority, -int(work.started[row]), state.uids[row], state.work_names[row]),
        )

    def holders(self) -> AdmittedWorkloads:
        """All workloads that held room of a queue when the plan began, without those that left since."""
        assert self._held is not None
        rows: Rows = np.array(sorted(self._held.keys() - self.gone), np.intp)
        return _holders(self.state, self.quotas, rows, np.isin(rows, list(self.leaving)))

    def queue(self, row: int) -> int:
        """The queue of one that held room when the plan began."""
        assert self._held is not None
        return self._held[row].queue

    def amounts(self, row: int, pairs: tuple[int, ...]) -> Asked:
        """What one that held room when the plan began holds of these pairs, zeros left out."""
        held = None if self._held is None else self._held.get(row)
        if held is None:
            return self.workload_usage.amounts(row, pairs)
        if pairs == self.pairs:
            return held.amounts
        return tuple(pair_and_amount for pair_and_amount in held.amounts if pair_and_amount[0] in pairs)

    def places(self, row: int) -> NodeUsages:
        """What one that held room when the plan began holds of which nodes."""
        held = None if self._held is None else self._held.get(row)
        return node_usages_of(self.state, row) if held is None else held.places

    @property
    def node_bounds(self) -> NodeBounds:
        """The most that nodes and queues could give, as last followed."""
        assert self._node_bounds is not None
        return self._node_bounds

    # -- within one plan -----------------------------------------------------------------------------------------

    def leave(self, victims: Mapping[int, str]) -> None:
        """These are gone for the rest of the plan, so that no later head may take them."""
        if self._held is not None:
            for row in victims:
                self.went.append(self._held[row])
                self.gone.add(row)

    def end_plan(self) -> None:
        """All are there again."""
        self.went.clear()
        self.gone.clear()


def zeros_of(state: State, quotas: Quotas, row: int) -> frozenset[int]:
    """The pairs of which a workload says that it holds nothing; what it asks for counts where it gives no usage."""
    sides = [state.odd_usages.get(row)]
    if not state.work.usage_given[row]:
        sides += [state.odd_requests.get(row), *(part.requests for part in state.parts.get(row, ()))]
    names = [name for side in sides if side for name, nano in side.items() if not nano]
    resources = (split_flavor(name) for name in names)
    return frozenset(quotas.index[resource, flavor or DEFAULT] for resource, flavor in resources)
