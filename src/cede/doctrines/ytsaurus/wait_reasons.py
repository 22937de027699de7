"""Why a workload did not start: the first thing that stands in its way, with its numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cede.doctrines.parts.candidates import held_back
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import about
from cede.doctrines.parts.fit import feasible
from cede.doctrines.parts.limits import broken, hopeless, limits_of, nodes_over
from cede.doctrines.parts.nearest_miss import nearest_miss
from cede.doctrines.parts.outcomes import decision, matches_nothing, too_big, wanted
from cede.doctrines.parts.policies import breach_of
from cede.doctrines.parts.shortage import shortage
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.heartbeat import Heartbeats
from cede.doctrines.ytsaurus.node_allocations import (
    LEVEL_AGGRESSIVELY,
    LEVEL_NON,
    LEVEL_PREEMPTIBLE,
    SSD_AGGRESSIVELY,
    others_on,
    shield_of,
)
from cede.doctrines.ytsaurus.node_prospects import RunningAllocations
from cede.doctrines.ytsaurus.operation_usage import MOST_TEMPLATES
from cede.doctrines.ytsaurus.starvation import AGGRESSIVE, NOT, NodeClocks
from cede.doctrines.ytsaurus.update import Update
from cede.doctrines.ytsaurus.waiting_kinds import WaitingKinds
from cede.doctrines.ytsaurus.wording import (
    clock_of,
    facts_of,
    not_running,
    operation_name,
    owner_name,
    quantity,
    resource_name,
    why_not_starving,
)
from cede.model.plan import Candidate, Decision, Miss
from cede.model.quantities import show_quantity
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NONE, RESERVED, SPREAD, UNLIMITED, Bools, Int64s
from cede.state.state import State

NAMED = 3
"""Number of nodes named in a sentence."""


def barred(state: State, waiting_kinds: WaitingKinds) -> list[int]:
    """Kinds that their owners may not submit so."""
    if not state.static.policies:
        return []
    return [kind for kind in range(len(waiting_kinds)) if breach_of(state, waiting_kinds.queues[kind][0], None, None)]


def _like(update: Update, row: int) -> Hashable:
    """All that is asked here of a plain workload; none of one that is more than that. It is the same for all that are
    cast in one template."""
    state = update.state
    operation = int(update.operation_usage.operation[row])
    if state.static.policies or operation in update.operations.limited:
        return None
    record = state.records.get(row)
    description: Hashable = None if record is None else update.likes.get(record.template)
    if description is None and not (row in state.constraints or row in state.parts or row in state.odd_requests):
        work = state.work
        if work.required_node[row] == NONE:
            where = int(work.partition[row]), int(work.tenant[row]), int(work.placement[row]), int(work.members[row])
            description = (
                update.operations.pool[operation],
                where,
                work.need[:, row].tobytes(),
                work.usage[:, row].tobytes(),
            )
            if record is not None:
                if len(update.likes) >= MOST_TEMPLATES:
                    update.likes.clear()
                update.likes[record.template] = description
    return description


def may_run(update: Update, row: int) -> bool:
    """Whether one like this was found to be able to run, and its operation is not refused."""
    if update.refused[update.operation_usage.operation[row]]:
        return False
    like = _like(update, row)
    return like is not None and like in update.possible


class WaitReasons:
    """The decisions about all that a cycle did not start; workloads of one kind are told the same."""

    def __init__(self, cycle: Cycle, heartbeats: Heartbeats, clocks: NodeClocks) -> None:
        self.cycle, self.heartbeats, self.clocks = cycle, heartbeats, clocks
        self.state, self.update, self.waiting_kinds = cycle.state, heartbeats.update, heartbeats.waiting_kinds
        self.may_try: Bools = np.ones(self.state.nodes.size, np.bool_)
        self.free_at_first: Int64s = np.zeros((0, 0), np.int64)
        if cycle.words:
            self.free_at_first = self.state.nodes.free[:, : self.state.nodes.size].copy()
        self._claims: dict[int, Claim] = {}
        self._held = heartbeats.held if heartbeats.tree.waiting_blocks else np.zeros_like(heartbeats.held)
        self._running_allocations: RunningAllocations | None = None

    def decisions(self) -> Iterator[Decision]:
        """In the order of operations, then of submission."""
        order, only = self.update.operations.order, self.cycle.only
        decisions: list[tuple[int, int, int, Decision]] = []
        for kind in range(len(self.waiting_kinds)):
            left = self.waiting_kinds.left(kind)
            if left and (only is None or only in left):
                made, turn = self._about(kind), int(order[self.waiting_kinds.operation[kind]])
                decisions += [(turn, self.waiting_kinds.places[row], row, made) for row in left]
        for _, _, row, made in sorted(decisions, key=lambda one: one[:2]):
            yield about(made, self.state.work_names[row])

    def refusals(self, rows: set[int]) -> Iterator[Decision]:
        """Of these workloads, those that cannot run, in the same order."""
        if not rows:
            return
        decisions: list[tuple[int, Decision]] = []
        for kind in range(len(self.waiting_kinds)):
            left = rows.intersection(self.waiting_kinds.left(kind))
            never = self._refused(kind) if left else None
            if never is not None:
                decisions += [(row, never) for row in left]
        place = self.update.operations.place
        owners = self.update.operation_usage.operation
        for row, made in sorted(
            decisions, key=lambda one: (place(int(owners[one[0]])), self.waiting_kinds.places[one[0]])
        ):
            yield about(made, self.state.work_names[row])

    def _row(self, kind: int) -> int:
        return self.waiting_kinds.queues[kind][0]

    def claim(self, kind: int) -> Claim:
        """The claim as one heartbeat sees it: all members on one node, one that its tags allow."""
        single = self._claims.get(kind)
        if single is None:
            claim, need = self.waiting_kinds.claim(kind), self.waiting_kinds.need[:, kind]
            single = replace(claim, members=1, need=need, vectors=[need], columns=np.flatnonzero(need).tolist())
            settings = self.update.operations.settings[int(self.waiting_kinds.operation[kind])]
            if settings.tag_filter is not None:
                fits = [
                    settings.tag_filter.matches(self.heartbeats.labels(node)) for node in range(self.state.nodes.size)
                ]
                single = replace(single, allowed=single.allowed & np.array(fits, np.bool_))
            self._claims[kind] = single
        return single

    # -- the first thing that stands in the way ----------------------------------------------------------------------

    def _about(self, kind: int) -> Decision:
        state, row = self.state, self._row(kind)
        never = self._refused(kind)
        if never is not None:
            return never
        if not state.nodes.size:
            return self._wait(kind, rules.NO_CLUSTER)
        for check in (self._not_scheduled, self._no_node, self._at_limit, self._with_room):
            decision = check(kind)
            if decision is not None:
                return decision
        if not state.work.preempts[row] and self._priority(kind) > NOT:
            return self._wait(kind, rules.MAY_NOT, explained=True)
        return self._without_room(kind)

    def _refused(self, kind: int) -> Decision | None:
        never = self._impossible(kind)
        operation = int(self.waiting_kinds.operation[kind])
        if never is None and self.update.refused[operation]:  # only for now: what stands for ever is told first
            facts = self._full_pool(operation, "max_operations")
            return decision(self.state, self._row(kind), "refuse", rules.TOO_MANY, **facts)
        return never

    def _impossible(self, kind: int) -> Decision | None:
        """Why it can never run; one like another that can is not looked at again until nodes or pools change."""
        like = _like(self.update, self._row(kind))
        if like in self.update.possible:
            return None
        refusal = self._never(kind)
        if refusal is None and like is not None:
            self.update.possible.add(like)
        return refusal

    def _never(self, kind: int) -> Decision | None:
        state, row = self.state, self._row(kind)
        breach = breach_of(state, row, None, None)
        if breach is not None:
            rule = rules.FIXED if breach.fixed else rules.OUT_OF_RANGE
            return decision(state, row, "refuse", rule, **breach.facts)
        above = self._hopeless(kind)
        if above is not None:
            return above
        if state.work.placement[row] == SPREAD and state.work.members[row] > 1:
            return decision(state, row, "refuse", rules.SPREAD)
        if matches_nothing(state, self.waiting_kinds.claim(kind)):
            return decision(state, row, "refuse", rules.NO_MATCH, wanted=wanted(state, row) or "any room at all")
        return too_big(state, self.claim(kind), rules.TOO_BIG)

    def _hopeless(self, kind: int) -> Decision | None:
        """It asks for more than a limit on its path leaves even if nothing else ran."""
        cycle_usage, update, operation = (
            self.heartbeats.cycle_usage,
            self.update,
            int(self.waiting_kinds.operation[kind]),
        )
        asked = self.waiting_kinds.amount[:, kind]
        own = cycle_usage.op_limits.get(operation)
        limits = [] if own is None else [(NONE, own)]
        if not update.pools.tree.infinite_overcommit:
            path = update.pools.paths[int(self.waiting_kinds.pool[kind])]
            limits += [(pool, cycle_usage.limits[pool] + cycle_usage.tolerated[pool]) for pool in path]
        for pool, most in limits:
            over = np.flatnonzero(asked > most).tolist()
            if over:
                facts = self._limit_facts(operation, pool, over[0], int(asked[over[0]]), most)
                return decision(self.state, self._row(kind), "refuse", rules.NEVER, **facts)
        row = self._row(kind)
        for limit in hopeless([one for one in limits_of(self.state, row) if one.tenant != NONE]):
            return decision(self.state, row, "refuse", rules.NEVER_TENANT, **limit.facts(self.state))
        return None

    def _full_pool(self, operation: int, setting: str) -> dict[str, object]:
        """The pool that has as many operations as it may have."""
        pools = self.update.pools
        path = pools.paths[self.update.operations.pool[operation]]
        pool = min(path, key=lambda one: getattr(pools.settings[one], setting))
        owner = f"pool {pools.name(pool)}" if pool < pools.size else "the pool tree"
        limit = getattr(pools.settings[pool], setting)
        return {"owner": owner, "limit": limit, "operation": operation_name(self.update, operation)}

    def _not_scheduled(self, kind: int) -> Decision | None:
        update, operation = self.update, int(self.waiting_kinds.operation[kind])
        name = operation_name(update, operation)
        if not update.running[operation]:
            return self._wait(kind, rules.NOT_RUN, explained=False, **self._full_pool(operation, "max_running"))
        if not update.schedulable[operation]:
            return self._wait(kind, rules.BEHIND_FIFO, operation=name, limit=update.pools.tree.fifo_schedulable)
        if self.heartbeats.idle[operation]:
            return self._wait(kind, rules.GRACEFUL_IDLE, operation=name)
        return None

    def _no_node(self, kind: int) -> Decision | None:
        plain = self.waiting_kinds.claim(kind)
        if not plain.allowed.any():
            return self._wait(kind, rules.NO_NODES, matching=int(plain.matching.sum()))
        if not self.claim(kind).allowed.any():
            operation = int(self.waiting_kinds.operation[kind])
            text = self.update.operations.settings[operation].tag_filter
            return self._wait(
                kind, rules.FILTERED, operation=operation_name(self.update, operation), filter=getattr(text, "text", "")
            )
        return None

    def _at_limit(self, kind: int) -> Decision | None:
        """A limit that this one would exceed now, however much room there is."""
        cycle_usage, operation = self.heartbeats.cycle_usage, int(self.waiting_kinds.operation[kind])
        asked = self.waiting_kinds.amount[:, kind]
        preemptive = self._priority(kind) > NOT
        own = cycle_usage.op_limits.get(operation)
        limits = [] if own is None else [(NONE, cycle_usage.usage[operation], own)]
        if not (preemptive and self.update.pools.tree.infinite_overcommit):
            more = cycle_usage.tolerated if preemptive else 0 * cycle_usage.tolerated
            path = self.update.pools.paths[int(self.waiting_kinds.pool[kind])]
            limits += [(pool, cycle_usage.pool_usage[pool], cycle_usage.limits[pool] + more[pool]) for pool in path]
        for pool, used, most in limits:
            over = np.flatnonzero(used + asked > most).tolist()
            if over:
                facts = self._limit_facts(operation, pool, over[0], int(asked[over[0]]), most)
                facts["used"] = quantity(self.update, over[0], int(used[over[0]]))
                return self._wait(kind, rules.AT_LIMIT, explained=False, **facts)
        if not self.heartbeats.within_own(kind):
            return self._wait(kind, rules.TENANT, explained=False, **self._tenant(self._row(kind)))
        return None

    def _tenant(self, row: int) -> dict[str, object]:
        """The limit of its tenant that this one would exceed."""
        over = broken([one for one in limits_of(self.state, row) if one.tenant != NONE])
        most = over[0] if over else nodes_over(self.state, row, [])
        assert most is not None
        return most.facts(self.state)

    def _limit_facts(self, operation: int, pool: int, resource: int, asked: int, most: Int64s) -> dict[str, object]:
        return {
            "owner": owner_name(self.update, operation, pool),
            "resource": resource_name(self.update, resource),
            "asked": quantity(self.update, resource, asked),
            "limit": quantity(self.update, resource, min(int(most[resource]), UNLIMITED)),
        }

    def _with_room(self, kind: int) -> Decision | None:
        """A node has room for it now, or had when the cycle began: why it did not start there."""
        claim = self.claim(kind)
        assert claim.need is not None
        free = self.state.nodes.free[:, : self.state.nodes.size]
        fits = feasible(claim, claim.need, free)
        if fits.any():
            held = fits & self._held
            if (held == fits).all():
                return self._wait(kind, rules.NODE_WAITS, nodes=self._names(fits), who=self._held_on(fits))
            bare = fits & ~self._spare()
            if (bare == fits).all():
                return self._wait(kind, rules.NO_SPARE, explained=False, **self._bare(int(np.argmax(fits)), free))
            return self._wait(kind, rules.NEXT, nodes=self._names(fits & ~bare))
        if self._priority(kind) == NOT and feasible(claim, claim.need, self.free_at_first).any():
            return self._wait(
                kind, rules.LATER, operation=operation_name(self.update, int(self.waiting_kinds.operation[kind]))
            )
        return None

    def _bare(self, node: int, free: Int64s) -> dict[str, object]:
        """What a node has, of what it should have to be looked at."""
        columns, least = self.heartbeats.spare
        units = self.state.units
        short = [(column, int(most)) for column, most in zip(columns, least, strict=True) if free[column, node] < most]
        has, asked = (
            ", ".join(
                f"{units.names[c]} {show_quantity(units.names[c], count * units.nano[c])}" for c, count in amounts
            )
            for amounts in ([(column, int(free[column, node])) for column, _ in short], short)
        )
        return {"nodes": self.state.node_names[node], "free": has, "least": asked}

    def _without_room(self, kind: int) -> Decision:
        """No node has room for it: whether it may preempt, and why that did not help."""
        if self._priority(kind) == NOT:
            return self._wait(kind, rules.NOT_STARVING, explained=True)
        enough = self._enough(kind)
        used, late, held = enough & self.heartbeats.used_up, enough & ~self.may_try, enough & self._held
        if held.any() and (held == enough).all():
            return self._wait(kind, rules.NODE_WAITS, nodes=self._names(held), who=self._held_on(held))
        if late.any() and not used.any():
            at = int(self.clocks.tried[late].min())
            age, limit = show_duration(self.state.now - at), show_duration(self.update.pools.tree.backoff)
            return self._wait(kind, rules.BACKOFF, nodes=self._names(late), age=age, limit=limit)
        if enough.any():
            return self._wait(kind, rules.ONE_A_HEARTBEAT, nodes=self._names(enough))
        return self._wait(kind, rules.NO_ROOM, explained=True)

    def _enough(self, kind: int) -> Bools:
        """Nodes on which all that this one may take would be enough."""
        claim, free = self.claim(kind), self.state.nodes.free[:, : self.state.nodes.size]
        assert claim.need is not None
        if self._running_allocations is None:
            self._running_allocations = RunningAllocations(self.heartbeats.cycle_usage, self.heartbeats.ssd_nodes)
        mask = np.zeros(len(claim.allowed), np.bool_)
        for ssd in (False, True):
            here = self.heartbeats.ssd_nodes == ssd
            if here.any():
                least, normal = self._stage(kind, ssd=ssd)
                room = free + self._running_allocations.discount(least, normal=normal)
                mask |= here & feasible(claim, claim.need, room)
        return mask

    def _spare(self) -> Bools:
        """Nodes that have enough left to be looked at."""
        columns, least = self.heartbeats.spare
        mask: Bools = np.all(self.state.nodes.free[columns, : self.state.nodes.size] >= least[:, None], axis=0)
        return mask

    def _stage(self, kind: int, *, ssd: bool) -> tuple[int, bool]:
        """The level that this kind takes on a node, and whether that is normal preemption; `ssd`: on one whose disks
        have priority.
        """
        ssd = ssd and bool(self.update.op_on_ssd[self.waiting_kinds.operation[kind]])
        if self._priority(kind) == AGGRESSIVE:
            return (SSD_AGGRESSIVELY if ssd else LEVEL_AGGRESSIVELY), False
        return (LEVEL_NON, False) if ssd else (LEVEL_PREEMPTIBLE, True)

    def _priority(self, kind: int) -> int:
        return int(self.update.op_priority[self.waiting_kinds.operation[kind]])

    # -- in words ------------------------------------------------------------------------------------------------------

    def _names(self, nodes: Bools) -> str:
        """The first of these nodes by name, and how many more there are."""
        rows = np.flatnonzero(nodes)
        first = rows[np.argsort(self.state.node_rank()[rows])[:NAMED]].tolist()
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        return ", ".join(self.state.node_names[node] for node in first) + more

    def _held_on(self, nodes: Bools) -> str:
        """What waits for its room on the first of these nodes."""
        state = self.state
        rows = [int(state.residents.work[one]) for one in state.node_residents[int(np.argmax(nodes))]]
        return " and ".join(state.work_names[row] for row in rows if state.work.state[row] == RESERVED)

    def _facts(self, kind: int) -> dict[str, object]:
        operation = int(self.waiting_kinds.operation[kind])
        may = self._priority(kind) > NOT
        return {
            "short": shortage(self.state, self.claim(kind)),
            "operation": operation_name(self.update, operation),
            "clock": clock_of(self.update, operation) if may else "",
            "standing": "" if may else why_not_starving(self.heartbeats.cycle_usage, operation),
        }

    def _wait(self, kind: int, rule: Rule, /, *, explained: bool = False, **facts: object) -> Decision:
        row = self._row(kind)
        known = self._facts(kind) | facts if "{short}" in rule.sentence else facts
        sentence = rule.because(**known)
        made = Decision(self.state.work_names[row], "wait", rule.id, sentence)
        if not explained or not self.cycle.told:
            return made
        cannot = None if rule is rules.NO_ROOM else rule
        missed: list[int] = []
        if self.cycle.misses:
            missed = self._open_to(kind) or nearest_miss(self.state, self.claim(kind), [])
        nodes = self.claim(kind).allowed  # an explanation tells of all on those that it may use
        if not self.cycle.explain:
            nodes = nodes & self._nodes_of(missed)
        candidates = {
            one.workload: one for one in self._candidates(kind, np.flatnonzero(nodes).tolist(), cannot, known)
        }
        misses = tuple(self._miss(row, candidates, cannot) for row in missed)
        shown = tuple(candidates[name] for name in sorted(candidates)) if self.cycle.explain else None
        return replace(made, nearest_miss=misses, candidates=shown)

    def _nodes_of(self, rows: list[int]) -> Bools:
        mask = np.zeros(self.state.nodes.size, np.bool_)
        for row in rows:
            mask[self.state.residents.node[self.state.residents_of(row)]] = True
        return mask

    def _candidates(
        self, kind: int, nodes: list[int], cannot: Rule | None, known: Mapping[str, Any]
    ) -> Iterator[Candidate]:
        cycle_usage = self.heartbeats.cycle_usage
        for node in nodes:
            yield from (not_running(self.state, row) for row in others_on(cycle_usage, node))
            here = self.heartbeats.look_again(node)
            ssd = bool(self.heartbeats.ssd_nodes[node])
            least, normal = self._stage(kind, ssd=ssd)
            for at in range(len(here)):
                name, facts = self.state.work_names[int(here.rows[at])], facts_of(cycle_usage, here, at)
                rule = shield_of(cycle_usage, here, at, least, normal=normal, ssd=ssd)
                if rule is not None:
                    yield Candidate(name, "protected", rule.id, rule.because(**facts))
                elif cannot is not None:
                    yield Candidate(name, "protected", cannot.id, held_back(cannot, known))
                else:
                    other = rules.TOO_LITTLE
                    yield Candidate(name, "not-needed", other.id, other.because(node=self.state.node_names[node]))

    def _miss(self, row: int, candidates: Mapping[str, Candidate], cannot: Rule | None) -> Miss:
        """One of the fewest whose going would have made room, and what protects it."""
        name = self.state.work_names[row]
        one = candidates.get(name)
        if one is None or one.rule == rules.TOO_LITTLE.id:
            return Miss(name, None, "no rule protects it alone")
        if cannot is not None and one.rule == cannot.id:
            return Miss(name, None, "nothing protects it, but the claimant may not preempt")
        return Miss(name, one.rule, one.why)

    def _open_to(self, kind: int) -> list[int]:
        """Whom it would take if it might preempt: on the first node where that is enough, as few as do, the newest."""
        claim, enough = self.claim(kind), self._enough(kind)
        if not enough.any():
            return []
        assert claim.need is not None
        need, node = claim.need[claim.columns], int(np.argmax(enough))
        here = self.heartbeats.look_again(node)
        least, normal = self._stage(kind, ssd=bool(self.heartbeats.ssd_nodes[node]))
        taken = np.flatnonzero(here.open(least, normal=normal)).tolist()
        free, held = self.state.nodes.free[claim.columns, node], here.amount[:, claim.columns]
        for at in reversed(taken.copy()):
            if (free + held[[one for one in taken if one != at]].sum(axis=0) >= need).all():
                taken.remove(at)
        return [int(here.rows[at]) for at in taken]
