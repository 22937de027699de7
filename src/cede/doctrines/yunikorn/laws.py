"""Edition `laws`: who is under its guarantee takes the best set of victims that all seven laws allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.orders import Rows, ordered
from cede.doctrines.parts.outcomes import names_of
from cede.doctrines.parts.shapes import about, shapes_of
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.account import account_of, leaf_of
from cede.doctrines.yunikorn.answers import barred, begun, preempting, taken_by, waiting
from cede.doctrines.yunikorn.ask import Ask, Asks, say, used_of
from cede.doctrines.yunikorn.lawful import Field, field_of, field_on_node, owed
from cede.doctrines.yunikorn.queues import Queues, queues_of
from cede.doctrines.yunikorn.search import best_set
from cede.doctrines.yunikorn.settings import LAWS, Mode, mode_of
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.words import facts_about, held_of, promised_to
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, SUSPENDED
from cede.state.state import State

NOT_READ = ("originator", "sensitive", "preemptible", "kind", "job_priority")


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Every pending workload: priority descending, then submission, then uid.

    Where one workload is asked for, those ahead of it are decided too, so that it finds what they leave.
    """
    plan = _Plan(cycle)
    for row in plan.queue.tolist():
        asked = cycle.only in (None, row)
        made = plan.answer(row, asked)
        if asked:
            yield made
        if row == cycle.only:
            break


def queue_of(state: State) -> Rows:
    """All that wait, in order."""
    rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    rows = rows[state.work.state[rows] <= SUSPENDED]
    return ordered(state, rows, -state.work.priority[rows].astype(np.int64), state.work.submitted[rows])


