"""The life of a workload under a scheduler: its states, what moves it, and every move there is.

The table is the whole truth: a pair that is not in it cannot happen. The docs draw it from here.
"""

from __future__ import annotations

from enum import StrEnum

from cede.model.errors import CedeError


class Phase(StrEnum):
    """Where a workload is in its life."""

    __hash__ = str.__hash__  # an Enum's own takes three times as long, and every move of a workload asks for it

    PENDING = "pending"
    HELD = "held"
    STARTING = "starting"
    RUNNING = "running"
    CHECKPOINTING = "checkpointing"
    PREEMPTING = "preempting"
    SUSPENDED = "suspended"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"


HELD, SUSPENDED = Phase.HELD, Phase.SUSPENDED
"""By names of their own for what every move asks: reading a member of an Enum takes as long as a call."""


class Signal(StrEnum):
    """What may happen to a workload, or be decided about it."""

    __hash__ = str.__hash__

    START = "start"
    HOLD = "hold"
    FREED = "freed"
    BEGAN = "began"
    HINT = "hint"
    CHECKPOINTED = "checkpointed"
    GIVE_UP = "give up"
    EVICT = "evict"
    CANCEL = "cancel"
    EXPIRE = "expire"
    COMPLETE = "complete"
    FAIL = "fail"
    SUSPEND = "suspend"
    REQUEUE = "requeue"
    END = "end"


MEANINGS: dict[Phase, str] = {
    Phase.PENDING: "waits for room, with a reason",
    Phase.HELD: "its room is kept for it while victims leave",
    Phase.STARTING: "has its room, and its processes are being started",
    Phase.RUNNING: "its processes run",
    Phase.CHECKPOINTING: "was asked for a checkpoint and has not finished it",
    Phase.PREEMPTING: "was told to go, and has not left yet",
    Phase.SUSPENDED: "left with a usable checkpoint, and waits to resume from it",
    Phase.CANCELLING: "was told to end for good, and has not left yet",
    Phase.COMPLETED: "ended by itself, with success",
    Phase.FAILED: "ended with an error, or against its will without a way back",
    Phase.CANCELLED: "ended because somebody asked for it",
    Phase.PREEMPTED: "gave way to another workload and does not queue again",
}

SENTENCES: dict[Signal, str] = {
    Signal.START: "a plan starts it",
    Signal.HOLD: "a plan holds room for it that others still leave",
    Signal.FREED: "the last one in its way has left",
    Signal.BEGAN: "its processes run",
    Signal.HINT: "it is asked for a checkpoint",
    Signal.CHECKPOINTED: "it has written a checkpoint, and goes on",
    Signal.GIVE_UP: "no checkpoint came of it, and it goes on",
    Signal.EVICT: "it is told to go",
    Signal.CANCEL: "somebody cancels it",
    Signal.EXPIRE: "its walltime is over",
    Signal.COMPLETE: "it ended by itself, with success",
    Signal.FAIL: "it ended with an error, or had to be killed",
    Signal.SUSPEND: "it left, or lost its hold, with a usable checkpoint",
    Signal.REQUEUE: "it left, or lost its hold, and begins anew",
    Signal.END: "it has left, and is not to come back",
}

START, BEGAN, COMPLETE = Signal.START, Signal.BEGAN, Signal.COMPLETE
"""The signals of a plain life, by names of their own for the same reason."""

WAITING = frozenset({Phase.PENDING, Phase.SUSPENDED})
PRESENT = frozenset({Phase.STARTING, Phase.RUNNING, Phase.CHECKPOINTING, Phase.PREEMPTING, Phase.CANCELLING})
"""Phases in which its processes are on their nodes, or on the way there."""
FINAL = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.CANCELLED, Phase.PREEMPTED})
"""The ends. Only a failed workload may leave its end again, when its policy queues it anew."""


def _table() -> dict[tuple[Phase, Signal], Phase]:
    p, s = Phase, Signal
    rows: list[tuple[tuple[Phase, ...], Signal, Phase]] = [
        ((p.PENDING, p.SUSPENDED), s.START, p.STARTING),
        ((p.PENDING, p.SUSPENDED), s.HOLD, p.HELD),
        ((p.HELD,), s.FREED, p.STARTING),
        ((p.STARTING,), s.BEGAN, p.RUNNING),
        ((p.RUNNING,), s.HINT, p.CHECKPOINTING),
        ((p.CHECKPOINTING,), s.CHECKPOINTED, p.RUNNING),
        ((p.CHECKPOINTING,), s.GIVE_UP, p.RUNNING),
        ((p.STARTING, p.RUNNING, p.CHECKPOINTING), s.EVICT, p.PREEMPTING),
        ((p.PENDING, p.HELD, p.SUSPENDED), s.CANCEL, p.CANCELLED),
        ((p.STARTING, p.RUNNING, p.CHECKPOINTING, p.PREEMPTING), s.CANCEL, p.CANCELLING),
        ((p.RUNNING, p.CHECKPOINTING), s.EXPIRE, p.CANCELLING),
        ((p.STARTING, p.RUNNING, p.CHECKPOINTING, p.PREEMPTING, p.CANCELLING), s.COMPLETE, p.COMPLETED),
        ((p.STARTING, p.RUNNING, p.CHECKPOINTING, p.PREEMPTING, p.CANCELLING), s.FAIL, p.FAILED),
        ((p.CHECKPOINTING, p.PREEMPTING, p.CANCELLING, p.HELD), s.SUSPEND, p.SUSPENDED),
        ((p.PREEMPTING, p.HELD, p.FAILED), s.REQUEUE, p.PENDING),
        ((p.CHECKPOINTING, p.PREEMPTING), s.END, p.PREEMPTED),
        ((p.CANCELLING,), s.END, p.CANCELLED),
    ]
    return {(phase, signal): to for phases, signal, to in rows for phase in phases}


TABLE: dict[tuple[Phase, Signal], Phase] = _table()


class ForbiddenMoveError(CedeError):
    """A signal that means nothing to a workload in this phase."""


def after(phase: Phase, signal: Signal) -> Phase:
    """The phase that follows; ForbiddenMoveError if there is none."""
    following = TABLE.get((phase, signal))
    if following is None:
        raise ForbiddenMoveError(f"a workload that is {phase} cannot go on when {SENTENCES[signal]}")
    return following
