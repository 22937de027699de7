"""What waits, in order and by form, and what may be a victim: kept from cycle to cycle by following the journal.

A form that found no room finds none until room grows on a node where one of its members fits: only then it is looked at
again, and nothing is looked at whose form is `shut`. For members that are alike and stand anywhere, what fits is a sum
over nodes: a node where nothing grew adds no more than before, and one where no member fits adds nothing. Of all other
forms no need is known, so that any node that grows wakes them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cede.doctrines.parts.best_fit import Need, NodeIndex, Shape
from cede.doctrines.parts.claim import Claim, claim_of, detached
from cede.doctrines.parts.limits import limits_of
from cede.state.columns import ANY, GONE, NEVER, NONE, RUNNING, SUSPENDED, SYSTEM
from cede.state.state import State
from cede.state.write_behind import NodeRoom, Record

Key = tuple[int, int, str, str, int]
"""The place of a waiting workload: two keys of the doctrine's order, uid, name; then its row."""

Totals = tuple[tuple[int, int], ...]
End = tuple[int, int, Totals]
"""When one that holds room is expected to end, its row, and what it holds of each column."""

Start = tuple[int, str, str, int]
"""When one that runs began, its uid and name, and its row."""

Order = Callable[[int, int], tuple[int, int]]
"""The doctrine's order by priority and submission."""


@dataclass(slots=True, eq=False)
class Form:
    """Workloads that are alike in all that decides whether they fit. `entries` are those that wait, in order."""

    claim: Claim
    limited: bool
    needs: tuple[tuple[int, int, int], ...]
    """Column, what one member needs of it, and what all do."""
    totals: Totals
    """Column, and what all members need of it."""
    shape: Shape | None
    """Of members that are alike and may use every node of the partition that takes work: what one takes."""
    columns: int
    """How many resource columns there are."""
    entries: list[Key] = field(default_factory=list)
    answer: Any = None
    """What a doctrine has worked out of it once and for all."""
    shut: bool = False
    """It found no room, and none has grown since that one of its members fits in."""


class Front:
    """One partition's waiting workloads, and its running ones that no rule but their priority protects."""

    __slots__ = (
        "by_need",
        "changes",
        "doubt",
        "ends",
        "failed",
        "forms",
        "fresh",
        "heads",
        "index",
        "levels",
        "line",
        "live",
        "news",
        "seen",
        "standing",
        "standing_on",
    )

    def __init__(self, index: NodeIndex) -> None:
        self.index = index
        self.line: list[Key] = []
        self.forms: dict[object, Form] = {}
        """By what makes them alike, and by the template that their records share."""
        self.live: list[Form] = []
        """Forms that some workload waits with."""
        self.by_need: dict[Need, list[Form]] = {}
        """The same by what one of their members takes; those without a shape by an empty need."""
        self.fresh: list[Key] = []
        """Those that joined since the last pass that was completed."""
        self.levels: dict[int, int] = {}
        """How many of each priority may be preempted."""
        self.news: dict[Row, None] = {}
        """Of those, the ones that `standing` and `standing_on` do not know yet: see `take_news`."""
        self.standing: dict[int, list[Start]] = {}
        """By priority: those that may be preempted, by their start."""
        self.standing_on: dict[int, dict[int, list[int]]] = {}
        """By node, and by priority: how much of each column may be preempted there."""
        self.changes = 0
        """Counts those that may be preempted since now, and those that may not any more."""
        self.ends: list[End] = []
        self.seen: int | None = None
        """`grown` of the journal at the last pass that was completed."""
        self.heads: tuple[Key, ...] = ()
        """Those that did not start at the last pass and bound those behind; when one goes, all are looked at again."""
        self.doubt: set[int] = set()
        """Nodes on which there may be more for a head since it found no victims: what is free there grew, or what may
        be preempted."""
        self.failed: object = None
        """The head that found no victims, and everything that answer depends on."""

    def wake(self, node: int) -> None:
        """Room grew on this node."""
        kind = self.index.free[node]
        for need, forms in self.by_need.items():
            for column, count in need:
                if kind[column + 1] < count:
                    break
            else:
                for form in forms:
                    form.shut = False

    def wake_all(self) -> None:
        for form in self.live:
            form.shut = False

    def take_news(self, state: State) -> None:
        """`standing` and `standing_on` are as they should be. Most workloads come and go before anybody looks there."""
        for known in self.news:
            known.told = True
            key = known.key
            row = key[4]
            record = state.records.get(row)
            if record is not None:
                need = record.template.need
                known.start = (record.started, key[2], key[3], row)
                known.stands = [(node, need) for node in record.nodes]
            else:
                known.start = (int(state.work.started[row]), key[2], key[3], row)
                known.stands = _stands(state, row)
            _add(known, 1)
        self.news.clear()


