"""What a plan says in words: shares and amounts as people read them, and the decisions that heartbeats come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.cycle_usage import CycleUsage
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.heartbeat import HeartbeatOutcome, Heartbeats
from cede.doctrines.ytsaurus.node_allocations import NodeAllocations, others_on, shield_of
from cede.doctrines.ytsaurus.preemption_status import GROUPS
from cede.doctrines.ytsaurus.settings import DOCS, SHIPPED
from cede.doctrines.ytsaurus.starvation import STARVATION, UNSET_CLOCK
from cede.doctrines.ytsaurus.update import Update
from cede.model.plan import Candidate, Decision, Victim, Warning
from cede.model.quantities import show_quantity
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, STATES, Int64s
from cede.state.state import State


def percent(share: float) -> str:
    """A share as a part of a hundred, as short as it can be told."""
    return f"{100 * share:.4g}%"


def shown(update: Update, share: Sequence[float] | Floats, beside: Sequence[float] | Floats | None = None) -> str:
    """A share vector; resources of which neither it nor the one it is compared with has anything are left out."""
    names = update.state.units.names
    values = share.tolist() if isinstance(share, np.ndarray) else share  # elements of arrays are slow to look at
    parts = [
        f"{names[column]} {percent(value)}"
        for at, (column, value) in enumerate(zip(update.pools.columns.tolist(), values, strict=True))
        if value > 0 or (beside is not None and beside[at] > 0)
    ]
    return ", ".join(parts) or "nothing"


def quantity(update: Update, resource: int, count: int) -> str:
    """An amount of one of the resources."""
    units, column = update.state.units, int(update.pools.columns[resource])
    return show_quantity(units.names[column], units.limit(column, count))


def amounts(update: Update, counts: Iterable[int]) -> str:
    """Amounts of the columns of nodes."""
    units = update.state.units
    parts = [
        f"{units.names[column]} {show_quantity(units.names[column], units.limit(column, int(count)))}"
        for column, count in enumerate(counts)
        if count > 0 and column and "@" not in units.names[column]
    ]
    return ", ".join(parts) or "nothing"


def resource_name(update: Update, resource: int) -> str:
    return update.state.units.names[int(update.pools.columns[resource])]


def operation_name(update: Update, operation: int) -> str:
    return f"operation {update.operations.names[operation]}"


def clock_of(update: Update, operation: int, level: int | None = None) -> str:
    """Whose starvation an operation's right to preempt comes from, and since when; `level`: that right, if known."""
    pools, now = update.pools, update.state.now
    if level is None:
        level = int(update.op_priority[operation])
    if update.op_starvation[operation] < level:
        for pool in pools.paths[update.operations.pool[operation]]:
            if update.pool_starvation[pool] == level:
                since = show_duration(now - int(update.pool_since[pool]))
                return f"its pool {pools.name(pool)} is below its fair share for {since}"
    return f"below its fair share for {show_duration(now - int(update.op_since[operation]))}"


def preempts_words(
    update: Update, operation: int, lacking: str, used: str, fair: str, who: str, level: int | None = None
) -> str:
    """Why others go for a workload of this operation."""
    why = f"{lacking}; {operation_name(update, operation)} may preempt: {clock_of(update, operation, level)}"
    return f"{why} (usage share {used}, fair share {fair}); it takes {who}"


def missing_words(update: Update, node: int, free: Iterable[int], need: Iterable[int]) -> str:
    """What a node lacks of what is asked for."""
    name = update.state.node_names[node]
    pairs = [(max(has, 0), asked) for has, asked in zip(free, need, strict=True)]
    missing = [asked if asked > has else 0 for has, asked in pairs]
    if not any(missing):
        return f"{name} has room, but less than it should keep"
    left = [has if asked > has else 0 for has, asked in pairs]
    return f"{name} has {amounts(update, left)} free of the {amounts(update, missing)} asked for"


def superfluous(needless: Sequence[str], others: Sequence[str]) -> Warning:
    """That the document would have spared some of the victims."""
    sentence = rules.SUPERFLUOUS.because(who=" and ".join(needless), others=" and ".join(others))
    return Warning(rules.SUPERFLUOUS.id, sentence)


def victim_words(update: Update, operation: int, counted: Sequence[float], fair: Sequence[float], group: int) -> str:
    """How the operation of an allocation stands before it, or with it, where that counts; and its group."""
    return f"{_counted(update, operation, counted, fair)}, fair share {shown(update, fair)}: {GROUPS[group]}"


def _counted(update: Update, operation: int, counted: Sequence[float] | Floats, fair: Sequence[float] | Floats) -> str:
    when = "with" if update.pools.tree.bound_is_preemptible else "before"
    return f"{when} it {operation_name(update, operation)} uses {shown(update, counted, fair)}"


