"""The short way for plain workloads: who comes, starts and ends while nobody must leave, without touching the columns.

Waiting workloads stand here in the doctrine's order, by form; running ones with what they hold and when they are
expected to end. As long as everybody that is present simply runs, nothing but room on nodes decides, and what happens
needs no plan: the columns are told when somebody asks for them. Whatever is not plain goes the long way.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cede.doctrines.parts.doctrine import Plain
from cede.doctrines.parts.fit import fits, never_fits, place
from cede.doctrines.parts.front import Form, form_of
from cede.doctrines.parts.limits import hopeless, limits_of
from cede.model.cluster import Workload
from cede.state.columns import NEVER, Int64s
from cede.state.state import State

if TYPE_CHECKING:
    from cede.engine.drive.job import Job

Key = tuple[int, int, str, str, "Item"]
End = tuple[int, str, tuple[tuple[int, int], ...]]


class Item:
    """A workload in the lane. `key` is its place, `end` when it is expected to end, `nodes` the rows of its nodes."""

    __slots__ = ("end", "form", "job", "key", "nodes", "open", "priority", "waits", "walltime")

    def __init__(self, job: Job, form: Form, priority: int) -> None:
        entry = job.workload
        self.job = job
        self.form = form
        self.priority = priority
        self.walltime: int = NEVER if entry.walltime is None else entry.walltime
        self.key: Key = (-priority, int(entry.submitted or 0), entry.uid or entry.name, entry.name, self)
        self.waits = self.open = False
        self.end: End | None = None
        self.nodes: list[int] = []


class Lane:
    """One partition. `free` is what is free on each node while everybody just runs."""

    def __init__(self, state: State, plain: Plain, backfill: str) -> None:
        self.plain = plain
        self.backfill = backfill
        self.items: dict[str, Item] = {}
        self.line: list[Key] = []
        self.live: list[Form] = []
        self.fresh: list[Key] = []
        self.grown = True
        """Room may have grown since everybody was looked at last."""
        self.stale = True
        """The columns know better what is free."""
        self.usable = True
        self.hopeless = 0
        """How many wait that can never run: only the long way passes them over."""
        self.reshaped = state.journal.reshaped
        """Nodes, queues and units as the forms have them; when they change, the lane must be opened anew."""
        self.standing: dict[int, list[int]] = {}
        """By priority: how many may be preempted, then how much of each column they hold."""
        self.ends: list[End] = []
        self.stands_on: dict[int, Int64s] = {}
        """By priority: how much of each column those that may be preempted hold on each node."""
        self.state = state
        self.free: Int64s
        self.alone: list[int] | None = [0] if state.nodes.size == 1 else None
        """What is free of each column, where there is but one node."""
        self.asked: object = None
        """The head that found no victims, and what that answer depends on."""
        self._forms: dict[tuple[Any, ...], Form] = {}
        self._bounds: tuple[list[int], list[int]] | None = None
        self._changes = 0

    # -- who is where ------------------------------------------------------------------------------------------

    def known(self, entry: Workload) -> Form | None:
        """The form of one like it, if there was one before."""
        return self._forms.get(like(entry))

    def learn(self, state: State, entry: Workload) -> Form:
        """A workload that just entered the columns teaches its form; one that is not plain closes the lane.

        What can never run has an `answer`: to be given the long way.
        """
        row = state.work_index[entry.name]
        form = form_of(state, row)
        odd = row in state.parts or row in state.constraints or row in state.admitted or row in state.odd_requests
        if odd or form.limited or form.claim.need is None or hopeless(limits_of(state, row)):
            self.usable = False
        if int(state.work.partition[row]) or state.reservations or not state.nodes.size:
            self.usable = False
        empty = state.nodes.capacity[:, : state.nodes.size] - state.nodes.occupied[:, : state.nodes.size]
        matching = form.claim.matching
        if not matching.any() or never_fits(state, replace(form.claim, allowed=matching), empty):
            form.answer = True
        self._forms[like(entry)] = form
        return form

    def join(self, job: Job, form: Form, priority: int) -> None:
        """It waits."""
        item = self.items.get(job.name)
        if item is None:
            item = self.items[job.name] = Item(job, form, priority)
        elif item.waits:
            return
        else:
            self._go(item)
        item.waits = True
        self.hopeless += form.answer is not None
        key = item.key
        if not form.entries:
            self.live.append(form)
        insort(form.entries, key)  # type: ignore[misc]
        insort(self.line, key)
        self.fresh.append(key)

    def stand(self, job: Job, nodes: list[int]) -> None:
        """It has its room."""
        item = self.items[job.name]
        if item.waits:
            self._leave_line(item)
        entry = job.workload
        item.nodes = nodes
        if entry.preemptible and entry.kind != "system":
            item.open = True
            self._add(item, 1)
        if item.walltime != NEVER:
            end = item.end = ((job.started or 0) + item.walltime, job.name, item.form.totals)
            insort(self.ends, end)
        self._book(item, -1)

    def again(self, job: Job) -> None:
        """It gave its room back and waits again, where it was in line."""
        item = self.items[job.name]
        self.join(job, item.form, item.priority)

    def hold(self, job: Job) -> None:
        """Its room is held for it."""
        item = self.items[job.name]
        if item.waits:
            self._leave_line(item)

    def gone(self, job: Job) -> None:
        """It is over."""
        item = self.items.pop(job.name, None)
        if item is not None:
            if item.waits:
                if self.line[0][4] is item:
                    self.grown = True  # who stood behind the head may do more than before
                self._leave_line(item)
            else:
                self._go(item)
            item.key = (0, 0, "", "", None)  # type: ignore[assignment]  # else it would hold itself for ever

    def _go(self, item: Item) -> None:
        """It gave its room back."""
        if item.open:
            item.open = False
            self._add(item, -1)
        if item.end is not None:
            del self.ends[bisect_left(self.ends, item.end)]
            item.end = None
        self._book(item, 1)
        item.nodes = []
        self.grown = True
        self.asked = None

    def _leave_line(self, item: Item) -> None:
        item.waits = False
        form, key = item.form, item.key
        self.hopeless -= form.answer is not None
        del form.entries[bisect_left(form.entries, key)]
        if not form.entries:
            self.live.remove(form)
        del self.line[bisect_left(self.line, key)]
        if self.fresh and key in self.fresh:
            self.fresh.remove(key)

    def _add(self, item: Item, sign: int) -> None:
        self._changes += 1
        found = self.standing.get(item.priority)
        if found is None:
            found = self.standing[item.priority] = [0] * (1 + len(item.form.claim.vectors[0]))
        found[0] += sign
        for column, amount in item.form.totals:
            found[column + 1] += sign * amount
        if not found[0]:
            del self.standing[item.priority]
            self.stands_on.pop(item.priority, None)
        elif self.alone is None:
            there = self.stands_on.get(item.priority)
            if there is None:
                shape = (len(item.form.claim.vectors[0]), self.state.nodes.size)
                there = self.stands_on[item.priority] = np.zeros(shape, np.int64)
            need = item.form.claim.vectors[0]
            for node in item.nodes:
                if sign > 0:
                    there[:, node] += need
                else:
                    there[:, node] -= need

    def _book(self, item: Item, sign: int) -> None:
        if self.stale:
            return
        if self.alone is not None:
            for column, amount in item.form.totals:
                self.alone[column] += sign * amount
            return
        need = item.form.claim.vectors[0]
        for node in item.nodes:
            if sign > 0:
                self.free[:, node] += need
            else:
                self.free[:, node] -= need
        self._bounds = None

    def refresh(self, state: State) -> None:
        """What is free, from the columns."""
        size = state.nodes.size
        self.free = state.nodes.free[:, :size].copy()
        self.alone = self.free[:, 0].tolist() if size == 1 else None
        self._bounds = None
        self.stale = False
        self.grown = True

    # -- who may start -----------------------------------------------------------------------------------------

    def may_fit(self, form: Form) -> bool:
        """False only if it certainly does not fit; exact where there is but one node."""
        if self.alone is not None:
            alone = self.alone
            for column, _, total in form.needs:  # noqa: SIM110 - all() takes three times as long
                if alone[column] < total:
                    return False
            return True
        if self._bounds is None:
            self._bounds = (self.free.max(axis=1).tolist(), np.maximum(self.free, 0).sum(axis=1).tolist())
        most, total_of = self._bounds
        for column, one, every in form.needs:  # noqa: SIM110
            if most[column] < one or total_of[column] < every:
                return False
        return True

    def place(self, state: State, form: Form) -> list[int] | None:
        """A node for each of its members; none if it does not fit."""
        if not self.may_fit(form):
            return None
        if self.alone is not None:
            return [0] * form.claim.members if form.claim.allowed[0] else None
        return place(state, form.claim, self.free)

    def may_preempt(self, head: Item) -> bool:
        """Whether victims may be found for the head: to be looked for the long way."""
        if not self.standing or not head.job.workload.preempts:
            return False
        threshold = self.plain.threshold(head.job.workload.queue)
        lower = [level for level in self.standing if level < head.priority and level <= threshold]
        if not lower:
            return False
        question = (head.key, self._changes)
        if question == self.asked or not self._would_fit(head.form, lower):
            return False
        self.asked = question
        return True

    def _would_fit(self, form: Form, lower: list[int]) -> bool:
        """Whether it would fit if all of these priorities that may be preempted were gone."""
        if self.alone is not None:
            totals = [self.standing[level] for level in lower]
            alone = self.alone
            return all(alone[c] + sum(total[c + 1] for total in totals) >= every for c, _, every in form.needs)
        then = self.free.copy()
        for level in lower:
            then += self.stands_on[level]
        return fits(self.state, form.claim, then)


def like(entry: Workload) -> tuple[Any, ...]:
    """What two plain workloads share that fit alike."""
    return (
        *(tuple(entry.requests.items()), entry.members, entry.queue, entry.placement, entry.exclusive),
        *(entry.required_node, entry.constraints is None, entry.pod_sets is None, entry.usage is None, entry.tenant),
    )
