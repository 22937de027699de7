"""Edition `1.9`: passes down the queue tree, each ended by its first result; asks preempt as the release does it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop
from itertools import chain

import numpy as np

from cede.doctrines.parts.candidates import Candidates, Facts
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import fits
from cede.doctrines.yunikorn import question, rules
from cede.doctrines.yunikorn.ask import Ask, say
from cede.doctrines.yunikorn.ask_order import AskOrder, QueueOrder
from cede.doctrines.yunikorn.attempt import Attempt, Outcome
from cede.doctrines.yunikorn.eligible_asks import MEMORY as ELIGIBLE
from cede.doctrines.yunikorn.eligible_asks import Leaf, eligible_of
from cede.doctrines.yunikorn.fences import Fence, candidates, ranks_of, reach_of, short_at_root
from cede.doctrines.yunikorn.memory import Checked, memory_of
from cede.doctrines.yunikorn.promises import broken_promises, does_not_fit
from cede.doctrines.yunikorn.queues import queues_of, total_capacity
from cede.doctrines.yunikorn.quota_preemption import cut_back
from cede.doctrines.yunikorn.required_node_preemptor import clear_node
from cede.doctrines.yunikorn.reservations import held_nodes, may_expire, usable
from cede.doctrines.yunikorn.settings import ATTEMPTS, CHECK_INTERVAL, SHIPPED
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.sparse_amounts import Vector, within
from cede.doctrines.yunikorn.waiting_line import Form, Key, Kind, line_of
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
from cede.model.plan import Candidate, Decision
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, READY, SPREAD
from cede.state.state import State

END: Key = (1 << 62, 0, "", "", 0)
"""After everybody."""
ACTS = ("start", "preempt")
UNREAD = ("app",)
"""What release 1.9 does not read of a claimant."""


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Queues above their limit first, then pass after pass until everybody was decided once.

    An ask whose queue has no attempt left is looked at again in the next pass, if there is one. Where one ask is asked
    for, those ahead of it are decided too, so that it finds what they leave.
    """
    return _Plan(cycle).decisions()


@dataclass(slots=True)
class _Turn:
    """How far a cycle has come in one leaf: those up to here are decided, gangs and others."""

    leaf: Leaf
    forms: list[Form]
    starting: list[Form] = field(default_factory=list)
    """Those that may start in this pass."""
    gangs: Key | None = None
    singles: Key | None = None
    used_up: Key | None = None
    """The one with the last of its attempts in the last pass, if that used them up."""

    def decided(self, form: Form) -> Key | None:
        return self.singles if form.ask.claim.single else self.gangs


