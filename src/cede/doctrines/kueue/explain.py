"""Every workload that a claimant's search looked at, with the verdict and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.candidates import allowed_by, explain_pool
from cede.doctrines.kueue.flavors import FIT, NO_FIT
from cede.doctrines.kueue.misses import misses_of, nearest_miss
from cede.doctrines.kueue.nominate import Entry, explained
from cede.doctrines.kueue.search import Notes, Search
from cede.doctrines.kueue.snapshot import Snapshot
from cede.model.plan import Candidate, Miss
from cede.model.rules import Rule


def candidates_of(snapshot: Snapshot, entry: Entry, *, preempts: bool) -> tuple[Candidate, ...] | None:
    """All that hold room in the claimant's tree, by name; nobody if there was no search; None unless somebody asked."""
    cycle, claimant = snapshot.cycle, entry.claimant
    if not cycle.explain or (cycle.only is not None and cycle.only != claimant.row):
        return None
    if entry.mode == FIT:
        return ()
    notes = _notes(snapshot, entry)
    if not preempts:
        for row in entry.rows:
            how = allowed_by(snapshot, claimant, row)
            notes.put(row, rules.LEAVING if row in snapshot.leaving_rows else rules.TOO_LITTLE, how=how)
    victims = set(entry.rows) if preempts else set()
    names = snapshot.state.work_names
    root = snapshot.quotas.root[claimant.queue]
    rows = snapshot.rows[np.flatnonzero(snapshot.roots() == root)].tolist()
    rows += [row for row in snapshot.left if snapshot.quotas.root[int(snapshot.state.work.queue[row])] == root]
    return tuple(_candidate(snapshot, entry, notes, row, row in victims) for row in sorted(rows, key=names.__getitem__))


def missed_by(snapshot: Snapshot, entry: Entry) -> tuple[Miss, ...]:
    """Whose leaving would have made room; nothing unless somebody will read it."""
    if not snapshot.cycle.misses:
        return ()
    rows = nearest_miss(snapshot, entry)
    if not rows:
        return ()
    other = {row: _unreached(snapshot, entry, row) for row in rows}
    return misses_of(snapshot, rows, _notes(snapshot, entry), other)


def _notes(snapshot: Snapshot, entry: Entry) -> Notes:
    if entry.mode != NO_FIT:
        return explained(entry.snapshot, entry) if entry.notes is None else entry.notes
    notes = Notes()
    explain_pool(Search(snapshot, entry.claimant, (), list(range(len(snapshot.quotas.pairs))), None, notes))
    return notes


def _candidate(snapshot: Snapshot, entry: Entry, notes: Notes, row: int, victim: bool) -> Candidate:
    rule, facts = notes.found.get(row) or _unreached(snapshot, entry, row)
    other = snapshot.victims.get(row) or snapshot.left.get(row)
    if other is not None:
        rule, facts, victim = rules.TAKEN, {"other": other}, False
    verdict = "victim" if victim else {"protects": "protected", "excludes": "not-eligible"}.get(rule.kind, "not-needed")
    return Candidate(snapshot.state.work_names[row], verdict, rule.id, rule.because(**facts))


def _unreached(snapshot: Snapshot, entry: Entry, row: int) -> tuple[Rule, Mapping[str, object]]:
    """The tournament never came to it."""
    if not entry.claimant.preempts:
        return rules.NOT_ASKED, {"reason": "never preempts others (preempts: false)"}
    if entry.mode == NO_FIT:
        return rules.NOT_ASKED, {"reason": "may not preempt at all while its queue borrows"}
    how = allowed_by(snapshot, entry.claimant, row)
    return (rules.NOT_REACHED if entry.victims else rules.TOO_LITTLE), {"how": how}