def why_not_starving(cycle_usage: CycleUsage, operation: int) -> str:
    """Why an operation does not starve: how it stands to its fair share, and how long until it would."""
    update = cycle_usage.update
    used, fair = usage_words(cycle_usage, operation)
    since = int(update.op_since[operation])
    if since == UNSET_CLOCK:
        tolerance = update.operations.settings[operation].tolerance
        less = f" (tolerance {percent(tolerance)})" if tolerance < 1 else ""
        return f"its usage share {used} is not below its fair share {fair}{less}"
    waited = show_duration(update.state.now - since)
    timeout = show_duration(int(update.op_timeout[operation]))
    return f"its usage share {used} is below its fair share {fair} for {waited}, and it starves after {timeout}"


def owner_name(update: Update, operation: int, pool: int) -> str:
    """The owner of a limit: an operation itself, or a pool above it."""
    return operation_name(update, operation) if pool == NONE else f"pool {update.pools.name(pool)}"


def facts_of(cycle_usage: CycleUsage, here: NodeAllocations, at: int) -> Mapping[str, object]:
    """What sentences about one allocation tell."""
    update = cycle_usage.update
    state, tree = update.state, update.pools.tree
    row, operation = int(here.rows[at]), int(here.operation[at])
    fair = update.fair_of(operation)
    own = update.operation_usage.amount[row] if tree.bound_is_preemptible else 0
    counted = shares_of((here.before[at] + own).astype(np.float64), update.totals[operation])
    settings, name = update.operations.settings[operation], operation_name(update, operation)
    small = ", ".join(f"{one} {show_quantity(one, nano)}" for one, nano in sorted(settings.threshold.items()))
    gang = settings.gang and not tree.aggressive_for_gangs
    return {
        "who": state.work_names[row],
        "operation": name,
        "counted": _counted(update, operation, counted, fair),
        "fair": shown(update, fair),
        "low": percent(tree.aggressive_satisfaction),
        "between": _between(update, operation),
        "threshold": f", or below its usage threshold ({small})" if small else "",
        "forbidden": "it is a gang, which aggressive preemption spares here" if gang else "its pool forbids to take it",
        "group": GROUPS[int(here.group[at])],
        "starvation": STARVATION[int(update.op_starvation[operation])],
    }


def _between(update: Update, operation: int) -> str:
    """How usage stands to the fair share of an operation where only aggressive preemption takes from it."""
    tree = update.pools.tree
    if (np.abs(update.fair_of(operation) - update.demand_of(operation)) <= EPSILON).all():
        return f"not below {percent(tree.aggressive_satisfaction)} of what it asks for, which is no more than"
    return f"not below {percent(tree.aggressive_satisfaction)} but below {percent(tree.satisfaction)} of"


def usage_words(cycle_usage: CycleUsage, operation: int, more: Int64s | int = 0) -> tuple[str, str]:
    """What an operation uses, and so much more, and what it should have."""
    update = cycle_usage.update
    used = cycle_usage.usage[operation] + more
    fair, share = update.fair_of(operation), shares_of(used.astype(np.float64), update.totals[operation])
    return shown(update, share, fair), shown(update, fair, share)


def pool_words(cycle_usage: CycleUsage, pool: int, more: Int64s | int = 0) -> tuple[str, str]:
    """The same of a pool."""
    update = cycle_usage.update
    total = update.pools.total[update.pools.tree_of[pool]].astype(np.float64)
    fair, share = update.pool_fair[pool], shares_of((cycle_usage.pool_usage[pool] + more).astype(np.float64), total)
    return shown(update, share, fair), shown(update, fair, share)


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
"""The doctrine's own word for why an allocation is preempted."""
TAKEN = {
    rules.ABORT.id: "; the better protected and the older ones keep their room first",
    rules.NO_SLOTS.id: "; nothing stays",
    rules.GRACEFUL.id: "; all such are asked to leave",
}
"""In which order they go, where that is not the newest first."""
NEWEST, CHEAPEST = "; taken newest first", "; taken for what its set costs, as the file's selection says"


def not_running(state: State, row: int) -> Candidate:
    """A workload that holds room but cannot be taken."""
    name = state.work_names[row]
    rule = rules.NOT_RUNNING
    return Candidate(name, "not-eligible", rule.id, rule.because(who=name, state=STATES[int(state.work.state[row])]))


