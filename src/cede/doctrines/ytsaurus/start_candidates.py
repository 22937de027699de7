"""Who might start in a cycle, and by whose going, from what changed since the cycle before."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

import numpy as np

from cede.doctrines.ytsaurus.clocks import NOT, STARVING
from cede.doctrines.ytsaurus.curves import EPSILON
from cede.doctrines.ytsaurus.fifo import NEAR
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import ANY, CHECKPOINTING, NONE, RUNNING, Bools, Int64s

Need = tuple[int, ...]
"""What one workload needs of its node, by column."""
Kind = tuple[Need, bool, int]
"""The need of a workload and whether it may preempt; of one that more is known of, its row, else `NONE`."""


MANY = 2**20


class Alike:
    """Workloads of one pool and kind that wait, in the order in which those without a share have their turn."""

    __slots__ = ("need", "order", "rows")

    def __init__(self, need: Need) -> None:
        self.need = need
        self.rows: set[int] = set()
        self.order: list[tuple[str, int, int]] = []
        """Operation by name and number, and row."""


class StartCandidates:
    """Workloads that wait, by what they need, and those of them that might start.

    Once a cycle went through all nodes, nobody who waits fits a node as that was: room aside, what keeps a workload
    from a node changes only with the workload or the shape of the cluster. So in the next one, of those who fit where
    nobody must go, only these can start: workloads that something happened to, and those that fit a node which has more
    room than it had, or which is no longer held for somebody. Where more than room decides (limits of pools, operations
    and tenants, operations that are preempted gracefully), `everybody` is asked.
    """

    def __init__(self, update: Update) -> None:
        self.update = update
        self.takeable = Takeable(update)
        self._alike: dict[int, dict[Kind, Alike]] = {}
        """By pool and kind."""
        self._known: dict[int, tuple[int, int, Kind]] = {}
        """Of each workload that is asked for: operation, pool and kind."""
        self._shared: set[int] | None = None
        """Of a cycle, those whose operation has a share; none: of anybody it might have."""
        self._of: dict[int, set[int]] = {}
        """Those of each operation."""
        self._asking: set[int] = set()
        self._fresh: set[int] = set()
        """Those that have not been asked for on every node."""
        self._free: Int64s = np.zeros((0, 0), np.int64)
        """What was free on nodes when all of them were gone through, less what was to start there."""
        self._held: Bools = np.zeros(0, np.bool_)
        self._grown: Bools = np.zeros(0, np.bool_)
        self._decided: set[int] = set()
        """Those that should have started since."""
        self.everybody = True
        self._follow(update.plenty.asking)

    # -- what happened -------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """After an update."""
        update = self.update
        for row in update.standing.moved:
            self._drop(row)
        self._follow(update.touched)
        self.takeable.follow()

    def _follow(self, touched: Iterable[int]) -> None:
        update = self.update
        standing, asking = update.standing, update.plenty.asking
        for number in touched:
            if number in asking:
                new = number not in self._asking
                self._asking.add(number)
                for row in standing.waiters[number] if new else standing.waiters[number] & standing.moved:
                    self._add(row, number)
            elif number in self._asking:
                self._asking.discard(number)
                for row in list(self._of.get(number, ())):
                    self._drop(row)

    def _add(self, row: int, number: int) -> None:
        state, pool = self.update.state, self.update.operations.pool[number]
        if row in state.parts:
            need: Need = tuple(np.sum(state.members_of(row), axis=0).tolist())
        else:
            members = int(state.work.members[row])
            need = tuple([one * members for one in state.work.need[:, row].tolist()])
        self._drop(row)
        kind = need, bool(state.work.preempts[row]), row if self._is_odd(row, number) else NONE
        self._known[row] = number, pool, kind
        self._of.setdefault(number, set()).add(row)
        alike = self._alike.setdefault(pool, {}).setdefault(kind, Alike(need))
        alike.rows.add(row)
        insort(alike.order, (self.update.operations.names[number], number, row))
        self._fresh.add(row)

    def _is_odd(self, row: int, number: int) -> bool:
        """Whether more than its need says where it may start, or when."""
        state, work = self.update.state, self.update.state.work
        return (
            row in state.parts
            or row in state.constraints
            or row in state.odd_requests
            or work.required_node[row] != NONE
            or work.placement[row] != ANY
            or bool(state.static.policies)
            or bool(state.units.flavored)
            or self.update.operations.settings[number].tag_filter is not None
            or not self.update.standing.amount[row].any()
        )

    def _drop(self, row: int) -> None:
        known = self._known.pop(row, None)
        if known is not None:
            number, pool, kind = known
            alike = self._alike[pool][kind]
            alike.rows.discard(row)
            own = self._of[number]
            own.discard(row)
            if not own:
                del self._of[number]
            place = self.update.operations.names[number], number, row
            del alike.order[bisect_left(alike.order, place)]
            if not alike.rows:
                del self._alike[pool][kind]
            self._fresh.discard(row)

    # -- who might start -----------------------------------------------------------------------------------------------

    def might_start(self, held: Bools, may_try: Bools | None) -> set[int]:
        """Those that might start where they fit, or by preemption on nodes that may try to."""
        state = self.update.state
        free = state.nodes.free[:, : state.nodes.size]
        if self.everybody or free.shape != self._free.shape or self._decided & state.pending:
            found = set(self._known)
            self._grown = np.ones(free.shape[1], np.bool_)
        else:
            self._grown |= (free > self._free).any(axis=0)
            self._grown |= self._held & ~held
            found = self._that_fit(free)
        self._free, self._held = free.copy(), held
        if may_try is not None and self.update.strongest > NOT:
            found |= self._by_preemption(free, may_try)
        self._shared = None
        return found

    def _that_fit(self, free: Int64s) -> set[int]:
        found: set[int] = set()
        for row in self._fresh:
            if _nodes(self._known[row][2][0], free):
                found.add(row)
        if self._grown.any():
            room = free[:, self._grown].T.tolist()
            for kinds in self._alike.values():
                for alike in kinds.values():
                    found |= self._first(alike, _places(alike.need, room))
        return found

    def _first(self, alike: Alike, places: int) -> set[int]:
        """Of these as many as might start where there are so many places for them.

        Whoever has a share comes before those without; and these are equally satisfied, so that the names of their
        operations decide. No more of them start than there are places, and what one of them may do they all may.
        """
        if not places or len(alike.rows) <= places or not self.update.by_fifo:
            return alike.rows if places else set()
        if self._shared is None:
            fifo, waiters = self.update.fifo, self.update.standing.waiters
            self._shared = {row for number in fifo.short | fifo.frontiers() for row in waiters.get(number, ())}
        found = alike.rows & self._shared
        left, last = places, NONE
        for _, number, row in alike.order:
            if row not in self._shared:
                if number != last and not left:
                    break
                left -= number != last
                last = number
                found.add(row)
        return found

    def _by_preemption(self, free: Int64s, may_try: Bools) -> set[int]:
        """Those that may preempt and fit a node with what could be taken there; on each at most one of them starts."""
        update = self.update
        found: set[int] = set()
        if not may_try.any():
            return found
        room = (free + self.takeable.amounts())[:, may_try]
        raised = set() if update.pools.tree.scope_only_operation else update.pool_clocks.raised
        for pool in raised:
            for (need, preempts, _), alike in self._alike.get(pool, {}).items():
                if preempts:
                    found |= self._first(alike, _nodes(need, room))
        answers: dict[Need, bool] = {}
        for number in update.op_clocks.raised:
            if update.operations.pool[number] not in raised:
                for row in update.standing.waiters[number]:
                    need, preempts, _ = self._known[row][2]
                    if need not in answers:
                        answers[need] = _nodes(need, room) > 0
                    if preempts and answers[need]:
                        found.add(row)
        return found

    def passed(self, started: set[int], *, complete: bool) -> None:
        """The cycle decided that these start, as booked now, and went through all nodes, or not."""
        self._decided = started
        nodes = self.update.state.nodes
        self._free = np.minimum(self._free, nodes.free[:, : nodes.size])
        if complete:
            self._fresh.clear()
            self._grown = np.zeros(len(self._held), np.bool_)
            self.everybody = False


class Takeable:
    """What a normal preemptive stage could take on each node, where shares are those of FIFO pools.

    Whoever has all it asks for has nothing that is preemptible, and whoever has no share nothing that is not; only of
    the operation at the frontier it must be looked at what it uses before each of its allocations.
    """

    def __init__(self, update: Update) -> None:
        self.update = update
        state = update.state
        self._amounts: Int64s = np.zeros((len(state.units), state.nodes.size), np.int64)
        self._taken: dict[int, list[tuple[int, Int64s]]] = {}
        """Of each operation what it holds on which node, of what could be taken."""
        self._changed: set[int] = set()
        self._raised: set[int] = set()
        self._saved = state.journal.saved
        self._anew = True

    def follow(self) -> None:
        """After an update."""
        update = self.update
        if not update.by_fifo or update.fifo.anew:
            self._anew = True
        else:
            self._changed |= update.fifo.changed

    def amounts(self) -> Int64s:
        """By column and node."""
        update = self.update
        if self._anew:
            self._amounts[:] = 0
            self._taken.clear()
            self._changed = set(range(len(update.operations)))
            self._anew = False
        raised = set(update.op_clocks.raised)
        self._changed |= raised ^ self._raised
        self._raised = raised
        if self._saved != update.state.journal.saved:  # the order of allocations is another
            self._saved = update.state.journal.saved
            self._changed |= update.fifo.frontiers()
        for number in self._changed:
            self._look(number)
        self._changed = set()
        return self._amounts

    def _look(self, number: int) -> None:
        for node, amount in self._taken.pop(number, ()):
            self._amounts[:, node] -= amount
        update, state = self.update, self.update.state
        rows = update.standing.holders(number)
        if not rows or (number in self._raised and not update.pools.tree.from_starving):
            return
        stands = update.fifo.stands(number)
        if stands < 0:
            return
        found: list[tuple[int, Int64s]] = []
        for row in rows if stands > 0 else self._beyond(number):
            if state.work.state[row] in (RUNNING, CHECKPOINTING) and state.work.preemptible[row]:
                found += [
                    (int(state.residents.node[resident]), state.residents.amount[:, resident].copy())
                    for resident in state.residents_of(row)
                ]
        for node, amount in found:
            self._amounts[:, node] += amount
        if found:
            self._taken[number] = found

    def _beyond(self, number: int) -> list[int]:
        """The allocations of an operation that has a part of its demand, from where its share protects them no more;
        where that is too near to tell, one more."""
        update = self.update
        [rows] = update.standing.lists_of([number])
        fair, asked = update.fifo.fair(number), update.fifo.demand(number)
        totals = update.fifo.lines[update.operations.pool[number]].totals
        part, near = update.pools.tree.satisfaction, EPSILON + NEAR
        blocked = [a >= b - EPSILON + NEAR for a, b in zip(fair, asked, strict=True)]
        for at, before in enumerate(update.standing.before[rows].tolist()):
            used = [a / b if b else 0.0 for a, b in zip(before, totals, strict=True)]
            if not all(shut or part * a > b + near for a, b, shut in zip(fair, used, blocked, strict=True)):
                found: list[int] = rows[at:].tolist()
                return found
        return []


def _nodes(need: Need, free: Int64s) -> int:
    """How many nodes have as much."""
    found: Bools | None = None
    for column, amount in enumerate(need):
        if amount > 0:
            enough = free[column] >= amount
            found = enough if found is None else found & enough
    return free.shape[1] if found is None else int(np.count_nonzero(found))


def _places(need: Need, nodes: list[list[int]]) -> int:
    """How many times so much fits the nodes in all, which have so much free."""
    found = 0
    for free in nodes:
        found += max(
            0, min([one // amount for one, amount in zip(free, need, strict=True) if amount > 0], default=MANY)
        )
    return found


def plain(update: Update) -> bool:
    """Whether nothing but room and shares decides who starts, and nothing but shares who goes."""
    tree, state, operations = update.pools.tree, update.state, update.operations
    return not (
        operations.graceful
        or operations.limited
        or update.limited
        or update.promises
        or tree.fifo_schedulable is not None
        or tree.ssd.enable
        or tree.full_host.enable
        or state.static.tenants
        or state.reservations
    )


def plain_shares(update: Update) -> bool:
    """Whether who may be taken follows from shares alone."""
    tree = update.pools.tree
    if not update.by_fifo or update.strongest > STARVING or tree.bound_is_preemptible:
        return False
    residents = update.state.residents
    several = (residents.sibling[: residents.size] != NONE) & (residents.count[: residents.size] > 0)
    return not (tree.infinite_overcommit or update.pool_limits[1].any() or several.any())
