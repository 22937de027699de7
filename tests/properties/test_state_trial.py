"""A trial shows what would be, and leaves no bit behind."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import DataObject

from cede.doctrines.document import parse_document
from cede.model.workloads import PodSet
from cede.state.admission import admitted_parts, asks_of
from cede.state.build import build
from cede.state.columns import STATES
from cede.state.residents import refresh
from cede.state.state import State
from cede.state.static import holds
from cede.state.trial import Trial
from tests.state_views import bits, view
from tests.strategies import Document, clusters
from tests.strategy_admission import draw_counts, draw_flavors

Done = list[tuple[str, str, tuple[str, ...], tuple[PodSet, ...] | None]]

STARTS = (
    clusters(None, tidy=False, most_workloads=6)
    | clusters("backendai", most_workloads=6)
    | clusters("kueue", most_workloads=6)
    | clusters("kueue", most_workloads=6, tidy=False)
)


@dataclass
class Level:
    """A trial under way: points to come back to, what everything was there, and what was done by then."""

    trial: Trial
    marks: list[tuple[int, Any, int]] = field(default_factory=list)


class Trials(RuleBasedStateMachine):
    """Evictions and bookings on a small random cluster, in trials within trials, undone in part or as a whole."""

    @initialize(document=STARTS, data=st.data())
    def start_from(self, document: Document, data: DataObject) -> None:
        self.state = build(parse_document(document))
        for row in sorted(self.state.pending):
            if data.draw(st.booleans()):
                parts = self.draw_parts(data, row)
                self.state.start(row, self.draw_places(data, row, parts), parts=parts)
        self.saved = copy.deepcopy(self.state)
        self.levels: list[Level] = []
        self.done: Done = []
        self.before = bits(self.state)

    def state_of(self, name: str) -> str:
        return STATES[self.state.work.state[self.state.work_index[name]]]

    def touched(self) -> set[str]:
        return {name for _, name, *_ in self.done}

    def evictable(self) -> list[str]:
        work = self.state.work
        holding = {name for name, row in self.state.work_index.items() if holds(int(work.state[row]))}
        if any(action == "tell" for action, *_ in self.done):
            holding -= {name for name in holding if self.state_of(name) in ("reserved", "preempting")}
        return sorted(holding - self.touched()) if self.levels else []

    def tellable(self) -> list[str]:
        return [name for name in self.evictable() if self.state_of(name) in ("running", "checkpointing")]

    def bookable(self) -> list[str]:
        names = (name for name in self.state.work_index if self.state_of(name) in ("pending", "suspended", "gone"))
        return sorted(names) if self.levels else []

    @rule()
    def open(self) -> None:
        level = Level(Trial(self.state).__enter__())
        self.levels.append(level)
        level.marks.append((0, bits(self.state), len(self.done)))

    @precondition(lambda self: self.evictable())
    @rule(data=st.data())
    def evict(self, data: DataObject) -> None:
        name = data.draw(st.sampled_from(self.evictable()))
        self.levels[-1].trial.evict(self.state.work_index[name])
        self.done.append(("evict", name, (), None))

    @precondition(lambda self: self.tellable())
    @rule(data=st.data())
    def tell_to_leave(self, data: DataObject) -> None:
        """It has not left: what is free stays as it is, also if it is summed up anew."""
        name = data.draw(st.sampled_from(self.tellable()))
        self.levels[-1].trial.tell_to_leave(self.state.work_index[name])
        self.done.append(("tell", name, (), None))
        for node in self.state.node_index.values():
            refresh(self.state, node)

    @precondition(lambda self: self.bookable())
    @rule(data=st.data())
    def book(self, data: DataObject) -> None:
        name = data.draw(st.sampled_from(self.bookable()))
        row = self.state.work_index[name]
        parts = self.draw_parts(data, row)
        places = self.draw_places(data, row, parts)
        self.levels[-1].trial.book(row, places, parts)
        self.done.append(("book", name, tuple(self.state.node_names[place] for place in places), parts))

    def draw_parts(self, data: DataObject, row: int) -> tuple[PodSet, ...] | None:
        if not data.draw(st.booleans()):
            return None
        given = draw_flavors(data.draw, self.state, row), draw_counts(data.draw, self.state, row)
        return admitted_parts(self.state, row, *given)

    def members_it_waits_with(self, row: int) -> int:
        """How many members it asks for; what says only what it holds asks for that as one, once it left."""
        state = self.state
        if row in state.admitted:
            return state.admitted[row].members
        left = STATES[state.work.state[row]] == "gone" and state.static.flavored_quota and state.work.usage_given[row]
        return sum(part.count for part in asks_of(state, row)) if left else int(state.work.members[row])

    def draw_places(self, data: DataObject, row: int, parts: tuple[PodSet, ...] | None) -> list[int]:
        nodes = sorted(self.state.node_index.values())
        members = self.members_it_waits_with(row) if parts is None else sum(part.count for part in parts)
        return [data.draw(st.sampled_from(nodes)) for _ in range(members)] if nodes else []

    @precondition(lambda self: self.levels)
    @rule()
    def mark(self) -> None:
        level = self.levels[-1]
        level.marks.append((level.trial.mark(), bits(self.state), len(self.done)))

    @precondition(lambda self: self.levels)
    @rule(data=st.data())
    def undo(self, data: DataObject) -> None:
        level = self.levels[-1]
        at = data.draw(st.integers(0, len(level.marks) - 1))
        mark, then, done = level.marks[at]
        level.trial.undo(mark)
        del level.marks[at + 1 :], self.done[done:]
        assert bits(self.state) == then

    @precondition(lambda self: self.levels)
    @rule(failing=st.booleans())
    def leave(self, failing: bool) -> None:
        level = self.levels.pop()
        error = RuntimeError("the search failed") if failing else None
        level.trial.__exit__(type(error) if error else None, error, None)
        _, then, done = level.marks[0]
        del self.done[done:]
        assert bits(self.state) == then

    @invariant()
    def shows_what_would_be(self) -> None:
        if not hasattr(self, "state") or not self.done:
            return
        real = self.as_if_it_happened()
        seen, wanted = view(self.state), view(real)
        assert {name: node["free"] for name, node in seen["nodes"].items()} == {
            name: node["free"] for name, node in wanted["nodes"].items()
        }
        assert {name: queue["usage"] for name, queue in seen["queues"].items()} == {
            name: queue["usage"] for name, queue in wanted["queues"].items()
        }
        for name in self.touched():
            last = [action for action, workload, *_ in self.done if workload == name][-1]
            assert self.state_of(name) == {"evict": "gone", "tell": "preempting", "book": "reserved"}[last]

    def as_if_it_happened(self) -> State:
        state = copy.deepcopy(self.saved)
        for action, name, places, parts in self.done:
            row = state.work_index[name]
            if action == "evict":
                state.requeue(row)
            elif action == "book":
                state.start(row, [state.node_index[place] for place in places], parts=parts)
        return state

    def teardown(self) -> None:
        if hasattr(self, "state"):
            while self.levels:
                self.leave(failing=False)
            assert bits(self.state) == self.before


TestTrials = Trials.TestCase
TestTrials.settings = settings(stateful_step_count=20)
