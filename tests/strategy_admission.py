"""With what a waiting workload is admitted: flavors that somebody names, and sometimes fewer members."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from cede.model.resources import split_flavor
from cede.state.admission import asks_of
from cede.state.state import State
from tests.strategy_values import Draw


def draw_flavors(draw: Draw, state: State, row: int) -> dict[str, Any]:
    """A flavor for some of the resources, for all pod sets alike or for each its own."""
    asks = asks_of(state, row)
    if draw(st.booleans()):
        return _flavors(draw, state, {name for part in asks for name in part.requests})
    return {part.name: _flavors(draw, state, set(part.requests)) for part in asks}


def _flavors(draw: Draw, state: State, names: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in sorted(names):
        columns = [state.units.names[column] for column in state.units.flavored.get(name, ())]
        flavor = draw(st.sampled_from([None, *sorted(str(split_flavor(column)[1]) for column in columns)]))
        if flavor is not None:
            found[name] = flavor
    return found


def draw_counts(draw: Draw, state: State, row: int) -> dict[str, int]:
    """As many members as some of the pod sets ask for, or fewer."""
    return {part.name: draw(st.integers(1, part.count)) for part in asks_of(state, row) if draw(st.booleans())}
