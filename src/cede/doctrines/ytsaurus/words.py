"""Numbers of this doctrine as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.clocks import STARVATION, UNSET_CLOCK
from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.groups import GROUPS
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.here import Here
from cede.doctrines.ytsaurus.numbers import Numbers
from cede.doctrines.ytsaurus.update import Update
from cede.model.plan import Warning
from cede.model.quantities import show_quantity
from cede.model.times import show_duration
from cede.state.columns import NONE, Int64s


def percent(share: float) -> str:
    """A share as a part of a hundred, as short as it can be told."""
    return f"{100 * share:.4g}%"


def shown(update: Update, share: Sequence[float] | Floats, beside: Sequence[float] | Floats | None = None) -> str:
    """A share vector; resources of which neither it nor the one it is compared with has anything are left out."""
    names = update.state.units.names
    values = share.tolist() if isinstance(share, np.ndarray) else share  # elements of arrays are slow to look at
    parts = [
        f"{names[column]} {percent(value)}"
        for at, (column, value) in enumerate(zip(update.pools.columns.tolist(), values, strict=True))
        if value > 0 or (beside is not None and beside[at] > 0)
    ]
    return ", ".join(parts) or "nothing"


def quantity(update: Update, resource: int, count: int) -> str:
    """An amount of one of the resources."""
    units, column = update.state.units, int(update.pools.columns[resource])
    return show_quantity(units.names[column], units.limit(column, count))


def amounts(update: Update, counts: Iterable[int]) -> str:
    """Amounts of the columns of nodes."""
    units = update.state.units
    parts = [
        f"{units.names[column]} {show_quantity(units.names[column], units.limit(column, int(count)))}"
        for column, count in enumerate(counts)
        if count > 0 and column and "@" not in units.names[column]
    ]
    return ", ".join(parts) or "nothing"


def resource_name(update: Update, resource: int) -> str:
    return update.state.units.names[int(update.pools.columns[resource])]


def operation_name(update: Update, operation: int) -> str:
    return f"operation {update.operations.names[operation]}"


def clock_of(update: Update, operation: int, level: int | None = None) -> str:
    """Whose starvation an operation's right to preempt comes from, and since when; `level`: that right, if known."""
    pools, now = update.pools, update.state.now
    if level is None:
        level = int(update.op_priority[operation])
    if update.op_starvation[operation] < level:
        for pool in pools.paths[update.operations.pool[operation]]:
            if update.pool_starvation[pool] == level:
                since = show_duration(now - int(update.pool_since[pool]))
                return f"its pool {pools.name(pool)} is below its fair share for {since}"
    return f"below its fair share for {show_duration(now - int(update.op_since[operation]))}"


def preempts_words(
    update: Update, operation: int, lacking: str, used: str, fair: str, who: str, level: int | None = None
) -> str:
    """Why others go for a workload of this operation."""
    why = f"{lacking}; {operation_name(update, operation)} may preempt: {clock_of(update, operation, level)}"
    return f"{why} (usage share {used}, fair share {fair}); it takes {who}"


def missing_words(update: Update, node: int, free: Iterable[int], need: Iterable[int]) -> str:
    """What a node lacks of what is asked for."""
    name = update.state.node_names[node]
    pairs = [(max(has, 0), asked) for has, asked in zip(free, need, strict=True)]
    missing = [asked if asked > has else 0 for has, asked in pairs]
    if not any(missing):
        return f"{name} has room, but less than it should keep"
    left = [has if asked > has else 0 for has, asked in pairs]
    return f"{name} has {amounts(update, left)} free of the {amounts(update, missing)} asked for"


def superfluous(needless: Sequence[str], others: Sequence[str]) -> Warning:
    """That the document would have spared some of the victims."""
    sentence = rules.SUPERFLUOUS.because(who=" and ".join(needless), others=" and ".join(others))
    return Warning(rules.SUPERFLUOUS.id, sentence)


