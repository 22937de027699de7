"""Equivalence classes of waiting workloads, and what one of a class was told, which holds for all of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Set
from itertools import groupby
from typing import Any, Generic, TypeVar

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import Rows
from cede.model.plan import Decision
from cede.model.workloads import PodSet
from cede.state.columns import WorkloadColumns
from cede.state.interning import key_of
from cede.state.state import State

Answer = TypeVar("Answer")

OWN = frozenset(
    {
        *("submitted", "uid_first", "uid_next"),
        *("started", "resident", "preempted"),
        *("walltime", "checkpoint", "checkpoint_last", "checkpoint_time"),
    }
)
"""Columns that may differ within a class: what gives a workload its place in an order, and history.

A doctrine that reads one of them when it decides about a claimant must tell such claimants apart itself.
"""


class Classes:
    """Nothing that decides about one of a class tells it from another; the class is something to look it up by.

    `unread` are further columns that the doctrine does not read of a claimant, `policed` those that it reads for
    policies only. A class stays true as long as the columns are the same ones: a new resource, or a finer unit, makes
    others.
    """

    __slots__ = ("_runs",)

    def __init__(self, state: State, unread: Set[str] = frozenset(), policed: Set[str] = frozenset()) -> None:
        skipped = OWN | unread if state.static.policies else OWN | unread | policed
        by_type: dict[Any, list[bool]] = {}
        for name, dtype in WorkloadColumns.scalars.items():
            by_type.setdefault(dtype, []).append(name not in skipped)
        self._runs: list[tuple[int, slice]] = [(-1, slice(None))]
        """Columns that are read and stand side by side, with their block; the last block is of vectors."""
        for block, reads in enumerate(by_type.values()):
            start = 0
            for read, run in groupby(reads):
                end = start + len(list(run))
                if read:
                    self._runs.append((block, slice(start, end)))
                start = end

    def of(self, state: State, row: int) -> Hashable:
        """The class of one waiting workload."""
        blocks = state.work.blocks
        key = b"".join([blocks[block][run, row].tobytes() for block, run in self._runs])
        return (key, _beside(state, row)) if any(row in side for side in _sides(state)) else key

    def of_all(self, state: State, rows: Rows) -> dict[int, Hashable]:
        """The classes of these waiting workloads."""
        blocks = state.work.blocks
        parts = [np.ascontiguousarray(blocks[block][run, rows].T).view(np.uint8) for block, run in self._runs]
        table = np.concatenate(parts, axis=1)
        keys: list[Hashable] = table.view(f"V{table.shape[1]}")[:, 0].tolist()
        classes: dict[int, Hashable] = dict(zip(rows.tolist(), keys, strict=True))
        for row in {row for side in _sides(state) for row in side.keys() & classes.keys()}:
            classes[row] = classes[row], _beside(state, row)
        return classes


def _sides(state: State) -> tuple[dict[int, Any], ...]:
    """What is known of some workloads beside their columns."""
    others: tuple[dict[int, Any], ...] = (state.parts, state.constraints, state.admitted, state.reservations)
    return (*others, state.odd_requests, state.odd_usages)


def _beside(state: State, row: int) -> Hashable:
    """What is known of a workload beside its columns."""
    constraints, ask = state.constraints.get(row), state.admitted.get(row)
    return (
        _sizes(state.parts.get(row)),
        None if constraints is None else (tuple(constraints.labels.items()), tuple(constraints.nodes or ())),
        None if ask is None else (ask.members, _sizes(ask.parts), _amounts(ask.requests), _amounts(ask.usage)),
        _amounts(state.odd_requests.get(row)),
        _amounts(state.odd_usages.get(row)),
        row if row in state.reservations else None,
    )


def _sizes(parts: tuple[PodSet, ...] | None) -> Hashable:
    return None if parts is None else key_of(parts)


def _amounts(amounts: Mapping[str, int] | None) -> Hashable:
    return None if amounts is None else tuple(amounts.items())


class Memo(Generic[Answer]):
    """Answers that hold as long as the mark stays where it is, by a class and all else that they depend on."""

    __slots__ = ("_answers", "_at", "_mark")

    def __init__(self, mark: Callable[[], Hashable]) -> None:
        self._mark = mark
        self._at: Hashable = None
        self._answers: dict[Hashable, Answer] = {}

    def holds(self) -> dict[Hashable, Answer]:
        """All that still holds, by its key."""
        now = self._mark()
        if now != self._at:
            self._at = now
            self._answers.clear()
        return self._answers

    def keep(self, key: Hashable, answer: Answer) -> None:
        """What moved the mark itself holds for nobody else."""
        if self._mark() == self._at:
            self._answers[key] = answer


class Answers(Memo[Decision]):
    """What those of a class were told who wait or are refused: a long line of equals is looked at once.

    A decision depends on the claimant, of which nothing that is read differs within a class, and on the state with all
    that is booked, which is the same until the mark moves. A decision to wait or a refusal books nothing, so it holds
    for the next of the class as well; starts and preemptions move the mark, and all that was told is forgotten.
    """

    __slots__ = ("_names",)

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle.trial.mark)
        self._names = cycle.state.work_names

    def answer(self, row: int, *keys: Hashable) -> Decision | None:
        """What this one is told, too, if one of its class was told something under one of these keys."""
        holds = self.holds()
        for key in keys:
            if key in holds:
                return about(holds[key], self._names[row])
        return None

    def keep(self, key: Hashable, answer: Decision) -> None:
        if answer.action in ("wait", "refuse"):
            super().keep(key, answer)


def about(made: Decision, name: str) -> Decision:
    """The same decision to wait, or refusal, about another one."""
    return Decision(
        name,
        made.action,
        made.rule,
        made.why,
        warnings=made.warnings,
        nearest_miss=made.nearest_miss,
        candidates=made.candidates,
        account=made.account,
    )
