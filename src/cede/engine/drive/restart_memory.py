"""What a doctrine remembers from cycle to cycle, and the driver beside its records: it outlives a restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cede.engine.cycle import recalled_of
from cede.engine.dated import dated
from cede.engine.drive.job_table import JobTable
from cede.model.cluster import ClusterFile
from cede.state.snapshot import snapshot

CHECKPOINT_TIMES, EVICTIONS = "checkpoint_times", "evictions"
Kept = Mapping[str, Any]
"""Plain JSON under the doctrine's name, and under names of the driver's own; empty if there is nothing."""
Moment = tuple[ClusterFile, Kept]
"""A cluster file, and what the doctrine remembered that a file has no words for."""
_IN_FILES = ("apps", "queues", "nodes")


def kept_of(roll: JobTable) -> dict[str, Any]:
    """What must outlive a restart: what the doctrine remembers, and what the driver does beside its records."""
    found = _asked(roll, None)
    kept = {
        roll.doctrine.name: found,
        CHECKPOINT_TIMES: dict(roll.checkpoint_times.measured),
        EVICTIONS: roll.breaker.kept(),
    }
    return {name: value for name, value in kept.items() if value}


def recall(roll: JobTable, kept: Kept) -> None:
    """The doctrine remembers this and nothing else; what another doctrine left behind counts for nothing."""
    roll.memory.clear()
    roll.memory.update(recalled_of(roll.state, roll.doctrine, kept))


def recall_driver(roll: JobTable, kept: Kept) -> None:
    """The driver remembers this beside its records; workloads are entered with it."""
    roll.checkpoint_times.recall(kept.get(CHECKPOINT_TIMES, {}))
    roll.breaker.recall(kept.get(EVICTIONS, []))


def moment_of(roll: JobTable) -> Moment:
    """The state's time as a plan at that time finds it: a file, clocks and all, and what is remembered beside it."""
    state = roll.state
    found = _asked(roll, state.now)
    if not found:
        return snapshot(state, roll.entries), {}
    beyond = {key: value for key, value in found.items() if key not in _IN_FILES}
    return dated(snapshot(state, roll.entries), found), {roll.doctrine.name: beyond} if beyond else {}


def _asked(roll: JobTable, at: int | None) -> dict[str, Any]:
    keep = roll.doctrine.kept
    return {} if keep is None or not roll.memory else keep(roll.state, roll.memory, at)
