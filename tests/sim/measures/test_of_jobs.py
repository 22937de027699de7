import pytest

from cede.sim.measures.measure import measure
from tests.sim.results import HOUR, Job, Ran, result_of

FOUR = result_of(
    Job("a", [Ran(0, 100)], submitted=0),
    Job("b", [Ran(30, 40)], submitted=10),
    Job("c", [Ran(60, 61)], submitted=20),
    Job("d", [Ran(30, 50, "preempted", lost=5), Ran(90, 100, "node", lost=10), Ran(130, 200)], submitted=30),
)
"""Waits 0, 20, 40, 0; completion times 100, 30, 41, 170; d was away from 50 to 90 and from 100 to 130."""


def test_wait_is_from_submission_to_the_first_start() -> None:
    found = measure(FOUR)

    assert found.value("wait_mean") == (0 + 20 + 40 + 0) / 4
    assert found.value("wait_p50") == 0
    assert found.value("wait_p95") == 40


def test_total_wait_has_every_later_wait_too() -> None:
    found = measure(FOUR)

    assert found.value("total_wait_mean") == (0 + 20 + 40 + (40 + 30)) / 4
    assert found.value("total_wait_p99") == 70


def test_completion_time_is_from_submission_to_end() -> None:
    found = measure(FOUR)

    assert found.value("turnaround_mean") == (100 + 30 + 41 + 170) / 4
    assert found.value("turnaround_p50") == 41
    assert found.value("turnaround_p99") == 170


def test_slowdown_is_bounded_below_by_one_and_its_run_time_by_tau() -> None:
    ideal = 15 + 70
    slowdowns = [1.0, 30 / 10, 41 / 10, 170 / ideal]

    found = measure(FOUR)

    assert found.value("slowdown_mean") == pytest.approx(sum(slowdowns) / 4)
    assert found.value("slowdown_p50") == 170 / ideal
    assert found.value("slowdown_p95") == 4.1
    assert measure(FOUR, bound_s=0).value("slowdown_p95") == 41


def test_a_job_without_work_was_not_slowed_down_if_there_is_no_bound() -> None:
    empty = result_of(Job("a", [Ran(5, 5)], submitted=0))

    assert measure(empty, bound_s=0).value("slowdown_mean") == 1


def test_a_percentile_is_the_value_of_a_real_job() -> None:
    """95 % of 20 jobs are 19: the p95 is the second largest; their p50 is the tenth."""
    twenty = result_of(*(Job(f"j{n}", [Ran(n, 100)], submitted=0) for n in range(20)), capacity={"gpu": 20})

    found = measure(twenty)

    assert (found.value("wait_p50"), found.value("wait_p95"), found.value("wait_p99")) == (9, 18, 19)


def test_makespan_is_from_the_first_submission_to_the_last_end() -> None:
    late = result_of(Job("a", [Ran(50, 60)], submitted=40), Job("b", [Ran(55, 90)], submitted=45), begin=0)

    assert measure(late).value("makespan") == 50


def test_while_a_job_is_under_way_there_is_no_makespan() -> None:
    stopped = result_of(Job("a", [Ran(0, 10)], queue="x"), Job("b", [Ran(0, 20, "open")], queue="y"), end=20)

    found = measure(stopped)

    assert found.value("makespan") is None
    assert (found.value("makespan", "queue", "x"), found.value("makespan", "queue", "y")) == (10, None)


def test_a_job_that_was_refused_does_not_keep_a_makespan_from_ending() -> None:
    assert measure(result_of(Job("a", [Ran(0, 10)]), Job("huge", state="refused"))).value("makespan") == 10


def test_throughput_counts_what_completed_by_the_hour() -> None:
    two_in_half_an_hour = result_of(Job("a", [Ran(0, HOUR / 4)]), Job("b", [Ran(0, HOUR / 2)]))

    assert measure(two_in_half_an_hour).value("throughput") == 4


def test_every_job_is_counted_in_one_of_the_ways_to_end() -> None:
    found = measure(
        result_of(
            Job("done", [Ran(0, 10)]),
            Job("waits"),
            Job("runs", [Ran(0, 20, "open")]),
            Job("again", [Ran(0, 5, "preempted")]),
            Job("never", state="refused"),
            Job("broke", [Ran(0, 5, "failed", lost=5)]),
            Job("gone", [Ran(0, 5, "cancelled", lost=5)]),
            end=20,
        )
    )

    counts = {key: found.value(key) for key in ("completed", "never_started", "unfinished", "refused", "failed")}
    assert counts == {"completed": 1, "never_started": 1, "unfinished": 2, "refused": 1, "failed": 2}
    assert found.value("jobs") == sum(value or 0 for value in counts.values())


def test_preemptions_and_evictions_are_told_apart() -> None:
    often = [Ran(n, n + 1, "preempted") for n in range(0, 6, 2)]
    found = measure(
        result_of(
            Job("often", [*often, Ran(10, 20)]),
            Job("once", [Ran(0, 5, "preempted"), Ran(6, 7, "node"), Ran(8, 9, "drained"), Ran(10, 12)]),
            Job("never", [Ran(0, 4)]),
            Job("waits"),
            end=20,
        )
    )

    assert found.value("preemptions") == 4
    assert found.value("preempted_share") == 2 / 3
    assert found.value("preemptions_mean") == 4 / 3
    assert (found.value("preemptions_p99"), found.value("preemptions_max")) == (3, 3)
    assert found.value("evictions") == 2


def test_groups_are_priorities_queues_and_sizes() -> None:
    found = measure(
        result_of(
            Job("a", [Ran(4, 9)], priority=1, queue="x", size=1),
            Job("b", [Ran(6, 9)], priority=9, queue="y", size=2),
            Job("c", [Ran(8, 9)], priority=9, queue="x", size=4),
        )
    )

    assert list(found.values) == [
        ("all", "all"),
        ("priority", "9"),
        ("priority", "1"),
        ("queue", "x"),
        ("queue", "y"),
        ("size", "up to 1"),
        ("size", "over 1 to 4"),
    ]
    assert found.value("wait_mean", "priority", "9") == 7
    assert found.value("wait_mean", "queue", "x") == 6
    assert found.value("wait_mean", "size", "over 1 to 4") == 7


def test_very_many_priorities_are_put_together_in_bands() -> None:
    many = result_of(*(Job(f"j{n}", [Ran(0, 1)], priority=n) for n in range(48)), capacity={"gpu": 48})

    found = [group for by, group in measure(many).values if by == "priority"]

    assert len(found) == 12
    assert (found[0], found[-1]) == ("44 to 47", "0 to 3")


def test_warm_up_leaves_out_the_first_jobs_and_the_time_before_the_next() -> None:
    found = measure(FOUR, warm_up=0.5)

    assert found.window == (20_000_000, 200_000_000)
    assert found.value("jobs") == 2
    assert found.value("wait_mean") == 20
    assert any("50.0% of jobs are warm-up" in sentence for sentence in found.stated)


@pytest.mark.parametrize("wrong", [{"warm_up": 1.0}, {"warm_up": -0.1}, {"bound_s": -1}])
def test_a_share_or_a_bound_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="not"):
        measure(FOUR, warm_up=wrong.get("warm_up", 0.0), bound_s=wrong.get("bound_s", 10.0))


def test_a_replay_without_jobs_has_no_means() -> None:
    found = measure(result_of(end=10))

    assert (found.value("jobs"), found.value("wait_mean"), found.value("jain")) == (0, None, None)
    assert list(found.values) == [("all", "all")]
