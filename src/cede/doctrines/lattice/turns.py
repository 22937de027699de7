"""In which order a cycle looks at what waits: at everybody, where somebody asks why they wait; else at who may act."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator
from enum import Enum
from typing import Protocol

from cede.doctrines.lattice import factors
from cede.doctrines.lattice.admission import never
from cede.doctrines.lattice.contested import Start, contested
from cede.doctrines.lattice.lines import NOT_READ, OWNERS, Key, Kind, Line, Lines, lines_of
from cede.doctrines.lattice.score import HOUR_PARTS, busy_nodes, largest_set, share_of, waiting_rows
from cede.doctrines.lattice.settings import Settings, settings_of
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Answers, Classes
from cede.doctrines.parts.limits import Limit, limits_of
from cede.doctrines.parts.orders import LARGEST, NINE_DECIMALS
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


class Turns(Protocol):
    """What a cycle of either edition asks."""

    settings: Settings

    def refusals(self) -> Iterator[Decision]:
        """Of those that came and can never run, where they have no turn of their own."""
        ...

    def claim(self, row: int) -> Claim: ...
    def limits(self, row: int) -> list[Limit]: ...
    def never(self, claim: Claim, limits: list[Limit]) -> Decision | None:
        """Why it can never run."""
        ...

    def fits(self, claim: Claim) -> bool:
        """Whether it is worth while to look for idle room."""
        ...

    def hopeless(self, claim: Claim) -> bool:
        """Whether it is certain, with nobody looked at, that nobody can go for it."""
        ...

    def answer(self, row: int) -> Decision | None:
        """What was answered to one like it, if nothing was booked since."""
        ...

    def tells(self, row: int, made: Decision) -> bool:
        """Whether this decision is part of the plan."""
        ...

    def contested(self) -> bool:
        """Whether one that waits might preempt one that starts."""
        ...


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
    """Those of one cycle who may act, in order."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.turn: Turn = FIRST
        self._scores: LineScores | None = None
        self._heap: list[tuple[Turn, int, Line]] = []

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


class AllTurns:
    """Everybody who waits is looked at and told why; where one is asked for, those ahead of it are decided too."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.settings = cycle, settings_of(cycle.state)
        self._answers = Answers(cycle)
        self._classes = Classes(cycle.state, NOT_READ, OWNERS).of_all(cycle.state, waiting_rows(cycle.state))
        self._starts: list[Start] = []
        self._waits: list[int] = []
        self._preempts = False

    def refusals(self) -> Iterator[Decision]:
        return iter(())

    def limits(self, row: int) -> list[Limit]:
        return limits_of(self.cycle.state, row)

    def never(self, claim: Claim, limits: list[Limit]) -> Decision | None:
        return never(self.cycle.state, claim, limits)

    def fits(self, _claim: Claim) -> bool:
        return True

    def hopeless(self, _claim: Claim) -> bool:
        return False  # who was looked at is told, too

    def tells(self, _row: int, _made: Decision) -> bool:
        return True

    def contested(self) -> bool:
        return contested(self.cycle.state, self.cycle.edition, self._starts, self._waits)

    def _like(self, row: int) -> Hashable:
        """What is the same for those that are told the same, but for the head and what is remembered of them."""
        return self.cycle.only in (None, row), self._classes[row], int(self.cycle.state.work.walltime[row])

    def _count(self, row: int, made: Decision) -> bool:
        """Take in one that starts, waits or preempts; whether what it does is to be remembered."""
        if made.action == "start":
            self._starts.append((row, made.nodes))
        elif made.action == "wait":
            self._waits.append(row)
        first, self._preempts = not self._preempts, self._preempts or bool(made.victims)
        return bool(made.victims) and (self.cycle.carried_out or first)


class AwakeTurns:
    """Only those who may act are looked at: a kind that fits nowhere and may take nobody has no turn."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.lines = cycle, lines_of(cycle)
        self.settings = self.lines.settings
        self._fresh = set(self.lines.fresh)
        self._awake = Awake(self.lines)
        self._answers = Answers(cycle)
        self._starts: list[Start] = []
        self._started: dict[Kind, int] = {}
        self._waited: set[Kind] = set()

    def refusals(self) -> Iterator[Decision]:
        return self.lines.refusals()

    def _answer(self, row: int, head: str | None) -> Decision | None:
        """What was answered to one of its kind with nothing booked since, and the same head if it mattered."""
        kind = self.lines.kind_of(row)
        return self._answers.answer(row, (kind, head), (kind, None))

    def claim(self, row: int) -> Claim:
        return self.lines.claim(row)

    def limits(self, row: int) -> list[Limit]:
        return limits_of(self.cycle.state, row) if self.lines.kind_of(row).form.limited else []

    def never(self, _claim: Claim, _limits: list[Limit]) -> Decision | None:
        return None  # it was refused when it came

    def fits(self, claim: Claim) -> bool:
        return self.lines.fits(self.lines.kind_of(claim.row).form)

    def tells(self, row: int, made: Decision) -> bool:
        return made.action in ("start", "preempt") or (made.action == "refuse" and row in self._fresh)

    def contested(self) -> bool:
        if not self._starts:
            return False
        waits = self.lines.still_waiting(self._started, self._waited)
        return contested(self.cycle.state, self.cycle.edition, self._starts, waits)

    def _start(self, row: int, kind: Kind, made: Decision) -> set[int]:
        """Take in one that starts; its nodes."""
        self._starts.append((row, made.nodes))
        self._started[kind] = self._started.get(kind, 0) + 1
        nodes = {self.cycle.state.node_index[name] for name in made.nodes}
        self.lines.touch(nodes)
        return nodes

    def _rest(self, row: int, sleeps: Sleep, head: str | None, made: Decision) -> None:
        """Who sleeps after this answer; who does not, is answered the same as long as nothing is booked."""
        kind = self.lines.kind_of(row)
        if kind.form.steady and sleeps is Sleep.FORM:
            self.lines.shut(kind.form)
        elif kind.form.steady and sleeps is Sleep.KIND:
            self.lines.put_to_sleep(kind)
        else:
            self._answers.keep((kind, head), made)
