"""Parts of a trace, denser ones and shaken ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.traces.cutting import load_factor, shake, take, window, window_of
from cede.sim.traces.trace import Trace
from tests.sim.shaping.traces import DAY, HOUR, TRACES, check, column, gpus, trace_of

FIVE = trace_of(*({"submitted": DAY + number * 6 * HOUR} for number in range(5)))


def test_take_keeps_the_first_by_submission() -> None:
    late_first = trace_of({"name": "late", "submitted": 9}, {"name": "early", "submitted": 1})

    assert column(take(late_first, 1), "name") == ["early"]
    assert take(late_first, 1).notes == ("Only the first 1 of 2 jobs are in it.",)
    assert take(late_first, 2) is late_first


def test_shapes_that_nobody_has_any_more_are_gone() -> None:
    trace = trace_of({"shape": 2}, {"shape": 1, "submitted": 5}, shapes=[gpus(1), gpus(2), gpus(4)])

    kept = take(trace, 1)

    assert kept.shapes == (gpus(4),)
    assert column(kept, "shape") == [0]


def test_a_window_counts_from_the_first_submission_and_leaves_times_alone() -> None:
    found = window_of(FIVE, "6h..18h")

    assert column(found, "name") == ["j1", "j2"]
    assert column(found, "submitted") == [DAY + 6 * HOUR, DAY + 12 * HOUR]
    assert found.notes == ("Only the 2 of 5 jobs submitted 6h to 18h after the first are in it.",)


@pytest.mark.parametrize(
    ("text", "names"),
    {"..6h": ["j0"], "12h..": ["j2", "j3", "j4"], "0..1d": ["j0", "j1", "j2", "j3"], "0.5d..": None}.items(),
)
def test_either_side_of_a_window_may_be_open(text: str, names: list[str] | None) -> None:
    if names is None:
        with pytest.raises(InputError, match="is no length of time; write a number of seconds or a string like 2d"):
            window_of(FIVE, text)
    else:
        assert column(window_of(FIVE, text), "name") == names


def test_a_window_may_be_of_the_calendar_where_the_trace_has_one() -> None:
    origin = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * SECOND
    dated = trace_of({"submitted": 0}, {"submitted": DAY}, {"submitted": 2 * DAY}, origin=origin)

    assert column(window_of(dated, "2026-01-02T00:00:00Z..2026-01-03T00:00:00Z"), "name") == ["j1"]
    with pytest.raises(InputError, match="the trace does not say when it began"):
        window_of(FIVE, "2026-01-02T00:00:00Z..")


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "5d": "'5d' is no window; write BEGIN..END",
        "9h..3h": "ends before it has begun",
        "30d..": r"no job of the trace is submitted in it \(the last one comes 1d after the first\)",
    }.items(),
)
def test_a_window_that_cannot_be_meant_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"window: {message}"):
        window_of(FIVE, text)


def test_twice_the_load_halves_the_time_since_the_first_job() -> None:
    dense = load_factor(trace_of({"submitted": 100}, {"submitted": 105, "started": 205}), 2)

    assert column(dense, "submitted") == [100, 102]
    assert column(dense, "started") == [None, 202], "how long it waited in reality stays"
    assert dense.notes == ("Jobs arrive 2 times as dense as in the trace (load factor 2).",)
    assert load_factor(FIVE, 0.5).notes[-1].startswith("Jobs arrive 2 times as far apart as")


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_a_load_factor_is_above_zero(factor: float) -> None:
    with pytest.raises(InputError, match="is no factor"):
        load_factor(FIVE, factor)


@given(TRACES)
def test_a_load_factor_of_one_changes_nothing(trace: Trace) -> None:
    assert load_factor(trace, 1) is trace


@given(TRACES, st.floats(0.01, 1000))
def test_a_load_factor_moves_arrivals_and_nothing_else(trace: Trace, factor: float) -> None:
    dense = load_factor(trace, factor)

    check(dense)
    moved = ["submitted", "started"]
    assert dense.jobs.drop(moved).equals(trace.jobs.drop(moved))
    assert dense.jobs["submitted"][0] == trace.jobs["submitted"][0]


@given(TRACES, st.integers(0, 2**32), st.integers(1, 10 * DAY))
def test_shaking_moves_arrivals_by_no_more_than_asked(trace: Trace, seed: int, amount: int) -> None:
    shaken = shake(trace, seed, amount)

    check(shaken)
    was = dict(trace.jobs.select("name", "submitted").iter_rows())
    now = dict(shaken.jobs.select("name", "submitted").iter_rows())
    assert was.keys() == now.keys()
    assert all(abs(now[name] - was[name]) <= amount for name in was)
    assert min(now.values()) >= min(was.values())
    by_name = ["name", "duration", "shape", "walltime", "priority"]
    assert shaken.jobs.select(by_name).sort("name").equals(trace.jobs.select(by_name).sort("name"))
    assert shaken.jobs.equals(shake(trace, seed, amount).jobs)


def test_another_seed_shakes_otherwise() -> None:
    many = trace_of(*({"submitted": number * HOUR} for number in range(50)))

    assert column(shake(many, 1), "submitted") != column(shake(many, 2), "submitted")
    assert shake(many, 7).notes == ("Arrivals were moved by up to 1m, drawn evenly with seed 7.",)
    assert shake(many, 1, 0) is many


@given(TRACES, st.integers(1, 15), st.integers(0, 400 * DAY))
def test_every_part_of_a_trace_is_a_trace(trace: Trace, count: int, begin: int) -> None:
    part = take(trace, count)
    check(part)
    assert part.jobs["name"].to_list() == trace.jobs["name"].head(count).to_list()
    assert [part.shapes[s] for s in column(part, "shape")] == [
        trace.shapes[s] for s in trace.jobs["shape"].head(count).to_list()
    ]
    if (trace.jobs["submitted"] >= begin).any():
        found = window(trace, begin, None)
        check(found)
        assert found.jobs["submitted"].min() >= begin  # type: ignore[operator]


@pytest.mark.parametrize("factor", [1e-9, 1e-300])
def test_a_factor_that_puts_jobs_beyond_all_times_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match="is too small: the last job would come"):
        load_factor(FIVE, factor)
