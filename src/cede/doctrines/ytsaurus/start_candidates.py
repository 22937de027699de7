"""What a normal preemptive stage could take on each node, kept as operations change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON
from cede.doctrines.ytsaurus.starvation import STARVING
from cede.doctrines.ytsaurus.summed_shares import NEAR_BOUND
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import ANY, CHECKPOINTING, NONE, RUNNING, Bools, Int64s


class PreemptibleAmounts:
    """What a normal preemptive stage could take on each node, where shares are those of FIFO pools.

    An operation with all it asks for has fair share and demand alike, and is preemptible for aggressive stages at most;
    one without a share has nothing that a share protects. Only of the operation at a frontier it must be looked at what
    it uses before each of its allocations. Usage thresholds may protect more: then this is an upper bound.
    """

    def __init__(self, update: Update) -> None:
        self.update = update
        self.amounts: dict[int, list[int]] = {}
        """By node, of those where it is anything, and column."""
        self._taken: dict[int, list[tuple[int, list[int]]]] = {}
        """Of each operation what it holds on which node, of what could be taken."""
        self.changed: set[int] = set()
        """Nodes on which it changed since this was last emptied."""
        self._changed: set[int] = set()
        self._raised: set[int] = set()
        self._saved = update.state.journal.saved
        self._anew = True

    def follow(self) -> None:
        """After an update."""
        update = self.update
        if not update.by_fifo or update.fifo.anew:
            self._anew = True
        else:
            self._changed |= update.fifo.changed

    def look(self) -> None:
        """Bring the amounts up to date."""
        update = self.update
        if self._anew:
            self.changed.update(self.amounts)
            self.amounts.clear()
            self._taken.clear()
            self._changed = set(range(len(update.operations)))
            self._anew = False
        raised = update.op_clocks.raised
        if raised != self._raised:
            self._changed |= raised ^ self._raised
            self._raised = set(raised)
        if self._saved != update.state.journal.saved:  # the order of allocations is another
            self._saved = update.state.journal.saved
            self._changed |= update.fifo.frontiers()
        holders, taken = update.operation_usage.holders, self._taken
        for number in self._changed:
            if number in taken or holders(number):
                self._look(number)
        self._changed = set()

    def table(self) -> Int64s:
        """By column and node."""
        state = self.update.state
        table: Int64s = np.zeros((len(state.units), len(state.node_names)), np.int64)
        for node, amount in self.amounts.items():
            table[:, node] = amount
        return table

    def _look(self, number: int) -> None:
        for node, amount in self._taken.pop(number, ()):
            self._add(node, amount, -1)
        update = self.update
        rows = update.operation_usage.holders(number)
        if not rows or (number in self._raised and not update.pools.tree.from_starving):
            return
        stands = update.fifo.stands(number)
        if stands < 0:
            return
        held: list[tuple[int, list[int]]] = []
        for row in rows if stands > 0 else self._beyond(number):
            held += self._held(row)
        for node, amount in held:
            self._add(node, amount, 1)
        if held:
            self._taken[number] = held

    def _held(self, row: int) -> list[tuple[int, list[int]]]:
        """What a workload that runs and may be preempted holds, by node."""
        state = self.update.state
        record = state.records.get(row)
        if record is None:
            if state.work.state[row] not in (RUNNING, CHECKPOINTING) or not state.work.preemptible[row]:
                return []
            residents = state.residents
            return [
                (residents.node.item(resident), residents.amount[:, resident].tolist())
                for resident in state.residents_of(row)
            ]
        if record.code not in (RUNNING, CHECKPOINTING) or not record.preemptible:
            return []
        need = [0] * len(state.units)
        for column, count in record.template.need:
            need[column] = count
        return [(node, need) for node in record.nodes]

    def _add(self, node: int, amount: list[int], sign: int) -> None:
        self.changed.add(node)
        before = self.amounts.get(node)
        if before is None:
            self.amounts[node] = [sign * one for one in amount]
            return
        after = [a + sign * b for a, b in zip(before, amount, strict=True)]
        if any(after):
            self.amounts[node] = after
        else:
            del self.amounts[node]

    def _beyond(self, number: int) -> list[int]:
        """The allocations of an operation that has a part of its demand, from where its share protects them no more;
        where that is too near to tell, one more."""
        update = self.update
        rows = update.operation_usage.holders(number)
        columns, fair, asked, totals = update.fifo.in_part(number)
        before = [[0] * len(update.pools.columns)]
        if len(rows) > 1:
            [listed] = update.operation_usage.lists_of([number])
            rows, before = listed.tolist(), update.operation_usage.before[listed].tolist()
        part, near = update.pools.tree.satisfaction, EPSILON + NEAR_BOUND
        blocked = [a >= b - EPSILON + NEAR_BOUND for a, b in zip(fair, asked, strict=True)]
        for at, sums in enumerate(before):
            used = [sums[column] / b if b else 0.0 for column, b in zip(columns, totals, strict=True)]
            if not all(shut or part * a > b + near for a, b, shut in zip(fair, used, blocked, strict=True)):
                return rows[at:]
        return []


Need = tuple[int, ...]
"""What one workload needs of its node, by column."""
Kind = tuple[Need, bool, int]
"""The need of a workload and whether it may preempt; of one that more is known of, its row, else `NONE`."""


MANY = 2**20
MANY_NEEDS = 64
"""Needs that are remembered; after more, all are forgotten and worked out anew."""


class WaitingKind:
    """Workloads of one pool and kind that wait, in the order in which those without a share have their turn."""

    __slots__ = ("need", "order", "rows")

    def __init__(self, need: Need) -> None:
        self.need = [(column, amount) for column, amount in enumerate(need) if amount > 0]
        self.rows: set[int] = set()
        self.order: list[tuple[str, int, int]] = []
        """Operation by name and number, and row."""


class NodesThatFit:
    """Nodes that have as much as each of some needs, kept as what they have changes."""

    def __init__(self, room: list[list[int]]) -> None:
        """`room`: what nodes have now."""
        self._now = list(room)
        self._room: Int64s = np.array(room, np.int64).T.copy()
        """The same by column and node, but for nodes of which it is not written yet."""
        self._unwritten: set[int] = set()
        self._fit: dict[Need, tuple[Bools, list[int]]] = {}
        """Nodes by need, and how many they are."""

    def put(self, node: int, has: list[int]) -> None:
        """This node has so much now."""
        self._now[node] = has
        self._unwritten.add(node)
        for need, (fit, count) in self._fit.items():
            enough = True
            for most, least in zip(has, need, strict=True):
                if most < least and least > 0:
                    enough = False
                    break
            if enough != fit.item(node):
                fit[node] = enough
                count[0] += 1 if enough else -1

    def nodes(self, need: Need) -> Bools:
        """Those that have so much. To look at, not to change."""
        return self._known(need)[0]

    def any(self, need: Need) -> bool:
        """Whether there are any."""
        return self._known(need)[1][0] > 0

    def _known(self, need: Need) -> tuple[Bools, list[int]]:
        fits = self._fit.get(need)
        if fits is None:
            if len(self._fit) >= MANY_NEEDS:
                self._fit.clear()
            for node in self._unwritten:
                self._room[:, node] = self._now[node]
            self._unwritten.clear()
            columns = [column for column, amount in enumerate(need) if amount > 0]
            least = np.array([need[column] for column in columns], np.int64)
            enough: Bools = np.all(self._room[columns] >= least[:, None], axis=0)
            fits = self._fit[need] = enough, [int(np.count_nonzero(enough))]
        return fits


class StartCandidates:
    """Workloads that wait, by what they need, and those of them that might start.

    Once a cycle went through all nodes, nothing that waits fits a node as that was: room aside, what keeps a workload
    from a node changes only with the workload or the shape of the cluster. So without preemption only these can start
    in the next cycle: workloads that something happened to, and those that fit a node which has more room than it had,
    or whose room is no longer held for another. Where more than room decides (limits of pools, operations and tenants,
    graceful preemption), all are asked (`ask_all`).
    """

    def __init__(self, update: Update) -> None:
        self.update = update
        self.preemptible_amounts = PreemptibleAmounts(update)
        self._kinds: dict[int, dict[Kind, WaitingKind]] = {}
        """By pool and kind."""
        self.known: dict[int, tuple[int, int, Kind]] = {}
        """Of each workload that is asked for: operation, pool and kind."""
        self._shared: set[int] | None = None
        """Of a cycle, those whose operation has a share; none: any might have one."""
        self._of: dict[int, set[int]] = {}
        """Those of each operation."""
        self._asking: set[int] = set()
        self._fresh: set[int] = set()
        """Those that have not been asked for on every node."""
        self._room = update.room
        self.fitting = NodesThatFit(self._room.free)
        """Nodes that have room for a need as they are."""
        self._reach = NodesThatFit(self._room.free)
        """The same with what could be taken."""
        self._unlooked: set[int] = set()
        """Nodes on which that changed since."""
        self._wanting: dict[Need, set[int]] = {}
        """Workloads that may preempt, by what they need."""
        self._free: list[list[int]] = list(self._room.free)
        """What was free on nodes when all of them were gone through, less what was to start there."""
        self._changed: set[int] = set()
        """Nodes on which that may be another than what is free now."""
        self._held: Bools | None = None
        self._grown: set[int] = set()
        self._decided: set[int] = set()
        """Those that should have started since."""
        self.ask_all = True
        self._follow(update.demand_sums.asking)

    # -- what happened -------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """After an update."""
        update = self.update
        for row in update.operation_usage.moved:
            self._drop(row)
        self._follow(update.touched)
        self.preemptible_amounts.follow()
        for node in self._room.changed:
            self.fitting.put(node, self._room.free[node])
        self._changed |= self._room.changed
        self._unlooked |= self._room.changed

    def _follow(self, touched: Iterable[int]) -> None:
        update = self.update
        operation_usage, asking = update.operation_usage, update.demand_sums.asking
        for number in touched:
            if number in asking:
                new = number not in self._asking
                self._asking.add(number)
                for row in (
                    operation_usage.waiters[number] if new else operation_usage.waiters[number] & operation_usage.moved
                ):
                    self._add(row, number)
            elif number in self._asking:
                self._asking.discard(number)
                for row in list(self._of.get(number, ())):
                    self._drop(row)

    def _add(self, row: int, number: int) -> None:
        state, pool = self.update.state, self.update.operations.pool[number]
        record = state.records.get(row)
        if record is None:
            kind = self._kind_in_columns(row, number)
        else:
            template = record.template
            counts = [0] * len(state.units)
            for column, count in template.need:
                counts[column] = count * template.members
            odd = template.placement != ANY or self._is_odd(row, number)
            kind = tuple(counts), template.preempts, row if odd else NONE
        need = kind[0]
        self._drop(row)
        self.known[row] = number, pool, kind
        self._of.setdefault(number, set()).add(row)
        waiting_kind = self._kinds.setdefault(pool, {}).setdefault(kind, WaitingKind(need))
        waiting_kind.rows.add(row)
        insort(waiting_kind.order, (self.update.operations.names[number], number, row))
        self._fresh.add(row)

    def _kind_in_columns(self, row: int, number: int) -> Kind:
        state, work = self.update.state, self.update.state.work
        if row in state.parts:
            need: Need = tuple(np.sum(state.members_of(row), axis=0).tolist())
        else:
            members = int(work.members[row])
            need = tuple([one * members for one in work.need[:, row].tolist()])
        odd = (
            row in state.parts
            or row in state.constraints
            or row in state.odd_requests
            or work.required_node[row] != NONE
            or work.placement[row] != ANY
            or self._is_odd(row, number)
        )
        return need, bool(work.preempts[row]), row if odd else NONE

    def _is_odd(self, row: int, number: int) -> bool:
        """Whether more than its need says where it may start, or when; of what no entry of a plain kind has, nothing is
        asked here."""
        state = self.update.state
        return (
            bool(state.static.policies)
            or bool(state.units.flavored)
            or self.update.operations.settings[number].tag_filter is not None
            or not any(self.update.operation_usage.amount[row].tolist())
        )

    def _drop(self, row: int) -> None:
        known = self.known.pop(row, None)
        if known is not None:
            number, pool, kind = known
            waiting_kind = self._kinds[pool][kind]
            waiting_kind.rows.discard(row)
            own = self._of[number]
            own.discard(row)
            if not own:
                del self._of[number]
            place = self.update.operations.names[number], number, row
            del waiting_kind.order[bisect_left(waiting_kind.order, place)]
            if not waiting_kind.rows:
                del self._kinds[pool][kind]
            self._fresh.discard(row)

    # -- what might start ----------------------------------------------------------------------------------------------

    def reach(self, held: Bools) -> Bools | None:
        """Nodes on which a workload that may preempt fits with what could be taken there, but for those `held`; none,
        if that is nowhere."""
        self._wanting = self._who_may()
        if not self._wanting:
            return None
        self._look_around()
        nodes: Bools | None = None
        for need in self._wanting:
            if self._reach.any(need):
                fits = self._reach.nodes(need)
                nodes = fits if nodes is None else nodes | fits
        if nodes is not None and self.update.operation_usage.reserved:
            nodes = nodes & ~held
        return nodes if nodes is not None and nodes.any() else None

    def _look_around(self) -> None:
        preemptible_amounts, changed = self.preemptible_amounts, self._unlooked
        preemptible_amounts.look()
        changed |= preemptible_amounts.changed
        for node in changed:
            has, more = self._room.free[node], preemptible_amounts.amounts.get(node)
            self._reach.put(node, has if more is None else [a + b for a, b in zip(has, more, strict=True)])
        preemptible_amounts.changed.clear()
        changed.clear()

    def wakes_at(self, now: int) -> int | None:
        """When the next operation starves to some effect: where it fits nowhere with all that could be taken, only
        something that happens can help it, unless it has something that is shielded then, or starves aggressively."""
        first: int | None = None
        for number, time in self.update.op_clocks.dues():
            if first is not None and time >= first:
                continue
            self._look_around()
            if time <= now or self._gains(number):
                first = time
        return first

    def _gains(self, number: int) -> bool:
        update = self.update
        if update.operation_usage.holders(number) or update.timeouts(number)[1] is not None or number not in self._of:
            return True
        kinds = {self.known[row][2][:2] for row in self._of[number]}
        return any(preempts and self._reach.any(need) for need, preempts in kinds)

    def _who_may(self) -> dict[Need, set[int]]:
        update = self.update
        by_need: dict[Need, set[int]] = {}
        raised = self._pools_that_lend()
        for pool in raised:
            for (need, preempts, _), waiting_kind in self._kinds.get(pool, {}).items():
                if preempts:
                    by_need.setdefault(need, set()).update(waiting_kind.rows)
        for number in update.op_clocks.raised:
            if update.operations.pool[number] not in raised:
                for row in self._of.get(number, ()):
                    need, preempts, _ = self.known[row][2]
                    if preempts:
                        by_need.setdefault(need, set()).add(row)
        return by_need

    def _pools_that_lend(self) -> set[int]:
        """Pools with waiting workloads that may preempt because the pool, or one above it, starves."""
        update = self.update
        raised, paths = update.pool_clocks.raised, update.pools.paths
        if not raised or update.pools.tree.scope_only_operation:
            return set()
        return {pool for pool in self._kinds if not raised.isdisjoint(paths[pool])}

    def might_start(self, held: Bools, may_try: Bools | None) -> set[int]:
        """Those that might start where they fit, or by preemption on nodes that may try to."""
        state, free = self.update.state, self._room.free
        if self.ask_all or self._decided & state.pending:
            rows = set(self.known)
            self._grown = set(range(len(free)))
        else:
            for node in self._changed:
                for now, before in zip(free[node], self._free[node], strict=True):
                    if now > before:
                        self._grown.add(node)
                        break
            if self._held is not None:
                self._grown.update(np.flatnonzero(self._held & ~held).tolist())
            rows = self._that_fit()
        for node in self._changed:
            self._free[node] = free[node]
        self._changed.clear()
        self._held = held if state.between else None
        if may_try is not None:
            rows |= self._by_preemption(may_try)
        self._shared = None
        return rows

    def _that_fit(self) -> set[int]:
        rows: set[int] = set()
        for row in self._fresh:
            if self.fitting.any(self.known[row][2][0]):
                rows.add(row)
        if self._grown:
            room = [self._room.free[node] for node in self._grown]
            for kinds in self._kinds.values():
                for waiting_kind in kinds.values():
                    rows |= self._first(waiting_kind, _places(waiting_kind.need, room))
        return rows

    def _first(self, waiting_kind: WaitingKind, places: int) -> set[int]:
        """Of these as many as might start where there are so many places for them.

        They are of one pool and kind, so what one of them may do they all may. All whose operation has a share are in.
        The others are equally satisfied (a share of nothing counts as infinite satisfaction, whatever is used), so the
        names of their operations decide, and no more of them start than there are places. So the first so many
        operations without a share, with all their workloads, are enough.
        """
        if not places or len(waiting_kind.rows) <= places or not self.update.by_fifo:
            return waiting_kind.rows if places else set()
        if self._shared is None:
            fifo, waiters = self.update.fifo, self.update.operation_usage.waiters
            self._shared = {row for number in fifo.short | fifo.frontiers() for row in waiters.get(number, ())}
        rows = waiting_kind.rows & self._shared
        left, last = places, NONE
        for _, number, row in waiting_kind.order:
            if row not in self._shared:
                if number != last and not left:
                    break
                left -= number != last
                last = number
                rows.add(row)
        return rows

    def _by_preemption(self, may_try: Bools) -> set[int]:
        """Those that may preempt and fit a node with what could be taken there; on each at most one of them starts."""
        candidates: set[int] = set()
        raised = self._pools_that_lend()
        for pool in raised:
            for (need, preempts, _), waiting_kind in self._kinds.get(pool, {}).items():
                if preempts:
                    candidates |= self._first(waiting_kind, int(np.count_nonzero(self._reach.nodes(need) & may_try)))
        for need, rows in self._wanting.items():
            if (self._reach.nodes(need) & may_try).any():
                candidates.update(row for row in rows if self.known[row][1] not in raised)
        return candidates

    def with_victims(self, nodes: Bools) -> Bools | None:
        """Those of these nodes on which something could be taken; none, if that is nowhere.

        On the others a preemptive stage finds nothing to do: without victims it starts what the node has room for, and
        all of these that may start did so just before.
        """
        mask = np.zeros_like(nodes)
        for node in self.preemptible_amounts.amounts:
            mask[node] = nodes[node]
        return mask if mask.any() else None

    def starts(self, row: int, node: int) -> None:
        """The cycle decided that this one starts there, without booking it."""
        self._free[node] = [a - b for a, b in zip(self._free[node], self.known[row][2][0], strict=True)]
        self._changed.add(node)

    def passed(self, started: set[int], booked: set[int], *, complete: bool) -> None:
        """The cycle decided that these start, as it `booked` on some nodes, and went through all nodes, or not."""
        self._decided = started
        for node in booked:
            now = self.update.state.nodes.free[:, node].tolist()
            self._free[node] = [min(one, other) for one, other in zip(self._free[node], now, strict=True)]
        self._changed |= booked
        if complete:
            self._fresh.clear()
            self._grown = set()
            self.ask_all = False


def _places(need: list[tuple[int, int]], nodes: list[list[int]]) -> int:
    """How many times so much fits the nodes in all, which have so much free."""
    places = 0
    for free in nodes:
        times = MANY
        for column, amount in need:
            fits = free[column] // amount
            if fits < times:
                times = fits
        if times > 0:
            places += times
    return places


def plain(update: Update) -> bool:
    """Whether nothing but room and shares decides what starts, and nothing but shares what is preempted."""
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
    """Whether what may be taken follows from shares alone."""
    tree = update.pools.tree
    if not update.by_fifo or update.strongest > STARVING or tree.bound_is_preemptible:
        return False
    if tree.infinite_overcommit or update.tolerates:
        return False
    if not update.operation_usage.several:
        return True
    residents = update.state.residents
    apart = (residents.sibling[: residents.size] != NONE) & (residents.count[: residents.size] > 0)
    return not apart.any()
