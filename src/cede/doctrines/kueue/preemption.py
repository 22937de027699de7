"""A search for victims in the way the cluster is set to, and how far a policy lets a claimant go."""

from __future__ import annotations

from cede.doctrines.kueue import classical, fair_sharing
from cede.doctrines.kueue.candidates import explain_pool
from cede.doctrines.kueue.node_room import Room
from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.search import NOBODY, Notes, Outcome, Search
from cede.doctrines.kueue.settings import NEVER
from cede.doctrines.kueue.snapshot import Claimant, Snapshot


def find_victims(
    snapshot: Snapshot,
    claimant: Claimant,
    asked: Asked,
    contested: list[int],
    room: Room | None = None,
    notes: Notes | None = None,
) -> Outcome:
    """Who must go so that the claimant fits; nobody if the rules find no way."""
    if not claimant.preempts or not claimant.settings.preempts:
        if notes is not None:
            explain_pool(Search(snapshot, claimant, asked, contested, None, notes))
        return NOBODY
    search = Search(snapshot, claimant, asked, contested, room, notes)
    explain_pool(search)
    return fair_sharing.find(search) if snapshot.mode.fair else classical.find(search)


def may_borrow_and_preempt(snapshot: Snapshot, claimant: Claimant) -> bool:
    """Whether a request beyond its queue's quota may preempt at all."""
    settings = claimant.settings
    return settings.borrow or (snapshot.mode.fair and settings.reclaim != NEVER)
