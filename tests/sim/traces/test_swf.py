"""Logs in the Standard Workload Format."""

import gzip
from pathlib import Path

import pytest

from cede.model.errors import InputError
from cede.model.quantities import NANO
from cede.sim.traces.reading import read
from tests.sim.traces.given import DATA, changed, column, in_seconds, problem, requests, same, written

LINE = "{} {} 0 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1\n"


def test_jobs_without_processors_or_run_time_are_left_out_and_counted() -> None:
    trace = read(DATA / "tiny.swf")

    assert column(trace, "name") == ["1", "2", "5"]
    assert "2 of 5 jobs are left out: 1 did not run, 1 had no processors." in trace.notes


def test_processors_are_those_asked_for_or_else_those_given() -> None:
    trace = read(DATA / "tiny.swf")

    assert requests(trace) == [{"cpu": 4}, {"cpu": 2}, {"cpu": 8}]
    assert all(shape.divisible and shape.members == 1 for shape in trace.shapes)


def test_times_are_microseconds_and_minus_one_is_unknown() -> None:
    trace = read(DATA / "tiny.swf")

    assert in_seconds(trace, "submitted") == [0, 50, 50]
    assert in_seconds(trace, "started") == [10, None, 50]
    assert in_seconds(trace, "duration") == [100, 60, 30]
    assert in_seconds(trace, "walltime") == [200, None, 60]


def test_queue_user_group_and_outcome_come_from_their_fields() -> None:
    trace = read(DATA / "tiny.swf")

    assert column(trace, "queue") == ["q1", "q2", "p4"]
    assert column(trace, "user") == ["u7", "u8", None]
    assert column(trace, "project") == ["g3", "g3", None]
    assert column(trace, "outcome") == ["completed", "failed", "completed"]
    assert "Queues are named in the trace: q1 short, q2 long." in trace.notes


def test_the_header_gives_the_machine_and_the_origin() -> None:
    trace = read(DATA / "tiny.swf")

    assert [(node.name, node.capacity) for node in trace.nodes] == [("machine", {"cpu": 16 * NANO})]
    assert trace.origin == 10**15


def test_memory_is_taken_when_it_is_asked_for() -> None:
    assert "Memory is not taken from this trace: jobs ask for processors only." in read(DATA / "tiny.swf").notes
    assert requests(read(DATA / "tiny.swf", memory=True))[1] == {"cpu": 2, "memory": 2 * 2**20}


def test_what_a_trace_lacks_is_noted() -> None:
    notes = read(DATA / "tiny.swf").notes

    assert "This trace has no priorities: all jobs have the same unless a mapping sets them." in notes
    assert not any("no queues" in note for note in notes)


def test_a_packed_log_reads_the_same(tmp_path: Path) -> None:
    packed = written(tmp_path, "tiny.swf.gz", gzip.compress((DATA / "tiny.swf").read_bytes()))

    assert same(read(packed), read(DATA / "tiny.swf"))


def test_equal_submissions_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "log.swf", "".join(LINE.format(n, t) for n, t in ((9, 5), (3, 5), (7, 1), (1, 5))))

    assert column(read(path), "name") == ["7", "9", "3", "1"]


def test_jobs_whose_numbers_are_not_unique_are_named_by_their_place(tmp_path: Path) -> None:
    trace = read(written(tmp_path, "log.swf", LINE.format(4, 0) + LINE.format(4, 1)))

    assert column(trace, "name") == ["1", "2"]
    assert any("not unique" in note for note in trace.notes)


def test_lines_on_parts_of_a_job_do_not_count_beside_the_whole(tmp_path: Path) -> None:
    part = "1 0 0 5 1 -1 -1 1 20 -1 {} 1 1 -1 -1 -1 -1 -1\n"
    trace = read(written(tmp_path, "log.swf", LINE.format(1, 0) + part.format(2) + part.format(3)))

    assert in_seconds(trace, "duration") == [10]
    assert any("parts of jobs" in note for note in trace.notes)


def test_more_fields_than_the_standard_are_passed_over(tmp_path: Path) -> None:
    lines = [LINE.format(n, n).rstrip() + " {1,1} q_1d 1:ppn=64\n" for n in (1, 2)]

    assert column(read(written(tmp_path, "log.swf", "".join(lines))), "name") == ["1", "2"]


def test_tabs_windows_line_ends_and_comments_between_jobs_are_no_trouble(tmp_path: Path) -> None:
    text = "; a\r\n" + LINE.format(1, 0).replace(" ", "\t").replace("\n", "\r\n") + "  ; b\r\n\r\n" + LINE.format(2, 0)

    assert column(read(written(tmp_path, "log.swf", text)), "name") == ["1", "2"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  100    4 ", "  1x0    4 ", "tiny.swf:9: run time: '1x0' is no number"),
        ("   60    2 ", "   60  2.5 ", "tiny.swf:10: allocated processors: '2.5' is no whole number"),
        ("    2     50", "    2    -50", "tiny.swf:10: submit time: '-50' is negative"),
        ("4  -1  -1\n    5", "4  -1\n    5", "tiny.swf:12: has 17 fields, and the first line has 18"),
        ("   1  -1  -1  -1\n", "   1  -1\n", "tiny.swf:9: has 16 fields, and the Standard Workload Format has 18"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in problem(changed(tmp_path, "tiny.swf", old, new))


def test_lines_are_counted_past_comments_and_blanks(tmp_path: Path) -> None:
    text = LINE.format(1, 0) + "; said\n\n" + LINE.format(2, "then")

    assert problem(written(tmp_path, "log.swf", text)) == "log.swf:4: submit time: 'then' is no number"


def test_a_log_in_which_nothing_ran_is_no_trace(tmp_path: Path) -> None:
    text = LINE.format(1, 0).replace(" 10 ", " 0 ", 1)

    assert "holds no job that can be replayed" in problem(written(tmp_path, "log.swf", text))


def test_a_log_of_comments_only_is_no_trace(tmp_path: Path) -> None:
    assert problem(written(tmp_path, "log.swf", "; nothing\n")) == "log.swf: holds no jobs"


def test_a_log_that_is_cut_off_is_told(tmp_path: Path) -> None:
    packed = gzip.compress((DATA / "tiny.swf").read_bytes() * 50)
    path = written(tmp_path, "log.swf.gz", packed[: len(packed) // 2])

    assert problem(path) == "log.swf.gz: ends too early: the compressed file is cut off"


def test_an_unknown_option_is_told_with_those_there_are() -> None:
    with pytest.raises(InputError, match="the format swf has memory"):
        read(DATA / "tiny.swf", memroy=True)
