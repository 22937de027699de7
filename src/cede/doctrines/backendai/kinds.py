"""What both editions ask before they look for room: owner's policy, hard limits, and whether it can ever fit."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.backendai.rules import EMPTY_GROUP, FIXED, NO_MATCH, OUT_OF_RANGE, OVER_LIMIT, TOO_BIG
from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED, Settings, settings_of
from cede.doctrines.parts import outcomes
from cede.doctrines.parts.claim import Claim, claim_of, detached
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Classes
from cede.doctrines.parts.limits import Limit, hopeless, limits_of
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import decision, too_big
from cede.doctrines.parts.policies import breach_of
from cede.model.plan import Decision
from cede.state.state import State

LOWEST, HIGHEST = 0, 100


def refused_by_owner(state: State, row: int, limits: list[Limit]) -> Decision | None:
    """Outside the priorities its user or project may use, or beyond a limit that nothing can make room under."""
    breach = breach_of(state, row, LOWEST, HIGHEST)
    if breach is not None:
        return decision(state, row, "refuse", FIXED if breach.fixed else OUT_OF_RANGE, **breach.facts)
    for limit in hopeless(limits):
        return decision(state, row, "refuse", OVER_LIMIT, **limit.facts(state))
    return None


def matches_nothing(state: State, claim: Claim) -> Decision | None:
    """No node of the group is of the kind that one of its members asks for, or the group has none: its own failure."""
    if not outcomes.matches_nothing(state, claim):
        return None
    partition = state.partitions.names[int(state.work.partition[claim.row])]
    if not (state.nodes.partition[: state.nodes.size] == state.work.partition[claim.row]).any():
        return decision(state, claim.row, "refuse", EMPTY_GROUP, partition=partition)
    return decision(state, claim.row, "refuse", NO_MATCH, wanted=outcomes.wanted(state, claim.row))


NOT_READ = frozenset({"app", "originator", "sensitive"})
OWNERS = frozenset({"user", "project", "domain"})
"""Read for policies only; release 26.8 asks for the owner too, within whose scope its victims are."""


@dataclass(eq=False, slots=True)
class Kind:
    """What holds for every workload of a class, whatever is booked meanwhile."""

    claim: Claim
    settings: Settings
    limited: bool
    apart: bool
    refused: Decision | None
    _too_big: tuple[Decision | None] | None = None

    def claim_of(self, state: State, row: int) -> Claim:
        return replace(self.claim, row=row, name=state.work_names[row])

    def limits_of(self, state: State, row: int) -> list[Limit]:
        return limits_of(state, row, apart=self.apart) if self.limited else []

    def too_big(self, state: State, *, bare: bool = False) -> Decision | None:
        """As `outcomes.too_big`; an edition asks in one way only. Release 26.8 asks of bare nodes: it compares with an
        agent's whole capacity, and knows no use that it does not manage.
        """
        if self._too_big is None:
            self._too_big = (too_big(state, self.claim, TOO_BIG, bare=bare),)
        return self._too_big[0]


class Kinds:
    """The kind of each workload that waits; of those given at once, and of others when they are asked for."""

    def __init__(self, state: State, rows: Rows | None = None) -> None:
        self._classes = Classes(state, NOT_READ, OWNERS)
        self._class = self._classes.of_all(state, np.empty(0, np.intp) if rows is None else rows)
        self._kinds: dict[Hashable, Kind] = {}

    def of(self, cycle: Cycle, row: int) -> Kind:
        which = self._class.get(row)
        if which is None:
            which = self._class[row] = self._classes.of(cycle.state, row)
        kind = self._kinds.get(which)
        if kind is None:
            kind = self._kinds[which] = kind_of(cycle, row)
        return kind

    def forget(self, row: int) -> None:
        """It changed, or waits no more."""
        self._class.pop(row, None)


def kind_of(cycle: Cycle, row: int) -> Kind:
    state = cycle.state
    claim, limits = detached(claim_of(state, row)), limits_of(state, row)
    refused = refused_by_owner(state, row, limits) or matches_nothing(state, claim)
    edition = DOCUMENT if cycle.edition == DOCUMENT else SHIPPED
    settings = settings_of(state.tree.settings(int(state.work.queue[row])), edition)
    return Kind(claim, settings, bool(limits), edition == SHIPPED, refused)
