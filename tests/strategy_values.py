"""The values that keys of a random cluster document have."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Strategies = dict[str, SearchStrategy[Any]]
Draw = Callable[[SearchStrategy[Any]], Any]
"""What draws a value: the argument of a composite strategy, or the `draw` of an interactive one."""

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
FLAVORS = ("spot", "on-demand")
OWNERS = ("ann", "bob")
PROJECTS = ("vision", "speech")

_START = datetime(2026, 1, 31, 12, tzinfo=UTC)
_SECONDS = st.sampled_from((-1, -5, -30, -60, -61, -300, -3600, 0))


def words(*choices: object) -> SearchStrategy[Any]:
    """One of these."""
    return st.sampled_from(choices)


@cache
def times(instants: bool) -> SearchStrategy[int | str]:
    """Points in time at and before `now`, of the kind the file uses; few, so that some are equal."""
    return _SECONDS.map(_instant) if instants else _SECONDS


def _instant(seconds: int) -> str:
    return (_START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
