"""Whether a form may have room at all, told from two numbers a column before anything is searched."""

from __future__ import annotations

import numpy as np

from cede.doctrines.parts.front import Form
from cede.state.state import State


class Room:
    """The most that is free of each column on one node, and what is free in all; made anew after a booking."""

    __slots__ = ("_alone", "_made", "_most", "_state", "_total")

    def __init__(self, state: State) -> None:
        self._state = state
        self._made = False
        self._alone: dict[int, list[int]] = {}
        self._most: list[int] = []
        self._total: list[int] = []

    def changed(self) -> None:
        self._made = False
        self._alone.clear()

    def may_fit(self, form: Form) -> bool:
        """False only if it certainly does not fit."""
        if form.only_node is not None:
            free = self._alone.get(form.only_node)
            if free is None:
                free = self._alone[form.only_node] = self._state.nodes.free[:, form.only_node].tolist()
            for column, _, total in form.needs:  # noqa: SIM110 - any() takes three times as long
                if free[column] < total:
                    return False
            return True
        if not self._made:
            self._make()
        most, everywhere = self._most, self._total
        for column, one, every in form.needs:  # noqa: SIM110 - any() takes three times as long
            if most[column] < one or everywhere[column] < every:
                return False
        return True

    def _make(self) -> None:
        free = self._state.nodes.free[:, : self._state.nodes.size]
        if free.shape[1]:
            self._most = free.max(axis=1).tolist()
            self._total = np.maximum(free, 0).sum(axis=1).tolist()
        else:
            self._most = self._total = [1 << 62] * len(free)
        self._made = True
