"""What the report shows, as plain values: the page and its plots are made from these alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cede.sim.verdicts import Judgement

Mark = Literal["best", "near", ""]
"""Of one number in its row: the best, not told apart from the best, or neither."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number: its value, how far it spreads between seeds (None: one seed), and its mark."""

    value: float | None
    spread: float | None = None
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One measure, with a cell for each run. `better` is low, high or, where neither is, nothing."""

    measure: str
    title: str
    unit: str
    better: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """The rows of one group of jobs: `by` is all, priority, queue or size, `group` which one, `jobs` how many."""

    by: str
    group: str
    jobs: int
    sections: tuple[tuple[str, tuple[Row, ...]], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure is, in words."""

    measure: str
    title: str
    unit: str
    better: str
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Use of the main resource by one run. Entry k of every series is the mean over [times[k], times[k + 1])."""

    times: Sequence[float]
    capacity: Sequence[float]
    waiting: Sequence[float]
    by_queue: Mapping[str, Sequence[float]]
    by_priority: Mapping[str, Sequence[float]]
    preemptions: Sequence[int]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Steps of a cumulative share: `share[k]` of the jobs have a value of at most `values[k]`."""

    values: Sequence[float]
    share: Sequence[float]


@dataclass(frozen=True, slots=True)
class Balance:
    """Where capacity x time, the whole, went: hours of the main resource."""

    whole: float
    useful: float
    lost: float
    overhead: float
    held: float
    idle: float
    down: float


@dataclass(frozen=True, slots=True)
class Party:
    """A job as the table of preemptions names it: `size` is of the main resource."""

    name: str
    queue: str | None
    priority: int | None
    size: float
    members: int = 1


@dataclass(frozen=True, slots=True)
class Costly:
    """One preemption. Times in seconds since the begin; `left` is None if the victim had not left at the end."""

    decision: int
    at: float
    victim: Party
    claimant: Party | None
    rule: str
    why: str
    lost_hours: float
    overhead_hours: float
    left: float | None
    moment: str | None
    """The cluster file of that moment, as a path relative to the report."""
    asked_for: str | None = None
    """What the claimant is called there, if it is one allocation of a job of several."""


@dataclass(frozen=True, slots=True)
class Run:
    """One doctrine with its settings, as the report shows it."""

    label: str
    about: str
    balance: Balance
    timeline: Timeline
    distributions: Mapping[str, Distribution]
    spent: Sequence[float]
    """Hours of the main resource that each preemption cost."""
    costly: tuple[Costly, ...]
    preemptions: int
    loops: tuple[str, ...] = ()
    judged: bool = True
    source: str | None = None
    """The Python file that its doctrine is in, if no package has it."""


@dataclass(frozen=True, slots=True)
class Content:
    """The whole report. `facts` are what was compared, as pairs; `notes` must stand beside the numbers."""

    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    resource: str
    runs: tuple[Run, ...]
    tables: tuple[Grouped, ...]
    definitions: tuple[Definition, ...]
    stated: tuple[str, ...] = ()
    """How it was measured, as sentences."""
    judgement: Judgement | None = None
    """What it comes to; none where nothing was compared and somebody had to wait."""
    seeds: int = 1
    plotted_seed: int | None = None
    """Which of several seeds the plots and the preemptions are of."""
