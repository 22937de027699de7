"""What a queue above its max gives back, leaf by leaf, and who goes for it, worked out of the columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.parts.orders import ordered
from cede.doctrines.yunikorn.queues import Amounts, Queues
from cede.doctrines.yunikorn.quota_amounts import Held, amount_of, chosen, excess_of, in_order, split
from cede.doctrines.yunikorn.snapshot import leaving_of
from cede.model.times import SECOND
from cede.state.columns import NONE, RUNNING, Bools, Int64s
from cede.state.state import State
from cede.state.units import COARSEST, WHOLE

HOUR = 3600 * SECOND
THOUSANDTHS = frozenset({"cpu", "vcore"})
"""Resources that YuniKorn counts in thousandths; all others it counts in whole units."""


@dataclass(slots=True)
class Leaf:
    """What one leaf gives back; `held` are its candidates, in the order of uids, and `rows` who they are."""

    queue: int
    share: Amounts
    rows: list[int]
    held: list[Held[int]]
    taken: list[int] = field(default_factory=list)

    @property
    def victims(self) -> list[int]:
        return [self.rows[at] for at in self.taken]


@dataclass(slots=True)
class Cut:
    """A queue, what it has to give back in all, and its leaves."""

    queue: int
    amount: Amounts
    leaves: list[Leaf]

    @property
    def victims(self) -> list[int]:
        return [row for leaf in self.leaves for row in leaf.victims]


class Scales:
    """The numbers of one cycle. Amounts are nano-units by column, so that they are rounded as YuniKorn counts."""

    def __init__(self, state: State, queues: Queues) -> None:
        self.state = state
        self.queues = queues
        self.leaving = leaving_of(state, queues)

    def used(self, queue: int, *, staying: bool = False) -> Amounts:
        """What the queue uses, type by type; `staying`: less what is being preempted."""
        column = self.state.tree.usage[:, queue]
        return self.positive(column - self.leaving[queue] if staying and queue in self.leaving else column)

    def limit(self, queue: int) -> Amounts | None:
        return self._nano(self.queues.max[queue])

    def guaranteed(self, queue: int) -> Amounts | None:
        return self._nano(self.queues.guaranteed[queue])

    def positive(self, counts: Int64s) -> Amounts:
        nano = self.state.units.nano
        return {int(c): int(counts[c]) * nano[c] for c in np.flatnonzero(counts > 0).tolist() if c != WHOLE}

    def grain(self, column: int) -> int:
        """What YuniKorn counts as 1."""
        resource = self.state.units.names[column].partition("@")[0]
        return COARSEST // 1000 if resource in THOUSANDTHS else COARSEST

    def named(self, amounts: Amounts) -> dict[str, int]:
        return {self.state.units.names[column]: amount for column, amount in amounts.items()}

    def _nano(self, counts: Amounts | None) -> Amounts | None:
        nano = self.state.units.nano
        return None if counts is None else {column: count * nano[column] for column, count in counts.items()}


def cut_of(scales: Scales, queue: int) -> Cut:
    """What becomes of the queue if it is cut back now."""
    path = [(scales.guaranteed(above), scales.used(above, staying=True)) for above in scales.queues.path[queue]]
    amount = amount_of(scales.limit(queue), path[0][1], path)
    shares = shares_of(scales, queue, amount)
    return Cut(queue, amount, [leaf_of(scales, leaf, share) for leaf, share in shares.items() if any(share.values())])


def shares_of(scales: Scales, queue: int, amount: Amounts) -> dict[int, Amounts]:
    """The amount over the leaves below the queue; a leaf gives back all of its own."""
    children = scales.queues.children[queue]
    if not children:
        return {queue: amount}
    excess = {child: excess_of(scales.guaranteed(child), scales.used(child)) for child in children}
    parts = split(amount, {child: part for child, part in excess.items() if part is not None}, scales.grain)
    found: dict[int, Amounts] = {}
    for child, part in parts.items():
        found |= shares_of(scales, child, part)
    return found


def holds_some(state: State, share: Amounts) -> Bools:
    """Workloads that hold something of what is given back."""
    size = state.work.size
    some = np.zeros(size, np.bool_)
    for column in share:
        some |= state.work.usage[column, :size] > 0
    return some


def leaf_of(scales: Scales, queue: int, share: Amounts) -> Leaf:
    """The candidates of a leaf, and those of them that go for its share."""
    state = scales.state
    work, size = state.work, state.work.size
    running = (work.queue[:size] == queue) & (work.state[:size] == RUNNING)
    looked = running & (work.required_node[:size] == NONE) & holds_some(state, share)
    rows = ordered(state, np.flatnonzero(looked)).tolist()
    held = [
        Held(
            scales.positive(work.usage[:, row]),
            int(work.priority[row]),
            int(work.submitted[row]) // HOUR,
            bool(work.originator[row]),
            not work.preemptible[row],
        )
        for row in rows
    ]
    turn = in_order(held, share, scales.limit(queue), scales.grain)
    return Leaf(queue, share, rows, held, chosen(held, turn, share))
