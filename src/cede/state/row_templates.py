"""Rows of workloads that differ in little: the rest of the row is kept, and put down at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from cede.model.cluster import Checkpoint, Workload
from cede.model.workloads import PodSet
from cede.state.amounts import Ask
from cede.state.columns import CHECKPOINTS, Int64s, WorkloadColumns
from cede.state.units import Counted, Units

NO_CHECKPOINT = CHECKPOINTS.index("none")
MOST = 256
"""Templates that are kept; kinds of work are few."""

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RowTemplate:
    """A row as `entry.enter` fills it, what it adds to all that is known, and some of it in plain values.

    `need` is what one member takes of a node, by column. `saves`: it says that it writes checkpoints.
    """

    image: list[Any]
    load: Mapping[str, int]
    counted: Counted
    """The load by column."""
    need: tuple[tuple[int, int], ...]
    members: int
    queue: int
    partition: int
    placement: int
    preemptible: bool
    preempts: bool
    kind: int
    saves: bool
    checkpoint_last: int
    checkpoint_time: int


def template_of(work: WorkloadColumns, units: Units, row: int, load: Mapping[str, int]) -> RowTemplate:
    """The template from which this row could have been made."""
    need = work.need[:, row].tolist()
    return RowTemplate(
        work.image(row),
        load,
        units.columns_of(load),
        tuple((column, count) for column, count in enumerate(need) if count),
        int(work.members[row]),
        int(work.queue[row]),
        int(work.partition[row]),
        int(work.placement[row]),
        bool(work.preemptible[row]),
        bool(work.preempts[row]),
        int(work.kind[row]),
        bool(work.checkpoint[row] != NO_CHECKPOINT),
        int(work.checkpoint_last[row]),
        int(work.checkpoint_time[row]),
    )


@dataclass(frozen=True, slots=True)
class Admission:
    """What changes in the row of a workload that is admitted with some members; how much `more` that adds to all that
    is known, and what the workload adds then in all."""

    need: Int64s
    usage: Int64s
    members: int
    requests: Mapping[str, int] | None
    ask: Ask
    more: Mapping[str, int]
    load: Mapping[str, int]


def key_of(workload: Workload) -> Key | None:
    """What two entries must share to have the same row but for what `State.submit` fills in; none for the rare ones."""
    entry = workload.__dict__  # an attribute of a checked entry takes five times as long, and there are twenty
    if _rare(entry) != _NONE_OF_THEM:
        return None
    saves: Checkpoint | None = entry["checkpoint"]
    return (
        tuple(entry["requests"].items()),
        _plain(entry),
        None if saves is None else (saves.mode, saves.last, saves.time),
    )


_RARE = ("pod_sets", "usage", "nodes", "required_node", "constraints", "started")
_rare = itemgetter(*_RARE)
_NONE_OF_THEM = (None,) * len(_RARE)
_plain = itemgetter(
    *("queue", "members", "kind", "app", "domain", "tenant", "exclusive"),
    *("placement", "preemptible", "preempts", "originator", "sensitive", "state"),
)


class RowTemplates:
    """Templates by key, and how much each row made from one adds to all that is known; and the same of workloads that
    are admitted with other members than they ask for."""

    def __init__(self) -> None:
        self.kept: dict[Key, RowTemplate] = {}
        self.loads: dict[int, Mapping[str, int]] = {}
        self.admissions: dict[Hashable, Admission] = {}
        self.parts: dict[Hashable, tuple[PodSet, ...]] = {}
        self.admitted: dict[int, Admission] = {}

    def keep(self, key: Key, template: RowTemplate) -> None:
        if len(self.kept) >= MOST:
            self.kept.clear()
        self.kept[key] = template

    def keep_admission(self, key: Hashable, admission: Admission) -> None:
        if len(self.admissions) >= MOST:
            self.admissions.clear()
        self.admissions[key] = admission

    def keep_parts(self, key: Hashable, parts: tuple[PodSet, ...]) -> None:
        if len(self.parts) >= MOST:
            self.parts.clear()
        self.parts[key] = parts

    def clear(self) -> None:
        """Nodes, queues or units changed."""
        self.kept.clear()
        self.admissions.clear()
        self.parts.clear()
