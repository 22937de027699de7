"""What a head would do on the snapshot as it stands: start, preempt or neither; with fewer members if it may."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.flavors import FIT, NO_FIT, PREEMPT, Assigner, Assignment, Chosen, Tried
from cede.doctrines.kueue.kinds import Kind
from cede.doctrines.kueue.preemption import find_victims, selected, with_only
from cede.doctrines.kueue.search import NO_VICTIMS, Notes, Outcome, Targets
from cede.doctrines.kueue.snapshot import Claimant, Snapshot, claimant_of
from cede.doctrines.parts.equivalence import Answers, Memo

ADMITTED = (rules.WITHIN, rules.RECLAIM, rules.BORROW, rules.FAIR, rules.NOT_REACHED)
"""What a search over all says of its victims; for those that a cheaper set does without, it does not hold."""


@dataclass(eq=False, slots=True)
class Entry:
    """A head of its queue with its assignment, and its victims if it needs and has some.

    `snapshot` is the one it was nominated on, after as many changes of usage as it has `seen`, and of nodes as it has
    `nodes_seen`. `notes` say why each workload was taken or left, as things stood then; only where they are asked
    for. What is `like` it is nominated alike. `exactly` is what would become of it if shares were compared as exact
    fractions, `ahead_of` which head would come before it; both in words, and only where that is something else.
    """

    snapshot: Snapshot
    claimant: Claimant
    assignment: Assignment
    outcome: Outcome
    seen: int
    nodes_seen: int
    notes: Notes | None = None
    like: tuple[Hashable, ...] | None = None
    exactly: str = ""
    ahead_of: str = ""

    @property
    def mode(self) -> int:
        return self.assignment.mode

    @property
    def victims(self) -> Targets:
        return self.outcome.victims

    @property
    def rows(self) -> list[int]:
        return [victim.row for victim in self.victims]

    @property
    def without_way(self) -> bool:
        """Whether it would have to preempt and finds no victims."""
        return self.mode not in (FIT, NO_FIT) and not self.victims

    @property
    def parks(self) -> bool:
        """Whether it has no way at all on the snapshot it was nominated on."""
        return self.mode == NO_FIT or self.without_way


def nominate(
    snapshot: Snapshot, claimant: Claimant, only: Sequence[Chosen] | None = None, tried: Tried | None = None
) -> Entry:
    """The head at full size, or else at the largest size that fits or finds victims, or else at full size without."""
    if snapshot.rounding_check is not None:
        snapshot.rounding_check.clear()
    entry = _nominated(snapshot, claimant, only, tried)
    if snapshot.rounding_check is not None and snapshot.rounding_check.any():
        exact = replace(snapshot, exact=True, rounding_check=None)
        entry.exactly = _otherwise(entry, _nominated(exact, claimant, only, tried))
    if entry.mode != FIT and (snapshot.cycle.explain or (snapshot.cycle.misses and not entry.victims)):
        entry.notes = explained(snapshot, entry)
    return entry


def _otherwise(entry: Entry, exact: Entry) -> str:
    """What the exact entry would do, if that is not what the entry does."""
    if entry.parks and exact.parks:
        return ""
    one, other = (
        (nominated.mode, {victim.row: victim.reason for victim in nominated.victims}, nominated.assignment)
        for nominated in (entry, exact)
    )
    if one[:2] == other[:2] and (one[2].flavors, one[2].counts) == (other[2].flavors, other[2].counts):
        return ""
    if exact.parks:
        return "it would preempt nothing"
    names = entry.snapshot.state.work_names
    does = f"preempt {', '.join(sorted(names[row] for row in exact.rows))}" if exact.victims else "start"
    flavors = {flavor for chosen in exact.assignment.flavors for flavor in chosen.values()}
    return f"it would {does} in {', '.join(sorted(flavors))}"


def _nominated(snapshot: Snapshot, claimant: Claimant, only: Sequence[Chosen] | None, tried: Tried | None) -> Entry:
    assigner = Assigner(snapshot, claimant, only, tried)
    full = _at(assigner, tuple(part.count for part in claimant.parts))
    if full.victims or full.mode == FIT:
        return full
    smaller = _smaller(assigner, claimant)
    if smaller is not None:
        return smaller
    if full.mode == NO_FIT:
        least = tuple(part.count if part.min_count is None else part.min_count for part in claimant.parts)
        by_itself = Assigner(snapshot.empty(), claimant, quota_only=True).assign(least)
        on_nodes = full.assignment.never_on_nodes and assigner.assign(least).hopeless
        full.assignment.hopeless = by_itself.mode == NO_FIT or on_nodes
        full.assignment.whys = by_itself.whys or full.assignment.whys
    return full


def _at(assigner: Assigner, counts: tuple[int, ...]) -> Entry:
    assignment = assigner.assign(counts)
    steps = assigner.snapshot.steps
    outcome = NO_VICTIMS
    if assignment.mode == PREEMPT:
        room = None if assignment.room is None else assignment.room.copy()
        outcome = assigner.search(assignment.asked, assignment.contested, room)
        outcome = selected(assigner.snapshot, assigner.claimant, assignment.asked, assignment.contested, room, outcome)
    return Entry(assigner.snapshot, assigner.claimant, assignment, outcome, len(assigner.snapshot.log), steps)


def _smaller(assigner: Assigner, claimant: Claimant) -> Entry | None:
    """All pod sets that may shrink do so by the same part of their way, as little as works."""
    full = [part.count for part in claimant.parts]
    spare = [part.count - (part.count if part.min_count is None else part.min_count) for part in claimant.parts]
    total = sum(spare)
    if not total:
        return None
    largest: Entry | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = tuple(have - less * middle // total for have, less in zip(full, spare, strict=True))
        entry = _at(assigner, counts)
        if entry.mode == FIT or entry.victims:
            largest, high = entry, middle
        else:
            low = middle + 1
    return largest


def explained(snapshot: Snapshot, entry: Entry) -> Notes:
    """Why each workload was taken or left in this head's search."""
    assignment = entry.assignment
    if assignment.mode == NO_FIT or not assignment.asked:
        return Notes()
    notes = _searched(snapshot, entry)
    if snapshot.cycle.optimal and entry.victims:
        among = _searched(with_only(snapshot, np.isin(snapshot.rows, entry.rows)), entry)
        for row in [row for row, (rule, _) in notes.reasons.items() if rule in ADMITTED and row not in entry.rows]:
            notes.stays(row, rules.SPARED)
        notes.reasons |= {row: among.reasons[row] for row in entry.rows if row in among.reasons}
    return notes


