"""Whether who starts by a plan would be in the way of one that waits by the same plan.

Turns go by score, and who may preempt whom goes by class, homes and claims: what starts first may have to go for one
whose turn came later. Nobody is preempted in the cycle that starts it, so that takes another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cede.doctrines.lattice.lending import claims_nodes, sensitive_work
from cede.doctrines.lattice.settings import POLICY
from cede.state.columns import NONE
from cede.state.state import State

Start = tuple[int, Sequence[str]]
"""The row of one that starts, and its nodes."""


def contested(state: State, edition: str, made: Sequence[Start], waits: Iterable[int]) -> bool:
    """Whether one that waits might preempt one that starts; it may still turn out that it does not."""
    if not made:
        return False
    work = state.work
    starts = [(row, nodes) for row, nodes in made if work.preemptible[row] and not sensitive_work(state, row)]
    if not starts:
        return False
    lowest = min(int(work.priority[row]) for row, _ in starts)
    queues = {int(work.queue[row]) for row, _ in starts}
    lent = {int(state.nodes.home[state.node_index[name]]) for _, nodes in starts for name in nodes} - {NONE}
    for row in waits:
        if not work.preempts[row]:
            continue
        queue = int(work.queue[row])
        if work.priority[row] > lowest:
            return True
        if edition == POLICY and (claims_nodes(state, row) or (queue in lent and queues - {queue})):
            return True
    return False
