"""Numbers of this doctrine as people read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cede.doctrines.ytsaurus.clocks import STARVATION, UNSET_CLOCK
from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.here import Here
from cede.doctrines.ytsaurus.numbers import Numbers, usage_shares
from cede.doctrines.ytsaurus.update import Update
from cede.model.quantities import show_quantity
from cede.model.times import show_duration
from cede.state.columns import NONE, STATES, Int64s


def percent(share: float) -> str:
    """A share as a part of a hundred, as short as it can be told."""
    return f"{100 * share:.4g}%"


def shown(update: Update, share: Floats, beside: Floats | None = None) -> str:
    """A share vector; resources of which neither it nor the one it is compared with has anything are left out."""
    names = update.state.units.names
    parts = [
        f"{names[column]} {percent(value)}"
        for at, (column, value) in enumerate(zip(update.pools.columns.tolist(), share.tolist(), strict=True))
        if value > 0 or (beside is not None and beside[at] > 0)
    ]
    return ", ".join(parts) or "nothing"


def quantity(update: Update, resource: int, count: int) -> str:
    """An amount of one of the resources."""
    units, column = update.state.units, int(update.pools.columns[resource])
    return show_quantity(units.names[column], count * units.nano[column])


def amounts(update: Update, counts: Int64s) -> str:
    """Amounts of the columns of nodes."""
    units = update.state.units
    parts = [
        f"{units.names[column]} {show_quantity(units.names[column], int(counts[column]) * units.nano[column])}"
        for column in np.flatnonzero(counts > 0).tolist()
        if column and "@" not in units.names[column]
    ]
    return ", ".join(parts) or "nothing"


def resource_name(update: Update, resource: int) -> str:
    return update.state.units.names[int(update.pools.columns[resource])]


def operation_name(update: Update, operation: int) -> str:
    return f"operation {update.operations.names[operation]}"


def clock_of(update: Update, operation: int) -> str:
    """Whose starvation an operation's right to preempt comes from, and since when."""
    pools, now = update.pools, update.state.now
    if update.op_starvation[operation]:
        return f"below its fair share for {show_duration(now - int(update.op_since[operation]))}"
    for pool in pools.paths[update.operations.pool[operation]]:
        if update.pool_starvation[pool]:
            since = show_duration(now - int(update.pool_since[pool]))
            return f"its pool {pools.name(pool)} is below its fair share for {since}"
    if update.op_since[operation] != UNSET_CLOCK:
        return f"below its fair share for {show_duration(now - int(update.op_since[operation]))}"
    return "not below its fair share"


def owner_name(update: Update, operation: int, pool: int) -> str:
    """Who has a limit: an operation itself, or a pool above it."""
    return operation_name(update, operation) if pool == NONE else f"pool {update.pools.name(pool)}"


def facts_of(numbers: Numbers, here: Here, at: int) -> Mapping[str, object]:
    """What sentences about one allocation tell."""
    update = numbers.update
    state, tree = update.state, update.pools.tree
    row, operation = int(here.rows[at]), int(here.operation[at])
    fair = update.op_fair[operation]
    before = shares_of(here.before[at].astype(np.float64), update.totals[operation])
    settings = update.operations.settings[operation]
    threshold = ", or below its usage threshold" if settings.threshold else ""
    return {
        "who": state.work_names[row],
        "operation": operation_name(update, operation),
        "before": shown(update, before, fair),
        "fair": shown(update, fair),
        "part": percent(tree.aggressive_satisfaction),
        "low": percent(tree.aggressive_satisfaction),
        "high": percent(tree.satisfaction),
        "threshold": threshold,
        "starvation": STARVATION[int(update.op_starvation[operation])],
        "state": STATES[int(state.work.state[row])],
    }


def usage_words(numbers: Numbers, operation: int) -> tuple[str, str]:
    """What an operation uses and what it should have."""
    update = numbers.update
    fair, used = update.op_fair[operation], usage_shares(numbers, operation)
    return shown(update, used, fair), shown(update, fair, used)
