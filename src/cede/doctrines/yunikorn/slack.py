"""Law 2 as numbers: how much each queue may lose before it is under one of its guarantees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.yunikorn.queues import Queues
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.state.columns import Int64s

PLENTY = 1 << 61


@dataclass(slots=True)
class Slack:
    """Pairs of queue and type with what may go there; by victim leaf, the pairs on its path below the common ancestor.

    `least` has, by column and leaf, the least of them: no victim larger than that is lawful alone.
    """

    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    of_leaf: dict[int, list[int]] = field(default_factory=dict)
    under: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Leaves below a queue that is under its guarantee already, and that queue and type."""
    least: dict[int, Int64s] = field(default_factory=dict)


def slack_of(queues: Queues, snapshot: Snapshot, leaves: Iterable[int]) -> Slack:
    """For each of these leaves, seen from the asking leaf."""
    found = Slack()
    known: dict[int, list[int]] = {}
    for leaf in leaves:
        own: list[int] = []
        for queue in queues.below_common(leaf, snapshot.leaf):
            if queue not in known:
                used = snapshot.used(queue)
                known[queue] = []
                for column, amount in queues.guarantee(queue).items():
                    known[queue].append(len(found.pairs))
                    found.pairs.append((queue, column, used[column] - amount))
            own += known[queue]
        found.of_leaf[leaf] = own
        for pair in own:
            queue, column, left = found.pairs[pair]
            if left < 0:
                found.under.setdefault(leaf, (queue, column))
            if column not in found.least:
                found.least[column] = np.full(queues.size + 1, PLENTY, np.int64)
            found.least[column][leaf] = min(int(found.least[column][leaf]), left)
    return found
