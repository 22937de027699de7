"""Values as Slurm writes them: states, lengths of time, and trackable resources."""

from __future__ import annotations

import re
from decimal import Decimal

from cede.model.errors import shown
from cede.model.quantities import NANO
from cede.model.times import LONGEST, SECOND
from cede.sim.traces.trace import Shape

OUTCOMES: dict[str, str | None] = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "TIMEOUT": "failed",
    "DEADLINE": "failed",
    "OUT_OF_MEMORY": "failed",
    "BOOT_FAIL": "failed",
    "LAUNCH_FAILED": "failed",
    "SPECIAL_EXIT": "failed",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "PREEMPTED": "evicted",
    "NODE_FAIL": "evicted",
    "REQUEUED": "evicted",
    "RUNNING": "running",
    "COMPLETING": "running",
    "CONFIGURING": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "STAGE_OUT": "running",
    "STOPPED": "running",
    "SUSPENDED": "running",
    "PENDING": None,
    "REQUEUE_FED": None,
    "REQUEUE_HOLD": None,
    "RESV_DEL_HOLD": None,
}
RETRIED = [state for state, outcome in OUTCOMES.items() if outcome == "evicted"]

_SPAN = re.compile(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]+))?(?::([0-9]+))?(\.[0-9]+)?")
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTPE]?)")
_POWERS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_GPU = "gres/gpu"


def parse_span(value: str) -> int:
    """Microseconds of `[DAYS-]HH:MM:SS`, or `MM:SS` or minutes where there are no days."""
    found = _SPAN.fullmatch(value)
    if found is None:
        raise ValueError(f"{shown(value)} is no length of time like 1-02:30:00")
    days, *parts = found.groups()[:4]
    first, second, third = (int(part or 0) for part in parts)
    if days is not None or parts[2] is not None:
        total = int(days or 0) * 86400 + first * 3600 + second * 60 + third
    else:
        total = first * 60 + second
    if total * SECOND > LONGEST:
        raise ValueError(f"{shown(value)} is out of range; the longest duration is 100 years, which is 876600h")
    return total * SECOND + round(Decimal(f"0{found[5] or ''}") * SECOND)


def tres_of(value: str) -> dict[str, int]:
    """Nano-units of `cpu=8,mem=64G,node=1,gres/gpu=4` by Cede's names; `node` counts nodes. Others are passed over."""
    found: dict[str, int] = {}
    typed = 0
    for part in value.split(","):
        name, equals, amount = part.partition("=")
        if not equals:
            raise ValueError(f"{shown(part)} is no resource like cpu=8")
        if name in ("cpu", "node", _GPU) or name.startswith(f"{_GPU}:"):
            if not amount.isascii() or not amount.isdigit():
                raise ValueError(f"{shown(part)} is no count")
            if name.startswith(f"{_GPU}:"):
                typed += int(amount)
            else:
                found["gpu" if name == _GPU else name] = int(amount) * NANO
        elif name == "mem":
            found["memory"] = _memory(amount)
    if typed and "gpu" not in found:
        found["gpu"] = typed * NANO
    return found


def _memory(amount: str) -> int:
    """Slurm's letters are powers of 1024, and megabytes where there is none."""
    found = _MEMORY.fullmatch(amount)
    if found is None:
        raise ValueError(f"{shown('mem=' + amount)} is no amount of memory like 64G")
    return int(Decimal(found[1]) * 2 ** _POWERS[found[2] or "M"]) * NANO


def shape_of(tres: str | None, nodes: int | None, cpus: int | None, *, memory: bool) -> Shape:
    """A member for each node with its part of everything; if that does not come out even, one that can be divided."""
    total = {} if tres is None else tres_of(tres)
    members = total.pop("node", 0) // NANO or nodes or 1
    if cpus:
        total.setdefault("cpu", cpus * NANO)
    if not memory:
        total.pop("memory", None)
    total = {name: nano for name, nano in total.items() if nano}
    # Memory is divided to the byte: what is left over is less than one a node.
    counts = [nano // NANO for name, nano in total.items() if name != "memory"]
    if any(count % members for count in counts):
        return Shape(total, divisible=True)
    return Shape({name: -(-nano // (members * NANO)) * NANO for name, nano in total.items()}, members)
