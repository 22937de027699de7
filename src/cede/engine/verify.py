"""Whether a plan about workloads that are all in records is lawful, at the cost of the nodes it touches.

It adds and subtracts plain numbers: what is free on a node, with those gone that leave it and those there that come.
What is not plain is left to `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.doctrine import Audit, Doctrine
from cede.engine.cluster import Cluster
from cede.engine.cycle import choice_of
from cede.engine.ledger import Ledger
from cede.model.plan import ACTIONS, Decision, Plan
from cede.state.admission import admitted_parts
from cede.state.columns import ANY, GONE, NONE, PREEMPTING, READY, RESERVED, STATES, SUSPENDED, UNSET, Bools, Int64s
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
            return known and _records_leave(state, nodes, made, evicted) and _waiting(state, name) is not None
        if made.victims:
            if made.action != "preempt" or (whole and (not exact or _spares(state, nodes, made, name))):
                return False
            if not _records_leave(state, nodes, made, evicted):
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
        room = self.room = state.room()
        self.partition = room.partition
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
            for column, count in self.state.records[row].template.need:
                left[column] -= count * members
        return left

    def give(self, node: int, record: Record) -> None:
        """A member of a victim leaves."""
        free = self.free.get(node) or self.open(node)
        part = 0
        if free is None:
            part = {PREEMPTING: 1, RESERVED: 2}.get(record.code, 0)
            free = self.apart[node][part]
        for column, count in record.template.need:
            free[column] += -count if part else count


def _spares(state: State, nodes: _Nodes, made: Decision, name: str) -> bool:
    """Whether the claimant of a decision may fit though one of its victims stays; where it is not plain that not, too.

    Of the nodes that none of its victims stands on it is counted once how many members they take.
    """
    claimant = state.records.get(state.work_index.get(name, NONE))
    if claimant is None or nodes.apart or nodes.room.apart:
        return True
    template = claimant.template
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
            for column, count in record.template.need:
                free[column] += count
    partition = nodes.partition
    elsewhere = 0
    for node in range(len(partition)):
        if partition[node] == template.partition and node not in left:
            elsewhere += _takes(nodes.there(node), template.need)
    for record in victims:
        if record is None:
            return True
        room = elsewhere
        for node, free in left.items():
            if partition[node] == template.partition:
                stays, members = free.copy(), record.nodes.count(node)
                for column, count in record.template.need:
                    stays[column] -= count * members
                room += _takes(stays, template.need)
        if room >= template.members:
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


def _records_leave(state: State, nodes: _Nodes, made: Decision, evicted: set[str]) -> bool:
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
    record = state.records.get(state.work_index.get(name, NONE))
    if record is None or not GONE < record.code <= SUSPENDED:
        return False
    template = record.template
    if template.placement != ANY or len(made.nodes) != template.members:
        return False
    unlimited = nodes.room.unlimited.get(template.queue)
    if unlimited is None:
        unlimited = nodes.room.unlimited[template.queue] = unlimited_queue(state, template.queue)
    if not unlimited:
        return False
    rows, partition, kept = state.node_index, nodes.partition, nodes.free
    for name_of_node in made.nodes:
        node = rows.get(name_of_node)
        if node is None or partition[node] != template.partition:
            return False
        free = kept.get(node) or nodes.open(node)
        if free is not None:
            for column, count in template.need:
                left = free[column] = free[column] - count
                if left < 0:
                    return False
        elif nodes.whole:
            return False
        else:
            rest, leaving, held = nodes.apart[node]
            for column, count in template.need:
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


MOST_KEPT = 4096
"""Needs of members in flavors that are kept."""


def lawful_starts(state: State, plan: Plan, *, whole: bool) -> bool:
    """True if nothing can be wrong with any start or preemption of this plan but what its doctrine says of victims;
    False says nothing. What stands on nodes is what the state counts by what happened, or of the `whole` check summed
    anew; whether a victim was needed, which that asks too, is left to `verify`.
    """
    decided: set[str] = set()
    evicted: set[str] = set()
    free: dict[int, _Free] = {}
    for made in plan.decisions:
        if made.workload is None or made.workload in decided or made.counts:
            return False
        decided.add(made.workload)
        if made.victims:
            if whole or made.action != "preempt" or not _leave(state, made, free, evicted, whole=whole):
                return False
        elif made.action != "start":
            return False
        if not _starts(state, made, free, whole=whole):
            return False
    return True


class _Free:
    """What is free on one node while a plan goes on: what is leaving and what is held overlap."""

    __slots__ = ("held", "leaving", "rest")

    def __init__(self, state: State, node: int, *, whole: bool) -> None:
        nodes, residents, there = state.nodes, state.residents, state.node_residents[node]
        self.rest: Int64s = nodes.capacity[:, node] - nodes.occupied[:, node]
        self.leaving: Int64s | None = None
        self.held: Int64s | None = None
        codes = state.work.state[residents.work[there]].tolist() if state.between else ()
        if not (whole or PREEMPTING in codes or RESERVED in codes):
            self.rest -= nodes.used[:, node]
        elif PREEMPTING in codes or RESERVED in codes:
            self.leaving, self.held = np.zeros_like(self.rest), np.zeros_like(self.rest)
            for resident, code in zip(there, codes, strict=True):
                self.give(code, -residents.amount[:, resident])
        else:
            self.rest = self.rest - residents.amount[:, there].sum(axis=1)

    def give(self, code: int, amount: Int64s) -> None:
        """So much of a workload in this state goes."""
        if code == PREEMPTING and self.leaving is not None:
            self.leaving = self.leaving - amount
        elif code == RESERVED and self.held is not None:
            self.held = self.held - amount
        else:
            self.rest = self.rest + amount

    def take(self, need: Int64s) -> bool:
        """A member takes its room; whether there is as much."""
        left = self.rest = self.rest - need
        if self.leaving is not None and self.held is not None:
            left = left - np.maximum(self.leaving, self.held)
        return not (left.min() < 0 and bool(((left < 0) & (need > 0)).any()))


def _leave(state: State, made: Decision, free: dict[int, _Free], evicted: set[str], *, whole: bool) -> bool:
    """The victims of a decision leave, each once; whether they are there and could."""
    residents = state.residents
    for victim in made.victims:
        row = state.work_index.get(victim.workload)
        if row is None or victim.workload in evicted:
            return False
        code = int(state.work.state[row])
        if code < RESERVED or (victim.leaving and code != PREEMPTING):
            return False
        evicted.add(victim.workload)
        for resident in state.residents_of(row):
            node = int(residents.node[resident])
            if node not in free:
                free[node] = _Free(state, node, whole=whole)
            free[node].give(code, residents.amount[:, resident])
    return True


def _starts(state: State, made: Decision, free: dict[int, _Free], *, whole: bool) -> bool:
    row = state.work_index.get(made.workload or "")
    if row is None or row in state.parts or row in state.constraints or row in state.odd_requests:
        return False
    work, nodes = state.work, state.nodes
    if not 0 < work.state[row] <= SUSPENDED or work.required_node[row] != NONE or work.placement[row]:
        return False
    if len(made.nodes) != work.members[row] or not unlimited_queue(state, int(work.queue[row])):
        return False
    need, partition = _need(state, row, made), work.partition[row]
    if need is None:
        return False
    for name in made.nodes:
        node = state.node_index.get(name)
        if node is None or nodes.state[node] != READY or nodes.partition[node] != partition:
            return False
        if node not in free:
            free[node] = _Free(state, node, whole=whole)
        if not free[node].take(need):
            return False
    return True


def _need(state: State, row: int, made: Decision) -> Int64s | None:
    """What each of its equal members takes of a node, in the flavors that it gets; None where that is not plain."""
    if not made.flavors:
        need: Int64s = state.work.need[:, row]
        return need
    if not state.static.flavored_quota or row in state.admitted or state.work.usage_given[row]:
        return None
    if not all(isinstance(flavor, str) for flavor in made.flavors.values()):
        return None
    key = (state.work.need[:, row].tobytes(), tuple(made.flavors.items()))
    known: dict[object, Int64s | None] = state.tree.derived.setdefault("verify needs", {})
    if key not in known:
        parts = admitted_parts(state, row, made.flavors, {}) or ()
        names = {name for part in parts for name in part.requests}
        if len(known) > MOST_KEPT:
            known.clear()
        learned = len(parts) == 1 and names <= state.units.index.keys()
        known[key] = state.vectors_of(parts, bool(state.work.exclusive[row]))[0] if learned else None
    return known[key]


Usable = Callable[[State, str, int], Bools | None]
"""Nodes that a doctrine's own rules let a workload stand on."""


