"""The waiting line by kind: what waits, what sleeps, and what wakes it. Kept from cycle to cycle by the journal."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from cede.doctrines.lattice import score
from cede.doctrines.lattice.admission import never
from cede.doctrines.lattice.core_library import splits, wish_of
from cede.doctrines.lattice.kinds import Form, Kind, Line, Profile, Wait, Waiting
from cede.doctrines.lattice.lending import claim_within, claims_nodes
from cede.doctrines.lattice.memory import homes_of, in_vain
from cede.doctrines.lattice.node_facts import all_identical, fingerprints
from cede.doctrines.lattice.room_bounds import RoomBound, Size, VictimScope
from cede.doctrines.lattice.running_work import RunningWork
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
    INTERACTIVE,
    POLICY,
    SENSITIVE,
    SERVICE,
    UNPROTECTED,
    settings_of,
    vclusters_of,
)
from cede.doctrines.lattice.victim_costs import BEYOND, CostFloor, claimant_value
from cede.doctrines.parts.best_fit import Need, NodeIndex, Shape
from cede.doctrines.parts.claim import Claim, detached
from cede.doctrines.parts.cost import NO_CHECKPOINT, gpu_columns
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Classes, about
from cede.doctrines.parts.limits import limits_of
from cede.model.plan import Decision
from cede.model.quantities import NANO
from cede.state.columns import ANY, GONE, NONE, READY, SUSPENDED, UNSET, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE
from cede.state.write_behind import Record

LINES = "lattice.lines"
NOT_READ = frozenset({"domain", "app", "originator", "kind", "job_priority"})
OWNERS = frozenset({"user", "project"})
"""Read for policies only."""
MOST_FORMS = 2_048
"""So many forms are kept at most that no workload waits with."""


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
        """Forms with a workload that waits and is not refused for good."""
        self.awake: dict[Kind, None] = {}
        self._fresh: set[int] = set()
        self._refused: list[int] = []
        """Who came since the last cycle, and who of those can never run."""
        self.again: set[int] = set()
        """Of whom something else is remembered than was when it joined."""
        self.queued = 0
        self.running = RunningWork(state, self.settings, policy=self.policy)
        self.homes = self.running.homes
        self.limits = bool(state.static.tenants) or bool((state.tree.max[:, : state.tree.size] != UNSET).any())
        self.shares = any(tenant.share for tenant in state.static.tenants.values())
        self._weights = score.weights(normalized=self.policy).tolist()
        self._types: list[int] = vclusters_of(state).type.tolist()
        self._gpus = [(column, state.units.nano[column]) for column in gpu_columns(state)]
        self._policies = bool(state.static.policies)
        self._by_queue = not self.policy or self.homes is not None or self.limits or self._policies
        """Whether its vCluster tells one that waits from another; else only the type of that does: the policy has one
        line for all, and reads a queue's name for homes, limits and policies alone."""
        self._classes = Classes(state, NOT_READ if self._by_queue else NOT_READ | {"queue"}, OWNERS)
        self._floors: dict[tuple[RoomBound, int], CostFloor] = {}
        self._kinds: dict[tuple[Form, int, tuple[str, ...], str], Kind] = {}
        self._of_queue: dict[int, dict[Form, None]] = {}
        self.rows: dict[int, Waiting] = {}
        self._profiles: dict[tuple[object, ...], Profile] = {}
        self._indexes: dict[int, NodeIndex] = {}
        """By partition, its nodes by what is free on them."""
        self.plain = self.homes is None and not state.static.tenants and not state.units.flavored
        """Whether no node has a home, no tenant a limit, and no resource a flavor."""
        self.by_rank: list[int] = np.argsort(state.node_rank()).tolist()
        """Nodes in the order of their names."""
        self.free: Int64s = state.nodes.free[:, : state.nodes.size].copy()
        """What is free on each node, with what this cycle booked."""
        self.names = state.tree.names
        """Of queues."""
        self._one_kind = all_identical(state)
        kinds = fingerprints(state)
        self._fingerprinted = not self.policy or bool(kinds.any())
        self._kinds_of_nodes: list[int] = kinds.tolist()
        self._ready: list[bool] = (state.nodes.state[: state.nodes.size] == READY).tolist()
        self._empty: list[bool] = [False] * state.nodes.size
        self._identical = [0] * (max(self._kinds_of_nodes, default=0) + 1)
        """Of each kind of node, how many are ready and empty."""
        state.journal.begin(self)
        for row in sorted(state.work_index.values()):
            self._look(row)
        self.running.freeable.changed(self.running.touched)
        self._count_empty(range(state.nodes.size))
        self.running.touched.clear()
        self.running.opened.clear()

    # -- what changed --------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Take in what moved since the last cycle, and wake whom that concerns."""
        rows, freeable = self.state.journal.rows, self.running.freeable
        if rows:
            # Every look finds it as it is now: only the last that is said of a row counts.
            for row, said in {said if said >= 0 else ~said: said for said in rows}.items():
                if said >= 0:
                    self._look(row)
                else:
                    self._drop(row)
            rows.clear()
        for row in self.again:
            if row in self.rows:
                self._look(row)
        self.again.clear()
        freeable.begin()
        touched, opened = self.running.touched, self.running.opened
        if touched:
            for floor in self._floors.values():
                floor.unpriced |= touched
            freeable.changed(touched)
            self._count_empty(touched)
            self._update(touched)
        if touched or opened:
            self._wake_concerned()
            touched.clear()
            opened.clear()

    def book(self, nodes: list[int], need: Need) -> None:
        """Members take their room here. It may not be carried out: who sleeps because of it looks again."""
        booked = self.running.freeable.booked
        for node in nodes:
            left = booked[node] = self.running.freeable.free(node).copy()
            for column, count in need:
                left[column] -= count
        self._booked(nodes)

    def touch(self, nodes: Collection[int]) -> None:
        """The same of members that were booked in the columns."""
        free = self.state.nodes.free
        for node in nodes:
            self.running.freeable.booked[node] = free[:, node].tolist()
        self._booked(nodes)

    def _booked(self, nodes: Collection[int]) -> None:
        self.running.touched.update(nodes)
        self.running.freeable.changed(nodes)
        self._update(nodes)

    def _update(self, nodes: Collection[int]) -> None:
        """Whoever looks at nodes finds what is free there."""
        free, indexes = self.running.freeable.free, self._indexes.values()
        for node in nodes:
            left = free(node)
            self.free[:, node] = left
            for index in indexes:
                index.update(node, left)

    def _count_empty(self, nodes: Iterable[int]) -> None:
        free = self.running.freeable.room_of_nodes.free
        for node in nodes if self._fingerprinted else ():
            empty = self._ready[node] and free[node][WHOLE] >= FULL
            if empty is not self._empty[node]:
                self._empty[node] = empty
                self._identical[self._kinds_of_nodes[node]] += 1 if empty else -1

    def largest(self) -> int | None:
        """`score.largest_set`, of the state as it was when the cycle began."""
        if not self._fingerprinted:
            return None
        unknown = self._identical[0]
        return max(min(1, unknown) if self.policy else unknown, *self._identical[1:], 0)

    def _wake_concerned(self) -> None:
        """Those who sleep, where enough members may find room on what changed, or somebody came who may be taken.

        A steady form sleeps when it found no way, and only more room or more candidates can give it one. Both are
        changes on nodes: where no member would find room on a changed node, even if everybody left there, its count is
        what it was, and so is the answer. The library looks at no node for victims: there it is those that came since,
        of a lower class, that may be enough.
        """
        touched, opened = self.running.touched, self.running.opened
        on_touched: dict[RoomBound, bool] = {}
        lowest = min((priority for _, priority in opened.values()), default=HIGHEST)
        for form in self.live:
            if not form.dozes:
                continue
            reach = form.freeable_room
            grew = on_touched.get(reach)
            if grew is None:
                grew = on_touched[reach] = reach.touched(touched)
            if grew and form.floor is not None:
                self._wake_affording(form, form.floor)
            elif grew and reach.enough(form.members):
                self.wake(form)
            elif lowest < form.priority and form.preempts:
                self._wake_for_opened(form)

    def _wake_for_opened(self, form: Form) -> None:
        for name, (partition, priority) in self.running.opened.items():
            if priority < form.priority and partition == form.partition:
                for kind in form.kinds:
                    if kind not in self.awake and name not in kind.in_vain and self.running.victims(kind):
                        self.awake[kind] = None

    def _wake_affording(self, form: Form, floor: CostFloor) -> None:
        """Its kinds that may find idle room, or victims they can afford."""
        form.shut = False
        if form.idle_room.enough(form.members):
            self.wake(form)
            return
        least = floor.least(self.running.least_on, (self.state.now, self.running.freeable.changes))
        for kind in form.kinds:
            if kind.value > least:
                self.awake[kind] = None

    def affords(self, kind: Kind) -> bool:
        """Whether there may be a set of victims that costs less than it is worth."""
        floor = kind.form.floor
        return floor is None or kind.value > floor.least(
            self.running.least_on, (self.state.now, self.running.freeable.changes)
        )

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
        return not form.steady or form.idle_room.enough(form.members)

    def put_to_sleep(self, kind: Kind) -> None:
        """Nothing that it may take makes room for less than it is worth."""
        form = kind.form
        form.dozes = True
        if form.floor is not None:
            form.floor.rise(kind.value)
        self.awake.pop(kind, None)

    def _drop(self, row: int) -> None:
        waiting = self.rows.pop(row, None)
        if waiting is not None:
            self._leave(waiting)
        else:
            self.running.drop(row)

    def _look(self, row: int) -> None:
        record = self.state.records.get(row)
        code = self.state.work.state.item(row) if record is None else record.code
        if code > SUSPENDED:
            waiting = self.rows.pop(row, None)
            if waiting is not None:
                self._leave(waiting)
            self.running.stand(row, code, record, self._like(row, record))
            return
        self._drop(row)
        if code != GONE:
            self._join(row, code, record)

    def _like(self, row: int, record: Record | None) -> Profile:
        """What it shares with others; looked up once of all whose records have one template, class and owner."""
        if record is None or row in self.state.reservations:
            return self._read(row)
        owner = (record.user, record.project) if self._policies else ()
        key = (record.template, record.priority, record.preemptible, *owner)
        like = self._profiles.get(key)
        if like is None:
            if len(self._profiles) > MOST_FORMS:
                self._profiles.clear()
            like = self._profiles[key] = self._read(row)
        return like

    def _read(self, row: int) -> Profile:
        work = self.state.work
        queue, priority, checkpoint = work.queue.item(row), work.priority.item(row), work.checkpoint.item(row)
        each = 0.0
        for column, nano in self._gpus:
            each += float(work.need.item(column, row)) * nano
        each /= NANO
        return Profile(
            queue,
            work.partition.item(row),
            work.tenant.item(row),
            priority,
            checkpoint,
            work.exclusive.item(row),
            work.preemptible.item(row) and not self._sensitive(row, priority),
            self._types[queue] == SERVICE or (priority >= UNPROTECTED and checkpoint == NO_CHECKPOINT),
            each if each > 0 else 1.0,
            work.need[:, row].tolist(),
        )

    # -- who waits -----------------------------------------------------------------------------------------------

    def kind_of(self, row: int) -> Kind:
        """The kind of one that waits."""
        return self.rows[row].line.kind

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
        """Kinds with a workload that waits and is not refused for good."""
        for form in self.live:
            yield from form.kinds

    def still_waiting(self, started: Mapping[Kind, int], waited: Collection[Kind]) -> Iterator[Wait]:
        """Each form that may preempt and still waits after so many of each kind started; of kinds that may be refused
        for a quota, of those that `waited`."""
        for form in self.live:
            if form.preempts:
                for kind in form.kinds:
                    if kind in waited if form.limited else kind.count > started.get(kind, 0):
                        yield form.priority, form.queue, form.claims
                        break

    def all_of(self, queue: int) -> Iterator[Kind]:
        """Every kind of a queue, those that are refused for good, too."""
        for form in self._of_queue.get(queue, ()):
            yield from form.kinds

    @property
    def idle(self) -> bool:
        """Whether nothing may act and nothing is refused."""
        return not self.awake and not self._refused

    def refusals(self) -> Iterator[Decision]:
        """Of those that came since the last cycle and can never run."""
        fresh, self._refused = self._refused, []
        for row in dict.fromkeys(fresh):
            known = self.rows.get(row)
            refusal = None if known is None else known.line.kind.form.refusal
            if refusal is not None:
                yield about(refusal, self.state.work_names[row])

    def take_fresh(self) -> set[int]:
        """What came since this was asked last."""
        fresh, self._fresh = self._fresh, set()
        return fresh

    def _join(self, row: int, code: int, record: Record | None) -> None:
        state = self.state
        like = self._like(row, record)
        form = like.forms.get(code)
        if form is None:
            form = like.forms[code] = self._form(row, like)
        name = state.work_names[row]
        if record is None:
            work = state.work
            walltime, submitted = work.walltime.item(row), work.submitted.item(row)
            takes = work.checkpoint_time.item(row)
        else:
            walltime, submitted = record.walltime, record.submitted
            takes = record.checkpoint_time if record.saved else record.template.checkpoint_time
        remembered = homes_of(self.memory, name) if self.policy else ()
        vain: Set[str] = frozenset() if self.policy else in_vain(self.memory, name)
        of = form, walltime, remembered, name if vain else ""
        kind = self._kinds.get(of)
        if kind is None:
            value = BEYOND if not self.settings.value_rule else claimant_value(form.priority, form.size, walltime)
            kind = self._kinds[of] = Kind(form, walltime, remembered, vain, value)
        saved = like.checkpoint, takes
        line = kind.lines.get(saved)
        if line is None:
            line = kind.lines[saved] = self._line(row, kind, saved)
        key = (submitted, state.uids[row], name, row)
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
        self.rows[row] = Waiting(line, key, hours)
        self._fresh.add(row)
        if form.refusal is not None:
            self._refused.append(row)

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

    def _form(self, row: int, like: Profile) -> Form:
        which: object = self._classes.of(self.state, row)
        if not self._by_queue:
            which = which, self._types[like.queue]
        known = self.forms.get(which)
        if known is None:
            if len(self.forms) + len(self._kinds) > MOST_FORMS:
                self.forms = {which: form for which, form in self.forms.items() if form.kinds}
                self._kinds = {key: kind for key, kind in self._kinds.items() if kind.count}
                self._floors = {
                    (form.floor.room, form.partition): form.floor for form in self.forms.values() if form.floor
                }
                self.running.freeable.keep(
                    reach for form in self.forms.values() for reach in (form.idle_room, form.freeable_room)
                )
                for other in self._profiles.values():
                    other.forms.clear()
            known = self.forms[which] = self._make(row, like)
        return known

    def _make(self, row: int, like: Profile) -> Form:
        state, work = self.state, self.state.work
        claim = detached(claim_within(state, row) if self.policy else wish_of(state, row))
        limits = limits_of(state, row)
        rows = np.array([row])
        nodes = asked_nodes(state, rows)
        need, queue, preempts = claim.need, work.queue.item(row), work.preempts.item(row)
        claims = self.policy and claims_nodes(state, row)
        needs = () if need is None else tuple((column, int(need[column])) for column in claim.columns)
        size = Size(needs, claim.allowed.tobytes())
        taken = VictimScope(work.priority.item(row), NONE if self.homes is None else queue, claims)
        steady = (
            need is not None and not limits and not self.settings.patience and (self.policy or not splits(state, row))
        )
        reach = self.running.freeable.bound(size, taken if preempts and self.policy else None)
        index = self._index(claim, queue, work.partition.item(row)) if steady and self.plain else None
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
            self.running.freeable.bound(size, None),
            reach,
            float((nodes * gpus_per_node(state, rows))[0]) if self.policy else int(nodes[0]),
            float(topologies(state, rows, nodes, policy=self.policy)[0]),
            floor=self._floor_of(reach, row) if self.running.priced and steady and claim.single and preempts else None,
            shape=None if index is None else Shape(needs, claim.members, len(like.amounts)),
            index=index,
            yields=like.open and self._types[queue] != SENSITIVE,
        )

    def _index(self, claim: Claim, queue: int, partition: int) -> NodeIndex | None:
        """The nodes of a claim, where it may use all of its partition that take work and they tell where it goes: by
        the best fit, or by name, as the library does where all nodes are identical or nobody asks whether they are."""
        of_type = self._types[queue]
        by_name = of_type == INTERACTIVE or (self._one_kind and of_type not in (SERVICE, SENSITIVE))
        if claim.placement != ANY or not (self.policy or by_name):
            return None
        index = self._indexes.get(partition)
        if index is None:
            index = self._indexes[partition] = NodeIndex(self.state, partition)
        return index if len(index.free) == claim.allowed.sum() and claim.allowed[list(index.free)].all() else None

    def _floor_of(self, reach: RoomBound, row: int) -> CostFloor:
        partition, below = self.state.work.partition.item(row), self.state.work.priority.item(row)
        floor = self._floors.get((reach, partition))
        if floor is None:
            floor = self._floors[reach, partition] = CostFloor(reach, partition, below)
        return floor

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
        own = [0.0, 0.0, 0.0, form.topology, score.UNKNOWN, 0.0, score.UNKNOWN, float(saved[0]), 0.0]
        own[0] = score.of_class(float(form.priority))
        if plain:
            own[3] = score.of_topology(form.claim.members, 1)
        fixed = [factor * weight for factor, weight in zip(own, weights, strict=True)]
        return plain, weights, fixed, 1.0 if plain else budget_of(self.state, form.tenant)

    def type_of(self, queue: int) -> int:
        return self._types[queue]

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
        return [form for form in self.live if form.dozes and form.queue == home and form.freeable_room.touched((node,))]


def lines_of(cycle: Cycle) -> Lines:
    """What is kept of who waits and who may be preempted, as it is now."""
    lines: Lines | None = cycle.memory.get(LINES)
    state = cycle.state
    if (
        lines is None
        or lines.state is not state
        or lines.reshaped != state.journal.reshaped
        or state.journal.reader is not lines
    ):
        lines = cycle.memory[LINES] = Lines(state, cycle.edition, cycle.memory)
    else:
        lines.follow()
    return lines
