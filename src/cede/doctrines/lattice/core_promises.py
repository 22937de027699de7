"""Where the library's victims break what the policy promises."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.candidates import near_end
from cede.doctrines.lattice.core_places import placed
from cede.doctrines.lattice.facts import facts_about, minutes
from cede.doctrines.lattice.lending import standing_at_home
from cede.doctrines.lattice.policy import value_of
from cede.doctrines.lattice.settings import SENSITIVE, SERVICE, UNPROTECTED, Settings, vclusters_of
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import NO_CHECKPOINT, costs_of
from cede.doctrines.parts.doctrine import Cycle
from cede.model.plan import Warning
from cede.model.rules import Rule


def broken_promises(cycle: Cycle, claim: Claim, settings: Settings, victims: list[int]) -> Iterator[Warning]:
    """A warning for each promise that taking these victims breaks."""
    state, work = cycle.state, cycle.state.work
    facts = facts_about(state, claim.row, settings)
    near, at_home = near_end(state, settings), standing_at_home(state, work.queue)
    types = vclusters_of(state).type

    def warning(rule: Rule, row: int) -> Warning:
        return Warning(rule.id, rule.because(**facts(row)))

    for row in victims:
        if near[row]:
            yield warning(rules.BREAKS_NEAR_END, row)
        if work.checkpoint[row] == NO_CHECKPOINT and work.priority[row] >= UNPROTECTED:
            yield warning(rules.BREAKS_NO_CHECKPOINT, row)
        if types[int(work.queue[row])] == SERVICE and at_home[row]:
            yield warning(rules.BREAKS_AT_HOME, row)
        if types[int(work.queue[row])] == SENSITIVE:
            yield warning(rules.BREAKS_SENSITIVE, row)
    cost = int(costs_of(state, np.array(victims, np.intp), settings.assumed).total.sum())
    value = value_of(state, claim.row)
    if settings.value_rule and cost >= value:
        yield Warning(rules.BREAKS_VALUE.id, rules.BREAKS_VALUE.because(cost=minutes(cost), value=minutes(value)))
    for row in _needless(cycle, claim, victims):
        yield warning(rules.NEEDLESS, row)


def _needless(cycle: Cycle, claim: Claim, victims: list[int]) -> list[int]:
    """Those whom the claimant does not need, the dearest first, one after another."""
    mark = cycle.trial.mark()
    spared: list[int] = []
    for row in reversed(victims):
        for other in victims:
            if other != row and other not in spared:
                cycle.trial.evict(other)
        if placed(cycle.state, claim) is not None:
            spared.append(row)
        cycle.trial.undo(mark)
    return spared