class Row:
    """What is kept of a workload: as it waits, or as it stands. `walltime` is NEVER where it does not say."""

    __slots__ = ("end", "form", "front", "key", "open", "priority", "stands", "start", "told", "waits", "walltime")

    def __init__(self, front: Front, form: Form, key: Key, walltime: int, priority: int) -> None:
        self.walltime = walltime
        self.front = front
        self.form = form
        self.key = key
        self.waits = False
        self.open = False
        self.told = False
        """Whether the front's tables of those that may be preempted know of it."""
        self.priority = priority
        self.stands: list[tuple[int, Need]] = []
        """Of one that may be preempted: each node it stands on, and what it takes there."""
        self.start: Start
        self.end: End | None = None


class Fronts:
    """Every partition's front; `follow` brings them up to date."""

    def __init__(self, state: State, order: Order) -> None:
        self.order = order
        self.by_partition: dict[int, Front] = {}
        self.in_order: list[Front] = []
        """By the names of their partitions."""
        self.rows: dict[int, Row] = {}
        self._reshaped = state.journal.reshaped
        self._room: NodeRoom = state.room()
        self._room.changed.clear()
        state.journal.begin(self)
        for row in sorted(state.work_index.values()):
            self._look(state, row)

    def follow(self, state: State) -> bool:
        """Take in what changed; whether it could: after a change of nodes or queues a new one must be made."""
        journal = state.journal
        if journal.reshaped != self._reshaped or journal.reader is not self:
            return False
        room = state.room()
        if room is not self._room:
            return False
        rows = journal.rows
        if rows:
            for row in rows:
                if row < 0:
                    self._forget(~row)
                else:
                    self._look(state, row)
            rows.clear()
        changed = room.changed
        for front in self.in_order:
            index = front.index
            if index.booked:
                changed.update(index.booked)
                index.booked.clear()
        if changed:
            for node in changed:
                free = room.free[node]
                for front in self.in_order:
                    if front.index.update(node, free):
                        front.doubt.add(node)
                        front.wake(node)
            changed.clear()
        return True

    def _forget(self, row: int) -> None:
        """It is over: its row may be another workload's by now, whatever its name."""
        known = self.rows.pop(row, None)
        if known is not None:
            if known.waits:
                self._leave(known)
                known.front.wake_all()  # who found no room beside it may find some
            else:
                self._go(known)

    def _look(self, state: State, row: int) -> None:
        known = self.rows.get(row)
        if known is not None:
            if known.waits:
                self._leave(known)
            else:
                self._go(known)
        record = state.records.get(row)
        if record is not None:
            code = record.code
        elif not state.work_names[row]:
            return  # it is gone, and the journal says so further on
        else:
            code = int(state.work.state[row])
            if code == GONE:
                return
        if known is None:
            known = self.rows[row] = self._row(state, row, record)
        if code <= SUSPENDED:
            self._join(known)
        else:
            self._stand(state, row, known, code, record)

    def _front(self, state: State, partition: int) -> Front:
        front = self.by_partition.get(partition)
        if front is None:
            front = self.by_partition[partition] = Front(NodeIndex(state, partition))
            names = state.partitions.names
            self.in_order = [self.by_partition[one] for one in sorted(self.by_partition, key=names.__getitem__)]
        return front

    def _row(self, state: State, row: int, record: Record | None) -> Row:
        name, uid = state.work_names[row], state.uids[row]
        if record is not None:
            template = record.template
            front = self.by_partition.get(template.partition) or self._front(state, template.partition)
            like: object = template
            if state.static.policies:  # they say which priorities an owner may use
                like = (template, record.priority, record.user, record.project)
            form = front.forms.get(like) if not state.reservations or row not in state.reservations else None
            if form is None:
                if record.written:
                    with state.unwritten():
                        form = self._form(state, row, front)
                else:
                    form = self._form(state, row, front)
                if row not in state.reservations:
                    front.forms[like] = form
            priority, walltime = record.priority, record.walltime
            first, then = self.order(priority, record.submitted)
            return Row(front, form, (first, then, uid, name, row), walltime, priority)
        work = state.work
        front = self._front(state, int(work.partition[row]))
        priority = int(work.priority[row])
        key = (*self.order(priority, int(work.submitted[row])), uid, name, row)
        return Row(front, self._form(state, row, front), key, int(work.walltime[row]), priority)

    def _form(self, state: State, row: int, front: Front) -> Form:
        work = state.work
        if (
            row in state.parts
            or row in state.constraints
            or row in state.admitted
            or row in state.odd_requests
            or row in state.reservations
            or work.required_node[row] != NONE
        ):
            return form_of(state, row)
        size = (work.need[:, row].tobytes(), int(work.members[row]), int(work.placement[row]))
        owner: tuple[int, ...] = int(work.queue[row]), int(work.tenant[row])
        if state.static.policies:
            owner = (*owner, int(work.priority[row]), int(work.user[row]), int(work.project[row]))
        like = (size, owner)
        form = front.forms.get(like)
        if form is None:
            form = front.forms[like] = form_of(state, row)
            if form.claim.placement == ANY and form.needs:
                need = tuple((column, one) for column, one, _ in form.needs)
                form.shape = Shape(need, form.claim.members, len(form.claim.vectors[0]))
        return form

    def _join(self, known: Row) -> None:
        known.waits = True
        front, form = known.front, known.form
        if not form.entries:
            front.live.append(form)
            need = () if form.shape is None else form.shape.need
            front.by_need.setdefault(need, []).append(form)
            form.shut = False
        insort(form.entries, known.key)
        insort(front.line, known.key)
        front.fresh.append(known.key)

    def _leave(self, known: Row) -> None:
        known.waits = False
        front, form, key = known.front, known.form, known.key
        if key in front.heads:
            front.seen = None
        del form.entries[bisect_left(form.entries, key)]
        if not form.entries:
            front.live.remove(form)
            need = () if form.shape is None else form.shape.need
            alike = front.by_need[need]
            alike.remove(form)
            if not alike:
                del front.by_need[need]
        del front.line[bisect_left(front.line, key)]
        if front.fresh and key in front.fresh:
            front.fresh.remove(key)

    def _stand(self, state: State, row: int, known: Row, code: int, record: Record | None) -> None:
        """It holds room: as one that may be preempted, and until it is expected to end."""
        front = known.front
        if record is not None:
            may_go = code == RUNNING and record.preemptible and record.template.kind != SYSTEM
            started = record.started
        else:
            work = state.work
            may_go = code == RUNNING and bool(work.preemptible[row]) and bool(work.kind[row] != SYSTEM)
            started = int(work.started[row])
        if may_go:
            known.open = True
            front.changes += 1
            front.levels[known.priority] = front.levels.get(known.priority, 0) + 1
            front.news[known] = None
        if known.walltime != NEVER:
            end = known.end = (started + known.walltime, row, known.form.totals)
            insort(front.ends, end)

    def _go(self, known: Row) -> None:
        front = known.front
        if known.open:
            known.open = False
            front.changes += 1
            left = front.levels[known.priority] = front.levels[known.priority] - 1
            if not left:
                del front.levels[known.priority]
            if known.told:
                known.told = False
                _add(known, -1)
            else:
                del front.news[known]
        if known.end is not None:
            del front.ends[bisect_left(front.ends, known.end)]
            known.end = None


