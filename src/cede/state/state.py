"""The columnar cluster: built once, then updated in place by what happens, at a cost that does not grow with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cede.model.cluster import Node, PodSet, Queue, Workload
from cede.state.admission import admit, ask_for_usage_no_more, load_of_row, members_as_they_are, plain_key, put_back
from cede.state.amounts import (
    columns_of_node,
    columns_of_queue,
    difference,
    flavored,
    load_of_node,
    load_of_workload,
    plain,
    sizes_of_workload,
)
from cede.state.cluster_columns import ClusterColumns
from cede.state.columns import (
    GONE,
    NEVER,
    NODE_STATES,
    NONE,
    PENDING,
    RESERVED,
    RUNNING,
    STATES,
)
from cede.state.entry import enter, enter_node, own_priority, partition_of
from cede.state.interning import key_of as key_of_parts
from cede.state.journal import Journal
from cede.state.refusals import (
    refuse_node,
    refuse_parts,
    refuse_places,
    refuse_queue,
    refuse_unless_admitted,
    refuse_workload,
)
from cede.state.residents import OVERLAPPING, book, move_out, refresh, settle_in
from cede.state.row_templates import NO_CHECKPOINT, Admission, Key, RowTemplate, key_of, template_of
from cede.state.static import DEFAULT_PARTITION, Static, holds
from cede.state.units import FULL
from cede.state.write_behind import Entry, NodeRoom, Record, entry_in_columns, entry_of, write


class State(ClusterColumns):
    """Everything a decision reads. Rows are workloads, nodes, residents (workload on node) and queues.

    Workloads like others that came before are kept as `records`, and what happens to them is written into the columns
    when somebody reads those. One that has no record is in the columns alone.
    """

    def __init__(self, static: Static, *, now: int = 0, instant: bool = False) -> None:
        super().__init__(static, now)
        self.instant = instant
        self.version = 0
        self.records: dict[int, Record] = {}
        self._room: NodeRoom | None = None
        self.away: set[str] = set()
        """Workloads that have not ended but are in no column: somebody keeps them from running."""
        self.reservations: dict[int, set[int]] = {}
        self.booked_on: dict[int, tuple[int, ...]] = {}
        self.journal = Journal()

    # -- columns -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The columns say what the records do."""
        rows, self._unwritten = self._unwritten, {}
        self._write(rows)

    def _write(self, rows: dict[int, None]) -> None:
        between = self.between  # records are counted when they change
        write(self, self.records, rows)
        self.between = between

    @contextmanager
    def unwritten(self) -> Iterator[None]:
        """For who reads or fills only rows that are in the columns as they should be: the others are not written."""
        rows, self._unwritten = self._unwritten, {}
        try:
            yield
        finally:
            self._unwritten = {**rows, **self._unwritten}

    def room(self) -> NodeRoom:
        """What is free on each node, in plain numbers; not to be asked for inside a trial that has booked anything."""
        if self._room is None:
            self._room = NodeRoom(self, self.records)
        elif self._room.stale:
            self._room.refresh(self)
        return self._room

    def _in_columns(self, row: int) -> None:
        """From now on this workload is in the columns alone."""
        record = self.records.get(row)
        if record is not None:
            self.write()
            del self.records[row]
            self.templates.loads[row] = record.template.load

    def _all_in_columns(self) -> None:
        """Nodes, queues or units change: what was worked out of them holds no more."""
        self.write()
        for row, record in self.records.items():
            self.templates.loads[row] = record.template.load
        self.records.clear()
        self.templates.clear()
        self._room = None

    def _moved(self, row: int, record: Record, code: int) -> None:
        """A record goes on to this state, with the nodes that it has."""
        before = record.code
        if self._room is not None and record.nodes:
            self._room.move(row, record, code)
        if code in OVERLAPPING or before in OVERLAPPING:
            self.between += (code in OVERLAPPING) - (before in OVERLAPPING)
        record.code = code
        self._unwritten[row] = None

    def _touch(self, row: int) -> None:
        """What is free where this workload stands changes in the columns."""
        if self._room is not None:
            self._room.stale.update(int(self.residents.node[resident]) for resident in self.residents_of(row))

    # -- resources ---------------------------------------------------------------------------------------------

    def learn(self, *entries: Mapping[str, int], more: Mapping[str, int]) -> None:
        """Columns and units for these amounts, plain names for nodes beside the flavored ones for quota.

        `more` is what they add to all that is known; too much to count exactly is an error that changes nothing.
        """
        seen = [*entries, *(plain(entry) for entry in entries if flavored(entry))]
        finer = self.units.learn(seen, more)
        if len(self.units) == self._work.resources and not finer:
            return
        self._all_in_columns()
        self.tree.derived.clear()
        self.journal.reshaped += 1
        tables = (self.work, self.nodes, self.residents, self.tree)
        for table in tables:
            if len(self.units) > table.resources:
                table.widen(len(self.units))
            for column, factor in finer.items():
                table.rescale(column, factor)

    # -- workloads ---------------------------------------------------------------------------------------------

    def submit(self, workload: Workload) -> int:
        """Enter a workload; one that holds room is placed where its entry says."""
        key = key_of(workload)
        template = None if key is None else self.templates.kept.get(key)
        values = workload.__dict__
        name = values["name"]
        known = template is not None and name not in self.work_index
        if known:
            assert template is not None
            self.units.count_columns(template.counted)
            unused = self._work.unused
            row = unused.pop() if unused else self._work.add()
        else:
            row, template = self._enter(workload, key)
        uid = values["uid"] or name
        self.work_index[name] = row
        if row == len(self.work_names):
            self.work_names.append(name)
            self.uids.append(uid)
        else:
            self.work_names[row] = name
            self.uids[row] = uid
        journal = self.journal
        if journal.follows:
            journal.rows.append(row)
        code = PENDING if values["state"] == "pending" else STATES.index(values["state"])
        if code >= RESERVED:
            if known:
                self._record(row, workload, template, PENDING, written=False)
                self._in_columns(row)
            nodes = [self.node_index[name] for name in workload.nodes or ()]
            settle_in(self, row, nodes, code)
            self._touch(row)
        else:
            self.pending.add(row)
            if template is None:
                self.work.state[row] = code
            else:
                self._record(row, workload, template, code, written=not known)
        self.version += 1
        return row

    def _record(self, row: int, workload: Workload, template: RowTemplate | None, code: int, *, written: bool) -> None:
        assert template is not None
        entry = workload.__dict__
        priority, submitted, walltime = entry["priority"], entry["submitted"], entry["walltime"]
        user, project = entry["user"], entry["project"]
        if priority is None:
            static = self.static
            priority = own_priority(static, user, project) if static.policies else static.default_priority
        record = self.records[row] = Record(
            template,
            code,
            priority,
            entry["job_priority"] or 0,
            self.now if submitted is None else int(submitted),
            NEVER if walltime is None else int(walltime),
            NONE if user is None else self.users.code(user),
            NONE if project is None else self.projects.code(project),
            entry["preempted"],
        )
        record.written = written
        self._unwritten[row] = None

    def _enter(self, workload: Workload, key: Key | None) -> tuple[int, RowTemplate | None]:
        """A row filled from the entry, whatever it says; the next like it finds a template."""
        with self.unwritten():
            refuse_workload(self, workload)
        requests = (requests for requests, _ in sizes_of_workload(workload))
        load = self.shared.amounts(load_of_workload(workload))
        self.learn(*requests, workload.usage or {}, more=load)
        unused = self._work.unused
        if unused and unused[-1] in self._unwritten:
            del self._unwritten[unused[-1]]
            with self.unwritten():
                self._write({unused[-1]: None})  # whoever had this row is still there in the columns
        with self.unwritten():
            row = self.work.add()
            enter(self, row, workload)
            if key is None or row in self.odd_requests:
                return row, None
            template = template_of(self.work, self.units, row, load)
        self.templates.keep(key, template)
        return row, template

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
        record = self.records.get(row)
        since = self.now if at is None else at
        if record is not None and parts is None:
            if len(nodes) != record.template.members:
                refuse_places(self.work_names[row], record.template.members, len(nodes))
            record.started, record.nodes = since, tuple(nodes)
            self._moved(row, record, state)
        else:
            members = int(self.work.members[row]) if parts is None else sum(part.count for part in parts)
            refuse_places(self.work_names[row], members, len(nodes))
            if parts is not None:
                self._admit(row, parts)
            self.work.started[row] = since
            settle_in(self, row, nodes, state)
            self._touch(row)
        self.pending.discard(row)
        journal = self.journal
        if journal.follows:
            journal.rows.append(row)
        self.version += 1

    def begin(self, row: int, at: int | None) -> None:
        """A workload that has its room runs since this time, or has not begun to."""
        record = self.records.get(row)
        if record is None:
            self.work.started[row] = NEVER if at is None else at
        else:
            record.started = NEVER if at is None else at
            self._unwritten[row] = None
        self.journal.move(row)
        self.version += 1

    def mark(self, row: int, state: int) -> None:
        """Another state that holds room too: running, checkpointing, preempting."""
        record = self.records.get(row)
        if record is None:
            residents = self.residents_of(row)
            before = int(self.work.state[row])
            for resident in residents:
                book(self, resident, before, -1)
            self.between += (state in OVERLAPPING) - (before in OVERLAPPING)
            self.work.state[row] = state
            for resident in residents:
                book(self, resident, state, 1)
            self._touch(row)
        else:
            self._moved(row, record, state)
        self.journal.grown += 1
        self.journal.move(row)
        self.version += 1

    def requeue(self, row: int, *, state: int = PENDING, preempted: bool = False) -> None:
        """A workload gives its room back and waits again, for what it first asked for; its submission time stays."""
        record = self.records.get(row)
        if record is None:
            self._touch(row)
            move_out(self, row)
            self._ask_again(row)
            self.work.state[row] = state
            self.work.started[row] = NEVER
            self.work.preempted[row] += preempted
        else:
            self._moved(row, record, state)
            record.nodes, record.started = (), NEVER
            record.preempted += preempted
        self.pending.add(row)
        self.journal.grown += 1
        self.journal.move(row)
        self.version += 1

    def save(self, row: int, at: int | None, takes: int | None = None) -> None:
        """A workload wrote a checkpoint it can resume from, or it is known how long that takes."""
        record = self.records.get(row)
        if record is None:
            work = self.work
            saves, known = bool(work.checkpoint[row] != NO_CHECKPOINT), int(work.checkpoint_time[row])
            if at is not None:
                work.checkpoint_last[row] = at
            if takes is not None:
                work.checkpoint_time[row] = takes
        else:
            saves, known = record.template.saves, record.save(at, takes)
            self._unwritten[row] = None
        if at is not None:
            self.journal.saved += 1
        if (at is not None and not saves) or (takes is not None and takes != known):
            self.journal.move(row)
        self.version += 1

    def protect(self, row: int, *, preemptible: bool) -> None:
        """Whether a workload may be preempted from now on."""
        record = self.records.get(row)
        if record is None:
            self.work.preemptible[row] = preemptible
        elif record.preemptible != preemptible:
            record.preemptible = preemptible
            self._unwritten[row] = None

    def forget(self, row: int) -> None:
        """A workload ended: its room is free, its row may be used again."""
        record = self.records.pop(row, None)
        if record is None:
            self._leave_columns(row)
        else:
            self.units.uncount_columns(record.template.counted)
            if record.code >= RESERVED:
                self.journal.grown += 1
            self._moved(row, record, GONE)
            self._work.unused.append(row)
        self.pending.discard(row)
        journal = self.journal
        if journal.follows:
            journal.rows.append(~row)
        if self.reservations:
            for node in self.reservations.pop(row, ()):
                self.nodes.reserved_for[node], self.nodes.reserved_since[node] = NONE, NEVER
        del self.work_index[self.work_names[row]]
        self.work_names[row] = self.uids[row] = ""
        self.version += 1

    def _leave_columns(self, row: int) -> None:
        load = self.templates.loads.pop(row, None)
        admission = self.templates.admitted.pop(row, None)
        if admission is not None:
            load = admission.load
        elif load is None or row in self.admitted:
            load = load_of_row(self, row)
        self.units.uncount(load)
        if holds(int(self.work.state[row])):
            self._touch(row)
            move_out(self, row)
            self.journal.grown += 1
        sides: tuple[dict[int, Any], ...] = (self.parts, self.placed, self.constraints, self.admitted)
        for side in (*sides, self.odd_requests, self.odd_usages):
            if side:
                side.pop(row, None)
        self.work.drop(row)

    def _admit(self, row: int, parts: tuple[PodSet, ...]) -> None:
        self._in_columns(row)
        plain = plain_key(self, row)
        key = None if plain is None else (plain, key_of_parts(parts))
        known = None if key is None else self.templates.admissions.get(key)
        if known is not None and row in self.pending:
            self.units.learn((), known.more)
            work = self.work
            work.need[:, row], work.usage[:, row], work.members[row] = known.need, known.usage, known.members
            if known.requests is not None:
                self.odd_requests[row] = known.requests
            self.admitted[row] = known.ask
            self.templates.admitted[row] = known
            return
        refuse_parts(self, row, parts)
        more = difference(load_of_row(self, row, parts), load_of_row(self, row))
        self.learn(*(part.requests for part in parts), more=more)
        admit(self, row, parts)
        if key is not None:
            as_it_is = members_as_they_are(self, row)
            assert as_it_is.ask is not None
            made = (as_it_is.need, as_it_is.usage, as_it_is.members, as_it_is.requests, as_it_is.ask)
            self.templates.keep_admission(key, Admission(*made, more, load_of_row(self, row)))

    def _ask_again(self, row: int) -> None:
        """What it was admitted with is forgotten, and so is usage that a file gives where quota is in flavors."""
        given = self.static.flavored_quota and bool(self.work.usage_given[row])
        if row not in self.admitted and not given:
            return
        admission = self.templates.admitted.pop(row, None)
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
        self._all_in_columns()
        if row is None:
            row = self.node_index[node.name] = self.nodes.add()
            self.node_names.append(node.name)
            self.node_residents.append([])
            self._node_rank = None
        enter_node(self, row, node)
        holder = NONE if node.reserved_for is None else self.work_index[node.reserved_for]
        self.reserve(row, holder, NEVER if node.reserved_since is None else node.reserved_since)
        self.set_node_state(row, NODE_STATES.index(node.state))
        refresh(self, row)
        return row

    def set_node_state(self, row: int, state: int) -> None:
        """Ready, cordoned or down."""
        self.nodes.state[row] = state
        self._room = None
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
        self._room = None
        if row != NONE:
            self.reservations.setdefault(row, set()).add(node)
        self.journal.reshaped += 1
        self.version += 1

    def put_queue(self, queue: Queue) -> int:
        """A queue joins, or its entry changes: its usage follows it to another parent, its work to a partition."""
        refuse_queue(self, queue)
        self.learn(*columns_of_queue(self.static, queue), more={})
        self._all_in_columns()
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
        self.journal.reshaped += 1
        self.version += 1
        return row

    # -- questions ---------------------------------------------------------------------------------------------

    def code_of(self, row: int) -> int:
        """The state of a workload."""
        record = self.records.get(row)
        return int(self.work.state[row]) if record is None else record.code

    def entry(self, row: int) -> Entry:
        """What a workload is, without looking at columns that are not written yet."""
        record = self.records.get(row)
        return entry_in_columns(self.work, row) if record is None else entry_of(record)
