"""A replay that begins with the workloads of its cluster file, with every number worked out by hand. Times in seconds.

The first job of the trace comes at 1000, which is the file's `now`, 5000: what started at 4940 there started at 940.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cede
from cede.engine.cluster import Cluster
from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.checkpoint_assumptions import Assumed
from cede.sim.faults import Fault
from cede.sim.measures.conservation import check, conserve
from cede.sim.options import ReplayOptions
from cede.sim.result import Result
from cede.sim.simulate import replay
from tests.sim.clusters import trace_of
from tests.sim.test_replay import attempts

NOW, BEGIN = 5000, 1000
RUNS: dict[str, Any] = {
    "name": "w",
    "queue": "q",
    "state": "running",
    "requests": {"cpu": 4},
    "nodes": ["n0"],
    "submitted": NOW - 90,
    "started": NOW - 60,
    "walltime": 300,
    "priority": 1,
}
WAITS: dict[str, Any] = {
    "name": "w",
    "queue": "q",
    "requests": {"cpu": 4},
    "submitted": NOW - 30,
    "walltime": 100,
    "priority": 1,
}
LIKE: dict[str, Any] = {"submitted": BEGIN, "duration": 50, "cpu": 4, "priority": 1}
HIGH: dict[str, Any] = {**LIKE, "priority": 9}


def file_of(*workloads: dict[str, Any], nodes: int = 1, now: Any = NOW) -> Cluster:
    return cede.load(
        {
            "cede": 1,
            "now": now,
            "doctrine": "backendai",
            "nodes": [{"name": f"n{at}", "capacity": {"cpu": 4}} for at in range(nodes)],
            "queues": [{"name": "q", "settings": {"preemptible_priority": 5, "preemption_mode": "suspend"}}],
            "workloads": list(workloads),
        }
    )


def run(cluster: Cluster, *jobs: dict[str, Any], origin: int | None = None, **wishes: Any) -> Result:
    result = replay(trace_of(*jobs, origin=origin), cluster, ReplayOptions(**wishes))
    assert check(result) == []
    return result


def test_what_runs_ends_its_walltime_after_its_start_and_holds_its_room_until_then() -> None:
    result = run(file_of(RUNS), LIKE)

    assert result.jobs["name"].to_list() == ["w", "j0"]
    assert result.jobs["submitted"].to_list() == [910 * SECOND, 1000 * SECOND]
    assert result.jobs["first_start"].to_list() == [940 * SECOND, 1240 * SECOND]
    assert attempts(result, 0) == [(940, 1240, "completed", 300, 0, 0)]
    assert attempts(result, 1) == [(1240, 1290, "completed", 50, 0, 0)]
    assert (result.begin, result.end) == (1000 * SECOND, 1290 * SECOND)
    measured = result.measure()
    assert [measured.value(key) for key in ("jobs", "completed", "wait_mean", "allocation")] == [2, 2, 135, 1]


def test_what_it_did_before_the_replay_is_not_capacity_of_the_replay() -> None:
    result = run(file_of(RUNS), HIGH)
    (balance,) = conserve(result).to_dicts()

    assert attempts(result, 0) == [(940, 1000, "preempted", 0, 60, 0), (1050, 1350, "completed", 300, 0, 0)]
    assert balance["lost"] == 0
    assert balance["useful"] * 3600 == pytest.approx(4 * 350)
    assert balance["whole"] * 3600 == pytest.approx(4 * 350)


def test_nobody_but_those_that_ran_may_have_started_before_the_replay() -> None:
    result = run(file_of(RUNS), HIGH)
    outside = ["w: an attempt lies outside the replayed time"]

    assert check(replace(result, found=0)) == outside
    assert (
        check(replace(result, attempts=result.attempts.with_columns(attempt=result.attempts["attempt"] + 1))) == outside
    )


def test_work_that_is_lost_is_counted_as_far_as_it_was_done_in_the_replay() -> None:
    small = {**LIKE, "cpu": 1, "duration": 1}
    result = run(file_of(RUNS, nodes=2), small, {**HIGH, "submitted": 1100}, {**HIGH, "submitted": 1100})
    (balance,) = conserve(result).to_dicts()

    assert attempts(result, 0)[0] == (940, 1100, "preempted", 0, 160, 0)
    assert balance["lost"] * 3600 == pytest.approx(4 * 100)
    assert result.measure().value("lost_hours") == pytest.approx(4 * 100 / 3600)


def test_the_checkpoint_that_the_file_tells_of_is_what_is_gone_back_to() -> None:
    saved = {**RUNS, "checkpoint": {"mode": "none", "last": NOW - 20}}
    result = run(file_of(saved), HIGH)

    assert attempts(result, 0) == [(940, 1000, "preempted", 40, 20, 0), (1050, 1310, "completed", 260, 0, 0)]


def test_one_that_saves_when_asked_is_asked() -> None:
    saving = {**RUNS, "checkpoint": {"mode": "auto", "time": 10}}
    result = run(file_of(saving), HIGH, assumed=Assumed(restart_time=5 * SECOND))

    assert attempts(result, 0) == [(940, 1010, "preempted", 60, 0, 10), (1060, 1305, "completed", 240, 0, 5)]
    assert result.victims["saved"].to_list() == [True]


def test_what_is_assumed_of_jobs_is_assumed_of_the_file_too() -> None:
    result = run(file_of(RUNS), HIGH, assumed=Assumed(checkpoint_interval=25 * SECOND))

    assert attempts(result, 0)[0] == (940, 1000, "preempted", 50, 10, 0)
    assert "Checkpoint interval is assumed to be 25s for 2 of 2 jobs." in result.notes


def test_what_waits_has_waited_since_it_was_submitted() -> None:
    result = run(file_of(WAITS), LIKE)

    assert attempts(result, 0) == [(1000, 1100, "completed", 100, 0, 0)]
    assert attempts(result, 1) == [(1100, 1150, "completed", 50, 0, 0)]
    assert result.measure().value("wait_mean") == (30 + 100) / 2


def test_what_is_suspended_restores_first() -> None:
    away = {**WAITS, "state": "suspended", "checkpoint": {"mode": "auto", "last": NOW - 40}}
    result = run(file_of(away), LIKE, assumed=Assumed(restart_time=7 * SECOND))

    assert attempts(result, 0) == [(1000, 1107, "completed", 100, 0, 7)]
    assert attempts(result, 1) == [(1107, 1157, "completed", 50, 0, 0)]


def test_who_has_run_for_longer_than_its_walltime_ends_at_once() -> None:
    result = run(file_of({**RUNS, "started": NOW - 400}), LIKE)

    assert attempts(result, 0) == [(600, 1000, "completed", 400, 0, 0)]
    assert attempts(result, 1) == [(1000, 1050, "completed", 50, 0, 0)]


def test_who_holds_its_room_and_has_not_begun_begins_with_the_replay() -> None:
    waiting = {key: value for key, value in RUNS.items() if key != "started"}

    assert attempts(run(file_of(waiting), LIKE), 0) == [(1000, 1300, "completed", 300, 0, 0)]


@pytest.mark.parametrize("state", ["pending", "suspended"])
def test_one_that_can_never_run_is_refused_like_any_other(state: str) -> None:
    result = run(file_of({**WAITS, "state": state, "requests": {"cpu": 9}}), LIKE)

    assert result.jobs["state"].to_list() == ["refused", "completed"]


def test_a_node_that_fails_takes_with_it_what_ran_there_from_the_beginning() -> None:
    faults = (Fault(1030 * SECOND, "n0", "down"),)
    result = run(file_of(RUNS, nodes=2), {**LIKE, "cpu": 1}, faults=faults)

    assert attempts(result, 0) == [(940, 1030, "node", 0, 90, 0), (1050, 1350, "completed", 300, 0, 0)]


def test_a_node_that_failed_before_has_failed_when_the_replay_begins() -> None:
    result = run(file_of(RUNS, nodes=2), {**LIKE, "cpu": 1}, faults=(Fault(900 * SECOND, "n0", "down"),))

    assert result.begin == 1000 * SECOND
    assert attempts(result, 0)[0] == (940, 1000, "node", 0, 60, 0)


def test_a_replay_that_is_stopped_tells_of_what_still_runs() -> None:
    result = run(file_of(RUNS), LIKE, until=1100 * SECOND)

    assert attempts(result, 0) == [(940, 1100, "open", 160, 0, 0)]
    assert result.jobs["state"].to_list() == ["running", "waiting"]


def test_dates_of_the_file_are_moved_to_those_of_the_trace() -> None:
    dated = {**RUNS, "submitted": "2020-01-01T00:00:00Z", "started": "2020-01-01T00:00:30Z"}
    cluster = file_of(dated, now="2020-01-01T00:01:30Z")
    origin = 10**9 * SECOND
    result = run(cluster, {**HIGH, "submitted": 1020}, {**LIKE, "cpu": 1}, origin=origin)
    (moment,) = result.moments.values()
    (entry,) = [one for one in moment.workloads if one.name == "w"]

    assert attempts(result, 0)[0] == (940, 1020, "preempted", 0, 80, 0)
    assert (entry.started, entry.submitted) == (origin + 940 * SECOND, origin + 910 * SECOND)


def test_backfill_believes_the_walltime_of_what_runs() -> None:
    half = {**RUNS, "requests": {"cpu": 2}}
    head = {**LIKE, "walltime": 50}
    jobs = [
        head,
        *({**LIKE, "submitted": 1001, "cpu": 2, "duration": length, "walltime": length} for length in (240, 239)),
    ]
    result = run(file_of(half), *jobs)

    assert [attempts(result, job)[0][0] for job in range(4)] == [940, 1240, 1290, 1001]


def test_a_warm_up_does_not_reach_back_before_the_replay() -> None:
    result = run(file_of(RUNS, {**WAITS, "name": "v"}), LIKE, LIKE)

    assert result.measure(warm_up=0.25).window[0] == 1000 * SECOND


def test_neither_the_order_of_entries_nor_another_run_changes_anything() -> None:
    others = [{**WAITS, "name": f"v{at}", "priority": at % 2, "requests": {"cpu": 2}} for at in range(5)]
    first = run(file_of(RUNS, *others), LIKE, HIGH)
    again = run(file_of(*reversed(others), RUNS), LIKE, HIGH)

    for table in ("jobs", "attempts", "decisions", "victims", "holds"):
        assert getattr(first, table).equals(getattr(again, table))


def test_of_equals_the_uid_decides_and_the_file_comes_before_the_trace() -> None:
    away = {**WAITS, "state": "suspended", "checkpoint": {"mode": "none", "last": NOW - 40}, "submitted": NOW}
    result = run(
        file_of({**away, "name": "a", "uid": "2"}, {**away, "name": "b", "state": "pending", "uid": "1"}), LIKE
    )
    started = dict(zip(result.jobs["name"], result.jobs["first_start"], strict=True))

    assert sorted(started, key=started.__getitem__) == ["b", "a", "j0"]


def test_what_is_there_is_told_beside_the_numbers() -> None:
    notes = run(file_of(RUNS, {**WAITS, "name": "v", "exclusive": True}), LIKE).notes

    assert notes[-2:] == (
        "The cluster file has 1 running and 1 waiting workloads at its now, which is the begin; each runs for its "
        "walltime.",
        "Workloads of the file that take whole nodes, 1, count in hours and shares as what they ask for.",
    )


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "without a walltime": (
        {**RUNS, "walltime": None},
        r"workloads\[w\].walltime: is missing: nobody knows when w ends",
    ),
    "waiting without a walltime": ({**WAITS, "walltime": None}, "nobody knows when w ends"),
    "reserved": ({**RUNS, "state": "reserved"}, "w is reserved, and a file does not say which workloads it waits for"),
    "checkpointing": ({**RUNS, "state": "checkpointing"}, "w is checkpointing, and a file does not say for what"),
    "preempting": ({**RUNS, "state": "preempting"}, "w is preempting, and a file does not say for whom"),
    "called like a job": ({**WAITS, "name": "j0"}, r"workloads\[j0\].name: the trace has a job called j0 too"),
    "started in the future": ({**RUNS, "started": NOW + 1}, r"workloads\[w\].started: of w is after the file's now"),
    "submitted in the future": ({**WAITS, "submitted": NOW + 1}, "submitted: of w is after the file's now"),
    "nowhere": ({**RUNS, "nodes": None}, "w runs, and nobody knows where"),
    "larger than its node": ({**RUNS, "requests": {"cpu": 5}}, r"nodes\[n0\]: holds more than it has"),
}


@pytest.mark.parametrize(("workload", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_a_replay_cannot_take_up_is_refused_by_name(workload: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        run(file_of({key: value for key, value in workload.items() if value is not None}), LIKE)
