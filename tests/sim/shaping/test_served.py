"""A server's documents become jobs that run as long as they would have without interruption."""

from __future__ import annotations

from typing import Any

import pytest

from cede.model.errors import InputError
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.sim.traces.served import served_trace
from cede.sim.traces.trace import Trace
from tests.sim.shaping.traces import check, column


def at(minute: float) -> str:
    return f"2026-01-01T00:{int(minute):02d}:{int(minute * 60 % 60):02d}Z"


def workload(name: str, state: str = "completed", **given: Any) -> dict[str, Any]:
    checkpoint = {"mode": "none", "protocol": "none", "last": None, "time": None, "interval": None}
    plain: dict[str, Any] = {
        "name": name,
        "queue": "q",
        "user": "ann",
        "project": None,
        "kind": "batch",
        "priority": 5,
        "state": state,
    }
    plain |= {"job_priority": None, "since": at(0), "submitted": at(0), "began": None, "ended": None, "members": 1}
    plain |= {"requests": {"cpu": 2}, "pod_sets": None, "labels": {}, "walltime": None, "checkpoint": checkpoint}
    return plain | {"preemptible": True, "preempts": True, "preempted": 0} | given


def events(name: str, *told: tuple[float, str, str | None, str]) -> list[dict[str, Any]]:
    return [
        {"workload": name, "at": at(minute), "signal": signal, "before": before, "after": after}
        for minute, signal, before, after in told
    ]


STARTS = ((1, "start", "pending", "starting"), (2, "began", "starting", "running"))
AGAIN = ((11, "start", "suspended", "starting"), (12, "began", "starting", "running"))
ENDS = (20, "complete", "running", "completed")


def trace_of(job: dict[str, Any], *told: tuple[float, str, str | None, str], now: float = 30) -> Trace:
    found = served_trace([job], events(job["name"], *told), [], at(now))
    check(found)
    return found


def minutes(trace: Trace) -> float:
    return float(column(trace, "duration")[0] / SECOND / 60)


def test_a_job_that_ran_through_runs_as_long_as_it_did() -> None:
    found = trace_of(workload("a"), *STARTS, ENDS)

    assert minutes(found) == 18
    assert column(found, "started") == [60 * SECOND]
    assert column(found, "outcome") == ["completed"]
    assert found.origin == 1767225600 * SECOND
    assert found.format == "cede-server"


def test_of_an_attempt_that_was_preempted_counts_what_its_checkpoint_kept() -> None:
    leaves = (
        (6, "hint", "running", "checkpointing"),
        (7, "saved", "checkpointing", "checkpointing"),
        (7, "evict", "checkpointing", "preempting"),
        (8, "suspend", "preempting", "suspended"),
    )

    found = trace_of(workload("a", preempted=1), *STARTS, *leaves, *AGAIN, ENDS)

    assert minutes(found) == (7 - 2) + (20 - 12)
    assert column(found, "evictions") == [1]


def test_an_attempt_without_a_checkpoint_counts_nothing() -> None:
    leaves = ((6, "evict", "running", "preempting"), (7, "requeue", "preempting", "pending"))

    assert minutes(trace_of(workload("a"), *STARTS, *leaves, *AGAIN, ENDS)) == 8


def test_a_failure_that_was_queued_again_begins_anew() -> None:
    fails = ((6, "fail", "running", "failed"), (6, "requeue", "failed", "pending"))

    assert minutes(trace_of(workload("a"), *STARTS, *fails, *AGAIN, ENDS)) == 8


def test_a_lost_hold_is_no_attempt() -> None:
    held = ((0, "hold", "pending", "held"), (0.5, "requeue", "held", "pending"))

    assert minutes(trace_of(workload("a"), *held, *STARTS, ENDS)) == 18


def test_a_job_under_way_runs_as_long_as_it_has_so_far() -> None:
    found = trace_of(workload("a", "running"), *STARTS, now=22)

    assert minutes(found) == 20
    assert column(found, "outcome") == ["running"]
    assert found.notes[0] == ("1 of 1 workloads have not ended yet: they are taken to run as long as they have so far.")


def test_a_job_that_has_not_begun_is_left_out() -> None:
    jobs = [workload("a"), workload("b", "pending"), workload("c", "cancelled")]
    found = served_trace(jobs, events("a", *STARTS, ENDS), [], at(30))

    assert column(found, "name") == ["a"]
    assert found.notes[:2] == (
        "1 of 3 workloads have not begun yet and are left out: nobody knows how long they run.",
        "1 of 3 workloads ended before they began and are left out.",
    )


def test_a_server_where_nothing_has_begun_has_no_trace() -> None:
    with pytest.raises(InputError, match="the server: holds no job that can be replayed"):
        served_trace([], [], [], at(0))


def test_without_its_events_a_job_is_what_its_record_says() -> None:
    found = trace_of(workload("a", began=at(5), ended=at(9)))

    assert minutes(found) == 4
    assert found.notes[0] == "The events of 1 of 1 workloads are gone: only their last attempt is counted."


def test_everything_that_was_asked_for_comes_along() -> None:
    checkpoint = {"mode": "manual", "protocol": "signal", "last": None, "time": "5s", "interval": "10m"}
    job = workload(
        "a",
        members=3,
        requests={"cpu": "500m", "memory": "1Gi"},
        labels={"disk": "ssd"},
        walltime="1h30m",
        checkpoint=checkpoint,
        preempts=False,
        kind="inference",
    )
    found = trace_of(job, *STARTS, ENDS)

    [shape] = found.shapes
    assert (shape.members, shape.requests) == (3, {"cpu": NANO // 2, "memory": 2**30 * NANO})
    assert shape.labels == {"disk": "ssd"}
    row = found.jobs.row(0, named=True)
    assert (row["walltime"], row["checkpoint"], row["checkpoint_time"]) == (5400 * SECOND, "manual", 5 * SECOND)
    assert (row["checkpoint_interval"], row["preempts"], row["kind"]) == (600 * SECOND, False, "inference")
    assert (row["queue"], row["user"], row["priority"]) == ("q", "ann", 5)


def test_members_of_different_size_are_a_total_to_divide() -> None:
    parts = [
        {"name": "a", "count": 2, "requests": {"gpu": 4}},
        {"name": "b", "count": 1, "requests": {"gpu": 1, "cpu": 8}},
    ]
    found = trace_of(workload("a", requests={}, pod_sets=parts), *STARTS, ENDS)

    [shape] = found.shapes
    assert (shape.requests, shape.divisible) == ({"gpu": 9 * NANO, "cpu": 8 * NANO}, True)
    assert found.notes[0] == "1 of 1 workloads have members of different size: their total is divided evenly."


def test_the_nodes_of_the_server_are_those_of_the_trace() -> None:
    node = {"name": "n1", "capacity": {"cpu": 4}, "occupied": {"cpu": 1}, "partition": "default"}
    found = served_trace([workload("a")], events("a", *STARTS, ENDS), [node], at(30))

    assert [(one.name, one.capacity, one.occupied) for one in found.nodes] == [("n1", {"cpu": 4 * NANO}, {"cpu": NANO})]