def verify(cluster: Cluster, plan: Plan) -> list[str]:
    """What is wrong with this plan of this cluster; nothing, if it is lawful."""
    return verify_state(cluster.state, doctrine_of(cluster.document.doctrine), plan)


def verify_state(state: State, doctrine: Doctrine, plan: Plan, *, whole: bool = True) -> list[str]:
    """The same on live columns. If not `whole`, nobody looks through all nodes for a way without some of the victims,
    and what queues hold is taken from the state: what the plan does to those it names is checked all the same."""
    apart = doctrine.traits.one_node and any(len(set(made.nodes)) > 1 for made in plan.decisions)
    apart = apart or (doctrine.usable is not None and _restricted(state, doctrine.usable, plan))
    if (
        not apart
        and _signed(plan, doctrine, choice_of(state).edition)
        and _has_room(state, doctrine, plan, whole=whole)
    ):
        # Where nothing leaves and nothing is held, starts are audited by the whole check alone.
        plain = not (whole or state.between or state.static.flavored_quota)
        if plain and not any([made.victims for made in plan.decisions]):  # noqa: C419
            return []
        audit = _audit(state, doctrine, plan, whole=whole)
        return [f"{made.workload}: {objection}" for made in plan.decisions for objection in audit(made)]
    return list(_complaints(state, doctrine, plan, whole))


