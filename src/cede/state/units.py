"""Resource columns and the integer unit each one counts in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from cede.model.errors import CedeError

Ints = npt.NDArray[np.int64]

WHOLE = 0
"""The column that makes `exclusive` an ordinary fit: every node has FULL of it, every member takes 1 or all."""
FULL = 1 << 31
COARSEST = 10**9
LIMIT = 1 << 62


class Units:
    """Names of the resource columns and how many nano-units one count of each is worth.

    The unit of a resource is the coarsest power of ten that divides every amount seen, so that bytes are
    counted in bytes and half cores in milli-cores, and sums over a whole cluster stay within 64 bits.
    """

    def __init__(self) -> None:
        self.names: list[str] = [""]
        self.index: dict[str, int] = {"": WHOLE}
        self.nano: list[int] = [1]
        self._rows: dict[tuple[tuple[str, int], ...], tuple[tuple[int, int], ...]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> int:
        """The column of this resource, made if it is new."""
        found = self.index.get(name)
        if found is None:
            found = self.index[name] = len(self.names)
            self.names.append(name)
            self.nano.append(COARSEST)
        return found

    def learn(self, amounts: Mapping[str, int]) -> dict[int, int]:
        """Make room for these amounts; the answer says by what factor each column's unit became finer."""
        finer: dict[int, int] = {}
        for name, nano in amounts.items():
            column = self.column(name)
            unit = self.nano[column]
            while nano % unit:
                unit //= 10
            if unit != self.nano[column]:
                finer[column] = self.nano[column] // unit
                self.nano[column] = unit
        if finer:
            self._rows.clear()
        return finer

    def pairs(self, amounts: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
        """(column, count) for each amount; the amounts were learned before."""
        key = tuple(amounts.items())
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) > 100_000:
                self._rows.clear()
            found = tuple(sorted((self.index[name], nano // self.nano[self.index[name]]) for name, nano in key))
            self._rows[key] = found
        return found

    def vector(self, amounts: Mapping[str, int]) -> Ints:
        """One count for each column."""
        row = np.zeros(len(self.names), np.int64)
        for column, count in self.pairs(amounts):
            row[column] = count
        return row

    def amounts(self, row: Iterable[int]) -> dict[str, int]:
        """Nano-units by resource name, zero columns left out."""
        return {
            self.names[column]: int(count) * self.nano[column]
            for column, count in enumerate(row)
            if count and column != WHOLE
        }

    def guard(self, column: int, total_nano: int) -> None:
        """An error if the sum of a resource over everything would not stay far inside 64 bits."""
        if total_nano // self.nano[column] >= LIMIT:
            raise CedeError(
                f"the amounts of {self.names[column]!r} add up to {total_nano // 10**9}, "
                f"which is too much to count exactly in units of {self.nano[column]}e-9"
            )
