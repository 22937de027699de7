"""What YTsaurus remembers from cycle to cycle, and what of that outlives a restart, as plain JSON.

Only clocks that run are kept, and those that the file starts though they run no more. How an element starves is kept
beside its clock. A cluster file has no key for it: there it follows from the clock once more, which gives the same
unless the timeout became longer in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.ytsaurus.start_candidates import StartCandidates
from cede.doctrines.ytsaurus.starvation import NOT, Key, Memory, NodeClocks
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import NEVER, NONE, Int64s
from cede.state.state import State

NAME = "ytsaurus"
ROOT = "<Root>"
SINCE, HISTORIC, VOLUME = "below_fair_share_since", "historic_usage_share", "accumulated_resource_volume"
Group = list[Any]
"""A time and the names of nodes, as JSON has it."""
TRIED, OVER = "last_preemptive_attempt", "overcommitted_since"


@dataclass(slots=True)
class CycleMemory(Memory):
    """The clocks, and what is only kept to be quick: shares and candidates that follow the state's journal."""

    update: Update | None = None
    candidates: StartCandidates | None = None
    following: bool = False
    """Whether the journal tells all that happened since `update`."""


def memory_of(cycle: Cycle) -> CycleMemory:
    """The memory of a run of cycles; of a single plan, an empty one."""
    memory = cycle.memory.get(NAME)
    if not isinstance(memory, CycleMemory):
        memory = cycle.memory[NAME] = CycleMemory()
    return memory


def kept(state: State, memory: Mapping[str, Any], at: int | None) -> dict[str, Any]:
    """Clocks in microseconds; with a time, everything as a plan at that time finds it, in the words of a file."""
    own = memory.get(NAME)
    if not isinstance(own, CycleMemory):
        return {}
    if at is not None and own.updated != at and (own.volumes or own.historic):
        own = own.copy()
        Update(state, own)
    started = {app.name for app in state.static.apps if SINCE in app.settings}
    document: dict[str, Any] = {
        "apps": _elements(own, _operations(state, own), started),
        "queues": _elements(own, {(name,) for name in state.tree.index}, _started(state)),
        "nodes": {} if own.nodes is None else _nodes(state, own.nodes, at),
    }
    if at is not None:
        document["queues"] = _with_volumes(document["queues"], own)
    elif own.volumes or own.historic:
        document |= {"volumes": dict(own.volumes), "spent": dict(own.spent), "resources": dict(own.resources)}
        document["updated"] = own.updated
    return {key: value for key, value in document.items() if value or key == "updated"}


def copied(memory: Mapping[str, Any]) -> dict[str, Any]:
    """The clocks once more; shares are worked out from the state."""
    own = memory.get(NAME)
    if not isinstance(own, CycleMemory):
        return {}
    return {NAME: replace(own.copy(), nodes=deepcopy(own.nodes), update=None, following=False)}


def recalled(state: State, told: Mapping[str, Any]) -> dict[str, Any]:
    """The memory of which this was kept; elements and nodes that are no more are left out by the next update."""
    memory = CycleMemory(
        volumes={pool: list(volume) for pool, volume in told.get("volumes", {}).items()},
        spent={pool: list(share) for pool, share in told.get("spent", {}).items()},
        resources=dict(told.get("resources", {})),
        updated=told.get("updated"),
        nodes=NodeClocks(state),
    )
    for one in told.get("apps", ()):
        _recall(memory, (one.get("queue", ROOT), one["name"]), one)
    for one in told.get("queues", ()):
        _recall(memory, (one["name"],), one)
    assert memory.nodes is not None
    clocks = told.get("nodes", {})
    for values, groups in ((memory.nodes.tried, clocks.get(TRIED, ())), (memory.nodes.over, clocks.get(OVER, ()))):
        for at, names in groups:
            rows = [state.node_index[name] for name in names if name in state.node_index]
            values[rows] = NEVER if at is None else at
    return {NAME: memory}


def _recall(memory: Memory, key: Key, told: Mapping[str, Any]) -> None:
    if SINCE in told:
        memory.known.add(key)
        if told[SINCE] is not None:
            memory.since[key], memory.starvation[key] = told[SINCE], told.get("starvation", NOT)
    if HISTORIC in told:
        memory.historic[key] = told[HISTORIC]


# -- pools and operations ----------------------------------------------------------------------------------------------


def _elements(memory: Memory, keys: Iterable[Key], started: set[str]) -> list[dict[str, Any]]:
    """What is known of each; `started` are those whose clock the file starts: if it does not run, that is known too."""
    elements = []
    for key in sorted(keys):
        told: dict[str, Any] = {"name": key[-1]}
        if len(key) > 1 and key[0] != ROOT:
            told["queue"] = key[0]
        if key in memory.since:
            told[SINCE] = memory.since[key]
            if memory.starvation.get(key, NOT) != NOT:
                told["starvation"] = memory.starvation[key]
        elif key[-1] in started and key in memory.known:
            told[SINCE] = None
        if key in memory.historic:
            told[HISTORIC] = memory.historic[key]
        if told.keys() - {"name", "queue"}:
            elements.append(told)
    return elements


def _operations(state: State, memory: Memory) -> set[Key]:
    keys: set[Key] = {key for key in memory.since if len(key) == 2}
    if state.static.apps:
        listed = {app.name for app in state.static.apps}
        keys |= {key for key in memory.known if len(key) == 2 and key[1] in listed}
    if memory.historic:
        keys |= _with_work(state)
    return keys


def _with_work(state: State) -> set[Key]:
    """Operations that have workloads; of the others, what they used of late is forgotten."""
    work, names = state.work, state.tree.names
    return {
        (ROOT if (queue := int(work.queue[row])) == NONE else names[queue], state.apps.name(int(work.app[row])) or name)
        for name, row in state.work_index.items()
    }


def _started(state: State) -> set[str]:
    return {name for name, row in state.tree.index.items() if SINCE in state.tree.settings(row)}


def _with_volumes(queues: list[dict[str, Any]], memory: Memory) -> list[dict[str, Any]]:
    by_name = {told["name"]: told for told in queues}
    for pool, volume in memory.volumes.items():
        amounts = {name: count * nano for (name, nano), count in zip(memory.resources.items(), volume, strict=True)}
        by_name[pool] = by_name.get(pool, {"name": pool}) | {VOLUME: amounts}
    return [by_name[name] for name in sorted(by_name)]


# -- nodes -------------------------------------------------------------------------------------------------------------


def _nodes(state: State, clocks: NodeClocks, at: int | None) -> dict[str, list[Group]]:
    size = len(clocks.tried)
    order = np.argsort(state.node_rank()[:size], kind="stable")
    tried, _ = clocks.settled(state, at)
    given = state.nodes.last_preemptive_attempt[:size], state.nodes.overcommitted_since[:size]
    clocks_by_name = {
        TRIED: _groups(state, order, tried, given[0]),
        OVER: _groups(state, order, clocks.over, given[1]),
    }
    return {key: groups for key, groups in clocks_by_name.items() if groups}


def _groups(state: State, order: Int64s, clock: Int64s, given: Int64s) -> list[Group]:
    """By time the nodes with that time, for most of them have the same; none: the file's clock runs no more."""
    rows = order[(clock[order] != NEVER) | (given[order] != NEVER)]
    groups = []
    for time in np.unique(clock[rows]).tolist():
        names = [state.node_names[row] for row in rows[clock[rows] == time].tolist()]
        groups.append([None if time == NEVER else time, names])
    return groups
