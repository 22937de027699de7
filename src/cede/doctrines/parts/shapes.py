"""Which waiting workloads are alike: nothing that decides about one tells it from another."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from functools import cache
from typing import Any

import numpy as np

from cede.doctrines.parts.orders import Rows
from cede.model.plan import Decision
from cede.model.workloads import PodSet
from cede.state.columns import WorkloadColumns
from cede.state.sharing import key_of
from cede.state.state import State

OWN = frozenset(
    {
        *("submitted", "uid_first", "uid_next"),
        *("started", "resident", "preempted"),
        *("walltime", "checkpoint", "checkpoint_last", "checkpoint_time"),
    }
)
"""Columns that may differ between workloads that are alike: what gives them their place in an order, and history.

A doctrine that reads one of them when it decides about a claimant must tell such claimants apart itself.
"""


class Kinds:
    """A number for each waiting workload, the same for those that are alike; given to one when it comes, or to many.

    `unread` are further columns that the doctrine does not read of a claimant. Numbers stay true as long as the
    columns are the same ones: a new resource, or a finer unit, asks for new ones.
    """

    def __init__(self, state: State, unread: Container[str] = ()) -> None:
        self._state = state
        self._numbers: dict[Hashable, int] = {}
        by_type: dict[Any, list[str]] = {}
        for name, dtype in WorkloadColumns.scalars.items():
            by_type.setdefault(dtype, []).append(name)
        read = [
            [at for at, name in enumerate(names) if name not in OWN and name not in unread]
            for names in by_type.values()
        ]
        wide = list(range(len(state.work.blocks[-1])))
        self._read = [(number, np.array(columns, np.intp)) for number, columns in enumerate([*read, wide]) if columns]

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, row: int) -> int:
        """The number of one waiting workload."""
        blocks = self._state.work.blocks
        key: Hashable = b"".join([blocks[at][columns, row].astype(np.int64).tobytes() for at, columns in self._read])
        return self._number(row, key, odd=any(row in side for side in _sides(self._state)))

    def of_all(self, rows: Rows) -> dict[int, int]:
        """The numbers of these waiting workloads."""
        blocks = self._state.work.blocks
        table = np.concatenate([blocks[at][np.ix_(columns, rows)].astype(np.int64) for at, columns in self._read])
        table = np.ascontiguousarray(table.T)
        keys: list[Hashable] = table.view(f"V{table.shape[1] * table.itemsize}")[:, 0].tolist()
        odd = _odd(self._state, set(rows.tolist()))
        return {row: self._number(row, key, odd=row in odd) for row, key in zip(rows.tolist(), keys, strict=True)}

    def _number(self, row: int, key: Hashable, *, odd: bool) -> int:
        return self._numbers.setdefault((key, _beside(self._state, row)) if odd else key, len(self._numbers))


def shapes_of(state: State, rows: Rows, unread: Container[str] = ()) -> dict[int, int]:
    """A number for each of these waiting workloads, the same for those that are alike."""
    return Kinds(state, unread).of_all(rows)


def _sides(state: State) -> tuple[dict[int, Any], ...]:
    """What is known of some workloads beside their columns."""
    others: tuple[dict[int, Any], ...] = (state.parts, state.constraints, state.admitted, state.reservations)
    return (*others, state.odd_requests, state.odd_usages)


def shape_of(state: State, row: int, unread: tuple[str, ...] = ()) -> Hashable:
    """The same of one workload, as something that equals that of those that are alike."""
    return _reader(unread).of(state, row)


class Shapes:
    """The shape of one waiting workload at a time; `unread` as in `shapes_of`."""

    __slots__ = ("_at",)

    def __init__(self, unread: Container[str] = ()) -> None:
        by_type: dict[Any, list[str]] = {}
        for name, dtype in WorkloadColumns.scalars.items():
            by_type.setdefault(dtype, []).append(name)
        self._at = [
            [at for at, name in enumerate(names) if name not in OWN and name not in unread]
            for names in by_type.values()
        ]
        """Of each block of columns of one type, those that are read."""

    def of(self, state: State, row: int) -> Hashable:
        """What is equal for those that are alike."""
        key: list[Hashable] = [state.work.blocks[-1][:, row].tobytes()]
        for block, read in zip(state.work.blocks, self._at, strict=False):
            if read:
                values = block[:, row].tolist()
                key += [values[at] for at in read]
        if _odd(state, {row}):
            key.append(_beside(state, row))
        return tuple(key)


@cache
def _reader(unread: tuple[str, ...]) -> Shapes:
    return Shapes(unread)


def _odd(state: State, rows: set[int]) -> set[int]:
    """Those of these workloads of which something is known beside their columns."""
    return {row for side in _sides(state) for row in side.keys() & rows}


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
