"""Plan, apply, advance the clock, and again: where does this end, and does it end at all?"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.doctrine import Doctrine
from cede.engine.cluster import Cluster
from cede.engine.cycle import choice_of, plan_state
from cede.engine.events import Ended, Marked, Requeued, Started, Ticked, apply
from cede.engine.verify import verify_state
from cede.model.errors import InputError, Problem
from cede.model.plan import ENDED, Decision, Plan, Preemption, Settled
from cede.model.times import parse_duration
from cede.state.admission import admitted_parts
from cede.state.build import build
from cede.state.columns import NONE, PREEMPTING, RESERVED
from cede.state.state import State
from cede.state.static import holds

Holding = tuple[str, tuple[str, ...], frozenset[tuple[str, int]]]
Signature = tuple[frozenset[Holding], frozenset[str], Hashable]


def settle(
    cluster: Cluster,
    *,
    cycles: int = 1000,
    interval: float | str = 1,
    progress: Callable[[int], None] | None = None,
) -> Settled:
    """Run cycles on a copy of the cluster until one changes nothing, a state comes back, or `cycles` are done."""
    if cycles < 1:
        raise InputError([Problem("cycles", f"{cycles} is not a number of cycles; it must be at least 1")])
    try:
        step = parse_duration(interval)
    except ValueError as error:
        raise InputError([Problem("interval", str(error))]) from None
    doctrine = doctrine_of(cluster.document.doctrine)
    return settle_state(build(cluster.document), doctrine, cycles=cycles, step=step, progress=progress)


def settle_state(
    state: State,
    doctrine: Doctrine,
    *,
    cycles: int,
    step: int,
    progress: Callable[[int], None] | None = None,
) -> Settled:
    """The same on live columns, which it changes; `step` in microseconds."""
    run = _Run(state, step, doctrine)
    run.finish_what_is_under_way(doctrine)
    for cycle in range(1, cycles + 1):
        made = plan_state(run.state, doctrine, misses=False, memory=run.memory)
        problems = verify_state(run.state, doctrine, made)
        if problems:
            raise RuntimeError(f"cycle {cycle} made an unlawful plan: {'; '.join(problems)}")
        changed = run.apply(cycle, made)
        if progress is not None:
            progress(cycle)
        if not changed and made.wakes_at is None:
            return run.result(True, cycle, made, None)
        loop = run.loop_so_far() if changed else None
        if loop is not None:
            return run.result(False, cycle, made, loop)
    return run.result(False, cycles, plan_state(run.state, doctrine, misses=False, memory=run.memory), None)


class _Run:
    """A state under way, what the doctrine remembers, and every state seen so far."""

    def __init__(self, state: State, step: int, doctrine: Doctrine) -> None:
        self.state = state
        self.step = step
        self.lasting = doctrine.lasting
        self.memory: dict[str, Any] = {}
        self.preemptions: list[Preemption] = []
        self.ended: list[str] = []
        self.seen: dict[Signature, int] = {self._signature(): 0}

    def finish_what_is_under_way(self, doctrine: Doctrine) -> None:
        """What the file says is being preempted leaves at once, and what has room reserved starts in it."""
        state, edition = self.state, choice_of(self.state).edition
        for name in sorted(state.work_index):
            row = state.work_index[name]
            if state.work.state[row] == PREEMPTING:
                self._leave(name, doctrine.fate(state, edition, row))
        for name in sorted(state.work_index):
            if state.work.state[state.work_index[name]] == RESERVED:
                apply(state, Marked(name, "running"))
        self.seen = {self._signature(): 0}

    def _leave(self, name: str, fate: str) -> None:
        if fate == ENDED:
            apply(self.state, Ended(name))
            self.ended.append(name)
        else:
            apply(self.state, Requeued(name))

    def apply(self, cycle: int, made: Plan) -> bool:
        """Victims leave at once, starts happen now, preempting claimants start before the next cycle if they fit."""
        claimants: list[Decision] = []
        changed = False
        for decision in made.decisions:
            changed |= decision.action in ("start", "preempt")
            for victim in decision.victims:
                if not victim.leaving:
                    rule = victim.rule or decision.rule
                    self.preemptions.append(Preemption(cycle, victim.workload, decision.workload, rule))
                elif not self._holds_room(victim.workload):
                    continue
                self._leave(victim.workload, victim.fate)
            if decision.action == "start":
                self._start(decision)
            elif decision.action == "preempt":
                claimants.append(decision)
        apply(self.state, Ticked(self.state.now + self.step))
        for decision in claimants:
            if self._has_room(decision):
                self._start(decision)
        return changed

    def _holds_room(self, name: str) -> bool:
        row = self.state.work_index.get(name)
        return row is not None and holds(int(self.state.work.state[row]))

    def _start(self, decision: Decision) -> None:
        if decision.workload is not None:
            apply(self.state, Started(decision.workload, decision.nodes, decision.flavors, decision.counts))
            row = self.state.work_index[decision.workload]
            for node in (self.state.node_index[name] for name in decision.nodes):
                if self.state.nodes.reserved_for[node] not in (NONE, row):  # which was cancelled for it
                    self.state.reserve(node, NONE)

    def _has_room(self, decision: Decision) -> bool:
        if decision.workload is None:
            return False
        state = self.state
        row = state.work_index[decision.workload]
        parts = admitted_parts(state, row, decision.flavors, decision.counts)
        free = state.nodes.free.copy()
        members = state.members_of(row) if parts is None else state.vectors_of(parts, bool(state.work.exclusive[row]))
        for name, need in zip(decision.nodes, members, strict=False):
            node = state.node_index[name]
            free[:, node] -= need
            if (free[need > 0, node] < 0).any():
                return False
        return True

    def loop_so_far(self) -> tuple[Preemption, ...] | None:
        """What happened since this state was seen before, if it was."""
        signature = self._signature()
        if signature in self.seen:
            return tuple(self.preemptions[self.seen[signature] :])
        self.seen[signature] = len(self.preemptions)
        return None

    def result(self, settled: bool, cycles: int, last: Plan, loop: tuple[Preemption, ...] | None) -> Settled:
        state = self.state
        rules = {preemption.victim: preemption.rule for preemption in self.preemptions}
        rules |= {decision.workload: decision.rule for decision in last.decisions if decision.workload is not None}
        names = sorted(state.work_index)
        return Settled(
            settled,
            cycles,
            tuple(self.preemptions),
            {
                name: state.nodes_of(row)
                for name in names
                if holds(int(state.work.state[row := state.work_index[name]]))
            },
            {name: rules[name] for name in names if state.work_index[name] in state.pending},
            loop,
            tuple(self.ended),
        )

    def _signature(self) -> Signature:
        state = self.state
        running = frozenset(
            (name, tuple(state.nodes_of(row)), self._usage(row))
            for name, row in state.work_index.items()
            if holds(int(state.work.state[row]))
        )
        pending = frozenset(state.work_names[row] for row in state.pending)
        return running, pending, None if self.lasting is None else self.lasting(self.memory)

    def _usage(self, row: int) -> frozenset[tuple[str, int]]:
        """What it holds, where that is decided with its flavors and its members; elsewhere it is always the same."""
        state = self.state
        if not state.static.flavored_quota:
            return frozenset()
        return frozenset(state.units.amounts(state.work.usage[:, row].tolist()).items())