@dataclass(slots=True)
class _Plan:
    """One cycle under way; answers that booked nothing hold for all that are alike until something is booked."""

    cycle: Cycle
    queues: Queues = field(init=False)
    mode: Mode = field(init=False)
    queue: Rows = field(init=False)
    shapes: dict[int, int] = field(init=False)
    asks: Asks = field(init=False)
    known: dict[Any, Decision] = field(default_factory=dict)
    mark: int = -1

    def __post_init__(self) -> None:
        state = self.cycle.state
        self.queues = queues_of(state, LAWS)
        choice = state.static.doctrine
        self.mode = mode_of({} if choice is None else choice.settings)
        self.queue = queue_of(state)
        self.shapes = shapes_of(state, self.queue, NOT_READ)
        self.asks = Asks(state, self.queue)

    def answer(self, row: int, asked: bool) -> Decision:
        cycle = self.cycle
        if cycle.trial.mark() != self.mark:
            self.known.clear()
            self.mark = cycle.trial.mark()
        young = self.delay_of(row) > cycle.state.now - int(cycle.state.work.submitted[row])
        key = (self.shapes[row], asked, int(cycle.state.work.submitted[row]) if young else None, self._own_app(row))
        found = self.known.get(key)
        if found is None:
            found = self._decide(cycle if asked else cycle.quiet(), row)
            if found.action in ("wait", "refuse"):
                self.known[key] = found
        elif found.rule == rules.TOO_YOUNG.id:
            self.wake(row)
        return about(found, cycle.state.work_names[row]) if found.workload != cycle.state.work_names[row] else found

    def _own_app(self, row: int) -> str | None:
        """Its name, if it has no application and others have one of that name: then it is not like others."""
        state = self.cycle.state
        name = state.work_names[row]
        return name if state.work.app[row] == NONE and name in state.apps.index else None

    def delay_of(self, row: int) -> int:
        leaf = int(self.cycle.state.work.queue[row])
        return self.queues.properties[leaf].delay if leaf != NONE else 0

    def wake(self, row: int) -> None:
        """It may preempt when it has waited long enough."""
        self.cycle.wake(int(self.cycle.state.work.submitted[row]) + self.delay_of(row))

    def _decide(self, cycle: Cycle, row: int) -> Decision:
        state = cycle.state
        ask = self.asks.of(row)
        made = barred(cycle, self.asks, ask) or (None if ask.short_limits else begun(cycle, ask))
        if made is not None:
            return made
        if state.nodes.size and not ask.claim.allowed.any():
            return waiting(cycle, ask, rules.NO_NODES, {"matching": int(ask.claim.matching.sum())})
        return self._make_room(cycle, ask)

    def _make_room(self, cycle: Cycle, ask: Ask) -> Decision:
        state, queues = cycle.state, self.queues
        pinned = state.work.required_node[ask.row] != NONE
        snapshot = Snapshot(state, queues, ask.leaf)
        if cycle.explain:
            snapshot.read_all()
        cannot, numbers = self._cannot(cycle, ask, snapshot, pinned=pinned)
        if cannot is not None and not cycle.told:
            return waiting(cycle, ask, cannot, numbers)
        where = field_on_node(state, ask) if pinned else field_of(state, queues, snapshot, ask)
        facts = facts_about(state, queues, snapshot, ask, where.fence, where.slack)
        if cannot is not None:
            made = waiting(cycle, ask, cannot, numbers, candidates=where.found, facts=facts, cannot=cannot)
            return self._explained(cycle, ask, snapshot, where, made)
        open_, limits = np.flatnonzero(where.found.open), ask.short_limits
        elsewhere = place(state, ask.claim) if limits and state.nodes.size and not pinned else None
        chosen = best_set(state, ask.claim, limits, open_, where.slack, roomy=elsewhere is not None)
        if chosen is None:
            count = int(where.found.open.sum())
            victims = f"{count} may be preempted" if count else "nobody may be preempted"
            rule = rules.NODE_FULL if pinned else rules.NO_SET
            made = waiting(cycle, ask, rule, {"victims": victims}, candidates=where.found, facts=facts)
            return self._explained(cycle, ask, snapshot, where, made)
        usual = rules.FOR_NODE if pinned else rules.VICTIM
        victims_by = taken_by(state, chosen.victims, usual)
        because = self._because(state, ask, snapshot, pinned=pinned)
        nodes = [] if chosen.node == NONE else [chosen.node]
        apart = ""
        if chosen.elsewhere and elsewhere is not None:
            nodes = elsewhere
            names = ", ".join(names_of(state, nodes))
            apart = f"it starts elsewhere, on {names}: where victims do for the limit it does not fit then"
        made = preempting(
            cycle, ask, nodes, victims_by, usual, because, apart=apart, candidates=where.found, facts=facts
        )
        return self._explained(cycle, ask, snapshot, where, made)

    def _cannot(
        self, cycle: Cycle, ask: Ask, snapshot: Snapshot, *, pinned: bool
    ) -> tuple[Rule | None, dict[str, object]]:
        """The rule that keeps this claimant from preempting anybody, and its numbers."""
        state, row = cycle.state, ask.row
        if ask.claim.members > 1:
            return rules.GANG, {"members": ask.claim.members}
        if not state.work.preempts[row]:
            return rules.MAY_NOT, {}
        if pinned:
            return None, {}
        if not self.mode.enabled:
            return rules.OFF, {}
        queue, full = owed(self.queues, snapshot, ask)
        if queue == NONE:
            asked = say(state, ask.amounts)
            return rules.LAW_4, {"reason": f"no queue on its path guarantees any of the {asked} it asks for"}
        if full:
            held = say(state, used_of(snapshot.used(queue), dict.fromkeys(full, 0)))
            promised = say(state, {column: self.queues.guarantee(queue)[column] for column in full})
            reason = f"its queue {self.queues.name(queue)} holds {held} and is not under its guarantee of {promised}"
            return rules.LAW_4, {"reason": reason}
        age, delay = state.now - int(state.work.submitted[row]), self.delay_of(row)
        if age < delay:
            self.wake(row)
            return rules.TOO_YOUNG, {"age": show_duration(age), "delay": show_duration(delay)}
        return None, {}

    def _because(self, state: State, ask: Ask, snapshot: Snapshot, *, pinned: bool) -> str:
        if pinned:
            return f"it needs the node {state.node_names[int(state.work.required_node[ask.row])]} and no other"
        queue, _ = owed(self.queues, snapshot, ask)
        held = held_of(state, self.queues, snapshot, queue, {})
        return f"{self.queues.name(queue)} holds {held} of its guarantee {promised_to(state, self.queues, queue)}"

    def _explained(self, cycle: Cycle, ask: Ask, before: Snapshot, where: Field, made: Decision) -> Decision:
        if not cycle.explain:
            return made
        state, queues = cycle.state, self.queues
        leaves = {}
        for queue in sorted({int(q) for q in state.work.queue[: state.work.size][where.found.looked] if q != NONE}):
            rule = where.closed.get(queue)
            held, promised = held_of(state, queues, before, queue, ask.amounts), promised_to(state, queues, queue)
            leaves[queue] = leaf_of(queues, queue, rule, f"holds {held}, guaranteed {promised}")
        after = Snapshot(state, queues, ask.leaf) if made.action == "preempt" else None
        return replace(made, account=account_of(state, queues, before, after, ask, where.fence, leaves))
