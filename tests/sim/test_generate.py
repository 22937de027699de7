"""Made-up workloads are what their recipe says, and the same for the same seed."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.generate import NAMED, Recipe, generate, parse_settings, recipe
from cede.sim.traces.derived import columns
from cede.sim.traces.trace import Trace
from tests.sampling import examples
from tests.sim.shaping.traces import HOUR, check, column

MANY = 40_000


def made(name: str = "philly-like", **given: Any) -> Trace:
    return generate(recipe(name, **{"jobs": MANY, "seed": 5} | given))


def digest(trace: Trace) -> str:
    return hashlib.sha256(trace.jobs.write_csv().encode() + repr(trace.shapes).encode()).hexdigest()


def seconds(trace: Trace) -> Any:
    return trace.jobs["duration"].to_numpy() / SECOND


@pytest.mark.parametrize("name", NAMED)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    one, again, other = made(name, jobs=3000), made(name, jobs=3000), made(name, jobs=3000, seed=6)

    check(one)
    assert digest(one) == digest(again)
    assert digest(one) != digest(other)
    assert one.notes == (f"Every job is made up: recipe {name}, seed 5.",)


@examples(30)
@given(
    st.sampled_from(sorted(NAMED)),
    st.integers(1, 200),
    st.integers(0, 2**40),
    st.fixed_dictionaries(
        {},
        optional={
            "bursts_per_day": st.integers(0, 20),
            "burst_factor": st.floats(0, 50),
            "daily": st.floats(0, 1),
            "per_hour": st.floats(0.01, 1e5),
            "sigma": st.floats(0, 6),
            "queues": st.integers(1, 40),
            "users": st.integers(1, 40),
            "walltimes": st.floats(0, 1),
            "odd_share": st.floats(0, 1),
        },
    ),
)
def test_whatever_the_numbers_a_trace_comes_of_them(name: str, jobs: int, seed: int, given: dict[str, Any]) -> None:
    trace = generate(recipe(name, jobs=jobs, seed=seed, **given))

    check(trace)
    assert trace.jobs.height == jobs
    assert trace.jobs["submitted"][0] == 0
    assert (trace.jobs["walltime"].drop_nulls() > 0).all()


def test_one_number_changes_only_what_it_is_about() -> None:
    one, other = made(jobs=500), made(jobs=500, priorities={1: 1}, checkpointing=0)

    same = ["name", "submitted", "duration", "queue", "user", "shape"]
    assert one.jobs.select(same).equals(other.jobs.select(same))
    assert set(column(other, "priority")) == {1}
    assert other.notes == ("Every job is made up: recipe philly-like, seed 5, with another priorities, checkpointing.",)


def test_jobs_come_as_often_as_asked_and_in_bursts() -> None:
    trace = made(jobs=20_000)
    hours = trace.jobs["submitted"].to_numpy() / HOUR
    each = np.bincount(hours.astype(int))

    assert len(hours) / hours[-1] == pytest.approx(40, rel=0.15)
    assert np.percentile(each, 99) > 4 * np.median(each), "the busiest hours are bursts"
    steady = made(jobs=20_000, bursts_per_day=0, daily=0)
    calm = np.bincount((steady.jobs["submitted"].to_numpy() / HOUR).astype(int))
    assert calm.var() == pytest.approx(calm.mean(), rel=0.25), "without bursts and days it is a Poisson process"


def test_the_day_has_a_busy_hour_and_a_quiet_night() -> None:
    trace = made(bursts_per_day=0, daily=0.8, peak_hour=14)
    hour = (trace.jobs["submitted"].to_numpy() / HOUR % 24).astype(int)
    each = np.bincount(hour, minlength=24)

    # The clock begins with the first job, which comes within the first hour or so of the day.
    assert each[10:18].sum() > 4 * np.roll(each, 2)[:8].sum()


def test_the_tail_of_run_times_is_as_heavy_as_asked() -> None:
    trace = made(tail_share=0.2, tail_index=1.1, tail_from="2h", sigma=0.5, median="1m", sizes={1: 1}, longest="9999d")
    tail = np.sort(seconds(trace)[seconds(trace) >= 7200])

    assert len(tail) / MANY == pytest.approx(0.2, abs=0.01)
    hill = 1 / np.log(tail / 7200).mean()
    assert hill == pytest.approx(1.1, rel=0.05), "the tail index by Hill's estimate"


def test_run_times_without_the_tail_are_lognormal() -> None:
    logs = np.log(seconds(made(tail_share=0, sizes={1: 1}, median="1h", sigma=1.2)))

    assert np.exp(np.median(logs)) == pytest.approx(3600, rel=0.05)
    assert logs.std() == pytest.approx(1.2, rel=0.05)


def test_philly_is_like_what_was_published() -> None:
    """Of its trace: 93 % of jobs have one GPU, the mean run time is 3.6 h, the middle one 19 minutes."""
    trace = made()
    run = seconds(trace)
    jobs = columns(trace)

    assert (jobs["gpus"] == 1).sum() / MANY == pytest.approx(0.932, abs=0.01)
    assert (jobs["members"] > 1).sum() / MANY == pytest.approx(0.003, abs=0.001), "gangs"
    assert np.median(run) == pytest.approx(1144, rel=0.2)
    assert run.mean() == pytest.approx(13136, rel=0.25)
    assert np.percentile(run, 95) == pytest.approx(43648, rel=0.25)
    assert jobs["queue"].n_unique() == 15


def test_hpc_jobs_have_estimates_above_their_run_times() -> None:
    """Of KTH: a third of jobs is serial, jobs run half of what was asked for, some 70 processors are wanted."""
    trace = made("hpc-like")
    jobs = columns(trace)
    span = (jobs["submitted"][-1] - jobs["submitted"][0]) / SECOND

    assert (jobs["walltime"] >= jobs["duration"]).all()
    assert (jobs["duration"] / jobs["walltime"]).mean() == pytest.approx(0.45, abs=0.08)
    assert (jobs["cpus"] == 1).sum() / MANY == pytest.approx(0.33, abs=0.1)
    assert (jobs["cpus"].to_numpy() * seconds(trace)).sum() / span == pytest.approx(70, rel=0.2)
    assert all(shape.requests == {"cpu": 10**9} for shape in trace.shapes)


def test_inference_is_urgent_and_does_not_checkpoint() -> None:
    jobs = made("inference-mix").jobs
    serving = jobs.filter(jobs["kind"] == "inference")

    assert serving.height / MANY == pytest.approx(0.55, abs=0.01)
    assert set(serving["priority"]) == {90}
    assert set(serving["checkpoint"]) == {"none"}
    batch = jobs.filter(jobs["kind"].is_null())
    assert (batch["checkpoint"] == "auto").sum() / batch.height == pytest.approx(0.6, abs=0.02)


def test_users_are_busy_by_a_power_law() -> None:
    counts = made(queues=1, users=100, user_skew=1).jobs["user"].value_counts(sort=True)["count"].to_list()

    assert counts[0] / counts[9] == pytest.approx(10, rel=0.3)


def test_every_number_has_a_meaning() -> None:
    assert [key for key, info in Recipe.model_fields.items() if not info.description] == []


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown number": ({"median_": 3}, r"median_: there is no key 'median_' \(did you mean 'median'\?\)"),
    "no share": ({"daily": 1.5}, "daily: 1.5 is too large; the most is 1"),
    "no weights": ({"sizes": 3}, "sizes: is no object of values and weights"),
    "no duration": ({"median": "soon"}, "median: 'soon' is no length of time"),
    "a job of nothing": ({"sizes": {"0": 1}}, "sizes: 0 is too small; the least is 1"),
    "a trace of aeons": ({"per_hour": 0}, "per_hour: 0 is too small: 10,000 jobs would take too long"),
    "no jobs": ({"jobs": 0}, "jobs: 0 is too small"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe("philly-like", **given)


def test_a_recipe_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match=r"no recipe 'phily-like' \(did you mean 'philly-like'\?\)"):
        recipe("phily-like")


def test_settings_are_read_as_they_are_typed() -> None:
    assert parse_settings(["sizes={1: 0.5, 8: 0.5}", "median=10m", "queues=3"]) == {
        "sizes": {"1": pytest.approx(0.5), "8": pytest.approx(0.5)},
        "median": "10m",
        "queues": 3,
    }
    with pytest.raises(InputError, match="--set median: gives no value"):
        parse_settings(["median"])
