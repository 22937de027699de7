"""Whether a checkpoint is worth writing though nothing must leave: its cost against its value, and how often.

Plain numbers in, plain numbers out; arrays where all that runs is looked at at once. Cost and value add up seconds,
GPU-seconds and money, as the library does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cede.doctrines.lattice.lending import is_sensitive
from cede.doctrines.lattice.score import Scores, waiting_rows
from cede.doctrines.lattice.settings import POLICY, settings_of
from cede.doctrines.parts.cost import AUTO, gpu_nodes, nodes_of, unsaved
from cede.doctrines.parts.orders import Rows
from cede.model.times import SECOND, show_duration
from cede.state.columns import NEVER, RUNNING, Bools, Int64s
from cede.state.state import State

Floats = npt.NDArray[np.float64]


PER_WAITING = 100.0
"""What somebody of a higher class who waits adds to the value of a checkpoint of class 0."""
PER_NODE = 60.0
"""What a node adds that is held while as much waits as runs."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What a checkpoint is written from and to: GPU memory of a node, write bandwidth, the price of a GiB."""

    gib_a_node: float = 80.0
    gib_a_second: float = 10.0
    price: float = 0.02


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How old a checkpoint must at least be before the next one is asked for, and from what age on one is due."""

    least_s: float
    most_s: float


AUTO_RHYTHM = Rhythm(300.0, 21_600.0)
SENSITIVE_AUTO = Rhythm(600.0, 3_600.0)
STORAGE = Storage()
FAILS = 0.001
"""How likely an attempt is taken to fail."""


def size_gib(nodes: Floats, storage: Storage = STORAGE) -> Floats:
    return nodes * storage.gib_a_node


def write_seconds(gib: Floats, storage: Storage = STORAGE) -> Floats:
    """How long it takes to write so much: for ever if the storage takes nothing."""
    if storage.gib_a_second <= 0:
        return np.full_like(gib, np.inf)
    return gib / storage.gib_a_second


def cost(write_s: Floats, gpus: Floats, gib: Floats, storage: Storage = STORAGE) -> Floats:
    """The time it takes, what all its GPUs lose meanwhile, and what the storage costs."""
    return write_s + write_s * gpus + gib * storage.price


def value(
    unsaved_s: Floats,
    gpus: Floats,
    nodes: Floats,
    class_: Floats,
    higher: Floats,
    backlog: float,
    fails: float = FAILS,
) -> Floats:
    """What a failure would lose; that the victim of a higher class leaves quickly; that nodes come free for others."""
    return unsaved_s * gpus * fails + higher * PER_WAITING * (1 - class_ / 10) + backlog * nodes * PER_NODE


def due(age_s: Floats, rhythm: Rhythm) -> Bools:
    """Whether the last checkpoint is too old; an infinite age is that of one who never wrote any."""
    return age_s >= rhythm.most_s


def allowed(age_s: Floats, rhythm: Rhythm) -> Bools:
    """Whether another one may be asked for yet."""
    return age_s >= rhythm.least_s


@dataclass(frozen=True, slots=True)
class Savings:
    """One entry a workload that runs and writes checkpoints when asked; `since` is what it would lose, in seconds."""

    rows: Rows
    since: Floats
    cost: Floats
    value: Floats
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
    gib = size_gib(nodes)
    own = work.checkpoint_time[rows]
    write = np.where(own == NEVER, write_seconds(gib), own / SECOND)
    backlog = Scores(state, settings_of(state), policy=policy).backlog()
    higher = _higher(state, rows)
    costs = cost(write, gpus, gib)
    values = value(since, gpus, nodes, work.priority[rows].astype(np.float64), higher, backlog)
    late, may = _in_time(age, AUTO_RHYTHM)
    strict, rarely = _in_time(age, SENSITIVE_AUTO)
    sensitive = is_sensitive(state)[rows]
    late, may = np.where(sensitive, strict, late), np.where(sensitive, rarely, may)
    begun = since > 0
    return Savings(rows, since, costs, values, late & begun, may & begun & (late | (values > costs)))


def saves(state: State, edition: str) -> Iterator[tuple[str, str]]:
    """Who should be asked for a checkpoint now, in the order of names, and why."""
    table = savings(state, edition)
    for at in sorted(np.flatnonzero(table.asks).tolist(), key=lambda at: state.work_names[table.rows[at]]):
        why = f"its last {show_duration(int(table.since[at]) * SECOND)} are saved nowhere"
        if table.value[at] > table.cost[at]:
            why += f"; a checkpoint is worth {table.value[at]:,.0f} and costs {table.cost[at]:,.0f}"
        yield state.work_names[table.rows[at]], why


def _in_time(age: Floats, rhythm: Rhythm) -> tuple[Bools, Bools]:
    return due(age, rhythm), allowed(age, rhythm)


def _higher(state: State, rows: Rows) -> Floats:
    """How many of a higher class wait, for each."""
    classes: Int64s = np.sort(state.work.priority[waiting_rows(state)])
    return (len(classes) - np.searchsorted(classes, state.work.priority[rows], "right")).astype(np.float64)
