"""Long files are read in blocks, which nobody can tell from the result."""

from pathlib import Path

import pytest

from cede.sim.traces import source
from cede.sim.traces.cede_format import write
from cede.sim.traces.reading import read
from tests.sim.traces.given import DATA, problem, same, written
from tests.sim.traces.test_reading import FILES


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [7, 64, 200])
def test_a_file_in_many_blocks_reads_the_same(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(DATA / name)
    monkeypatch.setattr(source, "BLOCK_BYTES", size)

    assert same(read(DATA / name), whole)


@pytest.mark.parametrize("kind", [".csv", ".jsonl"])
def test_line_ends_within_quotes_do_not_end_a_block(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = 'name,submitted,duration\n"a\nb",1,2\n"c\r\nd ""e"" \n\n",1,2\nf,1,2\n'
    trace = read(written(tmp_path, "jobs.csv", jobs))
    write(trace, tmp_path / f"again{kind}")
    monkeypatch.setattr(source, "BLOCK_BYTES", 5)

    assert trace.jobs["name"].to_list() == ["a\nb", 'c\r\nd "e" \n\n', "f"]
    assert same(read(tmp_path / f"again{kind}"), trace)


def test_a_line_is_counted_through_blocks_and_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = 'name,submitted,duration\n"a\n\nb",1,2\nc,1,2\nd,1,soon\n'
    monkeypatch.setattr(source, "BLOCK_BYTES", 9)

    assert problem(written(tmp_path, "jobs.csv", jobs)).startswith("jobs.csv:6: duration: 'soon' is no duration")
