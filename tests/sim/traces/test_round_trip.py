"""A trace that is written and read again is the same trace."""

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.model.cluster import Node
from cede.model.quantities import LARGEST
from cede.model.times import LONGEST
from cede.sim.traces.assembly import assemble
from cede.sim.traces.cede_format import OUTCOMES, write
from cede.sim.traces.reading import FORMATS, read
from cede.sim.traces.table import ROW, Places
from cede.sim.traces.trace import Shape, Trace
from tests.sampling import examples
from tests.sim.traces.given import DATA, same
from tests.sim.traces.test_reading import FILES

KINDS = [".jsonl", ".csv", ".parquet"]

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
times = st.integers(-(10**17) + 1, 10**17 - 1) | st.integers(0, 10**12)
durations = st.integers(0, LONGEST) | st.integers(0, 10**10)
small = st.integers(-(2**31), 2**31 - 1)
resources = st.sampled_from(["cpu", "memory", "gpu", "nvidia.com/gpu@a100"])
shapes = st.builds(
    Shape,
    requests=st.dictionaries(resources, st.integers(0, LARGEST) | st.integers(0, 10**12), max_size=3),
    members=st.integers(1, 1000),
    divisible=st.booleans(),
    labels=st.dictionaries(st.sampled_from(["zone", "gpu_model"]), texts, max_size=2),
)
nodes = st.builds(
    lambda name, cpu: Node.model_validate({"name": name, "capacity": {"cpu": cpu}}), texts, st.integers(1, 99)
)


@st.composite
def jobs(draw: st.DrawFn, number: int, of: int) -> dict[str, object]:
    submitted = draw(times)
    return {
        ROW: number,
        "name": f"{draw(texts)}{number}",
        "shape": draw(st.integers(0, of - 1)),
        "submitted": submitted,
        "duration": draw(durations),
        "walltime": draw(st.none() | durations),
        "queue": draw(st.none() | texts),
        "user": draw(st.none() | texts),
        "project": draw(st.none() | texts),
        "kind": draw(st.none() | st.sampled_from(["batch", "service"])),
        "priority": draw(st.none() | small),
        "job_priority": draw(st.none() | small),
        "preemptible": draw(st.booleans()),
        "preempts": draw(st.booleans()),
        "checkpoint": draw(st.sampled_from(["none", "auto", "manual"])),
        "checkpoint_interval": draw(st.none() | durations),
        "checkpoint_time": draw(st.none() | durations),
        "restart_time": draw(st.none() | durations),
        "outcome": draw(st.none() | st.sampled_from(OUTCOMES)),
        "started": draw(st.none() | st.integers(submitted, 10**17 - 1)),
        "evictions": draw(st.none() | st.integers(0, 2**31 - 1)),
    }


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    kinds = draw(st.lists(shapes, min_size=1, max_size=4, unique_by=repr))
    entries = [draw(jobs(number, len(kinds))) for number in range(draw(st.integers(1, 6)))]
    return assemble(
        pl.DataFrame(entries, infer_schema_length=None),
        kinds,
        draw(st.sampled_from(sorted(FORMATS))),
        Places("drawn", lambda rows: ["drawn" for _ in rows]),
        notes=draw(st.lists(texts, max_size=2, unique=True)),
        origin=draw(st.none() | st.integers(0, 4 * 10**15)),
        nodes=draw(st.lists(nodes, max_size=2)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@examples(50)
@given(trace=traces())
def test_any_trace_is_the_same_again(kind: str, trace: Trace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"trace{kind}"
        write(trace, path)

        assert same(read(path), trace)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_what_another_format_told_is_kept(kind: str, name: str, tmp_path: Path) -> None:
    trace = read(DATA / name)
    write(trace, tmp_path / f"trace{kind}")

    assert same(read(tmp_path / f"trace{kind}"), trace)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_trace_is_the_same_bytes(kind: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(read(DATA / "openb_pod_list_tiny.csv"), tmp_path / f"{name}{kind}")

    assert (tmp_path / f"one{kind}").read_bytes() == (tmp_path / f"other{kind}").read_bytes()
