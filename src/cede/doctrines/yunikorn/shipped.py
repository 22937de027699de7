"""Edition `1.9`: passes down the queue tree, each ended by its first result; asks preempt as the release does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from cede.doctrines.parts.candidates import Candidates, Facts
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import fits
from cede.doctrines.yunikorn import rules, selected
from cede.doctrines.yunikorn.account import account_of, leaf_of
from cede.doctrines.yunikorn.answers import barred, begun, preempting, taken_by, waiting
from cede.doctrines.yunikorn.ask import Ask, say
from cede.doctrines.yunikorn.attempt import Attempt, Outcome
from cede.doctrines.yunikorn.line import line_of
from cede.doctrines.yunikorn.memory import Checked, memory_of
from cede.doctrines.yunikorn.order import Turns
from cede.doctrines.yunikorn.pinned import clear_node
from cede.doctrines.yunikorn.promises import broken_promises, does_not_fit
from cede.doctrines.yunikorn.queues import queues_of
from cede.doctrines.yunikorn.quota import cut_back
from cede.doctrines.yunikorn.reach import Reach, candidates, ranks_of, reach_of, short_at_root
from cede.doctrines.yunikorn.reservations import held_nodes, may_expire, usable
from cede.doctrines.yunikorn.settings import ATTEMPTS, CHECK_INTERVAL, SHIPPED, mode_of
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.words import facts_about, held_of, promised_to
from cede.model.plan import Candidate, Decision
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, READY, SPREAD
from cede.state.state import State

UNREAD = ("app",)
"""What release 1.9 does not read of a claimant."""


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Queues above their limit first, then pass after pass until everybody was decided once.

    An ask whose queue has no attempt left is looked at again in the next pass, if there is one. Where one ask is asked
    for, those ahead of it are decided too, so that it finds what they leave.
    """
    plan = _Plan(cycle)
    for made in cut_back(cycle, plan.queues):
        if cycle.only is None:
            yield made
    found = True
    left: list[int] = []
    while found:
        found = False
        plan.begin_pass()
        left.clear()
        for row in plan.turns.one_pass():
            asked = cycle.only in (None, row)
            answer = plan.answer(cycle if asked else cycle.quiet(), row)
            if answer is None:
                left.append(row)
                continue
            found = answer.action in ("start", "preempt")
            plan.turns.decide(row, answer.action)
            if asked:
                yield answer
            if row == cycle.only:
                return
            if found:
                break
    for row in left:
        if cycle.only in (None, row):
            yield plan.out_of_attempts(row)


