"""One cycle: a fair share update, then a heartbeat of every ready node by name, then why the others wait."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.answers import Answers
from cede.doctrines.ytsaurus.clocks import AGGRESSIVE, STARVING, UNSET_CLOCK, Memory, Nodes, memory_of
from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.heartbeat import Beats, Taken
from cede.doctrines.ytsaurus.prospects import worth_a_beat
from cede.doctrines.ytsaurus.update import Update
from cede.doctrines.ytsaurus.waits import Waits
from cede.model.plan import Decision
from cede.state.columns import NEVER, NONE, READY, Bools, Int8s, Int64s
from cede.state.units import WHOLE


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Everything one cycle decides, in the order in which it happens."""
    memory = memory_of(cycle)
    update = updated(cycle, memory)
    plan = _Plan(cycle, memory, update)
    for made in plan.decisions():
        if cycle.only is None or (made.workload is not None and cycle.state.work_index[made.workload] == cycle.only):
            yield made


def updated(cycle: Cycle, memory: Memory) -> Update:
    """The fair share update of this cycle; from the second one on only what changed is worked out anew."""
    state = cycle.state
    known = memory.update
    if known is None or known.state is not state or not cycle.whole:
        memory.following = False
        found = Update(state, memory, keep=cycle.whole)
        memory.update = found if cycle.whole else known
        return found
    if memory.following:
        touched = known.standing.follow()
        if touched is not None:
            known.run(memory, touched)
            return known
    state.journal.follows = memory.following = True
    state.journal.rows.clear()
    memory.update = Update(state, memory)
    return memory.update


class _Plan:
    def __init__(self, cycle: Cycle, memory: Memory, update: Update) -> None:
        self.cycle, self.update = cycle, update
        self.state = cycle.state
        clocks = Nodes(self.state) if memory.nodes is None else memory.nodes
        if cycle.whole:
            memory.nodes = clocks
        else:
            clocks = deepcopy(clocks)
        clocks.catch_up(self.state)
        self.clocks = clocks
        self.beats = Beats(cycle, update)
        self.answers = Answers(cycle, self.beats)

    def decisions(self) -> Iterator[Decision]:
        nodes = self.state.nodes
        self._wake_for_clocks()
        waits = Waits(self.cycle, self.beats, self.clocks)
        for kind in waits.barred():
            self.beats.asks.close(kind)
        if nodes.size:
            yield from self._heartbeats(waits)
        yield from waits.decisions()

    def _heartbeats(self, waits: Waits) -> Iterator[Decision]:
        state, nodes, now = self.state, self.state.nodes, self.state.now
        ready = nodes.state[: nodes.size] == READY
        may_try = self.clocks.ready(now, self.update.pools.tree.backoff) & ready
        over = self._over() & ready
        self._over_clocks(over)
        waits.may_try = may_try.copy()
        worth = worth_a_beat(self.beats, may_try, over) & ready
        self._wake_for_backoff(ready & ~may_try, over)
        blocked = self.beats.held & self.update.pools.tree.waiting_blocks
        self.clocks.attempt(may_try & ~blocked, now)
        ranks = state.node_rank()
        for node in sorted(np.flatnonzero(worth).tolist(), key=ranks.__getitem__):
            for taken in self.beats.beat(node, preemptive=bool(may_try[node])):
                if taken.row != NONE and taken.victims and taken.here is not None:
                    victim = int(taken.here.rows[taken.victims[0]])
                    self.clocks.meant[node] = state.work_names[taken.row], state.work_names[victim]
                yield self.answers.about(taken)
            if over[node]:
                yield from self._abort(node)

    # -- nodes that hold more than they have ---------------------------------------------------------------------------

    def _over(self) -> Bools:
        nodes, size = self.state.nodes, self.state.nodes.size
        leaving, held = nodes.leaving[:, :size], nodes.held[:, :size]
        free = nodes.free[:, :size] + np.maximum(leaving, held) - held
        free[WHOLE] = 0
        found: Bools = np.any(free < 0, axis=0)
        for node, document in self.state.odd_nodes.items():
            if document.capacity.get("user_slots") == 0 and self.state.node_residents[node]:
                found[node] = True
        return found

    def _over_clocks(self, over: Bools) -> None:
        clocks, limit = self.clocks, self.update.pools.tree.overcommit_duration
        clocks.over = np.where(over, np.where(clocks.over == NEVER, self.state.now, clocks.over), NEVER)
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
        here = self.beats.look_again(node)
        room = self.beats.without_leaving(node, self.state.nodes.free[:, node]) + here.amount.sum(axis=0)
        gone: list[int] = []
        for at in reversed(range(len(here))):
            rest = room - here.amount[at]
            if not all_go and (rest[1:] >= 0).all():
                room = rest
            else:
                gone.append(at)
        if gone:
            rule = rules.NO_SLOTS if all_go else rules.ABORT
            taken = Taken(node=node, rule=rule, victims=gone, here=here)
            yield self.answers.about(taken, since=since)
            for at in gone:
                self.beats.evict(here, at)

    # -- when to look again --------------------------------------------------------------------------------------------

    def _wake_for_clocks(self) -> None:
        """The next time at which somebody begins to starve, or to starve aggressively."""
        update = self.update
        tree = update.pools.tree
        pools = update.pools.settings
        self._wake_at(update.op_since, update.op_starvation, update.op_timeout, STARVING)
        enabled = update.op_aggressive_enabled
        self._wake_at(
            np.where(enabled, update.op_since, UNSET_CLOCK),
            update.op_starvation,
            update.op_aggressive_timeout,
            AGGRESSIVE,
        )
        self._wake_at(update.pool_since, update.pool_starvation, update.pool_timeout, STARVING)
        flags, late = update.pool_aggressive_enabled, np.full(len(pools), float(tree.aggressive_timeout))
        self._wake_at(np.where(flags, update.pool_since, UNSET_CLOCK), update.pool_starvation, late, AGGRESSIVE)

    def _wake_at(self, since: Int64s, state: Int8s, timeout: Floats, level: int) -> None:
        waits = (since != UNSET_CLOCK) & (state < level)
        if waits.any():
            at = since[waits] + np.floor(timeout[waits]).astype(np.int64) + 1
            ahead = at[at > self.state.now]
            if len(ahead):
                self.cycle.wake(int(ahead.min()))

    def _wake_for_backoff(self, blocked: Bools, over: Bools) -> None:
        """When a node that must not preempt yet may, if there is somebody to do it for and something changed there."""
        update = self.update
        self.clocks.look_at((self.state.version, update.op_priority.tobytes()))
        waiting = bool((update.op_priority > 0).any()) or self.beats.numbers.any_over()
        wanted = blocked & (self.clocks.seen != self.clocks.number)
        wanted &= over | waiting
        if wanted.any():
            self.cycle.wake(int(self.clocks.tried[wanted].min()) + update.pools.tree.backoff + 1)