def _has_room(state: State, doctrine: Doctrine, plan: Plan, *, whole: bool) -> bool:
    """Whether it only decides what is plain, and of that all has its room that must; False says nothing."""
    if state.static.tenants or state.static.policies or not state.node_names or state.reservations:
        return False
    if plan.version != state.version:
        return False
    if len(state.records) == len(state.work_index) and not state.units.flavored:
        exact, falls_short = plan.edition in doctrine.traits.exact, doctrine.traits.falls_short
        return lawful_moves(state, plan, whole=whole, exact=exact, falls_short=falls_short)
    return lawful_starts(state, plan, whole=whole)


def _restricted(state: State, usable: Usable, plan: Plan) -> bool:
    """Whether the doctrine's own rules keep one that is decided about from some node."""
    rows = (state.work_index.get(made.workload or "") for made in plan.decisions)
    return any(row is None or usable(state, plan.edition, row) is not None for row in rows)


def _signed(plan: Plan, doctrine: Doctrine, edition: str) -> bool:
    """Whether it is a plan of this doctrine, and every decision has its rule and reason."""
    name = doctrine.dialect.name
    if plan.doctrine != name or plan.edition != edition:
        return False
    start = f"{name}."
    for made in plan.decisions:  # noqa: SIM110 - all() takes three times as long
        if not made.why or not made.rule.startswith(start):
            return False
    return True


def _complaints(state: State, doctrine: Doctrine, plan: Plan, whole: bool) -> Iterator[str]:
    if (plan.doctrine, plan.edition) != (doctrine.name, choice_of(state).edition):
        yield f"the plan is of {plan.doctrine} {plan.edition}, the state of {doctrine.name} {choice_of(state).edition}"
    if plan.version != state.version:
        yield f"the plan was made from version {plan.version}, the state is at {state.version}"
    cancels = doctrine.cancels
    cancelled = None if cancels is None else partial(cancels, state, plan.edition)
    takes_cordoned = doctrine.takes_cordoned
    usable = None if doctrine.usable is None else partial(doctrine.usable, state, plan.edition)
    ledger = Ledger(
        state,
        cancelled,
        doctrine.tolerates,
        leaving_counts=doctrine.traits.leaving_counts,
        usable=usable,
        cordoned=None if takes_cordoned is None else partial(takes_cordoned, state, plan.edition),
        strict=plan.edition not in doctrine.traits.loose,
        anew=whole,
    )
    try:
        audit = _audit(state, doctrine, plan, whole=whole)
        exact = whole and plan.edition in doctrine.traits.exact
        yield from _objections(state, doctrine, plan, ledger, audit, exact=exact)
    finally:
        ledger.close()


