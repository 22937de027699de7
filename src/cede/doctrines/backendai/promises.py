"""Where release 26.8 breaks what its own documents promise, in numbers."""

from __future__ import annotations

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.facts import facts_about
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.fit import fits
from cede.model.plan import Warning
from cede.model.rules import Rule
from cede.state.columns import NEVER, Bools, Int64s
from cede.state.state import State


def broken_promises(state: State, claim: Claim, settings: Settings, victims: list[int]) -> tuple[Warning, ...]:
    """BEP-1014 and BEP-1055 against these victims, before any of them left."""
    facts = facts_about(state, claim.row, settings)
    work = state.work
    found: list[Warning] = []

    def warn(rule: Rule, row: int) -> None:
        found.append(Warning(rule.id, rule.because(**facts(row))))

    for row in victims:
        if work.priority[row] >= work.priority[claim.row]:
            warn(rules.BREAKS_LOWER, row)
        if settings.threshold_given and work.priority[row] > settings.threshold:
            warn(rules.BREAKS_BAR, row)
        if work.started[row] == NEVER:
            warn(rules.BREAKS_RUNNING, row)
    if claim.members > 1:
        warn(rules.BREAKS_SINGLE, claim.row)
    for row in needless(state, claim, victims):
        warn(rules.NEEDLESS, row)
    return tuple(found)


def needless(state: State, claim: Claim, victims: list[int]) -> list[int]:
    """Victims without whom the claimant would fit, each looked at alone, the others gone."""
    if len(victims) < 2:
        return []
    free = state.nodes.free[:, : state.nodes.size].copy()
    residents = state.residents
    amounts = {
        row: [(int(residents.node[r]), residents.amount[:, r]) for r in state.residents_of(row)] for row in victims
    }
    for moves in amounts.values():
        for node, amount in moves:
            free[:, node] += amount
    if claim.single:
        touched = np.zeros(state.nodes.size, np.bool_)
        touched[[node for moves in amounts.values() for node, _ in moves]] = True
        return [row for row, moves in amounts.items() if _one_fits(claim, free, touched, dict(moves))]
    found = []
    for row, moves in amounts.items():
        without = free.copy()
        for node, amount in moves:
            np.subtract(without[:, node], amount, out=without[:, node])
        if fits(state, claim, without):
            found.append(row)
    return found


def _one_fits(claim: Claim, free: Int64s, touched: Bools, stays: dict[int, Int64s]) -> bool:
    """Whether one member fits a node that some victim left, if this victim stays."""
    need = claim.vectors[0]
    for node in np.flatnonzero(touched & claim.allowed).tolist():
        room = free[:, node] - stays[node] if node in stays else free[:, node]
        if (room >= need)[claim.columns].all():
            return True
    return False
