"""What a victim set must do and is judged by, for the exact solver: quota in the whole tree, and room.

The flavors are those that the decision chose. Classical preemption takes its candidates in an order; what counts is how
far it must go in that. Fair sharing has no order that is known beforehand: its sets are judged by cost.

With `u` for what a queue uses, `l` for what it keeps to itself and `over` for what it takes beyond that, a cohort uses
what its children take over. The claimant fits if, up to every level of its path, its own `u`, and `over` of all that
hang beside the path, leave enough of the quota there. That is linear but for `over`, which is bent the right way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cede.doctrines.kueue.candidates import pool_of
from cede.doctrines.kueue.classical import HIERARCHY, PRIORITY, CandidateIterator, ReclaimableBranches
from cede.doctrines.kueue.quota import DEFAULT, Table
from cede.doctrines.kueue.search import Search
from cede.doctrines.kueue.snapshot import Snapshot, claimant_of, snapshot_of
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.cost import PARTS
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Floats, Linear, Over, Question
from cede.doctrines.parts.selection import total_cost
from cede.model.plan import Decision
from cede.model.resources import split_flavor
from cede.state.admission import admitted_parts, asks_of
from cede.state.columns import PREEMPTING, RESERVED, Bools
from cede.state.state import State
from cede.state.trial import Trial

ONE_BY_ONE = "what may be taken of a queue ends where it is back within its quota, which depends on the victims before"
SHARES = "shares are compared victim by victim"
MOMENTS = "what is leaving and what is reserved overlap; quota is asked before and after, each by itself"


def question(state: State, edition: str, made: Decision, _memory: Mapping[str, Any] | None = None) -> Question | None:
    """The question about a preemption in the flavors it chose; the state is as it was before."""
    if made.workload is None or not made.victims:
        return None
    row = state.work_index[made.workload]
    snapshot = snapshot_of(Cycle(state, Trial(state), edition))
    parts = admitted_parts(state, row, made.flavors, made.counts) or asks_of(state, row)
    asked: dict[int, int] = {}
    for part in parts:
        for name, nano in part.requests.items():
            resource, flavor = split_flavor(name)
            pair = snapshot.quotas.index[resource, flavor or DEFAULT]
            asked[pair] = asked.get(pair, 0) + snapshot.quotas.count(pair, nano) * part.count
    wanted = tuple(sorted((pair, amount) for pair, amount in asked.items() if amount))
    search = Search(snapshot, claimant_of(snapshot, row), wanted, [pair for pair, _ in wanted], None)
    victims = np.array([state.work_index[victim.workload] for victim in made.victims], np.intp)
    rows, others = candidates_of(search, victims)
    fair = snapshot.mode.fair
    relaxed = [SHARES if fair else ONE_BY_ONE] if others else []
    if snapshot.quota_usage.moments is not None:
        relaxed.append(MOMENTS)
    return Question(
        claim=claim_of(state, row, parts),
        rows=rows,
        objective="cost" if fair else "order",
        weights=total_cost(state, rows).astype(np.float64) if fair else np.arange(1.0, len(rows) + 1),
        unit="min" if fair else "place",
        scale=float(PARTS) if fair else 1.0,
        by_order=not fair,
        conditions=tuple(quota_conditions(search, rows)),
        places=state.nodes.size > 0,
        relaxed=tuple(relaxed),
    )


def candidates_of(search: Search, victims: Rows) -> tuple[Rows, bool]:
    """What the policies let it take of its own queue, and of those above their quota, in the order of classical
    preemption; whether any are of other queues. The victims are among them."""
    snapshot, pool = search.snapshot, pool_of(search)
    kind = ReclaimableBranches(search).kind[snapshot.queue[pool.others]]
    taken = np.isin(snapshot.rows[pool.others], victims)
    hierarchy, priority = (
        pool.others[kind == HIERARCHY],
        pool.others[(kind == PRIORITY) | (taken & (kind != HIERARCHY))],
    )
    iterator = CandidateIterator(search, hierarchy, priority, pool.own)
    candidates = [row for batch in iterator for row in batch.rows]
    candidates += [row for row in victims.tolist() if row not in set(candidates)]
    return np.array(candidates, np.intp), bool(len(hierarchy) or len(priority))


def quota_conditions(search: Search, rows: Rows) -> list[Linear]:
    """What must hold of quota, on every level of the claimant's path, once some of these have left."""
    quota_usage = search.snapshot.quota_usage
    if quota_usage.moments is None:
        return _QuotaOf(search, quota_usage.used, rows, np.ones(len(rows), np.bool_)).conditions()
    codes = np.array([search.snapshot.code(row) for row in rows.tolist()])
    before, after = quota_usage.moments
    conditions = _QuotaOf(search, before, rows, codes != RESERVED).conditions()
    return conditions + _QuotaOf(search, after, rows, codes != PREEMPTING).conditions()


