"""What a heartbeat did, as decisions: who starts, who goes and why, with the numbers of every candidate."""

from __future__ import annotations

from typing import Any

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.groups import GROUPS
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.heartbeat import Beats, Taken
from cede.doctrines.ytsaurus.here import Here, others_on, shield_of
from cede.doctrines.ytsaurus.settings import DOCS, SHIPPED
from cede.doctrines.ytsaurus.words import (
    amounts,
    clock_of,
    facts_of,
    missing_words,
    operation_name,
    owner_name,
    percent,
    pool_words,
    preempts_words,
    quantity,
    resource_name,
    shown,
    superfluous,
    usage_words,
)
from cede.model.plan import Candidate, Decision, Victim, Warning
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, STATES, Int64s
from cede.state.state import State

WORDS = {
    rules.SSD.id: "ssd",
    rules.AGGRESSIVE.id: "aggressive",
    rules.STARVING.id: "starving",
    rules.FULL_HOST.id: "full-host",
    rules.OVERCOMMIT.id: "overcommit",
    rules.ABORT.id: "overcommit",
    rules.NO_SLOTS.id: "overcommit",
    rules.LIMITS.id: "limits",
    rules.GRACEFUL.id: "graceful",
}
"""The doctrine's own word for why somebody goes."""
TAKEN = {
    rules.ABORT.id: "; those who are better protected, or older, keep their room first",
    rules.NO_SLOTS.id: "; nobody stays",
    rules.GRACEFUL.id: "; all such are asked to leave",
}
"""In which order they go, where that is not the newest first."""
NEWEST, CHEAPEST = "; taken newest first", "; taken for what its set costs, as the file's selection says"


def not_running(state: State, row: int) -> Candidate:
    """Somebody who holds room but cannot be taken."""
    name = state.work_names[row]
    rule = rules.NOT_RUNNING
    return Candidate(name, "not-eligible", rule.id, rule.because(who=name, state=STATES[int(state.work.state[row])]))


