"""Whether a plan about workloads that are all in records is lawful, at the cost of the nodes it touches.

It adds and subtracts plain numbers: what is free on a node, with those gone that leave it and those there that come.
What is not plain is left to `verify`.
"""

from __future__ import annotations

from cede.model.plan import Decision, Plan
from cede.state.columns import ANY, GONE, NONE, PREEMPTING, RESERVED, SUSPENDED, UNSET
from cede.state.state import State
from cede.state.write_behind import Record

Amounts = list[int]
Need = tuple[tuple[int, int], ...]
"""Column, and what one member takes of it."""


def lawful_moves(state: State, plan: Plan, *, whole: bool, exact: bool, falls_short: str | None = None) -> bool:
    """True if nothing can be wrong with any start or preemption of this plan but what its doctrine says of victims;
    False says nothing. What is free is what the state counts by what happened, which the search neither writes nor
    asks; of the `whole` check it is summed anew, and whoever is preempted must be needed: of preemptions under editions
    that are not `exact` the rest of that check is left to `verify`.

    Who preempts with the warning `falls_short` is not asked for room: the last decision may be such a one, for behind
    it nobody has to be placed.
    """
    nodes = _Nodes(state, whole=whole)
    decided: set[str] = set()
    evicted: set[str] = set()
    for made in plan.decisions:
        name = made.workload
        if name is None or name in decided or made.counts:
            return False
        decided.add(name)
        if made.warnings:
            if whole or made is not plan.decisions[-1] or not _falls_short(made, falls_short):
                return False
            known = all([node in state.node_index for node in made.nodes])  # noqa: C419
            return known and _leave(state, nodes, made, evicted) and _waiting(state, name) is not None
        if made.victims:
            if made.action != "preempt" or (whole and (not exact or _spares(state, nodes, made, name))):
                return False
            if not _leave(state, nodes, made, evicted):
                return False
        elif made.action != "start":
            return False
        if not _enter(state, nodes, made, name):
            return False
    return True


class _Nodes:
    """What is free on the nodes that a plan touches, while it goes on."""

    __slots__ = ("apart", "free", "partition", "room", "state", "whole")

    def __init__(self, state: State, *, whole: bool) -> None:
        self.state = state
        self.room = state.room()
        self.partition = self.room.partition
        self.whole = whole
        self.free: dict[int, Amounts] = {}
        self.apart: dict[int, tuple[Amounts, Amounts, Amounts]] = {}
        """Where what is leaving and what is held overlap: what is free beside both, and the two."""

    def open(self, node: int) -> Amounts | None:
        """What is free there; none if that has several parts."""
        if node in self.apart:
            return None
        parts = self.room.apart.get(node)
        if parts is None:
            free = self.free[node] = self._sum(node) if self.whole else self.room.free[node].copy()
            return free
        self.apart[node] = parts[0].copy(), parts[1].copy(), parts[2].copy()
        return None

    def there(self, node: int) -> Amounts:
        """What is free on a node where nothing overlaps."""
        return self.free.get(node) or (self._sum(node) if self.whole else self.room.free[node])

    def _sum(self, node: int) -> Amounts:
        """What is free on a node beside all that stand there."""
        left = self.room.capacity[node].copy()
        for row, members in self.room.standing[node].items():
            for column, count in self.state.records[row].mould.need:
                left[column] -= count * members
        return left

    def give(self, node: int, record: Record) -> None:
        """A member of a victim leaves."""
        free = self.free.get(node) or self.open(node)
        part = 0
        if free is None:
            part = {PREEMPTING: 1, RESERVED: 2}.get(record.code, 0)
            free = self.apart[node][part]
        for column, count in record.mould.need:
            free[column] += -count if part else count


