"""In which order a cycle looks at what waits: at all of it where reasons are asked for, else at what may act."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from cede.doctrines.lattice import incremental, score
from cede.doctrines.lattice.admission import never
from cede.doctrines.lattice.kinds import Key, Kind, Line, Wait
from cede.doctrines.lattice.lending import claims_nodes, sensitive_work
from cede.doctrines.lattice.score import HOUR_PARTS, busy_nodes, share_of, waiting_rows
from cede.doctrines.lattice.settings import POLICY, Settings, settings_of
from cede.doctrines.lattice.waiting_line import NOT_READ, OWNERS, Lines
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Answers, Classes
from cede.doctrines.parts.limits import Limit, limits_of
from cede.doctrines.parts.orders import LARGEST, NINE_DECIMALS
from cede.model.plan import Decision
from cede.model.times import SECOND
from cede.state.columns import NONE

Turn = tuple[int, Key]
"""When one is looked at: by its score, the highest first, then by its place among those that score alike."""
FIRST: Turn = (-(1 << 63), (0, "", "", 0))
"""Before all others."""
Start = tuple[int, int, frozenset[int]]
"""Of one that starts, and may be preempted again: its class, its queue, and the homes of its nodes."""


class Sleep(Enum):
    """Who needs not be looked at any more, until something changes on a node that matters to it."""

    NOBODY = 0
    KIND = 1
    FORM = 2


class CycleOrder(Protocol):
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
        """Whether it is certain, with nobody looked at, that nothing can go for it."""
        ...

    def at_once(self, row: int) -> Decision | None:
        """What it does, if that is told without looking at columns, and taken in; none says nothing."""
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
        self.backlog = score.of_backlog(lines.queued / HOUR_PARTS, lines.running.hours / HOUR_PARTS)
        self.largest = lines.largest()
        self.utilization = 0.0
        if lines.shares and lines.nodes:
            self.utilization = (busy_nodes(state, lines.there) if lines.policy else lines.running.used) / lines.nodes
        self._policy = lines.policy
        self._bases: dict[Line, tuple[float, float, float, float]] = {}

    def turn(self, line: Line, key: Key) -> Turn:
        with_wait, with_share, rest, conformance = self._bases.get(line) or self._base(line)
        waited = max(0, self.now - key[0])
        wait = float(score.of_waited(waited / SECOND if self._policy else float(waited // SECOND))) * line.weights[1]
        scaled = (((with_wait + wait) + with_share) + rest + conformance) * line.budget * NINE_DECIMALS
        return -round(max(-LARGEST, min(LARGEST, scaled))), key

    def _base(self, line: Line) -> tuple[float, float, float, float]:
        """What all of a line have of their scores but for the wait: the terms of `score.added`, as far as that adds
        them up before the wait comes in, so that it comes out the same to the last bit."""
        form, weights, lines = line.kind.form, line.weights, self.lines
        share, backlog, conformance = score.UNKNOWN, 0.0, score.UNKNOWN
        if not line.plain:
            backlog = self.backlog
            if lines.shares:
                held = lines.running.held.get(form.tenant, 0)
                share = share_of(lines.state, form.tenant, held, lines.nodes, self.utilization)
            if self.largest is not None:
                conformance = score.of_conformance(self.largest, form.claim.members, capped=lines.policy)
        fixed = line.fixed
        rest = (fixed[4] + backlog * weights[5]) + (fixed[6] + fixed[7])
        base = self._bases[line] = fixed[0], share * weights[2] + fixed[3], rest, conformance * weights[8]
        return base


class TurnHeap:
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
            turn, at, line = heapq.heappop(heap)
            if line.kind in awake:
                if turn > self.turn:
                    self.turn = turn
                    yield turn[1][3]
                if line.kind in awake:
                    self._follow(line, at + 1)

    def everybody(self) -> Iterator[int]:
        """Those who sleep, too."""
        while self._heap:
            self.turn, at, line = heapq.heappop(self._heap)
            self._follow(line, at + 1)
            yield self.turn[1][3]

    def _follow(self, line: Line, at: int) -> None:
        """The next of a line, whose turn comes after that of the one before it."""
        if at < len(line.entries):
            heapq.heappush(self._heap, (self.turn_of(line, line.entries[at]), at, line))


class AllTurns:
    """All that waits is looked at and told why; where one is asked for, those ahead of it are decided too."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.settings = cycle, settings_of(cycle.state)
        self._answers = Answers(cycle)
        self._classes = Classes(cycle.state, NOT_READ, OWNERS).of_all(cycle.state, waiting_rows(cycle.state))
        self._starts: list[tuple[int, tuple[str, ...]]] = []
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

    def at_once(self, _row: int) -> Decision | None:
        return None  # everybody is told why

    def contested(self) -> bool:
        state = self.cycle.state
        work, homes = state.work, state.nodes.home
        starts = [
            (
                work.priority.item(row),
                work.queue.item(row),
                frozenset(homes.item(state.node_index[name]) for name in nodes) - {NONE},
            )
            for row, nodes in self._starts
            if work.preemptible[row] and not sensitive_work(state, row)
        ]
        waits = (
            (work.priority.item(row), work.queue.item(row), claims_nodes(state, row))
            for row in self._waits
            if work.preempts[row]
        )
        return contested(self.cycle.edition, starts, waits)

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
    """Only those who may act are looked at: a kind that fits nowhere and may take nothing has no turn."""

    def __init__(self, cycle: Cycle, lines: Lines) -> None:
        self.cycle, self.lines = cycle, lines
        self.settings = self.lines.settings
        self._fresh = self.lines.take_fresh()
        self._awake = TurnHeap(self.lines)
        self._answers = Answers(cycle)
        self._starts: list[Start] = []
        self._unbooked: list[tuple[int, list[int]]] = []
        """Who starts and where, as far as the columns do not know it yet."""
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
        return contested(self.cycle.edition, self._starts, self.lines.still_waiting(self._started, self._waited))

    def _start(self, kind: Kind, made: Decision) -> set[int]:
        """Take in one that was booked in the columns; its nodes."""
        nodes = {self.cycle.state.node_index[name] for name in made.nodes}
        self.lines.touch(nodes)
        self._count_start(kind, nodes)
        return nodes

    def _start_at_once(self, row: int, kind: Kind) -> Decision | None:
        """It starts, if there is room for it."""
        start = incremental.start(self.lines, row, kind.form)
        if start is None:
            return None
        made, nodes = start
        assert kind.form.shape is not None, "its nodes are told in plain numbers"
        self.lines.book(nodes, kind.form.shape.need)
        self._unbooked.append((row, nodes))
        self._count_start(kind, ())
        return made

    def _count_start(self, kind: Kind, nodes: Collection[int]) -> None:
        form, homes = kind.form, self.lines.homes
        self._started[kind] = self._started.get(kind, 0) + 1
        if form.yields:
            there = frozenset() if homes is None else frozenset(homes[node] for node in nodes) - {NONE}
            self._starts.append((form.priority, form.queue, there))

    def _book(self) -> None:
        """The columns know who starts."""
        for row, nodes in self._unbooked:
            self.cycle.trial.book(row, nodes)
        self._unbooked.clear()

    def _rest(self, row: int, sleeps: Sleep, head: str | None, made: Decision) -> None:
        """Who sleeps after this answer; who does not, is answered the same as long as nothing is booked."""
        kind = self.lines.kind_of(row)
        if kind.form.steady and sleeps is Sleep.FORM:
            self.lines.shut(kind.form)
        elif kind.form.steady and sleeps is Sleep.KIND:
            self.lines.put_to_sleep(kind)
        else:
            self._answers.keep((kind, head), made)


def contested(edition: str, starts: Sequence[Start], waits: Iterable[Wait]) -> bool:
    """Whether one that waits might preempt one that starts by the same plan; it may still turn out that it does not.

    Turns go by score, and who may preempt whom goes by class, homes and claims: what starts first may have to go for
    one whose turn came later. No work is preempted in the cycle that starts it, so that takes another cycle.
    """
    if not starts:
        return False
    lowest = min([class_ for class_, _, _ in starts])
    queues = {queue for _, queue, _ in starts}
    lent = frozenset[int]().union(*[homes for _, _, homes in starts])
    for class_, queue, claims in waits:
        if class_ > lowest:
            return True
        if edition == POLICY and (claims or (queue in lent and queues - {queue})):
            return True
    return False