class Answers:
    """Decisions about what happened, made at once: later ones change the numbers."""

    def __init__(self, cycle: Cycle, beats: Beats) -> None:
        self.cycle, self.beats = cycle, beats
        self.state, self.update = cycle.state, beats.update
        self._gone: set[int] = set()
        """Victims of decisions made before: one look at a node may serve several decisions."""

    def about(self, taken: Taken, since: int | None = None) -> Decision:
        """The decision that this part of a heartbeat comes to."""
        if taken.row == NONE:
            found = self._unclaimed(taken, since)
        else:
            found = self._preempting(taken) if taken.victims else self._starting(taken)
        if taken.here is not None:
            self._gone.update(taken.here.rows[taken.victims].tolist())
        return found

    # -- with a claimant ---------------------------------------------------------------------------------------------

    def _starting(self, taken: Taken) -> Decision:
        state = self.state
        claim = self.beats.asks.claim(taken.kind)
        nodes = [taken.node] * int(state.work.members[taken.row])
        sentence = rules.STARTS.because(nodes=state.node_names[taken.node])
        if taken.here is not None:
            operation = int(self.beats.asks.operation[taken.kind])
            sentence += (
                f"; it may preempt ({clock_of(self.update, operation)}), and so exceed a limit that tolerates it"
            )
        return Decision(
            state.work_names[taken.row],
            "start",
            rules.STARTS.id,
            sentence,
            nodes=names_of(state, nodes),
            flavors=flavors_of(state, claim, nodes),
            account=self._account(taken) if self.cycle.explain else None,
        )

    def _preempting(self, taken: Taken) -> Decision:
        state, update, here = self.state, self.update, taken.here
        assert here is not None
        assert taken.rule is not None
        operation = int(self.beats.asks.operation[taken.kind])
        claim = self.beats.asks.claim(taken.kind)
        nodes = [taken.node] * int(state.work.members[taken.row])
        names = [state.work_names[int(here.rows[at])] for at in taken.victims]
        who = ", ".join(f"{name} ({self._place(here, at)})" for name, at in zip(names, taken.victims, strict=True))
        used, fair = usage_words(self.beats.numbers, operation, self._moved(taken, operation=operation))
        assert taken.free is not None
        lacking = missing_words(update, taken.node, taken.free.tolist(), self.beats.asks.need[:, taken.kind].tolist())
        why = preempts_words(update, operation, lacking, used, fair, who)
        return Decision(
            state.work_names[taken.row],
            "preempt",
            taken.rule.id,
            why,
            tuple(Victim(name, WORDS[taken.rule.id], rule=taken.rule.id) for name in names),
            names_of(state, nodes),
            flavors_of(state, claim, nodes),
            warnings=self._warnings(taken) if self.cycle.edition == SHIPPED else (),
            candidates=self._candidates(taken) if self.cycle.explain else None,
            account=self._account(taken) if self.cycle.explain else None,
        )

    def _place(self, here: Here, at: int) -> str:
        facts = facts_of(self.beats.numbers, here, at)
        return f"{facts['counted']}, fair share {facts['fair']}: {facts['group']}"

    def _warnings(self, taken: Taken) -> tuple[Warning, ...]:
        """Those among the victims that the document would have spared."""
        here = taken.here
        assert here is not None
        _, needless = self.beats.spared(taken)
        if not needless:
            return ()
        names = [self.state.work_names[int(here.rows[at])] for at in needless]
        others = [self.state.work_names[int(here.rows[at])] for at in taken.victims if at not in needless]
        return (superfluous(names, others),)

    # -- without one -------------------------------------------------------------------------------------------------

    def _unclaimed(self, taken: Taken, since: int | None) -> Decision:
        here, rule = taken.here, taken.rule
        assert here is not None
        assert rule is not None
        names = [self.state.work_names[int(here.rows[at])] for at in taken.victims]
        first = taken.victims[0]
        facts: dict[str, object] = {
            **facts_of(self.beats.numbers, here, first),
            "who": " and ".join(names),
            "node": self.state.node_names[taken.node],
            "limit": show_duration(self.update.pools.tree.overcommit_duration),
            "age": show_duration(self.state.now - (self.state.now if since is None else since)),
        }
        if taken.free is not None:
            over = -self.beats.without_leaving(taken.node, taken.free)
            facts["short"] = amounts(self.update, over)
        if taken.over is not None:
            facts |= self._limit(int(here.operation[first]), *taken.over, taken.used)
        return Decision(
            None,
            "preempt",
            rule.id,
            rule.because(**facts),
            tuple(Victim(name, WORDS[rule.id], rule=rule.id) for name in names),
            candidates=self._candidates(taken) if self.cycle.explain else None,
        )

    def _limit(self, operation: int, pool: int, resource: int, used: int) -> dict[str, object]:
        numbers = self.beats.numbers
        most = numbers.op_limits[operation] if pool == NONE else numbers.limits[pool]
        return {
            "owner": owner_name(self.update, operation, pool),
            "resource": resource_name(self.update, resource),
            "used": quantity(self.update, resource, used),
            "limit": quantity(self.update, resource, int(most[resource])),
        }

    # -- explained ---------------------------------------------------------------------------------------------------

    def _candidates(self, taken: Taken) -> tuple[Candidate, ...]:
        """Everybody who is still on the node, with the rule and the numbers that decided."""
        here = taken.here
        assert here is not None
        assert taken.rule is not None
        still = [at for at, row in enumerate(here.rows.tolist()) if row not in self._gone]
        found = [self.verdict(here, at, taken, taken.rule) for at in still]
        found += [not_running(self.state, row) for row in others_on(self.beats.numbers, taken.node)]
        return tuple(sorted(found, key=lambda one: one.workload))

    def verdict(self, here: Here, at: int, taken: Taken, by: Rule) -> Candidate:
        """What became of one allocation on the node, and why."""
        numbers = self.beats.numbers
        name = self.state.work_names[int(here.rows[at])]
        if at in taken.victims:
            how = TAKEN.get(by.id, CHEAPEST if self.cycle.optimal and taken.row != NONE else NEWEST)
            return Candidate(name, "victim", by.id, f"{self._place(here, at)}{how}")
        ssd, anybody = bool(self.beats.ssd_nodes[taken.node]), by is rules.ABORT
        rule = None if anybody else shield_of(numbers, here, at, taken.least, normal=taken.normal, ssd=ssd)
        if rule is not None:
            return Candidate(name, "protected", rule.id, rule.because(**facts_of(numbers, here, at)))
        rule = rules.KEPT if anybody else rules.NOT_NEEDED
        if at in taken.spared and self.cycle.edition == DOCS:
            rule = rules.SPARED
        return Candidate(name, "not-needed", rule.id, f"{rule.because()} ({self._place(here, at)})")

    def _account(self, taken: Taken) -> dict[str, Any]:
        """The claimant's shares and those of the pools above it, and where on the node every allocation stands."""
        update, tree = self.update, self.update.pools.tree
        operation = int(self.beats.asks.operation[taken.kind])
        used, fair = usage_words(self.beats.numbers, operation, self._moved(taken, operation=operation))
        assert taken.rule is not None
        found: dict[str, Any] = {
            "stage": WORDS.get(taken.rule.id, "regular"),
            "node": self.state.node_names[taken.node],
            "thresholds": f"{percent(tree.aggressive_satisfaction)} and {percent(tree.satisfaction)} of the fair share",
            "shares": [
                {"element": operation_name(update, operation), "usage share": used, "fair share": fair},
                *(self._pool(pool, taken) for pool in update.pools.paths[update.operations.pool[operation]]),
            ],
        }
        here = taken.here
        if here is not None and taken.victims:
            found["allocations"] = [self._row(here, at, taken) for at in range(len(here))]
        return found

    def _pool(self, pool: int, taken: Taken) -> dict[str, Any]:
        update = self.update
        used, fair = pool_words(self.beats.numbers, pool, self._moved(taken, pool=pool))
        name = f"pool {update.pools.name(pool)}" if pool < update.pools.size else "the root"
        return {"element": name, "usage share": used, "fair share": fair}

    def _moved(self, taken: Taken, *, operation: int = NONE, pool: int = NONE) -> Int64s:
        """What the claimant's operation, or a pool above it, used more before this: its victims, less the claimant."""
        update, here = self.update, taken.here
        amount = update.standing.amount
        found: Int64s = -amount[taken.row]
        for at in taken.victims if here is not None else ():
            assert here is not None
            own = int(here.operation[at])
            if own == operation or pool in update.pools.paths[update.operations.pool[own]]:
                found = found + amount[here.rows[at]]
        return found

    def _row(self, here: Here, at: int, taken: Taken) -> dict[str, Any]:
        update, operation = self.update, int(here.operation[at])
        before = shares_of(here.before[at].astype(np.float64), update.totals[operation])
        fair = update.fair_of(operation)
        return {
            "workload": self.state.work_names[int(here.rows[at])],
            "operation": update.operations.names[operation],
            "used before it": shown(update, before, fair),
            "fair share": shown(update, fair, before),
            "group": GROUPS[int(here.group[at])],
            "taken": at in taken.victims,
        }
