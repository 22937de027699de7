"""One attempt of a job while it runs in a replay."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Attempt:
    """One attempt as the machine has it. `kept` is the work that is safe, in this attempt and before."""

    job: int
    number: int
    start: int
    kept: int
    works_from: int
    """Since when it does work that is not counted yet: after restoring, or after writing."""
    restored: int = 0
    worked: int = 0
    """Work of this attempt that is counted, up to where it stopped last."""
    overhead: int = 0
    stopped: int | None = None
    """Since when it does not work: it writes a checkpoint, or leaves."""
    hint: int = 0
    leaving: bool = False
    cause: str = ""
    lost_node: bool = False
    saved: bool = False
    told: int = 0
    """Up to when of its own checkpoints was told."""
    turn: int = 0
    """What it does next, by a number that is used once: anything else on the agenda of its job is off."""
    place: int = 0
    """Grows from one attempt to the next."""
