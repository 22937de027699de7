"""Any file: its format is found, or what is wrong with it is told."""

import gzip
import os
from pathlib import Path

import polars as pl
import pytest

from cede.model.errors import InputError
from cede.sim.traces.assembly import LACKS
from cede.sim.traces.reading import FORMATS, options_of, read
from cede.sim.traces.trace import COLUMNS
from tests.sim.traces.given import DATA, problem, written

FILES = {
    "tiny.swf": "swf",
    "openb_pod_list_tiny.csv": "openb",
    "philly.csv": "philly",
    "chronus.csv": "chronus",
    "cluster03.csv": "itp",
    "kalos.csv": "kalos",
    "borg_tasks.csv": "borg",
    "sacct.txt": "sacct",
    "own.jsonl": "cede",
    "own.csv": "cede",
}


@pytest.mark.parametrize("name", FILES)
def test_the_format_is_found_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    renamed = written(tmp_path, "trace", (DATA / name).read_bytes())

    assert read(renamed).format == FILES[name]
    assert read(renamed, FILES[name]).format == FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_every_trace_has_every_column_in_its_type_and_order(name: str) -> None:
    trace = read(DATA / name)

    assert trace.jobs.schema == pl.Schema(COLUMNS)
    assert list(trace.jobs.schema) == list(COLUMNS)
    for column in ("name", "shape", "submitted", "duration", "preemptible", "preempts", "checkpoint"):
        assert trace.jobs[column].null_count() == 0
    assert trace.jobs["submitted"].is_sorted()
    assert set(trace.jobs["shape"]) == set(range(len(trace.shapes)))


@pytest.mark.parametrize("name", FILES)
def test_every_trace_says_what_it_lacks(name: str) -> None:
    trace = read(DATA / name)

    for column, note in LACKS.items():
        assert (note in trace.notes) == (trace.jobs[column].null_count() == trace.jobs.height)


@pytest.mark.parametrize("name", FILES)
def test_a_packed_file_reads_the_same(tmp_path: Path, name: str) -> None:
    packed = written(tmp_path, f"{name.partition('.')[0]}.gz", gzip.compress((DATA / name).read_bytes()))

    assert read(packed).jobs.equals(read(DATA / name).jobs)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"\0\1\2\3" * 100,
        b"\xff\xfe\x00garbage\n" * 10,
        b"\x1f\x8b\x08\x00 this is no gzip",
        b"PAR1 and nothing more",
        b"name,submitted,duration\n",
        b'"never closed\n1,2,3\n',
        bytes(range(256)) * 50,
        "ä,ö\n".encode("latin-1") * 3,
        b"{" * 1000,
        b"[]\n",
        b",,,\n,,\n",
    ],
)
def test_garbage_is_an_error_that_names_the_file(tmp_path: Path, name: str, data: bytes) -> None:
    path = written(tmp_path, "garbage", data)

    with pytest.raises(InputError, match="garbage"):
        read(path, name)
    with pytest.raises(InputError, match="garbage"):
        read(path)


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_anywhere_is_read_or_refused(tmp_path: Path, name: str) -> None:
    data = (DATA / name).read_bytes()
    said = []
    for end in range(0, len(data), max(1, len(data) // 40)):
        path = written(tmp_path, name, data[:end])
        try:
            read(path, FILES[name])
        except InputError as error:
            said.append(str(error))

    assert said
    assert all(name in one for one in said)


def test_a_file_of_no_known_format_is_told_with_those_there_are(tmp_path: Path) -> None:
    said = problem(written(tmp_path, "notes.txt", "buy milk\n"))

    assert said.startswith("notes.txt: has none of the formats that Cede reads: cede (")
    assert all(name in said for name in FORMATS)


def test_an_unknown_format_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"'phily' is none of .* \(did you mean 'philly'\?\)"):
        read(DATA / "philly.csv", "phily")


def test_an_option_that_is_no_truth_is_told() -> None:
    with pytest.raises(InputError, match="memory: 'perhaps' is neither true nor false"):
        read(DATA / "tiny.swf", memory="perhaps")
    assert options_of("swf") == {"memory": False}


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert problem(tmp_path / "gone.swf") == "gone.swf: cannot be read: no such file or directory"
    assert "is a directory" in problem(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "secret.swf", "1 2 3\n")
    path.chmod(0)

    assert problem(path) == "secret.swf: cannot be read: permission denied"


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = written(tmp_path, "philly.csv", b"\xef\xbb\xbf" + (DATA / "philly.csv").read_bytes())

    assert read(path).jobs.equals(read(DATA / "philly.csv").jobs)


def test_no_more_than_twenty_problems_are_told_and_the_first_first(tmp_path: Path) -> None:
    lines = ["job_id,submission_time,duration,num_gpu", *(f"{n},x,-1,1" for n in range(1000))]
    said = problem(written(tmp_path, "cluster.csv", "\n".join(lines))).splitlines()

    assert said[:2] == [
        "cluster.csv:2: submission_time: 'x' is no number",
        "cluster.csv:2: duration: '-1' is negative",
    ]
    assert len(said) == 20
