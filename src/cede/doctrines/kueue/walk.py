"""The order in which classical preemption comes to its candidates, worked out as far as it gets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from heapq import heapify, heappop, heapreplace
from itertools import product
from typing import NamedTuple

from cede.doctrines.kueue.hosts import Entry, Holding, Turn
from cede.doctrines.kueue.search import Search
from cede.doctrines.kueue.settings import ANY, LOWER, NEVER
from cede.doctrines.kueue.standing import in_order
from cede.doctrines.parts.orders import Rows

MOST_IN_LINE = 64
"""Of each queue so many are looked at along its line; where these do not do, all candidates are sorted."""


class Candidate(NamedTuple):
    """One whom an attempt comes to; `usable` says whether it may be taken while the claimant borrows, of those over
    whom that has no advantage.
    """

    row: int
    queue: int
    usable: bool | None
    own: bool


class Stretch(NamedTuple):
    """Some candidates in their order, all of one list; `usable` says who may be taken while the claimant borrows."""

    positions: Rows
    rows: list[int]
    queues: list[int]
    usable: list[bool] | None
    own: bool


class Walk:
    """Those the claimant has the advantage over, then other queues', then its own; and before all what is leaving.

    Further attempts walk the same way again, so that a stretch is sorted once.
    """

    def __init__(self, search: Search, hierarchy: Rows, priority: Rows, own: Rows) -> None:
        self._known: list[Stretch] = []
        self._more = _stretches(search, (hierarchy, priority, own))

    def __iter__(self) -> Iterator[Stretch]:
        at = 0
        while True:
            if at == len(self._known):
                found = next(self._more, None)
                if found is None:
                    return
                self._known.append(found)
            yield self._known[at]
            at += 1

    def candidates(self, _done: Set[int], _borrowing: bool) -> Iterator[Candidate]:
        """Everybody, whoever of them an attempt passes by."""
        for positions, rows, queues, usable, own in self:
            which = [None] * len(positions) if usable is None else usable
            for row, queue, use in zip(rows, queues, which, strict=True):
                yield Candidate(row, queue, use, own)


def _stretches(search: Search, lists: tuple[Rows, Rows, Rows]) -> Iterator[Stretch]:
    snapshot = search.snapshot
    for leaving in (True, False):
        if leaving and not snapshot.leaving_rows:
            continue
        for number, positions in enumerate(lists):
            if not len(positions):
                continue
            for part in in_order(snapshot, positions[snapshot.leaving[positions] == leaving]):
                usable = _usable(search, part) if number == 1 else None
                rows, queues = snapshot.rows[part].tolist(), snapshot.queue[part].tolist()
                yield Stretch(part, rows, queues, usable, number == 2)


def _usable(search: Search, positions: Rows) -> list[bool]:
    """Who of those without advantage may be taken even if the claimant's queue ends above its quota."""
    settings = search.claimant.settings
    if not settings.borrow:
        return [False] * len(positions)
    snapshot = search.snapshot
    priorities = snapshot.state.work.priority[snapshot.rows[positions]]
    usable = priorities < search.claimant.priority
    if settings.threshold is not None:
        usable &= priorities <= settings.threshold
    found: list[bool] = usable.tolist()
    return found


