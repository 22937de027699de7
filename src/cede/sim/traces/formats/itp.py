"""Microsoft's ITP traces of 2021, published with ElasticFlow: a CSV for each of ten clusters, or all in one tar."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from cede.model.errors import InputError, Problem, did_you_mean
from cede.sim.traces.assembly import assemble, in_gpus
from cede.sim.traces.columns import seconds, text, whole
from cede.sim.traces.source import Source, failures_named, source_of, tar_members
from cede.sim.traces.table import ROW, Layout, Places, Rows, read_table
from cede.sim.traces.trace import Trace

COLUMNS = ("job_id", "submission_time", "duration", "num_gpu")

NOTES = (
    "This trace has no users, outcomes or starts.",
    "The cluster of a job is its queue.",
)


def recognises(name: str, head: bytes) -> bool:
    """A tar, or the header of one cluster's file."""
    return name.endswith((".tar", ".tar.gz", ".tgz")) or head.startswith(b"job_id,submission_time,duration,num_gpu")


def read(path: Path, *, member: str | None = None) -> Trace:
    """Jobs of one cluster, or of all in the tar; `member` names one of those."""
    sources = _sources(path, member)
    frames: list[pl.DataFrame] = []
    starts: list[tuple[int, Places]] = []
    start = 0
    for source, cluster in sources:
        jobs, places = read_table(source, Layout(quoted=False), _converted, needs=COLUMNS, only=COLUMNS)
        starts.append((start, places))
        frames.append(jobs.with_columns(pl.col(ROW) + start, queue=pl.lit(cluster)))
        start += int(jobs[ROW].max()) + 1  # type: ignore[arg-type]
    notes = list(NOTES)
    jobs, shapes = in_gpus(pl.concat(frames), notes)
    return assemble(jobs, shapes, "itp", _over(str(path), starts), notes=notes)


def _sources(path: Path, member: str | None) -> list[tuple[Source, str]]:
    """Each file with the name of its cluster."""
    with failures_named(str(path)):
        packed = tarfile.is_tarfile(path)
    if not packed:
        if member is not None:
            raise InputError([Problem(str(path), "is one cluster's file and has no members", "leave member out")])
        return [(source_of(path), _cluster(path.name))]
    sources = [(source, _cluster(source.name)) for source in tar_members(path, lambda name: name.endswith(".csv"))]
    chosen = [(source, cluster) for source, cluster in sources if member is None or _cluster(member) == cluster]
    if not chosen:
        clusters = [cluster for _, cluster in sources]
        message = f"holds no {member or 'CSV'}; there are {', '.join(clusters) or 'none'}"
        raise InputError([Problem(str(path), message, did_you_mean(member, clusters))])
    return chosen


def _cluster(name: str) -> str:
    return Path(name).name.partition(".")[0]


def _over(name: str, starts: Sequence[tuple[int, Places]]) -> Places:
    """Places of rows that are numbered through all files."""

    def places(rows: Sequence[int]) -> list[str]:
        names = []
        for row in rows:
            start, within = [one for one in starts if one[0] <= row][-1]
            names += within.of([row - start])
        return names

    return Places(name, places)


def _converted(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": text(rows, "job_id"),
            "submitted": seconds(rows, "submission_time"),
            "duration": seconds(rows, "duration"),
            "gpus": whole(rows, "num_gpu", least=0),
        }
    )
