"""The candidates of one search: which workloads policy, flavors and queue let the claimant preempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.quota import Quotas
from cede.doctrines.kueue.search import Search
from cede.doctrines.kueue.settings import ANY, LOWER, LOWER_OR_NEWER, NEVER
from cede.doctrines.kueue.snapshot import Claimant, Snapshot
from cede.doctrines.parts.orders import Rows
from cede.model.rules import Rule
from cede.state.columns import NONE, Bools

MOST_KEPT = 1 << 20
"""Pools are kept as long as they are no more than so many positions together."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Positions in the snapshot's rows: of the claimant's own queue, and of the others in its tree."""

    own: Rows
    others: Rows


def pool_of(search: Search) -> Pool:
    """All that the policies of the claimant's queue let it take, whatever the quota of their queue."""
    snapshot, claimant = search.snapshot, search.claimant
    settings = claimant.settings
    if not claimant.preempts or not settings.preempts:
        return Pool(_NO_ROWS, _NO_ROWS)
    age = claimant.submitted if LOWER_OR_NEWER in (settings.within, settings.reclaim) else None
    key = (claimant.queue, claimant.priority, age, tuple(search.contested))
    pool = snapshot.pools.get(key)
    if not isinstance(pool, Pool):
        if len(snapshot.pools) * len(snapshot.rows) > MOST_KEPT:
            snapshot.pools.clear()
        pool = snapshot.pools[key] = _pool(search)
    return pool


def _pool(search: Search) -> Pool:
    snapshot, claimant = search.snapshot, search.claimant
    settings, queue = claimant.settings, claimant.queue
    own = snapshot.queue == queue
    mine = theirs = _NO_ROWS
    if settings.within != NEVER:
        mine = _may_go(snapshot, np.flatnonzero(own), search.contested)
    if snapshot.quotas.parent[queue] != NONE and settings.reclaim != NEVER:
        others = np.flatnonzero(np.greater(snapshot.roots() == snapshot.quotas.root[queue], own))
        theirs = _may_go(snapshot, others, search.contested)
    return Pool(
        _allowed(snapshot, claimant, mine, settings.within), _allowed(snapshot, claimant, theirs, settings.reclaim)
    )


_NO_ROWS: Rows = np.zeros(0, np.intp)


def _may_go(snapshot: Snapshot, at: Rows, contested: list[int]) -> Rows:
    """Of these positions those that hold what is contested, in a queue, and did not opt out."""
    rows = snapshot.rows[at]
    open_to_it: Bools = snapshot.state.work.preemptible[rows] & snapshot.touches(rows, contested)
    open_to_it &= ~_cohorts(snapshot.quotas)[snapshot.queue[at]]
    return at[open_to_it]


def _cohorts(quotas: Quotas) -> Bools:
    mask = quotas.kept.get("cohorts")
    if not isinstance(mask, np.ndarray):
        mask = quotas.kept["cohorts"] = np.array([quotas.is_cohort(queue) for queue in range(quotas.size)], np.bool_)
    return mask


def _allowed(snapshot: Snapshot, claimant: Claimant, at: Rows, policy: str) -> Rows:
    if policy == ANY:
        return at
    rows = snapshot.rows[at]
    work = snapshot.state.work
    return at[policy_mask(policy, claimant.priority, claimant.submitted, work.priority[rows], work.submitted[rows])]


def policy_mask(policy: str, priority: int, submitted: int, priorities: Rows, submissions: Rows) -> Bools:
    """Which workloads a policy lets a claimant of this priority and age take."""
    if policy == NEVER:
        return np.zeros(len(priorities), np.bool_)
    if policy == ANY:
        return np.ones(len(priorities), np.bool_)
    lower: Bools = priorities < priority
    if policy == LOWER_OR_NEWER:
        lower |= (priorities == priority) & (submissions > submitted)
    else:
        assert policy == LOWER
    return lower


def explain_pool(search: Search) -> None:
    """Why those that no search will look at are left alone: the first rule that says so."""
    if search.notes is None:
        return
    snapshot, claimant = search.snapshot, search.claimant
    for at, rule, facts in _outside(search):
        row = int(snapshot.rows[at])
        queue = int(snapshot.queue[at])
        search.notes.put(
            row,
            rule,
            queue=snapshot.quotas.names[queue],
            claimant_queue=snapshot.quotas.names[claimant.queue],
            priority=int(snapshot.state.work.priority[row]),
            claimant_priority=claimant.priority,
            **facts,
        )


def _outside(search: Search) -> Iterator[tuple[int, Rule, dict[str, object]]]:
    snapshot, claimant = search.snapshot, search.claimant
    quotas, settings, work = snapshot.quotas, claimant.settings, snapshot.state.work
    looked = np.flatnonzero(snapshot.roots() == quotas.root[claimant.queue])
    touching = snapshot.touches(snapshot.rows[looked], search.contested)
    contested = ", ".join(quotas.name(pair) for pair in search.contested)
    for at, touches in zip(looked.tolist(), touching.tolist(), strict=True):
        row, queue = int(snapshot.rows[at]), int(snapshot.queue[at])
        own = queue == claimant.queue
        policy = settings.within if own else settings.reclaim
        setting = "withinClusterQueue" if own else "reclaimWithinCohort"
        lower = policy_mask(policy, claimant.priority, claimant.submitted, work.priority[[row]], work.submitted[[row]])
        if quotas.is_cohort(queue):
            yield at, rules.COHORT_WORK, {}
        elif not touches:
            yield at, rules.OTHER_FLAVOR, {"contested": contested}
        elif policy == NEVER:
            yield at, rules.NEVER_OWN if own else rules.NEVER_COHORT, {}
        elif not work.preemptible[row]:
            yield at, rules.OPTED_OUT, {}
        elif not lower[0]:
            rule = rules.NOT_NEWER if policy == LOWER_OR_NEWER else rules.NOT_LOWER
            yield at, rule, {"setting": setting, "policy": policy}


def allowed_by(snapshot: Snapshot, claimant: Claimant, row: int) -> str:
    """The relation of the queues, and the policy and comparison by which the claimant may take this workload."""
    settings, queue = claimant.settings, int(snapshot.state.work.queue[row])
    where, policy = f"it is in {snapshot.quotas.names[queue]}; reclaimWithinCohort", settings.reclaim
    if queue == claimant.queue:
        where = f"it is in the claimant's own queue {snapshot.quotas.names[queue]}; withinClusterQueue"
        policy = settings.within
    return f"{where} {policy}: {tested(snapshot, claimant, row)}"


def tested(snapshot: Snapshot, claimant: Claimant, row: int) -> str:
    """The comparison by which a policy lets the claimant take this workload."""
    work = snapshot.state.work
    priority = int(work.priority[row])
    if priority < claimant.priority:
        return f"priority {priority} is below {claimant.priority}"
    if priority == claimant.priority:
        newer = int(work.submitted[row]) > claimant.submitted
        return f"equal priority {priority}{', and it is newer' if newer else ''}"
    return f"priority {priority} against {claimant.priority}, which does not matter"
