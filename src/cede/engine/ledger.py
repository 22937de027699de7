"""A plain account of who stands where, kept for checking: names and integers, nothing shared with the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cede.state.columns import NODE_STATES, NONE, PLACEMENTS, STATES, UNSET
from cede.state.state import State

Amounts = dict[int, int]


class Ledger:
    """Free amounts of nodes, usage of queues and holdings of tenants, summed anew from the residents."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.columns = range(len(state.units))
        self.free = {name: self._free(node) for name, node in state.node_index.items()}
        self.usage: dict[int, Amounts] = {}
        self.entered: dict[int, set[str]] = {}
        self.holders: set[int] = set()
        for row in state.work_index.values():
            if STATES[state.work.state[row]] not in ("pending", "suspended"):
                self._charge(row, 1)
                self.holders.add(row)

    def _free(self, node: int) -> Amounts:
        state, nodes = self.state, self.state.nodes
        free = {c: int(nodes.capacity[c, node]) - int(nodes.occupied[c, node]) for c in self.columns}
        leaving, held = Counter[int](), Counter[int]()
        for resident in state.node_residents[node]:
            word = STATES[state.work.state[state.residents.work[resident]]]
            for c in self.columns:
                amount = int(state.residents.amount[c, resident])
                if word == "preempting":
                    leaving[c] += amount
                elif word == "reserved":
                    held[c] += amount
                else:
                    free[c] -= amount
        return {c: free[c] - max(leaving[c], held[c]) for c in self.columns}

    def _charge(self, row: int, sign: int) -> None:
        queue = int(self.state.work.queue[row])
        while queue != NONE:
            usage = self.usage.setdefault(queue, dict.fromkeys(self.columns, 0))
            for c in self.columns:
                usage[c] += sign * int(self.state.work.usage[c, row])
            queue = int(self.state.tree.parent[queue])

    def _shared(self, queue: int, column: int) -> int:
        """Quota that counts once: of what is preempting below this queue and what is reserved there, the lesser."""
        sums = Counter[str]()
        for row in self.state.work_index.values():
            word = STATES[self.state.work.state[row]]
            if word in ("preempting", "reserved") and self._below(row, queue):
                sums[word] += int(self.state.work.usage[column, row])
        return min(sums["preempting"], sums["reserved"])

    def _members(self, name: str) -> list[Amounts]:
        vectors = self.state.members_of(self.state.work_index[name])
        return [{c: int(vector[c]) for c in self.columns if vector[c]} for vector in vectors]

    def leave(self, name: str) -> None:
        """A victim's room is free."""
        row = self.state.work_index[name]
        for node, amounts in self._standing(row):
            for c, amount in amounts.items():
                self.free[node][c] += amount
        self._charge(row, -1)
        self.holders.discard(row)

    def _standing(self, row: int) -> Iterator[tuple[str, Amounts]]:
        residents = self.state.residents
        for resident in self.state.residents_of(row):
            amounts = {c: int(residents.amount[c, resident]) for c in self.columns}
            yield self.state.node_names[residents.node[resident]], amounts

    def enter(self, name: str, nodes: Sequence[str]) -> Iterator[str]:
        """A claimant takes its room; says where that is too much."""
        row = self.state.work_index[name]
        for node, need in zip(nodes, self._members(name), strict=False):
            for c, amount in need.items():
                self.free[node][c] -= amount
                if self.free[node][c] < 0:
                    yield f"{name} oversubscribes {self.state.units.names[c] or 'whole node'} of {node}"
        self._charge(row, 1)
        self.holders.add(row)
        self.entered[row] = set(nodes)
        for what, held, limit in self._of_tenant(row, self.holders):
            if held > limit:
                yield f"{name} makes {held} {what} of its tenant, which may have {limit}"
        queue = int(self.state.work.queue[row])
        while queue != NONE:
            for c in self.columns:
                limit = int(self.state.tree.max[c, queue])
                if (
                    limit != UNSET
                    and self.state.work.usage[c, row]
                    and self.usage[queue][c] - self._shared(queue, c) > limit
                ):
                    yield f"{name} exceeds max {self.state.units.names[c]} of {self.state.tree.names[queue]}"
            queue = int(self.state.tree.parent[queue])

    def misplaced(self, name: str, nodes: Iterable[str]) -> Iterator[str]:
        """Members on nodes they may not use, or not placed as they ask."""
        state = self.state
        nodes = list(nodes)
        for node in nodes:
            if not self._may_use(name, node):
                yield f"{name} may not use {node}"
        groups = Counter(self._group(node) for node in nodes)
        word = PLACEMENTS[state.work.placement[state.work_index[name]]]
        if word == "tight" and len(groups) > 1:
            yield f"{name} asks for one group and is in {len(groups)}"
        if word == "spread":
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
        labels = state.label_sets[state.nodes.labels[at]]
        return (
            NODE_STATES[state.nodes.state[at]] == "ready"
            and state.nodes.partition[at] == state.work.partition[row]
            and state.nodes.reserved_for[at] in (NONE, row)
            and state.work.required_node[row] in (NONE, at)
            and state.pins.get(row, NONE) in (NONE, state.nodes.flavor[at])
            and (constraints is None or all(labels.get(key) == value for key, value in constraints.labels.items()))
            and (constraints is None or not constraints.nodes or node in constraints.nodes)
        )

    def could_hold(self, name: str, *, without: Sequence[str]) -> bool:
        """Whether the claimant fits with only these gone. Members of different size: only when one node fits each."""
        state = self.state
        row = state.work_index[name]
        freed: dict[str, Amounts] = {}
        for victim in without:
            for node, amounts in self._standing(state.work_index[victim]):
                held = freed.setdefault(node, dict.fromkeys(self.columns, 0))
                for c, amount in amounts.items():
                    held[c] += amount
        if not self._within_limits(row, without):
            return False
        members = self._members(name)
        if not state.nodes.size:
            return True
        if any(member != members[0] for member in members):
            return False
        room = {
            node: self._count(node, members[0], freed.get(node, {})) for node in self.free if self._may_use(name, node)
        }
        word = PLACEMENTS[state.work.placement[row]]
        totals = Counter[str]()
        for node, count in room.items():
            totals[self._group(node)] += count
        if word == "tight":
            return max(totals.values(), default=0) >= len(members)
        if word == "spread":
            most = -(-len(members) // max(1, len(totals)))
            return sum(min(total, most) for total in totals.values()) >= len(members)
        return sum(room.values()) >= len(members)

    def _count(self, node: str, need: Amounts, freed: Amounts) -> int:
        return max(0, min((self.free[node][c] + freed.get(c, 0)) // amount for c, amount in need.items()))

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
        """Nodes a workload stands on or entered; if that is none, the fewest that it asks for."""
        found = len({node for node, _ in self._standing(row)} | self.entered.get(row, set()))
        return found or (int(self.state.work.members[row]) if self.state.work.exclusive[row] else 1)

    def _within_limits(self, row: int, without: Sequence[str]) -> bool:
        state = self.state
        queue = int(state.work.queue[row])
        gone = [state.work_index[name] for name in without]
        if any(held > limit for _, held, limit in self._of_tenant(row, (self.holders - set(gone)) | {row})):
            return False
        while queue != NONE:
            for c in self.columns:
                limit, asked = int(state.tree.max[c, queue]), int(state.work.usage[c, row])
                credit = sum(int(state.work.usage[c, other]) for other in gone if self._below(other, queue))
                used = self.usage.get(queue, {}).get(c, 0) - self._shared(queue, c)
                if limit != UNSET and asked and used + asked - credit > limit:
                    return False
            queue = int(state.tree.parent[queue])
        return True

    def _below(self, row: int, queue: int) -> bool:
        at = int(self.state.work.queue[row])
        while at not in (NONE, queue):
            at = int(self.state.tree.parent[at])
        return at == queue
