"""What the doctrine computes before it decides: shares, states and groups, as `--shares` shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.preemption_status import GROUPS, group_allocations
from cede.doctrines.ytsaurus.starvation import STARVATION, Memory
from cede.doctrines.ytsaurus.update import Update
from cede.model.quantities import show_quantity
from cede.state.columns import NONE, Bools
from cede.state.state import State

STATUS = ("normal", "below_fair_share")


def shares(state: State, _edition: str) -> dict[str, dict[str, Any]]:
    """Pools and operations: shares by resource, status, satisfaction, starvation. Workloads that hold room: group."""
    update = Update(state, Memory())
    return {"queues": _pools(update), "apps": _operations(update), "workloads": _groups(update)}


def _pools(update: Update) -> dict[str, Any]:
    pools = update.pools
    satisfied = pool_satisfaction(update)
    elements = {}
    for pool in sorted(range(pools.size), key=pools.name):
        elements[pools.name(pool)] = _element(
            update,
            (update.pool_fair[pool], update.pool_usage[pool], update.pool_demand[pool]),
            below=bool(update.pool_below[pool]),
            satisfied=float(satisfied[pool]),
            starvation=int(update.pool_starvation[pool]),
        ) | _parts(update, pool)
    return elements


def _parts(update: Update, pool: int) -> dict[str, Any]:
    """What of a pool's share it is guaranteed, and its weight."""
    promised = update.strong[pool]
    strong = np.minimum(update.pool_fair[pool], promised)
    integral = np.minimum(update.pool_fair[pool] - strong, update.integral[pool])
    parts: dict[str, Any] = {"weight": float(update.fair.weights[pool])}
    if promised.any():
        parts["strong_guarantee_share"] = _shown(update, strong)
    if update.integral[pool].any():
        parts["integral_guarantee_share"] = _shown(update, integral)
    return parts


def pool_satisfaction(update: Update) -> Floats:
    """The satisfaction of each pool: of its least satisfied child that can be scheduled, else its own."""
    pools, operations = update.pools, update.operations
    least = np.full(len(pools.settings), np.inf)
    rows = np.flatnonzero(update.schedulable)
    np.minimum.at(least, np.array(operations.pool, np.intp)[rows], update.op_local[rows])
    for pool in reversed(pools.down):
        if pools.parent[pool] >= 0 and np.isfinite(least[pool]):
            least[pools.parent[pool]] = min(least[pools.parent[pool]], least[pool])
    return np.where(np.isfinite(least), least, update.pool_local)


def _operations(update: Update) -> dict[str, Any]:
    operations = update.operations
    elements: dict[str, Any] = {}
    twice = {name for name, count in Counter(operations.names).items() if count > 1}
    for number in sorted(range(len(operations)), key=operations.names.__getitem__):
        name = operations.names[number]
        key = f"{name} in {update.pools.name(operations.pool[number])}" if name in twice else name
        elements[key] = _element(
            update,
            (update.op_fair[number], update.op_usage[number], update.op_demand[number]),
            below=bool(update.op_below[number]),
            satisfied=float(update.op_local[number]),
            starvation=int(update.op_starvation[number]),
        )
    return elements


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
    state, operation_usage = update.state, update.operation_usage
    operations = range(len(update.operations))
    cuts = group_allocations(update, operation_usage.lists_of(operations), operations, operation_usage.amount)
    named = {state.work_names[row]: GROUPS[group] for row, group in zip(cuts.rows, cuts.group, strict=True)}
    return dict(sorted(named.items()))


ROOT, POOL, OPERATION = "root", "pool", "operation"
MOST_POINTS = 200
"""A curve with more of them is drawn without those that make no visible difference."""
COARSEST = 0.004
DIGITS = 12


def share_curves(state: State) -> dict[str, Any]:
    """`resources` by name, and `elements` from the roots down, depth first; parents and children by their place there.

    Shares are parts of the tree's total, by resource. `curve` is a polyline: what the element gets (`share`) under a
    `suggestion`, how far it may go above its guarantee; of two points at one place the lower one counts, but at 0 the
    upper. `offer` is where a pool's children stand: the suggestion to the lightest of them, in a FIFO pool how many are
    served. `sum` is what all of them would take by that.
    """
    update = Update(state, Memory())
    pools, units = update.pools, state.units
    there = np.flatnonzero(pools.total.any(axis=0)).tolist()
    columns = [int(pools.columns[at]) for at in there]
    return {
        "resources": [units.names[column] for column in columns],
        "main": pools.tree.main_resource,
        "trees": [
            {
                "name": state.partitions.names[tree],
                "total": {
                    units.names[column]: show_quantity(
                        units.names[column], int(pools.total[tree, at]) * units.nano[column]
                    )
                    for at, column in zip(there, columns, strict=True)
                },
            }
            for tree in range(len(pools.total))
        ],
        "elements": list(_Elements(update, there).walk()),
    }


