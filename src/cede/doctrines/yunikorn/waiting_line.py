"""What waits, by kind, and what is free: kept from cycle to cycle by following the journal.

A kind is workloads that differ in nothing that decides about them but their place in line; of one that finds no way the
others need not be asked. A form is kinds that ask for the same of the same queue, whatever their priority.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cede.doctrines.parts.claim import Claim, detached
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Classes, about
from cede.doctrines.parts.limits import limits_of, used_quota
from cede.doctrines.yunikorn.ask import Ask, ask_of
from cede.doctrines.yunikorn.queues import Queues
from cede.doctrines.yunikorn.room_bounds import Freeable, RoomBound
from cede.doctrines.yunikorn.settings import Mode, mode_of
from cede.doctrines.yunikorn.snapshot import Leaving, leaving_of
from cede.doctrines.yunikorn.wording import refused
from cede.model.plan import Decision
from cede.state.columns import GONE, NONE, SPREAD, SUSPENDED
from cede.state.state import State
from cede.state.units import WHOLE

Key = tuple[int, int, str, str, int]
"""The place of a waiting workload: the higher priority first, then submission, uid and name, under release 1.9 name and
uid; then its row."""

Family = tuple[int, ...]
"""A leaf, and the types that are asked for."""

NEVER_READ = frozenset({"originator", "sensitive", "preemptible", "kind", "job_priority"})
"""Columns that say nothing of a claimant, under either edition."""
OWNERS = frozenset({"user", "project", "domain"})
"""Read for policies only."""
FEW = 256
"""On so many nodes members of a gang are counted one node after the other."""
KINDS = 1024
"""More kinds than this are not kept once no workload waits with them."""


class Form:
    """What all of them ask for. `roomless`: no node had room when it was looked at, and none has got any since."""

    __slots__ = (
        *("ask", "count", "family", "general", "kinds", "may_claim", "needs", "nodes", "pinned", "refusal", "roomless"),
        *("headroom", "headroom_at", "owed", "owed_at", "partition", "usage", "volatile"),
    )

    def __init__(self, state: State, row: int) -> None:
        ask = ask_of(state, row)
        self.ask = replace(ask, claim=detached(ask.claim))
        self.refusal = refused(state, ask)
        claim = self.ask.claim
        self.nodes: list[bool] = claim.allowed.tolist()
        self.needs: tuple[tuple[int, int], ...] = ()
        if claim.need is not None:
            columns = sorted(claim.columns, key=lambda column: column == WHOLE)  # nodes rarely lack that one
            self.needs = tuple((column, int(claim.need[column])) for column in columns)
        self.general = bool(
            ask.limits or claim.need is None or not state.nodes.size or state.work.required_node[row] != NONE
        )
        """Whether more than room on nodes and guarantees decides: then it is looked at whenever something changed."""
        self.may_claim = claim.single and bool(claim.allowed.any())
        """Whether room may be made for it: for one member, on a node that it may use."""
        self.family: Family = (ask.leaf, *ask.amounts)
        self.partition = int(state.work.partition[row])
        self.pinned = bool(state.work.required_node[row] != NONE)
        self.usage: list[int] = state.work.usage[:, row].tolist()
        self.volatile = claim.need is None or claim.placement == SPREAD
        """Whether less room may do where more did not, as far as it is searched, or room grows where no node does."""
        self.count = 0
        """How many wait."""
        self.headroom = self.owed = False
        self.headroom_at = self.owed_at = -1
        """Whether it fits the headroom of its queue, and whether that may be owed so much; as of which change."""
        self.roomless = False
        self.kinds: list[Kind] = []
        """Those that some workload waits with."""

    def fits_any(self, free: list[list[int]], nodes: Iterable[int]) -> bool:
        """Whether one member fits one of these nodes that it may use, where so much is free on each."""
        usable, needs = self.nodes, self.needs
        for node in nodes:
            if usable[node]:
                there = free[node]
                for column, amount in needs:
                    if there[column] < amount:
                        break
                else:
                    return True
        return False

    def gains_any(self, most: list[list[int]], nodes: Iterable[int]) -> bool:
        """The same of what could be free, where no node has room as it is: and victims have enough of some type."""
        asked = self.ask.amounts.items()
        for node in nodes:
            if self.fits_any(most, (node,)):
                there = most[node]
                half = len(there) // 2
                if any(there[half + column] >= amount for column, amount in asked):
                    return True
        return False

    def may_fit(self, free: list[list[int]]) -> bool:
        """False only if the members certainly do not all fit where so much is free."""
        if not self.needs or len(free) > FEW:
            return True
        left = self.ask.claim.members
        if left == 1:
            return self.fits_any(free, range(len(free)))
        (first, least), *others = self.needs
        for usable, there in zip(self.nodes, free, strict=True):
            if usable and there[first] >= least:
                most = there[first] // least
                for column, amount in others:
                    most = min(most, there[column] // amount)
                if most > 0:
                    left -= most
                    if left <= 0:
                        return True
        return False


MAYBE, TOO_LITTLE, NO_SET = range(3)
"""What is known of victims for a kind: nothing; that on no node the bound is enough; that a search found none."""


class Kind:
    """`entries` are those that wait, in order; `looked` is the change up to which it is known that it has no way."""

    __slots__ = ("bound", "entries", "form", "looked", "number", "preempts", "rule", "victims")

    def __init__(self, number: int, form: Form, preempts: bool) -> None:
        self.number = number
        self.form = form
        self.preempts = preempts
        self.entries: list[Key] = []
        self.looked = -1
        self.victims = MAYBE
        """What was found of victims, as long as nothing has happened since that could change it."""
        self.bound: RoomBound | None = None
        """What could be free on each node for one of this kind, once somebody asked."""
        self.rule = ""
        """By which rule it had none."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    kind: Kind
    key: Key


