"""Which of the candidates go: the set that the policy prefers, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.lattice.additive import additive
from cede.doctrines.lattice.asking import solved
from cede.doctrines.lattice.narrowing import fewest, narrowed
from cede.doctrines.lattice.pool import Pool
from cede.doctrines.lattice.search import Search
from cede.doctrines.lattice.settings import EXACT
from cede.doctrines.lattice.sites import Sites
from cede.doctrines.parts.fast import cheapest_cover

NODES = 64
"""Above the candidates that are searched exactly, one member looks at so many nodes, the cheapest first."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Victims, as rows; `exact` if it is certain that no set is preferred that differs in more than class and uid.

    None: no set makes room."""

    rows: list[int] | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why there is no set: nobody makes enough room, or `fewest` victims are too many, or `cheapest` is too dear."""

    fewest: int | None = None
    cheapest: int | None = None


def choose(pool: Pool) -> Chosen:
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
    return _proven(pool, None if places is None else pool.victims(places))


def _proven(pool: Pool, own: list[int] | None) -> Chosen:
    """What the exact solver says where the search gave up; if it gives up too, the cheapest set that was found."""
    found, certain = solved(pool)
    if certain:
        return Chosen(found, exact=True)
    cost = dict(zip(pool.rows.tolist(), pool.cost.tolist(), strict=True))
    sets = [rows for rows in (found, own, _quickly(pool)) if rows is not None]
    return Chosen(min(sets, key=lambda rows: sum(cost[row] for row in rows), default=None), exact=False)


def hindrance(pool: Pool) -> Hindrance:
    """Why `choose` found nothing."""
    if pool.value is not None:
        affordable = choose(replace(pool, value=None)).rows
        if affordable is not None:
            places = np.isin(pool.rows, affordable) & pool.counted
            return Hindrance(cheapest=int(pool.cost[places].sum()))
    known = fewest(pool) if pool.counted.all() else None
    if known is not None:
        return Hindrance(fewest=known)
    ones = np.where(pool.counted, 1, 0).astype(np.int64)
    few = choose(replace(pool, cost=ones, most=None, value=None)).rows
    if few is None:
        return Hindrance()
    return Hindrance(fewest=int(np.isin(pool.rows, few)[pool.counted].sum()))


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
