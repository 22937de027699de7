"""One cycle: a fair share update, then a heartbeat of every ready node by name, then why the others wait."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.heartbeat import HeartbeatOutcome, Heartbeats, held_nodes, spare_of
from cede.doctrines.ytsaurus.incremental import Preemption, Starts, plain_heartbeats, preempt, start
from cede.doctrines.ytsaurus.memory import CycleMemory, memory_of
from cede.doctrines.ytsaurus.node_prospects import never_preempts, worth_a_heartbeat
from cede.doctrines.ytsaurus.start_candidates import StartCandidates, plain, plain_shares
from cede.doctrines.ytsaurus.starvation import NOT, NodeClocks
from cede.doctrines.ytsaurus.update import UPDATE, Priorities, Update
from cede.doctrines.ytsaurus.wait_reasons import WaitReasons, barred, may_run
from cede.doctrines.ytsaurus.wording import DecisionWriter
from cede.model.plan import Decision
from cede.state.columns import NEVER, NONE, READY, Bools, Int64s
from cede.state.units import WHOLE


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Everything one cycle decides, in the order in which it happens."""
    memory = memory_of(cycle)
    update = updated(cycle, memory)
    plan = _Plan(cycle, memory, update)
    for made in plan.decisions():
        if cycle.whole and made.victims:
            cycle.state.derived[UPDATE] = update
        if cycle.only is None or (made.workload is not None and cycle.state.work_index[made.workload] == cycle.only):
            yield made


def updated(cycle: Cycle, memory: CycleMemory) -> Update:
    """The fair share update of this cycle; from the second one on only what changed is worked out anew."""
    state = cycle.state
    known = memory.update
    if cycle.whole and (known is None or known.state is not state):
        memory.candidates = None
    if known is None or known.state is not state or not cycle.whole:
        memory.following = False
        update = Update(state, memory, keep=cycle.whole)
        memory.update = update if cycle.whole else known
        return update
    came: set[int] | None = None
    if memory.following:
        touched = known.operation_usage.follow()
        if touched is not None:
            known.run(memory, touched)
            if memory.candidates is not None:
                memory.candidates.follow()
            return known
        came = known.operation_usage.came & state.pending
    state.journal.follows = memory.following = True
    state.journal.rows.clear()
    memory.update, memory.candidates = Update(state, memory), None
    if came is not None:
        memory.update.operation_usage.came = came
    return memory.update


