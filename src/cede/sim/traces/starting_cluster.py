"""A cluster file to start from: nodes as the trace names them or as asked for, and the queues its jobs are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from cede.doctrines.catalog import DIALECTS, DOCUMENTED, find
from cede.doctrines.document import parse_document
from cede.doctrines.parts.starting_file import ROOT, Outline, Starter, in_seconds
from cede.engine.whatif import WhatIf, cluster_if
from cede.model.cluster import Node
from cede.model.document import dump_part
from cede.model.errors import InputError, Problem
from cede.model.named_settings import QUEUE_KEYS
from cede.model.quantities import NANO, format_quantity
from cede.sim.traces.fitting import ONLY, classes_of
from cede.sim.traces.trace import Trace

SAVES_WITHIN = "checkpoint_timeout"
"""How long a victim may take to save its work, in doctrines that call that as a server's configuration does."""


def starting_cluster(
    trace: Trace, doctrine: Mapping[str, str], *, nodes: int | None = None, capacity: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A cluster file on which the trace can be replayed under every doctrine, beginning with this one; its guarantees
    and settings let higher classes, or queues that are owed room, have their way, and victims have time to save.

    Queues stand below one root and are named by their path. An even share is guaranteed to each; what a doctrine wants
    otherwise stands under its name. `nodes` alike ones of this `capacity`, or without that the trace's own; an
    InputError where it names none.
    """
    if nodes is None and capacity:
        raise InputError([Problem("--nodes", "is missing", "say how many nodes of that size there are")])
    machines = _alike(trace.nodes) if nodes is None else [_machine(nodes, capacity or {})]
    if not machines:
        hint = "say what it ran on: --nodes 50 --gpus 8"
        raise InputError([Problem("--cluster-out", "this trace does not name its nodes", hint)])
    queue_names = sorted(trace.jobs["queue"].fill_null(ONLY).unique().to_list()) or [ONLY]
    shares = dict(_shares(machines, [path_of(name) for name in queue_names]))
    starters = {name: _starter(trace, name, doctrine, shares) for name in _doctrines(doctrine["name"])}
    cluster_wide = {name: dict(starter.settings) for name, starter in starters.items() if starter.settings}
    queues = [_queue(ROOT, None, None, starters)]
    queues += [_queue(name, ROOT, share, starters) for name, share in shares.items()]
    raw = {
        "cede": 1,
        "doctrine": {**doctrine, **({"settings": cluster_wide} if cluster_wide else {})},
        "nodes": machines,
        "queues": queues,
    }
    for name in starters:
        cluster_if(raw, WhatIf(None if name == doctrine["name"] else name))
    return raw


def path_of(queue: str) -> str:
    """The name of a trace's queue as a path from the root."""
    return queue if queue.startswith(f"{ROOT}.") else f"{ROOT}.{queue}"


def _doctrines(own: str) -> list[str]:
    """Those of the documents, and the one that is asked for."""
    return [*(name for name in DOCUMENTED if name != own), own]


def _starter(trace: Trace, name: str, asked: Mapping[str, str], shares: Mapping[str, Mapping[str, int]]) -> Starter:
    """What one doctrine says of these queues; of its default edition unless another one is asked for."""
    doctrine = find(name)
    edition = asked.get("edition", doctrine.editions[0]) if name == asked["name"] else doctrine.editions[0]
    longest = _longest_save(trace)
    starter = doctrine.starter(Outline(shares, _priorities(trace, name), longest), edition)
    known = doctrine.dialect.cluster.model_fields.get(SAVES_WITHIN)
    if known is None or SAVES_WITHIN in starter.settings or longest <= known.default:
        return starter
    return replace(starter, settings={**starter.settings, SAVES_WITHIN: in_seconds(longest)})


def _longest_save(trace: Trace) -> int:
    """How long the slowest job that saves its work when it is asked takes for it; 0 where none says."""
    saving = trace.jobs.filter(pl.col("checkpoint") != "none")["checkpoint_time"].drop_nulls().to_list()
    return max(saving, default=0)


def _queue(
    name: str, parent: str | None, share: Mapping[str, int] | None, starters: Mapping[str, Starter]
) -> dict[str, Any]:
    """One queue: an even share for all, and under each doctrine's name what it wants beside or instead."""
    guaranteed = {} if share is None else {resource: format_quantity(nano) for resource, nano in share.items()}
    settings: dict[str, Any] = {}
    for doctrine, starter in sorted(
        starters.items(), key=lambda one: DOCUMENTED.index(one[0]) if one[0] in DOCUMENTED else len(DOCUMENTED)
    ):
        entry: Mapping[str, Any] = next((one for one in starter.queues if one["name"] == name), {})
        own = {key: entry[key] for key in QUEUE_KEYS if key in entry and (key != "weight" or entry[key] != 1)}
        if own.get("guaranteed") == guaranteed:
            del own["guaranteed"]
        if named := {**own, **entry.get("settings", {})}:
            settings[doctrine] = named
    made: dict[str, Any] = {"name": name}
    if parent is not None:
        made["parent"] = parent
    if guaranteed:
        made["guaranteed"] = guaranteed
    return {**made, "settings": settings} if settings else made


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
