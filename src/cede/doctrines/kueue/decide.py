"""One plan: passes over the heads of all queues, until every pending workload was decided or stands behind one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cede.doctrines.kueue import answers, rules
from cede.doctrines.kueue.book import Book
from cede.doctrines.kueue.flavors import FIT, NO_FIT
from cede.doctrines.kueue.known import Known
from cede.doctrines.kueue.limits import over_limit
from cede.doctrines.kueue.memory import AWAIT, DEFER, PARK, PREEMPT, SKIP, START, Memory, memory_of
from cede.doctrines.kueue.nominate import Entry, nominate
from cede.doctrines.kueue.settings import ANY
from cede.doctrines.kueue.snapshot import HOLDS, Claimant, Snapshot, snapshot_of
from cede.doctrines.kueue.turns import in_turn
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.policies import breach_of
from cede.doctrines.parts.shapes import about
from cede.model.plan import Decision
from cede.state.columns import NONE


@dataclass(slots=True)
class Lines:
    """The pending work of every queue in its order; who blocks a queue, and how.

    `keepers` block their queue and hold room back: in every pass, at their turn in it. `settled`: everybody so far has
    no way at all, on whatever place in whatever pass.
    """

    waiting: dict[int, deque[Claimant]] = field(default_factory=dict)
    blocked: dict[int, tuple[Claimant, str, deque[Claimant]]] = field(default_factory=dict)
    keepers: list[Entry] = field(default_factory=list)
    settled: bool = True

    def heads(self) -> list[Claimant]:
        return [line[0] for line in self.waiting.values()]

    def decided(self, claimant: Claimant, outcome: str) -> None:
        """The head has its answer: it is the next one's turn, unless it stays in front."""
        line = self.waiting[claimant.queue]
        line.popleft()
        blocks = outcome in (PREEMPT, SKIP, DEFER, AWAIT) or (outcome == PARK and claimant.settings.strict)
        if blocks:
            self.blocked[claimant.queue] = (claimant, outcome, line)
        if blocks or not line:
            del self.waiting[claimant.queue]


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle: every pending workload decided once, or the one that is asked for."""
    wanted = None if cycle.only is None else cycle.state.work_names[cycle.only]
    for decision in _everyone(cycle):
        if wanted is None or decision.workload == wanted:
            yield decision
        if wanted is not None and decision.workload == wanted:
            return


def _everyone(cycle: Cycle) -> Iterator[Decision]:
    snapshot = snapshot_of(cycle)
    lines, known = Lines(), Known(snapshot)
    yield from in_passes(snapshot, lines, known, memory_of(cycle))
    yield from _behind(snapshot, lines, known)


def in_passes(snapshot: Snapshot, lines: Lines, known: Known, memory: Memory) -> Iterator[Decision]:
    """Everybody who gets its turn."""
    yield from _line_up(snapshot, lines, known, memory.sticky)
    while heads := lines.heads():
        if snapshot.log:
            snapshot.end_pass()
        yield from _Pass(snapshot, lines, known, memory).decisions(heads)


def _line_up(snapshot: Snapshot, lines: Lines, known: Known, sticky: set[str]) -> Iterator[Decision]:
    """Everyone into the line of its queue; who has none, or uses a priority it may not, is refused.

    Who waits for its victims stays in front, whatever comes after it.
    """
    state, shapes = snapshot.state, known.shapes
    refused: dict[int, Decision | None] = {}
    waiting: dict[int, list[Claimant]] = {}
    for row in sorted(state.pending, key=state.work_names.__getitem__):
        shape = shapes[row]
        if shape not in refused:
            refused[shape] = refused_at_once(snapshot, row)
        answer = refused[shape]
        if answer is not None:
            yield about(answer, state.work_names[row])
        else:
            claimant = known.claimant(row)
            waiting.setdefault(claimant.queue, []).append(claimant)
    for queue, line in waiting.items():
        line.sort(key=lambda claimant: (claimant.name not in sticky, claimant.turn))
        lines.waiting[queue] = deque(line)


def refused_at_once(snapshot: Snapshot, row: int) -> Decision | None:
    """What has no queue, or uses a priority it may not."""
    state, name = snapshot.state, snapshot.state.work_names[row]
    queue = int(state.work.queue[row])
    if queue == NONE:
        return answers.refused(name, rules.NO_QUEUE)
    if snapshot.quotas.is_cohort(queue):
        return answers.refused(name, rules.COHORT, queue=snapshot.quotas.names[queue])
    breach = breach_of(state, row, None, None)
    if breach is None:
        return None
    return answers.refused(name, rules.FIXED if breach.fixed else rules.OUT_OF_RANGE, **breach.facts)


def _behind(snapshot: Snapshot, lines: Lines, known: Known) -> Iterator[Decision]:
    """Those whom a head keeps from their turn, queue by queue."""
    for queue in sorted(lines.blocked, key=snapshot.quotas.names.__getitem__):
        head, outcome, line = lines.blocked[queue]
        answered: dict[int, Decision] = {}
        for claimant in line:
            shape = known.shapes[claimant.row]
            if shape not in answered:
                answered[shape] = answers.behind(snapshot, claimant, head, outcome)
            yield about(answered[shape], claimant.name)


class _Pass:
    """One head a queue: all nominated on the same snapshot, then processed in turn."""

    def __init__(self, snapshot: Snapshot, lines: Lines, known: Known, memory: Memory) -> None:
        self.snapshot = snapshot
        self.lines = lines
        self.known = known
        self.memory = memory
        self.now: Book | None = None
        self.left = 0

    def decisions(self, heads: list[Claimant]) -> Iterator[Decision]:
        snapshot = self.snapshot
        entries = [self.known.nominated(head, self.memory.tried.get(head.name)) for head in heads]
        self.now = snapshot.still_there() if snapshot.left else None
        keepers = list(self.lines.keepers)
        self.left = len(entries) + len(keepers)
        for entry in in_turn(snapshot, entries + keepers):
            self.left -= 1
            if entry in keepers:
                self._hold_back(entry)
                continue
            outcome, decision = self._answer(entry)
            self.lines.settled &= outcome == PARK and entry.parks
            self.memory.note(snapshot.cycle, entry, outcome, refused=decision.action == "refuse")
            self.lines.decided(entry.claimant, outcome)
            yield decision

    def _answer(self, entry: Entry) -> tuple[str, Decision]:
        """What becomes of the head; as of the one like it before, if nothing is different."""
        place = self.known.place(entry)
        known = self.known.parked(place, entry)
        if known is not None:
            self._keep(entry)
            return PARK, known
        outcome, decision = self._process(entry)
        if outcome == PARK:
            self.known.park(place, decision)
        return outcome, decision

    def _keep(self, entry: Entry) -> None:
        """Hold room back for a head without victims; a strict one does so at its turn in every later pass too."""
        if entry.without_way:
            self._hold_back(entry)
            if entry.claimant.settings.strict:
                self.lines.keepers.append(entry)

    def _process(self, entry: Entry) -> tuple[str, Decision]:
        snapshot = self.snapshot
        if snapshot.victims and not snapshot.victims.keys().isdisjoint(entry.rows):
            entry = self._without_earlier_victims(entry)
            if entry.mode == FIT:
                return DEFER, self._deferred(entry)
        if entry.mode == NO_FIT:
            return PARK, answers.no_fit(snapshot, entry)
        if entry.without_way:
            decision = answers.no_victims(snapshot, entry)
            self._keep(entry)
            return PARK, decision
        nodes = self._room(entry)
        if nodes is None:
            return SKIP, (answers.stuck if entry.assignment.stuck else answers.lost)(snapshot, entry)
        claimant = entry.claimant
        over = over_limit(snapshot, entry, nodes)
        if over is not None:
            return PARK, answers.limited(snapshot, entry, over)
        if entry.mode == FIT and self.now is not None and not self.now.fits(claimant.queue, entry.assignment.asked):
            return DEFER, answers.deferred(snapshot, entry, nodes)
        if entry.mode == FIT:
            return START, answers.started(snapshot, entry, nodes)
        if snapshot.leaving_rows.issuperset(entry.rows):
            return AWAIT, answers.awaiting(snapshot, entry, nodes)
        return PREEMPT, answers.preempting(snapshot, entry, nodes)

    def _without_earlier_victims(self, entry: Entry) -> Entry:
        """Assignment and victims anew with the victims of earlier heads gone, in the flavors nominated before."""
        snapshot = self.snapshot
        stay = ~np.isin(snapshot.rows, list(snapshot.victims))
        without = replace(
            snapshot,
            book=snapshot.without_victims(),
            rows=snapshot.rows[stay],
            queue=snapshot.queue[stay],
            leaving=snapshot.leaving[stay],
            pools={},
            _roots=None,
        )
        return nominate(without, entry.claimant, only=entry.assignment.flavors)

    def _deferred(self, entry: Entry) -> Decision:
        """It will fit when the victims of others have left: its usage counts from now on."""
        nodes = [] if entry.assignment.room is None else entry.assignment.room.place()
        return answers.deferred(self.snapshot, entry, nodes or [])

    def _room(self, entry: Entry) -> list[int] | None:
        """Where it goes with all victims so far and its own gone; None if it does not fit any more."""
        if (entry.assignment.stuck or entry.seen != len(self.snapshot.log)) and not self._has_quota(entry):
            return None
        if entry.assignment.room is None:
            return []
        room = entry.assignment.room.afresh()
        for victim in entry.victims:
            room.take(victim.row)
        nodes = room.place()
        if nodes is None:
            entry.assignment = replace(entry.assignment, lacking=room)  # others may have the same
        return nodes

    def _has_quota(self, entry: Entry) -> bool:
        snapshot = self.snapshot
        book = snapshot.without_victims().copy()
        for row in entry.rows:
            snapshot.let_go(book, row)
        return book.fits(entry.claimant.queue, entry.assignment.asked)

    def _hold_back(self, entry: Entry) -> None:
        """What a blocked head keeps from borrowers; nothing if it could always reclaim it."""
        claimant, book = entry.claimant, self.snapshot.book
        if claimant.settings.reclaim == ANY:
            return
        held = book.held_back(claimant.queue, entry.assignment.asked, entry.assignment.level)
        if self.left:
            self.snapshot.charge(claimant, held, HOLDS, lasting=False)
        else:  # nobody is left in this pass whom it could be kept from
            self.snapshot.note(claimant, held, HOLDS)