def _add(known: Row, sign: int) -> None:
    """Those that may be preempted, by priority and by node, with this one or without it."""
    front, priority = known.front, known.priority
    began = front.standing.get(priority)
    if sign > 0:
        if began is None:
            front.standing[priority] = [known.start]
        else:
            insort(began, known.start)
    else:
        assert began is not None
        if len(began) == 1:
            del front.standing[priority]
        else:
            del began[bisect_left(began, known.start)]
    columns = known.form.columns
    for node, need in known.stands:
        there = front.standing_on.get(node)
        if there is None:
            there = front.standing_on[node] = {}
        amounts = there.get(priority)
        if amounts is None:
            amounts = there[priority] = [0] * columns
        for column, amount in need:
            amounts[column] += sign * amount
        if sign > 0:
            front.doubt.add(node)
        elif not any(amounts):
            del there[priority]
            if not there:
                del front.standing_on[node]


def _stands(state: State, row: int) -> list[tuple[int, Need]]:
    residents = state.residents
    stands = []
    for resident in state.residents_of(row):
        amounts = residents.amount[:, resident].tolist()
        taken = tuple((column, amount) for column, amount in enumerate(amounts) if amount)
        stands.append((int(residents.node[resident]), taken))
    return stands


def form_of(state: State, row: int) -> Form:
    """The form of this workload."""
    claim = detached(claim_of(state, row))
    needs: tuple[tuple[int, int, int], ...] = ()
    if claim.need is not None:
        needs = tuple((c, int(claim.need[c]), int(claim.need[c]) * claim.members) for c in claim.columns)
    every = np.sum(claim.vectors, axis=0)
    totals = tuple((c, int(every[c])) for c in np.flatnonzero(every).tolist())
    return Form(claim, bool(limits_of(state, row)), needs, totals, None, len(every))
