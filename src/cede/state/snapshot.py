"""The columns as a cluster file again: the same cluster in its leanest form.

Nothing that means something is lost. These keys may read otherwise than in the file the state was built from:

- A key with its default value is left out: also `partition: default`, a `uid` or `submitted` that is the name or
  `now`, and a `priority` that the owner's policy or the doctrine would give anyway.
- Entries are in the order of their names, and `count` is counted out.
- What holds room in flavors, or with fewer members than it asked for, says so in `usage` and in its members.
- `nodes` of equal members are in name order, since no member is told apart; work that waits has none.
- A queue without an entry is listed, bare, once no queue names it as its parent and something else still does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, cast

from cede.model.cluster import FORMAT, Checkpoint, ClusterFile, Node, Queue, Workload
from cede.model.times import Instant
from cede.model.values import Part
from cede.model.workloads import PodSet
from cede.state.admission import asks_of, standing_ask
from cede.state.amounts import Ask, total_of
from cede.state.columns import CHECKPOINTS, KINDS, NEVER, NODE_STATES, NONE, PLACEMENTS, STATES, Int64s
from cede.state.entry import CLOCKS, FLAGS, own_priority
from cede.state.entry_cache import EntryCache
from cede.state.state import State
from cede.state.static import DEFAULT_PARTITION, holds

P = TypeVar("P", bound=Part)


def snapshot(state: State, cache: EntryCache | None = None) -> ClusterFile:
    """A document of which `build` makes the same columns; with a `cache`, made from what changed since the last."""
    static = state.static
    cache = cache or EntryCache()
    cache.follow(state)
    return _lean(
        ClusterFile,
        {
            "cede": FORMAT,
            "now": _time(state, state.now),
            "doctrine": static.doctrine,
            "topology": static.topology,
            "nodes": _nodes(state, cache.nodes),
            "queues": [_queue(state, name) for name in sorted(_listed(state))],
            "apps": list(static.apps),
            "tenants": [static.tenants[name] for name in sorted(static.tenants)],
            "policies": list(static.policies),
            "selection": static.selection,
            "workloads": _workloads(state, cache.work),
        },
    )


def _lean(model: type[P], values: dict[str, Any]) -> P:
    """A part with these values; those it has by default count as not given."""
    defaults = _defaults(model)
    given = {key for key, value in values.items() if key not in defaults or value != defaults[key]}
    return cast(P, model.model_construct(given, **values))


@cache
def _defaults(model: type[Part]) -> dict[str, Any]:
    fields = model.model_fields.items()
    return {key: info.get_default(call_default_factory=True) for key, info in fields if not info.is_required()}


def _time(state: State, value: int) -> int | None:
    """A time of the kind the file uses; None for what has not happened."""
    if value == NEVER:
        return None
    return Instant(value) if state.instant else int(value)


def _length(value: int) -> int | None:
    return None if value == NEVER else int(value)


def _nodes(state: State, made: dict[int, Node]) -> list[Node]:
    found = []
    for name in sorted(state.node_index):
        row = state.node_index[name]
        if row not in made:
            made[row] = _node(state, row)
        found.append(made[row])
    return found


def _node(state: State, row: int) -> Node:
    columns, odd = state.nodes, state.odd_nodes.get(row)
    home = int(columns.home[row])
    partition = state.partitions.names[columns.partition[row]]
    kept_for = int(columns.reserved_for[row])
    return _lean(
        Node,
        {
            "name": state.node_names[row],
            "capacity": odd.capacity if odd else _plain_amounts(state, columns.capacity[:, row]),
            "occupied": odd.occupied if odd else _plain_amounts(state, columns.occupied[:, row]),
            "partition": None if partition == DEFAULT_PARTITION else partition,
            "flavor": odd.flavor if odd else state.flavors.name(int(columns.flavor[row])),
            "home": None if home == NONE else state.tree.names[home],
            "labels": dict(state.labels.sets[columns.labels[row]]),
            "state": NODE_STATES[columns.state[row]],
            "reserved_for": None if kept_for == NONE else state.work_names[kept_for],
            **{clock: _time(state, getattr(columns, clock)[row]) for clock in ("reserved_since", *CLOCKS)},
        },
    )


def _plain_amounts(state: State, counts: Int64s) -> dict[str, int]:
    """What a node that names no flavor of its own amounts has: its plain columns say it all."""
    amounts = state.units.amounts(counts.tolist())
    return {name: nano for name, nano in amounts.items() if "@" not in name} if state.units.flavored else amounts


def _listed(state: State) -> set[str]:
    """Queues with an entry of their own, and those that would otherwise be named without being known."""
    tree = state.tree
    found = {name for name, row in tree.index.items() if tree.listed[row]}
    parents = {tree.names[above] for above in tree.parent[: tree.size].tolist() if above != NONE}
    work, nodes = state.work, state.nodes
    rows = {*work.queue[: work.size].tolist(), *nodes.home[: nodes.size].tolist()} - {NONE}
    named = {tree.names[row] for row in rows} | {app.queue for app in state.static.apps if app.queue is not None}
    return found | (named - parents)


def _queue(state: State, name: str) -> Queue:
    row = state.tree.index[name]
    document = state.tree.documents[row]
    if document is None:
        return _lean(Queue, {"name": name})
    since = _time(state, state.tree.over_limit_since[row])
    partition = None if document.partition == DEFAULT_PARTITION else document.partition
    return _lean(Queue, {**document.__dict__, "partition": partition, "over_limit_since": since})


def _workloads(state: State, made: dict[int, Workload]) -> list[Workload]:
    owned: dict[tuple[str | None, str | None], int] = {}
    found: list[Workload] = []
    for name in sorted(state.work_index):
        row = state.work_index[name]
        if (entry := made.get(row)) is not None:
            found.append(entry)
            continue
        values = _values(state, row)
        owner = (values["user"], values["project"])
        if owner not in owned:
            owned[owner] = own_priority(state.static, *owner)
        priority = int(state.work.priority[row])
        values["priority"] = None if priority == owned[owner] else priority
        entry = made[row] = _lean(Workload, values)
        found.append(entry)
    return found


def _values(state: State, row: int) -> dict[str, Any]:
    """Every key of the workload but its priority."""
    work = state.work
    queue, required, submitted = int(work.queue[row]), int(work.required_node[row]), int(work.submitted[row])
    values: dict[str, Any] = {
        "name": state.work_names[row],
        "queue": None if queue == NONE else state.tree.names[queue],
        "app": state.apps.name(int(work.app[row])),
        "user": state.users.name(int(work.user[row])),
        "project": state.projects.name(int(work.project[row])),
        "domain": state.domains.name(int(work.domain[row])),
        "tenant": state.tenants.name(int(work.tenant[row])),
        "kind": KINDS[work.kind[row]],
        "job_priority": int(work.job_priority[row]) or None,
        "state": STATES[work.state[row]],
        **_sizes(state, row),
        "nodes": (state.nodes_of(row) or None) if holds(int(work.state[row])) else None,
        "placement": PLACEMENTS[work.placement[row]],
        "constraints": state.constraints.get(row),
        "required_node": None if required == NONE else state.node_names[required],
        "submitted": None if submitted == state.now else _time(state, submitted),
        "started": _time(state, work.started[row]),
        "walltime": _length(work.walltime[row]),
        "checkpoint": _checkpoint(state, row),
        "preempted": int(work.preempted[row]),
        "uid": None if state.uids[row] == state.work_names[row] else state.uids[row],
    }
    return values | {flag: bool(getattr(work, flag)[row]) for flag in FLAGS}


def _sizes(state: State, row: int) -> dict[str, Any]:
    """Members and usage: of what holds room as it was admitted, of what waits as it asks."""
    ask = state.admitted.get(row)
    given = bool(state.work.usage_given[row])
    if ask is None:
        return _written(standing_ask(state, row), given)
    if not holds(int(state.work.state[row])):
        return _written(ask, given)
    now = standing_ask(state, row)
    parts = tuple(map(_of_size, asks_of(state, row), (count for _, count in now.sizes)))
    asked = now if _needs_its_flavors(state, row) else replace(now, parts=parts, requests=parts[0].requests)
    usage = total_of(now.sizes)
    asked = replace(asked, parts=None if ask.parts is None else asked.parts, usage=usage)
    return _written(asked, given or usage != total_of(asked.sizes))


def _written(ask: Ask, given: bool) -> dict[str, Any]:
    usage = {"usage": ask.usage if given else None}
    if ask.parts is not None:
        return {"pod_sets": list(ask.parts), **usage}
    return {"members": ask.members, "requests": ask.requests, **usage}


def _of_size(part: PodSet, count: int) -> PodSet:
    """The pod set with as many members as were admitted."""
    if part.count == count:
        return part
    least = {} if part.min_count is None else {"min_count": min(part.min_count, count)}
    return part.model_copy(update={"count": count, **least})


def _needs_its_flavors(state: State, row: int) -> bool:
    """Whether its usage does not say of what its members take: one of its nodes has a resource in several flavors."""
    nodes = [int(state.residents.node[resident]) for resident in state.residents_of(row)]
    offered = [state.nodes.capacity[columns][:, nodes] > 0 for columns in state.units.flavored.values()]
    return any((flavors.sum(axis=0) > 1).any() for flavors in offered)


def _checkpoint(state: State, row: int) -> Checkpoint | None:
    work = state.work
    values = {
        "mode": CHECKPOINTS[work.checkpoint[row]],
        "last": _time(state, work.checkpoint_last[row]),
        "time": _length(work.checkpoint_time[row]),
    }
    found = _lean(Checkpoint, values)
    return found if found.model_fields_set else None
