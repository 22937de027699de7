"""Whom a cycle of the policy looks at, in order, what it knows of them, and who waits first for natural ends."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol

from cede.doctrines.lattice import plain
from cede.doctrines.lattice.choosing import Effort, effort_of
from cede.doctrines.lattice.head import Head, head_of
from cede.doctrines.lattice.kinds import Kind
from cede.doctrines.lattice.lending import claim_within
from cede.doctrines.lattice.lines import Lines
from cede.doctrines.lattice.memory import homes_of, remember
from cede.doctrines.lattice.pool import Pool
from cede.doctrines.lattice.score import Scores, waiting_rows
from cede.doctrines.lattice.turns import AllTurns, AwakeTurns, LineScores, Sleep, Turn, Turns
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
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


class PolicyTurns(Turns, Protocol):
    asking: Effort
    """What may be spent on telling why somebody waits."""

    def __iter__(self) -> Iterator[int]: ...
    def head_before(self, row: int) -> Head | None:
        """Whom this one, which fits, must not delay."""
        ...

    def pool(self, claim: Claim) -> Pool | None:
        """Who may go for this one, where that is kept."""
        ...

    def keep(self, row: int, answer: Answer) -> None:
        """Take in what was decided about one."""
        ...


class Everybody(AllTurns):
    """All who wait, by score."""

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self.asking = effort_of(cycle)
        self.head: Head | None = None
        self._rows = waiting_rows(cycle.state)

    def __iter__(self) -> Iterator[int]:
        yield from Scores(self.cycle.state, self.settings, policy=True).ordered(self._rows).tolist()

    def claim(self, row: int) -> Claim:
        return claim_within(self.cycle.state, row)

    def head_before(self, _row: int) -> Head | None:
        return self.head

    def pool(self, _claim: Claim) -> Pool | None:
        return None  # who was looked at is told, too

    def answer(self, row: int) -> Decision | None:
        like = self._like(row)
        return self._answers.answer(row, (like, None if self.head is None else self.head.name), (like, None))

    def keep(self, row: int, answer: Answer) -> None:
        cycle, made, claim = self.cycle, answer.made, answer.claim
        head = self.head.name if self.head is not None and answer.held_back else None
        self._answers.keep((self._like(row), head), made)
        if self._count(row, made):
            remember(cycle.memory, cycle.state, made)
        if made.victims and self.head is not None:
            self.head.follow(cycle.state, made)
        if self.head is None and made.action == "wait" and claim is not None and row != cycle.only:
            self.head = head_of(cycle.state, claim)

    def _like(self, row: int) -> Hashable:
        return super()._like(row), homes_of(self.cycle.memory, self.cycle.state.work_names[row])


class Acting(AwakeTurns):
    """Those who may act, by score."""

    def __init__(self, cycle: Cycle, lines: Lines) -> None:
        super().__init__(cycle, lines)
        self.asking = effort_of(cycle)
        self.head: Head | None = None
        self._woken: set[Kind] | None = None
        """Who was awake when the cycle began, until the others were asked for."""
        self._waiters: list[tuple[Turn, int]] = []
        """Who waits for room, by turn, as far as none of them was found to be the head."""
        self._ends = self.lines.timed > 0

    def __iter__(self) -> Iterator[int]:
        """Who had room when the cycle began, or victims, may have neither when its turn comes: it sleeps again at the
        cost of a look at what was counted. So would it if it were decided about: there is no idle room for all its
        members, and none if everybody left who may be taken, or it takes nobody. Nobody asks for the score of who has
        no way when the cycle begins."""
        lines = self.lines
        if not lines.awake:
            return
        for kind in list(lines.awake):
            if not self._has_way(kind):
                self._rest_without_way(kind)
        self._woken = set(lines.awake)
        if not lines.awake:
            return
        self._awake.begin(lines.awake, LineScores(lines))
        for row in self._awake:
            kind = lines.kind_of(row)
            if self._has_way(kind):
                yield row
                continue
            heapq.heappush(self._waiters, (self._awake.turn, row))
            self._rest_without_way(kind)

    def _has_way(self, kind: Kind) -> bool:
        form, lines = kind.form, self.lines
        if not form.steady or form.idle.enough(form.members):
            return True
        return form.reach.enough(form.members) and lines.affords(kind)

    def _rest_without_way(self, kind: Kind) -> None:
        form = kind.form
        if form.reach.enough(form.members):
            self.lines.put_to_sleep(kind)
        else:
            self.lines.shut(form)

    def at_once(self, row: int) -> Decision | None:
        """Where a natural end is known, who fits may have to mind a head: that is not told here."""
        lines = self.lines
        kind = lines.kind_of(row)
        form, made = kind.form, None
        if plain.reads(form):
            fits = lines.fits(form)
            if fits and not self._ends:
                made = self._start_at_once(row, kind)
                if made is not None:
                    self._ends = kind.walltime != NEVER
                    return made
            if not fits and form.preempts and form.claim.single and not form.claims:
                made = plain.preempt_one(lines, row, kind)
                if made is not None:
                    lines.again.add(row)
                    remember(self.cycle.memory, self.cycle.state, made)
                    return made
        self._book()
        return None

    def pool(self, claim: Claim) -> Pool | None:
        return self.lines.pool(claim)

    def hopeless(self, claim: Claim) -> bool:
        form = self.lines.kind_of(claim.row).form
        return form.steady and not form.reach.enough(form.members)

    def head_before(self, _row: int) -> Head | None:
        """Looked for only now that somebody fits. Of a kind that waits only the first is tried: if all natural ends do
        not make room for that, they do not for the next one either, whatever was booked in between."""
        turn, lines = self._awake.turn, self.lines
        if self.head is not None or not self._ends:
            return self.head
        if self._woken is not None:
            self._waiters += [self._first(kind) for kind in lines.waiting() if kind not in self._woken]
            self._woken = None
            heapq.heapify(self._waiters)
        while self.head is None and self._waiters and self._waiters[0][0] < turn:
            self.head = head_of(self.cycle.state, lines.claim(heapq.heappop(self._waiters)[1]))
        return self.head

    def _first(self, kind: Kind) -> tuple[Turn, int]:
        turn = min(self._awake.turn_of(line, line.entries[0]) for line in kind.lines.values() if line.entries)
        return turn, turn[1][3]

    def answer(self, row: int) -> Decision | None:
        return self._answer(row, None if self.head is None else self.head.name)

    def keep(self, row: int, answer: Answer) -> None:
        made, lines = answer.made, self.lines
        kind = lines.kind_of(row)
        if made.action == "start":
            self._ends |= kind.walltime != NEVER
            self._wake_at_home(self._start(kind, made))
        elif made.victims:
            remember(self.cycle.memory, self.cycle.state, made)
            lines.again.add(row)
        elif made.action == "wait":
            self._waited.add(kind)
            if answer.claim is not None:
                heapq.heappush(self._waiters, (self._awake.turn, row))
        self._rest(row, answer.sleeps, self.head.name if self.head is not None and answer.held_back else None, made)

    def _wake_at_home(self, nodes: set[int]) -> None:
        """Who starts on a node of another's home may be in the way of that one's work, which may then take more than it
        could before."""
        lines = self.lines
        if lines.homes is None:
            return
        for node in nodes:
            for form in lines.at_home(node) if lines.homes[node] != NONE else ():
                lines.wake(form)
                for other in form.kinds:
                    self._awake.push(other)
