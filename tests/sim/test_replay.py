"""What a replay does to a few jobs, with every number worked out by hand. Times in seconds."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.terms import Terms
from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.faults import Fault
from cede.sim.loops import loops_in
from cede.sim.machine import Habits
from cede.sim.measures.conservation import check
from cede.sim.options import ReplayOptions
from cede.sim.records import Records
from cede.sim.result import Result
from cede.sim.simulate import replay
from tests.sim.clusters import cluster_of, trace_of

LOW: dict[str, Any] = {"submitted": 0, "duration": 300, "cpu": 4, "priority": 1}
HIGH: dict[str, Any] = {"submitted": 100, "duration": 50, "cpu": 4, "priority": 9}


def run(
    *jobs: dict[str, Any], nodes: Any = ({"cpu": 4},), options: ReplayOptions | None = None, **settings: Any
) -> Result:
    result = replay(trace_of(*jobs), cluster_of(nodes, **settings), options or ReplayOptions())
    assert check(result) == []
    return result


def attempts(result: Result, job: int = 0) -> list[tuple[Any, ...]]:
    """Start, end, how, useful, lost and overhead of each attempt of a job."""
    rows = result.attempts.filter(result.attempts["job"] == job).sort("attempt")
    seconds = ("start", "end", "useful", "lost", "overhead")
    return [
        (row["start"] / SECOND, row["end"] / SECOND, row["how"], *(row[key] / SECOND for key in seconds[2:]))
        for row in rows.to_dicts()
    ]


def test_work_that_was_never_saved_is_done_again() -> None:
    result = run(LOW, HIGH)
    assert attempts(result, 1) == [(100, 150, "completed", 50, 0, 0)]
    assert attempts(result, 0) == [(0, 100, "preempted", 0, 100, 0), (150, 450, "completed", 300, 0, 0)]
    assert result.jobs["preemptions"].to_list() == [1, 0]
    assert result.end == 450 * SECOND


def test_a_checkpoint_that_is_asked_for_saves_all_work_and_costs_its_writing_and_restoring() -> None:
    saving = {**LOW, "checkpoint": "auto", "checkpoint_time": 10, "restart_time": 5}
    result = run(saving, HIGH)
    assert attempts(result, 0) == [(0, 110, "preempted", 100, 0, 10), (160, 365, "completed", 200, 0, 5)]
    assert attempts(result, 1) == [(110, 160, "completed", 50, 0, 0)]
    made = result.decisions.to_dicts()
    assert [(row["at"], row["freed"], row["started"]) for row in made] == [(100 * SECOND, 110 * SECOND, 110 * SECOND)]
    assert result.holds["how"].to_list() == ["started"]
    assert result.victims["saved"].to_list() == [True]


def test_checkpoints_at_an_interval_save_what_came_before_the_last_one() -> None:
    result = run({**LOW, "checkpoint_interval": 30, "restart_time": 7}, HIGH)
    assert attempts(result, 0) == [(0, 100, "preempted", 90, 10, 0), (150, 367, "completed", 210, 0, 7)]


def test_a_checkpoint_that_takes_too_long_is_not_waited_for() -> None:
    slow = {**LOW, "checkpoint": "auto", "checkpoint_time": 60, "checkpoint_interval": 40}
    result = run(slow, HIGH, options=ReplayOptions(terms=Terms(checkpoint_timeout=20 * SECOND)))
    assert attempts(result, 0)[0] == (0, 120, "preempted", 80, 20, 20)
    assert result.victims["saved"].to_list() == [False]


def test_processes_take_their_time_to_leave_but_no_longer_than_the_grace_period() -> None:
    terms = Terms(grace_period=30 * SECOND)
    for stop, left in ((12, 112), (90, 130)):
        result = run(LOW, HIGH, options=ReplayOptions(habits=Habits(stop_time=stop * SECOND), terms=terms))
        assert attempts(result, 0)[0] == (0, left, "preempted", 0, 100, left - 100)
        assert attempts(result, 1)[0][0] == left


def test_starting_may_take_time_which_is_no_work() -> None:
    result = run({**LOW, "duration": 10}, options=ReplayOptions(habits=Habits(start_delay=3 * SECOND)))
    assert attempts(result) == [(0, 13, "completed", 10, 0, 3)]


def test_a_victim_that_its_mode_ends_does_not_come_back() -> None:
    result = run(LOW, HIGH, preemption_mode="terminate")
    assert result.jobs["state"].to_list() == ["preempted", "completed"]
    assert result.jobs["rule"].to_list() == ["live.preempted", None]


def test_who_can_never_run_is_refused_with_its_reason() -> None:
    result = run({**LOW, "cpu": 9}, {**LOW, "submitted": 5})
    assert result.jobs["state"].to_list() == ["refused", "completed"]
    assert "4" in result.jobs["why"][0]


def test_a_node_that_goes_down_takes_its_jobs_with_it_and_they_start_again_elsewhere() -> None:
    nodes = ({"cpu": 4}, {"cpu": 4})
    faults = (Fault(60 * SECOND, "n0", "down"), Fault(500 * SECOND, "n0", "ready"))
    result = run({**LOW, "checkpoint_interval": 25}, nodes=nodes, options=ReplayOptions(faults=faults))
    assert attempts(result, 0) == [(0, 60, "node", 50, 10, 0), (60, 310, "completed", 250, 0, 0)]
    assert result.jobs["evictions"].to_list() == [1]
    assert result.jobs["preemptions"].to_list() == [0]
    assert [(row["from"], row["state"]) for row in result.outages.to_dicts()] == [(60 * SECOND, "down")]


def test_a_drained_node_is_left_with_a_checkpoint_and_taken_again_when_it_is_ready() -> None:
    saving = {**LOW, "checkpoint": "auto", "checkpoint_time": 10, "restart_time": 5}
    faults = (Fault(60 * SECOND, "n0", "cordoned", evict=True), Fault(100 * SECOND, "n0", "ready"))
    result = run(saving, options=ReplayOptions(faults=faults))
    assert attempts(result, 0) == [(0, 70, "drained", 60, 0, 10), (100, 345, "completed", 240, 0, 5)]


def test_a_run_that_is_stopped_shows_what_was_under_way() -> None:
    result = run(LOW, HIGH, {**LOW, "submitted": 110}, options=ReplayOptions(until=120 * SECOND))
    assert not result.complete
    assert result.end == 120 * SECOND
    assert result.jobs["state"].to_list() == ["requeued", "running", "waiting"]
    assert attempts(result, 1) == [(100, 120, "open", 20, 0, 0)]


def test_a_run_that_is_stopped_before_anything_happens_has_no_length() -> None:
    result = run({**LOW, "submitted": 50}, options=ReplayOptions(until=20 * SECOND))
    assert (result.begin, result.end) == (20 * SECOND, 20 * SECOND)
    assert result.jobs["state"].to_list() == ["waiting"]


def test_a_job_may_save_its_work_without_saying_how_long_that_takes() -> None:
    result = run({**LOW, "checkpoint": "auto"}, HIGH)
    assert attempts(result, 0)[0] == (0, 100, "preempted", 100, 0, 0)


def test_a_moment_tells_how_long_a_checkpoint_takes() -> None:
    result = run({**LOW, "checkpoint": "auto", "checkpoint_time": 10}, HIGH)
    (document,) = result.moments.values()
    (saving,) = [entry for entry in document.workloads if entry.name == "j0"]
    assert saving.checkpoint is not None
    assert saving.checkpoint.time == 10 * SECOND


def test_a_victim_whose_checkpoint_is_no_longer_needed_works_on() -> None:
    saving = {**LOW, "cpu": 2, "checkpoint": "auto", "checkpoint_time": 50}
    other = {"submitted": 0, "duration": 120, "cpu": 2, "priority": 9}
    claimant = {"submitted": 100, "duration": 30, "cpu": 2, "priority": 9}
    result = run(saving, other, claimant)
    assert result.jobs["state"].to_list() == ["completed"] * 3
    assert sum(row[3] for row in attempts(result, 0)) == 300


@pytest.mark.parametrize("doctrine", ["backendai", "backendai:26.8", "kueue"])
def test_the_same_inputs_give_the_same_tables(doctrine: str) -> None:
    jobs = [
        {
            "submitted": at * 7 % 90,
            "duration": 20 + at * 13 % 70,
            "cpu": 1 + at % 4,
            "priority": at % 3,
            "walltime": 100,
        }
        for at in range(40)
    ]
    cluster = cluster_of(({"cpu": 4}, {"cpu": 4}), doctrine)
    first, again = (replay(trace_of(*jobs), cluster, ReplayOptions()) for _ in range(2))
    assert check(first) == []
    for table in ("jobs", "attempts", "decisions", "victims", "holds"):
        assert getattr(first, table).equals(getattr(again, table))


def test_preempting_each_other_is_told_as_a_loop() -> None:
    records = Records(trace_of(LOW, HIGH, {**LOW, "submitted": 200}), [{"cpu": 4}], "cpu", 0)
    records.decisions = [
        [1, 0, 0, "preempt", "r", "w", [1], None, None, None],
        [2, 1, 1, "preempt", "r", "w", [0], None, None, None],
        [3, 2, 1, "preempt", "r", "w", [2], None, None, None],
    ]
    assert loops_in(records) == ("j0, j1 preempted each other 2 times",)


def test_the_moments_of_the_costliest_preemptions_are_kept_with_their_checkpoints() -> None:
    result = run({**LOW, "checkpoint_interval": 30}, HIGH)
    (document,) = result.moments.values()
    (running,) = [entry for entry in document.workloads if entry.state == "running"]
    assert running.name == "j0"
    assert running.checkpoint is not None
    assert running.checkpoint.last == 90 * SECOND


def test_a_cluster_without_nodes_or_quota_is_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="nodes: are missing"):
        run(LOW, nodes=())
