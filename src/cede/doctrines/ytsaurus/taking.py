"""Who of a node goes so that something starts there: the newest first, those who are not needed spared where asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import order_of
from cede.doctrines.parts.selection import best_of
from cede.doctrines.ytsaurus.here import Here
from cede.doctrines.ytsaurus.question import about_node
from cede.doctrines.ytsaurus.settings import DOCS
from cede.state.columns import Bools, Int64s
from cede.state.state import State

Victims = tuple[list[int], list[int]]
"""Places of those who go, in the order of taking, and of those who were taken and are not needed."""


def victims_for(cycle: Cycle, claim: Claim, here: Here, open_: list[int], short: Int64s) -> Victims:
    """Who goes for a start that is short of so much, as the edition has it or as the file's `selection` says."""

    def take(places: Sequence[int]) -> Victims:
        taken = newest(here, places, short)
        return spare(cycle.state, here, taken, short) if cycle.edition == DOCS else (taken, [])

    def again(only: Bools) -> Victims | None:
        found = take([at for at in open_ if only[here.rows[at]]])
        return found if (here.amount[found[0]].sum(axis=0) >= short).all() else None

    own = take(open_)
    if not cycle.optimal or not own[0] or (here.amount[own[0]].sum(axis=0) < short).any():
        return own
    ask = about_node(cycle.state, claim, here, np.array(open_, np.intp), short)
    return best_of(cycle, own, lambda found: here.rows[found[0]].tolist(), lambda: ask, again)


def newest(here: Here, places: Sequence[int], short: Int64s) -> list[int]:
    """As many as it takes, in the order in which they stand."""
    taken: list[int] = []
    freed = np.zeros_like(short)
    for at in places:
        if (freed >= short).all():
            break
        taken.append(at)
        freed = freed + here.amount[at]
    return taken


def spare(state: State, here: Here, taken: list[int], short: Int64s) -> Victims:
    """Those who are needed of those taken: the oldest is spared first."""
    freed = here.amount[taken].sum(axis=0)
    spared: list[int] = []
    oldest = order_of(state, here.rows[taken], here.progress[taken])
    for place in oldest.tolist():
        at = taken[place]
        if (freed - here.amount[at] >= short).all():
            freed = freed - here.amount[at]
            spared.append(at)
    return [at for at in taken if at not in spared], spared
