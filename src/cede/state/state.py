"""The columnar cluster: built once, then updated in place by what happens, at a cost that does not grow with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cede.model.cluster import App, Constraints, DoctrineChoice, Node, PodSet, Policy, Queue, Tenant, Workload
from cede.model.resources import split_flavor
from cede.state.columns import (
    NEVER,
    NODE_STATES,
    NONE,
    PENDING,
    PREEMPTING,
    RESERVED,
    RUNNING,
    STATES,
    Bools,
    Int64s,
    Names,
    NodeColumns,
    ResidentColumns,
    WorkloadColumns,
)
from cede.state.entry import enter
from cede.state.tree import QueueTree
from cede.state.units import FULL, WHOLE, Units

DEFAULT_PARTITION = "default"


@dataclass(slots=True)
class Static:
    """What a decision reads as it stands in the file: policies and the like, a few entries each."""

    doctrine: DoctrineChoice | None = None
    topology: str = "group"
    selection: str = "doctrine"
    apps: Sequence[App] = ()
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    policies: Sequence[Policy] = ()
    default_priority: int = 0


def holds(state: int) -> bool:
    """Whether a workload in this state holds room."""
    return state >= RESERVED and state <= PREEMPTING


class State:
    """Everything a decision reads. Rows are workloads, nodes, residents (workload on node) and queues."""

    def __init__(self, static: Static, *, now: int = 0, instant: bool = False) -> None:
        self.static = static
        self.now = now
        self.instant = instant
        self.version = 0
        self.units = Units()
        self.work = WorkloadColumns(1)
        self.nodes = NodeColumns(1)
        self.residents = ResidentColumns(1)
        self.tree = QueueTree(1)
        self.partitions = Names([DEFAULT_PARTITION])
        self.flavors = Names()
        self.users = Names()
        self.projects = Names()
        self.domains = Names()
        self.tenants = Names()
        self.apps = Names()
        self.groups = Names([""])
        self.work_names: list[str] = []
        self.work_index: dict[str, int] = {}
        self.uids: list[str] = []
        self.node_names: list[str] = []
        self.node_index: dict[str, int] = {}
        self.node_residents: list[list[int]] = []
        self.reservations: dict[int, set[int]] = {}
        self.placed: dict[int, tuple[int, ...]] = {}
        self.parts: dict[int, tuple[PodSet, ...]] = {}
        self.given_usage: dict[int, Mapping[str, int]] = {}
        self.constraints: dict[int, Constraints] = {}
        self.pins: dict[int, int] = {}
        self.label_sets: list[Mapping[str, str]] = []
        self._label_codes: dict[tuple[tuple[str, str], ...], int] = {}
        self.pending: set[int] = set()
        self._node_rank: Int64s | None = None

    # -- resources ---------------------------------------------------------------------------------------------

    def learn(self, amounts: Mapping[str, int]) -> None:
        """Columns and units for these amounts, plain names for nodes beside the flavored ones for quota."""
        plain: dict[str, int] = {}
        for name, nano in amounts.items():
            base = split_flavor(name)[0]
            if base != name:
                plain[base] = plain.get(base, 0) + nano
        finer = self.units.learn(amounts)
        if plain:
            for column, factor in self.units.learn(plain).items():
                finer[column] = finer.get(column, 1) * factor
        tables = (self.work, self.nodes, self.residents, self.tree)
        if len(self.units) > self.work.resources:
            for table in tables:
                table.widen(len(self.units))
        for column, factor in finer.items():
            for table in tables:
                table.rescale(column, factor)

    def physical(self, requests: Mapping[str, int]) -> tuple[dict[str, int], int]:
        """What one member takes of a node, by plain name, and the flavor it is pinned to."""
        plain: dict[str, int] = {}
        pin = NONE
        for name, nano in requests.items():
            base, flavor = split_flavor(name)
            plain[base] = plain.get(base, 0) + nano
            if flavor is not None:
                pin = self.flavors.code(flavor)
        return plain, pin

    def member_vector(self, requests: Mapping[str, int], exclusive: bool) -> Int64s:
        """What one member takes of a node, as counts; all of the WHOLE column if it wants a node to itself."""
        row = self.units.vector(self.physical(requests)[0])
        row[WHOLE] = FULL if exclusive else 1
        return row

    # -- workloads ---------------------------------------------------------------------------------------------

    def submit(self, workload: Workload) -> int:
        """Enter a workload; one that holds room is placed where its entry says."""
        for requests in (workload.requests, workload.usage or {}, *(p.requests for p in workload.pod_sets or ())):
            self.learn(requests)
        row = self.work.add()
        enter(self, row, workload)
        self.work_index[workload.name] = row
        if row == len(self.work_names):
            self.work_names.append(workload.name)
            self.uids.append(workload.uid or workload.name)
        else:
            self.work_names[row] = workload.name
            self.uids[row] = workload.uid or workload.name
        state = STATES.index(workload.state)
        if holds(state):
            nodes = [self.node_index[name] for name in workload.nodes or ()]
            self._settle_in(row, nodes, state)
        else:
            self.work.state[row] = state
            self.pending.add(row)
        self.version += 1
        return row

    def start(self, row: int, nodes: Sequence[int], *, at: int | None = None, state: int = RUNNING) -> None:
        """A pending workload takes its room: running from now, or in another state that holds room."""
        self.pending.discard(row)
        self.work.started[row] = self.now if at is None else at
        self._settle_in(row, nodes, state)
        self.version += 1

    def mark(self, row: int, state: int) -> None:
        """Another state that holds room too: running, checkpointing, preempting."""
        residents = self.residents_of(row)
        for resident in residents:
            self._book(resident, int(self.work.state[row]), -1)
        self.work.state[row] = state
        for resident in residents:
            self._book(resident, state, 1)
        self.version += 1

    def requeue(self, row: int, *, state: int = PENDING, preempted: bool = False) -> None:
        """A workload gives its room back and waits again; its submission time stays."""
        self._move_out(row)
        self.work.state[row] = state
        self.work.started[row] = NEVER
        self.work.preempted[row] += preempted
        self.pending.add(row)
        self.version += 1

    def forget(self, row: int) -> None:
        """A workload ended: its room is free, its row may be used again."""
        if holds(int(self.work.state[row])):
            self._move_out(row)
        self.pending.discard(row)
        name = self.work_names[row]
        for node in self.reservations.pop(row, ()):
            self.nodes.reserved_for[node] = NONE
        del self.work_index[name]
        sides: tuple[dict[int, Any], ...] = (self.parts, self.placed, self.given_usage, self.constraints, self.pins)
        for side in sides:
            side.pop(row, None)
        self.work_names[row] = self.uids[row] = ""
        self.work.drop(row)
        self.version += 1

    # -- nodes and queues --------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> int:
        """A node joins, or changes: capacity, labels, state. What runs there stays."""
        self.learn(node.capacity)
        self.learn(node.occupied)
        row = self.node_index.get(node.name)
        if row is None:
            row = self.node_index[node.name] = self.nodes.add()
            self.node_names.append(node.name)
            self.node_residents.append([])
            self._node_rank = None
        columns = self.nodes
        capacity, pinned = self.physical(node.capacity)
        columns.capacity[:, row] = self.units.vector(capacity)
        columns.capacity[WHOLE, row] = FULL
        columns.occupied[:, row] = self.units.vector(self.physical(node.occupied)[0])
        columns.partition[row] = self.partitions.code(node.partition or DEFAULT_PARTITION)
        columns.flavor[row] = self.flavors.code(node.flavor) if node.flavor else pinned
        columns.home[row] = NONE if node.home is None else self.tree.row(node.home)
        columns.group[row] = self.groups.code((node.labels or {}).get(self.static.topology, ""))
        columns.labels[row] = self._label_code(node.labels or {})
        self.reserve(row, NONE if node.reserved_for is None else self.work_index.get(node.reserved_for, NONE))
        for clock in ("overcommitted_since", "last_preemptive_attempt"):
            value = getattr(node, clock)
            getattr(columns, clock)[row] = NEVER if value is None else value
        self.set_node_state(row, NODE_STATES.index(node.state))
        self._refresh(row)
        return row

    def set_node_state(self, row: int, state: int) -> None:
        """Ready, cordoned or down."""
        self.nodes.state[row] = state
        self.version += 1

    def reserve(self, node: int, row: int) -> None:
        """Keep a whole node for one workload, or for nobody."""
        before = int(self.nodes.reserved_for[node])
        if before != NONE:
            self.reservations[before].discard(node)
        self.nodes.reserved_for[node] = row
        if row != NONE:
            self.reservations.setdefault(row, set()).add(node)

    def put_queue(self, queue: Queue) -> int:
        """A queue joins, or its limits and settings change; its usage follows it to another parent."""
        for limits in (queue.guaranteed, queue.max, queue.borrowing_limit, queue.lending_limit):
            self.learn(limits or {})
        row = self.tree.row(queue.name)
        usage = self.tree.usage[:, row].copy()
        for above in self.tree.path(row)[1:]:
            self.tree.usage[:, above] -= usage
        self.tree.put(queue, self.units, self.partitions.code(queue.partition or DEFAULT_PARTITION))
        for above in self.tree.path(row)[1:]:
            self.tree.usage[:, above] += usage
        self.version += 1
        return row

    # -- questions ---------------------------------------------------------------------------------------------

    def node_rank(self) -> Int64s:
        """The place of each node row in the order of names; made anew only after a node joined."""
        if self._node_rank is None or len(self._node_rank) != self.nodes.size:
            rank = np.empty(self.nodes.size, np.int64)
            rank[sorted(range(self.nodes.size), key=self.node_names.__getitem__)] = np.arange(self.nodes.size)
            self._node_rank = rank
        return self._node_rank

    def label_mask(self, labels: Mapping[str, str]) -> Bools:
        """Which node rows carry all these labels."""
        wanted = labels.items()
        match = np.array([wanted <= carried.items() for carried in self.label_sets], np.bool_)
        return match[self.nodes.labels[: self.nodes.size]]

    def residents_of(self, row: int) -> list[int]:
        """The resident rows of this workload, one a node it holds room on."""
        found: list[int] = []
        resident = int(self.work.resident[row])
        while resident != NONE:
            found.append(resident)
            resident = int(self.residents.sibling[resident])
        return found

    def nodes_of(self, row: int) -> list[str]:
        """The node of each member, in the order of the pod sets where there are any, else in name order."""
        if row in self.placed:
            return [self.node_names[node] for node in self.placed[row]]
        residents = self.residents
        return sorted(
            name
            for resident in self.residents_of(row)
            for name in [self.node_names[int(residents.node[resident])]] * int(residents.count[resident])
        )

    def members_of(self, row: int) -> list[Int64s]:
        """What each member takes of a node, in the order of the pod sets."""
        if row in self.parts:
            exclusive = bool(self.work.exclusive[row])
            return [
                vector
                for part in self.parts[row]
                for vector in [self.member_vector(part.requests, exclusive)] * part.count
            ]
        return [self.work.need[:, row]] * int(self.work.members[row])

    # -- the parts of an update ------------------------------------------------------------------------------------

    def _settle_in(self, row: int, nodes: Sequence[int], state: int) -> None:
        self.work.state[row] = state
        for queue in self.tree.path(int(self.work.queue[row])):
            self.tree.usage[:, queue] += self.work.usage[:, row]
        taken: dict[int, Int64s] = {}
        counts: dict[int, int] = {}
        for node, vector in zip(nodes, self.members_of(row), strict=False):
            taken[node] = taken[node] + vector if node in taken else vector.copy()
            counts[node] = counts.get(node, 0) + 1
        for node, amount in taken.items():
            resident = self.residents.add()
            self.residents.work[resident] = row
            self.residents.node[resident] = node
            self.residents.count[resident] = counts[node]
            self.residents.amount[:, resident] = amount
            self.residents.sibling[resident] = self.work.resident[row]
            self.work.resident[row] = resident
            self.node_residents[node].append(resident)
            self._book(resident, state, 1)
        if row in self.parts and nodes:
            self.placed[row] = tuple(nodes)

    def _move_out(self, row: int) -> None:
        for queue in self.tree.path(int(self.work.queue[row])):
            self.tree.usage[:, queue] -= self.work.usage[:, row]
        for resident in self.residents_of(row):
            self._book(resident, int(self.work.state[row]), -1)
            self.node_residents[int(self.residents.node[resident])].remove(resident)
            self.residents.drop(resident)
        self.work.resident[row] = NONE
        self.placed.pop(row, None)

    def _book(self, resident: int, state: int, sign: int) -> None:
        """Add or take away a resident's amount in the bucket that its workload's state stands for."""
        node = int(self.residents.node[resident])
        amount = self.residents.amount[:, resident]
        nodes = self.nodes
        if state in (RESERVED, PREEMPTING):
            bucket = nodes.held if state == RESERVED else nodes.leaving
            bucket[:, node] += sign * amount
            self._refresh(node)
        else:
            nodes.used[:, node] += sign * amount
            nodes.free[:, node] -= sign * amount

    def _refresh(self, node: int) -> None:
        nodes = self.nodes
        overlap = np.maximum(nodes.leaving[:, node], nodes.held[:, node])
        nodes.free[:, node] = nodes.capacity[:, node] - nodes.occupied[:, node] - nodes.used[:, node] - overlap

    def _label_code(self, labels: Mapping[str, str]) -> int:
        key = tuple(sorted(labels.items()))
        found = self._label_codes.get(key)
        if found is None:
            found = self._label_codes[key] = len(self.label_sets)
            self.label_sets.append(dict(labels))
        return found
