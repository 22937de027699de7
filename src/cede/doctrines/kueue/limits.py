"""Hard limits that Kueue does not know, for which nobody is preempted: a queue's `max`, what a tenant may hold."""

from __future__ import annotations

from dataclasses import dataclass

from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.snapshot import Snapshot
from cede.doctrines.parts.limits import broken, limits_of, nodes_over, used_quota
from cede.state.columns import UNSET


@dataclass(frozen=True, slots=True)
class Over:
    """A limit that the claimant would exceed, in words; `ever`: even if nothing else ran."""

    facts: dict[str, object]
    ever: bool


def over_limit(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> Over | None:
    """The first limit that the claimant would exceed with its victims gone."""
    if not snapshot.tracked:
        return None
    state, trial, row = snapshot.state, snapshot.cycle.trial, entry.claimant.row
    mark = trial.mark()
    for victim in entry.victims:
        if victim.row not in snapshot.victims:
            trial.evict(victim.row)
    over = _over_max(snapshot, entry)
    if over is None and state.static.tenants:
        found = broken([limit for limit in limits_of(state, row) if limit.column is None])
        many = nodes_over(state, row, nodes)
        if found or many is not None:
            limit = found[0] if found else many
            assert limit is not None
            over = Over(limit.facts(state), limit.asked > limit.limit)
    trial.undo(mark)
    return over


def _over_max(snapshot: Snapshot, entry: Entry) -> Over | None:
    tree, quotas = snapshot.state.tree, snapshot.quotas
    for queue in quotas.path[entry.claimant.queue]:
        if (tree.max[:, queue] == UNSET).all():
            continue
        usage = used_quota(snapshot.state, queue)
        for pair, amount in entry.assignment.asked:
            limits = [
                int(tree.max[column, queue]) * factor
                for column, factor in quotas.columns[pair]
                if tree.max[column, queue] != UNSET
            ]
            used = sum(int(usage[column]) * factor for column, factor in quotas.columns[pair])
            if limits and amount and used + amount > min(limits):
                facts: dict[str, object] = {
                    "owner": f"queue {quotas.names[queue]}",
                    "what": quotas.name(pair),
                    "used": quotas.show(pair, used),
                    "limit": quotas.show(pair, min(limits)),
                    "asked": quotas.show(pair, amount),
                }
                return Over(facts, amount > min(limits))
    return None
