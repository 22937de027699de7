"""A dictionary whose values are made when somebody first asks for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cede.model.plan import Decision
from cede.model.resources import split_flavor
from cede.state.admission import asks_of
from cede.state.columns import NODE_STATES, NONE, PLACEMENTS, STATES, UNSET, Bools, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE

K = TypeVar("K")
V = TypeVar("V")


class OnDemand(dict[K, V]):
    """What was asked for once is kept."""

    def __init__(self, make: Callable[[K], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        found = self[key] = self._make(key)
        return found


OVERLAP = ("preempting", "reserved")
"""What is leaving and what is held overlap: of the two the larger counts."""


def free_everywhere(state: State) -> Int64s:
    """What is free of each column on each node, from what stands there."""
    nodes, size, residents = state.nodes, state.nodes.size, state.residents
    free: Int64s = nodes.capacity[:, :size] - nodes.occupied[:, :size]
    rows = np.flatnonzero(residents.count[: residents.size])
    words = state.work.state[residents.work[rows]]
    codes = [STATES.index(word) for word in OVERLAP]
    free -= np.maximum(*(_piled(state, rows[words == code]) for code in codes))
    free -= _piled(state, rows[(words != codes[0]) & (words != codes[1])])
    return free


def _piled(state: State, residents: npt.NDArray[np.intp]) -> Int64s:
    sums = np.zeros((len(state.units), state.nodes.size), np.int64)
    nodes = state.residents.node[residents]
    for column in range(len(sums)):
        np.add.at(sums[column], nodes, state.residents.amount[column, residents])
    return sums


def usable_by_plain(state: State, row: int) -> npt.NDArray[np.bool_]:
    """The nodes that a workload without wishes of its own may use."""
    nodes, size = state.nodes, state.nodes.size
    kept = nodes.reserved_for[:size]
    found: npt.NDArray[np.bool_] = (
        (nodes.state[:size] == NODE_STATES.index("ready"))
        & (nodes.partition[:size] == state.work.partition[row])
        & ((kept == NONE) | (kept == row))
    )
    return found


def members_of(free: Int64s, need: Mapping[int, int]) -> Int64s:
    """How many members of this need each node takes."""
    room = np.full(free.shape[1], 1 << 40, np.int64)
    for column, amount in need.items():
        np.minimum(room, free[column] // amount, out=room)
    return np.maximum(room, 0)


Amounts = dict[int, int]
Ints = npt.NDArray[np.intp]


class Ledger:
    """Free amounts of nodes, usage of queues and holdings of tenants, summed anew from the residents.

    `admitted` are claimants that a decision gives flavors, or fewer members than they ask for. If not `anew`, what
    queues hold is what the state says they do, and not the sum of what each workload holds.
    """

    def __init__(
        self,
        state: State,
        cancels: Callable[[int, int], bool] | None = None,
        tolerates: Callable[[State, int, int], int] | None = None,
        *,
        leaving_counts: bool = True,
        usable: Callable[[int], Bools | None] | None = None,
        cordoned: Callable[[int], bool] | None = None,
        strict: bool = True,
        anew: bool = True,
    ) -> None:
        self.state = state
        self._anew = anew
        self._cancels = cancels
        self._tolerates = tolerates
        self._leaving_counts = leaving_counts
        self._strict = strict
        self._takes_cordoned = cordoned
        self._usable: OnDemand[int, Bools | None] = OnDemand(lambda row: None if usable is None else usable(row))
        self.columns = range(len(state.units))
        self.rest: dict[str, Amounts] = {}
        self.leaving: dict[str, Counter[int]] = {}
        self.held: dict[str, Counter[int]] = {}
        self.free: dict[str, Amounts] = OnDemand(self._sum_up)
        self.usage: dict[int, Amounts] = OnDemand(self._usage_of)
        self._below_rows: dict[int, Ints] = OnDemand(self._rows_below)
        self._overlap: dict[int, list[int]] = OnDemand(self._overlap_of)
        self.entered: dict[int, set[str]] = {}
        self.admitted: dict[int, tuple[list[Amounts], Amounts]] = {}
        self.meant: dict[int, int] = {}
        self.pinned: dict[int, set[frozenset[str]]] = {}
        self._holders: set[int] | None = None
        self._came: set[int] = set()
        self._went: set[int] = set()
        self._everywhere: Int64s | None = None
        """What is free on each node as the state has it; nodes that were looked at are in `free`."""

    def close(self) -> None:
        """Nobody asks any more. Its tables lead back to it, and garbage collection takes its time."""
        self.free, self.usage, self._usable = {}, {}, OnDemand(lambda _: None)
        self._below_rows, self._overlap = {}, {}

    @property
    def holders(self) -> set[int]:
        """Everybody that holds room, with who came and without who went since."""
        if self._holders is None:
            state = self.state
            rows = np.flatnonzero(state.work.state[: state.work.size] > STATES.index("suspended"))
            self._holders = set(rows.tolist())
        return (self._holders - self._went) | self._came

    def _sum_up(self, name: str) -> Amounts:
        """What is free of a node that nobody looked at yet.

        First what it has beside what runs there, what is leaving it, and what is held for others.
        """
        state, nodes = self.state, self.state.nodes
        node = state.node_index[name]
        rest = dict(enumerate((nodes.capacity[:, node] - nodes.occupied[:, node]).tolist()))
        leaving, held = Counter[int](), Counter[int]()
        standing = state.node_residents[node]
        words = state.work.state[state.residents.work[standing]].tolist()
        plain = [resident for resident, word in zip(standing, words, strict=True) if STATES[word] not in OVERLAP]
        for c, amount in enumerate(state.residents.amount[:, plain].sum(axis=1).tolist()):
            rest[c] -= amount
        for resident, word in zip(standing, words, strict=True) if len(plain) < len(standing) else ():
            if STATES[word] in OVERLAP:
                bucket = leaving if STATES[word] == "preempting" else held
                for c in self.columns:
                    bucket[c] += int(state.residents.amount[c, resident])
        self.rest[name], self.leaving[name], self.held[name] = rest, leaving, held
        return self._free(name)

    def _rows_below(self, queue: int) -> Ints:
        """Who holds room in a queue or below it, as the state has it."""
        state = self.state
        inside = np.array([self._is_below(at, queue) for at in range(len(state.tree.names))], np.bool_)
        rows = np.flatnonzero(state.work.state[: state.work.size] > STATES.index("suspended"))
        queues = state.work.queue[rows]
        found: Ints = rows[(queues != NONE) & inside[queues]]
        return found

    def _usage_of(self, queue: int) -> Amounts:
        """What a queue that nobody asked about yet holds."""
        if self._anew:
            rows = [row for row in self._below_rows[queue].tolist() if row not in self._went]
            sums = self.state.work.usage[:, rows].sum(axis=1)
        else:
            gone = [row for row in self._went if self._below(row, queue)]
            sums = self.state.tree.usage[:, queue] - self.state.work.usage[:, gone].sum(axis=1)
        usage = dict(zip(self.columns, sums.tolist(), strict=False))
        for row in self._came:
            if self._below(row, queue):
                for c in self.columns:
                    usage[c] += self._asked(row, c)
        return usage

    def _overlap_of(self, queue: int) -> list[int]:
        """Who is preempting or reserved in a queue or below it, as the state has it."""
        if not self.state.between:
            return []
        rows = self._below_rows[queue]
        codes = [STATES.index(word) for word in OVERLAP]
        found: list[int] = rows[np.isin(self.state.work.state[rows], codes)].tolist()
        return found

    def _free(self, node: str, without: Iterable[tuple[int, Amounts]] = ()) -> Amounts:
        """What is free; also with these workloads gone, that take so much of it."""
        rest, leaving, held = dict(self.rest[node]), Counter(self.leaving[node]), Counter(self.held[node])
        for row, amounts in without:
            word = STATES[self.state.work.state[row]]
            for c, amount in amounts.items():
                if word == "preempting":
                    leaving[c] -= amount
                elif word == "reserved":
                    held[c] -= amount
                else:
                    rest[c] += amount
        return {c: rest[c] - max(leaving[c], held[c]) for c in self.columns}

    def _charge(self, row: int, sign: int) -> None:
        for queue, usage in self.usage.items():  # of the others it is summed up when somebody asks
            if self._below(row, queue):
                for c in self.columns:
                    usage[c] += sign * self._asked(row, c)

    def _asked(self, row: int, column: int) -> int:
        """What a workload takes of its queues' quota."""
        if row in self.admitted:
            return self.admitted[row][1].get(column, 0)
        return int(self.state.work.usage[column, row])

    def _used(self, queue: int, column: int, without: Collection[int] = ()) -> int:
        """What counts against the queue's limits with these gone: what is preempting and what is reserved overlap."""
        used = self.usage[queue][column]
        sums = Counter[str]()
        for row in set(without):
            if self._holds(row) and self._below(row, queue):
                used -= self._asked(row, column)
        for row in self._overlap[queue]:
            if row not in without and row not in self._went:
                sums[STATES[self.state.work.state[row]]] += self._asked(row, column)
        return used - (min(sums["preempting"], sums["reserved"]) if self._leaving_counts else sums["preempting"])

    # -- what a decision gives ---------------------------------------------------------------------------------

    def admit(self, made: Decision) -> Iterator[str]:
        """A claimant has the members that the decision gives it; says what it cannot be given."""
        if made.workload is None or not self.state.static.flavored_quota or not (made.flavors or made.counts):
            return
        row = self.state.work_index[made.workload]
        asks = asks_of(self.state, row)
        for name in made.counts.keys() - {part.name for part in asks}:
            yield f"{made.workload} has no pod set {name}"
        members: list[Amounts] = []
        usage = Counter[int]()
        pinned: set[frozenset[str]] = set()
        for part in asks:
            count = made.counts.get(part.name, part.count)
            if not (part.min_count or part.count) <= count <= part.count:
                yield f"{made.workload} may not have {count} members of {part.name}"
            own = made.flavors.get(part.name)
            keys = self._in_flavors(part.requests, own if isinstance(own, dict) else made.flavors)
            for key in sorted(keys.keys() - self.state.units.index.keys()):
                yield f"{made.workload} gets {key}, which nobody offers"
            need = Counter({WHOLE: FULL if self.state.work.exclusive[row] else 1})
            for key, nano in keys.items():
                resource, flavor = split_flavor(key)
                need[self.state.units.index[resource]] += self._counts(resource, nano)
                if key in self.state.units.index:
                    usage[self.state.units.index[key]] += self._counts(key, nano) * count
                    need[self.state.units.index[key]] += self._counts(key, nano) if flavor else 0
            members += [{c: amount for c, amount in need.items() if amount}] * count
            pinned.add(frozenset(key for key, nano in keys.items() if nano and "@" in key))
        self.admitted[row], self.pinned[row] = (members, dict(usage)), pinned

    def _in_flavors(self, requests: Mapping[str, int], flavors: Mapping[str, Any]) -> dict[str, int]:
        """What one member asks for, each resource in its flavor; a default that nobody offers is the plain name."""
        found = Counter[str]()
        for name, nano in requests.items():
            flavor = None if "@" in name else flavors.get(name)
            key = name if flavor is None else f"{name}@{flavor}"
            found[name if flavor == "default" and key not in self.state.units.index else key] += nano
        return dict(found)

    def _counts(self, name: str, nano: int) -> int:
        return nano // self.state.units.nano[self.state.units.index[name]]

    def members(self, name: str) -> list[Amounts]:
        """What each member of a claimant takes of a node."""
        row = self.state.work_index[name]
        if row in self.admitted:
            return self.admitted[row][0]
        vectors = self.state.members_of(row)
        return [{c: int(vector[c]) for c in self.columns if vector[c]} for vector in vectors]

    # -- who leaves, who enters --------------------------------------------------------------------------------

    def leave(self, name: str) -> None:
        """A victim's room is free, as far as it is not held for somebody."""
        row = self.state.work_index[name]
        word = STATES[self.state.work.state[row]]
        if word in ("pending", "suspended") or row in self._went:
            return
        for node, amounts in self._standing(row):
            _ = self.free[node]  # summed up while it still stands there
            for c, amount in amounts.items():
                if word == "preempting":
                    self.leaving[node][c] -= amount
                elif word == "reserved":
                    self.held[node][c] -= amount
                else:
                    self.rest[node][c] += amount
            self.free[node] = self._free(node)
        self._charge(row, -1)
        self._went.add(row)

    def _standing(self, row: int) -> Iterator[tuple[str, Amounts]]:
        residents = self.state.residents
        for resident in self.state.residents_of(row):
            amounts = {c: int(residents.amount[c, resident]) for c in self.columns}
            yield self.state.node_names[residents.node[resident]], amounts

    def enter(self, name: str, nodes: Sequence[str]) -> Iterator[str]:
        """A claimant takes its room; says where that is too much."""
        row = self.state.work_index[name]
        for node, need in zip(nodes, self.members(name), strict=False):
            free = self.free[node]
            for c, amount in need.items():
                self.rest[node][c] -= amount
                free[c] -= amount
                if free[c] < 0:
                    yield f"{name} oversubscribes {self.state.units.names[c] or 'whole node'} of {node}"
        self._charge(row, 1)
        self._came.add(row)
        self.entered[row] = set(nodes)
        if self.state.static.tenants:
            for what, held, limit in self._of_tenant(row, self.holders):
                if held > limit:
                    yield f"{name} makes {held} {what} of its tenant, which may have {limit}"
        queue = int(self.state.work.queue[row])
        while queue != NONE:
            for c, limit in enumerate(self.state.tree.max[:, queue].tolist()):
                if limit != UNSET and self._asked(row, c) and self._used(queue, c) > limit + self._more(queue, c):
                    yield f"{name} exceeds max {self.state.units.names[c]} of {self.state.tree.names[queue]}"
            queue = int(self.state.tree.parent[queue])

    def _more(self, queue: int, column: int) -> int:
        """By how much the doctrine lets a limit be exceeded."""
        return 0 if self._tolerates is None else self._tolerates(self.state, queue, column)

    def misplaced(self, name: str, nodes: Iterable[str]) -> Iterator[str]:
        """Members on nodes they may not use, or not placed as they ask."""
        state = self.state
        nodes = list(nodes)
        for node in nodes:
            if not self._may_use(name, node):
                yield f"{name} may not use {node}"
        groups = Counter(self._group(node) for node in nodes)
        word = PLACEMENTS[state.work.placement[state.work_index[name]]]
        if word == "tight" and self._strict and len(groups) > 1:
            yield f"{name} asks for one group and is in {len(groups)}"
        if word == "spread" and self._strict:
            among = {self._group(node) for node in state.node_index if self._may_use(name, node)}
            most = -(-len(nodes) // max(1, len(among)))
            if max(groups.values(), default=0) > most:
                yield f"{name} asks to be spread and has {max(groups.values())} members in one group"

    def _group(self, node: str) -> str:
        return self.state.groups.names[int(self.state.nodes.group[self.state.node_index[node]])]

    def _may_use(self, name: str, node: str) -> bool:
        state = self.state
        row, at = state.work_index[name], state.node_index[node]
        constraints = state.constraints.get(row)
        labels = state.labels.sets[state.nodes.labels[at]]
        return (
            self._in_service(at, row)
            and state.nodes.partition[at] == state.work.partition[row]
            and self._unreserved(at, row)
            and ((open_ := self._usable[row]) is None or bool(open_[at]))
            and state.work.required_node[row] in (NONE, at)
            and any(all(self._offers(at, key) for key in pins) for pins in self._pins(name))
            and (constraints is None or all(labels.get(key) == value for key, value in constraints.labels.items()))
            and (constraints is None or not constraints.nodes or node in constraints.nodes)
        )

    def _in_service(self, node: int, row: int) -> bool:
        """Whether the node is ready, or cordoned where the doctrine does not mind for this one."""
        word = NODE_STATES[self.state.nodes.state[node]]
        return word == "ready" or (
            word == "cordoned" and self._takes_cordoned is not None and self._takes_cordoned(row)
        )

    def _unreserved(self, node: int, row: int) -> bool:
        """Whether the node is kept for nobody else, or that may be cancelled for this one."""
        holder = int(self.state.nodes.reserved_for[node])
        return holder in (NONE, row) or (self._cancels is not None and self._cancels(node, row))

    def _pins(self, name: str) -> set[frozenset[str]]:
        """The flavors that each kind of its members names."""
        row = self.state.work_index[name]
        if row in self.admitted:
            return self.pinned[row]
        parts = self.state.parts.get(row)
        kinds = [self.state.odd_requests.get(row, {})] if parts is None else [part.requests for part in parts]
        return {frozenset(key for key, nano in requests.items() if nano and "@" in key) for requests in kinds}

    def _offers(self, node: int, name: str) -> bool:
        return name in self.state.units.index and bool(
            self.state.nodes.capacity[self.state.units.index[name], node] > 0
        )

    def could_hold(self, name: str, *, without: Sequence[str]) -> bool:
        """Whether the claimant fits with only these gone. Members of different size: only when one node fits each."""
        state = self.state
        row = state.work_index[name]
        gone = [state.work_index[victim] for victim in without]
        if not self._within_limits(row, gone):
            return False
        members = self.members(name)
        if not state.nodes.size:
            return True
        if any(member != members[0] for member in members):
            return False
        freed: dict[str, list[tuple[int, Amounts]]] = {}
        for victim in gone:
            for node, amounts in self._standing(victim):
                freed.setdefault(node, []).append((victim, amounts))
        room = self._room_everywhere(name, members[0])
        for node, those in freed.items():
            if self._may_use(name, node):
                _ = self.free[node]  # summed up, as `_free` wants it
                room[state.node_index[node]] = self._count(self._free(node, those), members[0])
        word = PLACEMENTS[state.work.placement[row]]
        if word == "any":
            return int(room.sum()) >= len(members)
        totals = Counter[str]()
        for node, at in state.node_index.items():
            if self._may_use(name, node):
                totals[self._group(node)] += int(room[at])
        if word == "tight":
            return max(totals.values(), default=0) >= len(members)
        most = -(-len(members) // max(1, len(totals)))
        return sum(min(total, most) for total in totals.values()) >= len(members)

    def _count(self, free: Amounts, need: Amounts) -> int:
        return max(0, min(free[c] // amount for c, amount in need.items()))

    def _room_everywhere(self, name: str, need: Amounts) -> Int64s:
        """How many such members each node takes, by its row."""
        state = self.state
        if self._everywhere is None:
            self._everywhere = free_everywhere(state)
        free = self._everywhere.copy()
        for node, amounts in self.free.items():
            free[:, state.node_index[node]] = list(amounts.values())
        row = state.work_index[name]
        odd = (state.constraints, state.odd_requests, state.parts, self.admitted)
        if any(row in side for side in odd) or state.work.required_node[row] != NONE:
            usable = np.array([self._may_use(name, node) for node in state.node_names], np.bool_)
        else:
            usable = usable_by_plain(state, row)
            if (open_ := self._usable[row]) is not None:
                usable = usable & open_
        return np.where(usable, members_of(free, need), 0)

    def _of_tenant(self, row: int, holders: set[int]) -> Iterator[tuple[str, int, int]]:
        """What the tenant of this workload has, and may have, with these workloads holding room."""
        work = self.state.work
        tenant = self.state.static.tenants.get(self.state.tenants.name(int(work.tenant[row])) or "")
        if tenant is None:
            return
        theirs = [other for other in holders if work.tenant[other] == work.tenant[row]]
        if tenant.max_workloads is not None:
            yield "workloads", len(theirs), tenant.max_workloads
        if tenant.max_nodes is not None:
            yield "nodes", sum(self._nodes(other) for other in theirs), tenant.max_nodes

    def _nodes(self, row: int) -> int:
        """Nodes a workload stands on, entered or is to stand on; if that is none, the fewest that it asks for."""
        found = len({node for node, _ in self._standing(row)} | self.entered.get(row, set()))
        return (
            found
            or self.meant.get(row, 0)
            or (int(self.state.work.members[row]) if self.state.work.exclusive[row] else 1)
        )

    def _within_limits(self, row: int, gone: Sequence[int]) -> bool:
        state = self.state
        queue = int(state.work.queue[row])
        if state.static.tenants:
            holders = (self.holders - set(gone)) | {row}
            if any(held > limit for _, held, limit in self._of_tenant(row, holders)):
                return False
        while queue != NONE:
            for c, limit in enumerate(state.tree.max[:, queue].tolist()):
                asked = 0 if limit == UNSET else self._asked(row, c)
                if limit != UNSET and asked and self._used(queue, c, gone) + asked > limit:
                    return False
            queue = int(state.tree.parent[queue])
        return True

    def _holds(self, row: int) -> bool:
        """Whether it holds room now: it did and did not go, or it came."""
        held = self.state.work.state[row] > STATES.index("suspended")
        return row in self._came or (bool(held) and row not in self._went)

    def _below(self, row: int, queue: int) -> bool:
        return self._is_below(int(self.state.work.queue[row]), queue)

    def _is_below(self, at: int, queue: int) -> bool:
        while at not in (NONE, queue):
            at = int(self.state.tree.parent[at])
        return at == queue
