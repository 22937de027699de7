"""What was not done, who thrashed, targets, money, and the time in which jobs keep coming."""

from __future__ import annotations

import pytest

from cede.sim.compare import Run, table, undone
from cede.sim.measures.measure import Yard, measure
from cede.sim.verdicts import judge
from tests.sim.results import HOUR, Job, Ran, result_of

MIXED = result_of(
    Job("done", [Ran(0, HOUR)], size=2),
    Job("refused", size=4, duration=3 * HOUR, state="refused", rule="d.too-big"),
    Job("killed", [Ran(0, HOUR, "preempted")], size=1, duration=2 * HOUR, state="preempted"),
    Job("late", size=1, duration=2 * HOUR),
    end=2 * HOUR,
)


def test_work_that_was_not_done_is_counted_in_hours_and_shares() -> None:
    found = measure(MIXED).values["all", "all"]

    assert (found["refused"], found["refused_hours"]) == (1, 12)
    assert found["refused_share"] == pytest.approx(12 / 18)
    assert (found["failed"], found["failed_hours"]) == (1, 2)
    assert (found["never_started"], found["never_started_hours"]) == (1, 2)


def test_work_that_waits_though_nothing_comes_any_more_is_undone() -> None:
    done, late = Job("done", [Ran(0, HOUR)], size=1), Job("late", size=1, duration=3 * HOUR)
    sent_away = Job("sent away", [Ran(0, HOUR, "preempted", lost=HOUR)], size=2, duration=2 * HOUR)
    ended = measure(result_of(done, late, sent_away))
    stopped = measure(result_of(done, late, sent_away, end=HOUR))

    assert (ended.stranded.jobs, ended.stranded.hours) == (2, 7)
    assert undone([ended]) == pytest.approx(7 / 8)
    assert undone([stopped]) == 0
    told = judge(table([Run("a", "a", {}, [ended], judged=False), Run("b", "b", {}, [ended])]))
    assert told.verdicts[0].sentence.startswith(
        "Not judged: it left waiting for ever 2 jobs, 7 gpu-hours, 87.5% of the work, so"
    )


def test_measures_of_jobs_are_over_the_common_ones_and_counts_over_all() -> None:
    waits = result_of(Job("a", [Ran(10, 20)], size=1), Job("b", [Ran(110, 120)], size=1))

    found = measure(waits, common={"a"}).values["all", "all"]

    assert (found["jobs"], found["compared"], found["completed"]) == (2, 1, 2)
    assert (found["wait_mean"], found["waited_share"]) == (10, 1)


def test_a_run_that_is_not_judged_is_compared_over_no_more_jobs_than_it_finished() -> None:
    some = result_of(Job("a", [Ran(10, 20)], size=1), Job("b", size=1, duration=5, state="refused", rule="d.r"))

    assert measure(some, common={"a", "b"}).value("compared") == 1
    assert measure(some).value("compared") == 2


def test_who_is_preempted_more_than_ten_times_thrashes() -> None:
    def sent_away(name: str, times: int) -> Job:
        runs = [Ran(10 * turn, 10 * turn + 1, "preempted", lost=1) for turn in range(times)]
        return Job(name, [*runs, Ran(10 * times, 10 * times + 5)], size=1)

    found = measure(result_of(sent_away("ten", 10), sent_away("eleven", 11))).values["all", "all"]

    assert (found["preemptions_max"], found["thrashing"]) == (11, 1)


def test_targets_are_missed_by_who_waits_longer_and_by_who_still_waits() -> None:
    jobs = result_of(
        Job("in time", [Ran(60, 70)], size=1, priority=9),
        Job("too late", [Ran(61, 70)], size=1, priority=9),
        Job("never", size=1, priority=9, duration=5),
        Job("of no class with a target", [Ran(600, 610)], size=1, priority=1),
        end=700,
    )
    found = measure(jobs, yard=Yard({9: 60_000_000}))

    assert found.value("target_misses") == pytest.approx(2 / 3)
    assert found.value("target_misses", "priority", "9") == pytest.approx(2 / 3)
    assert found.value("target_misses", "priority", "1") is None
    assert measure(jobs).value("target_misses") is None


def test_what_was_held_has_a_price_by_class_and_the_wasted_part_is_told() -> None:
    jobs = result_of(
        Job("a", [Ran(0, HOUR, "preempted", lost=HOUR / 2), Ran(HOUR, 2 * HOUR)], size=2, priority=1),
        Job("b", [Ran(0, HOUR)], size=4, priority=9),
    )
    found = measure(jobs, yard=Yard(prices={"gpu": 3.0}))

    assert (found.value("cost"), found.value("wasted_cost")) == (24, 3)
    assert [found.value("cost", "priority", rank) for rank in ("9", "1")] == [12, 12]


def test_goodput_in_the_steady_time_leaves_filling_and_running_out_away() -> None:
    """Ten jobs, one a minute, for half a minute each on one of eight GPUs; the last runs for an hour."""
    jobs = [Job(f"j{n}", [Ran(60 * n, 60 * n + (3600 if n == 9 else 30))], size=1, submitted=60 * n) for n in range(10)]
    found = measure(result_of(*jobs))

    assert found.value("steady_goodput") == pytest.approx(0.5 / 8)


def test_only_of_jobs_that_no_policy_could_run_it_is_said_that_the_cluster_could_never_take_them() -> None:
    nodes = {"n1": {"gpu": 8}, "n2": {"gpu": 8}}
    large = Job("large", size=17, duration=1, state="refused", rule="d.too-big")
    gang = Job("gang", size=8, duration=1, state="refused", rule="d.one-node")

    def said(*jobs: Job) -> str:
        return next(one for one in measure(result_of(*jobs, nodes=nodes)).stated if "refused" in one)

    assert (
        said(large) == "1 of 1 jobs were refused and did not run (by d.too-big 1): this cluster could never take them."
    )
    assert "1 of them this cluster could never take, and the others only this policy refuses" in said(large, gang)
