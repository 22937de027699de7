"""Hard limits above nodes: a queue's `max` on every level, and what a tenant may hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.claim import matching_nodes, residents_of_all
from cede.doctrines.parts.orders import Rows
from cede.model.cluster import Tenant
from cede.model.quantities import show_quantity
from cede.state.columns import NONE, PREEMPTING, RESERVED, UNLIMITED, UNSET, Bools, Int64s
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
            counts = nodes_held(state, rows) if self.what == "nodes" else np.ones(len(rows), np.int64)
            return np.where(state.work.tenant[rows] == self.tenant, counts, 0)
        assert self.column is not None
        return np.where(below(state, self.queue, rows), state.work.usage[self.column, rows], 0)


def limits_of(state: State, row: int, *, apart: bool = False) -> list[Limit]:
    """Every limit that binds this workload, nearest queue first, then its tenant's.

    `apart`: what is preempting and what is reserved both count, and do not overlap.
    """
    all_limits: list[Limit] = []
    asked = state.work.usage[:, row]
    for queue in state.tree.path(int(state.work.queue[row])):
        limits = state.tree.max[:, queue]
        columns = np.flatnonzero((limits != UNSET) & (limits < UNLIMITED) & (asked > 0)).tolist()
        used = asked
        if columns:
            used = state.tree.usage[:, queue] if apart else used_quota(state, queue)
        for column in columns:
            name = state.units.names[column]
            owner = f"queue {state.tree.names[queue]}"
            amounts = int(used[column]), int(asked[column]), int(limits[column])
            all_limits.append(Limit(owner, name, column, queue, NONE, *amounts))
    return all_limits + _tenant_limits(state, row)


def used_quota(state: State, queue: int) -> Int64s:
    """What counts against a queue's limits: what is preempting makes way for what is reserved, so the two overlap."""
    work, size = state.work, state.work.size
    usage = state.tree.usage[:, queue]
    if not state.between:
        return usage
    leaving = np.flatnonzero(work.state[:size] == PREEMPTING)
    if not len(leaving):
        return usage
    reserved = [row for row in np.flatnonzero(work.state[:size] == RESERVED).tolist() if row not in state.pending]
    held: Rows = np.array(reserved, np.intp)
    sums = [work.usage[:, rows][:, below(state, queue, rows)].sum(axis=1) for rows in (leaving, held)]
    counted: Int64s = usage - np.minimum(*sums)
    return counted


def below(state: State, queue: int, rows: Rows) -> Bools:
    """Which of these workloads are in the queue or in one below it."""
    inside = np.array([queue in state.tree.path(other) for other in range(state.tree.size)] + [False], np.bool_)
    return inside[state.work.queue[rows]]


def broken(limits: list[Limit]) -> list[Limit]:
    """Limits that the claimant would exceed now."""
    return [limit for limit in limits if limit.short > 0]


def hopeless(limits: list[Limit]) -> list[Limit]:
    """Limits that the claimant would exceed even if nothing else ran."""
    return [limit for limit in limits if limit.asked > limit.limit]


def nodes_over(state: State, row: int, nodes: list[int]) -> Limit | None:
    """The tenant's limit on nodes, if these are more than it leaves; a gang may stand on more than the fewest."""
    tenant, code = _tenant_of(state, row)
    if tenant is None or tenant.max_nodes is None:
        return None
    count = len(set(nodes))
    used = int(nodes_held(state, _holding(state, code)).sum())
    return _nodes_limit(tenant, code, used, count) if used + count > tenant.max_nodes else None


def _tenant_limits(state: State, row: int) -> list[Limit]:
    tenant, code = _tenant_of(state, row)
    if tenant is None or (tenant.max_workloads is None and tenant.max_nodes is None):
        return []
    holding = _holding(state, code)
    limits: list[Limit] = []
    if tenant.max_workloads is not None:
        amounts = len(holding), 1, tenant.max_workloads
        limits.append(Limit(f"tenant {tenant.name}", "workloads", None, NONE, code, *amounts))
    if tenant.max_nodes is not None:
        used = int(nodes_held(state, holding).sum())
        limits.append(_nodes_limit(tenant, code, used, _fewest_nodes(state, row)))
    return limits


def _nodes_limit(tenant: Tenant, code: int, used: int, asked: int) -> Limit:
    assert tenant.max_nodes is not None
    return Limit(f"tenant {tenant.name}", "nodes", None, NONE, code, used, asked, tenant.max_nodes)


def _tenant_of(state: State, row: int) -> tuple[Tenant | None, int]:
    code = int(state.work.tenant[row])
    return state.static.tenants.get(state.tenants.name(code) or ""), code


def _holding(state: State, tenant: int) -> Rows:
    work, size = state.work, state.work.size
    rows: Rows = np.flatnonzero((work.tenant[:size] == tenant) & (work.state[:size] >= RESERVED))
    return rows


def nodes_held(state: State, rows: Rows) -> Int64s:
    """How many nodes each of these stands on, or is booked on in this cycle; one where neither is known."""
    standing = state.residents.work[residents_of_all(state, rows)]
    held = np.bincount(standing, minlength=state.work.size)[rows]
    for at, row in enumerate(rows.tolist() if state.booked_on else ()):
        if row in state.booked_on:
            held[at] = len(set(state.booked_on[row]))
    return np.maximum(held, 1)


def _fewest_nodes(state: State, row: int) -> int:
    """On how many nodes it must stand at least, were they empty: no node holds more than its capacity of anything."""
    if not state.nodes.size:
        return int(state.work.members[row]) if state.work.exclusive[row] else 1
    fewest = 1
    matching = matching_nodes(state, row)
    vectors = state.members_of(row)
    total = np.sum(vectors, axis=0)
    for column in np.flatnonzero(total).tolist():
        capacity = state.nodes.capacity[column, : state.nodes.size][matching]
        each = {int(vector[column]) for vector in vectors}
        count = _largest(capacity, int(total[column]), each.pop() if len(each) == 1 else 1)
        fewest = fewest if count is None else max(fewest, count)
    return fewest


def _largest(capacity: Int64s, total: int, step: int) -> int | None:
    """How many of the largest together have so much, counted in whole steps; none if all have less."""
    most = int(capacity.max(initial=0)) // step * step
    if not most:
        return None
    count = -(-total // most)
    if int(np.count_nonzero(capacity >= most)) >= count:
        return count
    enough = np.cumsum(np.sort(capacity // step * step)[::-1]) >= total
    return int(enough.argmax()) + 1 if enough.any() else None


def _shown(state: State, column: int | None, what: str, count: int) -> str:
    if column is None:
        return str(count)
    return show_quantity(what, count * state.units.nano[column])
