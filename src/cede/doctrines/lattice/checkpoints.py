"""Whether a checkpoint is worth writing though nobody must leave: its cost against its value, and how often.

Plain numbers in, plain numbers out; arrays where all that runs is looked at at once. Cost and value add up seconds,
GPU-seconds and money, as the library does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

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


AUTO = Rhythm(300.0, 21_600.0)
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
