from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from cede.sim.measures.conservation import balance, check, conserve
from cede.sim.result import Result
from tests.sim.results import HOUR, Held, Job, Ran, changed, result_of

SOUND = result_of(
    Job("a", [Ran(0, 2 * HOUR, "preempted", lost=HOUR, overhead=HOUR / 2), Ran(3 * HOUR, 4 * HOUR)], size=4),
    Job("b", [Ran(2 * HOUR, 3 * HOUR)], size=8, submitted=HOUR),
    Job("c", [Ran(3 * HOUR, 4 * HOUR, "failed", lost=HOUR)], size=1),
    holds=[Held("b", HOUR, 2 * HOUR)],
    outages=[("n2", 3 * HOUR, 3.5 * HOUR, "down")],
    nodes={"n1": {"gpu": 6}, "n2": {"gpu": 2}},
)
RUNNING = result_of(Job("a", [Ran(0, 10, "open")], size=4), Job("w", size=8), end=10)


def test_all_of_the_capacity_is_accounted_for() -> None:
    [found] = conserve(SOUND).to_dicts()

    assert found == {
        "resource": "gpu",
        "whole": 32,
        "useful": 4 * 0.5 + 4 * 1 + 8 * 1,
        "lost": 4 * 1 + 1,
        "overhead": 4 * 0.5,
        "held": 4,
        "down": 1,
        "idle": 4 + 3 - 1,
    }
    assert check(SOUND) == []
    assert check(RUNNING) == []


def test_every_resource_has_its_balance() -> None:
    two = result_of(Job("a", [Ran(0, HOUR)], asks={"gpu": 1, "cpu": 4}), capacity={"gpu": 2, "cpu": 8, "memory": 5})

    found = {row["resource"]: (row["useful"], row["idle"]) for row in conserve(two).to_dicts()}

    assert found == {"cpu": (4, 4), "gpu": (1, 1), "memory": (0, 5)}


def test_a_balance_is_exact_where_64_bits_are_not_enough() -> None:
    """3 bytes less than a pebibyte, for a hundred years less a microsecond."""
    years = 100 * 365 * 86400
    byte = 10**9
    result = result_of(Job("a", [Ran(0, years)], asks={"memory": 2}), capacity={"memory": 4})
    sizes = ({"memory": (2**50 - 3) * byte},)
    result = replace(result, sizes=sizes, capacity={"memory": 2**51 * byte})

    [found] = balance(result)

    assert found.useful == (2**50 - 3) * byte * years * 10**6
    assert found.idle == (2**50 + 3) * byte * years * 10**6
    assert found.missing == 0


def cell(table: str, column: str, row: int, value: object) -> Callable[[Result], Result]:
    return lambda result: changed(result, table, column, row, value)


def without(table: str, row: int) -> Callable[[Result], Result]:
    def leave_out(result: Result) -> Result:
        frame: pl.DataFrame = getattr(result, table)
        rest: dict[str, pl.DataFrame] = {table: pl.concat([frame[:row], frame[row + 1 :]])}
        return replace(result, **rest)  # type: ignore[arg-type]

    return leave_out


WRONG: dict[str, tuple[Callable[[Result], Result], str]] = {
    "a state that is none": (cell("jobs", "state", 0, "lost"), "a: is in no state that a job can be in"),
    "no state at all": (cell("jobs", "state", 0, None), "a: is in no state that a job can be in"),
    "over without an end": (cell("jobs", "ended", 1, None), "b: is over but has no end"),
    "an end while running": (cell("jobs", "state", 1, "running"), "b: is under way but has an end"),
    "completed but not its attempt": (cell("jobs", "state", 2, "completed"), "c: completed in an attempt that says"),
    "an attempt completed but not the job": (cell("jobs", "state", 1, "failed"), "b: did not complete, but an attempt"),
    "a second job with its name": (cell("jobs", "name", 1, "a"), "two rows of jobs have the same name"),
    "a second job with its number": (cell("jobs", "job", 1, 0), "two rows of jobs have the same job"),
    "an attempt of nobody": (cell("attempts", "job", 1, 7), "an attempt is of job 7, which is not there"),
    "an attempt too few": (without("attempts", 1), "b: completed without an attempt"),
    "a count of attempts too many": (cell("jobs", "attempts", 0, 3), "a: has another number of attempts than it says"),
    "a preemption not counted": (cell("jobs", "preemptions", 0, 0), "a: says it was preempted less often than it was"),
    "a first start that is another": (cell("jobs", "first_start", 0, 5), "a: has a first start that is not its first"),
    "a start before submission": (cell("jobs", "submitted", 1, 3 * HOUR * 10**6), "b: starts before it is submitted"),
    "an end that is another": (cell("jobs", "ended", 1, 5), "b: completed at another time than its last attempt"),
    "more work than it had": (cell("jobs", "duration", 0, 1), "a: completed with less or more work than it has"),
    "a way to end that is none": (cell("attempts", "how", 0, "gone"), "a: an attempt ends in no way that one can"),
    "parts that are too little": (cell("attempts", "lost", 0, 0), "a: an attempt is not what was useful, lost and"),
    "a part below 0": (cell("attempts", "overhead", 0, -1), "a: an attempt has a part below 0"),
    "more restored than overhead": (cell("attempts", "restored", 1, 1), "b: an attempt restored for longer than its"),
    "attempts that overlap": (cell("attempts", "start", 2, HOUR * 10**6), "a: two attempts overlap"),
    "a start after the end": (cell("attempts", "start", 2, 5 * HOUR * 10**6), "a: an attempt ends before it starts"),
    "an attempt after the end": (lambda result: replace(result, end=1), "an attempt lies outside the replayed time"),
    "too little room": (
        lambda result: replace(result, capacity={"gpu": 7 * 10**9}),
        "jobs hold more gpu than there is",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_check_sees(case: str) -> None:
    spoil, expected = WRONG[case]

    assert any(expected in sentence for sentence in check(spoil(SOUND))), check(spoil(SOUND))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (cell("jobs", "state", 0, "requeued"), "a: does not run, but an attempt of it is open"),
        (cell("attempts", "how", 0, "failed"), "a: runs, but no attempt of it is open"),
        (cell("jobs", "state", 1, "requeued"), "w: runs or waits again but never started"),
        (cell("jobs", "state", 0, "waiting"), "a: waits for its first start but has one"),
        (lambda result: replace(result, end=11 * 10**6), "a: an attempt is open but ends before the replay"),
    ],
)
def test_the_check_sees_of_what_is_under_way(spoil: Callable[[Result], Result], expected: str) -> None:
    assert any(expected in sentence for sentence in check(spoil(RUNNING))), check(spoil(RUNNING))


def test_overbooking_is_told_with_its_time() -> None:
    """Not on average, but from 1 h to 2 h there is one too few."""
    over = result_of(Job("a", [Ran(0, 2 * HOUR)], size=4), Job("b", [Ran(HOUR, 2 * HOUR)], size=5))

    assert check(over) == ["jobs hold more gpu than there is, first at 3600.000000 s"]


def test_only_the_first_few_jobs_are_named() -> None:
    many = result_of(*(Job(f"j{n}", [Ran(0, 1)]) for n in range(5)))
    wrong = replace(many, jobs=many.jobs.with_columns(duration=pl.lit(7, pl.Int64)))

    assert check(wrong) == ["j0, j1, j2 and 2 more: completed with less or more work than it has"]
