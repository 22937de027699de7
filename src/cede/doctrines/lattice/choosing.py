"""Which of the candidates go: the set that the policy prefers, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.lattice.additive import additive
from cede.doctrines.lattice.asking import solved
from cede.doctrines.lattice.narrowing import fewest, narrowed, without
from cede.doctrines.lattice.pool import Pool
from cede.doctrines.lattice.search import Search
from cede.doctrines.lattice.settings import EXACT
from cede.doctrines.lattice.sites import Sites
from cede.doctrines.parts.doctrine import EFFORT, Cycle
from cede.doctrines.parts.fast import cheapest_cover

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
    """Why there is no set: nobody makes enough room, or it takes too `many` victims, or `cheapest` is too dear.

    `many` is how many it takes, or that it takes more than may go.
    """

    many: str = ""
    cheapest: int | None = None


def choose(pool: Pool, effort: Effort | None = None) -> Chosen:
    """The preferred set; exact up to EXACT candidates, and wherever what they free adds up."""
    narrow = narrowed(pool)
    pool = narrow.pool
    if not len(pool.rows):
        return Chosen(None, exact=True)
    adding = additive(pool)
    if adding is not None and adding.small:
        found = adding.best()
        return Chosen(None if found is None else pool.victims(found), exact=True)
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


def _proven(pool: Pool, own: list[int] | None, branches: int) -> Chosen:
    """What the exact solver says where the search gave up; if it gives up too, the cheapest set that was found."""
    found, certain = solved(pool, branches)
    if certain:
        return Chosen(found, exact=True)
    return _cheapest_of(pool, found, own, _quickly(pool))


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
        found = cheapest_cover(pool.state, pool.claim, pool.rows, cost)
        if found is not None and pool.allows(place[row] for row in found):
            return found
    return None