def _spares(state: State, nodes: _Nodes, made: Decision, name: str) -> bool:
    """Whether the claimant of a decision may fit though one of its victims stays; where it is not plain that not, too.

    Of the nodes that none of its victims stands on it is counted once how many members they take.
    """
    claimant = state.records.get(state.work_index.get(name, NONE))
    if claimant is None or nodes.apart or nodes.room.apart:
        return True
    mould = claimant.mould
    victims = [state.records.get(state.work_index.get(victim.workload, NONE)) for victim in made.victims]
    left: dict[int, Amounts] = {}
    """What is free on each node that some victim stands on with all of them gone."""
    for record in victims:
        if record is None:
            return True
        for node in record.nodes:
            free = left.get(node)
            if free is None:
                free = left[node] = nodes.there(node).copy()
            for column, count in record.mould.need:
                free[column] += count
    partition = nodes.partition
    elsewhere = 0
    for node in range(len(partition)):
        if partition[node] == mould.partition and node not in left:
            elsewhere += _takes(nodes.there(node), mould.need)
    for record in victims:
        if record is None:
            return True
        room = elsewhere
        for node, free in left.items():
            if partition[node] == mould.partition:
                stays, members = free.copy(), record.nodes.count(node)
                for column, count in record.mould.need:
                    stays[column] -= count * members
                room += _takes(stays, mould.need)
        if room >= mould.members:
            return True
    return False


def _takes(free: Amounts, need: Need) -> int:
    """How many such members a node takes with so much free."""
    return max(0, min([free[column] // count for column, count in need]))


def _falls_short(made: Decision, rule: str | None) -> bool:
    """Whether it preempts, and warns of nothing but that it will not fit all the same."""
    return made.action == "preempt" and bool(made.victims) and all(warning.rule == rule for warning in made.warnings)


def _waiting(state: State, name: str) -> Record | None:
    """The record of one that waits."""
    record = state.records.get(state.work_index.get(name, NONE))
    return record if record is not None and GONE < record.code <= SUSPENDED else None


def _leave(state: State, nodes: _Nodes, made: Decision, evicted: set[str]) -> bool:
    """The victims of a decision leave, each once; whether they are there and could."""
    for victim in made.victims:
        name = victim.workload
        record = state.records.get(state.work_index.get(name, NONE))
        if record is None or record.code < RESERVED or name in evicted:
            return False
        if victim.leaving and record.code != PREEMPTING:
            return False
        evicted.add(name)
        for node in record.nodes:
            nodes.give(node, record)
    return True


def _enter(state: State, nodes: _Nodes, made: Decision, name: str) -> bool:
    """The claimant of a decision takes its room; whether it waits, may, and has it."""
    record = _waiting(state, name)
    if record is None:
        return False
    mould = record.mould
    if mould.placement != ANY or len(made.nodes) != mould.members:
        return False
    unlimited = nodes.room.unlimited.get(mould.queue)
    if unlimited is None:
        unlimited = nodes.room.unlimited[mould.queue] = unlimited_queue(state, mould.queue)
    if not unlimited:
        return False
    for name_of_node in made.nodes:
        node = state.node_index.get(name_of_node)
        if node is None or nodes.partition[node] != mould.partition:
            return False
        free = nodes.free.get(node) or nodes.open(node)
        if free is not None:
            for column, count in mould.need:
                left = free[column] = free[column] - count
                if left < 0:
                    return False
        elif nodes.whole:
            return False
        else:
            rest, leaving, held = nodes.apart[node]
            for column, count in mould.need:
                rest[column] -= count
                if rest[column] < max(leaving[column], held[column]):
                    return False
    return True


def unlimited_queue(state: State, queue: int) -> bool:
    """Whether no queue above it, nor itself, has a limit; worked out once as long as the queues stay."""
    known: dict[int, bool] = state.tree.derived.setdefault("verify", {})
    found = known.get(queue)
    if found is None:
        found = known[queue] = all(bool((state.tree.max[:, above] == UNSET).all()) for above in state.tree.path(queue))
    return found
