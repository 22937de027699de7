"""Resource columns and the integer unit each one counts in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from cede.model.errors import CedeError
from cede.model.quantities import LARGEST, format_quantity
from cede.state.columns import UNLIMITED

Ints = npt.NDArray[np.int64]

WHOLE = 0
"""The column that makes `exclusive` an ordinary fit: every node has FULL of it, every member takes 1 or all."""
FULL = 1 << 31
COARSEST = 10**9
LIMIT = UNLIMITED
"""All that is there and asked for of a resource comes to less than so many counts."""
MOST_KEPT = 4096
"""Distinct requests whose counts are remembered: kinds of work are few, and a row each would cost too much."""


Counted = tuple[tuple[int, int, int], ...]
"""Column, amount in nano-units, and less than how much of that can be counted exactly."""


class Units:
    """Names of the resource columns, how many nano-units one count of each is worth, and how many are known in all.

    The unit of a resource is the coarsest power of ten that divides every amount seen, so that bytes are
    counted in bytes and half cores in milli-cores, and sums over a whole cluster stay within 64 bits. A resource
    and its flavors count in the same unit. `flavored` are the columns of each resource in a flavor.
    """

    def __init__(self) -> None:
        self.names: list[str] = [""]
        self.index: dict[str, int] = {"": WHOLE}
        self.nano: list[int] = [1]
        self.total: list[int] = [0]
        self.flavored: dict[str, list[int]] = {}
        self.plain: list[int] = []
        """The columns of resources in no flavor, in the order of their names."""
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
            self.total.append(0)
            resource, at, _ = name.partition("@")
            if at:
                self.flavored.setdefault(resource, []).append(found)
            else:
                self.plain = sorted([*self.plain, found], key=self.names.__getitem__)
        return found

    def learn(self, seen: Iterable[Mapping[str, int]], more: Mapping[str, int]) -> dict[int, int]:
        """Make room for these amounts, which add `more` to all that is known of each resource.

        The answer says by what factor each column's unit became finer. What is known of a resource in all stays
        below 2**62 counts of its unit, so every sum of some of it is exact; more is an error that changes nothing.
        New columns come in the order of their names, so that it does not matter in which order amounts are seen.
        """
        units: dict[str, int] = {}
        for amounts in seen:
            for name, nano in amounts.items():
                column = self.index.get(name)
                if column is None or nano % self.nano[column]:
                    known = COARSEST if column is None else self.nano[column]
                    units[name] = _coarsest_of(nano, units.get(name, known))
        if units:
            self._share(units)
        for name in more.keys() | units.keys() if units else more:
            column = self.index.get(name)
            unit = units[name] if name in units or column is None else self.nano[column]
            total = more.get(name, 0) + (0 if column is None else self.total[column])
            if total >= LIMIT * unit:
                raise CedeError(_too_much(name, total, unit))
        finer = self._refine(units) if units else {}
        self.count(more)
        return finer

    def count(self, more: Mapping[str, int]) -> None:
        """So much more, or less, is known of each resource in all."""
        for name, nano in more.items():
            self.total[self.index[name]] += nano

    def uncount(self, less: Mapping[str, int]) -> None:
        for name, nano in less.items():
            self.total[self.index[name]] -= nano

    def columns_of(self, amounts: Mapping[str, int]) -> Counted:
        """For `count_columns`: column, amount, and less than how much of it can be counted exactly. It holds as long as
        no unit becomes finer."""
        columns = ((self.index[name], nano) for name, nano in amounts.items())
        return tuple((column, nano, LIMIT * self.nano[column]) for column, nano in columns)

    def count_columns(self, more: Counted) -> None:
        """So much more is known of each resource in all, as far as that can be counted exactly; else an error."""
        total = self.total
        for column, amount, below in more:
            known = total[column] = total[column] + amount
            if known >= below:
                for before in more[: more.index((column, amount, below)) + 1]:
                    total[before[0]] -= before[1]
                raise CedeError(_too_much(self.names[column], known, self.nano[column]))

    def uncount_columns(self, less: Counted) -> None:
        total = self.total
        for column, amount, _ in less:
            total[column] -= amount

    def _share(self, units: dict[str, int]) -> None:
        """Let a resource and its flavors have the finest unit of any of them."""
        families: dict[str, set[str]] = {}
        for name in units:
            families.setdefault(name.partition("@")[0], set()).add(name)
        for resource, new in families.items():
            family = new | {self.names[column] for column in self.flavored.get(resource, ())}
            family |= {resource} & self.index.keys()
            known = {name: self.nano[self.index[name]] for name in family if name in self.index}
            finest = min(units.get(name, known.get(name, COARSEST)) for name in family)
            units |= {name: finest for name in family if known.get(name) != finest}

    def _refine(self, units: Mapping[str, int]) -> dict[int, int]:
        finer: dict[int, int] = {}
        for name in sorted(units):
            known = name in self.index
            column = self.column(name)
            if known:
                finer[column] = self.nano[column] // units[name]
            self.nano[column] = units[name]
        self._rows.clear()
        return finer

    def pairs(self, amounts: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
        """(column, count) for each amount; the amounts were learned before."""
        key = tuple(amounts.items())
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= MOST_KEPT:
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

    def limit(self, column: int, count: int) -> int:
        """A limit of so many counts in nano-units; one that is as good as none is the largest quantity."""
        return LARGEST if count >= UNLIMITED else count * self.nano[column]

    def amounts(self, row: Iterable[int]) -> dict[str, int]:
        """Nano-units by resource name, zero columns left out."""
        return {
            self.names[column]: int(count) * self.nano[column]
            for column, count in enumerate(row)
            if count and column != WHOLE
        }


def _coarsest_of(nano: int, unit: int) -> int:
    while nano % unit:
        unit //= 10
    return unit


def _too_much(name: str, total: int, unit: int) -> str:
    if not name:
        return (
            f"the members that take a whole node are too many: {total // FULL}, where {LIMIT // FULL - 1} is the most"
        )
    finest = format_quantity(unit)
    return (
        f"the amounts of {name!r} add up to {total // COARSEST}, which is too much to count exactly in steps of "
        f"{finest}; the finest amount given sets the step, so round it, or give less in all"
    )