class DecisionWriter:
    """Decisions about what happened, made at once: later ones change the numbers."""

    def __init__(self, cycle: Cycle, heartbeats: Heartbeats) -> None:
        self.cycle, self.heartbeats = cycle, heartbeats
        self.state, self.update = cycle.state, heartbeats.update
        self._gone: set[int] = set()
        """Victims of decisions made before: one look at a node may serve several decisions."""

    def about(self, outcome: HeartbeatOutcome, since: int | None = None) -> Decision:
        """The decision that this part of a heartbeat comes to."""
        if outcome.row == NONE:
            decision = self._unclaimed(outcome, since)
        else:
            decision = self._preempting(outcome) if outcome.victims else self._starting(outcome)
        if outcome.here is not None:
            self._gone.update(outcome.here.rows[outcome.victims].tolist())
        return decision

    # -- with a claimant ---------------------------------------------------------------------------------------------

    def _starting(self, outcome: HeartbeatOutcome) -> Decision:
        state = self.state
        claim = self.heartbeats.waiting_kinds.claim(outcome.kind)
        nodes = [outcome.node] * int(state.work.members[outcome.row])
        sentence = rules.STARTS.because(nodes=state.node_names[outcome.node])
        if outcome.here is not None:
            operation = int(self.heartbeats.waiting_kinds.operation[outcome.kind])
            sentence += (
                f"; it may preempt ({clock_of(self.update, operation)}), and so exceed a limit that tolerates it"
            )
        return Decision(
            state.work_names[outcome.row],
            "start",
            rules.STARTS.id,
            sentence,
            nodes=names_of(state, nodes),
            flavors=flavors_of(state, claim, nodes),
            account=self._account(outcome) if self.cycle.explain else None,
        )

    def _preempting(self, outcome: HeartbeatOutcome) -> Decision:
        state, update, here = self.state, self.update, outcome.here
        assert here is not None
        assert outcome.rule is not None
        operation = int(self.heartbeats.waiting_kinds.operation[outcome.kind])
        claim = self.heartbeats.waiting_kinds.claim(outcome.kind)
        nodes = [outcome.node] * int(state.work.members[outcome.row])
        names = [state.work_names[int(here.rows[at])] for at in outcome.victims]
        who = ", ".join(f"{name} ({self._place(here, at)})" for name, at in zip(names, outcome.victims, strict=True))
        used, fair = usage_words(self.heartbeats.cycle_usage, operation, self._moved(outcome, operation=operation))
        assert outcome.free is not None
        lacking = missing_words(
            update, outcome.node, outcome.free.tolist(), self.heartbeats.waiting_kinds.need[:, outcome.kind].tolist()
        )
        why = preempts_words(update, operation, lacking, used, fair, who)
        return Decision(
            state.work_names[outcome.row],
            "preempt",
            outcome.rule.id,
            why,
            tuple(Victim(name, WORDS[outcome.rule.id], rule=outcome.rule.id) for name in names),
            names_of(state, nodes),
            flavors_of(state, claim, nodes),
            warnings=self._warnings(outcome) if self.cycle.edition == SHIPPED else (),
            candidates=self._candidates(outcome) if self.cycle.explain else None,
            account=self._account(outcome) if self.cycle.explain else None,
        )

    def _place(self, here: NodeAllocations, at: int) -> str:
        facts = facts_of(self.heartbeats.cycle_usage, here, at)
        return f"{facts['counted']}, fair share {facts['fair']}: {facts['group']}"

    def _warnings(self, outcome: HeartbeatOutcome) -> tuple[Warning, ...]:
        """Those among the victims that the document would have spared."""
        here = outcome.here
        assert here is not None
        _, needless = self.heartbeats.spared(outcome)
        if not needless:
            return ()
        names = [self.state.work_names[int(here.rows[at])] for at in needless]
        others = [self.state.work_names[int(here.rows[at])] for at in outcome.victims if at not in needless]
        return (superfluous(names, others),)

    # -- without one -------------------------------------------------------------------------------------------------

    def _unclaimed(self, outcome: HeartbeatOutcome, since: int | None) -> Decision:
        here, rule = outcome.here, outcome.rule
        assert here is not None
        assert rule is not None
        names = [self.state.work_names[int(here.rows[at])] for at in outcome.victims]
        first = outcome.victims[0]
        facts: dict[str, object] = {
            **facts_of(self.heartbeats.cycle_usage, here, first),
            "who": " and ".join(names),
            "node": self.state.node_names[outcome.node],
            "limit": show_duration(self.update.pools.tree.overcommit_duration),
            "age": show_duration(self.state.now - (self.state.now if since is None else since)),
        }
        if outcome.free is not None:
            over = -self.heartbeats.without_leaving(outcome.node, outcome.free)
            facts["short"] = amounts(self.update, over)
        if outcome.over is not None:
            facts |= self._limit(int(here.operation[first]), *outcome.over, outcome.used)
        return Decision(
            None,
            "preempt",
            rule.id,
            rule.because(**facts),
            tuple(Victim(name, WORDS[rule.id], rule=rule.id) for name in names),
            candidates=self._candidates(outcome) if self.cycle.explain else None,
        )

    def _limit(self, operation: int, pool: int, resource: int, used: int) -> dict[str, object]:
        cycle_usage = self.heartbeats.cycle_usage
        most = cycle_usage.op_limits[operation] if pool == NONE else cycle_usage.limits[pool]
        return {
            "owner": owner_name(self.update, operation, pool),
            "resource": resource_name(self.update, resource),
            "used": quantity(self.update, resource, used),
            "limit": quantity(self.update, resource, int(most[resource])),
        }

    # -- explained ---------------------------------------------------------------------------------------------------

    def _candidates(self, outcome: HeartbeatOutcome) -> tuple[Candidate, ...]:
        """All that are still on the node, with the rule and the numbers that decided."""
        here = outcome.here
        assert here is not None
        assert outcome.rule is not None
        still = [at for at, row in enumerate(here.rows.tolist()) if row not in self._gone]
        candidates = [self.verdict(here, at, outcome, outcome.rule) for at in still]
        candidates += [not_running(self.state, row) for row in others_on(self.heartbeats.cycle_usage, outcome.node)]
        return tuple(sorted(candidates, key=lambda one: one.workload))

    def verdict(self, here: NodeAllocations, at: int, outcome: HeartbeatOutcome, by: Rule) -> Candidate:
        """What became of one allocation on the node, and why."""
        cycle_usage = self.heartbeats.cycle_usage
        name = self.state.work_names[int(here.rows[at])]
        if at in outcome.victims:
            how = TAKEN.get(by.id, CHEAPEST if self.cycle.optimal and outcome.row != NONE else NEWEST)
            return Candidate(name, "victim", by.id, f"{self._place(here, at)}{how}")
        ssd, any_group = bool(self.heartbeats.ssd_nodes[outcome.node]), by is rules.ABORT
        rule = None if any_group else shield_of(cycle_usage, here, at, outcome.least, normal=outcome.normal, ssd=ssd)
        if rule is not None:
            return Candidate(name, "protected", rule.id, rule.because(**facts_of(cycle_usage, here, at)))
        rule = rules.KEPT if any_group else rules.NOT_NEEDED
        if at in outcome.spared and self.cycle.edition == DOCS:
            rule = rules.SPARED
        return Candidate(name, "not-needed", rule.id, f"{rule.because()} ({self._place(here, at)})")

    def _account(self, outcome: HeartbeatOutcome) -> dict[str, Any]:
        """The claimant's shares and those of the pools above it, and where on the node every allocation stands."""
        update, tree = self.update, self.update.pools.tree
        operation = int(self.heartbeats.waiting_kinds.operation[outcome.kind])
        used, fair = usage_words(self.heartbeats.cycle_usage, operation, self._moved(outcome, operation=operation))
        assert outcome.rule is not None
        account: dict[str, Any] = {
            "stage": WORDS.get(outcome.rule.id, "regular"),
            "node": self.state.node_names[outcome.node],
            "thresholds": f"{percent(tree.aggressive_satisfaction)} and {percent(tree.satisfaction)} of the fair share",
            "shares": [
                {"element": operation_name(update, operation), "usage share": used, "fair share": fair},
                *(self._pool(pool, outcome) for pool in update.pools.paths[update.operations.pool[operation]]),
            ],
        }
        here = outcome.here
        if here is not None and outcome.victims:
            account["allocations"] = [self._row(here, at, outcome) for at in range(len(here))]
        return account

    def _pool(self, pool: int, outcome: HeartbeatOutcome) -> dict[str, Any]:
        update = self.update
        used, fair = pool_words(self.heartbeats.cycle_usage, pool, self._moved(outcome, pool=pool))
        name = f"pool {update.pools.name(pool)}" if pool < update.pools.size else "the root"
        return {"element": name, "usage share": used, "fair share": fair}

    def _moved(self, outcome: HeartbeatOutcome, *, operation: int = NONE, pool: int = NONE) -> Int64s:
        """What the claimant's operation, or a pool above it, used more before this: its victims, less the claimant."""
        update, here = self.update, outcome.here
        amount = update.operation_usage.amount
        moved: Int64s = -amount[outcome.row]
        for at in outcome.victims if here is not None else ():
            assert here is not None
            own = int(here.operation[at])
            if own == operation or pool in update.pools.paths[update.operations.pool[own]]:
                moved = moved + amount[here.rows[at]]
        return moved

    def _row(self, here: NodeAllocations, at: int, outcome: HeartbeatOutcome) -> dict[str, Any]:
        update, operation = self.update, int(here.operation[at])
        before = shares_of(here.before[at].astype(np.float64), update.totals[operation])
        fair = update.fair_of(operation)
        return {
            "workload": self.state.work_names[int(here.rows[at])],
            "operation": update.operations.names[operation],
            "used before it": shown(update, before, fair),
            "fair share": shown(update, fair, before),
            "group": GROUPS[int(here.group[at])],
            "taken": at in outcome.victims,
        }
