"""Whom a cycle of the library looks at: vCluster by vCluster, each in its scheduler's own order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

from cede.doctrines.lattice import incremental, rules
from cede.doctrines.lattice.candidates import Reachable
from cede.doctrines.lattice.core_library import Ranked, wish_of
from cede.doctrines.lattice.cycle_order import AllTurns, AwakeTurns, CycleOrder, LineScores, Sleep
from cede.doctrines.lattice.kinds import Form, Kind
from cede.doctrines.lattice.memory import fell_short, remember_short
from cede.doctrines.lattice.score import Scores, waiting_rows
from cede.doctrines.lattice.settings import INTERACTIVE, SENSITIVE, Settings, vclusters_of
from cede.doctrines.lattice.waiting_line import Lines
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import Rows, ordered
from cede.model.plan import Decision
from cede.state.columns import NONE
from cede.state.state import State


class CoreTurns(CycleOrder, Protocol):
    ranked: dict[tuple[int, int, int], tuple[Reachable, Ranked]]
    """Who may be taken, with nobody taken in vain before, by what was booked, class and partition."""

    def queues(self) -> Iterator[int]: ...
    def within(self, queue: int) -> Iterator[int]: ...
    @property
    def blocked(self) -> str | None:
        """Who stands in the way of all behind it."""
        ...

    def keep(self, row: int, made: Decision, sleeps: Sleep) -> None:
        """Take in what was decided about one."""
        ...


def misfits(made: Decision) -> bool:
    """Whether it finds no room now; one that no node could ever take is refused, and stands in the way all the same."""
    return made.action in ("wait", "preempt") or made.rule in (rules.TOO_BIG.id, rules.NO_MATCH.id)


def remember(cycle: Cycle, made: Decision) -> None:
    """Whom it takes without making the claimant fit."""
    if any(warning.rule == rules.NO_GAIN.id for warning in made.warnings):
        assert made.workload is not None, "somebody preempts"
        remember_short(cycle.memory, cycle.state, made.workload, [victim.workload for victim in made.victims])


def by_name(names: Sequence[str], queues: set[int]) -> list[int]:
    """In the order of names; work without a vCluster comes first."""
    return sorted(queues, key=lambda queue: "" if queue == NONE else names[queue])


class CoreAllTurns(AllTurns):
    """All who wait."""

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self.blocked: str | None = None
        self.ranked: dict[tuple[int, int, int], tuple[Reachable, Ranked]] = {}
        self._types = vclusters_of(cycle.state).type
        self._orders = {
            queue: order_within(cycle.state, self.settings, queue) for queue in queues_with_work(cycle.state)
        }

    def queues(self) -> Iterator[int]:
        only, work = self.cycle.only, self.cycle.state.work
        for queue, rows in self._orders.items():
            if only is not None and only not in rows and queue == work.queue[only]:
                return
            yield queue

    def within(self, queue: int) -> Iterator[int]:
        self.blocked = None
        yield from self._orders[queue].tolist()

    def claim(self, row: int) -> Claim:
        return wish_of(self.cycle.state, row)

    def answer(self, row: int) -> Decision | None:
        return self._answers.answer(row, self._like(row))

    def keep(self, row: int, made: Decision, _sleeps: Sleep) -> None:
        cycle = self.cycle
        self._answers.keep(self._like(row), made)
        if misfits(made) and self._types[cycle.state.work.queue[row]] == INTERACTIVE:
            self.blocked = self.blocked or made.workload
        if self._count(row, made):
            remember(cycle, made)

    def _like(self, row: int) -> Hashable:
        return super()._like(row), self.blocked, fell_short(self.cycle.memory, self.cycle.state.work_names[row])


class CoreAwakeTurns(AwakeTurns):
    """Those who may act, in the order of each vCluster's scheduler."""

    def __init__(self, cycle: Cycle, lines: Lines) -> None:
        super().__init__(cycle, lines)
        self.blocked: str | None = None
        self.ranked: dict[tuple[int, int, int], tuple[Reachable, Ranked]] = {}
        self._scores: LineScores | None = None
        self._cheapest_for: dict[tuple[int, int], incremental.Cheapest] = {}

    def queues(self) -> Iterator[int]:
        """Who came, or was not looked at because of a preemption before its turn, may have no way: it sleeps now, and
        nobody asks for its score."""
        lines = self.lines
        for kind in [kind for kind in lines.awake if kind.form.steady and not self._has_way(kind)]:
            lines.put_to_sleep(kind)
        queues = {kind.form.queue for kind in lines.awake}
        if any(self._scored(queue) for queue in queues):
            self._scores = LineScores(lines)  # of the state before anything is booked
        yield from by_name(lines.names, queues)

    def _scored(self, queue: int) -> bool:
        """Whether scores decide there whose turn it is: not where that is submission, nor where all who may act score
        alike but for their wait, for then the first to come is the first."""
        if self.lines.type_of(queue) in (INTERACTIVE, SENSITIVE):
            return False
        awake = [kind for kind in self.lines.awake if kind.form.queue == queue]
        return len(awake) > 1 or len(awake[0].lines) > 1

    def within(self, queue: int) -> Iterator[int]:
        """Who had room when the cycle began may have none when its turn comes: it sleeps again if it may take nothing
        either, as it would if it were decided about."""
        self.blocked = None
        lines = self.lines
        if lines.type_of(queue) == INTERACTIVE:
            yield from self._one_after_another(queue)
            return
        kinds = [kind for kind in lines.awake if kind.form.queue == queue]
        self._awake.begin(kinds, self._scores if kinds and self._scored(queue) else None)
        for row in self._awake:
            kind = lines.kind_of(row)
            if self._has_way(kind):
                yield row
            else:
                lines.put_to_sleep(kind)

    def _has_way(self, kind: Kind) -> bool:
        """Whether there may be idle room for all its members, or those who may be taken hold as many nodes."""
        return self.lines.fits(kind.form) or (kind.form.preempts and self.lines.running.victims(kind))

    def _one_after_another(self, queue: int) -> Iterator[int]:
        """By submission, up to the first that does not start; behind it those alone who may be refused for a quota."""
        lines, names = self.lines, self.cycle.state.work_names
        self._awake.begin(lines.all_of(queue), None)
        for row in self._awake.everybody():
            form = lines.kind_of(row).form
            if form.refusal is None and (lines.kind_of(row) in lines.awake):
                if self.blocked is None or form.limited:
                    yield row
            elif form.refusal is None or misfits(form.refusal):
                self.blocked = self.blocked or names[row]
            if self.blocked is not None and not lines.limits:
                return

    def hopeless(self, claim: Claim) -> bool:
        return not self.lines.running.victims(self.lines.kind_of(claim.row))

    def at_once(self, row: int) -> Decision | None:
        lines = self.lines
        kind = lines.kind_of(row)
        form = kind.form
        if incremental.reads(form) and self.blocked is None:
            if lines.fits(form):
                made = self._start_at_once(row, kind)
                if made is not None:
                    return made
            if form.preempts and not self.cycle.reasons and lines.running.victims(kind):
                made = incremental.preempt_cheapest(lines, row, kind, self._cheapest(form))
                if made is not None:
                    lines.again.add(row)
                    remember(self.cycle, made)
                    return made
        self._book()
        return None

    def _cheapest(self, form: Form) -> incremental.Cheapest:
        """The same for all of a class: who starts in a cycle is not taken in it."""
        alike = form.priority, form.partition
        cheapest = self._cheapest_for.get(alike)
        if cheapest is None:
            cheapest = self._cheapest_for[alike] = incremental.Cheapest(self.lines, *alike)
        return cheapest

    def answer(self, row: int) -> Decision | None:
        return self._answer(row, self.blocked)

    def keep(self, row: int, made: Decision, sleeps: Sleep) -> None:
        lines = self.lines
        kind = lines.kind_of(row)
        blocked = self.blocked
        if misfits(made) and lines.type_of(kind.form.queue) == INTERACTIVE:
            self.blocked = self.blocked or made.workload
        if made.action == "start":
            self._start(kind, made)
        elif made.victims:
            remember(self.cycle, made)
            lines.again.add(row)
        elif made.action == "wait":
            self._waited.add(kind)
        self._rest(row, sleeps, blocked, made)


def queues_with_work(state: State) -> list[int]:
    """vClusters where something waits, by name; work without one comes first."""
    return by_name(state.tree.names, {int(state.work.queue[row]) for row in waiting_rows(state).tolist()})


def order_within(state: State, settings: Settings, queue: int) -> Rows:
    """By score; interactive and sensitive vClusters by submission."""
    rows = waiting_rows(state)
    rows = rows[state.work.queue[rows] == queue]
    if vclusters_of(state).type[queue] in (INTERACTIVE, SENSITIVE):
        return ordered(state, rows, state.work.submitted[rows])
    return Scores(state, settings, policy=False).ordered(rows)
