"""Waiting workloads: the line of every queue in its order, kept from cycle to cycle by following the journal."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Hashable, Iterable

import numpy as np

from cede.doctrines.kueue import rules, wording
from cede.doctrines.kueue.kinds import NOT_READ, OWNERS, Group, Kind, LinePosition, slots_of
from cede.doctrines.kueue.node_bounds import Claims
from cede.doctrines.kueue.quota import Quotas
from cede.doctrines.parts.equivalence import Classes
from cede.doctrines.parts.policies import breach_of
from cede.model.plan import Decision
from cede.state.admission import asks_of
from cede.state.columns import NONE
from cede.state.state import State


class WaitingLines:
    """Each workload in the line of its queue, and the lines of each kind; what is refused at once is in no line.
    `groups` are the kinds with the same candidates.

    `fresh` came since the last cycle; `sticky` stay in front of their line.
    """

    def __init__(self, state: State, quotas: Quotas, sticky: Container[str]) -> None:
        self.state = state
        self.quotas = quotas
        self._classes = Classes(state, NOT_READ, OWNERS)
        self.kind: dict[int, Kind] = {}
        self.lines: dict[int, list[LinePosition]] = {}
        self.lines_by_kind: dict[Kind, list[LinePosition]] = {}
        self.groups: dict[Claims, Group] = {}
        self.fresh: list[int] = sorted(state.pending, key=state.work_names.__getitem__)
        self.places: dict[int, LinePosition] = {}
        self.sticky: set[int] = set()
        self.kinds: dict[Hashable, Kind] = {}
        """By class."""
        rows = np.fromiter(state.pending, np.intp, len(state.pending))
        for row, which in self._classes.of_all(state, rows).items():
            kind = self.kind[row] = self._kind(row, which)
            if kind.refusal is None:
                place = self.places[row] = self._place(row, sticky)
                if not place[0]:
                    self.sticky.add(row)
                self.lines.setdefault(kind.queue, []).append(place)
                self._line_of(kind).append(place)
        for line in (*self.lines.values(), *self.lines_by_kind.values()):
            line.sort()

    def follow(self, rows: Iterable[int], sticky: Container[str]) -> None:
        """These came, moved or ended."""
        pending, kinds = self.state.pending, self.kind
        self.fresh = []
        for row in rows:
            before = kinds.pop(row, None)
            if before is not None:
                self._leave(row, before)
            if row in pending:
                kind = kinds[row] = self._kind(row, self._classes.of(self.state, row))
                self.fresh.append(row)
                self._enter(row, kind, sticky)
        if len(self.fresh) > 1:
            self.fresh.sort(key=self.state.work_names.__getitem__)

    def turn(self, names: Iterable[str], sticky: Container[str]) -> None:
        """These wait for their victims now, or do so no more."""
        for name in names:
            row = self.state.work_index.get(name)
            kind = None if row is None else self.kind.get(row)
            if row is not None and kind is not None:
                self._leave(row, kind)
                self._enter(row, kind, sticky)

    def _place(self, row: int, sticky: Container[str]) -> LinePosition:
        state = self.state
        work, name = state.work, state.work_names[row]
        return (name not in sticky, -int(work.priority[row]), int(work.submitted[row]), state.uids[row], name, row)

    def _enter(self, row: int, kind: Kind, sticky: Container[str]) -> None:
        if kind.refusal is None:
            place = self.places[row] = self._place(row, sticky)
            if not place[0]:
                self.sticky.add(row)
            insort(self.lines.setdefault(kind.queue, []), place)
            insort(self._line_of(kind), place)

    def _line_of(self, kind: Kind) -> list[LinePosition]:
        line = self.lines_by_kind.get(kind)
        if line is None:
            line = self.lines_by_kind[kind] = []
            group = self.groups.get(kind.claims)
            if group is None:
                group = self.groups[kind.claims] = Group(kind.claims)
            group.add(kind, line)
        return line

    def _leave(self, row: int, kind: Kind) -> None:
        place = self.places.pop(row, None)
        if place is None:
            return
        self.sticky.discard(row)
        line, lines_by_kind = self.lines[kind.queue], self.lines_by_kind[kind]
        del line[bisect_left(line, place)]
        del lines_by_kind[bisect_left(lines_by_kind, place)]
        if not line:
            del self.lines[kind.queue]
        if not lines_by_kind:
            group = self.groups[kind.claims]
            del self.lines_by_kind[kind]
            group.remove(kind)
            if not group.kinds:
                del self.groups[kind.claims]

    def _kind(self, row: int, which: Hashable) -> Kind:
        kind = self.kinds.get(which)
        if kind is None:
            kind = self.kinds[which] = self._new(row)
        return kind

    def _new(self, row: int) -> Kind:
        state, quotas = self.state, self.quotas
        queue, parts = int(state.work.queue[row]), asks_of(state, row)
        refusal = _refused_at_once(state, quotas, row)
        settings = quotas.settings(queue)
        never = refusal is not None or settings.preempt_first
        return Kind(
            queue=queue,
            priority=int(state.work.priority[row]),
            preempts=bool(state.work.preempts[row]),
            parts=parts,
            settings=settings,
            refusal=refusal,
            slots=None if never else slots_of(quotas, queue, parts),
        )


def _refused_at_once(state: State, quotas: Quotas, row: int) -> Decision | None:
    """What has no queue, or uses a priority it may not."""
    name, queue = state.work_names[row], int(state.work.queue[row])
    if queue == NONE:
        return wording.refused(name, rules.NO_QUEUE)
    if quotas.is_cohort(queue):
        return wording.refused(name, rules.COHORT, queue=quotas.names[queue])
    breach = breach_of(state, row, None, None)
    if breach is None:
        return None
    return wording.refused(name, rules.FIXED if breach.fixed else rules.OUT_OF_RANGE, **breach.facts)
