"""A pool as a question for the exact solver, and the solver's answer where the search of this doctrine gives up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cede.doctrines.lattice.narrowing import without
from cede.doctrines.lattice.pool import Pool, within
from cede.doctrines.parts.cost import PARTS
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.question import Linear, Question


def of_pool(pool: Pool) -> Question:
    """The cheapest set that makes room, of no more victims and less cost than the limits say."""
    conditions = []
    if pool.most is not None and pool.counted.any():
        conditions.append(Linear("max_victims", pool.counted.astype(np.float64), high=pool.most))
    if pool.value is not None and pool.counted.any():
        priced = np.where(pool.counted, pool.cost, 0).astype(np.float64)
        conditions.append(Linear("the claimant's value", priced, high=pool.value - 1))
    return Question(
        claim=pool.claim,
        rows=pool.rows,
        objective="cost",
        weights=pool.cost.astype(np.float64),
        unit="min",
        scale=float(PARTS),
        conditions=tuple(conditions),
        places=pool.state.nodes.size > 0,
    )


def solved(pool: Pool, branches: int) -> tuple[list[int] | None, bool]:
    """Victims with the least cost, or within a tenth of it fewer; and whether that, but for ties, is certain."""
    asked = of_pool(pool)
    cheapest = solve(pool.state, asked, nodes=branches)
    if cheapest.rows is None:
        return None, cheapest.proven
    place = {row: at for at, row in enumerate(pool.rows.tolist())}
    cost = sum(int(pool.cost[place[int(row)]]) for row in cheapest.rows)
    near = Linear("a tenth more than the cheapest", pool.cost.astype(np.float64), high=float(within(cost)))
    few = replace(asked, weights=np.ones(len(pool.rows)), conditions=(*asked.conditions, near))
    fewest = solve(pool.state, few, nodes=branches)
    if not cheapest.proven or fewest.rows is None:
        return [int(row) for row in cheapest.rows], False
    most = Linear("as few", np.ones(len(pool.rows)), high=float(len(fewest.rows)))
    last = solve(pool.state, replace(asked, conditions=(*asked.conditions, most)), nodes=branches)
    rows = fewest.rows if last.rows is None else last.rows
    places = untied(pool, [place[int(row)] for row in rows])
    return pool.victims(places), fewest.proven and last.proven


def untied(pool: Pool, places: list[int]) -> list[int]:
    """The same set with lower classes, then uids, in place of others who cost as much, wherever one does for one."""
    better = True
    while better:
        better = False
        for one in places:
            alike = np.flatnonzero((pool.cost == pool.cost[one]) & (pool.counted == pool.counted[one]))
            for other in (int(found) for found in alike if found not in places):
                changed = [other if place == one else place for place in places]
                if pool.taste(changed) < pool.taste(places) and without(pool, np.array(changed)):
                    places, better = changed, True
                    break
            if better:
                break
    return places
