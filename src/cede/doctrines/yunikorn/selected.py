"""The cheaper victims of release 1.9 where the file's `selection` asks for them.

Edition `laws` needs none of this: its own search finds the best of all lawful sets, by a preference that is the law's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.selection import best_of
from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.attempt import Attempt, Outcome
from cede.doctrines.yunikorn.pinned import Cleared, clear_node
from cede.doctrines.yunikorn.question import of_the_release
from cede.state.columns import NONE, Bools


def attempted(cycle: Cycle, attempt: Attempt, own: Outcome) -> Outcome:
    """What an attempt found, or would find among those of a cheaper set alone."""
    if not cycle.optimal or own.refusal is not None:
        return own
    state, ask = cycle.state, replace(attempt.ask, claim=attempt.claim)

    def again(only: Bools) -> Outcome | None:
        rows = attempt.rows[only[attempt.rows]]
        once = Attempt(state, attempt.snapshot, attempt.ask, rows, attempt.claim.allowed, tried=attempt.tried)
        found = once.run()
        return found if found.refusal is None and _makes_room(cycle, ask, found.node, found.victims) else None

    giving = attempt.rows[attempt.open_leaf[state.work.queue[attempt.rows]]]
    return best_of(cycle, own, lambda found: found.victims, lambda: of_the_release(state, ask, giving), again)


def cleared(cycle: Cycle, ask: Ask, node: int, own: Cleared) -> Cleared:
    """The same for an ask that needs a certain node."""
    if not cycle.optimal or own.victims is None:
        return own
    state = cycle.state
    asked = of_the_release(state, ask, np.flatnonzero(own.found.open))

    def again(only: Bools) -> Cleared | None:
        found = replace(own, victims=clear_node(state, ask, node, only).victims)
        return found if found.victims and _makes_room(cycle, ask, node, found.victims) else None

    return best_of(cycle, own, lambda found: found.victims or (), lambda: asked, again)


def _makes_room(cycle: Cycle, ask: Ask, node: int, victims: tuple[int, ...]) -> bool:
    """Whether the claimant fits where it goes, and within its limits, once these have left."""
    state, rows = cycle.state, np.array(victims, np.intp)
    if any(int(limit.credit(state, rows).sum()) < limit.short for limit in ask.short_limits):
        return False
    if node == NONE:
        return True
    mark = cycle.trial.mark()
    for row in victims:
        cycle.trial.evict(row)
    fits = (state.nodes.free[:, node] >= ask.claim.vectors[0])[ask.claim.columns].all()
    cycle.trial.undo(mark)
    return bool(fits)