class _Plan:
    """One cycle under way."""

    def __init__(self, cycle: Cycle) -> None:
        state = cycle.state
        self.cycle = cycle
        self.queues = queues_of(state, SHIPPED)
        choice = state.static.doctrine
        self.mode = mode_of({} if choice is None else choice.settings)
        self.memory = memory_of(cycle)
        self.turns = Turns(state, self.queues)
        self.line = line_of(cycle, self.queues, UNREAD)
        self.attempts: Counter[int] = Counter()
        self.taken = held_nodes(state)
        """Nodes that are reserved for somebody who preempted, or who needs that node: nobody else may use them."""
        self.cancelled = np.zeros(state.nodes.size, np.bool_)
        """Nodes whose reservation an attempt cancelled, whatever came of it, or that lost it by its age."""

    def begin_pass(self) -> None:
        """Every leaf has all its attempts; old reservations whose holders do not fit their headroom are dropped."""
        self.attempts.clear()
        state = self.cycle.state
        for row, nodes in state.reservations.items():
            if not self.turns.is_waiting(row) or self._has_headroom(state, self.line.ask(state, row)):
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
        snapshot = Snapshot(state, queues, ask.leaf)
        if cycle.explain:
            snapshot.read_all()
        if gate is None:
            self.attempts[ask.leaf] += 1
        elif not cycle.told:
            return waiting(cycle, ask, gate, self._numbers(cycle, ask, gate))
        reach = reach_of(state, queues, snapshot, ask)
        found = candidates(state, queues, reach, ask)
        if gate is not None:
            facts = facts_about(state, queues, snapshot, ask, reach.fence, ranks=ranks_of(state, queues, reach, ask))
            numbers = self._numbers(cycle, ask, gate)
            made = waiting(cycle, ask, gate, numbers, candidates=found, facts=facts, cannot=gate)
            return self._explained(cycle, ask, snapshot, reach, made)
        allowed = usable(state, ask, self.memory.triggered) & ~self.taken
        attempt = Attempt(state, snapshot, ask, np.flatnonzero(found.open), allowed, tried=tried)
        outcome = selected.attempted(cycle, attempt, attempt.run())
        if outcome.refusal is not rules.NOT_OWED:  # it came to the nodes
            self.cancelled |= attempt.claim.allowed & ~ask.claim.allowed
        return self._outcome(cycle, ask, attempt, outcome, reach, found)

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
        since, found = int(state.work.submitted[ask.row]), ""
        if gate is rules.CHECKED:
            since, found = self.memory.checked[ask.claim.name].at, self.memory.checked[ask.claim.name].rule
        return self._short(cycle, ask) | {
            "found": found,
            "age": show_duration(state.now - since),
            "delay": show_duration(self._delay(ask)),
            "members": ask.claim.members,
            "queue": self.queues.name(ask.leaf),
        }

    def _outcome(
        self, cycle: Cycle, ask: Ask, attempt: Attempt, outcome: Outcome, reach: Reach, found: Candidates
    ) -> Decision:
        state, queues, snapshot = cycle.state, self.queues, attempt.snapshot
        facts = facts_about(state, queues, snapshot, ask, reach.fence, ranks=ranks_of(state, queues, reach, ask))
        rule = outcome.refusal or rules.VICTIM
        self.memory.checked[ask.claim.name] = Checked(state.now, state.version, rule.id)
        if outcome.refusal is not None:
            count = int(found.open.sum())
            rest = snapshot.remaining(ask.leaf)
            numbers = self._short(cycle, ask) | {
                "victims": f"{count} may be preempted" if count else "nobody may be preempted",
                "found": say(state, attempt.total(outcome.counted)),
                "asked": say(state, ask.amounts),
                "reason": f"{queues.name(ask.leaf)} is owed {'nothing' if rest is None else say(state, dict(rest))}, "
                f"it asks for {say(state, ask.amounts)}",
            }
            if cycle.told and outcome.refusal is rules.NO_VICTIMS:
                facts = self._stopped(attempt, found, facts)
            made = waiting(cycle, ask, outcome.refusal, numbers, candidates=found, facts=facts, spare=rules.PASSED_OVER)
            return self._explained(cycle, ask, snapshot, reach, made)
        self.memory.meant[ask.claim.name] = tuple(state.work_names[row] for row in outcome.victims)
        usual = taken_by(state, outcome.victims, rules.VICTIM)
        warnings = broken_promises(state, queues, snapshot, ask, outcome, found)
        nodes = [] if outcome.node == NONE else [outcome.node]
        self.taken[nodes] = True
        because = (
            f"{queues.name(ask.leaf)} holds {held_of(state, queues, snapshot, ask.leaf, ask.amounts)}, guaranteed "
        )
        because += promised_to(state, queues, ask.leaf)
        made = preempting(
            cycle, ask, nodes, usual, rules.VICTIM, because,
            warnings=warnings, candidates=found, facts=facts,
        )  # fmt: skip
        short = tuple(does_not_fit(state, ask, nodes))
        if short:
            made = replace(made, warnings=(*made.warnings, *short), candidates=_passed_over(made.candidates))
        return self._explained(cycle, ask, snapshot, reach, made)

    def _stopped(self, attempt: Attempt, found: Candidates, facts: Facts) -> Facts:
        """Those behind one that is too large are not looked at; facts that say so."""
        state, ask = attempt.state, attempt.ask
        stopped = attempt.stopped()
        mask = np.zeros(state.work.size, np.bool_)
        mask[list(stopped)] = True
        found.protect((rules.SKIPPED, mask))
        rest = attempt.snapshot.remaining(ask.leaf)
        owed = "nothing" if rest is None else say(state, dict(rest))

        def more(row: int) -> Mapping[str, object]:
            oversized = state.work_names[stopped[row]] if row in stopped else ""
            return {**facts(row), "oversized": oversized, "owed": owed}

        return more

    def _explained(self, cycle: Cycle, ask: Ask, before: Snapshot, reach: Reach, made: Decision) -> Decision:
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
        after = Snapshot(state, queues, ask.leaf) if made.action == "preempt" else None
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
        cleared = selected.cleared(cycle, ask, node, clear_node(state, ask, node))
        snapshot = Snapshot(state, self.queues, ask.leaf)
        facts = facts_about(state, self.queues, snapshot, ask, NONE)
        if cleared.victims is None:
            count = int(cleared.found.open.sum())
            victims = f"{count} may be preempted" if count else "nobody may be preempted"
            return waiting(cycle, ask, rules.NODE_FULL, {"victims": victims}, candidates=cleared.found, facts=facts)
        self.memory.meant[claim.name] = tuple(state.work_names[one] for one in cleared.victims)
        usual = taken_by(state, cleared.victims, rules.FOR_NODE)
        outcome = Outcome(None, node, cleared.victims, cleared.victims)
        warnings = broken_promises(state, self.queues, snapshot, ask, outcome, cleared.found)
        because = f"it needs the node {state.node_names[node]} and no other"
        return preempting(
            cycle, ask, [node], usual, rules.FOR_NODE, because, warnings=warnings, candidates=cleared.found, facts=facts
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
    """Where the claimant does not fit, nobody is spared because it does."""
    if candidates is None:
        return None
    rule = rules.PASSED_OVER
    return tuple(
        replace(one, rule=rule.id, why=rule.because()) if one.rule == rules.SPARED.id else one for one in candidates
    )