class _Plan:
    def __init__(self, cycle: Cycle, memory: CycleMemory, update: Update) -> None:
        self.cycle, self.update, self.memory = cycle, update, memory
        self.state = cycle.state
        self.rows: set[int] | None = None
        """What might start, where that follows from what changed."""
        self.reach: Bools | None = None
        """Nodes on which a workload could preempt, where that is known."""
        self.preempts = False
        """Whether something was preempted: what the cycle decides after that is decided again in the next."""
        self.started: set[int] = set()
        clocks = NodeClocks(self.state) if memory.nodes is None else memory.nodes
        if cycle.whole:
            memory.nodes = clocks
        else:
            clocks = deepcopy(clocks)
        self.clocks = clocks
        self.held = held_nodes(update) if update.operation_usage.reserved else update.room.nowhere
        """Nodes on which room is held for a workload that waits for it,"""
        self.blocked = self.held if update.pools.tree.waiting_blocks else update.room.nowhere
        """and those of them on which nothing starts for that."""

    @cached_property
    def concerned(self) -> set[int]:
        """All that wait; without words, what might start, and what must be told whether it can ever run."""
        if self.cycle.words:
            return self.state.pending
        operation_usage = self.update.operation_usage
        rows = operation_usage.came & self.state.pending
        if self.rows is not None:
            return rows | self.rows
        for operation in self.update.demand_sums.asking:
            rows |= operation_usage.waiters[operation]
        return rows

    @cached_property
    def heartbeats(self) -> Heartbeats:
        heartbeats = Heartbeats(self.cycle, self.update, self.concerned)
        for kind in barred(self.state, heartbeats.waiting_kinds):
            heartbeats.waiting_kinds.close(kind)
        return heartbeats

    @cached_property
    def writer(self) -> DecisionWriter:
        return DecisionWriter(self.cycle, self.heartbeats)

    def decisions(self) -> Iterator[Decision]:
        waits = WaitReasons(self.cycle, self.heartbeats, self.clocks) if self.cycle.words else None
        if self.state.node_names:
            for made in self._heartbeats(waits):
                yield made
                self.preempts |= bool(made.victims)
                if self.preempts and not self.cycle.words:
                    break  # the others are asked again in the next cycle, which counts on what is held by then
            if self.rows is not None and self.memory.candidates is not None:
                self.memory.candidates.passed(self.started, self._booked(), complete=not self.preempts)
        else:
            self._wake_for_clocks(None)
        if waits is not None:
            yield from waits.decisions()
        if self.preempts and not self.cycle.words:
            return  # the next cycle tells the newcomers
        came = self.update.operation_usage.came
        if waits is None:
            untold = {row for row in (came - self.started) & self.state.pending if not may_run(self.update, row)}
            if untold:
                yield from WaitReasons(self.cycle, self.heartbeats, self.clocks).refusals(untold)
        came.clear()

    def _booked(self) -> set[int]:
        """Nodes on which this cycle booked something."""
        return {node for _, _, moves, _ in self.cycle.trial.log for node, _ in moves}

    def _heartbeats(self, waits: WaitReasons | None) -> Iterator[Decision]:
        state = self.state
        over = self._over()
        only_starts = over is None and never_preempts(self.update)
        candidates = self._candidates(over, only_starts=only_starts)
        self._wake_for_clocks(candidates)
        if candidates is not None and not only_starts and self.update.strongest > NOT:
            self.reach = candidates.reach(self.blocked)
            only_starts = self.reach is None
        may_try: Bools | None = None
        if only_starts:
            if waits is not None and self.update.strongest > NOT:
                self.clocks.catch_up(state)
                waits.may_try = self.clocks.ready(state.now, self.update.pools.tree.backoff)
            held = self.held if state.between and self.update.pools.tree.waiting_blocks else None
            self.clocks.pass_quietly(state, self.update.pools.tree.backoff, held)
        else:
            may_try = self._attempt(over)
        self._over_clocks(over)
        if waits is not None and may_try is not None:
            waits.may_try = may_try.copy()
        discount: Int64s | None = None
        if candidates is not None and not self.cycle.words:
            if may_try is not None:
                assert self.reach is not None
                may_try = candidates.with_victims(may_try & self.reach)
                discount = candidates.preemptible_amounts.table() if may_try is not None else None
            self.rows = candidates.might_start(self.held, may_try)
            if not self.rows:
                return
            if may_try is None or not self.cycle.optimal:
                beat = plain_heartbeats(candidates, self.rows, self.blocked, may_try, self.cycle.edition)
                if beat is not None:
                    yield from self._plainly(candidates, *beat)
                    return
        if only_starts and not (self.concerned and self.heartbeats.waiting_kinds.open.any()):
            return
        self.heartbeats.discount = discount
        worth, going = worth_a_heartbeat(self.heartbeats, may_try, over, only_starts=only_starts)
        worth &= state.nodes.state[: state.nodes.size] == READY
        ranks = state.node_rank()
        for node in sorted(np.flatnonzero(worth).tolist(), key=ranks.__getitem__):
            if only_starts and not self.heartbeats.waiting_kinds.open.any():
                return
            for taken in self.heartbeats.beat(node, preemptive=bool(going[node])):
                if taken.row != NONE and taken.victims and taken.here is not None:
                    victim = int(taken.here.rows[taken.victims[0]])
                    self.clocks.meant[node] = state.work_names[taken.row], state.work_names[victim]
                elif taken.row != NONE and not self.preempts:
                    self.started.add(taken.row)
                if taken.victims:
                    self._goes_on(node)
                yield self.writer.about(taken)
            if over is not None and over[node]:
                yield from self._abort(node)

    def _plainly(self, candidates: StartCandidates, starts: Starts, going: Preemption | None) -> Iterator[Decision]:
        for row, node in starts:
            candidates.starts(row, node)
            self.started.add(row)
            yield start(candidates, row, node)
        if going is not None:
            names = self.state.work_names
            self.clocks.meant[going.node] = names[going.row], names[going.victims[0][0]]
            self._goes_on(going.node)
            yield preempt(candidates, going, self.cycle.edition)

    def _goes_on(self, node: int) -> None:
        """Something leaves this node: where a plan is carried out up to there, later nodes have not tried yet."""
        if not self.preempts and not (self.cycle.words and self.cycle.carried_out):
            rank = self.update.room.rank
            self.clocks.did_not_attempt(rank > rank[node])

    def _candidates(self, over: Bools | None, *, only_starts: bool) -> StartCandidates | None:
        """The candidates to start, kept by what changed; none where more than room and shares counts."""
        update, memory = self.update, self.memory
        spare_of(update)
        shares = plain_shares(update)
        tells = over is None and update.spare is not None and plain(update) and (only_starts or shares)
        candidates = memory.candidates if self.cycle.whole else None
        if candidates is not None and (self.cycle.words or not tells):
            candidates.ask_all = True
        if not tells or (self.cycle.words and not shares):
            return None
        if candidates is None:
            candidates = StartCandidates(update)
            if self.cycle.whole:
                memory.candidates = candidates
        return candidates

    def _attempt(self, over: Bools | None) -> Bools:
        """Nodes that may try to preempt; they do, by this plan, but for those on which a workload waits for room."""
        tree, ready = self.update.pools.tree, self.update.room.ready
        self.clocks.catch_up(self.state)
        may_try: Bools = self.clocks.ready(self.state.now, tree.backoff) & ready
        self._wake_for_backoff(ready & ~may_try, np.zeros_like(ready) if over is None else over)
        self.clocks.attempt(may_try & ~self.blocked, self.state.now)
        return may_try

    # -- nodes that hold more than they have ---------------------------------------------------------------------------

    def _over(self) -> Bools | None:
        """Ready nodes that do; none if no node does."""
        slots = [node for node, entry in self.state.odd_nodes.items() if entry.capacity.get("user_slots") == 0]
        if not self.update.room.short and not slots:
            return None
        nodes, size = self.state.nodes, self.state.nodes.size
        leaving, held = nodes.leaving[:, :size], nodes.held[:, :size]
        free = nodes.free[:, :size] + np.maximum(leaving, held) - held
        free[WHOLE] = 0
        over: Bools = np.any(free < 0, axis=0)
        for node in slots:
            over[node] |= bool(self.state.node_residents[node])
        over &= nodes.state[:size] == READY
        return over if over.any() else None

    def _over_clocks(self, over: Bools | None) -> None:
        clocks, limit = self.clocks, self.update.pools.tree.overcommit_duration
        if over is None:
            clocks.none_over()
            return
        clocks.over = np.where(over, np.where(clocks.over == NEVER, self.state.now, clocks.over), NEVER)
        clocks.some_over = True
        for since in clocks.over[over].tolist():
            if self.state.now <= since + limit:
                self.cycle.wake(since + limit + 1)

    def _abort(self, node: int) -> Iterator[Decision]:
        """Of a node that held too much for too long: those stay that fit, the best protected and the oldest first."""
        document = self.state.odd_nodes.get(node)
        all_go = document is not None and document.capacity.get("user_slots") == 0
        since, limit = int(self.clocks.over[node]), self.update.pools.tree.overcommit_duration
        if not all_go and self.state.now <= since + limit:
            return
        here = self.heartbeats.look_again(node)
        room = self.heartbeats.without_leaving(node, self.state.nodes.free[:, node]) + here.amount.sum(axis=0)
        gone: list[int] = []
        for at in reversed(range(len(here))):
            rest = room - here.amount[at]
            if not all_go and (rest[1:] >= 0).all():
                room = rest
            else:
                gone.append(at)
        if gone:
            self._goes_on(node)
            rule = rules.NO_SLOTS if all_go else rules.ABORT
            taken = HeartbeatOutcome(node=node, rule=rule, victims=gone, here=here)
            yield self.writer.about(taken, since=since)
            for at in gone:
                self.heartbeats.evict(here, at)

    # -- when to look again --------------------------------------------------------------------------------------------

    def _wake_for_clocks(self, candidates: StartCandidates | None) -> None:
        """Wake when the next element begins to starve, or to starve aggressively, if that may change anything."""
        update, now = self.update, self.state.now
        if update.short is not None:
            tells = candidates is not None and plain_shares(update)
            op_due = candidates.wakes_at(now) if candidates is not None and tells else update.op_clocks.next_due()
            pool_due = None if tells and update.pools.tree.scope_only_operation else update.pool_clocks.next_due()
            for due in (op_due, pool_due):
                if due is not None:
                    self.cycle.wake(due)
            return
        for clocks, timeouts in ((update.op_clocks, update.timeouts), (update.pool_clocks, update.pool_timeouts)):
            for at in clocks.ticking:
                time = clocks.next_level_at(at, now, *timeouts(at))
                if time is not None:
                    self.cycle.wake(time)

    def _wake_for_backoff(self, blocked: Bools, over: Bools) -> None:
        """Wake when a node's backoff ends, if a workload may preempt there and something changed there.

        A start takes no more than was free, so that nothing fits a node by it that did not before.
        """
        update = self.update
        things = Priorities(update) if update.pools.tree.fifo_schedulable is None else None
        self.clocks.look_at(things or (self.state.version, update.op_priority.tobytes()))
        limited = update.limited or update.operations.limited
        waiting = update.strongest > NOT or (bool(limited) and self.heartbeats.cycle_usage.any_over())
        wanted = blocked & (self.clocks.seen != self.clocks.number)
        wanted &= over | waiting
        if self.reach is not None:
            wanted &= self.reach
        if wanted.any():
            self.cycle.wake(int(self.clocks.tried[wanted].min()) + update.pools.tree.backoff + 1)
