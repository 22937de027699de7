"""What a preemption costs: the time to save, the work that cannot be saved, the time to start again, and how near the
end it comes. One function for whoever chooses by it and for whoever only reports it.

Minutes, to six decimals. GPUs are the resources whose name is or ends in `gpu`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.orders import Rows
from cede.model.cluster import DoctrineChoice
from cede.model.quantities import NANO
from cede.model.resources import is_gpu
from cede.model.times import SECOND, parse_duration
from cede.state.columns import CHECKPOINTS, NEVER, Bools, Int64s
from cede.state.state import State

Floats = npt.NDArray[np.float64]

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
PARTS = 1_000_000
"""How many parts of a minute are told apart."""
MOST = float(1 << 53)
"""Parts of a minute beyond which costs are not told apart: nine billion minutes, so that sums stay whole numbers."""

NO_CHECKPOINT, AUTO, MANUAL = (CHECKPOINTS.index(mode) for mode in ("none", "auto", "manual"))
EARLY, LATE = 0.1, 0.9
JUST_BEGUN, NEARLY_DONE = 1.0, 1000.0
FEW = 8
"""Of less than one in so many workloads the nodes are looked up one by one; else all are gone through at once."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is taken where a workload does not say: how long it writes a checkpoint, how long it takes to start again.

    `age`: for how old a checkpoint those are charged who never told of one, in microseconds; none: since they began.
    """

    auto: int = 5 * MINUTE
    manual: int = 10 * MINUTE
    restart: int = 0
    age: int | None = None


ASSUMED = Assumed()


def assumed_by(choice: DoctrineChoice | None) -> Assumed:
    """What a doctrine's settings say of it; the rest as it is by default."""
    given = None if choice is None else choice.settings.get("manual_checkpoint_time")
    return ASSUMED if given is None else Assumed(manual=parse_duration(given))


@dataclass(frozen=True, slots=True)
class Costs:
    """One entry a workload: what its preemption costs, in minutes; `gpus` is what it holds of GPUs."""

    checkpoint: Floats
    lost: Floats
    progress: Floats
    restart: Floats
    gpus: Floats
    held: Floats
    """For how long what it holds is wasted, in minutes: while it saves or for what it cannot save, and starts again."""

    @property
    def total(self) -> Int64s:
        """The cost in millionths of a minute, so that costs equal on paper are equal here."""
        return _in_parts(self.checkpoint + self.lost + self.progress + self.restart)

    @property
    def gpu_hours(self) -> Floats:
        """GPU-hours that are thrown away."""
        hours: Floats = self.gpus * self.held / 60
        return hours


def costs_of(state: State, rows: Rows, assumed: Assumed = ASSUMED) -> Costs:
    """What the preemption of each of these workloads would cost now."""
    saves, checkpoint, lost, progress = _minutes(state, rows, assumed)
    restart = np.full(len(rows), assumed.restart / MINUTE)
    return Costs(
        checkpoint=checkpoint,
        lost=lost,
        progress=progress,
        restart=restart,
        gpus=gpus_held(state, rows),
        held=wasted(saves, checkpoint, _since(state, rows, assumed), restart),
    )


def total_costs(state: State, rows: Rows, assumed: Assumed = ASSUMED) -> Int64s:
    """The totals of the same, for who does not ask what they are made of."""
    _, checkpoint, lost, progress = _minutes(state, rows, assumed)
    return _in_parts(checkpoint + lost + progress + assumed.restart / MINUTE)


def _in_parts(minutes: Floats) -> Int64s:
    return np.rint(np.minimum(minutes * PARTS, MOST)).astype(np.int64)


def _minutes(state: State, rows: Rows, assumed: Assumed) -> tuple[Bools, Floats, Floats, Floats]:
    """Who saves its work, for how long, what the others lose, and what their progress adds."""
    mode, own = state.work.checkpoint[rows], state.work.checkpoint_time[rows]
    saves: Bools = mode != NO_CHECKPOINT
    takes = np.where(own == NEVER, np.where(mode == MANUAL, assumed.manual, assumed.auto), own)
    lost, bare = np.zeros(len(rows)), ~saves
    lost[bare] = _since(state, rows[bare], assumed) * gpu_nodes(state, rows[bare])
    return saves, np.where(saves, takes, 0) / MINUTE, lost, progress_of(*elapsed_of(state, rows))


def _since(state: State, rows: Rows, assumed: Assumed) -> Floats:
    """How long each has worked since it can go back to something, in minutes."""
    work = state.work
    return unsaved(work.started[rows], work.checkpoint_last[rows], state.now, assumed.age) / MINUTE


def unsaved(began: Int64s, last: Int64s, now: int, age: int | None = None) -> Int64s:
    """How long each has worked since it can go back to something, in microseconds: a checkpoint, or its beginning.

    `NEVER` of one that did not begin, and of one that never told of a checkpoint. With an `age` the silent are charged
    as if they had saved when others did: silence protects nothing. Those who told are charged at least as much:
    publishing never makes a workload the likelier victim.
    """
    begun, told = began != NEVER, last != NEVER
    worked = np.where(begun, np.maximum(0, now - np.where(begun, began, now)), 0)
    own = np.where(told, np.minimum(worked, np.maximum(0, now - np.where(told, last, now))), worked)
    return own if age is None else np.where(told, np.maximum(own, np.minimum(worked, age)), np.minimum(worked, age))


@overload
def wasted(saves: bool, takes: int, unsaved: int, restart: int) -> int: ...
@overload
def wasted(saves: Bools, takes: Floats, unsaved: Floats, restart: Floats) -> Floats: ...
def wasted(saves: bool | Bools, takes: int | Floats, unsaved: int | Floats, restart: int | Floats) -> int | Floats:
    """For how long what a workload holds is of no use because it goes, of one or of many: while it saves its work, or
    for the work that it cannot save, and until it has started again."""
    return saves * takes + (1 - saves) * unsaved + restart  # type: ignore[return-value]  # numpy's stubs say any float


