"""Who waits, in order and by form, and who may be a victim: kept from cycle to cycle by following the journal."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.limits import limits_of
from cede.state.columns import GONE, NEVER, NONE, RUNNING, SUSPENDED, SYSTEM
from cede.state.state import State

Key = tuple[int, int, str, str, int]
"""The place of a waiting workload: two keys of the doctrine's order, uid, name; then its row."""

End = tuple[int, int, tuple[tuple[int, int], ...]]
"""When one that holds room is expected to end, its row, and what it holds of each column."""

Order = Callable[[State, int], tuple[int, int]]


@dataclass(slots=True, eq=False)
class Form:
    """Workloads that are alike in all that decides whether they fit. `entries` are those that wait, in order."""

    claim: Claim
    limited: bool
    needs: tuple[tuple[int, int, int], ...]
    """Column, what one member needs of it, and what all do."""
    totals: tuple[tuple[int, int], ...]
    """Column, and what all members need of it."""
    only_node: int | None
    """The one node that it may use, if there is just one."""
    entries: list[Key] = field(default_factory=list)
    answer: Any = None
    """What a doctrine has worked out of it once and for all."""


@dataclass(slots=True)
class Standing:
    """What may be preempted of one priority: how many, and how much of each column."""

    count: int
    amounts: list[int]


class Front:
    """One partition's waiting workloads, and its running ones that no rule but their priority protects."""

    __slots__ = ("changes", "ends", "failed", "forms", "fresh", "heads", "line", "live", "seen", "standing")

    def __init__(self) -> None:
        self.line: list[Key] = []
        self.forms: dict[tuple[object, ...], Form] = {}
        self.live: list[Form] = []
        """Those forms that somebody waits with."""
        self.fresh: list[Key] = []
        """Those that joined since the last pass that was completed."""
        self.standing: dict[int, Standing] = {}
        self.changes = 0
        """Counts the changes of `standing`."""
        self.ends: list[End] = []
        self.seen: tuple[int, int] | None = None
        """`grown` and `reshaped` of the journal at the last pass that was completed."""
        self.heads: tuple[Key, ...] = ()
        """Who did not start at the last pass and bound those behind; when one goes, everybody is looked at again."""
        self.failed: object = None
        """The head that found no victims, and everything that answer depends on."""


class Row:
    """What is kept of a workload: as it waits, or as it stands. `walltime` is NEVER where it does not say."""

    __slots__ = ("end", "form", "front", "key", "name", "open", "priority", "waits", "walltime")

    def __init__(self, name: str, front: Front, form: Form, key: Key, walltime: int) -> None:
        self.walltime = walltime
        self.name = name
        self.front = front
        self.form = form
        self.key = key
        self.waits = False
        self.open = False
        self.priority = 0
        self.end: End | None = None


class Fronts:
    """Every partition's front; `follow` brings them up to date."""

    def __init__(self, state: State, order: Order) -> None:
        self.order = order
        self.by_partition: dict[int, Front] = {}
        self.rows: dict[int, Row] = {}
        self._reshaped = state.journal.reshaped
        state.journal.follows = True
        state.journal.rows.clear()
        for row in sorted(state.work_index.values()):
            self._look(state, row)

    def follow(self, state: State) -> bool:
        """Take in what changed; whether it could: after a change of nodes or queues a new one must be made."""
        journal = state.journal
        if journal.reshaped != self._reshaped:
            return False
        rows = journal.rows
        for row in rows:
            if row < 0:
                self._forget(~row)
            else:
                self._look(state, row)
        rows.clear()
        return True

    def _forget(self, row: int) -> None:
        """It is over: whoever has its row now is somebody else, by whatever name."""
        known = self.rows.pop(row, None)
        if known is not None:
            if known.waits:
                self._leave(known)
            else:
                self._go(known)

    def _look(self, state: State, row: int) -> None:
        known = self.rows.get(row)
        if known is not None:
            if known.waits:
                self._leave(known)
            else:
                self._go(known)
        code = int(state.work.state[row])
        if code == GONE:
            return
        if known is None:
            known = self.rows[row] = self._row(state, row)
        if code <= SUSPENDED:
            self._join(known)
        else:
            self._stand(state, row, known, code)

    def _row(self, state: State, row: int) -> Row:
        work = state.work
        partition = int(work.partition[row])
        front = self.by_partition.get(partition)
        if front is None:
            front = self.by_partition[partition] = Front()
        if (
            row in state.parts
            or row in state.constraints
            or row in state.admitted
            or row in state.odd_requests
            or work.required_node[row] != NONE
        ):
            form = form_of(state, row)
        else:
            like = (work.need[:, row].tobytes(), int(work.members[row]), int(work.queue[row]), int(work.placement[row]))
            found = front.forms.get(like)
            form = front.forms[like] = form_of(state, row) if found is None else found
        name = state.work_names[row]
        key = (*self.order(state, row), state.uids[row], name, row)
        return Row(name, front, form, key, int(work.walltime[row]))

    def _join(self, known: Row) -> None:
        known.waits = True
        front, form = known.front, known.form
        if not form.entries:
            front.live.append(form)
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
        del front.line[bisect_left(front.line, key)]
        if front.fresh and key in front.fresh:
            front.fresh.remove(key)

    def _stand(self, state: State, row: int, known: Row, code: int) -> None:
        """It holds room: as one that may be preempted, and until it is expected to end."""
        work, front = state.work, known.front
        if code == RUNNING and work.preemptible[row] and work.kind[row] != SYSTEM:
            known.open, known.priority = True, int(work.priority[row])
            self._add(known, known.priority, 1)
        if known.walltime != NEVER:
            end = known.end = (int(work.started[row]) + known.walltime, row, known.form.totals)
            insort(front.ends, end)

    def _go(self, known: Row) -> None:
        front = known.front
        if known.open:
            known.open = False
            self._add(known, known.priority, -1)
        if known.end is not None:
            del front.ends[bisect_left(front.ends, known.end)]
            known.end = None

    def _add(self, known: Row, priority: int, sign: int) -> None:
        front = known.front
        front.changes += 1
        found = front.standing.get(priority)
        if found is None:
            found = front.standing[priority] = Standing(0, [0] * len(known.form.claim.vectors[0]))
        found.count += sign
        total = found.amounts
        for column, amount in known.form.totals:
            total[column] += sign * amount
        if not found.count:
            del front.standing[priority]


def lasting(claim: Claim) -> Claim:
    """The claim with needs of its own: a claim's are those of a row, which may be given to somebody else."""
    if claim.need is None:
        return replace(claim, vectors=[vector.copy() for vector in claim.vectors])
    need = claim.need.copy()
    return replace(claim, vectors=[need] * claim.members, need=need)


def form_of(state: State, row: int) -> Form:
    """The form of this workload."""
    claim = lasting(claim_of(state, row))
    needs: tuple[tuple[int, int, int], ...] = ()
    if claim.need is not None:
        needs = tuple((c, int(claim.need[c]), int(claim.need[c]) * claim.members) for c in claim.columns)
    every = np.sum(claim.vectors, axis=0)
    totals = tuple((c, int(every[c])) for c in np.flatnonzero(every).tolist())
    usable = claim.allowed.nonzero()[0]
    only = int(usable[0]) if len(usable) == 1 and needs else None
    return Form(claim, bool(limits_of(state, row)), needs, totals, only)
