"""What operations use and ask for: sums of every operation, kept as work comes and goes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.doctrines.parts.orders import order_of
from cede.doctrines.ytsaurus.pool_tree import Operations, Pools, read_pools
from cede.state.columns import CHECKPOINTING, GONE, NEVER, NONE, PREEMPTING, RESERVED, SUSPENDED, Int64s, Rows
from cede.state.row_templates import RowTemplate
from cede.state.state import State

IDLE, HOLDS, WAITS, LEAVES = range(4)
SMALL = 1024
NO_TIME = 2**63 - 1
"""When an operation without workloads began."""
MOST_TEMPLATES = 1024
"""Kinds of workloads that are known at once."""
NO_ROWS: Rows = np.zeros(0, np.intp)


def progress_of(state: State, rows: Rows) -> Int64s:
    """When what would be lost began: at the start, or at the last checkpoint; NEVER where no start is known."""
    started, saved = state.work.started[rows], state.work.checkpoint_last[rows]
    progress: Int64s = np.where((started == NEVER) | (saved == NEVER), started, np.maximum(started, saved))
    return progress


class OperationUsage:
    """Sums by operation, in counts: `usage` (n, R), `waiting` (n, R), how many wait and hold, first submission.

    What each workload counts for is kept beside, so that one that is gone can be taken off again. The sums are kept in
    plain numbers (`uses`, `wants`, `tally`), as one workload after another changes them; the tables of all operations
    are written when they are read.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.pools: Pools = read_pools(state)
        self.operations = Operations(self.pools)
        self.reshaped = state.journal.reshaped
        resources = len(self.pools.columns)
        size = state.work.size
        self.operation: Rows = np.full(size, NONE, np.intp)
        self.kind = np.zeros(size, np.int8)
        self.amount: Int64s = np.zeros((size, resources), np.int64)
        self._plain: dict[int, list[int]] = {}
        """The same in plain numbers, of workloads that came or changed one by one."""
        self.before: Int64s = np.zeros((size, resources), np.int64)
        """What its operation uses before each one that holds room, in the order of `lists_of`, once that is known."""
        self.uses: list[list[int]] = []
        self.wants: list[list[int]] = []
        self.tally: list[list[int]] = []
        """What each operation uses, and waits for, and how many of its workloads do what; lists to look at."""
        self._tables: list[Int64s] = [np.zeros((0, width), np.int64) for width in (resources, resources, 4)]
        self._unwritten: set[int] = set()
        """Operations of which the tables do not say how they stand."""
        self._templates: dict[RowTemplate, tuple[int, str | None, bool, list[int]]] = {}
        """What all of a kind of workloads share: pool, app, whether they have several members, amount."""
        self._stands: dict[int, tuple[int, ...]] = {}
        """Nodes of workloads that hold room, once changes are followed."""
        self.nodes: set[int] = set()
        """Nodes on which something happened since the update before."""
        self._folds = any(len(columns) > 1 for columns in self.pools.folded)
        self.submitted: dict[int, int] = {}
        self._came: Int64s = np.zeros(size, np.int64)
        """When each was submitted, as it counts in the start of its operation."""
        self.pending = 0
        self.waiters: dict[int, set[int]] = {}
        """Waiting workloads, by operation."""
        self.alive = 0
        """How many operations have work that holds room or waits."""
        self.came: set[int] = set(state.pending)
        """Workloads of which it was not said yet whether they can ever run."""
        self.moved: set[int] = set()
        """Workloads that something happened to since the update before."""
        self.several: set[int] = set()
        """Workloads of more than one member."""
        self._holders: dict[int, list[int]] = {}
        self._lists: dict[int, Rows] = {}
        self._saved = state.journal.saved
        self._take_all()
        residents = state.residents
        here = np.flatnonzero(residents.count[: residents.size] > 0)
        self._stood: tuple[Rows, Rows] | None = (
            residents.work[here].astype(np.intp),
            residents.node[here].astype(np.intp),
        )
        works, nodes = self._stood
        held = state.work.state[works] == RESERVED
        self.reserved = _nodes_by_row(works[held], nodes[held])
        """Nodes of workloads with reserved room."""

    # -- all at once -----------------------------------------------------------------------------------------------

    def _take_all(self) -> None:
        state = self.state
        work, size = state.work, state.work.size
        known: Rows = np.flatnonzero(work.state[:size] != GONE)
        pools, numbers, names = self.pools, self.operations, state.work_names
        apps = state.apps.names
        above = np.where(work.queue[known] == NONE, pools.size + work.partition[known], work.queue[known]).astype(
            np.int64
        )
        app = work.app[known].astype(np.int64)
        app = np.where(app == NONE, len(apps) + known, app)  # work without an app is an operation by itself
        span = len(apps) + size
        keys, which = np.unique(above * span + app, return_inverse=True)
        own = [
            numbers.number(key // span, apps[key % span] if key % span < len(apps) else names[key % span - len(apps)])
            for key in keys.tolist()
        ]
        self.operation[known] = np.array(own, np.intp)[which] if own else NONE
        numbers.enter_listed()
        usage, waiting, counts = (np.zeros((len(numbers), one.shape[1]), np.int64) for one in self._tables)
        self._tables = [usage, waiting, counts]
        self.several = {*known[work.members[known] > 1].tolist(), *state.parts}
        self.kind[known] = self._kinds(known)
        self.amount[known] = self._amounts(known)
        self.pending = len(state.pending)
        for kind, table in ((HOLDS, usage), (WAITS, waiting)):
            rows = known[self.kind[known] == kind]
            np.add.at(table, self.operation[rows], self.amount[rows])
            by_operation = self._split(rows)
            if kind == HOLDS:
                self._holders = by_operation
            else:
                self.waiters = {operation: set(own) for operation, own in by_operation.items()}
        kinds = counts.shape[1]
        each = np.bincount(self.operation[known] * kinds + self.kind[known], minlength=len(numbers) * kinds)
        counts[:] = each.reshape(-1, kinds)
        self.uses, self.wants, self.tally = usage.tolist(), waiting.tolist(), counts.tolist()
        self.alive = int(np.count_nonzero(counts[:, HOLDS] + counts[:, WAITS]))
        first = np.full(len(numbers), NO_TIME)
        self._came[known] = work.submitted[known]
        np.minimum.at(first, self.operation[known], work.submitted[known])
        self.submitted = dict(enumerate(first.tolist()))

    def _amounts(self, rows: Rows) -> Int64s:
        """What each counts for: what it uses, or, as long as it waits, what it asks for."""
        work = self.state.work
        amounts = self.pools.amounts(work.usage, rows)
        for at in np.flatnonzero(work.usage_given[rows] & (self.kind[rows] == WAITS)).tolist():
            asked = np.sum(self.state.members_of(int(rows[at])), axis=0)
            amounts[at] = asked[self.pools.columns]
        return amounts

    def _amount(self, row: int) -> Int64s:
        """The same of one."""
        amount: Int64s
        if self._folds or self.state.work.usage_given[row]:
            amount = self._amounts(np.array([row]))[0]
        else:
            amount = self.state.work.usage[self.pools.columns, row]
        return amount

    def _split(self, rows: Rows) -> dict[int, list[int]]:
        """These workloads by operation."""
        turn = np.argsort(self.operation[rows], kind="stable")
        own = self.operation[rows][turn]
        edges = np.flatnonzero(np.diff(own)) + 1
        return {int(self.operation[part[0]]): part.tolist() for part in np.split(rows[turn], edges) if len(part)}

    def holders(self, operation: int) -> list[int]:
        """Workloads of an operation that hold room, in no order."""
        return self._holders.get(operation, [])

    def lists_of(self, operations: Iterable[int]) -> list[Rows]:
        """The allocations of each of these operations, in the order of progress, unknown last, then uid."""
        if self._saved != self.state.journal.saved:
            self._saved = self.state.journal.saved
            self._lists.clear()
        new = [one for one in operations if one not in self._lists]
        if new:
            rows = np.array([row for one in new for row in self._holders.get(one, ())], np.intp)
            own = self.operation[rows]
            turn = order_of(self.state, rows, own, progress_of(self.state, rows))
            rows, own = rows[turn], own[turn]
            sums = np.cumsum(self.amount[rows], axis=0) - self.amount[rows]
            self.before[rows] = sums - sums[np.searchsorted(own, own)]
            begins = np.searchsorted(own, new), np.searchsorted(own, new, "right")
            for one, begin, end in zip(new, *begins, strict=True):
                self._lists[one] = rows[begin:end]
        return [self._lists[one] for one in operations]

    def _kinds(self, rows: Rows) -> Int64s:
        state = self.state
        code = state.work.state[rows]
        kinds = np.where((code >= RESERVED) & (code <= CHECKPOINTING), HOLDS, IDLE)
        kinds[code == PREEMPTING] = LEAVES
        waits = (code != GONE) & (code <= SUSPENDED)
        if waits.any():
            asked = np.fromiter(state.pending, np.intp, len(state.pending))
            kinds[waits & np.isin(rows, asked)] = WAITS
        return kinds

    @property
    def usage(self) -> Int64s:
        """What operations use. To look at, not to change."""
        return self._written()[0]

    @property
    def waiting(self) -> Int64s:
        """What operations wait for."""
        return self._written()[1]

    @property
    def counts(self) -> Int64s:
        """How many workloads of each operation are of each kind."""
        return self._written()[2]

    def _written(self) -> list[Int64s]:
        """The tables as things stand; room for as many again, so that it is seldom made."""
        size = len(self.tally)
        if size > len(self._tables[0]):
            more = 2 * size - len(self._tables[0])
            self._tables = [np.concatenate((one, np.zeros((more, one.shape[1]), np.int64))) for one in self._tables]
        if self._unwritten:
            rows = list(self._unwritten)
            for table, lists in zip(self._tables, (self.uses, self.wants, self.tally), strict=True):
                table[rows] = [lists[row] for row in rows]
            self._unwritten.clear()
        return [one[:size] for one in self._tables]

    def _grow_rows(self) -> None:
        more = len(self.state.work_names) - len(self.kind)
        if more > 0:
            more += len(self.kind)
            self.operation = np.concatenate((self.operation, np.full(more, NONE, np.intp)))
            self.kind = np.concatenate((self.kind, np.zeros(more, np.int8)))
            self._came = np.concatenate((self._came, np.zeros(more, np.int64)))
            blank = np.zeros((more, self.amount.shape[1]), np.int64)
            self.amount, self.before = np.concatenate((self.amount, blank)), np.concatenate((self.before, blank))

    # -- one by one --------------------------------------------------------------------------------------------------

    def follow(self) -> set[int] | None:
        """Catch up with what happened: the operations it touched; none, if everything must be read anew."""
        state, journal = self.state, self.state.journal
        self.came |= self.newcomers()
        if journal.reshaped != self.reshaped or not journal.follows:
            return None
        rows = self.moved = {row if row >= 0 else ~row for row in journal.rows}
        journal.rows.clear()
        self._grow_rows()
        if self._stood is not None:
            self._stands, self._stood = _nodes_by_row(*self._stood), None
        self.nodes = set()
        touched: set[int] = set()
        for row in rows:
            self._move(row, touched)
        if len(self.operations) > SMALL + 2 * (self.alive + len(state.static.apps)):
            return None  # most of them ended
        return touched if self.pending == len(state.pending) else None

    def newcomers(self) -> set[int]:
        """Workloads that came since, also on a row that was another's."""
        newcomers: set[int] = set()
        ended: set[int] = set()
        for row in self.state.journal.rows:
            if row < 0:
                ended.add(~row)
                newcomers.discard(~row)
            elif row in ended or row >= len(self.operation) or self.operation[row] == NONE:
                newcomers.add(row)
        self.came -= ended
        return newcomers

    def _move(self, row: int, touched: set[int]) -> None:
        """What this row counts for, as it stands now; `touched` learns whose it is and was."""
        state = self.state
        before = self.operation.item(row)
        if before != NONE:
            self._count(row, before, self.kind.item(row), -1)
            touched.add(before)
        self.nodes.update(self._stands.pop(row, ()))
        self.reserved.pop(row, None)
        if not state.work_names[row]:
            self.several.discard(row)
            self.operation[row], self.kind[row] = NONE, IDLE
            self._plain.pop(row, None)
            self._begin(before, self._came.item(row))
            return
        record = state.records.get(row)
        if record is None:
            pool, app, several = self._read(row)
            amount = None  # while it waits the amount may be another
            code, submitted = state.work.state.item(row), state.work.submitted.item(row)
            nodes = tuple([state.residents.node.item(resident) for resident in state.residents_of(row)])
        else:
            shared = self._templates.get(record.template)
            if shared is None:
                if len(self._templates) >= MOST_TEMPLATES:
                    self._templates.clear()
                shared = self._templates[record.template] = (*self._read(row), self._amount(row).tolist())
            pool, app, several, amount = shared
            code, submitted, nodes = record.code, record.submitted, record.nodes
        if code >= RESERVED:
            kind = LEAVES if code == PREEMPTING else HOLDS
            self._stands[row] = nodes
            self.nodes.update(nodes)
            if code == RESERVED:
                self.reserved[row] = nodes
        else:
            kind = WAITS if row in state.pending else IDLE
        self.several.add(row) if several else self.several.discard(row)
        now = self.operations.number(pool, state.work_names[row] if app is None else app)
        if now == len(self.tally):
            self.uses.append([0] * self.amount.shape[1])
            self.wants.append([0] * self.amount.shape[1])
            self.tally.append([0, 0, 0, 0])
        self.kind[row] = kind
        if before != now or amount is None or self._plain.get(row) is not amount:
            self.operation[row] = now
            self._plain[row] = self._amount(row).tolist() if amount is None else amount
            self.amount[row] = self._plain[row]
        self._count(row, now, kind, 1)
        touched.add(now)
        was, self._came[row] = self._came.item(row), submitted
        if before != now or was != submitted:
            self._begin(before, was)
        self.submitted[now] = min(self.submitted.get(now, NO_TIME), submitted)

    def _read(self, row: int) -> tuple[int, str | None, bool]:
        """Pool and app of a workload by its columns, and whether it has several members."""
        state, work = self.state, self.state.work
        pool = self.pools.pool_of(int(work.queue[row]), int(work.partition[row]))
        several = bool(work.members[row] > 1) or row in state.parts
        return pool, state.apps.name(int(work.app[row])), several

    def _begin(self, operation: int, gone: int) -> None:
        """An operation lost a workload that was submitted then: it starts with the first of those that are left."""
        if operation != NONE and gone <= self.submitted[operation]:
            if not any(self.tally[operation]):
                self.submitted[operation] = NO_TIME
                return
            left = self._came[self.operation == operation]
            self.submitted[operation] = int(left.min(initial=NO_TIME))

    def _count(self, row: int, operation: int, kind: int, sign: int) -> None:
        counts = self.tally[operation]
        self._unwritten.add(operation)
        alive = bool(counts[HOLDS] or counts[WAITS])
        counts[kind] += sign
        if kind == HOLDS:
            self.uses[operation] = self._sum(self.uses[operation], row, sign)
            others = self._holders.setdefault(operation, [])
            others.append(row) if sign > 0 else others.remove(row)
            self._lists.pop(operation, None)
        elif kind == WAITS:
            self.wants[operation] = self._sum(self.wants[operation], row, sign)
            self.pending += sign
            others_wait = self.waiters.setdefault(operation, set())
            others_wait.add(row) if sign > 0 else others_wait.discard(row)
        self.alive += bool(counts[HOLDS] or counts[WAITS]) - alive

    def _sum(self, sums: list[int], row: int, sign: int) -> list[int]:
        """Readers may have kept these sums, so new lists take their place."""
        amount = self._plain.get(row)
        if amount is None:
            amount = self.amount[row].tolist()
        return [one + sign * more for one, more in zip(sums, amount, strict=True)]


def _nodes_by_row(works: Rows, nodes: Rows) -> dict[int, tuple[int, ...]]:
    by_row: dict[int, tuple[int, ...]] = {}
    for row, node in zip(works.tolist(), nodes.tolist(), strict=True):
        by_row[row] = (*by_row.get(row, ()), node)
    return by_row
