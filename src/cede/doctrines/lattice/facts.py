"""The numbers that go into this doctrine's sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from cede.doctrines.lattice.settings import HIGHEST, SENSITIVE, Settings, vclusters_of
from cede.doctrines.parts.candidates import Facts
from cede.doctrines.parts.cost import PARTS, Costs, costs_of
from cede.model.costs import seconds_in_words
from cede.model.times import show_duration
from cede.state.columns import NEVER, NONE, STATES
from cede.state.state import State

Price = Callable[[int], str]


def minutes(cost: int) -> str:
    """A cost in millionths of a minute as people read it."""
    return in_minutes(cost / PARTS)


def in_minutes(cost: float) -> str:
    return seconds_in_words(cost) or f"{cost:,.6g} min"


def facts_about(state: State, claimant: int, settings: Settings, price: Price | None = None) -> Facts:
    """A function from a candidate's row to everything a sentence may name; `price` says what one costs, in words."""
    work = state.work
    if price is None:
        price = partial(_by_policy, state, settings)

    def facts(row: int) -> Mapping[str, object]:
        return {
            "class_": int(work.priority[row]),
            "claimant_class": int(work.priority[claimant]),
            "cost": price(row),
            "state": STATES[int(work.state[row])],
            "how": how_sensitive(state, row),
            "ends": ends_of(state, row),
            "threshold": show_duration(settings.near_end),
            "nodes": ", ".join(dict.fromkeys(state.nodes_of(row))),
            "lent": ", ".join(nodes_at(state, row, int(work.queue[claimant]))),
            "home": name_of(state, int(work.queue[claimant])),
            "own": ", ".join(own_nodes(state, row)),
            "vcluster": name_of(state, int(work.queue[row])),
            "victim": state.work_names[row],
            "claimant": state.work_names[claimant],
        }

    return facts


def _by_policy(state: State, settings: Settings, row: int) -> str:
    return worded(costs_of(state, np.array([row]), settings.assumed))


def worded(costs: Costs) -> str:
    """What one preemption costs, with its parts."""
    total = minutes(int(costs.total[0]))
    parts = {
        "checkpoint": costs.checkpoint[0],
        "lost": costs.lost[0],
        "progress": costs.progress[0],
    }
    shown = [f"{name} {float(value):,.6g}" for name, value in parts.items() if value]
    return f"{total} ({' + '.join(shown)})" if len(shown) > 1 else f"{total} ({shown[0]})" if shown else total


def how_sensitive(state: State, row: int) -> str:
    work = state.work
    if work.sensitive[row]:
        return "sensitive: true"
    if work.priority[row] >= HIGHEST:
        return f"class {int(work.priority[row])}"
    if vclusters_of(state).type[int(work.queue[row])] == SENSITIVE:
        return f"of the sensitive vCluster {name_of(state, int(work.queue[row]))}"
    return "not at all"


def ends_of(state: State, row: int) -> str:
    """When its walltime is over, in words."""
    work = state.work
    if NEVER in (work.started[row], work.walltime[row]):
        return "has no known end"
    left = int(work.started[row]) + int(work.walltime[row]) - state.now
    return f"ends in {show_duration(left)}" if left >= 0 else f"was over {show_duration(-left)} ago"


def nodes_at(state: State, row: int, home: int) -> list[str]:
    """The nodes of one home that it stands on."""
    found = state.residents.node[state.residents_of(row)].tolist()
    return sorted({state.node_names[node] for node in found if home != NONE and state.nodes.home[node] == home})


def own_nodes(state: State, row: int) -> list[str]:
    """The nodes that it stands on and does not borrow."""
    found = state.residents.node[state.residents_of(row)].tolist()
    homes = (NONE, int(state.work.queue[row]))
    return sorted({state.node_names[node] for node in found if int(state.nodes.home[node]) in homes})


def name_of(state: State, queue: int) -> str:
    return "(none)" if queue == NONE else state.tree.names[queue]
