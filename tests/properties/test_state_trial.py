"""A trial shows what would be, and leaves no bit behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import DataObject

from cede.model.document import parse_document
from cede.state.build import build
from cede.state.columns import STATES
from cede.state.snapshot import snapshot
from cede.state.state import State, holds
from cede.state.trial import Trial
from tests.state_views import bits, view
from tests.strategies import Document, clusters

Done = list[tuple[str, str, tuple[str, ...]]]

STARTS = clusters(None, tidy=False, most_workloads=6) | clusters("backendai", most_workloads=6)


@dataclass
class Level:
    """A trial under way: points to come back to, what everything was there, and what was done by then."""

    trial: Trial
    marks: list[tuple[int, Any, int]] = field(default_factory=list)


class Trials(RuleBasedStateMachine):
    """Evictions and bookings on a small random cluster, in trials within trials, undone in part or as a whole."""

    @initialize(document=STARTS)
    def start_from(self, document: Document) -> None:
        self.state = build(parse_document(document))
        self.saved = snapshot(self.state)
        self.levels: list[Level] = []
        self.done: Done = []
        self.before = bits(self.state)

    def state_of(self, name: str) -> str:
        return STATES[self.state.work.state[self.state.work_index[name]]]

    def touched(self) -> set[str]:
        return {name for _, name, _ in self.done}

    def evictable(self) -> list[str]:
        work = self.state.work
        holding = {name for name, row in self.state.work_index.items() if holds(int(work.state[row]))}
        return sorted(holding - self.touched()) if self.levels else []

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
        self.done.append(("evict", name, ()))

    @precondition(lambda self: self.bookable())
    @rule(data=st.data())
    def book(self, data: DataObject) -> None:
        name = data.draw(st.sampled_from(self.bookable()))
        row = self.state.work_index[name]
        nodes = sorted(self.state.node_index)
        members = range(int(self.state.work.members[row])) if nodes else range(0)
        places = tuple(data.draw(st.sampled_from(nodes)) for _ in members)
        self.levels[-1].trial.book(row, [self.state.node_index[node] for node in places])
        self.done.append(("book", name, places))

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
            last = [action for action, workload, _ in self.done if workload == name][-1]
            assert self.state_of(name) == ("gone" if last == "evict" else "reserved")

    def as_if_it_happened(self) -> State:
        state = build(self.saved)
        for action, name, places in self.done:
            row = state.work_index[name]
            if action == "evict":
                state.requeue(row)
            else:
                state.start(row, [state.node_index[place] for place in places])
        return state

    def teardown(self) -> None:
        if hasattr(self, "state"):
            while self.levels:
                self.leave(failing=False)
            assert bits(self.state) == self.before


TestTrials = Trials.TestCase
TestTrials.settings = settings(stateful_step_count=20)
