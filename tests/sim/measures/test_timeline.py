import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cede.sim.measures.timeline import TIMELINE, steps, timeline
from tests.sim.results import Held, Job, Ran, result_of, us

TEN = result_of(
    Job("a", [Ran(0, 3, "preempted"), Ran(6, 10)], size=4, queue="x"),
    Job("b", [Ran(3, 6)], size=8, queue="y", submitted=1, priority=9),
)
"""x holds 4 from 0 to 3 and from 6 to 10, and waits between; y waits from 1 to 3 and holds 8 until 6."""


def rows(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    return frame.with_columns(pl.col("at", "until") / 10**6).rows()


def test_steps_are_every_change_of_use_and_demand() -> None:
    assert rows(steps(TEN)) == [
        (0, 3, "x", 4, 0),
        (3, 6, "x", 0, 4),
        (6, 10, "x", 4, 0),
        (0, 1, "y", 0, 0),
        (1, 3, "y", 0, 8),
        (3, 6, "y", 8, 0),
        (6, 10, "y", 0, 0),
    ]


def test_bins_are_exact_averages() -> None:
    assert rows(timeline(TEN, "priority", bins=2)) == [
        (0, 5, "9", 8 * 2 / 5, 8 * 2 / 5),
        (5, 10, "9", 8 * 1 / 5, 0),
        (0, 5, "0", 4 * 3 / 5, 4 * 2 / 5),
        (5, 10, "0", 4 * 4 / 5, 4 * 1 / 5),
    ]


def test_many_small_bins_add_up_to_the_same_area() -> None:
    fine = timeline(TEN, bins=7)

    area = fine.select((pl.col("used") * (pl.col("until") - pl.col("at"))).sum()).item()
    assert area == pytest.approx(us(4 * 7 + 8 * 3), rel=1e-12)
    assert (fine["at"].min(), fine["until"].max()) == (0, us(10))


def test_states_add_up_to_the_capacity_at_every_moment() -> None:
    """From 2 room is held for b in which a still is: held counts what is free, 4 of it."""
    result = result_of(
        Job("a", [Ran(0, 3, "preempted"), Ran(6, 10)], size=4),
        Job("b", [Ran(3, 6)], size=8, submitted=1),
        holds=[Held("b", 2, 3)],
        outages=[("n1", 7, 9, "down")],
        nodes={"n1": {"gpu": 2}, "n2": {"gpu": 6}},
    )

    found = steps(result, "state")

    level = {group: found.filter(pl.col("group") == group)["used"].to_list() for group in ("held", "down", "idle")}
    assert level == {"held": [0, 4, 0, 0, 0, 0], "down": [0, 0, 0, 0, 2, 0], "idle": [4, 0, 0, 4, 2, 4]}
    wide = found.filter(pl.col("group") != "running").group_by("at").agg(pl.col("used").sum())
    both = wide.join(found.filter(pl.col("group") == "running").select("at", running="used"), "at")
    assert set((both["used"] + both["running"]).to_list()) == {8.0}


def test_by_state_only_running_has_demand() -> None:
    found = timeline(TEN, "state", bins=2)

    assert found.filter(pl.col("group") == "running")["waiting"].to_list() == [(8 * 2 + 4 * 2) / 5, 4 / 5]
    assert found.filter(pl.col("group") != "running")["waiting"].null_count() == 6


@pytest.mark.parametrize("by", ["queue", "priority", "size", "state", "user"])
def test_every_grouping_has_the_same_columns(by: str) -> None:
    assert timeline(TEN, by, bins=3).schema == pl.Schema(TIMELINE)
    assert steps(TEN, by).schema == pl.Schema(TIMELINE)


def test_a_replay_without_jobs_has_an_empty_timeline() -> None:
    assert_frame_equal(timeline(result_of(end=5)), pl.DataFrame(schema=TIMELINE))


def test_a_replay_without_time_has_no_use() -> None:
    at_once = result_of(Job("a", [Ran(0, 0)]))

    assert timeline(at_once, bins=2)["used"].to_list() == [0, 0]


def test_what_is_no_grouping_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="shoe is no grouping; there are all, priority, queue, size"):
        timeline(TEN, "shoe")
    with pytest.raises(ValueError, match="1 bin or more"):
        timeline(TEN, bins=0)
