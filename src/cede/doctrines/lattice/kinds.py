"""What is kept of one that waits, by what decides about it, and of one that has room."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from cede.doctrines.lattice.room_bounds import RoomBound
from cede.doctrines.lattice.victim_costs import BEYOND, CostFloor, Price
from cede.doctrines.parts.best_fit import NodeIndex, Shape
from cede.doctrines.parts.claim import Claim
from cede.model.plan import Decision

Key = tuple[int, str, str, int]
"""The place of one among those that score alike but for their wait: submission, uid, name; then the row."""
Wait = tuple[int, int, bool]
"""Of one that waits, and may preempt: its class, its queue, and whether it claims its nodes."""


@dataclass(slots=True, eq=False)
class Form:
    """Workloads that are alike in all that decides about them but their walltime and what is remembered of them."""

    claim: Claim
    queue: int
    priority: int
    partition: int
    tenant: int
    preempts: bool
    limited: bool
    claims: bool
    """Whether it is a sensitive claim on nodes it names."""
    steady: bool
    """Whether it may sleep: less room never helps it, and nothing but room and candidates keeps it waiting."""
    refusal: Decision | None
    members: int
    idle_room: RoomBound
    """How many of its members find room now."""
    freeable_room: RoomBound
    """The same if all that may be taken left; of the library, which does not look at nodes, as it is now."""
    size: float
    """What it asks for, in GPUs of nodes; in nodes, as the library counts."""
    topology: float
    scored: dict[tuple[int, int], tuple[bool, list[float], list[float], float]] = field(default_factory=dict)
    """By how it is saved, what the scores of a line are made of."""
    kinds: dict[Kind, None] = field(default_factory=dict)
    """Those that some workload waits with."""
    shut: bool = False
    """It finds no room, and would not if all that could be taken left."""
    dozes: bool = False
    """Some of its kinds sleep."""
    floor: CostFloor | None = None
    """What victims cost at least, if that is told node by node: who is worth no more may sleep."""
    shape: Shape | None = None
    """What a member takes, where the index of its nodes tells where it goes."""
    index: NodeIndex | None = None
    yields: bool = False
    """Whether one that runs may be taken for a claimant."""


@dataclass(slots=True, eq=False)
class Kind:
    """Of one form those with the same walltime, of which the same is remembered: all of them get one answer.

    One that took others in vain is a kind of its own."""

    form: Form
    walltime: int
    remembered: tuple[str, ...]
    in_vain: Set[str] = frozenset()
    """What was taken for it before and did not make it fit, as the memory has it."""
    value: int = BEYOND
    """What it is worth, where victims must cost less than that."""
    lines: dict[tuple[int, int], Line] = field(default_factory=dict)
    count: int = 0
    enough: tuple[tuple[int, int], str] | None = None
    """Under the library: who alone holds as many nodes as it wants, and by which partition and class that is found."""
    too_few_at: int = -1
    """And when those who may be taken were too few."""


@dataclass(slots=True, eq=False)
class Line:
    """Of one kind those who are saved as easily: they score alike but for how long they wait."""

    kind: Kind
    plain: bool
    """Whether it is scored without a view of the cluster."""
    weights: list[float]
    fixed: list[float]
    """Weighted factors that stay as they are; those that do not are left out."""
    budget: float
    entries: list[Key] = field(default_factory=list)


@dataclass(slots=True)
class Waiting:
    line: Line
    key: Key
    hours: int


@dataclass(slots=True, eq=False)
class Profile:
    """What workloads share that are alike but for when they came and began, and for their walltime: read off the
    columns of one of them, so that those of the others need not be written to be read."""

    queue: int
    partition: int
    tenant: int
    priority: int
    checkpoint: int
    exclusive: bool
    open: bool
    """Whether one that runs may be taken at all."""
    shielded: bool
    """Whether nobody takes it for a higher class, where no node has a home."""
    gpus: float
    """GPUs of a node, of one that shares its nodes."""
    amounts: list[int]
    """What a member takes of its node."""
    forms: dict[int, Form] = field(default_factory=dict)
    """By the state that one waits in, its form."""


@dataclass(slots=True)
class Holding:
    """What is kept of one that has room: where, what may be taken of it, and what it adds to sums."""

    name: str
    code: int
    nodes: list[int]
    counted: bool
    tenant: int
    size: int
    hours: int
    timed: bool
    open: bool
    partition: int
    priority: int
    amounts: list[list[int]]
    price: Price | None
    shielded: bool
    """Whether nobody takes it for a higher class, where no node has a home."""
