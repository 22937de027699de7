"""The candidates of one claimant as a search sees them, and what a set of them is judged by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.orders import Rows, order_of, tie_break
from cede.state.columns import Bools, Int64s
from cede.state.state import State

Taste = tuple[int, int, list[int], list[tuple[str, str]]]
"""What sets are compared by, the smaller is preferred: victims, cost, classes from the highest on, uids and names."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates. `counted` are those whom `most` and `value` bind; costs are whole numbers.

    `value` is what the counted ones must cost less than; none, like no `most`, is no limit.
    """

    state: State
    claim: Claim
    rows: Rows
    cost: Int64s
    counted: Bools
    most: int | None
    value: int | None

    @property
    def limited(self) -> bool:
        return self.most is not None or self.value is not None

    @property
    def uniform(self) -> bool:
        """Whether the limits bind all or nobody, so that sums over the whole set tell."""
        return not self.limited or bool(self.counted.all()) or not self.counted.any()

    def bounds(self) -> tuple[int | None, int | None]:
        """Most victims, and the cost that they must stay below, for sets of a uniform pool."""
        return (self.most, self.value) if self.counted.all() else (None, None)

    def only(self, kept: Bools | Rows) -> Pool:
        return replace(self, rows=self.rows[kept], cost=self.cost[kept], counted=self.counted[kept])

    def allows(self, at: Iterable[int]) -> bool:
        """Whether a set, by places in the pool, keeps the limits."""
        bound = [place for place in at if self.counted[place]]
        if self.most is not None and len(bound) > self.most:
            return False
        return self.value is None or not bound or sum(int(self.cost[place]) for place in bound) < self.value

    def taste(self, at: Iterable[int]) -> Taste:
        places = list(at)
        last = tie_break(self.state)
        rows = [int(self.rows[place]) for place in places]
        classes = sorted((int(self.state.work.priority[row]) for row in rows), reverse=True)
        return len(places), sum(int(self.cost[place]) for place in places), classes, sorted(map(last, rows))

    def victims(self, at: Iterable[int]) -> list[int]:
        return [int(self.rows[place]) for place in sorted(at)]


def in_turn(pool: Pool) -> Pool:
    """The same by cost, class and uid, as a search wants them."""
    return pool.only(order_of(pool.state, pool.rows, pool.cost, pool.state.work.priority[pool.rows]))


def within(cost: int) -> int:
    """What a set may cost where the cheapest one costs this: a tenth more."""
    return 11 * cost // 10
