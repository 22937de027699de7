"""What is remembered from cycle to cycle, so that nobody is evicted for ever for the same thing.

Policy: who was sent away so that a vCluster has its nodes back does not take them again by its class from who is at
home there: each would evict the other again and again. Core: for whom victims were taken who did not make it fit,
nobody is taken once more.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from cede.model.plan import Decision
from cede.state.columns import NONE, Bools
from cede.state.state import State

KEY = "sent_home"
SHORT = "fell_short"


def homes_of(memory: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The vClusters that took their nodes back from this workload."""
    found: tuple[str, ...] = tuple(sorted(memory.get(KEY, {}).get(name, ())))
    return found


def remember(memory: dict[str, Any], state: State, made: Decision) -> None:
    """Whom this decision sends away from nodes of the claimant's vCluster."""
    queue = NONE if made.workload is None else int(state.work.queue[state.work_index[made.workload]])
    if queue == NONE:
        return
    for name in [name for name in memory.get(KEY, {}) if name not in state.work_index]:
        del memory[KEY][name]
    for victim in made.victims:
        if victim.reason == "reclaim":
            memory.setdefault(KEY, {}).setdefault(victim.workload, set()).add(state.tree.names[queue])


def fell_short(memory: Mapping[str, Any], name: str) -> bool:
    """Whether victims were taken for this workload before and did not make it fit."""
    return name in memory.get(SHORT, ())


def remember_short(memory: dict[str, Any], state: State, name: str) -> None:
    memory[SHORT] = {known for known in memory.get(SHORT, ()) if known in state.work_index} | {name}


def at_home(state: State, homes: tuple[str, ...]) -> Bools:
    """Workloads of these vClusters that stand on nodes of their own."""
    residents, work = state.residents, state.work
    rows = [state.tree.index[home] for home in homes if home in state.tree.index]
    works, nodes = residents.work[: residents.size], residents.node[: residents.size]
    own = (residents.count[: residents.size] > 0) & (state.nodes.home[nodes] == work.queue[works])
    own &= np.isin(work.queue[works], rows)
    found = np.zeros(work.size, np.bool_)
    found[works[own]] = True
    return found


def lasting(memory: Mapping[str, Any]) -> Hashable:
    """What decides for ever: a state comes back only if this does too."""
    sent = {(name, home) for name, homes in memory.get(KEY, {}).items() for home in homes}
    return frozenset(sent | {(name, "") for name in memory.get(SHORT, ())})


def kept(state: State, memory: Mapping[str, Any], _at: int | None) -> dict[str, Any]:
    """What outlives a restart: of workloads that are still there."""
    found = {name: sorted(homes) for name, homes in memory.get(KEY, {}).items() if name in state.work_index}
    short = sorted(name for name in memory.get(SHORT, ()) if name in state.work_index)
    return ({KEY: dict(sorted(found.items()))} if found else {}) | ({SHORT: short} if short else {})


def recalled(_state: State, said: Mapping[str, Any]) -> dict[str, Any]:
    """The memory of which this was kept."""
    found: dict[str, Any] = {}
    if KEY in said:
        found[KEY] = {name: set(homes) for name, homes in said[KEY].items()}
    if SHORT in said:
        found[SHORT] = set(said[SHORT])
    return found
