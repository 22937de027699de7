"""A pending workload as this doctrine sees it: its leaf, what it asks of queues and nodes, and what is short."""

from __future__ import annotations

from dataclasses import dataclass

from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.limits import Limit, broken, limits_of
from cede.doctrines.parts.shortage import shortage
from cede.doctrines.yunikorn.queues import Amounts
from cede.model.quantities import show_quantity
from cede.state.state import State
from cede.state.units import WHOLE


@dataclass(frozen=True, slots=True)
class Ask:
    """One claimant. `amounts` is what it takes of its queues, of each type it asks for."""

    claim: Claim
    leaf: int
    amounts: Amounts
    limits: list[Limit]

    @property
    def row(self) -> int:
        return self.claim.row

    @property
    def short_limits(self) -> list[Limit]:
        """Limits that it would exceed now."""
        return broken(self.limits)


def ask_of(state: State, row: int) -> Ask:
    usage = state.work.usage[:, row].tolist()
    amounts = {column: amount for column, amount in enumerate(usage) if amount > 0 and column != WHOLE}
    return Ask(claim_of(state, row), int(state.work.queue[row]), amounts, limits_of(state, row))


def what_is_short(state: State, ask: Ask) -> str:
    """Why it cannot start now, in words: the limit in its way, or what no node has."""
    for limit in ask.short_limits:
        return "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}".format(**limit.facts(state))
    return f"no node has room for it ({shortage(state, ask.claim)})" if state.nodes.size else "its quota is used up"


def say(state: State, amounts: Amounts | None) -> str:
    """Amounts by type for a sentence."""
    if not amounts:
        return "nothing"
    names = state.units.names
    return ", ".join(
        f"{show_quantity(names[column], state.units.limit(column, amounts[column]))} {names[column]}"
        for column in sorted(amounts, key=names.__getitem__)
    )


def used_of(used: list[int], columns: Amounts) -> Amounts:
    """What is used of these types."""
    return {column: used[column] for column in columns}
