"""Random clusters for the properties of plans, and what is done to them: shuffled, thinned out, compared by the bit."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import cede
from cede.state.state import State
from tests.properties.kubernetes_clusters import kubernetes_clusters
from tests.properties.kueue_clusters import kueue_clusters, kueue_rushes
from tests.properties.kueue_duels import kueue_duels
from tests.properties.kueue_holds import kueue_holds
from tests.properties.kueue_nodes import kueue_on_nodes
from tests.properties.lattice_clusters import lattice_clusters
from tests.properties.ytsaurus_clusters import cluster as ytsaurus_cluster
from tests.properties.yunikorn_clusters import (
    yunikorn_clusters,
    yunikorn_daemons,
    yunikorn_quotas,
    yunikorn_rushes,
)
from tests.referees.small import small_clusters
from tests.strategies import clusters

Document = dict[str, Any]

EDITIONS = ("bep-1014", "26.8")
KUEUE = "0.20"
YUNIKORN = ("laws", "1.9")
YTSAURUS = ("docs", "25.4")
LATTICE = ("policy", "core")
KUBERNETES = "1.36"
EVERY = (*EDITIONS, KUEUE, *YUNIKORN, *YTSAURUS, *LATTICE, KUBERNETES)
DOCTRINES = {
    **dict.fromkeys(EDITIONS, "backendai"),
    KUEUE: "kueue",
    **dict.fromkeys(YUNIKORN, "yunikorn"),
    **dict.fromkeys(YTSAURUS, "ytsaurus"),
    **dict.fromkeys(LATTICE, "lattice"),
    KUBERNETES: "kubernetes",
}
SECTIONS = ("nodes", "queues", "apps", "tenants", "policies", "workloads")


def documents(edition: str) -> SearchStrategy[Document]:
    """Crowded small clusters, where much is preempted, and odd ones, where much is refused."""
    if edition == KUEUE:
        return st.one_of(
            *(kueue_clusters(), kueue_rushes(), kueue_duels(), kueue_holds()),
            *(rechecked(), kueue_on_nodes(), odd_clusters(edition)),
        )
    if edition in YUNIKORN:
        quotas = [yunikorn_quotas(), yunikorn_rushes()] if edition == "1.9" else []
        drawn = yunikorn_clusters(edition)
        return st.one_of(drawn, drawn, yunikorn_daemons(edition), *quotas, odd_clusters(edition))
    if edition in YTSAURUS:
        drawn = st.integers(0, 1_000_000).map(lambda seed: ytsaurus_cluster(seed, edition))
        return st.one_of(drawn, drawn, drawn, odd_clusters(edition))
    if edition in LATTICE:
        drawn = lattice_clusters(edition)
        return st.one_of(drawn, drawn, drawn, odd_clusters(edition))
    if edition == KUBERNETES:
        drawn = kubernetes_clusters()
        return st.one_of(drawn, drawn, odd_clusters(edition))
    crowded = small_clusters(edition)
    return st.one_of(crowded, crowded, crowded, odd_clusters(edition))


def odd_clusters(edition: str) -> SearchStrategy[Document]:
    """Clusters with a bit of everything that a file may say, decided as the doctrine says.

    Without nodes nothing happens under YTsaurus.
    """
    least = 1 if edition in YTSAURUS else 0
    return clusters(DOCTRINES[edition], edition, least_nodes=least).map(
        lambda document: {**document, "selection": "doctrine"}
    )


def rechecked() -> SearchStrategy[Document]:
    """Clusters with fair sharing whose final victims are checked again."""
    return kueue_duels(preemption="FairSharing").map(
        lambda document: {**document, "doctrine": {**document["doctrine"], "recheck_final_set": True}}
    )


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
            node.pop("reserved_since", None)
    return left


def at_its_turn(document: Document, plan: cede.Plan, name: str) -> Document:
    """The cluster as a waiting workload finds it when its turn comes, with nobody else waiting.

    Victims of earlier decisions are gone; in 26.8 they are on their way, and still there. What was started or holds
    room for its victims' sake is `checkpointing`, a state that holds room and gives way to nobody. A node kept for one
    who is not here any more stays kept.
    """
    left = copy.deepcopy(document)
    gone: set[str] = set()
    nodes: dict[str, list[str]] = {}
    for made in plan.decisions:
        if made.workload == name:
            break
        gone |= {victim.workload for victim in made.victims}
        if made.action in ("start", "preempt"):
            nodes[str(made.workload)] = list(made.nodes)
    keeper = {"name": "keeper of nodes", "state": "running"}
    stay: list[Document] = []
    for workload in left["workloads"]:
        if workload["name"] in nodes:
            placed = {"nodes": nodes[workload["name"]]} if nodes[workload["name"]] else {}
            stay.append({**workload, "state": "checkpointing", **placed})
        elif workload["name"] == name or workload.get("state", "pending") not in ("pending", "suspended"):
            stay.append(workload)
    if document["doctrine"].get("edition") == "26.8":
        stay = [{**workload, "state": "preempting"} if workload["name"] in gone else workload for workload in stay]
        gone = set()
    left["workloads"] = [workload for workload in stay if workload["name"] not in gone]
    names = {workload["name"] for workload in left["workloads"]}
    for node in left["nodes"]:
        if node.get("reserved_for", name) not in names:
            node["reserved_for"] = keeper["name"]
    left["workloads"].append(keeper)
    return left


def decision(document: Document, name: str) -> cede.Decision:
    """What is decided about one workload among all."""
    found = cede.plan(cede.load(document)).of(name)
    assert found is not None
    return found


def fingerprint(state: State) -> list[object]:
    """Everything that a decision could have changed, to the last bit."""
    found: list[object] = [state.version, state.now, sorted(state.pending), state.work_names, state.uids]
    for table in (state.work, state.nodes, state.residents, state.tree):
        for name in (*table.scalars, *table.vectors):
            column = getattr(table, name)
            assert isinstance(column, np.ndarray)
            found.append((name, column.shape, column.tobytes()))
    return found


def sentences(plan: cede.Plan) -> Iterator[tuple[str | None, str]]:
    """Every rule that a plan names, with its sentence."""
    for made in plan.decisions:
        yield made.rule, made.why
        yield from ((warning.rule, warning.why) for warning in made.warnings)
        yield from ((miss.rule, miss.why) for miss in made.nearest_miss)
        yield from ((candidate.rule, candidate.why) for candidate in made.candidates or ())