def elapsed_of(state: State, rows: Rows) -> tuple[Int64s, Int64s]:
    """How long each has run, not begun being nothing, and its walltime; in microseconds."""
    started = state.work.started[rows]
    elapsed = np.where(started == NEVER, 0, np.maximum(0, state.now - np.where(started == NEVER, 0, started)))
    return elapsed, state.work.walltime[rows]


def progress_of(elapsed: Int64s, walltime: Int64s) -> Floats:
    """What the share of the walltime that is used adds: little at first, very much near the end; both in one unit."""
    bounded = walltime != NEVER
    used = np.divide(elapsed, walltime, out=np.ones(len(elapsed)), where=walltime > 0)
    progress = np.where(used >= LATE, NEARLY_DONE, np.where(used < EARLY, JUST_BEGUN, 100 * used))
    return np.where(bounded, progress, 0.0)


# -- nodes and GPUs --------------------------------------------------------------------------------------------------


def gpu_columns(state: State) -> list[int]:
    """Columns of GPUs in no flavor; what is in a flavor is counted there too."""
    return [column for column in state.units.plain if is_gpu(state.units.names[column])]


def gpus_of(state: State, counts: Int64s) -> Floats:
    """How many GPUs each place of these amounts has; one row a column."""
    return _sum(state, counts, gpu_columns(state)) / NANO


def _sum(state: State, counts: Int64s, columns: list[int]) -> Floats:
    """In nano-units, which are whole numbers: so it does not matter in which order they are added."""
    nano = np.zeros(counts.shape[1:])
    for column in columns:
        nano += counts[column].astype(np.float64) * state.units.nano[column]
    return nano


def nodes_of(state: State, rows: Rows) -> Int64s:
    """How many nodes each takes: its members if each has a node to itself, else those it stands on."""
    return _taken(state, rows, _standing(state, rows))


def gpu_nodes(state: State, rows: Rows) -> Floats:
    """Nodes times GPUs per node; a node, or a member, without GPUs counts 1."""
    return _gpus_taken(state, rows, _standing(state, rows))


def sizes_of(state: State, rows: Rows) -> tuple[Int64s, Floats]:
    """Both of them."""
    standing = _standing(state, rows)
    return _taken(state, rows, standing), _gpus_taken(state, rows, standing)


def _taken(state: State, rows: Rows, standing: Floats) -> Int64s:
    return np.where(state.work.exclusive[rows], state.work.members[rows], standing).astype(np.int64)


def _gpus_taken(state: State, rows: Rows, standing: Floats) -> Floats:
    whole = state.work.exclusive[rows]
    per_member = _asked(state, rows)
    shared = standing * np.where(per_member > 0, per_member, 1.0)
    if not whole.any():
        return shared
    nodes = _of_nodes(state)
    there = _per_work(state, rows, np.where(nodes > 0, nodes, NANO)) / NANO
    return np.where(whole, np.where(there > 0, there, state.work.members[rows]), shared)


def gpus_held(state: State, rows: Rows) -> Floats:
    """GPUs that no other work can use while it is there."""
    whole: Bools = state.work.exclusive[rows]
    held = _sum(state, state.work.usage[:, rows], _in_all_flavors(state)) / NANO
    asked = np.where(held > 0, held, _asked(state, rows) * state.work.members[rows])
    if not whole.any() or not state.nodes.size:
        return asked
    there = _per_work(state, rows, _of_nodes(state)) / NANO
    return np.where(whole & (state.work.resident[rows] >= 0), there, asked)


def _in_all_flavors(state: State) -> list[int]:
    """The columns of GPUs of what is held of quota: each amount in its flavor, or in none."""
    return [column for column, name in enumerate(state.units.names) if is_gpu(name)]


def _of_nodes(state: State) -> Floats:
    return _sum(state, state.nodes.capacity[:, : state.nodes.size], gpu_columns(state))


def _asked(state: State, rows: Rows) -> Floats:
    """GPUs that one member asks for, in the mean where they differ."""
    gpus = np.zeros(len(rows))
    for column in gpu_columns(state):
        gpus += state.work.need[column][rows].astype(np.float64) * state.units.nano[column]
    gpus /= NANO
    for at, row in enumerate(rows.tolist() if state.parts else ()):
        if row in state.parts:
            members = state.members_of(row)
            gpus[at] = gpus_of(state, np.sum(members, axis=0)[:, None])[0] / len(members)
    return gpus


def _standing(state: State, rows: Rows) -> Floats:
    """On how many nodes each stands; its members where a file without nodes does not say."""
    nodes = _per_work(state, rows, None)
    return np.where(nodes > 0, nodes, state.work.members[rows])


def _per_work(state: State, rows: Rows, worth: Floats | None) -> Floats:
    """The sum over the nodes that each stands on; their number, if they are worth nothing."""
    residents, size = state.residents, state.residents.size
    if len(rows) * FEW <= state.work.size:
        standing = residents_of_all(state, rows)
        on = None if worth is None else worth[residents.node[standing]]
        return _sums(residents.work[standing], on, state.work.size)[rows]
    on = None if worth is None or not size else worth[residents.node[:size]]
    if residents.unused:
        live = (residents.count[:size] > 0).astype(np.float64)
        on = live if on is None else on * live
    return _sums(residents.work[:size], on, state.work.size)[rows]


def _sums(works: Rows, amounts: Floats | None, count: int) -> Floats:
    return np.bincount(works, amounts, count).astype(np.float64, copy=False)
