"""Whatever happens, in whatever order, the columns are those of the cluster as it now is."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import DataObject

from cede.doctrines.document import parse_document
from cede.engine.events import (
    Ended,
    Event,
    Marked,
    NodeMarked,
    NodePut,
    QueuePut,
    Requeued,
    Started,
    Submitted,
    Ticked,
    apply,
)
from cede.engine.ledger import Ledger
from cede.model.cluster import Node, Queue, Workload
from cede.model.errors import CedeError
from cede.state.admission import admitted_parts, asks_of
from cede.state.build import build
from cede.state.snapshot import snapshot
from cede.state.static import holds
from tests.plain_cluster import PlainCluster
from tests.state_views import as_saved, bits, meaning, unsound, view
from tests.strategies import Document, clusters, constrain, draw_node, draw_queue, draw_workload
from tests.strategy_admission import draw_counts, draw_flavors
from tests.strategy_values import words

T = TypeVar("T")

MARKS = st.sampled_from(("running", "checkpointing", "preempting", "reserved"))
FINER = words({"cpu": "100m"}, {"cpu": "1u"}, {"memory": "512Ki", "cpu": 1}, {"tpu": 1}, {"cpu@spot": "250m", "tpu": 2})
STARTS = (
    clusters(None, tidy=False, most_workloads=5, instants=False)
    | clusters("backendai", most_workloads=5)
    | clusters("kueue", most_workloads=5)
    | clusters("kueue", most_workloads=5, tidy=False)
)


class Events(RuleBasedStateMachine):
    """Events of every kind on a small random cluster; names are few, so that they come again."""

    @initialize(document=STARTS)
    def start_from(self, document: Document) -> None:
        parsed = parse_document(document)
        self.state = build(parsed)
        self.plain = PlainCluster(parsed)

    # -- what there is --------------------------------------------------------------------------------------------

    def pick(self, data: DataObject, names: list[T]) -> T:
        return data.draw(st.sampled_from(names))

    def maybe(self, data: DataObject) -> bool:
        return data.draw(st.booleans())

    def holding(self, yes: bool = True) -> list[str]:
        work = self.state.work
        return sorted(n for n, row in self.state.work_index.items() if holds(int(work.state[row])) is yes)

    @property
    def nodes(self) -> list[str]:
        return sorted(self.state.node_index)

    @property
    def queues(self) -> list[str]:
        return sorted(self.state.tree.index)

    def happens(self, event: Event) -> None:
        apply(self.state, event)
        self.plain.happens(event)

    def cannot(self, event: Event) -> None:
        before = bits(self.state)
        with pytest.raises(CedeError):
            apply(self.state, event)
        assert bits(self.state) == before

    # -- workloads ------------------------------------------------------------------------------------------------

    @rule(data=st.data(), number=st.integers(0, 9))
    def submit(self, data: DataObject, number: int) -> None:
        entry = draw_workload(data.draw, f"w{number}", self.state.instant, tidy=False)
        if self.maybe(data) and "requests" in entry:
            entry["requests"] = data.draw(FINER)
        if self.queues and self.maybe(data):
            entry["queue"] = self.pick(data, self.queues)
        if self.maybe(data):
            constrain(data.draw, entry, self.nodes)
        if self.maybe(data):
            entry["state"] = data.draw(MARKS)
            members = Workload.model_validate(entry).size
            if self.nodes and self.maybe(data):
                entry["nodes"] = [self.pick(data, self.nodes) for _ in range(members)]
        event = Submitted(Workload.model_validate(entry))
        if entry["name"] in self.state.work_index:
            self.cannot(event)
        else:
            self.happens(event)

    @precondition(lambda self: self.holding(False))
    @rule(data=st.data())
    def start(self, data: DataObject) -> None:
        name = self.pick(data, self.holding(False))
        row = self.state.work_index[name]
        given: tuple[dict[str, Any], dict[str, int]] = ({}, {})
        if self.maybe(data):
            given = draw_flavors(data.draw, self.state, row), draw_counts(data.draw, self.state, row)
        if row in self.state.admitted:
            self.unadmit(name)
        parts = admitted_parts(self.state, row, *given)
        members = int(self.state.work.members[row]) if parts is None else sum(part.count for part in parts)
        places = [self.pick(data, self.nodes) for _ in range(members)] if self.nodes else []
        if len(places) > 1 and self.maybe(data):
            self.cannot(Started(name, tuple(places[1:]), *given))
        self.happens(Started(name, tuple(places), *given))

    @precondition(lambda self: self.holding(False))
    @rule(data=st.data())
    def admit(self, data: DataObject) -> None:
        name = self.pick(data, self.holding(False))
        row = self.state.work_index[name]
        before = asks_of(self.state, row)
        given = draw_flavors(data.draw, self.state, row), draw_counts(data.draw, self.state, row)
        parts = admitted_parts(self.state, row, *given)
        if parts is None:
            return
        self.state.admit(row, parts)
        assert asks_of(self.state, row) == before
        assert len(self.state.members_of(row)) == sum(part.count for part in parts)

    @precondition(lambda self: self.waiting_admitted())
    @rule(data=st.data())
    def give_up_admission(self, data: DataObject) -> None:
        self.unadmit(self.pick(data, self.waiting_admitted()))

    def waiting_admitted(self) -> list[str]:
        return [name for name in self.holding(False) if self.state.work_index[name] in self.state.admitted]

    def unadmit(self, name: str) -> None:
        before = view(self.state)["workloads"][name]
        self.state.unadmit(self.state.work_index[name])
        assert view(self.state)["workloads"][name] == before

    @precondition(lambda self: self.holding())
    @rule(data=st.data(), word=MARKS)
    def mark(self, data: DataObject, word: str) -> None:
        self.happens(Marked(self.pick(data, self.holding()), word))

    @precondition(lambda self: self.holding())
    @rule(data=st.data(), preempted=st.booleans())
    def requeue(self, data: DataObject, preempted: bool) -> None:
        self.happens(Requeued(self.pick(data, self.holding()), preempted))

    @precondition(lambda self: self.state.work_index)
    @rule(data=st.data())
    def end(self, data: DataObject) -> None:
        self.happens(Ended(self.pick(data, sorted(self.state.work_index))))

    # -- nodes and queues -----------------------------------------------------------------------------------------

    @rule(data=st.data(), number=st.integers(0, 4))
    def put_node(self, data: DataObject, number: int) -> None:
        name = self.pick(data, [*self.nodes, f"n{number}"])
        entry = draw_node(data.draw, name, self.state.instant, tidy=False, count=False)
        if self.maybe(data):
            entry["capacity"] = data.draw(FINER)
        if self.queues and self.maybe(data):
            entry["home"] = self.pick(data, self.queues)
        if self.state.work_index and self.maybe(data):
            entry["reserved_for"] = self.pick(data, sorted(self.state.work_index))
        self.happens(NodePut(Node.model_validate(entry)))

    @precondition(lambda self: self.nodes)
    @rule(data=st.data(), word=st.sampled_from(("ready", "cordoned", "down")))
    def mark_node(self, data: DataObject, word: str) -> None:
        self.happens(NodeMarked(self.pick(data, self.nodes), word))

    @rule(data=st.data(), number=st.integers(0, 4))
    def put_queue(self, data: DataObject, number: int) -> None:
        name = self.pick(data, [*self.queues, f"q{number}"])
        parent = self.pick(data, [None, *self.queues, "above", "root"])
        entry = draw_queue(data.draw, name, parent, None, None, self.state.instant)
        if self.maybe(data):
            entry["max"] = data.draw(FINER)
        if self.maybe(data):
            entry["partition"] = data.draw(st.sampled_from(("default", "blue", "green")))
        event = QueuePut(Queue.model_validate(entry))
        if parent is not None and self.is_above(name, parent):
            self.cannot(event)
        else:
            self.happens(event)

    def is_above(self, name: str, below: str) -> bool:
        tree = self.state.tree
        return below == name or (below in tree.index and name in [tree.names[q] for q in tree.path(tree.index[below])])

    @rule(seconds=st.integers(0, 3))
    def tick(self, seconds: int) -> None:
        self.happens(Ticked(self.state.now + seconds * 10**6))

    # -- what cannot be -------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def refer_to_nobody(self, data: DataObject) -> None:
        work: dict[str, Any] = {"name": "stray", "requests": {"fpga": 1, "cpu": "1n"}}
        wrong: tuple[Event, ...] = (
            Submitted(Workload.model_validate(work | {"queue": "nowhere"})),
            Submitted(Workload.model_validate(work | {"required_node": "nowhere"})),
            Submitted(Workload.model_validate(work | {"constraints": {"nodes": ["nowhere"]}})),
            Submitted(Workload.model_validate(work | {"state": "running", "nodes": ["nowhere"]})),
            Submitted(Workload.model_validate(work | {"requests": {"memory": 2**63 - 1, "cpu": "1n"}, "members": 3})),
            NodePut(Node.model_validate({"name": "stray", "capacity": {"fpga": 1}, "home": "nowhere"})),
            NodePut(Node.model_validate({"name": "stray", "capacity": {"fpga": 1}, "reserved_for": "nobody"})),
            Started("nobody"),
            Marked("nobody", "running"),
            Requeued("nobody"),
            Ended("nobody"),
            NodeMarked("nowhere", "down"),
        )
        self.cannot(data.draw(st.sampled_from(wrong)))

    # -- what is always true ----------------------------------------------------------------------------------------

    @invariant()
    def hangs_together(self) -> None:
        if hasattr(self, "state"):
            assert unsound(self.state) == []

    @invariant()
    def is_the_state_of_its_snapshot(self) -> None:
        if hasattr(self, "state"):
            again = build(snapshot(self.state))
            assert as_saved(again) == as_saved(self.state)
            if not self.state.admitted:
                assert view(again) == view(self.state)

    @invariant()
    def is_what_the_events_say(self) -> None:
        if hasattr(self, "state"):
            seen, wanted = meaning(snapshot(self.state)), meaning(self.plain.document())
            # A queue that is named but not listed may be listed without anything.
            seen["queues"] = [queue for queue in seen["queues"] if queue["name"] in self.plain.queues]
            assert seen == wanted

    @invariant()
    def agrees_with_the_ledger(self) -> None:
        if hasattr(self, "state"):
            state = self.state
            ledger = Ledger(state)
            for name, row in state.node_index.items():
                assert ledger.free[name] == dict(enumerate(state.nodes.free[:, row].tolist()))
            for row in state.tree.index.values():
                assert ledger.usage[row] == dict(enumerate(state.tree.usage[:, row].tolist()))


TestEvents = Events.TestCase
TestEvents.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=20)
