"""Whether who starts by a plan would be in the way of one that waits by the same plan.

Turns go by score, and who may preempt whom goes by class, homes and claims: what starts first may have to go for one
whose turn came later. No work is preempted in the cycle that starts it, so that takes another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cede.doctrines.lattice.settings import POLICY

Start = tuple[int, int, frozenset[int]]
"""Of one that starts, and may have to go again: its class, its queue, and the homes of its nodes."""
Wait = tuple[int, int, bool]
"""Of one that waits, and may preempt somebody: its class, its queue, and whether it claims its nodes."""


def contested(edition: str, starts: Sequence[Start], waits: Iterable[Wait]) -> bool:
    """Whether one that waits might preempt one that starts; it may still turn out that it does not."""
    if not starts:
        return False
    lowest = min([class_ for class_, _, _ in starts])
    queues = {queue for _, queue, _ in starts}
    lent = frozenset[int]().union(*[homes for _, _, homes in starts])
    for class_, queue, claims in waits:
        if class_ > lowest:
            return True
        if edition == POLICY and (claims or (queue in lent and queues - {queue})):
            return True
    return False
