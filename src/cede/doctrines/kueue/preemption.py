"""The victims of a claimant: by the search that the cluster is set to, or a cheaper set where the file asks for one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cede.doctrines.kueue import classical, fair_sharing
from cede.doctrines.kueue.candidates import explain_pool
from cede.doctrines.kueue.node_room import Room
from cede.doctrines.kueue.question import candidates_of, quota_conditions
from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.search import NO_VICTIMS, Notes, Outcome, Search
from cede.doctrines.kueue.settings import NEVER
from cede.doctrines.kueue.snapshot import Claimant, Snapshot
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.question import Question
from cede.doctrines.parts.selection import best_of
from cede.state.columns import Bools


def find_victims(
    snapshot: Snapshot,
    claimant: Claimant,
    asked: Asked,
    contested: list[int],
    room: Room | None = None,
    notes: Notes | None = None,
) -> Outcome:
    """The victims that make the claimant fit; none if the rules find no way."""
    if not claimant.preempts or not claimant.settings.preempts:
        if notes is not None:
            explain_pool(Search(snapshot, claimant, asked, contested, None, notes))
        return NO_VICTIMS
    search = Search(snapshot, claimant, asked, contested, room, notes)
    explain_pool(search)
    return fair_sharing.find(search) if snapshot.mode.fair else classical.find(search)


def may_borrow_and_preempt(snapshot: Snapshot, claimant: Claimant) -> bool:
    """Whether a request beyond its queue's quota may preempt at all."""
    settings = claimant.settings
    return settings.borrow or (snapshot.mode.fair and settings.reclaim != NEVER)


def selected(
    snapshot: Snapshot, claimant: Claimant, asked: Asked, contested: list[int], room: Room | None, own: Outcome
) -> Outcome:
    """What a search found, or would find among those of a cheaper set alone."""
    if not snapshot.cycle.optimal or not own.victims:
        return own

    def again(only: Bools) -> Outcome | None:
        afresh = None if room is None else room.afresh()
        outcome = find_victims(with_only(snapshot, only[snapshot.rows]), claimant, asked, contested, afresh)
        return None if not outcome.victims or (outcome.breach and not own.breach) else outcome

    search = Search(snapshot, claimant, asked, contested, room)
    return best_of(snapshot.cycle, own, _rows, lambda: about(search, own), again)


def about(search: Search, own: Outcome) -> Question:
    """Which of its candidates, each by itself, go so that it finds room and has its quota."""
    rows, _ = candidates_of(search, np.array(_rows(own), np.intp))
    return Question(
        claim=claim_of(search.snapshot.state, search.claimant.row) if search.room is None else search.room.claim,
        rows=rows,
        objective="cost",
        weights=np.zeros(len(rows)),
        conditions=tuple(quota_conditions(search, rows)),
        places=search.room is not None,
    )


def with_only(snapshot: Snapshot, stay: Bools) -> Snapshot:
    """The same usage with only these workloads to choose victims from."""
    return replace(
        snapshot,
        pools={},
        followed=False,
        _holders=snapshot.holders.only(stay),
    )


def _rows(outcome: Outcome) -> list[int]:
    return [victim.row for victim in outcome.victims]
