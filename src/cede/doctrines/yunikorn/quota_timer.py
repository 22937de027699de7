"""Since when a queue is above its max, and when it will be cut back for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cede.doctrines.yunikorn.sparse_amounts import Vector, within

Limits = Mapping[str, int]
TIMERS = "yunikorn-quota"
"""Where they are in the memory."""


@dataclass(frozen=True, slots=True)
class Timer:
    """`start` is when the queue is cut back, None while no timer runs; limit and delay are as they were seen last.

    `taken` are the victims of a run whose departure was not seen yet. `over`: usage was above the limit.
    """

    limit: Vector[str] = None
    delay: int = 0
    start: int | None = None
    over: bool = False
    taken: tuple[str, ...] = ()


@dataclass(slots=True)
class Timers:
    """By name of the queue."""

    by_queue: dict[str, Timer] = field(default_factory=dict)


def fires(timer: Timer, used: Limits, now: int) -> bool:
    """Whether the start time is reached and usage is not within the limit."""
    due = timer.start is not None and timer.start <= now
    return due and not (timer.limit and within(timer.limit, used))


def first_seen(limit: Vector[str], delay: int, used: Limits, now: int, since: int | None) -> Timer:
    """A queue that nothing is known of: above its limit since the time given, or else from now on."""
    over = exceeds(limit, used)
    start = (now if since is None else since) + delay if over and delay else None
    return Timer(limit, delay, start, over)


def advanced(timer: Timer, limit: Vector[str], delay: int, used: Limits, now: int) -> Timer:
    """The timer after what changed since the cycle before.

    Within the limit it is cleared. It begins when the limit was lowered, when a delay is there for the first time, or
    when usage came to be above the limit; it is moved by what the delay changed, and otherwise it stays.
    """
    over = exceeds(limit, used)
    if not over or not delay:
        return Timer(limit, delay, None, over)
    if timer.start is not None:
        start = timer.start + delay - timer.delay if timer.delay else now + delay
        return Timer(limit, delay, start, over, timer.taken)
    begins = lowered(timer.limit, limit) or not timer.delay or not timer.over
    return Timer(limit, delay, now + delay if begins else None, over)


def exceeds(limit: Vector[str], used: Limits) -> bool:
    """Whether usage is above the limit in some type."""
    return bool(limit) and not within(limit, used)


def lowered(before: Vector[str], limit: Vector[str]) -> bool:
    """Whether some type may be used less than before; one that had no limit had more."""
    return any(kind not in (before or {}) or most < (before or {})[kind] for kind, most in (limit or {}).items())
