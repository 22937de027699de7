"""The scheduler's clock: it goes on by elapsed time, never back, and knows what the wall clock showed."""

import pytest

from cede.engine.clock import TOLERANCE, Machine, Mark, Reading, SchedulerClock, Shift
from cede.model.times import SECOND

HOUR = 3600 * SECOND
NOON = 1_800_000_000 * SECOND


class Hands(Machine):
    """Clocks that show what a test wants."""

    def __init__(self, wall: int = NOON, elapsed: int = HOUR, boot: str = "first") -> None:
        self.shows = Reading(wall, elapsed, boot)

    def read(self) -> Reading:
        return self.shows

    def set(self, wall: int = 0, elapsed: int = 0) -> None:
        self.shows = self.shows._replace(wall=self.shows.wall + wall, elapsed=self.shows.elapsed + elapsed)


def test_it_begins_with_the_wall_clock() -> None:
    assert SchedulerClock(Hands()).now() == NOON


def test_it_begins_no_earlier_than_what_has_been_recorded() -> None:
    clock = SchedulerClock(Hands(), least=NOON + HOUR)

    assert clock.now() == NOON + HOUR
    assert clock.wall(clock.now()) == NOON


@pytest.mark.parametrize("step", [2 * HOUR, -2 * HOUR])
def test_a_step_of_the_wall_clock_does_not_move_it(step: int) -> None:
    hands = Hands()
    clock = SchedulerClock(hands)
    hands.set(wall=step + SECOND, elapsed=SECOND)

    assert clock.now() == NOON + SECOND
    assert clock.mark().wall == NOON + step + SECOND


LAST = Mark(NOON, NOON + 5 * HOUR, 100 * SECOND, "first")
LATER = {
    "within a boot by elapsed time, wherever the wall clock is": (Reading(7, 103 * SECOND, "first"), 3 * SECOND),
    "from boot to boot by the wall clock": (Reading(NOON + 6 * HOUR, 5, "second"), HOUR),
    "from boot to boot never back": (Reading(NOON, 5, "second"), 0),
    "elapsed time that went back is of another boot": (Reading(NOON + 6 * HOUR, 5, "first"), HOUR),
}


@pytest.mark.parametrize("case", LATER)
def test_it_goes_on_from_the_last_mark(case: str) -> None:
    reading, passed = LATER[case]

    assert SchedulerClock(Hands(*reading), LAST).now() == NOON + passed


def test_a_machine_without_a_boot_id_goes_by_the_wall_clock() -> None:
    clock = SchedulerClock(Hands(NOON + 6 * HOUR, 200 * SECOND, ""), Mark(NOON, NOON + 5 * HOUR, 100 * SECOND, ""))

    assert clock.now() == NOON + HOUR


def test_every_time_is_shown_as_the_wall_clock_showed_it() -> None:
    hands = Hands()
    clock = SchedulerClock(hands)
    for step in (HOUR, -3 * HOUR):
        hands.set(wall=step + 10 * SECOND, elapsed=10 * SECOND)
        clock.mark()

    assert clock.shifts == (Shift(NOON + 10 * SECOND, HOUR), Shift(NOON + 20 * SECOND, -2 * HOUR))
    assert [clock.wall(NOON + at * SECOND) - NOON for at in (5, 15, 25)] == [
        5 * SECOND,
        15 * SECOND + HOUR,
        25 * SECOND - 2 * HOUR,
    ]


def test_a_wall_clock_that_is_hardly_off_is_not_stepped() -> None:
    hands = Hands()
    clock = SchedulerClock(hands)
    hands.set(wall=TOLERANCE)
    clock.mark()

    assert clock.shifts == ()


def test_what_another_process_noted_is_known_by_elapsed_time_and_never_lies_ahead() -> None:
    hands = Hands()
    clock = SchedulerClock(hands)
    hands.set(wall=60 * SECOND - 5 * HOUR, elapsed=60 * SECOND)
    clock.mark()

    assert clock.when("first", HOUR + 30 * SECOND, 0) == NOON + 30 * SECOND
    assert clock.when("first", HOUR + 90 * SECOND, 0) == NOON + 60 * SECOND
    assert clock.when("another", 7, NOON - HOUR) == NOON - HOUR
    assert clock.when("another", 7, NOON - 5 * HOUR + 60 * SECOND) == NOON + 60 * SECOND
    assert clock.when("another", 7, NOON + HOUR) == NOON + 60 * SECOND