class _Woken:
    """Those that may have a way, in the order of `Turns`: in each leaf who may start, and who may try to preempt."""

    def __init__(self, plan: _Plan, came: list[int]) -> None:
        self.plan = plan
        self.line = line = plan.line
        self.state = plan.cycle.state
        eligible = eligible_of(plan.cycle, line, plan.memory, came)
        self.leaves: dict[int, _Turn] = {}
        for leaf, forms in line.leaves.items():
            self.leaves[leaf] = _Turn(eligible.leaf(self.state, leaf), forms)
        self._order: QueueOrder | None = None
        self._asked: tuple[_Turn, Key, Kind, bool]
        """Who was come to last; and whether it is to start, or tries to preempt."""

    def one_pass(self) -> Iterator[int]:
        """Those that are not decided yet, as the tree stands now.

        Where nobody has a way, the order in which they try is of no account.
        """
        queues: Iterable[int] = self.leaves
        if self._may_act():
            if self._order is None:
                self._order = QueueOrder(self.state, self.plan.queues, self.leaves, self._first, self._wanted)
            queues = (*self._order.in_order(lambda _: True), NONE)
        for queue in queues:
            turn = self.leaves.get(queue)
            if turn is None:
                continue
            if turn.starting or turn.leaf.ready:
                yield from self._in_leaf(turn)
            else:
                turn.used_up, turn.gangs, turn.singles = None, END, END

    def _in_leaf(self, turn: _Turn) -> Iterator[int]:
        """Those of a leaf; nobody tries to preempt in this pass once it has no attempt left. Who comes back here from
        its answer had no way.

        Of those that are ready one that left, and came back, may be in more than one batch. Whether it may try is what
        is remembered of it.
        """
        plan, line, leaf, now = self.plan, self.line, turn.leaf, self.state.now
        waiting, checked, triggered, gone = line.waiting, plan.memory.checked, plan.memory.triggered, plan.gone
        attempts = 0
        turn.used_up = None
        starters: list[tuple[Key, int]] = []
        if turn.starting:
            starters = [
                (key, kind.number)
                for form in turn.starting
                for kind in form.kinds
                if (key := self._after(kind, turn.decided(form))) is not None
            ]
            heapify(starters)
        ready, after = leaf.ready, turn.singles
        at = len(ready)
        if plan.mode.enabled:
            at = 0 if after is None else bisect_right(ready, after)
        key, tries = END, None
        while True:
            while tries is None and at < len(ready):
                key = ready[at]
                known, seen = waiting.get(key[4]), checked.get(key[2])
                if (
                    known is None
                    or (known.key is not key and known.key != key)
                    or (seen is not None and seen.at < now < seen.at + CHECK_INTERVAL)
                    or key == after
                ):
                    del ready[at]
                    continue
                at += 1
                after = key
                if key[4] not in gone and key[2] not in triggered:
                    tries = known.kind
            if starters and (tries is None or starters[0][0] <= key):
                first, number = heappop(starters)
                kind = line.live[number]
                if plan.has_room(kind.form):
                    self._asked = turn, first, kind, True
                    yield first[4]
                    kind.form.roomless = True
                continue
            if tries is None:
                break
            attempts += 1
            rule = tries.rule if tries.looked == line.changes else plan.in_vain(leaf, tries)
            if rule:
                checked[key[2]] = plan.seen.get(rule) or plan.look(rule)
            else:
                self._asked = turn, key, tries, False
                yield key[4]
            tries = None
            turn.singles = key
            leaf.tried[key] = None
            leaf.tried_at = now
            if attempts == ATTEMPTS:
                turn.used_up, at = key, len(ready)
        turn.gangs = END
        turn.singles = END if turn.used_up is None else turn.singles

    def answer(self) -> Decision | None:
        """What the last one does; none if it has no way."""
        _, key, kind, starts = self._asked
        return self.plan.begin(key[4]) if starts else self.plan.attempt(kind, key)

    def decide(self, row: int, made: Decision) -> None:
        """The last one starts or preempts: it waits no more, and queues hold more, or less."""
        state, line = self.state, self.line
        turn, key, _, starts = self._asked
        turn.gangs = key
        turn.singles = turn.singles if starts and turn.used_up is not None else key
        nodes = {state.node_index[node] for node in made.nodes}
        for victim in made.victims:
            nodes.update(state.residents.node[state.residents_of(state.work_index[victim.workload])].tolist())
        queue = int(state.work.queue[row])
        line.booked(state, queue, nodes)
        if made.victims:
            line.forget_room()
        if self._order is not None:
            self._order.changed(self.plan.queues.path_of(queue), preempted=bool(made.victims))

    def wake(self) -> None:
        """The cycle knows when somebody may try again."""
        plan = self.plan
        if plan.mode.enabled:
            for turn in self.leaves.values():
                if turn.leaf.may_be_due_before(plan.cycle.wakes_at):
                    turn.leaf.wake(plan.cycle, self.line, plan.memory, plan.gone, turn.used_up)

    def _first(self, queue: int) -> int | None:
        """The highest priority that waits in the queue itself."""
        gone = self.plan.gone
        priorities = [
            -kind.entries[0][0]
            for form in (self.leaves[queue].forms if queue in self.leaves else ())
            for kind in form.kinds
            if not gone or any(key[4] not in gone for key in kind.entries)
        ]
        return max(priorities, default=None)

    def _wanted(self, queue: int) -> list[int]:
        """What all that wait in the queue itself ask for."""
        gone = self.plan.gone
        total = [0] * len(self.state.units)
        for form in self.leaves[queue].forms if queue in self.leaves else ():
            count = form.count
            if gone:
                count -= sum(key[4] in gone for kind in form.kinds for key in kind.entries)
            total = [have + count * amount for have, amount in zip(total, form.usage, strict=True)]
        return total

    def _after(self, kind: Kind, decided: Key | None) -> Key | None:
        """The first of a kind that was not decided yet."""
        entries = kind.entries
        at = 0 if decided is None else bisect_right(entries, decided)
        while at < len(entries) and entries[at][4] in self.plan.gone:
            at += 1
        return entries[at] if at < len(entries) else None

    def _may_act(self) -> bool:
        """False only if nothing starts or preempts as things are; each leaf knows the forms that may start."""
        plan, changes, may_act = self.plan, self.line.changes, False
        for turn in self.leaves.values():
            turn.starting = [form for form in turn.forms if not form.roomless and plan.may_start(form)]
            may_act = may_act or bool(turn.starting)
            if not may_act and plan.mode.enabled and turn.leaf.ready:
                may_act = self._may_preempt(turn, changes)
        return may_act

    def _may_preempt(self, turn: _Turn, changes: int) -> bool:
        for form in turn.forms:
            if form.may_claim:
                for kind in form.kinds:
                    if kind.looked != changes and kind.preempts and not self.plan.in_vain(turn.leaf, kind):
                        return True
        return False


