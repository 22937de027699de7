"""Writing the report: the page, the cluster files it links to, and the numbers as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from cede.engine.doctrine_files import file_of
from cede.sim.compare import Compared, to_json
from cede.sim.report.gathering import BOUND_S, costly_decisions, gather
from cede.sim.report.moments import file_names, write_moments
from cede.sim.report.page import page
from cede.sim.result import Result
from cede.sim.verdicts import judge
from cede.sim.verdicts import to_json as judgement_of


def write_report(
    path: Path,
    compared: Compared,
    runs: Sequence[Result],
    *,
    title: str,
    notes: Iterable[str] = (),
    moments_dir: Path | None = None,
    facts: Iterable[tuple[str, str]] = (),
    bound_s: float = BOUND_S,
) -> None:
    """The report as one HTML file. The same arguments give the same bytes.

    `runs[i]` is the first replay of `compared.runs[i]`. `facts` are pairs that stand first in the header, such as the
    trace and the cluster's file. The clusters of the costliest preemptions are written to `moments_dir`, if there is
    one, and linked relative to the page. `bound_s` is the one that was measured with.
    """
    moments: list[dict[int, str]] = [{} for _ in runs]
    if moments_dir is not None:
        folder = Path(os.path.relpath(moments_dir, path.parent)).as_posix()
        names = file_names([run.label for run in compared.runs])
        for place, (name, result) in enumerate(zip(names, runs, strict=True)):
            files = write_moments(result, name, costly_decisions(result), moments_dir)
            moments[place] = {decision: f"{folder}/{file}" for decision, file in files.items()}
    sources = {result.doctrine: file for result in runs if (file := file_of(result.doctrine)) is not None}
    content = gather(
        compared, runs, title=title, notes=notes, facts=facts, moments=moments, sources=sources, bound_s=bound_s
    )
    path.write_text(page(content), encoding="utf-8")


def write_json(path: Path, compared: Compared) -> None:
    """The comparison as JSON, the same bytes for the same comparison."""
    path.write_text(
        json.dumps(to_json(compared, judgement_of(judge(compared))), indent=2, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
