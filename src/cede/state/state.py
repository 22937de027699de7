"""The columnar cluster: built once, then updated in place by what happens, at a cost that does not grow with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cede.model.cluster import Constraints, Node, PodSet, Queue, Workload
from cede.state.admission import (
    Ask,
    admit,
    ask_for_usage_no_more,
    load_of_row,
    members_as_they_are,
    plain_key,
    put_back,
)
from cede.state.amounts import (
    columns_of_node,
    columns_of_queue,
    difference,
    flavored,
    load_of_node,
    load_of_workload,
    plain,
    sizes_of_workload,
    taken,
)
from cede.state.columns import (
    CHECKPOINTS,
    NEVER,
    NODE_STATES,
    NONE,
    PENDING,
    RUNNING,
    STATES,
    Int64s,
    Names,
    NodeColumns,
    ResidentColumns,
    WorkloadColumns,
)
from cede.state.entry import DEFAULT_PARTITION, enter, enter_node, partition_of
from cede.state.journal import Journal
from cede.state.labels import LabelSets
from cede.state.moulds import Admission, Key, Mould, Moulds, cast, key_of
from cede.state.refusals import (
    refuse_node,
    refuse_parts,
    refuse_places,
    refuse_queue,
    refuse_unless_admitted,
    refuse_workload,
)
from cede.state.sharing import Shared
from cede.state.sharing import key_of as key_of_parts
from cede.state.standing import OVERLAPPING, book, move_out, refresh, settle_in
from cede.state.static import Static, holds
from cede.state.tree import QueueTree
from cede.state.units import FULL, WHOLE, Units

NO_CHECKPOINT = CHECKPOINTS.index("none")


class State:
    """Everything a decision reads. Rows are workloads, nodes, residents (workload on node) and queues."""

    def __init__(self, static: Static, *, now: int = 0, instant: bool = False) -> None:
        self.static = static
        self.now = now
        self.instant = instant
        self.version = 0
        self.units = Units()
        self.shared = Shared()
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
        self.away: set[str] = set()
        """Workloads that have not ended but are in no column: somebody keeps them from running."""
        self.uids: list[str] = []
        self.node_names: list[str] = []
        self.node_index: dict[str, int] = {}
        self.node_residents: list[list[int]] = []
        self.reservations: dict[int, set[int]] = {}
        self.placed: dict[int, tuple[int, ...]] = {}
        self.booked_on: dict[int, tuple[int, ...]] = {}
        self.parts: dict[int, tuple[PodSet, ...]] = {}
        self.odd_requests: dict[int, Mapping[str, int]] = {}
        self.odd_usages: dict[int, Mapping[str, int]] = {}
        self.odd_nodes: dict[int, Node] = {}
        self.constraints: dict[int, Constraints] = {}
        self.admitted: dict[int, Ask] = {}
        self.labels = LabelSets()
        self.pending: set[int] = set()
        self.journal = Journal()
        self.between = 0
        """How many are leaving for somebody, or have room held for them: those that overlap."""
        self.moulds = Moulds()
        self._node_rank: Int64s | None = None

    # -- resources ---------------------------------------------------------------------------------------------

    def learn(self, *entries: Mapping[str, int], more: Mapping[str, int]) -> None:
        """Columns and units for these amounts, plain names for nodes beside the flavored ones for quota.

        `more` is what they add to all that is known; too much to count exactly is an error that changes nothing.
        """
        seen = [*entries, *(plain(entry) for entry in entries if flavored(entry))]
        finer = self.units.learn(seen, more)
        if len(self.units) == self.work.resources and not finer:
            return
        self.tree.derived.clear()
        self.moulds.clear()
        self.journal.reshaped += 1
        tables = (self.work, self.nodes, self.residents, self.tree)
        for table in tables:
            if len(self.units) > table.resources:
                table.widen(len(self.units))
            for column, factor in finer.items():
                table.rescale(column, factor)

    def member_vector(self, requests: Mapping[str, int], exclusive: bool) -> Int64s:
        """What one member takes of a node, as counts; all of the WHOLE column if it wants a node to itself."""
        row = self.units.vector(taken(requests))
        row[WHOLE] = FULL if exclusive else 1
        return row

    # -- workloads ---------------------------------------------------------------------------------------------

    def submit(self, workload: Workload) -> int:
        """Enter a workload; one that holds room is placed where its entry says."""
        key = key_of(workload)
        mould = None if key is None else self.moulds.kept.get(key)
        if mould is None or workload.name in self.work_index:
            row = self._enter(workload, key)
        else:
            self.units.learn((), mould.load)
            row = self.work.add()
            cast(self, mould, row, workload)
        self.work_index[workload.name] = row
        if row == len(self.work_names):
            self.work_names.append(workload.name)
            self.uids.append(workload.uid or workload.name)
        else:
            self.work_names[row] = workload.name
            self.uids[row] = workload.uid or workload.name
        self.journal.move(row)
        state = STATES.index(workload.state)
        if holds(state):
            nodes = [self.node_index[name] for name in workload.nodes or ()]
            settle_in(self, row, nodes, state)
        else:
            self.work.state[row] = state
            self.pending.add(row)
        self.version += 1
        return row

    def _enter(self, workload: Workload, key: Key | None) -> int:
        """A row filled from the entry, whatever it says; the next like it finds a mould."""
        refuse_workload(self, workload)
        requests = (requests for requests, _ in sizes_of_workload(workload))
        load = load_of_workload(workload)
        self.learn(*requests, workload.usage or {}, more=load)
        row = self.work.add()
        enter(self, row, workload)
        if key is not None and row not in self.odd_requests:
            self.moulds.keep(key, Mould(self.work.image(row), load))
        return row

    def admit(self, row: int, parts: tuple[PodSet, ...]) -> None:
        """A waiting workload's members become these: in flavors, or fewer. `asks_of` still says what it asks for."""
        self._admit(row, parts)
        self.version += 1

    def unadmit(self, row: int) -> None:
        """An admitted workload that waits has the members again that it asks for."""
        refuse_unless_admitted(self, row)
        self._ask_again(row)
        self.version += 1

    def start(
        self,
        row: int,
        nodes: Sequence[int],
        *,
        at: int | None = None,
        state: int = RUNNING,
        parts: tuple[PodSet, ...] | None = None,
    ) -> None:
        """A pending workload takes its room: running from now, or in another state that holds room.

        With `parts` it is admitted first.
        """
        members = int(self.work.members[row]) if parts is None else sum(part.count for part in parts)
        refuse_places(self.work_names[row], members, len(nodes))
        if parts is not None:
            self._admit(row, parts)
        self.pending.discard(row)
        self.work.started[row] = self.now if at is None else at
        settle_in(self, row, nodes, state)
        self.journal.move(row)
        self.version += 1

    def begin(self, row: int, at: int | None) -> None:
        """A workload that has its room runs since this time, or has not begun to."""
        self.work.started[row] = NEVER if at is None else at
        self.journal.move(row)
        self.version += 1

    def mark(self, row: int, state: int) -> None:
        """Another state that holds room too: running, checkpointing, preempting."""
        residents = self.residents_of(row)
        before = int(self.work.state[row])
        for resident in residents:
            book(self, resident, before, -1)
        self.between += (state in OVERLAPPING) - (before in OVERLAPPING)
        self.work.state[row] = state
        for resident in residents:
            book(self, resident, state, 1)
        self.journal.grown += 1
        self.journal.move(row)
        self.version += 1

    def requeue(self, row: int, *, state: int = PENDING, preempted: bool = False) -> None:
        """A workload gives its room back and waits again, for what it first asked for; its submission time stays."""
        move_out(self, row)
        self._ask_again(row)
        self.work.state[row] = state
        self.work.started[row] = NEVER
        self.work.preempted[row] += preempted
        self.pending.add(row)
        self.journal.grown += 1
        self.journal.move(row)
        self.version += 1

    def save(self, row: int, at: int | None, takes: int | None = None) -> None:
        """A workload wrote a checkpoint it can resume from, or it is known how long that takes."""
        work = self.work
        if at is not None:
            work.checkpoint_last[row] = at
            self.journal.saved += 1
            if work.checkpoint[row] == NO_CHECKPOINT:
                self.journal.move(row)
        if takes is not None and takes != work.checkpoint_time[row]:
            work.checkpoint_time[row] = takes
            self.journal.move(row)
        self.version += 1

    def forget(self, row: int) -> None:
        """A workload ended: its room is free, its row may be used again."""
        load = self.moulds.loads.pop(row, None)
        admission = self.moulds.admitted.pop(row, None)
        if admission is not None:
            load = admission.load
        elif load is None or row in self.admitted:
            load = load_of_row(self, row)
        self.units.uncount(load)
        if holds(int(self.work.state[row])):
            move_out(self, row)
            self.journal.grown += 1
        self.pending.discard(row)
        self.journal.end(row)
        name = self.work_names[row]
        for node in self.reservations.pop(row, ()):
            self.nodes.reserved_for[node], self.nodes.reserved_since[node] = NONE, NEVER
        del self.work_index[name]
        sides: tuple[dict[int, Any], ...] = (self.parts, self.placed, self.constraints, self.admitted)
        for side in (*sides, self.odd_requests, self.odd_usages):
            if side:
                side.pop(row, None)
        self.work_names[row] = self.uids[row] = ""
        self.work.drop(row)
        self.version += 1

    def _admit(self, row: int, parts: tuple[PodSet, ...]) -> None:
        plain = plain_key(self, row)
        key = None if plain is None else (plain, key_of_parts(parts))
        known = None if key is None else self.moulds.admissions.get(key)
        if known is not None and row in self.pending:
            self.units.learn((), known.more)
            work = self.work
            work.need[:, row], work.usage[:, row], work.members[row] = known.need, known.usage, known.members
            if known.requests is not None:
                self.odd_requests[row] = known.requests
            self.admitted[row] = known.ask
            self.moulds.admitted[row] = known
            return
        refuse_parts(self, row, parts)
        more = difference(load_of_row(self, row, parts), load_of_row(self, row))
        self.learn(*(part.requests for part in parts), more=more)
        admit(self, row, parts)
        if key is not None:
            as_it_is = members_as_they_are(self, row)
            assert as_it_is.ask is not None
            made = (as_it_is.need, as_it_is.usage, as_it_is.members, as_it_is.requests, as_it_is.ask)
            self.moulds.keep_admission(key, Admission(*made, more, load_of_row(self, row)))

    def _ask_again(self, row: int) -> None:
        """What it was admitted with is forgotten, and so is usage that a file gives where quota is in flavors."""
        given = self.static.flavored_quota and bool(self.work.usage_given[row])
        if row not in self.admitted and not given:
            return
        admission = self.moulds.admitted.pop(row, None)
        if admission is not None:
            put_back(self, row)
            self.units.uncount(admission.more)
            return
        before = load_of_row(self, row)
        if row in self.admitted:
            put_back(self, row)
        else:
            ask_for_usage_no_more(self, row)
        self.units.count(difference(load_of_row(self, row), before))

    # -- nodes and queues --------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> int:
        """A node joins, or changes: capacity, labels, state. What runs there stays."""
        refuse_node(self, node)
        row = self.node_index.get(node.name)
        more = load_of_node(self.static, node)
        if row is not None:
            less = self.nodes.capacity[:, row] + self.nodes.occupied[:, row]
            more = difference(more, {"": FULL, **self.units.amounts(less.tolist())})
        self.learn(*columns_of_node(self.static, node), more=more)
        if row is None:
            row = self.node_index[node.name] = self.nodes.add()
            self.node_names.append(node.name)
            self.node_residents.append([])
            self._node_rank = None
        enter_node(self, row, node)
        self.moulds.clear()
        holder = NONE if node.reserved_for is None else self.work_index[node.reserved_for]
        self.reserve(row, holder, NEVER if node.reserved_since is None else node.reserved_since)
        self.set_node_state(row, NODE_STATES.index(node.state))
        refresh(self, row)
        return row

    def set_node_state(self, row: int, state: int) -> None:
        """Ready, cordoned or down."""
        self.nodes.state[row] = state
        self.journal.reshaped += 1
        self.version += 1

    def reserve(self, node: int, row: int, since: int = NEVER) -> None:
        """Keep a whole node for one workload, or for nobody; `since` when, if that is known."""
        before = int(self.nodes.reserved_for[node])
        if before != NONE:
            self.reservations[before].discard(node)
            if not self.reservations[before]:
                del self.reservations[before]
        self.nodes.reserved_for[node], self.nodes.reserved_since[node] = row, since
        if row != NONE:
            self.reservations.setdefault(row, set()).add(node)
        self.journal.reshaped += 1
        self.version += 1

    def put_queue(self, queue: Queue) -> int:
        """A queue joins, or its entry changes: its usage follows it to another parent, its work to a partition."""
        refuse_queue(self, queue)
        self.learn(*columns_of_queue(self.static, queue), more={})
        row = self.tree.row(queue.name)
        usage = self.tree.usage[:, row].copy()
        for above in self.tree.path(row)[1:]:
            self.tree.usage[:, above] -= usage
        partition = partition_of(self, row)
        code = self.partitions.code(queue.partition or DEFAULT_PARTITION)
        self.tree.put(queue, self.units, code, zero_is_unset=self.static.zero_is_unset)
        for above in self.tree.path(row)[1:]:
            self.tree.usage[:, above] += usage
        if partition_of(self, row) != partition:
            size = self.work.size
            self.work.partition[:size][self.work.queue[:size] == row] = partition_of(self, row)
        self.moulds.clear()
        self.journal.reshaped += 1
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
            return self.vectors_of(self.parts[row], bool(self.work.exclusive[row]))
        return [self.work.need[:, row]] * int(self.work.members[row])

    def vectors_of(self, parts: Sequence[PodSet], exclusive: bool) -> list[Int64s]:
        """What each of these members takes of a node; the amounts are known."""
        found: list[Int64s] = []
        for part in parts:
            found += [self.member_vector(part.requests, exclusive)] * part.count
        return found
