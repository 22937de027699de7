"""How many members of one size find room, node by node, if everybody left who may be taken for them at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cede.doctrines.lattice.reservation import AHEAD
from cede.doctrines.parts.cost import EARLY, JUST_BEGUN, LATE, MINUTE, MOST, NEARLY_DONE, PARTS, Floats, progress_of
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NEVER, NONE, Int64s
from cede.state.state import State

MANY = 1 << 62
"""Room for so many who need nothing."""


class Open(Protocol):
    """One that could be taken: its class, its nodes, and what it holds of each of them."""

    priority: int
    nodes: list[int]
    amounts: list[list[int]]


LOG = 4_096
"""So many changes are noted at most before all counts take them in."""


class Ground:
    """What is free on each node, and what could be taken there of each class: what all of the counting reads."""

    def __init__(self, state: State, most: int) -> None:
        self.state, self.most = state, most
        self.room_of_nodes = state.room()
        self.booked: dict[int, list[int]] = {}
        """What is free on those nodes on which this cycle booked something."""
        self.open: dict[int, dict[int, list[int]]] = {}
        """By class, and by node, what could be taken there."""
        self.standing: dict[int, dict[int, Open]] = {}
        """By node, who could be taken there."""
        self.log: list[int] = []
        """Nodes that changed, in order: each count takes in what it did not know when it is asked."""
        self.changes = 0
        homes = state.nodes.home[: state.nodes.size]
        self.homes: list[int] | None = homes.tolist() if (homes != NONE).any() else None
        self._rooms: dict[Taken, dict[int, list[int]]] = {}
        self._reaches: dict[object, Reach] = {}
        self._open_columns: dict[int, Int64s] = {}
        self._unwritten: dict[int, set[int]] = {}
        """Of each class, nodes where these columns say something else than `open`."""

    def begin(self) -> None:
        """Another cycle, in which nothing is booked yet."""
        self.room_of_nodes = self.state.room()
        self.booked.clear()

    def changed(self, nodes: Collection[int]) -> None:
        """Something came to, went from or was booked on these nodes."""
        for rooms in self._rooms.values():
            for node in nodes:
                rooms.pop(node, None)
        self.changes += 1
        self.log += nodes
        if len(self.log) > LOG:
            for reach in self._reaches.values():
                reach.take_in()
                reach.known = 0
            self.log.clear()

    def take(self, row: int, one: Open, sign: int) -> None:
        """One more that could be taken, or one less."""
        class_, standing = one.priority, self.standing
        there = self.open.setdefault(class_, {})
        self._unwritten.setdefault(class_, set()).update(one.nodes)
        for node, amounts in zip(one.nodes, one.amounts, strict=True):
            before = there.get(node)
            if sign > 0:
                standing.setdefault(node, {})[row] = one
                there[node] = amounts if before is None else list(map(int.__add__, before, amounts))
            else:
                del standing[node][row]
                assert before is not None, "it was counted when it came"
                there[node] = list(map(int.__sub__, before, amounts))

    def keep(self, reaches: Iterable[Reach]) -> None:
        """These are still asked for, and no others."""
        asked = set(reaches)
        self._reaches = {key: reach for key, reach in self._reaches.items() if reach in asked}

    def free(self, node: int) -> list[int]:
        """What is free beside what was booked; not to be changed."""
        return self.booked.get(node) or self.room_of_nodes.free[node]

    def reach(self, size: Size, taken: Taken | None) -> Reach:
        """The count of members of this size, of whom those may be `taken`; none: nobody."""
        key = size.needs, size.allowed, taken
        reach = self._reaches.get(key)
        if reach is None:
            reach = self._reaches[key] = Reach(self, size, taken)
        return reach

    def room(self, node: int, taken: Taken | None) -> list[int]:
        """What would be free on this node if everybody left who may be taken."""
        if taken is None:
            return self.free(node)
        rooms = self._rooms.get(taken)
        if rooms is None:
            rooms = self._rooms[taken] = {}
        free = rooms.get(node)
        if free is None:
            every = self.every(node, taken)
            free = self.free(node).copy()
            for class_, on in self.open.items():
                if (every or class_ < taken.below) and node in on:
                    free = list(map(int.__add__, free, on[node]))
            rooms[node] = free
        return free

    def every(self, node: int, taken: Taken) -> bool:
        """Whether its class protects nobody on this node: it is claimed, or taken back."""
        return taken.claims or (self.homes is not None and self.homes[node] == taken.home != NONE)

    def few_enough(self, node: int, taken: Taken, short: list[tuple[int, int]]) -> bool:
        """Whether as many as may go for a higher class could make room for a member: no more than the largest of each
        resource do."""
        most, below = self.most, taken.below
        there = [one for one in self.standing.get(node, {}).values() if one.priority < below]
        if len(there) <= most:
            return True
        for column, lack in short:
            amounts = sorted((one.amounts[one.nodes.index(node)][column] for one in there), reverse=True)
            if sum(amounts[:most]) < lack:
                return False
        return True

    def open_columns(self) -> Iterator[Int64s]:
        """What could be taken of each class, as columns of all nodes."""
        nodes = self.state.nodes
        for class_, there in self.open.items():
            columns = self._open_columns.get(class_)
            if columns is None:
                columns = self._open_columns[class_] = np.zeros((nodes.free.shape[0], nodes.size), np.int64)
            for node in self._unwritten[class_]:
                columns[:, node] = there[node]
            self._unwritten[class_].clear()
            yield columns


@dataclass(frozen=True, slots=True)
class Size:
    """What one member needs of each column, and the nodes that it may use, as bytes."""

    needs: tuple[tuple[int, int], ...]
    allowed: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """Who may be taken at all: those `below` a class; whoever is on nodes of this `home`; all, if nodes are claimed."""

    below: int
    home: int
    claims: bool


class Reach:
    """One such count. Nodes are counted one by one, and only as many as it takes to tell that there are enough; one
    that changed is not counted until somebody asks again."""

    __slots__ = ("_counts", "_ground", "_rest", "_size", "_taken", "_total", "known")

    def __init__(self, ground: Ground, size: Size, taken: Taken | None) -> None:
        self._ground, self._size, self._taken = ground, size, taken
        self._counts: dict[int, int] = {}
        """Of nodes that were counted since they changed; on those that are neither here nor left there is no room."""
        self._total = 0
        self._rest = self._worth_counting()
        self.known = len(ground.log)
        """So much of the log was taken in."""

    def take_in(self) -> None:
        """Nodes that changed are to be counted again."""
        log, counts, rest = self._ground.log, self._counts, self._rest
        for node in log[self.known :]:
            self._total -= counts.pop(node, 0)
            rest.add(node)
        self.known = len(log)

    def enough(self, members: int) -> bool:
        """Whether so many members would find room."""
        if self.known != len(self._ground.log):
            self.take_in()
        rest = self._rest
        while self._total < members and rest:
            node = rest.pop()
            held = self._counts[node] = self._holds(node)
            self._total += held
        return self._total >= members

    def touched(self, nodes: Iterable[int]) -> bool:
        """Whether a member would find room on one of these nodes, all of which changed."""
        for node in nodes:  # noqa: SIM110 - any() takes twice as long
            if self.on(node):
                return True
        return False

    def on(self, node: int) -> bool:
        """Whether a member would find room on this node."""
        if self.known != len(self._ground.log):
            self.take_in()
        if node not in self._rest:
            return node in self._counts and self._counts[node] > 0
        self._rest.discard(node)
        held = self._counts[node] = self._holds(node)
        self._total += held
        return held > 0

    def short_on(self, node: int) -> list[tuple[int, int]]:
        """What a member lacks on this node as it is now."""
        free = self._ground.free(node)
        return [(column, need - free[column]) for column, need in self._size.needs if need > free[column]]

    def _worth_counting(self) -> set[int]:
        """Nodes where a member might find room, by sums alone."""
        ground, nodes = self._ground, self._ground.state.nodes
        useful = np.frombuffer(self._size.allowed, np.bool_).copy()
        for column, need in self._size.needs:
            free = nodes.free[column, : nodes.size]
            if self._taken is not None:
                for amounts in ground.open_columns():
                    free = free + amounts[column]
            useful &= free >= need
        return set(np.flatnonzero(useful).tolist())

    def _holds(self, node: int) -> int:
        if not self._size.allowed[node]:
            return 0
        ground, taken = self._ground, self._taken
        room, least = ground.room(node, taken), MANY
        for column, need in self._size.needs:
            have = room[column]
            if have < need * least:
                least = have // need
                if least <= 0:
                    return 0
        if taken is not None and not ground.every(node, taken):
            short = self.short_on(node)
            if short and not ground.few_enough(node, taken, short):
                return 0
        return least


STEPS = 200
"""So many sets are tried; beyond that the node is taken to be as cheap as could be."""
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
        """The same as `core_cost.core_costs`, where no tenant is known."""
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
class Floor:
    """What victims of a lower class cost at least who make room for a member of one size: `base` everywhere but on the
    nodes that are `cheaper`, and perhaps on those that are `unpriced`, where something changed since that was told."""

    reach: Reach
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

    def least(self, on: Callable[[int, Floor], int | None], when: object) -> int:
        """What they cost at least now; `on` one node, if that is less than everywhere. `when` is another as soon as
        time passes or something moves."""
        if self.told is None or self.told[0] != when:
            self.told = when, self._least(on)
        return self.told[1]

    def _least(self, on: Callable[[int, Floor], int | None]) -> int:
        if not self.base:
            self.unpriced.clear()
            return 0
        cheaper = self.cheaper
        for node in self.unpriced:
            cost = on(node, self) if self.reach.on(node) else None
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


def worth(class_: int, size: float, walltime: int) -> int:
    """What a claimant is worth, in millionths of a minute: class/10 x GPUs of its nodes x walltime."""
    lasts = AHEAD if walltime == NEVER else walltime
    return round(class_ / 10 * size * (lasts / MINUTE) * PARTS)


def least_cost(short: tuple[int, ...], offers: list[Offer], most: int, below: int) -> int | None:
    """What the cheapest set costs of at most so many that frees what is short; none if that is not below `below`.

    Less than that where there are more sets than can be tried: it is never told that somebody cannot pay who can.
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
