"""Google's tasks of 2011, and the evictions that really happened."""

from pathlib import Path

import pytest

from cede.model.quantities import NANO
from cede.sim.traces.formats.borg import borg_evictions, evictions_by_priority
from cede.sim.traces.reading import read
from tests.sim.traces.given import DATA, changed, column, in_seconds, problem


def test_tasks_that_ran_become_jobs() -> None:
    trace = read(DATA / "borg_tasks.csv")

    assert trace.format == "borg"
    assert column(trace, "name") == ["0-0", "3-1", "3-2", "5-0"]
    assert column(trace, "priority") == [9, 0, 0, 4]
    assert column(trace, "evictions") == [0, 2, 1, 0]
    assert column(trace, "user") == ["u0", "u5", "u5", "u6"]
    assert column(trace, "outcome") == ["running", "completed", "running", "failed"]
    assert in_seconds(trace, "submitted") == [0, 10.5, 10.5, 50]
    assert in_seconds(trace, "started") == [0, 11.5, 20, 55]


def test_a_task_that_runs_when_the_trace_ends_lasts_until_then() -> None:
    assert in_seconds(read(DATA / "borg_tasks.csv"), "duration") == [200, 80, 30 + 140, 5]


def test_amounts_are_exact_and_no_request_becomes_none() -> None:
    trace = read(DATA / "borg_tasks.csv")

    assert trace.shapes[0].requests == {"cpu": 125_000_000, "memory": 74_460_000}
    assert trace.shapes[1].requests == {"cpu": 62_500_000, "memory": 954}


def test_what_is_left_out_or_not_known_is_noted() -> None:
    notes = read(DATA / "borg_tasks.csv").notes

    assert "1 of 5 tasks are left out: they were never started." in notes
    assert "1 tasks were there before the trace began: how long they had run by then is not known." in notes
    assert "2 tasks still ran when the trace ended, at 200 s: they are taken to end then." in notes


def test_machines_can_be_given() -> None:
    nodes = read(DATA / "borg_tasks.csv", machines=DATA / "borg_machines.csv").nodes

    assert [node.capacity["cpu"] for node in nodes] == [NANO] * 2 + [NANO // 2] * 3
    assert [node.count for node in nodes] == [None] * 5


def test_evictions_are_read_in_order() -> None:
    evictions = borg_evictions(DATA / "borg_evictions.csv")

    assert evictions["at"].to_list() == [30 * 10**6, 40 * 10**6, 60 * 10**6, 70 * 10**6]
    assert evictions["name"].to_list() == ["3-1", "3-1", "3-2", "9-0"]
    assert evictions["ran"].to_list() == [3600 * 10**6, None, 1800 * 10**6, 7200 * 10**6]


def test_evictions_by_priority_are_a_yardstick() -> None:
    assert evictions_by_priority(borg_evictions(DATA / "borg_evictions.csv")).rows() == [
        (0, 3, 2, 0.75, 1.5, 0.5),
        (2, 1, 1, 0.25, 2.0, 2.0),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0.125", "1/8", "borg_tasks.csv:2: cpu_req: '1/8' is no number"),
        ("0.125", "-0.125", "borg_tasks.csv:2: cpu_req: '-0.125' is no amount; amounts are 0 or more"),
        ("FINISH", "DONE", "borg_tasks.csv:3: last_end_event: 'DONE' is none of FINISH, FAIL"),
        (",11.5,", ",9.5,", "borg_tasks.csv:3: first_start_s: is before submit_s"),
        (",,,1\n", ",,,yes\n", "borg_tasks.csv:2: running_at_end: 'yes' is no whole number"),
        ("3,2,5", "3,1,5", "borg_tasks.csv:4: name: '3-1' is the name of the job at borg_tasks.csv:3 too"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in problem(changed(tmp_path, "borg_tasks.csv", old, new))
