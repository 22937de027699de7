"""The nearest miss: the few whose leaving would have made room, whoever protects them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cede.doctrines.kueue.flavors import NO_FIT
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.search import OWN, Notes, Search, Taken
from cede.doctrines.kueue.snapshot import Snapshot
from cede.doctrines.parts.orders import ordered
from cede.model.plan import Miss
from cede.model.rules import Rule

MOST = 2_000
"""So many candidates are looked at: the largest ones."""


def nearest_miss(snapshot: Snapshot, entry: Entry) -> list[int]:
    """Rows: the largest holders of what is short, taken until the claimant fits; those not needed are spared."""
    assignment = entry.assignment
    if assignment.mode == NO_FIT or not assignment.contested:
        return []
    room = None if assignment.room is None else assignment.room.afresh()
    search = Search(snapshot, entry.claimant, assignment.asked, assignment.contested, room)
    here = np.flatnonzero(snapshot.roots() == snapshot.quotas.root[entry.claimant.queue])
    rows = snapshot.rows[here]
    rows = rows[snapshot.touches(rows, assignment.contested) & ~np.isin(rows, list(snapshot.victims))]
    keys = [-snapshot.usage(pair, rows) for pair in assignment.contested]
    taken: list[Taken] = []
    for row in ordered(snapshot.state, rows, *keys)[:MOST].tolist():
        queue = int(snapshot.state.work.queue[row])
        victim = Taken(row, queue, OWN, snapshot.everything(row))
        search.take(victim)
        taken.append(victim)
        if search.fits():
            return [kept.row for kept in search.spare(taken, borrowing=True)]
    return []


def misses_of(
    snapshot: Snapshot, rows: list[int], notes: Notes, other: Mapping[int, tuple[Rule, Mapping[str, object]]]
) -> tuple[Miss, ...]:
    """With the rule that protects each; `other` is what is said of those no search came to."""
    found = []
    for row in rows:
        rule, facts = notes.found.get(row) or other[row]
        name = snapshot.state.work_names[row]
        protects = rule.kind in ("protects", "excludes")
        found.append(
            Miss(name, rule.id if protects else None, rule.because(**facts) if protects else "no rule protects it")
        )
    return tuple(found)