def _searched(snapshot: Snapshot, entry: Entry) -> Notes:
    notes, assignment = Notes(), entry.assignment
    room = None if assignment.room is None else assignment.room.afresh()
    find_victims(snapshot, entry.claimant, assignment.asked, assignment.contested, room, notes)
    return notes


class Nominations:
    """What was nominated since something lasting changed last, and the `answers` to those that were parked.

    What is nominated depends on the usage and the nodes when the pass begins, on the claimant's kind and on the
    flavors it tried before; what is answered, on the usage at its turn too, as far as it is told. Explanations speak
    of the one workload that was asked for, and are made anew.
    """

    def __init__(self, snapshot: Snapshot, kinds: dict[int, Kind]) -> None:
        self.snapshot = snapshot
        self.kinds = kinds
        self._submissions: list[int] | None = None
        self._nominated = Memo[Entry](lambda: snapshot.moment)

    @cached_property
    def answers(self) -> Answers:
        return Answers(self.snapshot.cycle)

    def claimant(self, row: int) -> Claimant:
        """The claimant; those that are alike ask for the same parts."""
        kind = self.kinds[row]
        return claimant_of(self.snapshot, row, kind.parts, kind.memo)

    def nominated(self, claimant: Claimant, tried: Tried | None) -> Entry:
        """The head as nominated when the pass begins."""
        snapshot = self.snapshot
        if snapshot.cycle.explain:
            return nominate(snapshot, claimant, tried=tried)
        flavors = None if tried is None else frozenset(tried.items())
        like = (self.kinds[claimant.row], self._age(claimant), flavors, snapshot.moment)
        entry = self._nominated.holds().get(like)
        if entry is None:
            entry = nominate(snapshot, claimant, tried=tried)
            entry.like = like
            self._nominated.keep(like, entry)
            return entry
        seen = len(snapshot.log)
        made = (entry.snapshot, claimant, entry.assignment, entry.outcome, seen, entry.nodes_seen, entry.notes, like)
        return Entry(*made, entry.exactly)

    def place(self, entry: Entry) -> Hashable:
        """All that the answer to a head that is parked depends on; None where it may speak of the victims of others.

        One that finds no flavor is told what it was nominated with; one without a way also what is available to it.
        """
        snapshot = self.snapshot
        if entry.like is None or snapshot.victims or entry.ahead_of:
            return None
        if entry.mode == NO_FIT:
            return entry.like
        if entry.without_way and not snapshot.cycle.misses:
            queue, available = entry.claimant.queue, snapshot.quota_usage.available
            return (*entry.like, *[available(pair, queue) for pair, _ in entry.assignment.asked])
        return (*entry.like, snapshot.moment)

    def _age(self, claimant: Claimant) -> int:
        """Its place between the submissions of those that hold room, where that tells what it may take."""
        if not self.kinds[claimant.row].aged:
            return 0
        if self._submissions is None:
            self._submissions = np.unique(self.snapshot.state.work.submitted[self.snapshot.rows]).tolist()
        return bisect_right(self._submissions, claimant.submitted)
