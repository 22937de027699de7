"""A cluster file to start from: nodes as the trace names them or as asked for, and the queues its jobs are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cede.doctrines.document import parse_document
from cede.model.cluster import Node
from cede.model.document import dump_part
from cede.model.errors import InputError, Problem
from cede.model.quantities import NANO, format_quantity
from cede.sim.traces.fitting import ONLY
from cede.sim.traces.trace import Trace

COHORT = "all"


def starting_cluster(
    trace: Trace, doctrine: Mapping[str, str], *, nodes: int | None = None, capacity: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A cluster file on which the trace can be replayed; its settings let higher priorities have their way.

    `nodes` alike ones of this `capacity`, or without that the trace's own; an InputError where it names none.
    """
    if nodes is None and capacity:
        raise InputError([Problem("--nodes", "is missing", "say how many nodes of that size there are")])
    machines = _alike(trace.nodes) if nodes is None else [_machine(nodes, capacity or {})]
    if not machines:
        hint = "say what it ran on: --nodes 50 --gpus 8"
        raise InputError([Problem("--cluster-out", "this trace does not name its nodes", hint)])
    names = sorted(trace.jobs["queue"].fill_null(ONLY).unique().to_list()) or [ONLY]
    raw = {
        "cede": 1,
        "doctrine": dict(doctrine) if "edition" in doctrine else doctrine["name"],
        "nodes": machines,
        "queues": [_queue(name, doctrine["name"], trace, share) for name, share in _shares(machines, names)],
    }
    parse_document(raw)
    return raw


def _machine(nodes: int, capacity: Mapping[str, Any]) -> dict[str, Any]:
    if not capacity:
        raise InputError(
            [Problem("--nodes", "says nothing of their size", "add --gpus 8, --cpus 64 or --memory 512Gi")]
        )
    return {"name": "node", "count": nodes, "capacity": dict(capacity)}


def _alike(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    """The nodes, one entry for each kind; names are then NAME-0, NAME-1 and so on."""
    kinds: dict[str, list[Node]] = {}
    for node in nodes:
        kinds.setdefault(repr(_plain(node)), []).append(node)
    if len(kinds) == len(nodes):
        return [{"name": node.name} | _plain(node) for node in nodes]
    made = []
    for number, alike in enumerate(kinds.values()):
        plain = _plain(alike[0])
        made.append(
            {"name": f"node-{chr(97 + number)}" if number < 26 else f"node-{number}", "count": len(alike)} | plain
        )
    return made


def _plain(node: Node) -> dict[str, Any]:
    """What the node is but for its name."""
    return {key: value for key, value in dump_part(node).items() if key != "name" and value}


def _shares(machines: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[tuple[str, dict[str, int]]]:
    """Each queue with an even share of everything, in whole units; what is left over goes to the first."""
    total: dict[str, int] = {}
    for node in parse_document({"cede": 1, "nodes": list(machines)}).nodes:
        for name, nano in node.capacity.items():
            total[name] = total.get(name, 0) + nano - node.occupied.get(name, 0)
    each = {name: nano // NANO // len(names) * NANO for name, nano in total.items()}
    rest = {name: total[name] - each[name] * (len(names) - 1) for name in total}
    return [(name, each if index else rest) for index, name in enumerate(names)]


def _queue(name: str, doctrine: str, trace: Trace, share: Mapping[str, int]) -> dict[str, Any]:
    if doctrine == "kueue":
        settings = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        guaranteed = {resource: format_quantity(nano) for resource, nano in share.items()}
        return {"name": name, "parent": COHORT, "guaranteed": guaranteed, "settings": settings}
    if doctrine == "backendai":
        return {"name": name, "settings": {"preemptible_priority": _bar(trace), "preemption_mode": "suspend"}}
    return {"name": name}


def _bar(trace: Trace) -> int:
    """The highest priority but the top one: all but the top class may be preempted."""
    known = sorted(trace.jobs["priority"].drop_nulls().unique().to_list())
    return min(100, max(0, known[-2])) if len(known) > 1 else 5
