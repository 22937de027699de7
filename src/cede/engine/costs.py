"""What the victims of decisions cost, by the one function there is for it, whatever doctrine chose them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.parts.cost import PARTS, Assumed, assumed_by, costs_of
from cede.model.plan import Decision, Victim
from cede.state.state import State

DIGITS = 6
"""Of minutes and of GPU-hours, as they are told."""


@dataclass(frozen=True, slots=True)
class Price:
    """What the preemption of one workload costs: in minutes, and in GPU-hours that are thrown away."""

    cost: float
    lost_gpu_hours: float


NOTHING = Price(0.0, 0.0)


def prices(state: State, names: Iterable[str], assumed: Assumed | None = None) -> dict[str, Price]:
    """What the preemption of each of these workloads would cost now; as the doctrine assumes, if nothing else is."""
    wanted = [name for name in dict.fromkeys(names) if name in state.work_index]
    if not wanted:
        return {}
    rows = np.array([state.work_index[name] for name in wanted], np.intp)
    found = costs_of(state, rows, assumed_by(state.static.doctrine) if assumed is None else assumed)
    minutes = (found.total / PARTS).tolist()
    hours = found.gpu_hours.tolist()
    return {
        name: Price(round(cost, DIGITS), round(lost, DIGITS))
        for name, cost, lost in zip(wanted, minutes, hours, strict=True)
    }


def priced(state: State, decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """The decisions with what each victim's going costs; the state is that in which they were made."""
    found = prices(state, (victim.workload for decision in decisions for victim in decision.victims))
    if not found:
        return tuple(decisions)
    return tuple(
        replace(
            decision, victims=tuple(_priced(victim, found.get(victim.workload, NOTHING)) for victim in decision.victims)
        )
        if decision.victims
        else decision
        for decision in decisions
    )


def _priced(victim: Victim, price: Price) -> Victim:
    """Who is leaving already costs nothing more."""
    price = NOTHING if victim.leaving else price
    return replace(victim, cost=price.cost, lost_gpu_hours=price.lost_gpu_hours)
