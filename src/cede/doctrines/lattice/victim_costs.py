"""What running work costs as victims: each one alone, and at least for room on any node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.lattice.reservation import AHEAD
from cede.doctrines.lattice.room_bounds import RoomBound
from cede.doctrines.parts.cost import EARLY, JUST_BEGUN, LATE, MINUTE, MOST, NEARLY_DONE, PARTS, Floats, progress_of
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NEVER, NONE, Int64s
from cede.state.state import State

STEPS = 200
"""How many sets are tried; beyond that the node is taken to be as cheap as could be."""
SHUT = 1 << 30
"""The class of those whom no class may take."""
BEYOND = 1 << 62
"""More than anything costs."""

Offer = tuple[int, tuple[int, ...]]
"""What one who stands on a node costs, and what it frees there of each resource that is short."""


@dataclass(slots=True)
class Price:
    """All that the cost of one that runs depends on beside the time; it is told as `cost.total_costs` has it."""

    saves: float | None
    """For how many minutes it saves its work, if it can."""
    began: int
    last: int
    walltime: int
    gpus: float
    """Nodes times GPUs per node, of one that cannot."""

    def at(self, now: int) -> int:
        """In millionths of a minute."""
        worked = max(0, now - self.began) if self.began != NEVER else 0
        minutes = self.saves
        if minutes is None:
            lost = worked if self.last == NEVER else min(worked, max(0, now - self.last))
            minutes = lost / MINUTE * self.gpus
        if self.walltime != NEVER:
            used = worked / self.walltime if self.walltime > 0 else 1.0
            minutes += NEARLY_DONE if used >= LATE else JUST_BEGUN if used < EARLY else 100 * used
        return round(min(minutes * PARTS, MOST))

    def ends_within(self, span: int, now: int) -> bool:
        """Whether its walltime is over so soon, or was over before."""
        return NEVER not in (self.began, self.walltime) and self.began + self.walltime - now <= span


class Prices:
    """Who may be taken for a higher class, where no node has a home; what each costs, and what it holds of which node:
    one entry a row."""

    def __init__(self, state: State) -> None:
        self._class: Int64s = np.zeros(0, np.int64)
        """`SHUT` of those who may not."""
        self._partition = self._class
        self._began = self._class
        self._since = self._class
        self._walltime = self._class
        self._ends = self._class
        self._minutes: Floats = np.zeros(0)
        self._rate = self._minutes
        self.node = self._class
        """Where it stands; none, where that is not one node."""
        self.amount: Int64s = np.zeros((state.nodes.free.shape[0], 0), np.int64)

    def set(
        self, row: int, class_: int, partition: int, price: Price, nodes: list[int], amounts: list[list[int]]
    ) -> None:
        if row >= len(self._class):
            self._grow(2 * row + 64)
        self._class[row], self._partition[row] = class_, partition
        self._minutes[row] = 0.0 if price.saves is None else price.saves
        self._rate[row] = price.gpus if price.saves is None else 0.0
        began, last = price.began, price.last
        self._began[row], self._walltime[row] = began, price.walltime
        self._since[row] = began if NEVER in (began, last) else max(began, last)
        self._ends[row] = NEVER if NEVER in (began, price.walltime) else began + price.walltime
        self.node[row] = NONE
        if len(nodes) == 1:
            self.node[row] = nodes[0]
            self.amount[:, row] = amounts[0]

    def shut(self, row: int) -> None:
        if row < len(self._class):
            self._class[row] = SHUT

    def below(self, class_: int, partition: int, now: int | None = None, near_end: int = 0) -> Rows:
        """Rows of a lower class; if it says when it is `now`, of those that are not near their end."""
        mask = (self._class < class_) & (self._partition == partition)
        if now is not None:
            mask &= self._ends > now + near_end
        return np.flatnonzero(mask)

    def costs(self, rows: Rows, now: int) -> Int64s:
        """The same as `cost.total_costs`."""
        lost = np.maximum(0, now - self._since[rows]) / MINUTE * self._rate[rows]
        minutes = self._minutes[rows] + lost
        walltime = self._walltime[rows]
        if (walltime != NEVER).any():
            minutes += progress_of(self._elapsed(rows, now), walltime)
        return np.rint(np.minimum(minutes * PARTS, MOST)).astype(np.int64)

    def core_costs(self, rows: Rows, now: int) -> Floats:
        """The same as `core_library.core_costs`, where no tenant is known."""
        ran = self._elapsed(rows, now) // MINUTE
        costs: Floats = self._minutes[rows] + ran * self._rate[rows]
        walltime = self._walltime[rows]
        if (walltime != NEVER).any():
            costs += progress_of(ran, np.where((walltime == NEVER) | (walltime < MINUTE), NEVER, walltime // MINUTE))
        return costs

    def _elapsed(self, rows: Rows, now: int) -> Int64s:
        began = self._began[rows]
        elapsed: Int64s = np.where(began == NEVER, 0, np.maximum(0, now - np.where(began == NEVER, now, began)))
        return elapsed

    def _grow(self, size: int) -> None:
        for name in ("_class", "_partition", "_began", "_since", "_walltime", "_ends", "_minutes", "_rate", "node"):
            old = getattr(self, name)
            new = np.full(size, SHUT if name == "_class" else 0, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        amount = np.zeros((len(self.amount), size), np.int64)
        amount[:, : self.amount.shape[1]] = self.amount
        self.amount = amount


@dataclass(slots=True, eq=False)
class CostFloor:
    """What victims of a lower class cost at least who make room for a member of one size: `base` everywhere but on the
    nodes that are `cheaper`, and perhaps on those that are `unpriced`, where something changed since that was told.

    While nothing happens on a node, its price only rises: unsaved work and progress grow with time, work near its end
    becomes protected, and a checkpoint is an event on its nodes. So a price that was told is a lower bound until the
    node is touched, and only the cheapest must be worked out anew to know the least: if it is as told, none is lower.
    """

    room: RoomBound
    partition: int
    below: int
    base: int = 0
    cheaper: dict[int, int] = field(default_factory=dict)
    """By node, what they cost there when it was last told; by now it may be more."""
    unpriced: set[int] = field(default_factory=set)
    told: tuple[object, int] | None = None
    """What was told last, and when: nothing moved since."""

    def rise(self, to: int) -> None:
        """Nowhere do they cost less, as things are now."""
        self.base = max(self.base, to)
        self.told = None
        self.cheaper.clear()
        self.unpriced.clear()

    def least(self, on: Callable[[int, CostFloor], int | None], when: object) -> int:
        """What they cost at least now; `on` one node, if that is less than everywhere. `when` is another as soon as
        time passes or something moves."""
        if self.told is None or self.told[0] != when:
            self.told = when, self._least(on)
        return self.told[1]

    def _least(self, on: Callable[[int, CostFloor], int | None]) -> int:
        if not self.base:
            self.unpriced.clear()
            return 0
        cheaper = self.cheaper
        for node in self.unpriced:
            cost = on(node, self) if self.room.on(node) else None
            if cost is not None:
                cheaper[node] = cost
            else:
                cheaper.pop(node, None)
        self.unpriced.clear()
        while cheaper:
            node = min(cheaper, key=cheaper.__getitem__)
            cost = on(node, self)
            if cost == cheaper[node]:
                return cost
            if cost is None:
                del cheaper[node]
            else:
                cheaper[node] = cost
        return self.base


def claimant_value(class_: int, size: float, walltime: int) -> int:
    """What a claimant is worth, in millionths of a minute: class/10 x GPUs of its nodes x walltime."""
    lasts = AHEAD if walltime == NEVER else walltime
    return round(class_ / 10 * size * (lasts / MINUTE) * PARTS)


def least_cost(short: tuple[int, ...], offers: list[Offer], most: int, below: int) -> int | None:
    """What the cheapest set costs of at most so many that frees what is short; none if that is not below `below`.

    Offers are tried by cost, so that those after the next one cost no less; a branch ends where it costs as much as the
    best, or where all offers that are left do not free what is short. Where there are more sets than can be tried the
    answer is 0: no claimant that can pay is told that it cannot.
    """
    offers.sort()
    rest = [tuple(0 for _ in short)]
    for _, frees in reversed(offers):
        rest.append(tuple(map(sum, zip(frees, rest[-1], strict=True))))
    rest.reverse()
    best, steps = below, STEPS
    stack = [(0, short, 0, 0)]
    while stack:
        at, lack, cost, count = stack.pop()
        if cost >= best:
            continue
        if _covered(lack):
            best = cost
            continue
        steps -= 1
        if steps < 0:
            return 0
        if at == len(offers) or count == most or any(map(int.__gt__, lack, rest[at])):
            continue
        own, frees = offers[at]
        if cost + own >= best:
            continue  # who comes after it costs no less
        stack.append((at + 1, lack, cost, count))
        stack.append((at + 1, tuple(map(int.__sub__, lack, frees)), cost + own, count + 1))
    return best if best < below else None


def _covered(lack: Sequence[int]) -> bool:
    return all(amount <= 0 for amount in lack)
