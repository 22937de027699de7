"""Which of those that run should write a checkpoint now, though nobody asks them to leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice import checkpoints
from cede.doctrines.lattice.lending import is_sensitive
from cede.doctrines.lattice.score import Scores, waiting_rows
from cede.doctrines.lattice.settings import POLICY, settings_of
from cede.doctrines.parts.cost import AUTO, gpu_nodes, nodes_of, unsaved
from cede.doctrines.parts.orders import Rows
from cede.model.times import SECOND, show_duration
from cede.state.columns import NEVER, RUNNING, Bools, Int64s
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Savings:
    """One entry a workload that runs and writes checkpoints when asked; `since` is what it would lose, in seconds."""

    rows: Rows
    since: checkpoints.Floats
    cost: checkpoints.Floats
    value: checkpoints.Floats
    due: Bools
    asks: Bools
    """Whether it should be asked now."""


def savings(state: State, edition: str) -> Savings:
    """The document counts from the last checkpoint on, or else from the start. The library counts what would be lost
    from the start, and one who never wrote a checkpoint is due at once."""
    work, size = state.work, state.work.size
    rows: Rows = np.flatnonzero((work.state[:size] == RUNNING) & (work.checkpoint[:size] == AUTO))
    policy = edition == POLICY
    began, last = work.started[rows], work.checkpoint_last[rows]
    since = unsaved(began, last if policy else np.full_like(last, NEVER), state.now) / SECOND
    told = last != NEVER
    age = np.where(told, (state.now - np.where(told, last, 0)) / SECOND, since if policy else np.inf)
    nodes, gpus = nodes_of(state, rows).astype(np.float64), gpu_nodes(state, rows)
    gib = checkpoints.size_gib(nodes)
    own = work.checkpoint_time[rows]
    write = np.where(own == NEVER, checkpoints.write_seconds(gib), own / SECOND)
    backlog = Scores(state, settings_of(state), policy=policy).backlog()
    higher = _higher(state, rows)
    costs = checkpoints.cost(write, gpus, gib)
    values = checkpoints.value(since, gpus, nodes, work.priority[rows].astype(np.float64), higher, backlog)
    late, may = _in_time(age, checkpoints.AUTO)
    strict, rarely = _in_time(age, checkpoints.SENSITIVE_AUTO)
    sensitive = is_sensitive(state)[rows]
    late, may = np.where(sensitive, strict, late), np.where(sensitive, rarely, may)
    begun = since > 0
    return Savings(rows, since, costs, values, late & begun, may & begun & (late | (values > costs)))


def saves(state: State, edition: str) -> Iterator[tuple[str, str]]:
    """Who should be asked for a checkpoint now, in the order of names, and why."""
    found = savings(state, edition)
    for at in sorted(np.flatnonzero(found.asks).tolist(), key=lambda at: state.work_names[found.rows[at]]):
        why = f"its last {show_duration(int(found.since[at]) * SECOND)} are saved nowhere"
        if found.value[at] > found.cost[at]:
            why += f"; a checkpoint is worth {found.value[at]:,.0f} and costs {found.cost[at]:,.0f}"
        yield state.work_names[found.rows[at]], why


def _in_time(age: checkpoints.Floats, rhythm: checkpoints.Rhythm) -> tuple[Bools, Bools]:
    return checkpoints.due(age, rhythm), checkpoints.allowed(age, rhythm)


def _higher(state: State, rows: Rows) -> checkpoints.Floats:
    """How many of a higher class wait, for each."""
    classes: Int64s = np.sort(state.work.priority[waiting_rows(state)])
    return (len(classes) - np.searchsorted(classes, state.work.priority[rows], "right")).astype(np.float64)
