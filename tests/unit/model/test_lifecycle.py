"""The table of a workload's life, against a table of its own that was written down from the issue's words."""

from __future__ import annotations

import itertools

import pytest

from cede.model.lifecycle import (
    FINAL,
    MEANINGS,
    PRESENT,
    SENTENCES,
    TABLE,
    WAITING,
    ForbiddenMoveError,
    Phase,
    Signal,
    after,
)

MOVES = {
    "pending": {"start": "starting", "hold": "held", "cancel": "cancelled"},
    "held": {"freed": "starting", "cancel": "cancelled", "suspend": "suspended", "requeue": "pending"},
    "starting": {
        "began": "running",
        "evict": "preempting",
        "cancel": "cancelling",
        "complete": "completed",
        "fail": "failed",
    },
    "running": {
        "hint": "checkpointing",
        "evict": "preempting",
        "cancel": "cancelling",
        "expire": "cancelling",
        "complete": "completed",
        "fail": "failed",
    },
    "checkpointing": {
        "checkpointed": "running",
        "give up": "running",
        "evict": "preempting",
        "cancel": "cancelling",
        "expire": "cancelling",
        "complete": "completed",
        "fail": "failed",
        "suspend": "suspended",
        "end": "preempted",
    },
    "preempting": {
        "cancel": "cancelling",
        "complete": "completed",
        "fail": "failed",
        "suspend": "suspended",
        "requeue": "pending",
        "end": "preempted",
    },
    "suspended": {"start": "starting", "hold": "held", "cancel": "cancelled"},
    "cancelling": {"complete": "completed", "fail": "failed", "suspend": "suspended", "end": "cancelled"},
    "completed": {},
    "failed": {"requeue": "pending"},
    "cancelled": {},
    "preempted": {},
}
ENDS = {"completed", "failed", "cancelled", "preempted"}


@pytest.mark.parametrize(("phase", "signal"), [*itertools.product(Phase, Signal)], ids=str)
def test_a_signal_moves_a_workload_as_the_table_says_or_not_at_all(phase: Phase, signal: Signal) -> None:
    follows = MOVES[phase].get(signal)

    if follows is None:
        with pytest.raises(ForbiddenMoveError, match=f"a workload that is {phase} "):
            after(phase, signal)
    else:
        assert after(phase, signal) == follows


def test_there_are_the_phases_of_the_issue_and_no_others() -> None:
    assert {str(phase) for phase in Phase} == set(MOVES)
    assert {str(phase) for phase in FINAL} == ENDS


def test_every_phase_can_be_reached_from_pending() -> None:
    seen, new = {"pending"}, {"pending"}
    while new:
        new = {to for phase in new for to in MOVES[phase].values()} - seen
        seen |= new

    assert seen == set(MOVES)


def test_an_end_is_an_end_but_a_failed_workload_may_queue_again() -> None:
    left = {(str(phase), str(signal), str(to)) for (phase, signal), to in TABLE.items() if phase in FINAL}

    assert left == {("failed", "requeue", "pending")}


def test_from_every_phase_there_is_a_way_to_an_end() -> None:
    for phase in MOVES:
        seen, new = {phase}, {phase}
        while new:
            new = {to for one in new for to in MOVES[one].values()} - seen
            seen |= new
        assert seen & ENDS, phase


def test_whoever_waits_or_is_held_has_no_processes() -> None:
    assert set(WAITING) == {Phase.PENDING, Phase.SUSPENDED}
    assert set(Phase) - WAITING - PRESENT - FINAL == {Phase.HELD}
    assert not WAITING & PRESENT


def test_every_phase_and_every_signal_is_explained() -> None:
    assert set(MEANINGS) == set(Phase)
    assert set(SENTENCES) == set(Signal)


def test_every_signal_moves_somebody() -> None:
    assert {signal for _, signal in TABLE} == set(Signal)


def test_only_who_left_comes_to_be_suspended_or_held_no_more() -> None:
    """Nobody is suspended from where it runs: it is asked or told first."""
    assert (Phase.RUNNING, Signal.SUSPEND) not in TABLE
    assert (Phase.RUNNING, Signal.REQUEUE) not in TABLE
