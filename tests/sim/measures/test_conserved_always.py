"""What holds for every sound result, and that no change of one stays unseen."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cede.sim.measures.conservation import balance, check
from cede.sim.measures.measure import measure
from cede.sim.measures.timeline import steps, timeline
from cede.sim.result import Result
from tests.sampling import examples
from tests.sim.generated_results import results
from tests.sim.results import SECOND, changed

pytestmark = pytest.mark.slow

GPU = 10**9


def naive(result: Result) -> dict[str, int]:
    """Second by second what jobs hold, in GPU-seconds."""
    size = [result.sizes[shape]["gpu"] // GPU for shape in result.jobs["shape"]]
    used = np.zeros(result.end // SECOND, np.int64)
    for job, start, end in result.attempts.select("job", "start", "end").rows():
        used[start // SECOND : end // SECOND] += size[job]
    return {"used": int(used.sum()), "free": int((8 - used).sum()), "most": int(used.max(initial=0))}


@examples(50)
@given(results())
def test_work_done_and_lost_and_overhead_and_idle_are_capacity_times_time(result: Result) -> None:
    assert check(result) == []
    [found] = balance(result)
    assert found.whole == 8 * GPU * result.end
    assert found.missing == 0
    plain = naive(result)
    assert found.useful + found.lost + found.overhead == plain["used"] * GPU * SECOND
    assert found.held + found.down + found.idle == plain["free"] * GPU * SECOND
    assert min(found.held, found.down, found.idle) >= 0


@examples(50)
@given(results(), st.data())
def test_no_attempt_can_be_lengthened_or_shortened_unseen(result: Result, data: st.DataObject) -> None:
    assume(len(result.attempts))
    row = data.draw(st.integers(0, len(result.attempts) - 1))
    column = data.draw(st.sampled_from(["start", "end", "useful", "lost", "overhead"]))
    by = data.draw(st.sampled_from([-SECOND, -1, 1, SECOND]))

    assert check(changed(result, "attempts", column, row, result.attempts[column][row] + by)) != []


@examples(50)
@given(results(), st.data())
def test_no_job_can_change_its_state_unseen(result: Result, data: st.DataObject) -> None:
    assume(len(result.jobs))
    row = data.draw(st.integers(0, len(result.jobs) - 1))
    states = ["completed", "failed", "cancelled", "waiting", "requeued", "running", "sleeping"]
    was = result.jobs["state"][row]
    becomes = data.draw(st.sampled_from([state for state in states if state != was]))

    assert check(changed(result, "jobs", "state", row, becomes)) != []


@examples(50)
@given(results())
def test_a_cluster_smaller_than_the_most_that_was_held_is_overbooked(result: Result) -> None:
    most = naive(result)["most"]
    assume(most > 0)

    assert check(replace(result, capacity={"gpu": most * GPU})) == []
    assert check(replace(result, capacity={"gpu": most * GPU - 1})) != []


@examples(50)
@given(results(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(result: Result, random: object) -> None:
    seed = getattr(random, "randrange")(2**32)  # noqa: B009
    tables = ("jobs", "attempts", "holds", "decisions", "victims", "outages")
    mixed: dict[str, pl.DataFrame] = {
        name: getattr(result, name).sample(fraction=1, shuffle=True, seed=seed) for name in tables
    }
    other = replace(result, **mixed)  # type: ignore[arg-type]

    assert measure(other) == measure(result)
    assert check(other) == check(result)
    assert timeline(other, bins=7).equals(timeline(result, bins=7))


@examples(50)
@given(results())
def test_renumbering_jobs_changes_no_number(result: Result) -> None:
    """The last job becomes the first, in every table."""
    last = len(result.jobs) - 1

    def turned(name: str, column: str = "job") -> pl.DataFrame:
        frame: pl.DataFrame = getattr(result, name)
        return frame.with_columns((pl.lit(last, pl.Int64) - pl.col(column)).cast(pl.UInt32))

    decisions = turned("decisions").with_columns(
        pl.col("victims").list.eval((pl.lit(last, pl.Int64) - pl.element()).cast(pl.UInt32))
    )
    tables = {name: turned(name) for name in ("jobs", "attempts", "holds", "victims")} | {"decisions": decisions}
    other, same = measure(replace(result, **tables)), measure(result)  # type: ignore[arg-type]

    assert other.values.keys() == same.values.keys()
    for group, values in same.values.items():
        told = {key: value for key, value in values.items() if value is not None}
        found = {key: value for key, value in other.values[group].items() if value is not None}
        assert found == pytest.approx(told, rel=1e-12), group


@examples(50)
@given(results(), st.sampled_from(["queue", "priority", "size", "state"]))
def test_bins_and_steps_have_the_same_area(result: Result, by: str) -> None:
    def areas(frame: pl.DataFrame) -> dict[str, float]:
        lasted = pl.col("until") - pl.col("at")
        found = frame.group_by("group").agg((pl.col("used") * lasted).sum())
        return dict(found.rows())

    assert areas(timeline(result, by, bins=11)) == pytest.approx(areas(steps(result, by)), rel=1e-9, abs=1e-3)