def _audit(state: State, doctrine: Doctrine, plan: Plan, *, whole: bool) -> Audit:
    brisk = doctrine.audit_touched
    return doctrine.audit(state, plan.edition) if whole or brisk is None else brisk(state, plan.edition)


def _objections(
    state: State, doctrine: Doctrine, plan: Plan, ledger: Ledger, audit: Audit, *, exact: bool
) -> Iterator[str]:
    decided: set[str] = set()
    evicted: set[str] = set()
    for made in plan.decisions:
        about = made.workload or "nobody"
        if made.action not in ACTIONS:
            yield f"{about}: {made.action!r} is no action"
        if not made.rule.startswith(f"{doctrine.name}.") or not made.why:
            yield f"{about}: the decision has no rule or no reason"
        strangers = list(_strangers(state, made))
        yield from strangers
        if strangers:
            continue
        if made.workload is not None:
            yield from _claimant(state, made, decided)
        for victim in made.victims:
            if victim.workload in evicted:
                yield f"{victim.workload} is evicted twice"
            evicted.add(victim.workload)
            if victim.leaving and _word(state, victim.workload) != "preempting":
                yield f"{victim.workload} is {_word(state, victim.workload)}, not leaving already"
        for objection in audit(made):
            yield f"{about}: {objection}"
        if made.action in ("start", "preempt") and made.workload is not None:
            short = any(warning.rule == doctrine.traits.falls_short for warning in made.warnings)
            complaints = list(_room(state, ledger, made, exact=exact))
            yield from () if short and made.victims else complaints
        elif made.victims and made.workload is not None:
            yield f"{about}: victims, but no preemption"
        elif made.workload is None:
            for victim in made.victims:
                ledger.leave(victim.workload)


def _strangers(state: State, made: Decision) -> Iterator[str]:
    """Names that the state does not know; nothing else can be said of a decision that has some."""
    works = [victim.workload for victim in made.victims] + ([] if made.workload is None else [made.workload])
    yield from (f"no workload is called {name}" for name in works if name not in state.work_index)
    yield from (f"no node is called {name}" for name in made.nodes if name not in state.node_index)


def _claimant(state: State, made: Decision, decided: set[str]) -> Iterator[str]:
    assert made.workload is not None
    if made.workload in decided:
        yield f"{made.workload} is decided twice"
    decided.add(made.workload)
    word = _word(state, made.workload)
    if word not in ("pending", "suspended"):
        yield f"{made.workload} is {word}, not waiting"
    if (made.action == "preempt") != bool(made.victims):
        yield f"{made.workload}: {made.action} with {len(made.victims)} victims"


def _word(state: State, name: str) -> str:
    return STATES[state.code_of(state.work_index[name])]


def _room(state: State, ledger: Ledger, made: Decision, *, exact: bool) -> Iterator[str]:
    assert made.workload is not None
    name = made.workload
    yield from ledger.admit(made)
    ledger.meant[state.work_index[name]] = len(set(made.nodes))
    if exact:
        for victim in made.victims:
            others = [other.workload for other in made.victims if other is not victim]
            if ledger.could_hold(name, without=others):
                yield f"{name} would fit without the eviction of {victim.workload}"
        if made.victims and ledger.could_hold(name, without=[]):
            yield f"{name} would fit without any eviction"
    for victim in made.victims:
        ledger.leave(victim.workload)
    if state.nodes.size:
        members = len(ledger.members(name))
        if len(made.nodes) != members:
            yield f"{name}: {len(made.nodes)} nodes for {members} members"
        yield from ledger.misplaced(name, made.nodes)
    yield from ledger.enter(name, made.nodes)