class _Plan:
    """One cycle under way."""

    def __init__(self, cycle: Cycle) -> None:
        state = cycle.state
        self.cycle = cycle
        self.queues = queues_of(state, SHIPPED)
        self.line = line_of(cycle, self.queues, UNREAD, shipped=True)
        self.mode = self.line.mode
        self.memory = memory_of(cycle, self.line.moved)
        self.attempts: Counter[int] = Counter()
        self.taken = held_nodes(state)
        """Nodes that are reserved for somebody who preempted, or who needs that node: nobody else may use them."""
        self.cancelled = np.zeros(state.nodes.size, np.bool_)
        """Nodes whose reservation an attempt cancelled, whatever came of it, or that lost it by its age."""
        self.gone: set[int] = set()
        """Those that start or preempt by what was decided so far."""
        self.seen: dict[str, Checked] = {}
        """What is remembered of those that try in vain in this cycle, by the rule that comes of it."""
        self.rest: dict[int, Vector[int]] = {}
        self.rest_at = -1
        """By leaf, what remains of the guarantees on its path; as of which change."""

    def decisions(self) -> Iterator[Decision]:
        """With words everybody is told; without, what acts, up to the first preemption, and who can never run.

        Those behind a preemption are decided too, for an attempt in vain is remembered.
        """
        cycle, line = self.cycle, self.line
        came = line.newcomers()
        for row in () if cycle.words else came:
            never = line.refusal(cycle.state, row)
            if never is not None:
                yield never
        cuts = list(cut_back(cycle, self.queues)) if self.mode.quota else []
        everybody = cycle.words or bool(cuts) or self._is_odd()
        if everybody:
            cycle.memory.pop(ELIGIBLE, None)
            line.forget_room()
        else:
            line.watch_room(cycle.state)
        passes = self._in_passes(AskOrder(cycle.state, self.queues) if everybody else _Woken(self, came))
        preempted = False
        for made in chain(cuts if cycle.only is None else (), passes):
            if cycle.words:
                yield made
            elif made.action in ACTS or made.victims:
                if not preempted:
                    yield made
                preempted = preempted or bool(made.victims)
        if everybody and not cycle.words:
            line.forget_room()

    def _in_passes(self, turns: AskOrder | _Woken) -> Iterator[Decision]:
        """Pass after pass, each ended by its first result."""
        cycle = self.cycle
        acted = True
        left: list[int] = []
        while acted:
            acted = False
            self.attempts.clear()
            self._drop_reservations()
            left.clear()
            for row in turns.one_pass():
                asked = cycle.only in (None, row)
                answer = (
                    turns.answer() if isinstance(turns, _Woken) else self.answer(cycle if asked else cycle.quiet(), row)
                )
                if answer is None:
                    left.append(row)
                    continue
                acted = answer.action in ACTS
                if acted:
                    self.gone.add(row)
                turns.decide(row, answer)
                if asked:
                    yield answer
                if row == cycle.only:
                    return
                if acted:
                    break
        if isinstance(turns, _Woken):
            turns.wake()
            return
        for row in left:
            if cycle.only in (None, row):
                yield self.out_of_attempts(row)

    def _is_odd(self) -> bool:
        """Whether more than room, guarantees and limits of queues tells asks apart: then everybody is asked."""
        state = self.cycle.state
        return bool(
            state.static.tenants or state.reservations or state.apps.names or not state.nodes.size or self.line.pinned
        )

    def may_start(self, form: Form) -> bool:
        return form.refusal is None and self.has_room(form) and self._fits_headroom(form)

    def has_room(self, form: Form) -> bool:
        """False only if no node has room for those of this form."""
        if not form.roomless and not form.volatile:
            form.roomless = not form.may_fit(self.line.free)
        return not form.roomless

    def _fits_headroom(self, form: Form) -> bool:
        """Whether those of this form fit the headroom of their queue."""
        if form.headroom_at != self.line.changes:
            state = self.cycle.state
            form.headroom_at = self.line.changes
            if form.ask.limits or len(state.partitions.names) > 1:
                form.headroom = self._has_headroom(state, self.line.ask(state, form.kinds[0].entries[0][4]))
            else:
                form.headroom = self._fits_root(form)
        return form.headroom

    def _fits_root(self, form: Form) -> bool:
        """Whether the nodes have as much left in all; as `short_at_root` says it."""
        state, ask = self.cycle.state, form.ask
        path = self.queues.path_of(ask.leaf)
        if not path:
            return True
        used, most = self.line.used_quota(state, path[-1]), total_capacity(state, form.partition)
        return all(used[c] + amount <= most[c] for c, amount in ask.amounts.items() if c in most)

    def look(self, rule: str) -> Checked:
        """What is remembered of all that are looked at now, and of which it is known that an attempt is in vain."""
        checked = self.seen[rule] = Checked(self.cycle.state.now, self.cycle.state.version, rule)
        return checked

    def attempt(self, kind: Kind, key: Key) -> Decision | None:
        """An attempt to preempt; none if it is in vain."""
        self.attempts.clear()
        ask = self._ask(self.cycle.state, key[4])
        made = self._make_room(self.cycle, ask, tried=self._fits_headroom(kind.form))
        if made is not None and made.action == "preempt":
            return made
        kind.looked, kind.rule = self.line.changes, self.memory.checked[key[2]].rule
        return None

    def begin(self, row: int) -> Decision | None:
        """It starts, if it fits somewhere."""
        return begun(self.cycle, self._ask(self.cycle.state, row))

    def in_vain(self, leaf: Leaf, kind: Kind) -> str:
        """The rule by which an attempt is in vain, where that is known without one; else nothing. Of those that are
        alike one need try, as long as nothing is booked.

        If the ask fits what its leaf is owed as things are, it comes to the nodes; and if on none of these is there
        enough though all left that may, it finds no victims, or too few. Which of the two is of interest with
        words only, and then every attempt is made.
        """
        line, form = self.line, kind.form
        if not self._may_be_owed(leaf, form):
            rule = rules.NOT_OWED.id
        elif not line.may_suffice(kind) and self._is_owed(form):
            rule = rules.NO_VICTIMS.id
        else:
            return ""
        kind.looked, kind.rule = line.changes, rule
        return rule

    def _is_owed(self, form: Form) -> bool:
        """Whether those of this form fit what remains of the guarantees on their path."""
        line, leaf = self.line, form.ask.leaf
        if self.rest_at != line.changes:
            self.rest_at = line.changes
            self.rest.clear()
        if leaf not in self.rest:
            state = self.cycle.state
            self.rest[leaf] = Snapshot(state, self.queues, leaf, line.leaving(state)).remaining(leaf)
        rest = self.rest[leaf]
        return rest is not None and within(rest, form.ask.amounts)

    def _may_be_owed(self, leaf: Leaf, form: Form) -> bool:
        """False only if the leaf is owed too little even were all others gone: what it holds itself, with what is asked
        for, is above the least that is guaranteed on its path.
        """
        line = self.line
        if form.owed_at != line.changes:
            form.owed_at = line.changes
            form.owed = False
            if leaf.promised is not None:
                used, promised = line.used(self.cycle.state, form.ask.leaf), leaf.promised
                asked = form.ask.amounts.items()
                form.owed = all(used[c] + amount <= promised[c] for c, amount in asked if c in promised)
        return form.owed

    def _drop_reservations(self) -> None:
        """Before each pass: old reservations whose holders do not fit their headroom are dropped."""
        state = self.cycle.state
        for row, nodes in state.reservations.items():
            waits = row in self.line.waiting and row not in self.gone
            if not waits or self._has_headroom(state, self.line.ask(state, row)):
                continue
            for node in nodes:
                if state.nodes.state[node] == READY and may_expire(state, node):
                    self.cancelled[node] = True

    def _has_headroom(self, state: State, ask: Ask) -> bool:
        """Whether it fits under every limit on its path, and the nodes have as much left in all."""
        return not ask.short_limits and not short_at_root(state, self.queues, ask)

    def answer(self, cycle: Cycle, row: int) -> Decision | None:
        """The decision about one ask; none if it may preempt but its queue has no attempt left."""
        state = cycle.state
        ask = self._ask(state, row)
        never = barred(cycle, self.line.refusal(state, row), ask)
        if never is not None:
            return never
        headroom = self._has_headroom(state, ask)
        if state.work.required_node[row] != NONE:
            return self._pinned(cycle, ask, headroom=headroom)
        made = begun(cycle, ask) if headroom else None
        return self._make_room(cycle, ask, tried=headroom) if made is None else made

    def _ask(self, state: State, row: int) -> Ask:
        ask = self.line.ask(state, row)
        claim = ask.claim
        if state.work.required_node[row] != NONE or claim.placement == SPREAD:
            return ask  # release 1.9 spreads nothing: groups are counted over all nodes
        allowed = claim.allowed
        if self.cancelled.any():
            allowed = allowed | (claim.matching & self.cancelled)
        if self.taken.any():
            allowed = allowed & ~self.taken
        return ask if allowed is claim.allowed else replace(ask, claim=replace(claim, allowed=allowed))

    def out_of_attempts(self, row: int) -> Decision:
        ask = self._ask(self.cycle.state, row)
        return waiting(self.cycle, ask, rules.USED_UP, {"queue": self.queues.name(ask.leaf)})

    # -- an ask for any node -----------------------------------------------------------------------------------

    def _make_room(self, cycle: Cycle, ask: Ask, *, tried: bool) -> Decision | None:
        state, queues = cycle.state, self.queues
        gate = self._gate(cycle, ask)
        if gate is rules.USED_UP:
            return None
        snapshot = Snapshot(state, queues, ask.leaf, self.line.leaving(state))
        if cycle.explain:
            snapshot.read_all()
        if gate is None:
            self.attempts[ask.leaf] += 1
        elif not cycle.told:
            return waiting(cycle, ask, gate, self._numbers(cycle, ask, gate))
        reach = reach_of(state, queues, snapshot, ask)
        reachable = candidates(state, queues, reach, ask)
        if gate is not None:
            facts = facts_about(state, queues, snapshot, ask, reach.fence, ranks=ranks_of(state, queues, reach, ask))
            numbers = self._numbers(cycle, ask, gate)
            made = waiting(cycle, ask, gate, numbers, candidates=reachable, facts=facts, cannot=gate)
            return self._explained(cycle, ask, snapshot, reach, made)
        allowed = usable(state, ask, self.memory.triggered) & ~self.taken
        attempt = Attempt(state, snapshot, ask, np.flatnonzero(reachable.open), allowed, tried=tried)
        outcome = question.attempted(cycle, attempt, attempt.run())
        if outcome.refusal is not rules.NOT_OWED:  # it came to the nodes
            self.cancelled |= attempt.claim.allowed & ~ask.claim.allowed
        return self._outcome(cycle, ask, attempt, outcome, reach, reachable)

    def _gate(self, cycle: Cycle, ask: Ask) -> Rule | None:
        """The first gate that is closed; none, if this ask may try."""
        state, row = cycle.state, ask.row
        if ask.claim.members > 1:
            return rules.GANG
        if not self.mode.enabled:
            return rules.OFF
        if self.attempts[ask.leaf] >= ATTEMPTS:
            return rules.USED_UP
        if not state.work.preempts[row]:
            return rules.MAY_NOT
        if ask.claim.name in self.memory.triggered:
            return rules.TRIGGERED
        due = int(state.work.submitted[row]) + self._delay(ask)
        if state.now < due:
            cycle.wake(due)
            return rules.TOO_YOUNG
        seen = self.memory.checked.get(ask.claim.name)
        if seen is not None and seen.at < state.now < seen.at + CHECK_INTERVAL:
            if state.version != seen.version:  # on what has not changed it would find the same again
                cycle.wake(seen.at + CHECK_INTERVAL)
            return rules.CHECKED
        return None

    def _delay(self, ask: Ask) -> int:
        return self.queues.properties[ask.leaf].delay if ask.leaf != NONE else 0

    def _numbers(self, cycle: Cycle, ask: Ask, gate: Rule) -> dict[str, object]:
        state = cycle.state
        since, rule = int(state.work.submitted[ask.row]), ""
        if gate is rules.CHECKED:
            since, rule = self.memory.checked[ask.claim.name].at, self.memory.checked[ask.claim.name].rule
        return self._short(cycle, ask) | {
            "found": rule,
            "age": show_duration(state.now - since),
            "delay": show_duration(self._delay(ask)),
            "members": ask.claim.members,
            "queue": self.queues.name(ask.leaf),
        }

    def _outcome(
        self, cycle: Cycle, ask: Ask, attempt: Attempt, outcome: Outcome, reach: Fence, candidates: Candidates
    ) -> Decision:
        state, queues, snapshot = cycle.state, self.queues, attempt.snapshot
        rule = outcome.refusal or rules.VICTIM
        self.memory.checked[ask.claim.name] = Checked(state.now, state.version, rule.id)
        if outcome.refusal is not None and not cycle.words:
            return waiting(cycle, ask, outcome.refusal)
        facts = facts_about(state, queues, snapshot, ask, reach.fence, ranks=ranks_of(state, queues, reach, ask))
        if outcome.refusal is not None:
            count = int(candidates.open.sum())
            rest = snapshot.remaining(ask.leaf)
            numbers = self._short(cycle, ask) | {
                "victims": f"{count} may be preempted" if count else "nothing may be preempted",
                "found": say(state, attempt.total(outcome.counted)),
                "asked": say(state, ask.amounts),
                "reason": f"{queues.name(ask.leaf)} is owed {'nothing' if rest is None else say(state, dict(rest))}, "
                f"it asks for {say(state, ask.amounts)}",
            }
            if cycle.told and outcome.refusal is rules.NO_VICTIMS:
                facts = self._stopped(attempt, candidates, facts)
            made = waiting(
                cycle, ask, outcome.refusal, numbers, candidates=candidates, facts=facts, spare=rules.PASSED_OVER
            )
            return self._explained(cycle, ask, snapshot, reach, made)
        self.memory.meant[ask.claim.name] = tuple(state.work_names[row] for row in outcome.victims)
        usual = taken_by(state, outcome.victims, rules.VICTIM)
        warnings = broken_promises(state, queues, snapshot, ask, outcome, candidates)
        nodes = [] if outcome.node == NONE else [outcome.node]
        self.taken[nodes] = True
        because = (
            f"{queues.name(ask.leaf)} holds {held_of(state, queues, snapshot, ask.leaf, ask.amounts)}, guaranteed "
        )
        because += promised_to(state, queues, ask.leaf)
        made = preempting(
            cycle, ask, nodes, usual, rules.VICTIM, because,
            warnings=warnings, candidates=candidates, facts=facts,
        )  # fmt: skip
        short = tuple(does_not_fit(state, ask, nodes))
        if short:
            made = replace(made, warnings=(*made.warnings, *short), candidates=_passed_over(made.candidates))
        return self._explained(cycle, ask, snapshot, reach, made)

    def _stopped(self, attempt: Attempt, candidates: Candidates, facts: Facts) -> Facts:
        """Those behind one that is too large are not looked at; facts that say so."""
        state, ask = attempt.state, attempt.ask
        stopped = attempt.stopped()
        mask = np.zeros(state.work.size, np.bool_)
        mask[list(stopped)] = True
        candidates.protect((rules.SKIPPED, mask))
        rest = attempt.snapshot.remaining(ask.leaf)
        owed = "nothing" if rest is None else say(state, dict(rest))

        def more(row: int) -> Mapping[str, object]:
            oversized = state.work_names[stopped[row]] if row in stopped else ""
            return {**facts(row), "oversized": oversized, "owed": owed}

        return more

    def _explained(self, cycle: Cycle, ask: Ask, before: Snapshot, reach: Fence, made: Decision) -> Decision:
        if not cycle.explain:
            return made
        state, queues = cycle.state, self.queues
        leaves = {}
        for queue in range(queues.size):
            if queues.children[queue] or not any(before.used(queue)):
                continue
            rule = reach.closed.get(queue) if queue in reach.closed or queue in reach.most else rules.LAW_7
            rest = before.remaining(queue)
            sentence = f"holds {held_of(state, queues, before, queue, ask.amounts)}, remaining guarantee "
            sentence += "none" if rest is None else say(state, dict(rest))
            leaves[queue] = leaf_of(queues, queue, rule, sentence)
        after = before.fresh() if made.action == "preempt" else None
        return replace(made, account=account_of(state, queues, before, after, ask, reach.fence, leaves))

    # -- an ask for a certain node -----------------------------------------------------------------------------

    def _pinned(self, cycle: Cycle, ask: Ask, *, headroom: bool) -> Decision:
        state = cycle.state
        claim = replace(ask.claim, allowed=usable(state, ask, ()))
        ask = replace(ask, claim=claim)
        if not headroom:
            return waiting(cycle, ask, rules.HEADROOM, {"short": self._headroom(cycle, ask)})
        made = begun(cycle, ask)
        if made is not None:
            return made
        if not claim.allowed.any():
            return waiting(cycle, ask, rules.NO_NODES, {"matching": int(claim.matching.sum())})
        node = int(state.work.required_node[ask.row])
        self.taken[node] = True
        for rule, closed in (
            (rules.GANG, claim.members > 1),
            (rules.TRIGGERED, claim.name in self.memory.triggered),
        ):
            if closed:
                return waiting(cycle, ask, rule, {"members": claim.members})
        cleared = question.cleared(cycle, ask, node, clear_node(state, ask, node))
        snapshot = Snapshot(state, self.queues, ask.leaf, self.line.leaving(state))
        facts = facts_about(state, self.queues, snapshot, ask, NONE)
        if cleared.victims is None:
            count = int(cleared.candidates.open.sum())
            victims = f"{count} may be preempted" if count else "nothing may be preempted"
            return waiting(
                cycle, ask, rules.NODE_FULL, {"victims": victims}, candidates=cleared.candidates, facts=facts
            )
        self.memory.meant[claim.name] = tuple(state.work_names[one] for one in cleared.victims)
        usual = taken_by(state, cleared.victims, rules.FOR_NODE)
        outcome = Outcome(None, node, cleared.victims, cleared.victims)
        warnings = broken_promises(state, self.queues, snapshot, ask, outcome, cleared.candidates)
        because = f"it needs the node {state.node_names[node]} and no other"
        return preempting(
            cycle,
            ask,
            [node],
            usual,
            rules.FOR_NODE,
            because,
            warnings=warnings,
            candidates=cleared.candidates,
            facts=facts,
        )

    def _short(self, cycle: Cycle, ask: Ask) -> dict[str, object]:
        """What is short where a node has room and no limit is in the way: all that the nodes have together."""
        if ask.short_limits or not fits(cycle.state, ask.claim):
            return {}
        return {"short": self._headroom(cycle, ask)}

    def _headroom(self, cycle: Cycle, ask: Ask) -> str:
        state = cycle.state
        for limit in ask.short_limits:
            return rules.QUOTA.because(**limit.facts(state))
        short = short_at_root(state, self.queues, ask)
        return f"the nodes of the cluster lack {say(state, short)} in all"


def _passed_over(candidates: tuple[Candidate, ...] | None) -> tuple[Candidate, ...] | None:
    """Where the claimant does not fit, nothing is spared because it does."""
    if candidates is None:
        return None
    rule = rules.PASSED_OVER
    return tuple(
        replace(one, rule=rule.id, why=rule.because()) if one.rule == rules.SPARED.id else one for one in candidates
    )
