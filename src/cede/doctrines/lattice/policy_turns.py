"""Whom a cycle of the policy looks at, in order, what it knows of them, and who waits first for natural ends."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol

from cede.doctrines.lattice.admission import never
from cede.doctrines.lattice.alike import Alike
from cede.doctrines.lattice.choosing import Effort, effort_of
from cede.doctrines.lattice.contested import Start, contested
from cede.doctrines.lattice.head import Head, head_of
from cede.doctrines.lattice.lending import claim_within
from cede.doctrines.lattice.lines import Kind, lines_of
from cede.doctrines.lattice.memory import homes_of, remember
from cede.doctrines.lattice.score import Scores, waiting_rows
from cede.doctrines.lattice.settings import POLICY, Settings, settings_of
from cede.doctrines.lattice.turns import Awake, LineScores, Sleep, Turn
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.limits import Limit, limits_of
from cede.model.plan import Decision
from cede.state.columns import NEVER, NONE


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of one. `claim`, if it waits for room that a natural end may make."""

    made: Decision
    claim: Claim | None = None
    sleeps: Sleep = Sleep.NOBODY
    held_back: bool = False
    """Whether the head has to do with it."""


class Turns(Protocol):
    settings: Settings
    asking: Effort
    """What may be spent on telling why somebody waits."""

    def __iter__(self) -> Iterator[int]: ...
    def refusals(self) -> Iterator[Decision]:
        """Of those that came and can never run, where they have no turn of their own."""
        ...

    def claim(self, row: int) -> Claim: ...
    def limits(self, row: int) -> list[Limit]: ...
    def never(self, claim: Claim, limits: list[Limit]) -> Decision | None:
        """Why it can never run."""
        ...

    def hopeless(self, claim: Claim) -> bool:
        """Whether it is certain, with nobody looked at, that nobody can go for it."""
        ...

    def head_before(self, row: int) -> Head | None:
        """Whom this one, which fits, must not delay."""
        ...

    def answer(self, row: int) -> Decision | None:
        """What was answered to one like it, if nothing was booked since."""
        ...

    def keep(self, row: int, answer: Answer) -> None:
        """Take in what was decided about one."""
        ...

    def tells(self, row: int, made: Decision) -> bool:
        """Whether this decision is part of the plan."""
        ...

    def contested(self) -> bool:
        """Whether one that waits might preempt one that starts."""
        ...


