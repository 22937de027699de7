"""Hard limits above nodes: a queue's `max` on every level, and what a tenant may hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.orders import Rows
from cede.model.quantities import show_quantity
from cede.state.columns import NONE, RESERVED, UNSET, Int64s
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit on the claimant's path. `column` is a resource column, or None for nodes or workloads in number."""

    owner: str
    what: str
    column: int | None
    queue: int
    tenant: int
    used: int
    asked: int
    limit: int

    @property
    def short(self) -> int:
        """How much must go before the claimant is within the limit; not above zero if it is already."""
        return self.used + self.asked - self.limit

    def facts(self, state: State) -> dict[str, object]:
        """Numbers for a sentence."""
        shown = {key: _shown(state, self.column, self.what, getattr(self, key)) for key in ("used", "asked", "limit")}
        return {"owner": self.owner, "what": self.what, **shown}

    def credit(self, state: State, rows: Rows) -> Int64s:
        """How much each of these workloads would give back towards this limit."""
        if self.tenant != NONE:
            mine = state.work.tenant[rows] == self.tenant
            counts = np.ones(len(rows), np.int64)
            if self.what == "nodes":
                counts = np.array([_nodes_held(state, row) for row in rows.tolist()], np.int64)
            return np.where(mine, counts, 0)
        below = np.array([self.queue in state.tree.path(int(queue)) for queue in state.work.queue[rows]], np.bool_)
        assert self.column is not None
        return np.where(below, state.work.usage[self.column, rows], 0)


def limits_of(state: State, row: int) -> list[Limit]:
    """Every limit that binds this workload, nearest queue first, then its tenant's."""
    found: list[Limit] = []
    asked = state.work.usage[:, row]
    for queue in state.tree.path(int(state.work.queue[row])):
        limits = state.tree.max[:, queue]
        for column in np.flatnonzero((limits != UNSET) & (asked > 0)).tolist():
            name = state.units.names[column]
            used = int(state.tree.usage[column, queue])
            owner = f"queue {state.tree.names[queue]}"
            found.append(Limit(owner, name, column, queue, NONE, used, int(asked[column]), int(limits[column])))
    return found + _tenant_limits(state, row)


def broken(limits: list[Limit]) -> list[Limit]:
    """Limits that the claimant would exceed now."""
    return [limit for limit in limits if limit.short > 0]


def hopeless(limits: list[Limit]) -> list[Limit]:
    """Limits that the claimant would exceed even if nothing else ran."""
    return [limit for limit in limits if limit.asked > limit.limit]


def _tenant_limits(state: State, row: int) -> list[Limit]:
    code = int(state.work.tenant[row])
    tenant = state.static.tenants.get(state.tenants.name(code) or "")
    if tenant is None:
        return []
    work = state.work
    holding = np.flatnonzero((work.tenant[: work.size] == code) & (work.state[: work.size] >= RESERVED)).tolist()
    owner = f"tenant {tenant.name}"
    found: list[Limit] = []
    if tenant.max_workloads is not None:
        found.append(Limit(owner, "workloads", None, NONE, code, len(holding), 1, tenant.max_workloads))
    if tenant.max_nodes is not None:
        used = sum(_nodes_held(state, other) for other in holding)
        found.append(Limit(owner, "nodes", None, NONE, code, used, _nodes_asked(state, row), tenant.max_nodes))
    return found


def _nodes_held(state: State, row: int) -> int:
    """Nodes it stands on; what it asks for where it is booked in this cycle or stands on none."""
    return len(state.residents_of(row)) or _nodes_asked(state, row)


def _nodes_asked(state: State, row: int) -> int:
    """One for each member that wants a node to itself; others may share, so that one is the least."""
    return int(state.work.members[row]) if state.work.exclusive[row] else 1


def _shown(state: State, column: int | None, what: str, count: int) -> str:
    if column is None:
        return str(count)
    return show_quantity(what, count * state.units.nano[column])