class LineWalk:
    """The same walk along the lines in which candidates are kept, nobody sorted or even looked at who is not reached.

    It ends where the first ones of some line do not tell how it goes on, and is cut then.
    """

    def __init__(self, search: Search, hierarchy: Sequence[int], priority: Sequence[int]) -> None:
        self.search = search
        self._cut = False
        settings, running = search.claimant.settings, search.snapshot.running
        self._hosts, self._gone, self._zeros = running.hosts, search.snapshot.gone, running.zeros
        self._contested = frozenset(search.contested)
        self._leave = {running.queue(row) for row in search.snapshot.leaving_rows}
        """The queues of which some are leaving."""
        self._sides = (LEAVES, STAYS) if self._leave else (STAYS,)
        self.hierarchy = self._anybody(hierarchy)
        self.priority = self._anybody(priority)
        self._own = () if settings.within == NEVER else (search.queue,)

    def candidates(self, done: Set[int], borrowing: bool) -> Iterator[Candidate]:
        """Those whom an attempt may take. It adds the queues to `done` that it takes nobody of any more, as usage only
        falls while it lasts; the rest of their lines is passed by.
        """
        borrow = self.search.claimant.settings.borrow
        priority = () if borrowing and not borrow else self.priority  # without that none of them is usable
        for side in self._sides:
            for number, queues in enumerate((self.hierarchy, priority, self._own)):
                for held in self._in_turn(queues, side, done):
                    yield Candidate(held.row, held.queue, self._usable(held) if number == 1 else None, number == 2)
                if self._cut:
                    return

    def is_cut(self) -> bool:
        """Whether somebody came to an end that is not the last of the candidates."""
        return self._cut

    def _anybody(self, queues: Sequence[int]) -> Sequence[int]:
        """These queues, if there are candidates in them."""
        if self.search.claimant.settings.reclaim != NEVER:
            for queue, side in product(queues, self._sides):
                if next(self._along(queue, side), None) is not None:
                    return queues
        return ()

    def _in_turn(self, queues: Sequence[int], side: Turn, done: Set[int]) -> Iterator[Holding]:
        """The candidates of several lines in one order."""
        lines: list[tuple[Entry, Iterator[Entry]]] = []
        for queue in queues:
            if queue not in done and (side is STAYS or queue in self._leave):
                line = self._along(queue, side)
                first = next(line, None)
                if first is not None:
                    lines.append((first, line))
        heapify(lines)  # every turn ends in another name, so that lines are never compared
        while lines and not self._cut:
            (_, held), line = lines[0]
            if held.queue not in done:
                yield held
            following = None if held.queue in done else next(line, None)
            if following is None:
                heappop(lines)
            else:
                heapreplace(lines, (following, line))

    def _along(self, queue: int, side: Turn) -> Iterator[Entry]:
        """The candidates of one queue: who holds something contested, and whom the claimant's policy lets it take."""
        claimant, work = self.search.claimant, self.search.snapshot.state.work
        policy = claimant.settings.within if queue == claimant.queue else claimant.settings.reclaim
        line = self._hosts.line(queue)
        begin, end = 0, len(line)
        if queue in self._leave:
            middle = bisect_left(line, STAYS, key=_turn)
            begin, end = (0, middle) if side is LEAVES else (middle, end)
        for at in range(begin, min(end, begin + MOST_IN_LINE)):
            held = line[at][1]
            if policy != ANY and held.priority >= claimant.priority:
                if held.priority > claimant.priority or policy == LOWER:
                    return  # and so are all after it
                if work.submitted[held.row] <= claimant.submitted:
                    continue
            if held.row not in self._gone and self._touches(held):
                yield line[at]
        self._cut |= end - begin > MOST_IN_LINE

    def _touches(self, held: Holding) -> bool:
        """Whether it holds any of what is contested; an amount of nothing counts too."""
        for pair, _ in held.amounts:
            if pair in self._contested:
                return True
        return bool(self._zeros) and not self._contested.isdisjoint(self._zeros.get(held.row, ()))

    def _usable(self, held: Holding) -> bool:
        """Whether one without advantage may be taken even if the claimant's queue ends above its quota."""
        claimant, settings = self.search.claimant, self.search.claimant.settings
        if not settings.borrow or held.priority >= claimant.priority:
            return False
        return settings.threshold is None or held.priority <= settings.threshold


LEAVES: Turn = (False, -(1 << 62), 0, "", "")
STAYS: Turn = (True, -(1 << 62), 0, "", "")
"""Before all turns of those that are leaving, and of those that stay."""


def _turn(entry: Entry) -> Turn:
    return entry[0]