class _QuotaOf:
    """The conditions of quota, given what is used where and which workloads count in that."""

    def __init__(self, search: Search, used: Table, rows: Rows, counts: Bools) -> None:
        self.search, self.used = search, used
        self.snapshot: Snapshot = search.snapshot
        self.rows, self.counts = rows, counts
        self.queue = search.snapshot.state.work.queue[rows]
        self.homes = {node for queue in set(self.queue.tolist()) for node in self.snapshot.quotas.path[queue]}

    def conditions(self) -> list[Linear]:
        return [condition for pair, amount in self.search.asked for condition in self._of(pair, amount)]

    def _of(self, pair: int, amount: int) -> list[Linear]:
        """What is used up to each level at which there is a limit is no more than that, with the claimant."""
        quotas, queue = self.snapshot.quotas, self.search.queue
        local, path = quotas.local[pair], quotas.path[queue]
        freed = self._freed(pair)
        adds = self._adds(freed, queue)
        base = float(self.used[pair][queue]) + amount
        over: list[Over] = []
        conditions: list[Linear] = []
        kept = 0
        for level, node in enumerate(path):
            if level:
                base += self._direct(pair, node)
                for child in quotas.children[node]:
                    if child != path[level - 1]:
                        beside = self._over(pair, child, freed)
                        if isinstance(beside, Over):
                            over.append(beside)
                        else:
                            base += beside
            limit = quotas.borrowing[pair][node]
            last = level == len(path) - 1
            if limit is not None or last:
                most = quotas.subtree[pair][node] + (0 if last else limit or 0) + kept
                what = f"{quotas.name(pair)} of {quotas.names[node]}"
                if most < quotas.unlimited[pair]:
                    conditions.append(Linear(what, adds, high=float(most) - base, over=tuple(over)))
            kept += local[node]
        return conditions

    def _direct(self, pair: int, node: int) -> float:
        """What a cohort's own work uses."""
        quotas, used = self.snapshot.quotas, self.used[pair]
        below = sum(max(0, used[child] - quotas.local[pair][child]) for child in quotas.children[node])
        return float(used[node] - below)

    def _over(self, pair: int, node: int, freed: Floats) -> Over | float:
        """What a queue or cohort takes beyond what it keeps to itself; a number where nothing in it may go."""
        quotas = self.snapshot.quotas
        local = quotas.local[pair][node]
        if local >= quotas.unlimited[pair]:
            return 0.0
        if node not in self.homes:
            return float(max(0, self.used[pair][node] - local))
        base = (self._direct(pair, node) if quotas.children[node] else float(self.used[pair][node])) - local
        others: list[Over] = []
        for child in quotas.children[node]:
            beyond = self._over(pair, child, freed)
            if isinstance(beyond, Over):
                others.append(beyond)
            else:
                base += beyond
        return Over(base, self._adds(freed, node), tuple(others))

    def _freed(self, pair: int) -> Floats:
        return np.where(self.counts, self.snapshot.usage(pair, self.rows), 0).astype(np.float64)

    def _adds(self, freed: Floats, queue: int) -> Floats:
        return np.where(self.queue == queue, -freed, 0.0)
