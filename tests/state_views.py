"""States seen from outside: by names and in nano-units, or bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.state.admission import asks_of, load_of_row, standing_ask
from cede.state.amounts import is_odd
from cede.state.columns import NONE, STATES, UNSET, Names, Table
from cede.state.state import State
from cede.state.static import holds
from cede.state.tree import LIMITS
from cede.state.units import WHOLE, Units

View = dict[str, Any]
CACHES = ("_rows", "_node_rank", "shared", "journal", "templates", "_paths")
CODES = {"user": "users", "project": "projects", "domain": "domains", "tenant": "tenants", "app": "apps"}


def view(state: State) -> View:
    """Everything the state says, by names: equal for two states of one cluster, whatever their rows and units.

    Of a workload that is admitted and waits still, what it asks for: the admission is nothing that a file can say.
    """
    return {
        "now": state.now,
        "instant": state.instant,
        "static": state.static,
        "workloads": {name: _workload(state, row) for name, row in state.work_index.items()},
        "nodes": {name: _node(state, row) for name, row in state.node_index.items()},
        "queues": {name: _queue(state, row) for name, row in state.tree.index.items() if _matters(state, row)},
        "pending": {state.work_names[row] for row in state.pending},
        "reserved": {
            state.work_names[row]: {state.node_names[node] for node in nodes}
            for row, nodes in state.reservations.items()
        },
        "total": {state.units.names[c]: total for c, total in enumerate(state.units.total) if total},
    }


def _amounts(state: State, row: Iterable[int]) -> dict[str, int]:
    counts = list(row)
    return {"": counts[WHOLE], **state.units.amounts(counts)}


def _workload(state: State, row: int) -> View:
    work = state.work
    found = {name: getattr(work, name)[row].item() for name in work.scalars}
    found |= {name: getattr(state, names).name(found[name]) for name, names in CODES.items()}
    found["queue"] = None if found["queue"] == NONE else state.tree.names[found["queue"]]
    found["required_node"] = None if found["required_node"] == NONE else state.node_names[found["required_node"]]
    found["partition"] = state.partitions.names[found["partition"]]
    del found["resident"]
    residents = state.residents
    waits = row in state.admitted and not holds(found["state"])
    ask = state.admitted[row] if waits else standing_ask(state, row)
    odd = is_odd(ask.requests) if waits else row in state.odd_requests
    need = state.member_vector(ask.requests, found["exclusive"]) if waits else work.need[:, row]
    usage = state.units.vector(ask.usage) if waits else work.usage[:, row]
    found["members"] = ask.members
    return found | {
        "need": _amounts(state, need.tolist()),
        "usage": _amounts(state, usage.tolist()),
        "uid": state.uids[row],
        "nodes": state.nodes_of(row) if holds(found["state"]) else None,
        "parts": ask.parts,
        "odd_usage": ask.usage if row in state.odd_usages else None,
        "odd_requests": ask.requests if odd else None,
        "constraints": state.constraints.get(row),
        "residents": {
            state.node_names[residents.node[at]]: (
                int(residents.count[at]),
                _amounts(state, residents.amount[:, at].tolist()),
            )
            for at in state.residents_of(row)
        },
    }


def _node(state: State, row: int) -> View:
    nodes = state.nodes
    found: View = {name: getattr(nodes, name)[row].item() for name in nodes.scalars}
    found["partition"] = state.partitions.name(found["partition"])
    found["flavor"] = state.flavors.name(found["flavor"])
    found["home"] = None if found["home"] == NONE else state.tree.names[found["home"]]
    found["group"] = state.groups.name(found["group"])
    found["labels"] = dict(state.labels.sets[found["labels"]])
    found["reserved_for"] = None if found["reserved_for"] == NONE else state.work_names[found["reserved_for"]]
    works = {state.work_names[state.residents.work[at]] for at in state.node_residents[row]}
    odd = state.odd_nodes.get(row)
    found |= {"residents": works, "odd": odd and (odd.capacity, odd.occupied, odd.flavor)}
    return found | {name: _amounts(state, getattr(nodes, name)[:, row].tolist()) for name in nodes.vectors}


def _matters(state: State, row: int) -> bool:
    """Whether the queue has an entry or is named by anything: one that nobody names any more may be forgotten."""
    if state.tree.listed[row] or row in state.tree.parent[: state.tree.size].tolist():
        return True
    named = any(app.queue == state.tree.names[row] for app in state.static.apps)
    return named or row in state.work.queue.tolist() or row in state.nodes.home.tolist()


def _queue(state: State, row: int) -> View:
    tree = state.tree
    above = int(tree.parent[row])
    # A bare entry and none at all mean the same: default partition, no limits, no settings.
    partition = max(int(tree.partition[row]), 0)
    found: View = {
        "parent": None if above == NONE else tree.names[above],
        "partition": state.partitions.names[partition],
        "over_limit_since": int(tree.over_limit_since[row]),
        "settings": tree.settings(row),
        "weight": getattr(tree.documents[row], "weight", None),
        "groups": getattr(tree.documents[row], "resource_groups", None),
        "usage": _amounts(state, tree.usage[:, row].tolist()),
    }
    for name in LIMITS:
        limits = enumerate(getattr(tree, name)[:, row].tolist())
        found[name] = {state.units.names[c]: v * state.units.nano[c] for c, v in limits if v != UNSET}
    return found


def as_saved(state: State) -> View:
    """What a state says that its file says too: in which flavors members stand is seen by their usage alone.

    A workload that was admitted with fewer members than it asked for is one that asked for so many.
    """
    seen = view(state)
    del seen["total"]
    for name, workload in seen["workloads"].items():
        row = state.work_index[name]
        for key in ("odd_usage", "odd_requests", "usage_given", "parts", "members", "need"):
            del workload[key]
        counts = [count for _, count in standing_ask(state, row).sizes]
        if row in state.admitted and not holds(workload["state"]):
            counts = [part.count for part in asks_of(state, row)]
        asks = zip(asks_of(state, row), counts, strict=True)
        workload["asks"] = [(part.name, count, _plain(part.requests)) for part, count in asks]
        workload["residents"] = {on: (count, _plain(held)) for on, (count, held) in workload["residents"].items()}
    for node in seen["nodes"].values():
        node |= {key: _plain(node[key]) for key in ("used", "leaving", "held", "free")}
    return seen


def _plain(amounts: Mapping[str, int]) -> dict[str, int]:
    """By resource; a member is counted by its plain name whatever its flavor, a request by either."""
    plain = {name: nano for name, nano in amounts.items() if "@" not in name}
    if "" not in amounts:
        for name, nano in amounts.items():
            resource, at, _ = name.partition("@")
            plain[resource] = plain.get(resource, 0) + (nano if at else 0)
    return plain


def unsound(state: State) -> list[str]:
    """What does not hang together: sums against their parts, and every reference against what it refers to."""
    found: list[str] = []
    nodes, residents, work = state.nodes, state.residents, state.work
    free = nodes.capacity - nodes.occupied - nodes.used - nodes.booked - np.maximum(nodes.leaving, nodes.held)
    found += ["free"] * (not np.array_equal(nodes.free, free))
    found += ["booked"] * bool(nodes.booked.any())
    found += ["names"] * ({n: state.work_names[row] for n, row in state.work_index.items()} != _own(state.work_index))
    found += ["nodes"] * ({n: state.node_names[row] for n, row in state.node_index.items()} != _own(state.node_index))
    standing = [at for row in state.work_index.values() for at in state.residents_of(row)]
    listed = [at for on_node in state.node_residents for at in on_node]
    found += ["residents"] * (sorted(standing) != sorted(listed) or len(set(listed)) < len(listed))
    found += ["places"] * any(int(residents.node[at]) != n for n, on in enumerate(state.node_residents) for at in on)
    rows = range(residents.size)
    found += ["unused"] * (sorted(set(rows) - set(listed)) != sorted(set(residents.unused)))
    found += ["blank"] * bool(residents.amount[:, residents.unused].any() or residents.count[residents.unused].any())
    gone = set(range(work.size)) - set(state.work_index.values())
    found += ["gone"] * (gone != set(work.unused) or any(STATES[work.state[row]] != "gone" for row in gone))
    waiting = {row for row in state.work_index.values() if not holds(int(work.state[row]))}
    found += ["pending"] * (waiting != state.pending)
    kept = {(int(row), node) for node, row in enumerate(nodes.reserved_for[: nodes.size]) if row != NONE}
    found += ["kept"] * (kept != {(row, node) for row, on in state.reservations.items() for node in on})
    members = {row: Counter(places) for row, places in state.placed.items()}
    standing_on = {row: {residents.node[at]: residents.count[at] for at in state.residents_of(row)} for row in members}
    found += ["placed"] * (members != standing_on or not members.keys() <= state.parts.keys() - waiting)
    sides: tuple[dict[int, Any], ...] = (state.parts, state.placed, state.constraints, state.admitted)
    found += ["sides"] * any(row in gone for side in (*sides, state.odd_requests, state.odd_usages) for row in side)
    found += ["members"] * any(len(state.members_of(row)) != work.members[row] for row in state.work_index.values())
    families = ((state.units.index[name], columns) for name, columns in state.units.flavored.items())
    found += ["units"] * any(state.units.nano[plain] != state.units.nano[c] for plain, cs in families for c in cs)
    found += ["total"] * (_known_in_all(state) != {c: total for c, total in enumerate(state.units.total) if total})
    return found


def _known_in_all(state: State) -> dict[int, int]:
    """By column, what all that is there adds up to."""
    total: Counter[str] = Counter()
    for row in state.work_index.values():
        total.update(load_of_row(state, row))
    for row in state.node_index.values():
        both = state.nodes.capacity[:, row] + state.nodes.occupied[:, row]
        total.update(_amounts(state, both.tolist()))
    return {state.units.index[name]: nano for name, nano in total.items() if nano}


def _own(index: dict[str, int]) -> dict[str, str]:
    return {name: name for name in index}


def bits(thing: object) -> Any:
    """Everything inside, down to the last bit of the last array, as plain values that later changes do not reach."""
    if isinstance(thing, np.ndarray):
        return (str(thing.dtype), thing.shape, thing.tobytes())
    if isinstance(thing, dict):
        return [(bits(key), bits(value)) for key, value in thing.items()]
    if isinstance(thing, set | frozenset):
        return {bits(item) for item in thing}
    if isinstance(thing, list | tuple):
        return tuple(bits(item) for item in thing)
    if isinstance(thing, State | Table | Names | Units):
        return {name: bits(value) for name, value in vars(thing).items() if name not in CACHES}
    return thing


def meaning(document: ClusterFile) -> dict[str, Any]:
    """A document with every default filled in and every order that means nothing undone."""
    full: dict[str, Any] = dump_document(document, defaults=True)
    for section in ("nodes", "queues", "apps", "tenants", "workloads"):
        full[section] = sorted(full[section], key=lambda entry: entry["name"])
    full["policies"] = sorted(full["policies"], key=lambda policy: (policy.get("user", ""), policy.get("project", "")))
    for entry in (*full["nodes"], *full["queues"]):
        entry.setdefault("partition", "default")
    doctrine = document.doctrine.name if document.doctrine else None
    for entry in full["workloads"]:
        waits = entry["state"] in ("pending", "suspended")
        entry.setdefault("uid", entry["name"])
        entry.setdefault("submitted", full["now"])
        entry.setdefault("job_priority", 0)
        entry.setdefault("checkpoint", {"mode": "none"})
        entry.setdefault("priority", _own_priority(full["policies"], doctrine, entry))
        if waits:
            entry.pop("nodes", None)
        elif "nodes" in entry and "pod_sets" not in entry:
            entry["nodes"] = sorted(entry["nodes"])
    return full


def _own_priority(policies: list[dict[str, Any]], doctrine: str | None, entry: dict[str, Any]) -> int:
    for key in ("user", "project"):
        for policy in policies:
            if key in entry and policy.get(key) == entry[key] and "default_priority" in policy:
                return int(policy["default_priority"])
    return 10 if doctrine == "backendai" else 0
