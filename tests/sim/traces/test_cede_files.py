"""Cede's own files: JSON Lines, CSV and Parquet."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from cede.model.errors import InputError
from cede.sim.traces.cede_format import TYPES, write
from cede.sim.traces.reading import read
from cede.sim.traces.trace import COLUMNS
from tests.sim.traces.given import DATA, changed, column, in_seconds, problem, requests, written

JOB = '{"name": "a", "submitted": 0, "duration": 5'


def test_json_lines_take_dates_lengths_and_quantities() -> None:
    trace = read(DATA / "own.jsonl")

    assert column(trace, "name") == ["b", "a", "c"]
    assert in_seconds(trace, "submitted") == [0, 3600, 3600]
    assert in_seconds(trace, "duration") == [90.5, 5400, 0]
    assert in_seconds(trace, "walltime") == [None, None, 7200]
    assert in_seconds(trace, "checkpoint_interval") == [600, None, None]
    assert requests(trace) == [{"cpu": 4, "memory": 2**34}, {"cpu": 4, "memory": 2**34}, {"gpu": 0.5}]
    assert column(trace, "shape") == [0, 0, 1]
    assert (trace.shapes[1].members, trace.shapes[1].labels) == (4, {"zone": "x"})
    assert trace.origin == 1767596400 * 10**6


def test_what_a_job_does_not_say_has_its_default() -> None:
    trace = read(DATA / "own.jsonl")

    assert column(trace, "preemptible") == [True, True, False]
    assert column(trace, "preempts") == [True, True, True]
    assert column(trace, "checkpoint") == ["auto", "none", "none"]
    assert column(trace, "kind") == [None, None, "service"]
    assert column(trace, "priority") == [-3, None, None]


def test_csv_has_a_column_for_each_resource() -> None:
    trace = read(DATA / "own.csv")

    assert column(trace, "name") == ["a", "b, the second"]
    assert in_seconds(trace, "submitted") == [0, 0.5]
    assert in_seconds(trace, "duration") == [3600, 30]
    assert requests(trace) == [{"cpu": 4}, {"gpu": 1.5}]
    assert column(trace, "preempts") == [True, False]
    assert trace.origin is None


def test_parquet_takes_typed_columns(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 5, 7, tzinfo=UTC)
    frame = pl.DataFrame(
        {
            "name": ["a", "b"],
            "submitted": [moment, moment + timedelta(seconds=1.5)],
            "duration": [timedelta(minutes=1), timedelta(milliseconds=1)],
            "walltime": [90.25, None],
            "requests.cpu": [4, None],
            "requests.gpu": [None, 0.5],
            "preemptible": [True, False],
            "priority": pl.Series([1, 2], dtype=pl.UInt8),
        }
    )
    frame.write_parquet(tmp_path / "jobs.parquet")
    trace = read(tmp_path / "jobs.parquet")

    assert in_seconds(trace, "submitted") == [0, 1.5]
    assert in_seconds(trace, "duration") == [60, 0.001]
    assert in_seconds(trace, "walltime") == [90.25, None]
    assert requests(trace) == [{"cpu": 4}, {"gpu": 0.5}]
    assert column(trace, "preemptible") == [True, False]
    assert trace.origin == 1767596400 * 10**6


def test_a_wrong_value_in_parquet_is_told_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    pl.DataFrame({"name": ["a", "b"], "submitted": [0, 1], "duration": [1.0, -2.0]}).write_parquet(path)
    assert problem(path) == "jobs.parquet: row 2: duration: '-2.0' is negative; a duration is 0 or more"

    pl.DataFrame({"name": ["a"], "submitted": [[0]], "duration": [1]}).write_parquet(path)
    assert problem(path) == "jobs.parquet: the column submitted holds List(Int64), and not plain values"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "jobs.jsonl:2: this is no JSON"),
        ("[1]", "jobs.jsonl:2: a list is no object; every line is one job"),
        (JOB + ', "name": "b"}', "jobs.jsonl:2: this is no JSON: Detected duplicate key"),
        ('{"submitted": 0, "duration": 5}', "jobs.jsonl:2: name: is empty"),
        ('{"name": 7, "submitted": 0, "duration": 5}', "jobs.jsonl:2: name: 7 is no text; write it in quotes"),
        (JOB + ', "prioritty": 5}', "the key 'prioritty' is not known (did you mean 'priority'?)"),
        (JOB + ', "priority": 1.5}', "jobs.jsonl:2: priority: '1.5' is no whole number"),
        (JOB + ', "priority": "5"}', "jobs.jsonl:2: priority: '5' is no whole number"),
        (JOB + ', "priority": 3000000000}', "jobs.jsonl:2: priority: '3000000000' is too large"),
        (JOB + ', "preempts": 1}', "jobs.jsonl:2: preempts: 1 is neither true nor false"),
        (JOB + ', "members": 0}', "jobs.jsonl:2: members: '0' is too small; the least is 1"),
        (JOB + ', "kind": "bach"}', "jobs.jsonl:2: kind: 'bach' is none of batch, interactive"),
        (JOB + ', "checkpoint": "never"}', "jobs.jsonl:2: checkpoint: 'never' is none of auto, manual, none"),
        (JOB + ', "requests": 4}', "jobs.jsonl:2: requests: 4 is no object"),
        (JOB + ', "requests": {"cpu": "four"}}', "jobs.jsonl:2: requests: cpu: 'four' is no quantity"),
        (JOB + ', "requests": {"cpu": true}}', "jobs.jsonl:2: requests.cpu: true is no quantity"),
        (JOB + ', "requests": {"c pu": 1}}', "jobs.jsonl:2: requests: [\"c pu\"]: 'c pu' is no resource name"),
        (JOB + ', "labels": {"zone": 1}}', "jobs.jsonl:2: labels.zone: 1 is no text"),
        (JOB + ', "walltime": "1 day"}', "jobs.jsonl:2: walltime: '1 day' is no duration"),
        (JOB + ', "walltime": -1}', "jobs.jsonl:2: walltime: '-1' is negative"),
        (JOB + ', "walltime": 1e12}', "jobs.jsonl:2: walltime: '1e12' is"),
        (JOB + ', "started": "2026-13-01T00:00:00Z"}', "jobs.jsonl:2: started: '2026-13-01T00:00:00Z' is no time"),
        (JOB + ', "started": "2026-01-01T00:00:00Z"}', "jobs.jsonl:2: started: seconds and dates are mixed"),
        (JOB + ', "started": -5}', "jobs.jsonl:2: started: is before submitted"),
        (JOB.replace('"a"', '"first"') + "}", "jobs.jsonl:2: name: 'first' is the name of the job at jobs.jsonl:1 too"),
        ('{"name": "a", "submitted": "2026-01-01T00:00:00Z", "duration": 5}', "jobs.jsonl:2: submitted: seconds and"),
    ],
)
def test_a_wrong_line_is_told(tmp_path: Path, line: str, said: str) -> None:
    first = '{"name": "first", "submitted": 0, "duration": 5}\n'

    assert said in problem(written(tmp_path, "jobs.jsonl", first + line + "\n"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("requests.gpu", "request.gpu", "own.csv: the column request.gpu is not known"),
        ("queue", "que", "own.csv: the column que is not known (did you mean 'queue'?)"),
        ("duration", "time", "own.csv: there is no column duration"),
        ("members", "duration", "own.csv: the header names the column duration twice"),
        ("1500m", "1500x", "own.csv:4: requests.gpu: '1500x' is no quantity"),
        (",false", ",no", "own.csv:4: preempts: 'no' is none of true, false"),
        ("0.5,30", "0.5,", "own.csv:4: duration: is empty"),
        ("red,", "red", "own.csv:3: has 7 fields, and the header has 8"),
    ],
)
def test_a_wrong_csv_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in problem(changed(tmp_path, "own.csv", old, new))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ('{"version": 2}', "jobs.jsonl:1: trace.version is 2; this Cede reads version 1"),
        ('{"orgin": 2}', "jobs.jsonl:1: trace.orgin is not known (did you mean 'origin'?)"),
        ('{"origin": "soon"}', "jobs.jsonl:1: trace: 'soon' is no time"),
        ('{"nodes": [{"name": 5}]}', "jobs.jsonl:1: trace: "),
        ('{"notes": "one"}', "jobs.jsonl:1: trace.format must be text, and trace.notes a list of texts"),
        ("7", "jobs.jsonl:1: 7 is no object that tells of the trace"),
        ("{", "jobs.jsonl:1: this is no JSON"),
    ],
)
def test_a_wrong_first_line_is_told(tmp_path: Path, about: str, said: str) -> None:
    assert said in problem(written(tmp_path, "jobs.jsonl", f'{{"trace": {about}}}\n{JOB}}}\n'))


def test_every_column_of_a_trace_can_be_written_and_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "traces.md").read_text(encoding="utf-8")

    assert set(COLUMNS) - {"shape"} <= set(TYPES)
    assert [name for name in TYPES if f"| `{name}` |" not in page] == []


def test_the_examples_of_the_docs_are_one_trace(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "traces.md").read_text(encoding="utf-8")
    lines = page.partition("```json\n")[2].partition("```")[0]
    table = page.partition("```text\nname,")[2].partition("```")[0]
    one, other = read(written(tmp_path, "a.jsonl", lines)), read(written(tmp_path, "b.csv", f"name,{table}"))

    assert one.shapes == other.shapes
    assert one.jobs.drop("kind", "preemptible").equals(other.jobs.drop("kind", "preemptible"))


def test_a_file_of_another_kind_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"jobs\.xml: ends in none of \.jsonl, \.csv, \.parquet"):
        write(read(DATA / "own.csv"), tmp_path / "jobs.xml")
    with pytest.raises(InputError, match="cannot be written: no such file or directory"):
        write(read(DATA / "own.csv"), tmp_path / "nowhere" / "jobs.csv")
