"""What `sacct -P` prints."""

from pathlib import Path

import pytest

from cede.sim.traces.formats.sacct import parse_span, tres_of
from cede.sim.traces.reading import read
from tests.sim.traces.given import DATA, changed, column, in_seconds, problem, requests, same, written

G = 2**30


def test_jobs_that_started_become_jobs_and_steps_do_not() -> None:
    trace = read(DATA / "sacct.txt")

    assert trace.format == "sacct"
    assert column(trace, "name") == ["101_3", "102+0", "104", "100"]
    assert in_seconds(trace, "submitted") == [0, 1800, 3000, 3600]
    assert in_seconds(trace, "started") == [30, 1800, 3600, 4200]
    assert in_seconds(trace, "duration") == [60, 60, 500, 3600]
    assert column(trace, "outcome") == ["cancelled", "failed", "running", "completed"]
    assert trace.origin == 1767596400 * 10**6


def test_a_limit_that_is_none_is_no_walltime() -> None:
    assert in_seconds(read(DATA / "sacct.txt"), "walltime") == [None, None, 1800, 86400]


def test_every_node_is_a_member_with_its_part() -> None:
    trace = read(DATA / "sacct.txt")
    shapes = [trace.shapes[number] for number in trace.jobs["shape"]]

    assert requests(trace) == [
        {"cpu": 4, "memory": 4000 * 2**20},
        {"cpu": 10},
        {"cpu": 2},
        {"cpu": 8, "memory": 64 * G, "gpu": 4},
    ]
    assert [(shape.members, shape.divisible) for shape in shapes] == [(1, False), (1, True), (1, False), (2, False)]


def test_partition_account_and_user_say_where_a_job_belongs() -> None:
    trace = read(DATA / "sacct.txt")

    assert column(trace, "queue") == ["cpu", "cpu", "cpu", "gpu"]
    assert column(trace, "project") == ["chemistry", "chemistry", "chemistry", "physics"]
    assert column(trace, "user") == ["bob", "bob", "eve", "ada"]


def test_the_quality_of_service_can_be_the_queue() -> None:
    assert column(read(DATA / "sacct.txt", queue="QOS"), "queue") == ["normal", "normal", "normal", "high"]
    assert "'Colour' is none of Partition, Account, QOS, User" in problem(DATA / "sacct.txt", queue="Colour")


def test_slurms_own_priority_is_taken_only_when_it_is_asked_for() -> None:
    assert column(read(DATA / "sacct.txt"), "priority") == [None] * 4
    assert column(read(DATA / "sacct.txt", priority="true"), "priority") == [12, 12, 12, 4021]


def test_memory_can_be_left_out() -> None:
    assert all("memory" not in asked for asked in requests(read(DATA / "sacct.txt", memory="false")))


def test_what_is_left_out_or_assumed_is_noted() -> None:
    notes = read(DATA / "sacct.txt").notes

    assert "2 of 6 jobs are left out: they had not started." in notes
    assert "1 jobs still ran: they are taken to end when sacct was asked." in notes
    assert "1 jobs are parts of heterogeneous jobs: each is taken as a job of its own." in notes
    assert "Times that sacct prints have no zone; they are read as UTC." in notes


def test_a_job_that_was_run_again_is_one_job_with_its_evictions() -> None:
    trace = read(DATA / "sacct_requeued.txt")

    assert column(trace, "name") == ["7"]
    assert column(trace, "evictions") == [2]
    assert in_seconds(trace, "started") == [600]
    assert in_seconds(trace, "duration") == [7200]


def test_a_job_that_ended_and_stands_there_again_is_an_error(tmp_path: Path) -> None:
    path = changed(tmp_path, "sacct_requeued.txt", "PREEMPTED", "COMPLETED")

    assert "sacct_requeued.txt:2: JobID: '7' stands below once more" in problem(path)


def test_a_bar_at_the_end_of_each_line_is_no_column(tmp_path: Path) -> None:
    text = (DATA / "sacct.txt").read_text(encoding="utf-8").replace("\n", "|\n")

    assert same(read(written(tmp_path, "parsable.txt", text)), read(DATA / "sacct.txt"))


def test_processors_alone_are_enough(tmp_path: Path) -> None:
    text = (
        "JobID|Submit|Start|End|State|NCPUS\n1|2026-01-05T07:00:00|2026-01-05T07:00:10|2026-01-05T07:00:15|FAILED|6\n"
    )
    trace = read(written(tmp_path, "jobs.txt", text))

    assert requests(trace) == [{"cpu": 6}]
    assert in_seconds(trace, "duration") == [5]


def test_a_start_before_the_submission_is_forgotten_and_noted(tmp_path: Path) -> None:
    trace = read(changed(tmp_path, "sacct.txt", "ada|2026-01-05T08:00:00", "ada|2026-01-05T08:30:00"))

    assert column(trace, "started")[3] is None
    assert any("as clocks that are set back" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:05", 5), ("1-02:03:04", 93784), ("02:03", 123), ("15", 900), ("2-03", 183600), ("00:01.500", 1.5)],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds * 10**6


def test_types_of_gpu_add_up_where_there_is_no_total() -> None:
    assert tres_of("cpu=1,gres/gpu:a100=2,gres/gpu:v100=1,license/x=4")["gpu"] == 3 * 10**9


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("|3600|1-", "|an hour|1-", "sacct.txt:2: ElapsedRaw: 'an hour' is no number"),
        ("|1-00:00:00|", "|a day|", "sacct.txt:2: Timelimit: 'a day' is no length of time like 1-02:30:00"),
        ("COMPLETED|2|16|billing", "FINE|2|16|billing", "sacct.txt:2: State: 'FINE' is none of COMPLETED"),
        ("ada|2026-01-05T08:00:00", "ada|Unknown", "sacct.txt:2: Submit: is empty"),
        ("ada|2026-01-05T08:00:00", "ada|yesterday", "sacct.txt:2: Submit: 'yesterday' is no time like"),
        ("cpu=16,gres/gpu=8,gres", "cpu=lots,gres/gpu=8,gres", "sacct.txt:2: AllocTRES: 'cpu=lots' is no count"),
        ("mem=128G,node=2|", "mem=128Q,node=2|", "sacct.txt:2: AllocTRES: 'mem=128Q' is no amount of memory"),
        ("|train|", "|tra|in|", "sacct.txt:2: has 18 fields, and the header has 17"),
        ("|State|", "|Stat|", "sacct.txt: there is no column State (did you mean 'Stat'?)"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in problem(changed(tmp_path, "sacct.txt", old, new))


def test_columns_of_which_one_is_needed_are_named(tmp_path: Path) -> None:
    said = problem(written(tmp_path, "jobs.txt", "JobID|Submit|Start|State\n1|2|3|FAILED\n"))

    assert "there is none of the columns ElapsedRaw, Elapsed, End" in said
    assert "there is none of the columns AllocTRES, ReqTRES, NCPUS, AllocCPUS, ReqCPUS" in said
