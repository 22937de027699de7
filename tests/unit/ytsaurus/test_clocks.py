"""The table of starvation: what becomes of a clock and a state at an update."""

from __future__ import annotations

import numpy as np
import pytest

from cede.doctrines.ytsaurus.starvation import AGGRESSIVE, NOT, STARVING, UNSET_CLOCK, Memory, StarvationClocks
from cede.model.times import SECOND

NOW = 1000 * SECOND
KEY = ("pool", "operation")


def after(*, below: bool, ago: float | None, before: int, aggressive: bool = True) -> tuple[float | None, int]:
    """Since how many seconds, and in which state; timeouts are 30 s and 120 s. Memory is told the same."""
    memory = Memory(known={KEY}, starvation={KEY: before})
    if ago is not None:
        memory.since[KEY] = NOW - int(ago * SECOND)
    timers = StarvationClocks(memory)
    timers.extend([KEY], [None])
    timers.step(np.array([below]), NOW, np.array([30.0 * SECOND]), np.array([120.0 * SECOND]), np.array([aggressive]))
    clock, level = int(timers.since[0]), int(timers.level[0])
    assert (memory.since.get(KEY, UNSET_CLOCK), memory.starvation.get(KEY, NOT)) == (clock, level)
    return (None if clock == UNSET_CLOCK else (NOW - clock) / SECOND), level


def test_a_clock_of_the_file_counts_for_what_was_never_seen() -> None:
    """One that is remembered without a clock has none, whatever the file says."""
    memory = Memory(known={KEY})
    timers = StarvationClocks(memory)

    timers.extend([KEY, ("q", "new")], [NOW - SECOND, NOW - 2 * SECOND])

    assert timers.since.tolist() == [UNSET_CLOCK, NOW - 2 * SECOND]
    assert memory.known == {KEY, ("q", "new")}


@pytest.mark.parametrize("before", [NOT, STARVING, AGGRESSIVE])
@pytest.mark.parametrize("ago", [None, 0, 31, 500])
def test_who_has_its_share_starves_no_more_at_once(ago: float | None, before: int) -> None:
    assert after(below=False, ago=ago, before=before) == (None, NOT)


@pytest.mark.parametrize("before", [NOT, STARVING, AGGRESSIVE])
def test_the_first_update_below_starts_the_clock_and_changes_nothing_else(before: int) -> None:
    assert after(below=True, ago=None, before=before) == (0, before)


@pytest.mark.parametrize(
    ("ago", "before", "state"),
    [
        (10, NOT, NOT),
        (30, NOT, NOT),
        (30.000001, NOT, STARVING),
        (10, STARVING, STARVING),
        (120, STARVING, STARVING),
        (120.000001, STARVING, AGGRESSIVE),
        (120.000001, NOT, AGGRESSIVE),
        (10, AGGRESSIVE, AGGRESSIVE),
    ],
)
def test_states_follow_the_clock_and_comparisons_are_strict(ago: float, before: int, state: int) -> None:
    """Between the times the state stays what it was."""
    assert after(below=True, ago=ago, before=before) == (ago, state)


@pytest.mark.parametrize(("ago", "state"), [(31, STARVING), (121, STARVING), (29, AGGRESSIVE)])
def test_with_aggressive_starvation_switched_off_one_starves_plainly_again(ago: float, state: int) -> None:
    assert after(below=True, ago=ago, before=AGGRESSIVE, aggressive=False) == (ago, state)


def test_the_clock_that_a_file_gives_an_operation_counts_once() -> None:
    memory, key = Memory(), ("pool", "listed")
    StarvationClocks(memory).extend([key], [5])
    assert memory.since[key] == 5

    memory.forget_others(set(), {"listed"})  # it ended
    again = StarvationClocks(memory)
    again.extend([key], [5])

    assert again.since.tolist() == [UNSET_CLOCK]


def test_an_operation_that_no_file_lists_is_forgotten_when_it_ended() -> None:
    memory = Memory()
    StarvationClocks(memory).extend([("pool", "job")], [None])

    memory.forget_others(set(), {"listed"})

    assert not memory.known
