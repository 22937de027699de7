"""What is remembered from cycle to cycle, so that no work is evicted for ever for the same thing.

Policy: work that was sent away so that a vCluster has its nodes back takes nothing there by its class any more: each
would evict the other again and again. Core: work that was taken for a claimant and did not make it fit is not taken for
it again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from cede.model.plan import Decision
from cede.state.columns import NONE, Bools
from cede.state.state import State

KEY = "sent_home"
SHORT = "fell_short"


def homes_of(memory: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The vClusters that took their nodes back from this workload."""
    homes: tuple[str, ...] = tuple(sorted(memory.get(KEY, {}).get(name, ())))
    return homes


def remember(memory: dict[str, Any], state: State, made: Decision) -> None:
    """Whom this decision sends away from nodes of the claimant's vCluster."""
    if not memory.get(KEY) and not any(victim.reason == "reclaim" for victim in made.victims):
        return
    queue = NONE if made.workload is None else int(state.work.queue[state.work_index[made.workload]])
    if queue == NONE:
        return
    for name in [name for name in memory.get(KEY, {}) if not _is_there(state, name)]:
        del memory[KEY][name]
    for victim in made.victims:
        if victim.reason == "reclaim":
            memory.setdefault(KEY, {}).setdefault(victim.workload, set()).add(state.tree.names[queue])


def fell_short(memory: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Who was taken for this workload before without making it fit."""
    return tuple(sorted(in_vain(memory, name)))


def in_vain(memory: Mapping[str, Any], name: str) -> Set[str]:
    """The same in no order; what is remembered later is added to it."""
    names: Set[str] = memory.get(SHORT, {}).get(name, frozenset())
    return names


def remember_short(memory: dict[str, Any], state: State, name: str, victims: Iterable[str]) -> None:
    known = memory.setdefault(SHORT, {})
    for gone in [one for one in known if not _is_there(state, one)]:
        del known[gone]
    own = known.setdefault(name, set())
    own.difference_update([one for one in own if not _is_there(state, one)])
    own.update(victims)


def on_nodes_of(state: State, homes: tuple[str, ...]) -> Bools:
    """Workloads that stand on nodes of these vClusters."""
    residents = state.residents
    rows = [state.tree.index[home] for home in homes if home in state.tree.index]
    works, nodes = residents.work[: residents.size], residents.node[: residents.size]
    there = (residents.count[: residents.size] > 0) & np.isin(state.nodes.home[nodes], rows)
    marked = np.zeros(state.work.size, np.bool_)
    marked[works[there]] = True
    return marked


def lasting(memory: Mapping[str, Any]) -> Hashable:
    """What decides for ever: a state comes back only if this does too."""
    sent: set[Hashable] = {(name, home) for name, homes in memory.get(KEY, {}).items() for home in homes}
    short: set[Hashable] = {
        (name, victim, SHORT) for name, victims in memory.get(SHORT, {}).items() for victim in victims
    }
    return frozenset(sent | short)


def copied(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Who was sent away, and from where, once more."""
    return {key: {name: set(of) for name, of in memory[key].items()} for key in (KEY, SHORT) if key in memory}


def kept(state: State, memory: Mapping[str, Any], _at: int | None) -> dict[str, Any]:
    """What outlives a restart: of workloads that are still there."""
    said: dict[str, Any] = {}
    for key in (KEY, SHORT):
        names = {name: sorted(of) for name, of in memory.get(key, {}).items() if _is_there(state, name)}
        if names:
            said[key] = dict(sorted(names.items()))
    return said


def _is_there(state: State, name: str) -> bool:
    """Whether it has not ended; one that somebody suspended comes back."""
    return name in state.work_index or name in state.away


def recalled(_state: State, said: Mapping[str, Any]) -> dict[str, Any]:
    """The memory of which this was kept."""
    return {key: {name: set(of) for name, of in said[key].items()} for key in (KEY, SHORT) if key in said}
