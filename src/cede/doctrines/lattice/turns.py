"""In which order a cycle looks at what waits: at everybody, where somebody asks why they wait; else at who may act."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from enum import Enum

from cede.doctrines.lattice import factors
from cede.doctrines.lattice.lines import Key, Kind, Line, Lines
from cede.doctrines.lattice.score import HOUR_PARTS, busy_nodes, largest_set, share_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import LARGEST, NINE_DECIMALS
from cede.doctrines.parts.shapes import about
from cede.model.plan import Decision
from cede.model.times import SECOND

Turn = tuple[int, Key]
"""When one is looked at: by its score, the highest first, then by its place among those that score alike."""
FIRST: Turn = (-(1 << 63), (0, "", "", 0))
"""Before everybody's."""


class Sleep(Enum):
    """Who needs not be looked at any more, until something changes on a node that matters to it."""

    NOBODY = 0
    KIND = 1
    FORM = 2


class LineScores:
    """The scores of `Scores`, one by one, of work in kept lines; of the state as it was when the cycle began."""

    def __init__(self, lines: Lines) -> None:
        self.lines, state = lines, lines.state
        self.now = state.now
        self.backlog = factors.of_backlog(lines.queued / HOUR_PARTS, lines.running / HOUR_PARTS)
        self.largest = largest_set(state, policy=lines.policy)
        self.utilization = 0.0
        if lines.shares and lines.nodes:
            self.utilization = (busy_nodes(state, lines.there) if lines.policy else lines.used) / lines.nodes
        self._bases: dict[Line, tuple[float, float, float, float]] = {}

    def turn(self, line: Line, key: Key) -> Turn:
        share, backlog, conformance, budget = self._bases.get(line) or self._base(line)
        waited = self.now - key[0]
        seconds = waited / SECOND if self.lines.policy else float(waited // SECOND)
        fixed, weights = line.fixed, line.weights
        wait = float(factors.of_wait(seconds)) * weights[1]
        score = factors.added(fixed[0], wait, share, fixed[3], fixed[4], backlog, fixed[6], fixed[7], conformance)
        scaled = score * budget * NINE_DECIMALS
        return -round(max(-LARGEST, min(LARGEST, scaled))), key

    def _base(self, line: Line) -> tuple[float, float, float, float]:
        """What all of a line have of the factors that change, weighted, and what their scores are multiplied by."""
        form, weights, lines = line.kind.form, line.weights, self.lines
        share, backlog, conformance = factors.UNKNOWN, factors.of_backlog(0.0, 0.0), factors.UNKNOWN
        if not line.plain:
            backlog = self.backlog
            if lines.shares:
                held = lines.held.get(form.tenant, 0)
                share = share_of(lines.state, form.tenant, held, lines.nodes, self.utilization)
            if self.largest is not None:
                conformance = factors.of_conformance(self.largest, form.claim.members, capped=lines.policy)
        found = share * weights[2], backlog * weights[5], conformance * weights[8], line.budget
        self._bases[line] = found
        return found


class Awake:
    """Those of one cycle who may act, in order, and what was answered to them."""

    def __init__(self, cycle: Cycle, lines: Lines) -> None:
        self.cycle, self.lines = cycle, lines
        self.turn: Turn = FIRST
        self._scores: LineScores | None = None
        self._heap: list[tuple[Turn, int, Line]] = []
        self._answers: dict[Kind, tuple[int, Decision, str | None]] = {}

    def begin(self, kinds: Iterable[Kind], scores: LineScores | None) -> None:
        """From now on these have their turns; without scores in the order of submission."""
        self.turn, self._scores = FIRST, scores
        self._heap.clear()
        for kind in kinds:
            self.push(kind)

    def push(self, kind: Kind) -> None:
        """All of a kind whose turn is still to come."""
        for line in kind.lines.values():
            for at, key in enumerate(line.entries):
                turn = self.turn_of(line, key)
                if turn > self.turn:
                    heapq.heappush(self._heap, (turn, at, line))
                    break

    def turn_of(self, line: Line, key: Key) -> Turn:
        return (0, key) if self._scores is None else self._scores.turn(line, key)

    def __iter__(self) -> Iterator[int]:
        """Those who do not sleep when their turn comes."""
        heap, awake = self._heap, self.lines.awake
        while heap:
            line = heap[0][2]
            if line.kind not in awake:
                heapq.heappop(heap)
            else:
                turn = self._next()
                if turn > self.turn:
                    self.turn = turn
                    yield turn[1][3]

    def everybody(self) -> Iterator[int]:
        """Those who sleep, too."""
        while self._heap:
            self.turn = self._next()
            yield self.turn[1][3]

    def _next(self) -> Turn:
        turn, at, line = self._heap[0]
        at += 1
        if at < len(line.entries):
            heapq.heapreplace(self._heap, (self.turn_of(line, line.entries[at]), at, line))
        else:
            heapq.heappop(self._heap)
        return turn

    def answer(self, row: int, head: str | None = None) -> Decision | None:
        """What was answered to one of its kind with nothing booked since, and the same head if it mattered."""
        known = self._answers.get(self.lines.kind_of(row))
        if known is None or known[0] != self.cycle.trial.mark() or known[2] not in (None, head):
            return None
        return about(known[1], self.cycle.state.work_names[row])

    def keep(self, row: int, head: str | None, made: Decision) -> None:
        """The answer to one; `head` is who had to do with it."""
        if made.action in ("wait", "refuse"):
            self._answers[self.lines.kind_of(row)] = self.cycle.trial.mark(), made, head
