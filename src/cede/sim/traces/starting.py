"""A cluster file to start from: nodes as the trace names them or as asked for, and the queues its jobs are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cede.doctrines.catalog import DIALECTS, find
from cede.doctrines.document import parse_document
from cede.doctrines.parts.starter import Outline
from cede.model.cluster import Node
from cede.model.document import dump_part
from cede.model.errors import InputError, Problem
from cede.model.quantities import NANO
from cede.sim.traces.classes import classes_of
from cede.sim.traces.fitting import ONLY
from cede.sim.traces.trace import Trace


def starting_cluster(
    trace: Trace, doctrine: Mapping[str, str], *, nodes: int | None = None, capacity: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A cluster file on which the trace can be replayed; its guarantees and settings let higher classes, or
    queues that are owed room, have their way.

    `nodes` alike ones of this `capacity`, or without that the trace's own; an InputError where it names none.
    """
    if nodes is None and capacity:
        raise InputError([Problem("--nodes", "is missing", "say how many nodes of that size there are")])
    machines = _alike(trace.nodes) if nodes is None else [_machine(nodes, capacity or {})]
    if not machines:
        hint = "say what it ran on: --nodes 50 --gpus 8"
        raise InputError([Problem("--cluster-out", "this trace does not name its nodes", hint)])
    names = sorted(trace.jobs["queue"].fill_null(ONLY).unique().to_list()) or [ONLY]
    found = find(doctrine["name"])
    outline = Outline(dict(_shares(machines, names)), _priorities(trace, doctrine["name"]))
    starter = found.starter(outline, doctrine.get("edition", found.editions[0]))
    choice = {**doctrine, **starter.settings}
    raw = {
        "cede": 1,
        "doctrine": doctrine["name"] if len(choice) == 1 else choice,
        "nodes": machines,
        "queues": [dict(queue) for queue in starter.queues],
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


def _priorities(trace: Trace, doctrine: str) -> list[int]:
    """The priorities of its jobs as the doctrine takes them, rising; a replay refuses those that it cannot take."""
    classes = classes_of(trace.jobs["priority"].drop_nulls().to_list(), DIALECTS[doctrine].priorities)
    return [] if classes is None else sorted(classes.values())
