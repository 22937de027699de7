"""What a doctrine remembers from cycle to cycle and must not forget when the driver is made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cede.engine.dated import dated
from cede.engine.drive.roll import Roll
from cede.model.cluster import ClusterFile
from cede.state.snapshot import snapshot

Kept = Mapping[str, Any]
"""Plain JSON under the doctrine's name; empty if there is nothing."""


def kept_of(roll: Roll) -> dict[str, Any]:
    """What must outlive a restart."""
    found = _asked(roll, None)
    return {roll.doctrine.name: found} if found else {}


def recall(roll: Roll, kept: Kept) -> None:
    """The doctrine remembers this and nothing else; what another doctrine left behind counts for nothing."""
    found, recalled = kept.get(roll.doctrine.name), roll.doctrine.recalled
    roll.memory.clear()
    if found and recalled is not None:
        roll.memory.update(recalled(roll.state, found))


def moment_of(roll: Roll) -> ClusterFile:
    """The state's time as a cluster file, clocks and all, as a plan at that time finds it."""
    state = roll.state
    found = _asked(roll, state.now)
    return dated(snapshot(state), found) if found else snapshot(state)


def _asked(roll: Roll, at: int | None) -> dict[str, Any]:
    keep = roll.doctrine.kept
    return {} if keep is None or not roll.memory else keep(roll.state, roll.memory, at)
