"""Which victims the policy takes: by exact searches, by the exact solver where they give up, else a quick set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.lattice.settings import EXACT
from cede.doctrines.lattice.victim_pool import Pool, cost_ceiling, fewest, shortlist_of, without
from cede.doctrines.lattice.victim_search import Search, Sites, additive
from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.cost import PARTS
from cede.doctrines.parts.doctrine import EFFORT, Cycle
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.greedy_cover import cheapest_cover
from cede.doctrines.parts.orders import tie_break
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
    near = Linear("a tenth more than the cheapest", pool.cost.astype(np.float64), high=float(cost_ceiling(cost)))
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
            for other in (int(at) for at in alike if at not in places):
                changed = [other if place == one else place for place in places]
                if pool.taste(changed) < pool.taste(places) and without(pool, np.array(changed)):
                    places, better = changed, True
                    break
            if better:
                break
    return places


NODES = 64
"""Above the candidates that are searched exactly, one member looks at so many nodes, the cheapest first."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Victims, as rows; `exact` if it is certain that no set is preferred that differs in more than class and uid.

    None: no set makes room."""

    rows: list[int] | None
    exact: bool


@dataclass(slots=True)
class Effort:
    """How often one cycle may ask the exact solver, before good sets must do for the rest of a long queue, and how far
    that may branch."""

    solves: int = 100
    branches: int = EFFORT


def effort_of(cycle: Cycle) -> Effort:
    """Where a scheduler waits for the answer, the solver is asked once and briefly."""
    return Effort(100 if cycle.effort >= EFFORT else 1, cycle.effort)


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why there is no set: nothing makes enough room, or it takes too `many` victims, or `cheapest` is too dear.

    `many` is how many it takes, or that it takes more than may go.
    """

    many: str = ""
    cheapest: int | None = None


def choose(pool: Pool, effort: Effort | None = None) -> Chosen:
    """The preferred set for a claimant that does not fit; exact up to EXACT candidates, and wherever what they free
    adds up."""
    one = alone(pool)
    if one is not None:
        return Chosen([one], exact=True)
    narrow = shortlist_of(pool)
    pool = narrow.pool
    if not len(pool.rows):
        return Chosen(None, exact=True)
    adding = additive(pool)
    if adding is not None and adding.small:
        least = adding.best()
        return Chosen(None if least is None else pool.victims(least), exact=True)
    if len(pool.rows) > EXACT:
        return Chosen(_quickly(pool), exact=False)
    if pool.claim.single and pool.claim.need is not None:
        places, certain = Sites(pool).best()
    else:
        places, certain = Search(pool, narrow.known).best()
    if certain:
        return Chosen(None if places is None else pool.victims(places), exact=True)
    own = None if places is None else pool.victims(places)
    if effort is not None:
        effort.solves -= 1
        if effort.solves < 0:
            return _cheapest_of(pool, own, _quickly(pool))
    return _proven(pool, own, EFFORT if effort is None else effort.branches)


def alone(pool: Pool) -> int | None:
    """The victim of the preferred set of a claimant with one member, where it is certain that this is a set of one.

    Let s be the cost of the cheapest who is enough alone and keeps the limits. Every other lawful set has two victims
    at least, and costs no less than the two cheapest candidates do, whoever they are. So the cheapest set of all costs
    s, or as much as those two; if s is within a tenth of either, a set of one is within a tenth of the cheapest, and
    none has fewer victims. Of those who cost s the lower class goes, then the uid decides, as `Pool.taste` has it.
    """
    state, claim = pool.state, pool.claim
    if not claim.single or claim.need is None or not len(pool.rows) or not state.nodes.size:
        return None
    residents = state.residents
    rows = residents_of_all(state, pool.rows)
    on = residents.node[rows]
    enough = claim.allowed[on]
    for column in claim.columns:
        enough &= state.nodes.free[column, on] + residents.amount[column, rows] >= claim.need[column]
    able = np.zeros(state.work.size, np.bool_)
    able[residents.work[rows[enough]]] = True
    lawful = able[pool.rows]
    if pool.most is not None and pool.most < 1:
        lawful &= ~pool.counted
    if pool.value is not None:
        lawful &= ~pool.counted | (pool.cost < pool.value)
    if not lawful.any():
        return None
    least = int(pool.cost[lawful].min())
    if len(pool.rows) > 1 and least > cost_ceiling(int(np.partition(pool.cost, 1)[:2].sum())):
        return None
    cheapest = pool.rows[lawful & (pool.cost == least)]
    classes = state.work.priority[cheapest]
    last: list[int] = cheapest[classes == classes.min()].tolist()
    return min(last, key=tie_break(state)) if len(last) > 1 else last[0]


def _proven(pool: Pool, own: list[int] | None, branches: int) -> Chosen:
    """What the exact solver says where the search gave up; if it gives up too, the cheapest set that was found."""
    victims, certain = solved(pool, branches)
    if certain:
        return Chosen(victims, exact=True)
    return _cheapest_of(pool, victims, own, _quickly(pool))


def _cheapest_of(pool: Pool, *sets: list[int] | None) -> Chosen:
    cost = dict(zip(pool.rows.tolist(), pool.cost.tolist(), strict=True))
    known = [rows for rows in sets if rows is not None]
    return Chosen(min(known, key=lambda rows: sum(cost[row] for row in rows), default=None), exact=False)


def hindrance(pool: Pool, effort: Effort | None = None) -> Hindrance:
    """Why `choose` found nothing."""
    if pool.value is not None:
        affordable = choose(replace(pool, value=None), effort).rows
        if affordable is not None:
            places = np.isin(pool.rows, affordable) & pool.counted
            return Hindrance(cheapest=int(pool.cost[places].sum()))
    known = fewest(pool) if pool.counted.all() else None
    if known is not None and pool.most is not None and known > pool.most:
        return Hindrance(many=str(known))
    if not len(pool.rows) or not without(pool, np.arange(len(pool.rows))):
        return Hindrance()
    return Hindrance(many=f"more than {pool.most}")


def _quickly(pool: Pool) -> list[int] | None:
    """A good set of a pool that is too large; if that breaks a limit, one of few victims."""
    if pool.claim.single and pool.claim.need is not None:
        places, _ = Sites(pool, NODES).best()
        return None if places is None else pool.victims(places)
    place = {row: at for at, row in enumerate(pool.rows.tolist())}
    for cost in (pool.cost, np.ones_like(pool.cost)):
        victims = cheapest_cover(pool.state, pool.claim, pool.rows, cost)
        if victims is not None and pool.allows(place[row] for row in victims):
            return victims
    return None
