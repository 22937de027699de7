"""The nine factors of a score, the weights that a vCluster's type gives them, and the budget's multiplier.

Plain numbers in, plain numbers out; arrays where all that waits is scored at once.
"""

from __future__ import annotations

from math import ceil, cos, pi
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cede.doctrines.lattice.settings import TYPES

Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", float, Floats)

NAMES = ("class", "wait", "share", "topology", "data", "backlog", "energy", "checkpoint", "conformance")
UNKNOWN = 0.5
"""What a factor counts whose input is not known."""
QUIET = 0.8
"""Up to this use of the whole system a burst allowance counts, and up to this use of a budget nothing is taken off."""
DAY = 24.0
"""Hours that work without a walltime is taken to last."""

_DOCUMENT = {
    "hpc_batch": (0.15, 0.20, 0.20, 0.15, 0.10, 0.05, 0.00, 0.05, 0.10),
    "ml_training": (0.10, 0.10, 0.10, 0.25, 0.15, 0.05, 0.05, 0.10, 0.10),
    "service": (0.15, 0.05, 0.10, 0.05, 0.10, 0.05, 0.10, 0.10, 0.30),
    "sensitive": (0.90, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.10),
    "interactive": (0.10, 0.30, 0.10, 0.00, 0.05, 0.15, 0.00, 0.00, 0.30),
}
_DEFAULT = (0.20, 0.20, 0.20, 0.15, 0.10, 0.05, 0.00, 0.00, 0.10)
_CHECKPOINT = NAMES.index("checkpoint")
SEED_ML_CHECKPOINT = 0.15


def weights(*, normalized: bool) -> Floats:
    """One row a type of vCluster, a last one for none. Normalized: as the policy has them, each row a sum of 1."""
    table = np.array([*(_DOCUMENT[name] for name in TYPES), _DEFAULT])
    if normalized:
        table[TYPES.index("ml_training"), _CHECKPOINT] = SEED_ML_CHECKPOINT
        table /= table.sum(axis=1, keepdims=True)
    return table


def added(a: Number, b: Number, c: Number, d: Number, e: Number, f: Number, g: Number, h: Number, i: Number) -> Number:
    """The sum of nine weighted factors, always added in this order: the same to the last bit of one and of many."""
    return ((a + b) + (c + d)) + ((e + f) + (g + h)) + i


def of_class(class_: Number) -> Number:
    return class_ / 10


def of_wait(seconds: Number, reference: float = 3600.0) -> Number:
    found: Number = np.log1p(np.maximum(0.0, seconds) / reference)
    return found


def of_waited(seconds: float) -> float:
    """`of_wait` of one that has waited so long, which is not less than nothing."""
    found: float = np.log1p(seconds / 3600.0)
    return found


def of_share(target: float, actual: float, burst: float | None, utilization: float) -> float:
    """How far a tenant is below its target share; the target is higher for a burst while the system is quiet."""
    if burst and utilization < QUIET:
        target *= 1 + burst * (QUIET - utilization) / QUIET
    return UNKNOWN if target <= 0 else max(0.0, target - actual) / target


def of_groups(needed: int, groups: int) -> float:
    """As the document has it: the fewer of the groups it needs the better."""
    return UNKNOWN if groups <= 0 else 1 - min(needed, groups) / groups


def of_topology(nodes: int, groups: int, locality: float = UNKNOWN) -> float:
    """As the library has it: between groups, and within nodes."""
    between = UNKNOWN
    if groups > 0:
        between = 1 - min(1.0, max(1, ceil(nodes / groups)) / groups)
    blend = 0.3 if nodes <= 1 else 0.7
    return blend * between + (1 - blend) * locality


def of_backlog(queued: float, running: float) -> float:
    """Queued over running GPU-hours, of which there is at least 1."""
    return min(1.0, queued / max(1.0, running))


def of_checkpoint(minutes: float | None) -> float:
    """How easily it is saved; not at all for one without checkpoints."""
    return 0.0 if minutes is None else 1 / (1 + minutes)


def of_conformance(largest: int, nodes: int, *, capped: bool) -> float:
    """The largest set of identical nodes over what is asked for."""
    found = largest / max(1, nodes)
    return min(1.0, found) if capped else found


def of_budget(used: float | None) -> float:
    """What a score is multiplied by: less and less from four fifths of the budget on, never nothing."""
    if used is None or used <= QUIET:
        return 1.0
    if used >= 1.2:
        return 0.05
    return 0.05 + 0.95 * (1 + cos(pi * (used - QUIET) / 0.4)) / 2
