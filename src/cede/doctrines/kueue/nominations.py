"""Nominations of heads: of a long line of equals that wait, the first one is looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable

import numpy as np

from cede.doctrines.kueue.flavors import NO_FIT, Tried
from cede.doctrines.kueue.kinds import Kind
from cede.doctrines.kueue.nominate import Entry, nominate
from cede.doctrines.kueue.snapshot import Claimant, Snapshot, claimant_of
from cede.doctrines.parts.equivalence import Answers, Memo


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
        self.answers = Answers(snapshot.cycle)

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
        found = self._nominated.holds().get(like)
        if found is None:
            found = nominate(snapshot, claimant, tried=tried)
            found.like = like
            self._nominated.keep(like, found)
            return found
        seen = len(snapshot.log)
        made = (found.snapshot, claimant, found.assignment, found.found, seen, found.nodes_seen, found.notes, like)
        return Entry(*made, found.exactly)

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
            queue, available = entry.claimant.queue, snapshot.book.available
            return (*entry.like, *[available(pair, queue) for pair, _ in entry.assignment.asked])
        return (*entry.like, snapshot.moment)

    def _age(self, claimant: Claimant) -> int:
        """Its place between the submissions of those that hold room, where that tells whom it may take."""
        if not self.kinds[claimant.row].aged:
            return 0
        if self._submissions is None:
            self._submissions = np.unique(self.snapshot.state.work.submitted[self.snapshot.rows]).tolist()
        return bisect_right(self._submissions, claimant.submitted)