class _Used:
    """What queues use, as of a change."""

    __slots__ = ("changes", "quota", "staying")

    def __init__(self) -> None:
        self.renew(-1)

    def renew(self, changes: int) -> None:
        self.changes = changes
        self.staying: dict[int, list[int]] = {}
        self.quota: dict[int, list[int]] = {}


class Line:
    """All that wait; `follow` brings it up to date."""

    def __init__(self, state: State, queues: Queues, unread: Iterable[str], *, shipped: bool) -> None:
        static = state.static
        self._classes = Classes(state, NEVER_READ | set(unread), OWNERS)
        self._form_classes = Classes(state, NEVER_READ | {"app", "preempts"}, OWNERS | {"priority"})
        self._static = static
        self._reshaped = state.journal.reshaped
        self._apps = len(state.apps.names)
        self.queues = queues
        self.waiting: dict[int, _Waiting] = {}
        self.kinds: dict[object, Kind] = {}
        self.forms: dict[object, Form] = {}
        self.families: dict[Family, list[Form]] = {}
        """Forms of one leaf that ask for the same types: what they may claim of guarantees is the same."""
        self.leaves: dict[int, list[Form]] = {}
        """Forms of one leaf that some workload waits with."""
        self._volatile: list[Form] = []
        self.live: dict[int, Kind] = {}
        """Kinds that some workload waits with, by number."""
        self.fresh: list[int] = []
        """Rows that joined since the cycle before."""
        self.changes = 0
        """Counts what changed but arrivals, in the cluster or by a booking."""
        self._followed = 0
        self._numbers = 0
        self.pinned = 0
        """How many wait for a certain node."""
        choice = static.doctrine
        self.mode: Mode = mode_of({} if choice is None else choice.settings)
        self._places: dict[int, tuple[int, tuple[int, ...]]] | None = None
        """The queue and the nodes of those that hold room, once room is watched."""
        self.freeable: Freeable | None = None
        self._by_bound: dict[RoomBound, list[Kind]] = {}
        """Kinds by the bound that they were compared with."""
        self._shifted: set[int] = set()
        """Queues that may use more or less than `freeable` knows."""
        self.free: list[list[int]] = []
        self._stale: set[int] = set()
        """Nodes of which `free` must be read again."""
        self._booked = False
        self._leaving: Leaving | None = None
        self.grown: list[int] = []
        """Nodes on which more is free than in the cycle before."""
        self.risen: set[int] = set()
        """Leaves in which somebody started since, or changed how it holds its room."""
        self._used = _Used()
        self._promises: dict[Family, tuple[int, list[tuple[int, int]]]] = {}
        self._by_app = "app" not in set(unread)
        self._shipped = shipped
        self._names: dict[int, str] = {}
        self.moved: set[str] | None = None
        """Names of those that came, went or changed before this cycle; none: that is not known."""
        state.journal.begin(self)
        for row in sorted(state.pending):
            self._look(state, row)

    # -- what changed ------------------------------------------------------------------------------------------

    def follow(self, state: State) -> bool:
        """Take in what changed; whether it could: after a change of nodes or queues a new one must be made."""
        journal = state.journal
        if journal.reader is not self or journal.reshaped != self._reshaped or state.static is not self._static:
            return False
        if state.reservations or self._names_an_app(state):
            return False
        rows = journal.rows
        self.moved = set()
        self.grown.clear()
        self.risen.clear()
        if rows:
            for row in rows:
                self._note(state, row)
                if row < 0:
                    self._forget(~row)
                else:
                    self._look(state, row)
            rows.clear()
        if self._booked:  # which was undone, and need not have been carried out
            self._booked = False
            self.changes += 1
        if self._stale:
            self._read_free(state)
        if self.freeable is not None:
            self.freeable.trim()
            self._tell_usage(state)
        if self.changes != self._followed:
            self._followed = self.changes
            self._forget_volatile()
        return True

    def _forget_volatile(self) -> None:
        for form in self._volatile:
            form.roomless = False

    def _note(self, state: State, row: int) -> None:
        """Who this row stands for, or stood for."""
        if not self._shipped or self.moved is None:
            return
        if row >= 0:
            name = self._names[row] = state.work_names[row]
            self.moved.add(name)
        elif (gone := self._names.pop(~row, None)) is not None:
            self.moved.add(gone)
        else:
            self.moved = None

    def _names_an_app(self, state: State) -> bool:
        """Whether somebody without an application waits whose name is that of a new one: it is like nobody else."""
        names = state.apps.names
        if not self._by_app or len(names) == self._apps:
            return False
        names_one = any(name in state.work_index for name in names[self._apps :])
        self._apps = len(names)
        return names_one

    def _read_free(self, state: State) -> None:
        """What is free on nodes that changed; forms that find room where it grew are not roomless any more.

        Members that are alike stand where there is room for one, node by node: a node on which nothing grew, or on
        which not even one member fits, adds nothing. Forms for which that is not so are volatile, and are looked at
        after every change.
        """
        free, grown = self.free, self.grown
        for node in self._stale:
            now, before = self._free_on(state, node), free[node]
            if now != before:
                free[node] = now
                if any(map(int.__gt__, now, before)):
                    grown.append(node)
        if self.freeable is not None:
            self.freeable.log += self._stale
        self._stale.clear()
        if not grown:
            return
        for form in self.forms.values():
            if form.roomless and form.fits_any(free, grown):
                form.roomless = not (form.ask.claim.single or form.may_fit(free))

    def _free_on(self, state: State, node: int) -> list[int]:
        """What is free there; to release 1.9 nothing, where room is held for somebody."""
        nodes = state.nodes
        free: list[int] = nodes.free[:, node].tolist()
        return [-1] * len(free) if self._shipped and nodes.held[WHOLE, node] > 0 else free

    def _forget(self, row: int) -> None:
        """It is over: whoever has its row now is somebody else."""
        known = self.waiting.pop(row, None)
        if known is not None:
            self._leave(known)
        self._go(row)

    def _look(self, state: State, row: int) -> None:
        known = self.waiting.pop(row, None)
        if known is not None:
            self._leave(known)
        self._go(row)
        code = int(state.work.state[row])
        if GONE < code <= SUSPENDED:
            self._join(state, row)
        elif code != GONE:
            self._stand(state, row, code)

    def _stand(self, state: State, row: int, code: int) -> None:
        queue = int(state.work.queue[row])
        self._leaving = None
        self.changes += 1
        self.risen.add(queue)
        if self._places is not None:
            node, held = state.residents.node, state.residents_of(row)
            places = tuple([int(node[resident]) for resident in held])
            self._places[row] = queue, places
            self._stale.update(places)
            self._shifted.add(queue)
            if self.freeable is not None and len(held) == 1:
                self.freeable.stand(state, row, code, held[0])

    def _go(self, row: int) -> None:
        """It may have held room."""
        if self._places is None:
            self._leaving = None
            self.changes += 1
        elif (held := self._places.pop(row, None)) is not None:
            queue, places = held
            self._leaving = None
            self.changes += 1
            self._stale.update(places)
            self._shifted.add(queue)
            if self.freeable is not None:
                self.freeable.go(row)

    def _tell_usage(self, state: State) -> None:
        """`freeable` knows what queues use."""
        assert self.freeable is not None
        guaranteed = self.queues.guaranteed
        for queue in self._shifted:
            for above in self.queues.path_of(queue):
                if guaranteed[above] is not None:
                    self.freeable.hold(above, self.used(state, above))
        self._shifted.clear()

    def _join(self, state: State, row: int) -> None:
        kind = self._kind(state, row)
        uid, name = state.uids[row], state.work_names[row]
        last = (name, uid) if self._shipped else (uid, name)
        known = _Waiting(kind, (-int(state.work.priority[row]), int(state.work.submitted[row]), *last, row))
        self.waiting[row] = known
        if not kind.entries:
            self.live[kind.number] = kind
            kind.looked, kind.victims = -1, MAYBE
            if not kind.form.kinds:
                self.leaves.setdefault(kind.form.ask.leaf, []).append(kind.form)
            kind.form.kinds.append(kind)
        insort(kind.entries, known.key)
        kind.form.count += 1
        self.pinned += kind.form.pinned
        self.fresh.append(row)

    def _leave(self, known: _Waiting) -> None:
        kind = known.kind
        del kind.entries[bisect_left(kind.entries, known.key)]
        kind.form.count -= 1
        self.pinned -= kind.form.pinned
        if not kind.entries:
            form = kind.form
            del self.live[kind.number]
            form.kinds.remove(kind)
            if not form.kinds:
                self.leaves[form.ask.leaf].remove(form)
                if not self.leaves[form.ask.leaf]:
                    del self.leaves[form.ask.leaf]

    def _kind(self, state: State, row: int) -> Kind:
        which = self._classes.of(state, row)
        if self._by_app and state.work.app[row] == NONE and state.work_names[row] in state.apps.index:
            which = which, state.work_names[row]  # it is of an application that others name: nobody is like it
        kind = self.kinds.get(which)
        if kind is None:
            if len(self.kinds) >= KINDS:
                self._drop_unused()
            wide = self._form_classes.of(state, row)
            form = self.forms.get(wide)
            if form is None:
                form = self.forms[wide] = Form(state, row)
                self._sort_in(form)
            self._numbers += 1
            kind = self.kinds[which] = Kind(self._numbers, form, bool(state.work.preempts[row]))
        return kind

    def _drop_unused(self) -> None:
        self.kinds = {which: kind for which, kind in self.kinds.items() if kind.entries}
        self.forms = {which: form for which, form in self.forms.items() if form.kinds}
        if self.freeable is not None:
            bounded = ((bound, [kind for kind in kinds if kind.entries]) for bound, kinds in self._by_bound.items())
            self._by_bound = {bound: kinds for bound, kinds in bounded if kinds}
            self.freeable.keep(self._by_bound)
        self._volatile.clear()
        self.families.clear()
        for form in self.forms.values():
            self._sort_in(form)

    def _sort_in(self, form: Form) -> None:
        if form.volatile:
            self._volatile.append(form)
        self.families.setdefault(form.family, []).append(form)

    # -- within a cycle ----------------------------------------------------------------------------------------

    def watch_room(self, state: State) -> None:
        """From now on it is known which forms find no room; before, nobody asked."""
        if self._places is not None:
            return
        self._places = {}
        self.free = [self._free_on(state, node) for node in range(state.nodes.size)]
        self.freeable = Freeable(state, self.queues, shipped=self._shipped)
        for name, row in state.work_index.items():
            self._names[row] = name
            code = int(state.work.state[row])
            if code > SUSPENDED:
                self._stand(state, row, code)
        self._stale.clear()
        self._tell_usage(state)

    def booked(self, state: State, queue: int, nodes: Iterable[int]) -> None:
        """One of this queue was booked on these nodes; they are read again in the next cycle, when that was undone."""
        self.changes += 1
        self._booked = True
        for node in nodes:
            self.free[node] = self._free_on(state, node)
            self._stale.add(node)
        if self.freeable is not None:
            self.freeable.log += nodes
            self._shifted.add(queue)
            self._tell_usage(state)
            self._shifted.add(queue)
        self._forget_volatile()

    def may_suffice(self, kind: Kind) -> bool:
        """False only if no victims make room for one of this kind: a search found none, or on no node is there enough
        though all left that may, and nothing has happened since that could change that.

        Where the bounds of all nodes were too small, only a node whose bound has grown can have become large enough.
        """
        bound = kind.bound
        assert self.freeable is not None
        if bound is None:
            bound = kind.bound = self.freeable.bound(kind.form.ask.leaf, -kind.entries[0][0])
            self._by_bound.setdefault(bound, []).append(kind)
        grown = self.freeable.refresh(bound, self.free)
        if self._shipped and kind.victims == TOO_LITTLE and not kind.form.roomless:
            kind.victims = MAYBE  # on a node with room victims elsewhere count too
        if grown:
            for each in self._by_bound[bound]:
                if each.victims == TOO_LITTLE and self._may_do(each.form, bound, grown):
                    each.victims = MAYBE
        if kind.victims == MAYBE and not self._may_do(kind.form, bound, range(len(bound.most))):
            kind.victims = TOO_LITTLE
        return kind.victims == MAYBE

    def _may_do(self, form: Form, bound: RoomBound, nodes: Iterable[int]) -> bool:
        """Whether on one of these nodes there is enough for one of this form, as far as the bound can tell."""
        assert self.freeable is not None
        if self._shipped and form.roomless and form.ask.amounts and not self.freeable.odd:
            return form.gains_any(bound.most, nodes)
        return form.fits_any(bound.most, nodes)

    def forget_room(self) -> None:
        """Nothing is known of who finds room."""
        self.changes += 1
        for form in self.forms.values():
            form.roomless = False
        for kind in self.live.values():
            kind.victims = MAYBE

    def newcomers(self) -> list[int]:
        """Rows that joined since this was asked last, and still wait."""
        rows = [row for row in dict.fromkeys(self.fresh) if row in self.waiting]
        self.fresh.clear()
        return rows

    def in_order(self) -> list[Key]:
        """Everybody, in order."""
        return sorted(known.key for known in self.waiting.values())

    def leaving(self, state: State) -> Leaving:
        """By queue, what is being preempted there."""
        if self._leaving is None:
            self._leaving = leaving_of(state, self.queues)
        return self._leaving

    def waits(self, key: Key) -> bool:
        """Whether somebody waits in this place."""
        known = self.waiting.get(key[4])
        return known is not None and known.key == key

    def promise(self, family: Family) -> tuple[int, list[tuple[int, int]]]:
        """The nearest queue on the path of a leaf that guarantees a type which is asked for, NONE if there is none; and
        how much it guarantees of these types.
        """
        promise = self._promises.get(family)
        if promise is None:
            promise = self._promises[family] = self.queues.promise(family[0], family[1:])
        return promise

    def used(self, state: State, queue: int) -> list[int]:
        """What the queue uses, less what is being preempted."""
        used = self._used
        if used.changes != self.changes:
            used.renew(self.changes)
        amounts = used.staying.get(queue)
        if amounts is None:
            column, leaving = state.tree.usage[:, queue], self.leaving(state)
            amounts = used.staying[queue] = (column - leaving[queue] if queue in leaving else column).tolist()
        return amounts

    def used_quota(self, state: State, queue: int) -> list[int]:
        """What counts against the limits of the queue."""
        used = self._used
        if used.changes != self.changes:
            used.renew(self.changes)
        amounts = used.quota.get(queue)
        if amounts is None:
            amounts = used.quota[queue] = used_quota(state, queue).tolist()
        return amounts

    def kind_of(self, row: int) -> Kind:
        return self.waiting[row].kind

    def ask(self, state: State, row: int) -> Ask:
        """What this one asks for, with its limits as they are now."""
        known = self.waiting[row].kind.form.ask
        like = known.claim
        claim = Claim(  # `replace` takes three times as long
            row,
            state.work_names[row],
            like.members,
            like.placement,
            like.need,
            like.vectors,
            like.columns,
            like.matching,
            like.allowed,
        )
        return Ask(claim, known.leaf, known.amounts, limits_of(state, row) if known.limits else [])

    def refusal(self, state: State, row: int) -> Decision | None:
        """Why it can never run, if it cannot."""
        refusal = self.waiting[row].kind.form.refusal
        return None if refusal is None else about(refusal, state.work_names[row])


def line_of(cycle: Cycle, queues: Queues, unread: Iterable[str] = (), *, shipped: bool = False) -> Line:
    """The line of a run of cycles, brought up to date; of a single plan, a new one."""
    line = cycle.memory.get(MEMORY)
    if not isinstance(line, Line) or line.queues is not queues or not line.follow(cycle.state):
        line = cycle.memory[MEMORY] = Line(cycle.state, queues, unread, shipped=shipped)
    return line


MEMORY = "yunikorn-line"
