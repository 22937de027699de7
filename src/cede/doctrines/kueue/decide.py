"""One plan: passes over the heads of all queues, until every pending workload was decided or stands behind one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cede.doctrines.kueue import answers, rules
from cede.doctrines.kueue.book import Book
from cede.doctrines.kueue.flavors import FIT, NO_FIT
from cede.doctrines.kueue.limits import over_limit
from cede.doctrines.kueue.memory import AWAIT, DEFER, PARK, PREEMPT, SKIP, START, Memory, memory_of
from cede.doctrines.kueue.nominate import Entry, nominate
from cede.doctrines.kueue.settings import ANY
from cede.doctrines.kueue.snapshot import HOLDS, Claimant, Snapshot, claimant_of, snapshot_of
from cede.doctrines.kueue.turns import in_turn
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.policies import breach_of
from cede.model.plan import Decision
from cede.state.columns import NONE


@dataclass(slots=True)
class Lines:
    """The pending work of every queue in its order; who blocks a queue, and how.

    `keepers` block their queue and hold room back: in every pass, at their turn in it.
    """

    waiting: dict[int, list[Claimant]] = field(default_factory=dict)
    blocked: dict[int, tuple[Claimant, str]] = field(default_factory=dict)
    keepers: list[Entry] = field(default_factory=list)

    def heads(self) -> list[Claimant]:
        return [line[0] for queue, line in self.waiting.items() if line and queue not in self.blocked]

    def decided(self, claimant: Claimant, outcome: str) -> None:
        """The head has its answer: it is the next one's turn, unless it stays in front."""
        self.waiting[claimant.queue].remove(claimant)
        if outcome in (PREEMPT, SKIP, DEFER, AWAIT) or (outcome == PARK and claimant.settings.strict):
            self.blocked[claimant.queue] = (claimant, outcome)


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
    lines = Lines()
    memory = memory_of(cycle)
    yield from _line_up(snapshot, lines, memory.sticky)
    while heads := lines.heads():
        if snapshot.log:
            snapshot.end_pass()
        yield from _Pass(snapshot, lines, memory).decisions(heads)
    for queue in sorted(lines.waiting, key=snapshot.quotas.names.__getitem__):
        for claimant in lines.waiting[queue]:
            yield answers.behind(snapshot, claimant, *lines.blocked[queue])


def _line_up(snapshot: Snapshot, lines: Lines, sticky: set[str]) -> Iterator[Decision]:
    """Everyone into the line of its queue; who has none, or uses a priority it may not, is refused.

    Who waits for its victims stays in front, whatever comes after it.
    """
    state = snapshot.state
    for row in sorted(state.pending, key=state.work_names.__getitem__):
        queue = int(state.work.queue[row])
        if queue == NONE:
            yield answers.refused(state.work_names[row], rules.NO_QUEUE)
        elif snapshot.quotas.is_cohort(queue):
            yield answers.refused(state.work_names[row], rules.COHORT, queue=snapshot.quotas.names[queue])
        elif (breach := breach_of(state, row, None, None)) is not None:
            rule = rules.FIXED if breach.fixed else rules.OUT_OF_RANGE
            yield answers.refused(state.work_names[row], rule, **breach.facts)
        else:
            lines.waiting.setdefault(queue, []).append(claimant_of(snapshot, row))
    for line in lines.waiting.values():
        line.sort(key=lambda claimant: (claimant.name not in sticky, claimant.turn))


class _Pass:
    """One head a queue: all nominated on the same snapshot, then processed in turn."""

    def __init__(self, snapshot: Snapshot, lines: Lines, memory: Memory) -> None:
        self.snapshot = snapshot
        self.lines = lines
        self.memory = memory
        self.now: Book | None = None

    def decisions(self, heads: list[Claimant]) -> Iterator[Decision]:
        snapshot = self.snapshot
        entries = [nominate(snapshot, head, tried=self.memory.tried.get(head.name)) for head in heads]
        self.now = snapshot.still_there() if snapshot.left else None
        keepers = list(self.lines.keepers)
        for entry in in_turn(snapshot, entries + keepers):
            if entry in keepers:
                self._hold_back(entry)
                continue
            outcome, decision = self._process(entry)
            self.memory.note(snapshot.cycle, entry, outcome, refused=decision.action == "refuse")
            self.lines.decided(entry.claimant, outcome)
            yield decision

    def _process(self, entry: Entry) -> tuple[str, Decision]:
        snapshot = self.snapshot
        if snapshot.victims and not snapshot.victims.keys().isdisjoint(entry.rows):
            entry = self._without_earlier_victims(entry)
            if entry.mode == FIT:
                return DEFER, self._deferred(entry)
        if entry.mode == NO_FIT:
            return PARK, answers.no_fit(snapshot, entry)
        if entry.mode != FIT and not entry.victims:
            decision = answers.no_victims(snapshot, entry)
            self._hold_back(entry)
            if entry.claimant.settings.strict:
                self.lines.keepers.append(entry)
            return PARK, decision
        nodes = self._room(entry)
        if nodes is None:
            return SKIP, answers.lost(snapshot, entry)
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
            _roots=None,
        )
        return nominate(without, entry.claimant, only=entry.assignment.flavors)

    def _deferred(self, entry: Entry) -> Decision:
        """It will fit when the victims of others have left: its usage counts from now on."""
        nodes = [] if entry.assignment.room is None else entry.assignment.room.place()
        return answers.deferred(self.snapshot, entry, nodes or [])

    def _room(self, entry: Entry) -> list[int] | None:
        """Where it goes with all victims so far and its own gone; None if it does not fit any more."""
        if entry.seen != len(self.snapshot.log) and not self._has_quota(entry):
            return None
        if entry.assignment.room is None:
            return []
        room = entry.assignment.room.afresh()
        for victim in entry.victims:
            room.take(victim.row)
        nodes = room.place()
        if nodes is None:
            entry.assignment.short_of_nodes = room.short()
        return nodes

    def _has_quota(self, entry: Entry) -> bool:
        snapshot = self.snapshot
        book = snapshot.without_victims().copy()
        for row in entry.rows:
            book.remove_all(int(snapshot.state.work.queue[row]), snapshot.everything(row))
        return book.fits(entry.claimant.queue, entry.assignment.asked)

    def _hold_back(self, entry: Entry) -> None:
        """What a blocked head keeps from borrowers; nothing if it could always reclaim it."""
        claimant, book = entry.claimant, self.snapshot.book
        if claimant.settings.reclaim == ANY:
            return
        held = book.held_back(claimant.queue, entry.assignment.asked, entry.assignment.level)
        self.snapshot.charge(claimant, held, HOLDS, lasting=False)
