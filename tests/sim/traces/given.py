"""Files that tests of trace readers read."""

from pathlib import Path

import polars as pl
import pytest

from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.traces.reading import read
from cede.sim.traces.trace import Trace

DATA = Path(__file__).parent / "data"
PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "traces"

needs_published = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the folder with published traces is not here")


def column(trace: Trace, name: str) -> list[object]:
    return trace.jobs[name].to_list()


def in_seconds(trace: Trace, name: str) -> list[object]:
    return (trace.jobs[name] / SECOND).to_list()


def requests(trace: Trace) -> list[dict[str, float]]:
    """Of each job: what one member asks for, in units."""
    shapes = [{name: nano / 10**9 for name, nano in shape.requests.items()} for shape in trace.shapes]
    return [shapes[number] for number in trace.jobs["shape"]]


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A copy of a file with one thing changed."""
    text = (DATA / name).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problem(path: Path, **options: str) -> str:
    """What is said of a file that cannot be read, without its folder."""
    with pytest.raises(InputError) as error:
        read(path, **options)
    return str(error.value).replace(f"{path.parent}/", "")


def same(one: Trace, other: Trace) -> bool:
    return (
        one.jobs.equals(other.jobs)
        and one.jobs.schema == pl.Schema(other.jobs.schema)
        and (one.shapes, one.format, one.notes, one.origin, one.nodes)
        == (other.shapes, other.format, other.notes, other.origin, other.nodes)
    )