class _Elements:
    def __init__(self, update: Update, there: list[int]) -> None:
        self.update, self.there = update, there
        names = update.state.units.names
        self.names = [names[int(update.pools.columns[at])] for at in there]
        self.satisfaction = pool_satisfaction(update)

    def walk(self) -> Iterator[dict[str, Any]]:
        pools = self.update.pools
        stack: list[tuple[bool, int, int | None, int]] = [
            (True, root, None, 0) for root in reversed(range(pools.size, len(pools.settings)))
        ]
        place = 0
        while stack:
            is_pool, number, parent, depth = stack.pop()
            about = {"parent": parent, "depth": depth}
            if not is_pool:
                yield self._operation(number) | about
            else:
                yield self._pool(number) | about
                stack += [(inner, child, place, depth + 1) for inner, child in reversed(self._below(number))]
            place += 1

    def _below(self, pool: int) -> list[tuple[bool, int]]:
        """Children as a FIFO pool serves them, else by name; whether each is a pool, and its number."""
        pools, operations = self.update.pools, self.update.operations
        if pool in self.update.fair.fifo:
            return [(False, child) for child in self.update.fair.fifo[pool].tolist()]
        among = [(pools.name(child), False, child) for child in pools.children[pool]]
        among += [(operations.names[child], True, child) for child in operations.below[pool].tolist()]
        return [(not is_operation, child) for _, is_operation, child in sorted(among)]

    def _pool(self, pool: int) -> dict[str, Any]:
        update, settings = self.update, self.update.pools.settings[pool]
        fair = update.fair
        is_root = update.pools.parent[pool] == NONE
        curve, share = fair.curves[pool], update.pool_fair[pool]
        summed = fair.by_fit(pool)
        strong = np.minimum(share, update.strong[pool])
        integral = np.minimum(share - strong, update.integral[pool])
        element = {
            "name": update.pools.name(pool),
            "kind": ROOT if is_root else POOL,
            "tree": update.pools.tree_of[pool],
            "mode": "fifo" if settings.fifo else "fair_share",
            "weight": float(fair.weights[pool]),
            "suggestion": float(fair.suggestion[pool]),
            "curve": self._curve("suggestion", curve.s, curve.y, 1.0),
            "guarantee": self._by_name(fair.guarantee[pool]),
            "limit": self._by_name(update.limits[pool]),
            "fair_share": self._by_name(share),
            "parts": self._parts(strong, integral, share - strong - integral),
            "usage_share": self._by_name(update.pool_usage[pool]),
            "demand_share": self._by_name(update.pool_demand[pool]),
            "status": STATUS[bool(update.pool_below[pool])],
            "starvation": STARVATION[int(update.pool_starvation[pool])],
            "satisfaction": float(self.satisfaction[pool]),
        }
        if summed is not None:
            end = float(len(fair.fifo[pool])) if pool in fair.fifo else 1.0
            element |= {"offer": float(fair.fit[pool]), "sum": self._curve("offer", *summed, end)}
        return element

    def _operation(self, number: int) -> dict[str, Any]:
        update = self.update
        operations, fair = update.operations, update.fair
        share = update.op_fair[number]
        nothing = np.zeros_like(share)
        return {
            "name": operations.names[number],
            "kind": OPERATION,
            "tree": update.pools.tree_of[operations.pool[number]],
            "weight": float(fair.op_weights[number]),
            "suggestion": float(fair.op_suggestion[number]),
            "curve": self._curve("suggestion", fair.s[number], fair.y[number], 1.0),
            "guarantee": self._by_name(nothing),
            "limit": self._by_name(update.op_limits[number]),
            "fair_share": self._by_name(share),
            "parts": self._parts(nothing, nothing, share),
            "usage_share": self._by_name(update.op_usage[number]),
            "demand_share": self._by_name(update.op_demand[number]),
            "status": STATUS[bool(update.op_below[number])],
            "starvation": STARVATION[int(update.op_starvation[number])],
            "satisfaction": float(update.op_local[number]),
        }

    # -- as plain data -----------------------------------------------------------------------------------------------

    def _by_name(self, share: Floats) -> dict[str, float]:
        return {name: _plain(share[at]) for name, at in zip(self.names, self.there, strict=True)}

    def _parts(self, strong: Floats, integral: Floats, weight: Floats) -> dict[str, dict[str, float]]:
        """What a share is made of."""
        return {"strong": self._by_name(strong), "integral": self._by_name(integral), "weight": self._by_name(weight)}

    def _curve(self, along: str, x: Floats, y: Floats, end: float) -> dict[str, Any]:
        """The polyline from 0 to the end, without what is left of its value at 0 and what says nothing."""
        first = max(int(np.searchsorted(x, 0.0, "right")) - 1, 0)
        x, y = np.append(x[first:], end), np.vstack((y[first:], y[-1:]))[:, self.there]
        kept = _needed(np.column_stack((x / end, y)), 0.0)
        tolerance = 1e-5
        while kept.sum() > MOST_POINTS and tolerance < COARSEST:
            kept = _needed(np.column_stack((x / end, y)), tolerance)
            tolerance *= 2
        x, y = x[kept], y[kept]
        return {
            along: [_plain(value) for value in x],
            "share": {name: [_plain(value) for value in y[:, at]] for at, name in enumerate(self.names)},
        }


def _plain(value: float) -> float:
    """Without what rounding left: below the smallest share, nothing."""
    return 0.0 if value < EPSILON else round(float(value), DIGITS)


def _needed(points: Floats, tolerance: float) -> Bools:
    """Which points of a polyline must stay so that no other is further from the line than the tolerance."""
    kept = np.zeros(len(points), np.bool_)
    kept[[0, -1]] = True
    spans = [(0, len(points) - 1)]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        line = points[high] - points[low]
        inner = points[low + 1 : high] - points[low]
        length = float(line @ line)
        part = np.clip(inner @ line / length, 0.0, 1.0) if length > 0 else np.zeros(len(inner))
        off = np.abs(inner - part[:, None] * line).max(axis=1)
        worst = int(np.argmax(off))
        if off[worst] > max(tolerance, EPSILON):
            at = low + 1 + worst
            kept[at] = True
            spans += [(low, at), (at, high)]
    return kept
