"""What happens to a cluster, as facts, and the one place where a fact changes the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from cede.model.cluster import Node, Queue, Workload
from cede.model.errors import CedeError
from cede.model.value_class import value
from cede.state.admission import admitted_parts
from cede.state.columns import NODE_STATES, PENDING, RESERVED, RUNNING, STATES, SUSPENDED
from cede.state.state import State
from cede.state.static import holds


@value
class Submitted:
    workload: Workload


@value
class Started:
    """A pending workload took its room; one node a member, none where only quota is decided.

    `flavors` and `counts` are a decision's: of each resource or pod set, and members where fewer were admitted.
    `held`: the room is only kept for it, while others leave.
    """

    workload: str
    nodes: tuple[str, ...] = ()
    flavors: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    held: bool = False


@value
class Entered:
    """A workload took the room that was held for it."""

    workload: str


@value
class Marked:
    """A workload that holds room is now checkpointing, preempting or running again."""

    workload: str
    state: str


@value
class Requeued:
    """A workload gave its room back and waits again, with its old submission time.

    `suspended`: with a checkpoint to resume from.
    """

    workload: str
    preempted: bool = True
    suspended: bool = False


@value
class Saved:
    """A workload has a usable checkpoint of time `at`, and one takes so long to write; each where it is known."""

    workload: str
    at: int | None = None
    takes: int | None = None


@value
class Ended:
    """A workload is over, however it ended."""

    workload: str


@value
class NodePut:
    """A node joined, or its entry changed."""

    node: Node


@value
class NodeMarked:
    """A node is ready, cordoned or down."""

    node: str
    state: str


@value
class QueuePut:
    """A queue joined, or its limits or settings changed."""

    queue: Queue


@value
class Ticked:
    """Time went on."""

    now: int


Event = Submitted | Started | Entered | Marked | Requeued | Saved | Ended | NodePut | NodeMarked | QueuePut | Ticked


def apply(state: State, event: Event) -> None:
    """Bring the columns up to date with one fact; a fact that cannot be is an error and changes nothing."""
    match event:
        case Submitted(workload):
            state.submit(workload)
        case Started(name, nodes, flavors, counts, held):
            row = _row(state, name)
            _expect(name, state.code_of(row) <= SUSPENDED, "is not waiting")
            places = [_node(state, node) for node in nodes]
            parts = admitted_parts(state, row, flavors, counts)
            state.start(row, places, state=RESERVED if held else RUNNING, parts=parts)
        case Entered(name):
            row = _row(state, name)
            _expect(name, state.code_of(row) == RESERVED, "has no room that is held for it")
            state.begin(row, state.now)
            state.mark(row, RUNNING)
        case Marked(name, word):
            row = _row(state, name)
            code = _code(STATES, word, "state of a workload")
            _expect(name, holds(state.code_of(row)) and holds(code), "holds no room")
            state.mark(row, code)
        case Requeued(name, preempted, suspended):
            row = _row(state, name)
            _expect(name, holds(state.code_of(row)), "holds no room")
            state.requeue(row, state=SUSPENDED if suspended else PENDING, preempted=preempted)
        case Saved(name, at, takes):
            state.save(_row(state, name), at, takes)
        case Ended(name):
            state.forget(_row(state, name))
        case NodePut(node):
            state.put_node(node)
        case NodeMarked(name, word):
            state.set_node_state(_node(state, name), _code(NODE_STATES, word, "state of a node"))
        case QueuePut(queue):
            state.put_queue(queue)
        case Ticked(now):
            if now < state.now:
                raise CedeError(f"time goes on: {now} is before {state.now}")
            state.now = now


def _code(words: tuple[str, ...], word: str, what: str) -> int:
    if word not in words:
        raise CedeError(f"{word!r} is no {what}; there are {', '.join(words)}")
    return words.index(word)


def _row(state: State, name: str) -> int:
    if name not in state.work_index:
        raise CedeError(f"no workload is called {name!r}")
    return state.work_index[name]


def _node(state: State, name: str) -> int:
    if name not in state.node_index:
        raise CedeError(f"no node is called {name!r}")
    return state.node_index[name]


def _expect(name: str, holds_true: bool, complaint: str) -> None:
    if not holds_true:
        raise CedeError(f"{name} {complaint}")
