"""Who waits, by kind, and who may be preempted, node by node: kept from cycle to cycle by following the journal.

A kind that fits nowhere and may take nobody sleeps. For members of one size that stays so until somebody comes to,
goes from or changes on a node where a member could stand if everybody left who may be taken, and all its members
could: as time passes costs only grow and more work comes near its end, and what others book only takes room. A single
member, where no node has a home, wakes only when victims who make room there cost less than it is worth
(`affording`). The library counts nodes, wherever they are: there it stays so until there is idle room for all, or
somebody begins to run who may be taken and was not taken in vain before, and as many of those as may go hold as many
nodes as it wants.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cede.doctrines.lattice import factors
from cede.doctrines.lattice.admission import never
from cede.doctrines.lattice.affording import BEYOND, Floor, Offer, Price, Prices, least_cost, worth
from cede.doctrines.lattice.core_places import splits, wish_of
from cede.doctrines.lattice.lending import claim_within, claims_nodes
from cede.doctrines.lattice.memory import homes_of, in_vain
from cede.doctrines.lattice.pool import Pool
from cede.doctrines.lattice.reach import Ground, Reach, Size, Taken
from cede.doctrines.lattice.score import (
    asked_nodes,
    budget_of,
    checkpoints,
    gpus_per_node,
    hours_of,
    nodes_that_count,
    topologies,
)
from cede.doctrines.lattice.settings import (
    HIGHEST,
    POLICY,
    SENSITIVE,
    SERVICE,
    UNPROTECTED,
    settings_of,
    vclusters_of,
)
from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.cost import MANUAL, MINUTE, NO_CHECKPOINT, gpu_columns, sizes_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Classes, about
from cede.doctrines.parts.front import lasting
from cede.doctrines.parts.limits import limits_of
from cede.model.plan import Decision
from cede.model.quantities import NANO
from cede.state.columns import GONE, NEVER, NONE, RUNNING, SUSPENDED, UNSET, Int64s
from cede.state.state import State

LINES = "lattice.lines"
NOT_READ = frozenset({"domain", "app", "originator", "kind", "job_priority"})
OWNERS = frozenset({"user", "project"})
"""Read for policies only."""
MOST_FORMS = 2_048
"""So many forms are kept at most that nobody waits with."""

Key = tuple[int, str, str, int]
"""The place of one among those that score alike but for their wait: submission, uid, name; then the row."""


@dataclass(slots=True, eq=False)
class Form:
    """Workloads that are alike in all that decides about them but their walltime and what is remembered of them."""

    claim: Claim
    queue: int
    priority: int
    partition: int
    tenant: int
    preempts: bool
    limited: bool
    claims: bool
    """Whether it is a sensitive claim on nodes it names."""
    steady: bool
    """Whether it may sleep: less room never helps it, and nothing but room and candidates keeps it waiting."""
    refusal: Decision | None
    members: int
    idle: Reach
    """How many of its members find room now."""
    reach: Reach
    """The same if everybody left who may be taken; of the library, which does not look at nodes, as it is now."""
    size: float
    """What it asks for, in GPUs of nodes; in nodes, as the library counts."""
    topology: float
    scored: dict[tuple[int, int], tuple[bool, list[float], list[float], float]] = field(default_factory=dict)
    """By how it is saved, what the scores of a line are made of."""
    kinds: dict[Kind, None] = field(default_factory=dict)
    """Those that somebody waits with."""
    shut: bool = False
    """It finds no room, and would not if everybody left who could be taken at all."""
    dozes: bool = False
    """Some of its kinds sleep."""
    floor: Floor | None = None
    """What victims cost at least, if that is told node by node: who is worth no more may sleep."""


@dataclass(slots=True, eq=False)
class Kind:
    """Of one form those with the same walltime, of whom the same is remembered: all of them get one answer. Whoever
    took others in vain is a kind of its own."""

    form: Form
    walltime: int
    remembered: tuple[str, ...]
    in_vain: Set[str] = frozenset()
    """Who was taken for it before and did not make it fit, as the memory has it."""
    value: int = BEYOND
    """What it is worth, where victims must cost less than that."""
    lines: dict[tuple[int, int], Line] = field(default_factory=dict)
    count: int = 0


@dataclass(slots=True, eq=False)
class Line:
    """Of one kind those who are saved as easily: they score alike but for how long they wait."""

    kind: Kind
    plain: bool
    """Whether it is scored without a view of the cluster."""
    weights: list[float]
    fixed: list[float]
    """Weighted factors that stay as they are; those that do not are left out."""
    budget: float
    entries: list[Key] = field(default_factory=list)


@dataclass(slots=True)
class Waiting:
    line: Line
    key: Key
    hours: int


@dataclass(slots=True)
class Holding:
    """What is kept of one that has room: where, what may be taken of it, and what it adds to sums."""

    name: str
    code: int
    nodes: list[int]
    counted: bool
    tenant: int
    size: int
    hours: int
    timed: bool
    open: bool
    partition: int
    priority: int
    amounts: list[Int64s]
    price: Price | None
    shielded: bool
    """Whether nobody takes it for a higher class, where no node has a home."""

    def same(self, other: Holding) -> bool:
        """Whether nothing is different about it that anybody who waits could ask for."""
        return (
            self.code == other.code
            and self.name == other.name
            and self.nodes == other.nodes
            and self.price == other.price
            and (self.open, self.priority, self.partition, self.tenant, self.size, self.hours, self.timed)
            == (other.open, other.priority, other.partition, other.tenant, other.size, other.hours, other.timed)
            and all(map(np.array_equal, self.amounts, other.amounts))
        )


class Lines:
    """Everything of it; `follow` brings it up to date."""

    def __init__(self, state: State, edition: str, memory: dict[str, Any]) -> None:
        self.state, self.memory = state, memory
        self.policy = edition == POLICY
        self.settings = settings_of(state)
        self.reshaped = state.journal.reshaped
        self.there = nodes_that_count(state, policy=self.policy)
        self.nodes = int(self.there.sum())
        self.forms: dict[object, Form] = {}
        self.live: dict[Form, None] = {}
        """Forms that somebody waits with who is not refused for good."""
        self.awake: dict[Kind, None] = {}
        self.fresh: list[int] = []
        """Who came since the last cycle."""
        self.again: set[int] = set()
        """Of whom something else is remembered than was when it joined."""
        self.queued = 0
        self.running = 0
        self.used = 0
        self.held: dict[int, int] = {}
        self.timed = 0
        """How many hold room and say for how long."""
        self.ground = Ground(state, self.settings.max_victims)
        self.open: dict[tuple[int, int], dict[str, int]] = {}
        """By partition and class, who could be taken, and how many nodes each holds."""
        self._sizes: dict[tuple[int, int], dict[int, int]] = {}
        """Of the same, how many hold so many nodes."""
        self.homes = self.ground.homes
        self._priced = self.policy and self.homes is None
        self._prices = Prices()
        self.limits = bool(state.static.tenants) or bool((state.tree.max[:, : state.tree.size] != UNSET).any())
        self.shares = any(tenant.share for tenant in state.static.tenants.values())
        self._weights = factors.weights(normalized=self.policy).tolist()
        self._types: list[int] = vclusters_of(state).type.tolist()
        self._gpus = [(column, state.units.nano[column]) for column in gpu_columns(state)]
        self._classes = Classes(state, NOT_READ, OWNERS)
        self._floors: dict[tuple[Reach, int], Floor] = {}
        self._kinds: dict[tuple[Form, int, tuple[str, ...], str], Kind] = {}
        self._of_queue: dict[int, dict[Form, None]] = {}
        self._rows: dict[int, Waiting | Holding] = {}
        self._touched: set[int] = set()
        self._opened: dict[str, tuple[int, int]] = {}
        state.journal.begin(self)
        for row in sorted(state.work_index.values()):
            self._look(row)
        self._touched.clear()
        self._opened.clear()

    # -- what changed --------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Take in what moved since the last cycle, and wake whom that concerns."""
        self.state.journal.take(self._look, self._drop)
        for row in self.again:
            if isinstance(self._rows.get(row), Waiting):
                self._look(row)
        self.again.clear()
        touched, opened = self._touched, self._opened
        for floor in self._floors.values():
            floor.unpriced |= touched
        if touched:
            self.ground.changed(touched)
        if touched or opened:
            self._wake_concerned()
            touched.clear()
            opened.clear()

    def touch(self, nodes: Collection[int]) -> None:
        """Something was booked on these nodes. It may not be carried out: who sleeps because of it looks again."""
        self._touched.update(nodes)
        self.ground.changed(nodes)

    def _wake_concerned(self) -> None:
        """Those who sleep, where enough members may find room on what changed, or somebody came who may be taken."""
        touched, opened = self._touched, self._opened
        on_touched: dict[Reach, bool] = {}
        lowest = min((priority for _, priority in opened.values()), default=HIGHEST)
        for form in self.live:
            if not form.dozes:
                continue
            reach = form.reach
            found = on_touched.get(reach)
            if found is None:
                found = on_touched[reach] = reach.touched(touched)
            if found and form.floor is not None:
                self._wake_affording(form, form.floor)
            elif found and reach.enough(form.members):
                self.wake(form)
            elif lowest < form.priority and form.preempts:
                self._wake_for_opened(form)

    def _wake_for_opened(self, form: Form) -> None:
        for name, (partition, priority) in self._opened.items():
            if priority < form.priority and partition == form.partition:
                for kind in form.kinds:
                    if kind not in self.awake and name not in kind.in_vain and self.victims(kind):
                        self.awake[kind] = None

    def _wake_affording(self, form: Form, floor: Floor) -> None:
        """Its kinds that may find idle room, or victims they can afford."""
        form.shut = False
        if form.idle.enough(form.members):
            self.wake(form)
            return
        least = floor.least(self._least_on)
        for kind in form.kinds:
            if kind.value > least:
                self.awake[kind] = None

    def affords(self, kind: Kind) -> bool:
        """Whether there may be a set of victims that costs less than it is worth."""
        floor = kind.form.floor
        return floor is None or kind.value > floor.least(self._least_on)

    def _least_on(self, node: int, floor: Floor) -> int | None:
        """What room for a member costs on this node, if that is less than the floor."""
        short = floor.reach.short_on(node)
        offers: list[Offer] = []
        now, residents = self.state.now, self.state.residents
        for at in self.state.node_residents[node]:
            held = self._rows.get(residents.work.item(at))
            if (
                not isinstance(held, Holding)
                or held.price is None
                or held.shielded
                or held.priority >= floor.below
                or held.partition != floor.partition
                or held.price.ends_within(self.settings.near_end, now)
            ):
                continue
            cost = held.price.at(now)
            if cost < floor.base:
                amounts = held.amounts[held.nodes.index(node)]
                offers.append((cost, tuple(amounts.item(column) for column, _ in short)))
        return least_cost(tuple(lack for _, lack in short), offers, self.settings.max_victims, floor.base)

    def wake(self, form: Form) -> None:
        form.shut = form.dozes = False
        self.awake |= form.kinds

    def shut(self, form: Form) -> None:
        """All its kinds sleep."""
        form.shut = form.dozes = True
        if form.floor is not None:
            form.floor.rise(BEYOND)
        for kind in form.kinds:
            self.awake.pop(kind, None)

    def fits(self, form: Form) -> bool:
        """Whether there may be idle room for all its members."""
        return not form.steady or form.idle.enough(form.members)

    def put_to_sleep(self, kind: Kind) -> None:
        """Nobody whom it may take makes room for less than it is worth."""
        form = kind.form
        form.dozes = True
        if form.floor is not None:
            form.floor.rise(kind.value)
        self.awake.pop(kind, None)

    def _drop(self, row: int) -> None:
        known = self._rows.pop(row, None)
        if isinstance(known, Waiting):
            self._leave(known)
        elif known is not None:
            self._go(row, known)

    def _look(self, row: int) -> None:
        code = self.state.work.state.item(row)
        if code > SUSPENDED:
            self._stand(row, code)
            return
        self._drop(row)
        if code != GONE:
            self._join(row)

    # -- who waits -----------------------------------------------------------------------------------------------

    def kind_of(self, row: int) -> Kind:
        """The kind of one that waits."""
        known = self._rows[row]
        assert isinstance(known, Waiting), "it waits"
        return known.line.kind

    def claim(self, row: int) -> Claim:
        """The claim of one that waits."""
        own = self.kind_of(row).form.claim
        return Claim(
            row,
            self.state.work_names[row],
            own.members,
            own.placement,
            own.need,
            own.vectors,
            own.columns,
            own.matching,
            own.allowed,
        )

    def waiting(self) -> Iterator[Kind]:
        """Kinds that somebody waits with who is not refused for good."""
        for form in self.live:
            yield from form.kinds

    def still_waiting(self, started: Mapping[Kind, int], waited: Collection[Kind]) -> Iterator[int]:
        """One of each form that may preempt and somebody still waits with after so many of each kind started; of kinds
        that may be refused for a quota, of those that `waited`. All of a form are of one class, queue and claim."""
        for form in self.live:
            for kind in form.kinds if form.preempts else ():
                if kind in waited if form.limited else kind.count > started.get(kind, 0):
                    yield next(line.entries[0][3] for line in kind.lines.values() if line.entries)
                    break

    def all_of(self, queue: int) -> Iterator[Kind]:
        """Every kind of a queue, those that are refused for good, too."""
        for form in self._of_queue.get(queue, ()):
            yield from form.kinds

    def refusals(self) -> Iterator[Decision]:
        """Of those that came since the last cycle and can never run."""
        fresh, self.fresh = self.fresh, []
        for row in dict.fromkeys(fresh):
            known = self._rows.get(row)
            refusal = known.line.kind.form.refusal if isinstance(known, Waiting) else None
            if refusal is not None:
                yield about(refusal, self.state.work_names[row])

    def _join(self, row: int) -> None:
        state, work = self.state, self.state.work
        form = self._form(row)
        name, walltime = state.work_names[row], work.walltime.item(row)
        remembered = homes_of(self.memory, name) if self.policy else ()
        vain: Set[str] = frozenset() if self.policy else in_vain(self.memory, name)
        of = form, walltime, remembered, name if vain else ""
        kind = self._kinds.get(of)
        if kind is None:
            value = BEYOND if not self.settings.value_rule else worth(form.priority, form.size, walltime)
            kind = self._kinds[of] = Kind(form, walltime, remembered, vain, value)
        saved = work.checkpoint.item(row), work.checkpoint_time.item(row)
        line = kind.lines.get(saved)
        if line is None:
            line = kind.lines[saved] = self._line(row, kind, saved)
        key = (work.submitted.item(row), state.uids[row], name, row)
        insort(line.entries, key)
        kind.count += 1
        if kind.count == 1:
            form.kinds[kind] = None
            self._of_queue.setdefault(form.queue, {})[form] = None
            if form.refusal is None:
                self.live[form] = None
                if form.shut:
                    form.dozes = True
                else:
                    self.awake[kind] = None
        hours = hours_of(walltime, form.size, policy=self.policy)
        self.queued += hours
        self._rows[row] = Waiting(line, key, hours)
        self.fresh.append(row)

    def _leave(self, known: Waiting) -> None:
        self.queued -= known.hours
        line = known.line
        kind = line.kind
        del line.entries[bisect_left(line.entries, known.key)]
        kind.count -= 1
        if not kind.count:
            form = kind.form
            self.awake.pop(kind, None)
            del form.kinds[kind]
            if kind.in_vain:
                del self._kinds[form, kind.walltime, kind.remembered, known.key[2]]
            if not form.kinds:
                self.live.pop(form, None)
                del self._of_queue[form.queue][form]
                form.shut = form.dozes = False

    def _form(self, row: int) -> Form:
        which = self._classes.of(self.state, row)
        found = self.forms.get(which)
        if found is None:
            if len(self.forms) + len(self._kinds) > MOST_FORMS:
                self.forms = {which: form for which, form in self.forms.items() if form.kinds}
                self._kinds = {key: kind for key, kind in self._kinds.items() if kind.count}
                self._floors = {
                    (form.floor.reach, form.partition): form.floor for form in self.forms.values() if form.floor
                }
                self.ground.keep(reach for form in self.forms.values() for reach in (form.idle, form.reach))
            found = self.forms[which] = self._make(row)
        return found

    def _make(self, row: int) -> Form:
        state, work = self.state, self.state.work
        claim = lasting(claim_within(state, row) if self.policy else wish_of(state, row))
        limits = limits_of(state, row)
        rows = np.array([row])
        nodes = asked_nodes(state, rows)
        need, queue, preempts = claim.need, work.queue.item(row), work.preempts.item(row)
        claims = self.policy and claims_nodes(state, row)
        needs = () if need is None else tuple((column, int(need[column])) for column in claim.columns)
        size = Size(needs, claim.allowed.tobytes())
        taken = Taken(work.priority.item(row), NONE if self.homes is None else queue, claims)
        steady = (
            need is not None and not limits and not self.settings.patience and (self.policy or not splits(state, row))
        )
        reach = self.ground.reach(size, taken if preempts and self.policy else None)
        return Form(
            claim,
            queue,
            work.priority.item(row),
            work.partition.item(row),
            work.tenant.item(row),
            preempts,
            bool(limits),
            claims,
            steady,
            never(state, claim, limits),
            claim.members,
            self.ground.reach(size, None),
            reach,
            float((nodes * gpus_per_node(state, rows))[0]) if self.policy else int(nodes[0]),
            float(topologies(state, rows, nodes, policy=self.policy)[0]),
            floor=self._floor_of(reach, row) if self._priced and steady and claim.single and preempts else None,
        )

    def pool(self, claim: Claim) -> Pool | None:
        """Who may go for one that waits, as `policy.pool_for` has it, where no node has a home."""
        kind, state = self.kind_of(claim.row), self.state
        form = kind.form
        if not self._priced or form.claims:
            return None
        rows = self._prices.below(form.priority, form.partition, state.now, self.settings.near_end)
        if not claim.allowed.all():
            residents = residents_of_all(state, rows)
            here = np.zeros(state.work.size, np.bool_)
            here[state.residents.work[residents[claim.allowed[state.residents.node[residents]]]]] = True
            rows = rows[here[rows]]
        value = None if kind.value == BEYOND else kind.value
        counted = np.ones(len(rows), np.bool_)
        return Pool(state, claim, rows, self._prices.costs(state, rows), counted, self.settings.max_victims, value)

    def _floor_of(self, reach: Reach, row: int) -> Floor:
        partition, below = self.state.work.partition.item(row), self.state.work.priority.item(row)
        found = self._floors.get((reach, partition))
        if found is None:
            found = self._floors[reach, partition] = Floor(reach, partition, below)
        return found

    def _line(self, row: int, kind: Kind, saved: tuple[int, int]) -> Line:
        made = kind.form.scored.get(saved)
        if made is None:
            made = kind.form.scored[saved] = self._scored(row, kind.form)
        return Line(kind, *made)

    def _scored(self, row: int, form: Form) -> tuple[bool, list[float], list[float], float]:
        """What the scores of a line are made of."""
        queue_type = self._types[form.queue]
        plain = queue_type == SERVICE and not self.policy
        weights = self._weights[queue_type]
        saved = checkpoints(self.state, np.array([row]), self.settings, policy=self.policy)
        own = [0.0, 0.0, 0.0, form.topology, factors.UNKNOWN, 0.0, factors.UNKNOWN, float(saved[0]), 0.0]
        own[0] = factors.of_class(float(form.priority))
        if plain:
            own[3] = factors.of_topology(form.claim.members, 1)
        fixed = [factor * weight for factor, weight in zip(own, weights, strict=True)]
        return plain, weights, fixed, 1.0 if plain else budget_of(self.state, form.tenant)

    # -- who has room --------------------------------------------------------------------------------------------

    def _stand(self, row: int, code: int) -> None:
        state, work = self.state, self.state.work
        residents = state.residents
        on = state.residents_of(row)
        nodes = [residents.node.item(at) for at in on]
        walltime, priority = work.walltime.item(row), work.priority.item(row)
        counted = self.policy or code == RUNNING
        size, gpus = self._size(row, len(nodes))
        hours = hours_of(walltime, gpus if self.policy else size, policy=self.policy) if counted else 0
        open_ = code == RUNNING and work.preemptible.item(row) and not self._sensitive(row, priority)
        held = Holding(
            name=state.work_names[row],
            code=code,
            nodes=nodes,
            counted=counted,
            tenant=work.tenant.item(row),
            size=size,
            hours=hours,
            timed=walltime != NEVER,
            open=open_,
            partition=work.partition.item(row),
            priority=priority,
            amounts=[residents.amount[:, at].copy() for at in on] if open_ and self.policy else [],
            price=self._price(row, gpus) if open_ and self.policy else None,
            shielded=self._types[work.queue.item(row)] == SERVICE
            or (priority >= UNPROTECTED and work.checkpoint.item(row) == NO_CHECKPOINT),
        )
        known = self._rows.get(row)
        if isinstance(known, Holding) and known.same(held):
            return  # it saved its work: who may be taken, and for what, is as it was
        self._drop(row)
        self._rows[row] = held
        self._count(row, held, 1)

    def _go(self, row: int, held: Holding) -> None:
        self._count(row, held, -1)

    def _count(self, row: int, held: Holding, sign: int) -> None:
        self._touched.update(held.nodes)
        if held.counted:
            self.running += sign * held.hours
            self.used += sign * held.size
            self.held[held.tenant] = self.held.get(held.tenant, 0) + sign * held.size
        self.timed += sign * held.timed
        if not held.open:
            return
        if self._priced and sign < 0:
            self._prices.shut(row)
        elif self._priced and not held.shielded and held.price is not None:
            self._prices.set(row, held.priority, held.partition, held.price)
        at = held.partition, held.priority
        ground = self.ground
        if sign > 0:
            self.open.setdefault(at, {})[held.name] = held.size
            sizes = self._sizes.setdefault(at, {})
            sizes[held.size] = sizes.get(held.size, 0) + 1
            if not self.policy:
                self._opened[held.name] = at
            ground.open_rows.add(row)
        else:
            del self.open[at][held.name]
            self._sizes[at][held.size] -= 1
            self._opened.pop(held.name, None)
            ground.open_rows.discard(row)
        if self.policy:
            there = ground.open.get(held.priority)
            if there is None:
                shape = (self.state.nodes.free.shape[0], self.state.nodes.size)
                there = ground.open[held.priority] = np.zeros(shape, np.int64)
            for node, amount in zip(held.nodes, held.amounts, strict=True):
                there[:, node] += sign * amount

    def _price(self, row: int, gpus: float) -> Price:
        work, assumed = self.state.work, self.settings.assumed
        saving, takes, saves = work.checkpoint.item(row), work.checkpoint_time.item(row), None
        if saving != NO_CHECKPOINT:
            own = (assumed.manual if saving == MANUAL else assumed.auto) if takes == NEVER else takes
            saves = own / MINUTE
        last = work.checkpoint_last.item(row) if saves is None else NEVER
        return Price(saves, work.started.item(row), last, work.walltime.item(row), gpus)

    def _size(self, row: int, on: int) -> tuple[int, float]:
        """Nodes, and GPUs of nodes, of one that has room."""
        state, work = self.state, self.state.work
        if work.exclusive.item(row) or row in state.parts or not on:
            rows = np.array([row])
            nodes, gpus = sizes_of(state, rows)
            if self.policy and not on:
                gpus = asked_nodes(state, rows) * gpus_per_node(state, rows)
            return int(nodes[0]), float(gpus[0])
        each = 0.0
        for column, nano in self._gpus:
            each += float(work.need.item(column, row)) * nano
        each /= NANO
        return on, on * (each if each > 0 else 1.0)

    def type_of(self, queue: int) -> int:
        return self._types[queue]

    def victims(self, kind: Kind) -> bool:
        """Whether as many of a lower class as may go, wherever, who were not taken for it in vain, hold as many nodes
        as it wants: that is all the library asks for, whatever they cost."""
        form, most = kind.form, self.settings.max_victims
        below = [at for at in self.open if at[0] == form.partition and at[1] < form.priority]
        sizes: dict[int, int] = {}
        for at in below:
            for size, count in self._sizes[at].items():
                sizes[size] = sizes.get(size, 0) + count
        if not _free(sorted(sizes.items(), reverse=True), most, form.members):
            return False
        if not kind.in_vain:
            return True
        left: dict[int, int] = {}
        for at in below:
            for name, size in self.open[at].items():
                if name not in kind.in_vain:
                    if size >= form.members:
                        return True
                    left[size] = left.get(size, 0) + 1
        return _free(sorted(left.items(), reverse=True), most, form.members)

    def _sensitive(self, row: int, priority: int) -> bool:
        work = self.state.work
        if work.sensitive.item(row) or priority >= HIGHEST:
            return True
        return self.policy and self._types[work.queue.item(row)] == SENSITIVE

    # -- room ----------------------------------------------------------------------------------------------------

    def at_home(self, node: int) -> list[Form]:
        """Forms that sleep and might take back this node, of which more is taken now."""
        assert self.homes is not None, "nodes have homes"
        home = self.homes[node]
        return [form for form in self.live if form.dozes and form.queue == home and form.reach.touched((node,))]


def _free(sizes: Iterable[tuple[int, int]], most: int, wanted: int) -> bool:
    """Whether so many hold so many nodes; of each size there are so many, the largest first."""
    for size, count in sizes:
        taken = min(count, most)
        wanted, most = wanted - taken * size, most - taken
        if wanted <= 0 or not most:
            break
    return wanted <= 0


def lines_of(cycle: Cycle) -> Lines:
    """What is kept of who waits and who may be preempted, as it is now."""
    found: Lines | None = cycle.memory.get(LINES)
    state = cycle.state
    if (
        found is None
        or found.state is not state
        or found.reshaped != state.journal.reshaped
        or state.journal.reader is not found
    ):
        found = cycle.memory[LINES] = Lines(state, cycle.edition, cycle.memory)
    else:
        found.follow()
    return found
