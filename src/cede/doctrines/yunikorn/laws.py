"""Edition `laws`: who is under its guarantee takes the best set of victims that all seven laws allow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Answers
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.outcomes import names_of
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask, say, used_of
from cede.doctrines.yunikorn.best_set import best_set
from cede.doctrines.yunikorn.queues import queues_of
from cede.doctrines.yunikorn.settings import LAWS
from cede.doctrines.yunikorn.seven_laws import LawfulCandidates, lawful_candidates, lawful_on_node, owed
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.waiting_line import MAYBE, NO_SET, Family, Form, Key, Kind, line_of
from cede.doctrines.yunikorn.wording import (
    account_of,
    barred,
    begun,
    facts_about,
    held_of,
    leaf_of,
    preempting,
    promised_to,
    taken_by,
    waiting,
)
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, SUSPENDED
from cede.state.state import State

Agenda = list[tuple[Key, int]]
"""Who is asked next, in order, and the number of its kind."""
LAST = chr(0x10FFFF)
"""After every uid."""


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Every pending workload: priority descending, then submission, then uid.

    Where one workload is asked for, those ahead of it are decided too, so that it finds what they leave.
    """
    return _Plan(cycle).decisions()


class _Plan:
    """One cycle under way."""

    def __init__(self, cycle: Cycle) -> None:
        state = cycle.state
        self.cycle = cycle
        self.queues = queues_of(state, LAWS)
        self.line = line_of(cycle, self.queues)
        self.mode = self.line.mode
        self.answers = Answers(cycle)
        self.agenda: Agenda = []
        self._owed: dict[Family, bool] = {}
        """Whether the guarantee that a family may claim is not used up, as long as nothing is booked."""

    def decisions(self) -> Iterator[Decision]:
        """With words everybody is told; without, what acts, up to the first preemption, and who can never run."""
        cycle, line = self.cycle, self.line
        if cycle.words:
            line.forget_room()
        else:
            line.watch_room(cycle.state)
        came = line.newcomers()
        for row in () if cycle.words else came:
            never = line.refusal(cycle.state, row)
            if never is not None:
                yield never
        for key, kind in self._everybody() if cycle.words else self._woken():
            row = key[4]
            asked = cycle.only in (None, row)
            made = self._tell(row, asked) if cycle.words else self._ask(kind, key)
            if made is None:
                continue
            if asked:
                yield made
            if row == cycle.only or (made.victims and not cycle.words):
                return
            if not cycle.words:
                self._started(kind, key, made)

    # -- everybody, with words ---------------------------------------------------------------------------------

    def _everybody(self) -> Iterator[tuple[Key, Kind]]:
        for key in self.line.in_order():
            yield key, self.line.kind_of(key[4])

    def _tell(self, row: int, asked: bool) -> Decision:
        cycle = self.cycle
        young = self.delay_of(row) > cycle.state.now - int(cycle.state.work.submitted[row])
        like = self.line.kind_of(row), asked, int(cycle.state.work.submitted[row]) if young else None
        made = self.answers.answer(row, like)
        if made is None:
            made = self._decide(cycle if asked else cycle.quiet(), row)
            self.answers.keep(like, made)
        elif made.rule == rules.TOO_YOUNG.id:
            self.wake(row)
        return made

    # -- who may have a way ------------------------------------------------------------------------------------

    def _woken(self) -> Iterator[tuple[Key, Kind]]:
        """Of each kind the first is asked, where something changed that may give it a way; while that has none, the
        others of its kind have none either.

        Room on nodes and limits only shrink by a start, so that who found none finds none. But the queue that started
        somebody holds more, and what it holds beyond its guarantee may be taken: who may preempt is asked again.
        """
        line, agenda = self.line, self.agenda
        self._forget_searches(line.risen, line.grown)
        self._line_up()
        while agenda:
            key, number = heappop(agenda)
            yield key, line.live[number]

    def _started(self, kind: Kind, key: Key, made: Decision) -> None:
        """What was started is booked, and those after it are asked again who may have a way by that."""
        state, line = self.cycle.state, self.line
        queue = int(state.work.queue[key[4]])
        line.booked(state, queue, {state.node_index[node] for node in made.nodes})
        self._owed.clear()
        self._forget_searches({queue}, ())
        self._line_up(kind, key)

    def _line_up(self, started: Kind | None = None, after: Key | None = None) -> None:
        """Of each kind that may have a way the first, of those after this one."""
        line = self.line
        for form in line.forms.values():
            if form.kinds and form.refusal is None and (form.general or (started is None and not form.roomless)):
                for kind in form.kinds:
                    self._line_up_kind(kind, after)
        if started is not None and not started.form.general and not started.form.roomless:
            self._line_up_kind(started, after)
        if not self.mode.enabled:
            return
        for family, forms in line.families.items():
            claiming = [form for form in forms if form.roomless and form.kinds and form.may_claim]
            if claiming and self._is_owed(family):
                for form in claiming:
                    for kind in form.kinds:
                        if kind.preempts:
                            self._line_up_kind(kind, after)

    def _line_up_kind(self, kind: Kind, after: Key | None) -> None:
        """The first of a kind, of those after this one, unless it is known to have no way; and the first that is too
        young to preempt, for the time at which it will be old enough.
        """
        entries = kind.entries
        at = 0 if after is None else bisect_right(entries, after)
        if at == len(entries):
            return
        first, edge = entries[at], len(entries)
        since = self.cycle.state.now - self._delay(kind.form.ask.leaf)
        if entries[-1][1] > since:
            edge = bisect_right(entries, (first[0], since, LAST), at)
        if edge == at or not self._is_known(kind):
            heappush(self.agenda, (first, kind.number))
        if at < edge < len(entries):
            heappush(self.agenda, (entries[edge], kind.number))

    def _ask(self, kind: Kind, key: Key) -> Decision | None:
        """What this one does, if that may be another thing than to wait."""
        cycle, line, form = self.cycle, self.line, kind.form
        state, row = cycle.state, key[4]
        if state.work.state[row] > SUSPENDED:
            return None  # it was lined up twice, and starts
        young = state.now - key[1] < self._delay(form.ask.leaf)
        if not young and self._is_known(kind):
            return None
        if not form.general:
            made = self._begin(form, row)
            if made is not None or not self._may_claim(kind):
                return made
            if young:
                self.wake(row)
                return None
            if not self.line.may_suffice(kind):
                return None
        made = self._decide(cycle, row)
        if made.action != "wait":
            return made
        if not young:
            kind.looked = line.changes
            kind.victims = NO_SET if made.rule == rules.NO_SET.id and not form.general else MAYBE
        return None

    def _begin(self, form: Form, row: int) -> Decision | None:
        """It starts, unless it is known, or turns out, that no node has room for those of this form."""
        if not form.roomless:
            form.roomless = not form.may_fit(self.line.free)
        if form.roomless:
            return None
        made = begun(self.cycle, self.line.ask(self.cycle.state, row))
        form.roomless = made is None
        return made

    def _is_known(self, kind: Kind) -> bool:
        """Whether it is known that those of this kind who are old enough have no way."""
        return kind.looked == self.line.changes or (kind.form.roomless and not self.line.may_suffice(kind))

    def _forget_searches(self, risen: Iterable[int], grown: Iterable[int]) -> None:
        """Where a search found no victims there may be some if a queue holds more than before, and by that more than it
        must keep; or on a node where more is free than before, with those who may go there. Nothing else adds to what
        victims give: who ends takes its own share with it, and leaves its queue with less to lose.
        """
        searched = [kind for kind in self.line.live.values() if kind.victims == NO_SET]
        if not searched:
            return
        gives = any(self._may_give(queue) for queue in risen)
        for kind in searched:
            bound = kind.bound
            kind.victims = MAYBE if gives or bound is None else NO_SET
            if grown and bound is not None and kind.victims == NO_SET:
                self.line.may_suffice(kind)
                kind.victims = MAYBE if kind.form.fits_any(bound.most, grown) else NO_SET

    def _may_give(self, queue: int) -> bool:
        """False only if nobody of this queue, nor of those beside it, may be taken by what they are guaranteed."""
        path = self.queues.path_of(queue)
        if not path or any(self.queues.guaranteed[above] is not None for above in path[1:]):
            return True
        used = self.line.used(self.cycle.state, queue)
        return all(used[column] >= amount for column, amount in self.queues.guarantee(queue).items())

    def _may_claim(self, kind: Kind) -> bool:
        """Whether this kind may preempt once it is old enough."""
        return kind.preempts and self.mode.enabled and kind.form.may_claim and self._is_owed(kind.form.family)

    def _is_owed(self, family: Family) -> bool:
        """Whether the guarantee that this family may claim is not used up."""
        owed = self._owed.get(family)
        if owed is None:
            queue, promised = self.line.promise(family)
            used = self.line.used(self.cycle.state, queue) if queue != NONE else []
            owed = queue != NONE and all(used[column] < amount for column, amount in promised)
            self._owed[family] = owed
        return owed

    def _delay(self, leaf: int) -> int:
        return self.queues.properties[leaf].delay if leaf != NONE else 0

    def delay_of(self, row: int) -> int:
        return self._delay(int(self.cycle.state.work.queue[row]))

    def wake(self, row: int) -> None:
        """It may preempt when it has waited long enough."""
        self.cycle.wake(int(self.cycle.state.work.submitted[row]) + self.delay_of(row))

    def _decide(self, cycle: Cycle, row: int) -> Decision:
        state = cycle.state
        ask, form = self.line.ask(state, row), self.line.kind_of(row).form
        made = barred(cycle, self.line.refusal(state, row), ask)
        if made is None and not ask.short_limits and not form.roomless:
            made = begun(cycle, ask)
        if made is not None:
            return made
        if state.nodes.size and not ask.claim.allowed.any():
            return waiting(cycle, ask, rules.NO_NODES, {"matching": int(ask.claim.matching.sum())})
        return self._make_room(cycle, ask)

    def _make_room(self, cycle: Cycle, ask: Ask) -> Decision:
        state, queues = cycle.state, self.queues
        pinned = state.work.required_node[ask.row] != NONE
        snapshot = Snapshot(state, queues, ask.leaf, self.line.leaving(state))
        if cycle.explain:
            snapshot.read_all()
        cannot, numbers = self._cannot(cycle, ask, snapshot, pinned=pinned)
        if cannot is not None and not cycle.told:
            return waiting(cycle, ask, cannot, numbers)
        where = lawful_on_node(state, ask) if pinned else lawful_candidates(state, queues, snapshot, ask)
        facts = facts_about(state, queues, snapshot, ask, where.fence, where.slack)
        if cannot is not None:
            made = waiting(cycle, ask, cannot, numbers, candidates=where.candidates, facts=facts, cannot=cannot)
            return self._explained(cycle, ask, snapshot, where, made)
        open_, limits = np.flatnonzero(where.candidates.open), ask.short_limits
        elsewhere = place(state, ask.claim) if limits and state.nodes.size and not pinned else None
        chosen = best_set(state, ask.claim, limits, open_, where.slack, roomy=elsewhere is not None)
        if chosen is None:
            count = int(where.candidates.open.sum())
            victims = f"{count} may be preempted" if count else "nothing may be preempted"
            rule = rules.NODE_FULL if pinned else rules.NO_SET
            made = waiting(cycle, ask, rule, {"victims": victims}, candidates=where.candidates, facts=facts)
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
            cycle, ask, nodes, victims_by, usual, because, apart=apart, candidates=where.candidates, facts=facts
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
        queue, full = owed(self.queues, snapshot, ask.leaf, ask.amounts)
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
        queue, _ = owed(self.queues, snapshot, ask.leaf, ask.amounts)
        held = held_of(state, self.queues, snapshot, queue, {})
        return f"{self.queues.name(queue)} holds {held} of its guarantee {promised_to(state, self.queues, queue)}"

    def _explained(self, cycle: Cycle, ask: Ask, before: Snapshot, where: LawfulCandidates, made: Decision) -> Decision:
        if not cycle.explain:
            return made
        state, queues = cycle.state, self.queues
        leaves = {}
        for queue in sorted(
            {int(q) for q in state.work.queue[: state.work.size][where.candidates.looked] if q != NONE}
        ):
            rule = where.closed.get(queue)
            held, promised = held_of(state, queues, before, queue, ask.amounts), promised_to(state, queues, queue)
            leaves[queue] = leaf_of(queues, queue, rule, f"holds {held}, guaranteed {promised}")
        after = before.fresh() if made.action == "preempt" else None
        return replace(made, account=account_of(state, queues, before, after, ask, where.fence, leaves))
