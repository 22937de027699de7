"""A cluster file into columns: in bulk, with the same result as entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cede.model.cluster import ClusterFile, Workload
from cede.model.times import Instant
from cede.state.amounts import columns_of_node, columns_of_queue, is_odd, load_of_workload, usage_of
from cede.state.columns import (
    CHECKPOINTS,
    KINDS,
    NEVER,
    NONE,
    PLACEMENTS,
    RESERVED,
    STATES,
    Names,
    ResidentColumns,
    WorkloadColumns,
)
from cede.state.entry import FLAGS, TIMES, enter_sides, own_priority, partition_of, uid_key
from cede.state.residents import settle_in
from cede.state.state import State
from cede.state.static import Static, holds


def build(document: ClusterFile) -> State:
    """The state of the cluster the document describes. Entries are taken in name order, so theirs does not matter."""
    static = Static(
        doctrine=document.doctrine,
        topology=document.topology,
        selection=document.selection,
        apps=sorted(document.apps, key=lambda app: app.name),
        tenants={tenant.name: tenant for tenant in document.tenants},
        policies=sorted(document.policies, key=lambda policy: (policy.user or "", policy.project or "")),
        default_priority=document.dialect.default_priority,
        flavored_quota=document.dialect.quota,
        zero_is_unset=document.dialect.zero_is_unset,
    )
    state = State(static, now=int(document.now), instant=isinstance(document.now, Instant))
    workloads = sorted(document.workloads, key=lambda workload: workload.name)
    _learn_everything(state, document)
    for queue in sorted(document.queues, key=lambda queue: queue.name):
        state.put_queue(queue)
    state.work_names = [workload.name for workload in workloads]
    state.work_index = {name: row for row, name in enumerate(state.work_names)}
    for node in sorted(document.nodes, key=lambda node: node.name):
        state.put_node(node)
    _fill_workloads(state, workloads)
    _settle_everyone_in(state, workloads)
    state.version = 0
    return state


def _learn_everything(state: State, document: ClusterFile) -> None:
    """Units for every amount at once, and what the workloads come to; queues and nodes are counted as they join."""
    seen: dict[tuple[tuple[str, int], ...], Mapping[str, int]] = {}
    loads: dict[tuple[Any, ...], tuple[Workload, int]] = {}

    def note(amounts: Mapping[str, int] | None) -> tuple[tuple[str, int], ...] | None:
        key = None if amounts is None else tuple(amounts.items())
        if key and amounts:
            seen.setdefault(key, amounts)
        return key

    for node in document.nodes:
        for amounts in columns_of_node(state.static, node):
            note(amounts)
    for queue in document.queues:
        for amounts in columns_of_queue(state.static, queue):
            note(amounts)
    for workload in document.workloads:
        key: tuple[Any, ...] = (note(workload.requests), workload.members, workload.exclusive)
        if workload.usage is not None or workload.pod_sets is not None:
            parts = tuple((note(part.requests), part.count) for part in workload.pod_sets or ())
            key = (*key, note(workload.usage), parts)
        loads[key] = (workload, loads[key][1] + 1 if key in loads else 1)
    total: dict[str, int] = {}
    for workload, times in loads.values():
        for name, nano in load_of_workload(workload).items():
            total[name] = total.get(name, 0) + nano * times
    state.learn(*seen.values(), more=total)


def _fill_workloads(state: State, workloads: Sequence[Workload]) -> None:
    count = len(workloads)
    work = state.work = WorkloadColumns(len(state.units), count)
    work.size = count
    state.uids = [workload.uid or workload.name for workload in workloads]

    def column(name: str, values: Iterable[Any]) -> None:
        array = getattr(work, name)
        array[:count] = np.fromiter(values, array.dtype, count)

    def codes(names: Names) -> Callable[[str | None], int]:
        return names.code

    queues: dict[str | None, int] = {None: NONE}
    queues.update(state.tree.index)
    column("queue", (queues[w.queue] for w in workloads))
    partition = {row: partition_of(state, row) for row in (NONE, *state.tree.index.values())}
    column("partition", (partition[queues[w.queue]] for w in workloads))
    for name, names in (
        ("user", state.users),
        ("project", state.projects),
        ("domain", state.domains),
        ("tenant", state.tenants),
        ("app", state.apps),
    ):
        column(name, map(codes(names), (getattr(w, name) for w in workloads)))
    for name, words in (("kind", KINDS), ("placement", PLACEMENTS), ("state", STATES)):
        index = {word: code for code, word in enumerate(words)}
        column(name, (index[getattr(w, name)] for w in workloads))
    owners = {(w.user, w.project) for w in workloads if w.priority is None}
    own = {owner: own_priority(state.static, *owner) for owner in owners}
    column("priority", (own[w.user, w.project] if w.priority is None else w.priority for w in workloads))
    column("job_priority", (w.job_priority or 0 for w in workloads))
    column("members", (w.size for w in workloads))
    column("preempted", (w.preempted for w in workloads))
    column("submitted", (state.now if w.submitted is None else w.submitted for w in workloads))
    for name in TIMES:
        column(name, (NEVER if (t := getattr(w, name)) is None else t for w in workloads))
    for name in FLAGS:
        column(name, (getattr(w, name) for w in workloads))
    if count:
        keys = np.array([uid_key(uid) for uid in state.uids], np.uint64)
        work.uid_first[:count], work.uid_next[:count] = keys[:, 0], keys[:, 1]
    for row, workload in enumerate(workloads):
        if workload.checkpoint is not None:
            work.checkpoint[row] = CHECKPOINTS.index(workload.checkpoint.mode)
            last, takes = workload.checkpoint.last, workload.checkpoint.time
            work.checkpoint_last[row] = NEVER if last is None else last
            work.checkpoint_time[row] = NEVER if takes is None else takes
        if workload.required_node is not None:
            work.required_node[row] = state.node_index[workload.required_node]
    _fill_amounts(state, workloads)


def _fill_amounts(state: State, workloads: Sequence[Workload]) -> None:
    """Needs and usages, one vector for each distinct request rather than one for each workload."""
    work = state.work
    kinds: dict[tuple[Any, ...], int] = {}
    needs: list[Any] = []
    usages: list[Any] = []
    odd: list[bool] = []
    which = np.empty(len(workloads), np.int64)
    for row, w in enumerate(workloads):
        plain = w.pod_sets is None and w.usage is None
        key = (tuple(w.requests.items()), w.members, w.exclusive) if plain else (row,)
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = len(needs)
            needs.append(state.member_vector(w.requests, w.exclusive))
            usages.append(state.units.vector(usage_of(w)))
            odd.append(is_odd(w.requests))
        which[row] = kind
        if odd[kind] or w.pod_sets is not None or w.usage is not None or w.constraints is not None:
            enter_sides(state, row, w)
    if needs:
        work.need[:, : work.size] = np.stack(needs, axis=1)[:, which]
        work.usage[:, : work.size] = np.stack(usages, axis=1)[:, which]


def _settle_everyone_in(state: State, workloads: Sequence[Workload]) -> None:
    """Placed members into residents, then the sums on nodes and queues."""
    rows: list[int] = []
    nodes: list[int] = []
    counts: list[int] = []
    special: list[int] = []
    index = state.node_index
    for row, workload in enumerate(workloads):
        code = int(state.work.state[row])
        if not holds(code):
            state.pending.add(row)
        elif code != STATES.index("running") or workload.pod_sets is not None:
            special.append(row)
        else:
            places: dict[int, int] = {}
            for name in workload.nodes or ():
                node = index[name]
                places[node] = places.get(node, 0) + 1
            rows.extend([row] * len(places))
            nodes.extend(places)
            counts.extend(places.values())
    residents = state.residents = ResidentColumns(len(state.units), len(rows))
    residents.size = size = len(rows)
    residents.work[:size] = rows
    residents.node[:size] = nodes
    residents.count[:size] = counts
    residents.amount[:, :size] = state.work.need[:, residents.work[:size]] * residents.count[:size]
    for resident, (row, node) in enumerate(zip(rows, nodes, strict=True)):
        residents.sibling[resident] = state.work.resident[row]
        state.work.resident[row] = resident
        state.node_residents[node].append(resident)
    for column in range(len(state.units)):
        np.add.at(state.nodes.used[column], residents.node[:size], residents.amount[column, :size])
    state.nodes.free[:] = state.nodes.capacity - state.nodes.occupied - state.nodes.used
    _sum_queues(state, special)
    for row in special:
        places_of = [index[name] for name in workloads[row].nodes or ()]
        settle_in(state, row, places_of, int(state.work.state[row]))


def _sum_queues(state: State, special: Sequence[int]) -> None:
    """Usage of every queue from the plain running work below it."""
    work, tree = state.work, state.tree
    mask = (work.state[: work.size] >= RESERVED) & (work.queue[: work.size] != NONE)
    mask[list(special)] = False
    own = np.zeros((len(state.units), tree.size), np.int64)
    for column in range(len(state.units)):
        np.add.at(own[column], work.queue[: work.size][mask], work.usage[column, : work.size][mask])
    for queue in range(tree.size):
        if own[:, queue].any():
            for above in tree.path(queue):
                tree.usage[:, above] += own[:, queue]
