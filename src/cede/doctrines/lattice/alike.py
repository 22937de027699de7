"""What was answered to workloads that are alike, so that a long queue of equals is looked at once."""

from __future__ import annotations

from collections.abc import Hashable

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.shapes import about, shapes_of
from cede.model.plan import Decision

NOT_READ = ("user", "project", "domain", "app", "originator", "kind", "job_priority")
"""Columns that do not matter to a claimant, where no policy binds its owner."""
OWNED = ("domain", "app", "originator", "kind", "job_priority")


class Alike:
    """Answers that booked nothing, given since something was booked last."""

    def __init__(self, cycle: Cycle, rows: Rows) -> None:
        self._cycle = cycle
        self._shapes = shapes_of(cycle.state, rows, OWNED if cycle.state.static.policies else NOT_READ)
        self._mark = cycle.trial.mark()
        self._answers: dict[Hashable, tuple[Decision, str | None]] = {}

    def answer(self, row: int, beside: Hashable, head: str | None = None) -> Decision | None:
        """What was answered to one like this with the same things beside it, and the same head if it mattered."""
        mark = self._cycle.trial.mark()
        if mark != self._mark:
            self._mark = mark
            self._answers.clear()
        known = self._answers.get(self._key(row, beside))
        if known is None or known[1] not in (None, head):
            return None
        return about(known[0], self._cycle.state.work_names[row])

    def keep(self, row: int, beside: Hashable, head: str | None, made: Decision) -> None:
        """The answer to one; `head` is who had to do with it."""
        if made.action in ("wait", "refuse"):
            self._answers[self._key(row, beside)] = made, head

    def _key(self, row: int, beside: Hashable) -> Hashable:
        return self._shapes[row], int(self._cycle.state.work.walltime[row]), beside