def victim_words(update: Update, operation: int, counted: Sequence[float], fair: Sequence[float], group: int) -> str:
    """How the operation of an allocation stands before it, or with it, where that counts; and its group."""
    return f"{_counted(update, operation, counted, fair)}, fair share {shown(update, fair)}: {GROUPS[group]}"


def _counted(update: Update, operation: int, counted: Sequence[float] | Floats, fair: Sequence[float] | Floats) -> str:
    when = "with" if update.pools.tree.bound_is_preemptible else "before"
    return f"{when} it {operation_name(update, operation)} uses {shown(update, counted, fair)}"


def standing_of(numbers: Numbers, operation: int) -> str:
    """Why an operation does not starve: how it stands to its fair share, and how long until it would."""
    update = numbers.update
    used, fair = usage_words(numbers, operation)
    since = int(update.op_since[operation])
    if since == UNSET_CLOCK:
        tolerance = update.operations.settings[operation].tolerance
        less = f" (tolerance {percent(tolerance)})" if tolerance < 1 else ""
        return f"its usage share {used} is not below its fair share {fair}{less}"
    waited = show_duration(update.state.now - since)
    timeout = show_duration(int(update.op_timeout[operation]))
    return f"its usage share {used} is below its fair share {fair} for {waited}, and it starves after {timeout}"


def owner_name(update: Update, operation: int, pool: int) -> str:
    """Who has a limit: an operation itself, or a pool above it."""
    return operation_name(update, operation) if pool == NONE else f"pool {update.pools.name(pool)}"


def facts_of(numbers: Numbers, here: Here, at: int) -> Mapping[str, object]:
    """What sentences about one allocation tell."""
    update = numbers.update
    state, tree = update.state, update.pools.tree
    row, operation = int(here.rows[at]), int(here.operation[at])
    fair = update.fair_of(operation)
    own = update.standing.amount[row] if tree.bound_is_preemptible else 0
    counted = shares_of((here.before[at] + own).astype(np.float64), update.totals[operation])
    settings, name = update.operations.settings[operation], operation_name(update, operation)
    small = ", ".join(f"{one} {show_quantity(one, nano)}" for one, nano in sorted(settings.threshold.items()))
    gang = settings.gang and not tree.aggressive_for_gangs
    return {
        "who": state.work_names[row],
        "operation": name,
        "counted": _counted(update, operation, counted, fair),
        "fair": shown(update, fair),
        "low": percent(tree.aggressive_satisfaction),
        "between": _between(update, operation),
        "threshold": f", or below its usage threshold ({small})" if small else "",
        "forbidden": "it is a gang, which aggressive preemption spares here" if gang else "its pool forbids to take it",
        "group": GROUPS[int(here.group[at])],
        "starvation": STARVATION[int(update.op_starvation[operation])],
    }


def _between(update: Update, operation: int) -> str:
    """How usage stands to the fair share of an operation where only aggressive preemption takes from it."""
    tree = update.pools.tree
    if (np.abs(update.fair_of(operation) - update.demand_of(operation)) <= EPSILON).all():
        return f"not below {percent(tree.aggressive_satisfaction)} of what it asks for, which is no more than"
    return f"not below {percent(tree.aggressive_satisfaction)} but below {percent(tree.satisfaction)} of"


def usage_words(numbers: Numbers, operation: int, more: Int64s | int = 0) -> tuple[str, str]:
    """What an operation uses, and so much more, and what it should have."""
    update = numbers.update
    used = numbers.usage[operation] + more
    fair, share = update.fair_of(operation), shares_of(used.astype(np.float64), update.totals[operation])
    return shown(update, share, fair), shown(update, fair, share)


def pool_words(numbers: Numbers, pool: int, more: Int64s | int = 0) -> tuple[str, str]:
    """The same of a pool."""
    update = numbers.update
    total = update.pools.total[update.pools.tree_of[pool]].astype(np.float64)
    fair, share = update.pool_fair[pool], shares_of((numbers.pool_usage[pool] + more).astype(np.float64), total)
    return shown(update, share, fair), shown(update, fair, share)