class Everybody:
    """All who wait, by score, each told why; where one is asked for, those ahead of it are decided too."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.settings, self.asking = cycle, settings_of(cycle.state), effort_of(cycle)
        self.head: Head | None = None
        self._rows = waiting_rows(cycle.state)
        self._alike = Alike(cycle, self._rows)
        self._starts: list[Start] = []
        self._waits: list[int] = []
        self._preempts = False

    def __iter__(self) -> Iterator[int]:
        yield from Scores(self.cycle.state, self.settings, policy=True).ordered(self._rows).tolist()

    def refusals(self) -> Iterator[Decision]:
        return iter(())

    def claim(self, row: int) -> Claim:
        return claim_within(self.cycle.state, row)

    def limits(self, row: int) -> list[Limit]:
        return limits_of(self.cycle.state, row)

    def never(self, claim: Claim, limits: list[Limit]) -> Decision | None:
        return never(self.cycle.state, claim, limits)

    def hopeless(self, _claim: Claim) -> bool:
        return False  # who was looked at is told, too

    def head_before(self, _row: int) -> Head | None:
        return self.head

    def answer(self, row: int) -> Decision | None:
        return self._alike.answer(row, self._beside(row), None if self.head is None else self.head.name)

    def keep(self, row: int, answer: Answer) -> None:
        cycle, made, claim = self.cycle, answer.made, answer.claim
        head = self.head.name if self.head is not None and answer.held_back else None
        self._alike.keep(row, self._beside(row), head, made)
        if made.action == "start":
            self._starts.append((row, made.nodes))
        elif made.action == "wait":
            self._waits.append(row)
        if made.victims:
            if cycle.carried_out or not self._preempts:
                remember(cycle.memory, cycle.state, made)
            self._preempts = True
            if self.head is not None:
                self.head.follow(cycle.state, made)
        if self.head is None and made.action == "wait" and claim is not None and row != cycle.only:
            self.head = head_of(cycle.state, claim)

    def tells(self, _row: int, _made: Decision) -> bool:
        return True

    def contested(self) -> bool:
        return contested(self.cycle.state, POLICY, self._starts, self._waits)

    def _beside(self, row: int) -> Hashable:
        cycle = self.cycle
        return cycle.only in (None, row), homes_of(cycle.memory, cycle.state.work_names[row])


class Acting:
    """Those who may act, by score: a kind that fits nowhere and may take nobody has no turn."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.lines, self.asking = cycle, lines_of(cycle), effort_of(cycle)
        self.settings = self.lines.settings
        self.head: Head | None = None
        self._fresh = set(self.lines.fresh)
        self._awake = Awake(cycle, self.lines)
        self._asleep: list[Kind] | None = None
        self._waiters: list[tuple[Turn, int]] = []
        """Who waits for room, by turn, as far as none of them was found to be the head."""
        self._starts: list[Start] = []
        self._started: dict[Kind, int] = {}
        self._waited: set[Kind] = set()
        self._ends = self.lines.timed > 0

    def __iter__(self) -> Iterator[int]:
        lines = self.lines
        if lines.awake:
            self._asleep = [kind for kind in lines.waiting() if kind not in lines.awake]
            self._awake.begin(lines.awake, LineScores(lines))
            yield from self._awake

    def refusals(self) -> Iterator[Decision]:
        return self.lines.refusals()

    def claim(self, row: int) -> Claim:
        return self.lines.claim(row)

    def limits(self, row: int) -> list[Limit]:
        return limits_of(self.cycle.state, row) if self.lines.kind_of(row).form.limited else []

    def never(self, _claim: Claim, _limits: list[Limit]) -> Decision | None:
        return None  # it was refused when it came

    def hopeless(self, claim: Claim) -> bool:
        form = self.lines.kind_of(claim.row).form
        return form.steady and self.lines.hopeless(form)

    def head_before(self, _row: int) -> Head | None:
        """Looked for only now that somebody fits. Of a kind that waits only the first is tried: if all natural ends do
        not make room for that, they do not for the next one either, whatever was booked in between."""
        turn, lines = self._awake.turn, self.lines
        if self.head is not None or not self._ends:
            return self.head
        if self._asleep is not None:
            self._waiters += [self._first(kind) for kind in self._asleep]
            self._asleep = None
            heapq.heapify(self._waiters)
        while self.head is None and self._waiters and self._waiters[0][0] < turn:
            self.head = head_of(self.cycle.state, lines.claim(heapq.heappop(self._waiters)[1]))
        return self.head

    def _first(self, kind: Kind) -> tuple[Turn, int]:
        turn = min(self._awake.turn_of(line, line.entries[0]) for line in kind.lines.values() if line.entries)
        return turn, turn[1][3]

    def answer(self, row: int) -> Decision | None:
        return self._awake.answer(row, None if self.head is None else self.head.name)

    def keep(self, row: int, answer: Answer) -> None:
        made, lines = answer.made, self.lines
        kind = lines.kind_of(row)
        if made.action == "start":
            self._start(row, kind, made)
        elif made.victims:
            remember(self.cycle.memory, self.cycle.state, made)
            lines.again.add(row)
        elif made.action == "wait":
            self._waited.add(kind)
            if answer.claim is not None:
                heapq.heappush(self._waiters, (self._awake.turn, row))
        if kind.form.steady and answer.sleeps is Sleep.FORM:
            lines.shut(kind.form)
        elif kind.form.steady and answer.sleeps is Sleep.KIND:
            lines.put_to_sleep(kind)
        else:
            self._awake.keep(row, self.head.name if self.head is not None and answer.held_back else None, made)

    def _start(self, row: int, kind: Kind, made: Decision) -> None:
        """Who starts may end in time to matter; on a node of another's home it may be in the way of that one's work,
        which may then take more than it could before."""
        self._starts.append((row, made.nodes))
        self._started[kind] = self._started.get(kind, 0) + 1
        self._ends |= kind.walltime != NEVER
        state, lines = self.cycle.state, self.lines
        nodes = {state.node_index[name] for name in made.nodes}
        lines.touch(nodes)
        if lines.homes is not None:
            for node in nodes:
                for form in lines.at_home(node) if lines.homes[node] != NONE else ():
                    lines.wake(form)
                    for other in form.kinds:
                        self._awake.push(other)

    def tells(self, row: int, made: Decision) -> bool:
        return made.action in ("start", "preempt") or (made.action == "refuse" and row in self._fresh)

    def contested(self) -> bool:
        return bool(self._starts) and contested(
            self.cycle.state, POLICY, self._starts, self.lines.still_waiting(self._started, self._waited)
        )
