"""What the doctrine computes before it decides: shares, states and groups, as `--shares` shows them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from cede.doctrines.ytsaurus.clocks import STARVATION, Memory
from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.groups import GROUPS, cut
from cede.doctrines.ytsaurus.update import Update
from cede.state.state import State

STATUS = ("normal", "below_fair_share")


def shares(state: State, _edition: str) -> dict[str, dict[str, Any]]:
    """Pools and operations: shares by resource, status, satisfaction, starvation. Workloads that hold room: group."""
    update = Update(state, Memory())
    return {"queues": _pools(update), "apps": _operations(update), "workloads": _groups(update)}


def _pools(update: Update) -> dict[str, Any]:
    pools = update.pools
    satisfied = pool_satisfaction(update)
    found = {}
    for pool in sorted(range(pools.size), key=pools.name):
        found[pools.name(pool)] = _element(
            update,
            (update.pool_fair[pool], update.pool_usage[pool], update.pool_demand[pool]),
            below=bool(update.pool_below[pool]),
            satisfied=float(satisfied[pool]),
            starvation=int(update.pool_starvation[pool]),
        ) | _parts(update, pool)
    return found


def _parts(update: Update, pool: int) -> dict[str, Any]:
    """What of a pool's share it is guaranteed, and its weight."""
    promised = update.strong[pool]
    strong = np.minimum(update.pool_fair[pool], promised)
    integral = np.minimum(update.pool_fair[pool] - strong, update.integral[pool])
    found: dict[str, Any] = {"weight": float(update.fair.weights[pool])}
    if promised.any():
        found["strong_guarantee_share"] = _shown(update, strong)
    if update.integral[pool].any():
        found["integral_guarantee_share"] = _shown(update, integral)
    return found


def pool_satisfaction(update: Update) -> Floats:
    """The satisfaction of each pool: of its least satisfied child that can be scheduled, else its own."""
    pools, operations = update.pools, update.operations
    found = np.full(len(pools.settings), np.inf)
    rows = np.flatnonzero(update.schedulable)
    np.minimum.at(found, np.array(operations.pool, np.intp)[rows], update.op_local[rows])
    for pool in reversed(pools.down):
        if pools.parent[pool] >= 0 and np.isfinite(found[pool]):
            found[pools.parent[pool]] = min(found[pools.parent[pool]], found[pool])
    return np.where(np.isfinite(found), found, update.pool_local)


def _operations(update: Update) -> dict[str, Any]:
    operations = update.operations
    found: dict[str, Any] = {}
    twice = {name for name, count in Counter(operations.names).items() if count > 1}
    for number in sorted(range(len(operations)), key=operations.names.__getitem__):
        name = operations.names[number]
        key = f"{name} in {update.pools.name(operations.pool[number])}" if name in twice else name
        found[key] = _element(
            update,
            (update.op_fair[number], update.op_usage[number], update.op_demand[number]),
            below=bool(update.op_below[number]),
            satisfied=float(update.op_local[number]),
            starvation=int(update.op_starvation[number]),
        )
    return found


def _element(
    update: Update, shares: tuple[Floats, Floats, Floats], *, below: bool, satisfied: float, starvation: int
) -> dict[str, Any]:
    fair, usage, demand = shares
    return {
        "fair_share": _shown(update, fair),
        "usage_share": _shown(update, usage),
        "demand_share": _shown(update, demand),
        "status": STATUS[below],
        "satisfaction": satisfied,
        "starvation": STARVATION[starvation],
    }


def _shown(update: Update, share: Floats) -> dict[str, float]:
    names = update.state.units.names
    columns = update.pools.columns.tolist()
    return {names[column]: float(value) for column, value in zip(columns, share.tolist(), strict=True)}


def _groups(update: Update) -> dict[str, str]:
    state, standing = update.state, update.standing
    everybody = range(len(update.operations))
    found = cut(update, standing.lists_of(everybody), everybody, standing.amount)
    named = {state.work_names[row]: GROUPS[group] for row, group in zip(found.rows, found.group, strict=True)}
    return dict(sorted(named.items()))
