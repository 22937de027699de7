"""Hard limits that Kueue does not know: a queue's `max`, what a tenant may hold. Nothing is preempted for them."""

from __future__ import annotations

from dataclasses import dataclass

from cede.doctrines.kueue.flavors import parts_of
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.quota import DEFAULT
from cede.doctrines.kueue.snapshot import Snapshot
from cede.doctrines.parts.limits import broken, limits_of, nodes_over, used_quota
from cede.model.quantities import say_quantity
from cede.model.resources import split_flavor
from cede.state.columns import UNSET


@dataclass(frozen=True, slots=True)
class ExceededLimit:
    """A limit that the claimant would exceed, in words; `ever`: even if nothing else ran."""

    facts: dict[str, object]
    ever: bool


def over_limit(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> ExceededLimit | None:
    """The first limit that the claimant would exceed with its victims gone."""
    if not snapshot.limited:
        return None
    snapshot.settle()
    state, trial, row = snapshot.state, snapshot.cycle.trial, entry.claimant.row
    mark = trial.mark()
    for victim in entry.victims:
        if victim.row not in snapshot.victims:
            trial.evict(victim.row)
    over = _over_max(snapshot, entry)
    if over is None and state.static.tenants:
        tenant_limits = broken([limit for limit in limits_of(state, row) if limit.column is None])
        many = nodes_over(state, row, nodes)
        if tenant_limits or many is not None:
            limit = tenant_limits[0] if tenant_limits else many
            assert limit is not None
            over = ExceededLimit(limit.facts(state), limit.asked > limit.limit)
    trial.undo(mark)
    return over


def _over_max(snapshot: Snapshot, entry: Entry) -> ExceededLimit | None:
    """A queue's own limits are exact, whatever Kueue rounds."""
    tree, quotas, nano = snapshot.state.tree, snapshot.quotas, snapshot.state.units.nano
    asked = _asked(snapshot, entry)
    for queue in quotas.path[entry.claimant.queue]:
        if (tree.max[:, queue] == UNSET).all():
            continue
        usage = used_quota(snapshot.state, queue)
        for pair, amount in sorted(asked.items()):
            columns, resource = [column for column, _ in quotas.columns[pair]], quotas.pairs[pair][0]
            limits = [
                int(tree.max[column, queue]) * nano[column] for column in columns if tree.max[column, queue] != UNSET
            ]
            used = sum(int(usage[column]) * nano[column] for column in columns)
            if limits and used + amount > min(limits):
                facts: dict[str, object] = {
                    "owner": f"queue {quotas.names[queue]}",
                    "what": quotas.name(pair),
                    "used": say_quantity(resource, used),
                    "limit": say_quantity(resource, min(limits)),
                    "asked": say_quantity(resource, amount),
                }
                return ExceededLimit(facts, amount > min(limits))
    return None


def _asked(snapshot: Snapshot, entry: Entry) -> dict[int, int]:
    """Nano-units by pair, zeros left out."""
    total: dict[int, int] = {}
    for part in parts_of(snapshot, entry.claimant, entry.assignment):
        for name, nano in part.requests.items():
            resource, flavor = split_flavor(name)
            if nano * part.count:
                pair = snapshot.quotas.index[resource, flavor or DEFAULT]
                total[pair] = total.get(pair, 0) + nano * part.count
    return total
