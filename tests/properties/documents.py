"""Random clusters for the properties of plans, and what is done to them: shuffled, thinned out, compared by the bit."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import cede
from cede.state.state import State
from tests.referees.small import small_clusters
from tests.strategies import clusters

Document = dict[str, Any]

EDITIONS = ("bep-1014", "26.8")
SECTIONS = ("nodes", "queues", "apps", "tenants", "policies", "workloads")


def documents(edition: str) -> SearchStrategy[Document]:
    """Crowded small clusters, where much is preempted, and odd ones, where much is refused."""
    crowded = small_clusters(edition)
    return st.one_of(crowded, crowded, crowded, clusters("backendai", edition))


def shuffled(document: Document, random: Random) -> Document:
    """The same cluster with every list of entries and every object in another order."""
    mixed: Document = _reordered(document, random)
    for section in SECTIONS:
        random.shuffle(mixed.get(section, []))
    return mixed


def _reordered(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [_reordered(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    random.shuffle(keys)
    return {key: _reordered(value[key], random) for key in keys}


def without(document: Document, names: Iterable[str]) -> Document:
    """The same cluster after these workloads ended; a node they held is nobody's."""
    gone = set(names)
    left = copy.deepcopy(document)
    left["workloads"] = [workload for workload in left["workloads"] if workload["name"] not in gone]
    for node in left["nodes"]:
        if node.get("reserved_for") in gone:
            del node["reserved_for"]
    return left


def alone(document: Document, name: str) -> cede.Decision:
    """What is decided about one workload."""
    [made] = cede.plan(cede.load(document), only=name).decisions
    return made


def fingerprint(state: State) -> list[object]:
    """Everything that a decision could have changed, to the last bit."""
    found: list[object] = [state.version, state.now, sorted(state.pending), state.work_names, state.uids]
    for table in (state.work, state.nodes, state.residents, state.tree):
        for name in (*table.scalars, *table.vectors):
            column = getattr(table, name)
            assert isinstance(column, np.ndarray)
            found.append((name, column.shape, column.tobytes()))
    return found
