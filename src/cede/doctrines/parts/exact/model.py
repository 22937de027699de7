"""The mixed-integer programme of a question on some of the nodes.

One variable a candidate: it goes or stays. For every node, or every sort of nodes, one for each member that fits more
than now: it needs what is missing of each resource. Of those who stand there, who must go in any case is tied to it
one by one; that is what makes the bound near.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.parts.exact.highs import Programme, Term
from cede.doctrines.parts.exact.space import Kind, Sort, Space, rooms_for
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Floats, Linear, Over
from cede.state.columns import Bools

STEPS = 16
"""Up to so many members more on one node each have a variable of their own; beyond, one counts them."""
SMALL = 1200
"""On so many sorts of nodes the solver is quicker if what follows by itself need not be whole; on more it gets lost."""

GRID = 1 << 18
"""Parts are told apart in such steps, well above the solver's tolerance: nearer than that it takes for impossible what
is not."""


@dataclass(slots=True)
class Model:
    """The programme, and for each variable of a candidate which one it is."""

    programme: Programme
    works: list[int]
    at: dict[int, int] = field(default_factory=dict)

    def chosen(self, values: Floats) -> Rows:
        """The candidates that go, as positions."""
        return np.array([work for work in self.works if values[self.at[work]] > 0.5], np.intp)


def model_of(space: Space, nodes: Rows, open_: Bools, cuts: list[Rows], *, free: bool = False) -> Model | None:
    """The programme on these nodes with these candidates; none if it is known that there is no way.

    `cuts` are sets that are not enough: one more must go. `free`: all candidates cost nothing, any way will do.
    """
    question = space.question
    writer = _Writer(space, open_, free=free)
    if question.places and space.state.nodes.size and not writer.room(nodes):
        return None
    for condition in question.conditions:
        writer.condition(condition)
    for cut in cuts:
        inside = set(cut.tolist())
        others = [work for work in np.flatnonzero(open_).tolist() if work not in inside]
        writer.programme.at_least([(writer.work(work), 1.0) for work in others], 1.0)
    return Model(writer.programme, list(writer.at), writer.at)


class _Writer:
    """Writes the rows; a candidate gets its variable when somebody speaks of it."""

    def __init__(self, space: Space, open_: Bools, *, free: bool) -> None:
        self.space = space
        self.open = open_.tolist()
        self.costs = [0.0] * len(space.weights) if free else space.weights.tolist()
        self.programme = Programme()
        self.at: dict[int, int] = {}
        self.small = False

    def work(self, work: int) -> int:
        variable = self.at.get(work)
        if variable is None:
            variable = self.at[work] = self.programme.variable(1.0, whole=True, cost=self.costs[work])
        return variable

    # -- room ----------------------------------------------------------------------------------------------------

    def room(self, nodes: Rows) -> bool:
        """Rows by which the members find room on these nodes; false if they cannot."""
        space = self.space
        ready, sorts = space.sorts(nodes)
        self.small = len(sorts) <= SMALL or (space.whole and len(space.kinds) > 1)
        if len(space.kinds) == 1:
            return self._alike(ready, sorts)
        if space.whole:
            return self._whole(sorts)
        return self._different(sorts)

    def _alike(self, ready: dict[int, int], sorts: list[Sort]) -> bool:
        """Members that need the same: so many are ready, the others come node by node."""
        space, kind = self.space, self.space.kinds[0]
        limit = space.members if space.limit is None else space.limit
        by_group: dict[int, list[Term]] = {}
        for sort in sorts:
            by_group.setdefault(sort.group, []).extend(self._steps(kind, sort))
        wanted = space.members - sum(min(limit, room) for room in ready.values())
        if wanted <= 0:
            return True
        terms: list[Term] = []
        for group, more in by_group.items():
            left = limit - ready.get(group, 0)
            if left <= 0:
                continue
            if space.limit is None:
                terms += more
                continue
            held = self.programme.variable(float(left), whole=False)
            self.programme.at_most([(held, 1.0), *((column, -count) for column, count in more)], 0.0)
            terms.append((held, 1.0))
        if sum(self.programme.most[column] * count for column, count in terms) < wanted:
            return False
        self.programme.at_least([(column, min(count, float(wanted))) for column, count in terms], float(wanted))
        return True

    def _steps(self, kind: Kind, sort: Sort) -> list[Term]:
        """Variables for the members that fit on nodes of this sort beyond those that fit anyway."""
        more = min(sort.most, self.space.members) - sort.base
        if more > STEPS:
            return self._counted(kind, sort, more)
        terms: list[Term] = []
        for step in range(1, more + 1):
            asked = tuple(need * (sort.base + step) for need in kind.need)
            column = self._enabled(asked, sort)
            if column is None:
                break
            terms.append((column, float(sort.count)))
        return terms

    def _enabled(self, asked: tuple[int, ...], sort: Sort, *, apart: bool = False) -> int | None:
        """A variable that can be one only if so much is free on a node of this sort; none if it never can.

        It need not be whole if it can be one as soon as it can be anything; nor if nodes of the sort are taken `apart`.
        """
        bound, shorts = set[int](), []
        for at, need in enumerate(asked):
            short = need - sort.free[at]
            if not need or short <= 0:
                continue
            held = [
                (work, amounts[at])
                for work, amounts in zip(sort.works, sort.amounts, strict=True)
                if amounts[at] and self.open[work]
            ]
            total = sum(amount for _, amount in held)
            if total < short:
                return None
            must = [work for work, amount in held if total - amount < short]
            bound.update(must)
            shorts.append((short, held))
        column = self.programme.variable(1.0, whole=not self.small)
        for work in sorted(bound):
            self.programme.at_most([(column, 1.0), (self.work(work), -1.0)], 0.0)
        for short, held in shorts:
            left = short - sum(amount for work, amount in held if work in bound)
            if left <= 0:
                continue
            others = [(work, amount) for work, amount in held if work not in bound]
            if any(amount < left for _, amount in others):
                self.programme.whole[column] = not apart
            rest = [(self.work(work), -_stepped(min(amount / left, 1.0), up=True)) for work, amount in others]
            self.programme.at_most([(column, 1.0), *rest], 0.0)
        return column

    def _counted(self, kind: Kind, sort: Sort, more: int) -> list[Term]:
        """One variable that counts the members beyond those that fit anyway."""
        count = self.programme.variable(float(more), whole=True)
        any_ = self._anybody([(count, float(more))])
        for at, need in enumerate(kind.need):
            if need:
                spare = sort.free[at] - sort.base * need
                self._within([(count, float(need))], spare, any_, sort, at, need * more)
        return [(count, float(sort.count))]

    def _within(self, terms: list[Term], spare: int, any_: int, sort: Sort, at: int, most: int) -> None:
        """The terms take no more of a column than is to spare and what those who go leave, if any are taken."""
        if spare >= most:
            return
        scale = float(max(most, 1))
        row = [(column, value / scale) for column, value in terms]
        if spare < 0:
            row.append((any_, -spare / scale))
        row += [
            (self.work(work), -min(amounts[at], most - spare) / scale)
            for work, amounts in zip(sort.works, sort.amounts, strict=True)
            if amounts[at] and self.open[work]
        ]
        self.programme.at_most(row, max(spare, 0) / scale)

    def _whole(self, sorts: list[Sort]) -> bool:
        """Members that differ, each with a node to itself.

        Nodes of a sort may be shared out among kinds: once it is known who goes, whole numbers follow by themselves.
        """
        by_kind: list[list[Term]] = [[] for _ in self.space.kinds]
        by_group: dict[int, list[Term]] = {}
        for sort in sorts:
            here: list[Term] = []
            for at, kind in enumerate(self.space.kinds):
                column = self._enabled(kind.need, sort, apart=True)
                if column is not None:
                    here.append((column, 1.0))
                    by_kind[at].append((column, float(sort.count)))
            if len(here) > 1:
                self.programme.at_most(here, 1.0)
            by_group.setdefault(sort.group, []).extend((column, float(sort.count)) for column, _ in here)
        return self._demands(by_kind, by_group)

    def _different(self, sorts: list[Sort]) -> bool:
        """Members that differ and share nodes: how many of each kind stand on every node."""
        space = self.space
        by_kind: list[list[Term]] = [[] for _ in space.kinds]
        by_group: dict[int, list[Term]] = {}
        for sort in sorts:
            for _ in range(min(sort.count, space.members)):
                self._node(sort, by_kind, by_group.setdefault(sort.group, []))
        return self._demands(by_kind, by_group)

    def _node(self, sort: Sort, by_kind: list[list[Term]], here: list[Term]) -> None:
        held = np.array([sort.free], np.int64).T
        for work, amounts in zip(sort.works, sort.amounts, strict=True):
            if self.open[work]:
                held[:, 0] += amounts
        kinds = self.space.kinds
        rooms = [int(rooms_for(kind, held)[0]) for kind in kinds]
        counts = [self.programme.variable(float(room), whole=True) if room else None for room in rooms]
        for at, free in enumerate(sort.free):
            taken = [
                (count, float(kind.need[at]), float(room))
                for kind, count, room in zip(kinds, counts, rooms, strict=True)
                if count is not None and kind.need[at]
            ]
            if taken:
                any_ = self._anybody([(count, room) for count, _, room in taken]) if free < 0 else -1
                most = sum(kind.need[at] * room for kind, room in zip(kinds, rooms, strict=True))
                self._within([(count, need) for count, need, _ in taken], free, any_, sort, at, most)
        for terms, count in zip(by_kind, counts, strict=True):
            if count is not None:
                terms.append((count, 1.0))
                here.append((count, 1.0))

    def _anybody(self, counts: list[Term]) -> int:
        """A variable that is one if any of these, each of which is at most so much, is above nothing."""
        variable = self.programme.variable(1.0, whole=True)
        for count, most in counts:
            self.programme.at_most([(count, 1.0), (variable, -most)], 0.0)
        return variable

    def _demands(self, by_kind: list[list[Term]], by_group: dict[int, list[Term]]) -> bool:
        for kind, terms in zip(self.space.kinds, by_kind, strict=True):
            if sum(self.programme.most[column] * count for column, count in terms) < kind.count:
                return False
            self.programme.add(terms, float(kind.count), float(kind.count))
        if self.space.limit is not None:
            for terms in by_group.values():
                self.programme.at_most(terms, float(self.space.limit))
        return True

    # -- conditions ----------------------------------------------------------------------------------------------

    def condition(self, condition: Linear) -> None:
        """What a set adds up to stays within its bounds, scaled so that the solver's tolerance is small beside it."""
        scale = _scale(condition)
        if condition.low > -np.inf:
            self.programme.at_least(self._adds(condition.adds / scale, up=True), _stepped(condition.low / scale))
        if condition.high < np.inf:
            terms = self._adds(condition.adds / scale)
            terms += [(self._over(over, scale), 1.0) for over in condition.over]
            self.programme.at_most(terms, _stepped(condition.high / scale, up=True))

    def _adds(self, adds: Floats, *, up: bool = False) -> list[Term]:
        return [
            (self.work(work), _stepped(float(adds[work]), up=up))
            for work in np.flatnonzero(adds).tolist()
            if self.open[work]
        ]

    def _over(self, over: Over, scale: float) -> int:
        """A variable that is at least what is over, in the unit of its condition."""
        column = self.programme.variable(np.inf, whole=False)
        terms = [(column, 1.0), *((work, -value) for work, value in self._adds(over.adds / scale))]
        terms += [(self._over(other, scale), -1.0) for other in over.others]
        self.programme.at_least(terms, _stepped(over.base / scale))
        return column


def _stepped(value: float, *, up: bool = False) -> float:
    """The next step at or below the value, or at or above it: always so that no set that will do is left out."""
    return (math.ceil(value * GRID) if up else math.floor(value * GRID)) / GRID


def _scale(condition: Linear) -> float:
    """The most that anybody's going changes; where it changes nothing, the size of the bounds."""
    sizes = [abs(bound) for bound in (condition.low, condition.high) if np.isfinite(bound)]
    return _largest(condition.adds, condition.over) or max(sizes, default=0.0) or 1.0


def _largest(adds: Floats, others: tuple[Over, ...]) -> float:
    return max([float(np.abs(adds).max(initial=0.0)), *(_largest(over.adds, over.others) for over in others)])
