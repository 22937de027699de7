"""What a replay or a comparison writes, and where: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cede.cli.sim_options import command_of, digest_of
from cede.model.errors import InputError, Problem

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster
    from cede.sim.compare import Compared
    from cede.sim.measures.measure import Measured
    from cede.sim.result import Result

KINDS = ("parquet", "csv")
PAGES = (".html", ".htm")


def check_tables(kind: str) -> None:
    """An InputError unless tables can be written so."""
    if kind not in KINDS:
        raise InputError([Problem("--tables", f"{kind} is neither {' nor '.join(KINDS)}")])


@contextmanager
def folder_for(out: str | None, force: bool) -> Iterator[Path | None]:
    """A folder to write a replay into, which is in its place when all has ended well; none if none is wanted."""
    from cede.sim.files import folder_draft
    from cede.sim.output import FILES, MOMENTS

    if out is None:
        yield None
        return
    with folder_draft(Path(out), FILES, MOMENTS, force=force) as draft:
        yield draft


@contextmanager
def pages_for(report: str | None, option: str, force: bool) -> Iterator[Path | None]:
    """A report's file to write, with its JSON and its moments beside it."""
    from cede.sim.files import files_draft

    if report is None:
        yield None
        return
    path = Path(report)
    if path.suffix not in PAGES:
        raise InputError([Problem(option, f"{report} is a page to look at", "give it a name that ends in .html")])
    with files_draft((path, json_of(path), moments_of(path)), force=force) as draft:
        yield draft / path.name


def json_of(report: Path) -> Path:
    return report.with_suffix(".json")


def moments_of(report: Path) -> Path:
    """The folder of the cluster files that the report links to."""
    return report.with_name(f"{report.stem}-moments")


def write_folder(
    folder: Path,
    result: Result,
    measured: Measured,
    cluster: Cluster,
    settings: dict[str, Any],
    tables: Any,
    yardstick: dict[str, Any] | None = None,
) -> None:
    """Everything of one replay, with the cluster it ran on and the command that does it again."""
    from cede import __version__
    from cede.cli.yaml_writing import as_yaml, with_units
    from cede.sim.output import CLUSTER, write_result

    repeat = {
        "cede": __version__,
        "command": command_of("simulate", settings),
        "trace_sha256": digest_of(settings["trace"]),
        "cluster_sha256": digest_of(settings["cluster"]),
        "settings": dict(result.settings),
    }
    write_result(folder, result, measured, tables=tables, repeat=repeat, yardstick=yardstick)
    (folder / CLUSTER).write_text(as_yaml(with_units(cluster.to_dict())), encoding="utf-8")


def write_pages(
    path: Path, compared: Compared, results: Sequence[Result], trace: str, cluster: str, notes: Sequence[str] = ()
) -> None:
    """The report of a comparison, or of one replay."""
    from cede.sim.report import write_json, write_report

    what = " · ".join(run.label for run in compared.runs)
    write_report(
        path,
        compared,
        results,
        title=f"{Path(trace).name}: {what}",
        notes=notes,
        facts=[("Trace", trace), ("Cluster file", cluster)],
        moments_dir=moments_of(path),
    )
    write_json(json_of(path), compared)
