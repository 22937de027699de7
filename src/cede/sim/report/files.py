"""The files of a report: the page, the clusters of costly decisions that it links to, and the numbers as JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cede.engine.doctrine_files import file_of
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.sim.compare import Compared, to_json
from cede.sim.report.gathering import BOUND_S, costly_decisions, gather
from cede.sim.report.page import page
from cede.sim.result import Result
from cede.sim.verdicts import judge
from cede.sim.verdicts import to_json as judgement_of

_NOT_PRINTED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def write_moments(result: Result, name: str, wanted: Collection[int], folder: Path) -> dict[int, str]:
    """The file of each wanted decision whose cluster was kept, by its name in the folder.

    Files that the result names are there already; the others are written.
    """
    known = result.decisions.filter(result.decisions["moment"].is_not_null())
    files: dict[int, str] = dict(zip(known["decision"].to_list(), known["moment"].to_list(), strict=True))
    for decision in sorted(set(wanted) - files.keys()):
        if decision not in result.moments:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        files[decision] = f"{name}-{decision}.yaml"
        folder.joinpath(files[decision]).write_text(cluster_text(result.moments[decision]), encoding="utf-8")
    return {decision: file for decision, file in files.items() if decision in wanted}


def file_names(labels: Collection[str]) -> list[str]:
    """A name for the files of each run: its label as far as every file system takes it, and no two alike."""
    names: list[str] = []
    for place, label in enumerate(labels, start=1):
        name = _NOT_IN_NAMES.sub("-", label.lower()).strip("-") or "run"
        names.append(f"{name}-run{place}" if name in names else name)
    return names


def cluster_text(document: ClusterFile | Mapping[str, Any]) -> str:
    """The document as YAML, one entry a line; every text stands in quotes, so that it is text to every reader."""
    plain: Mapping[str, Any] = dump_document(document) if isinstance(document, ClusterFile) else document
    lines = []
    for key, value in plain.items():
        if isinstance(value, list) and value:
            lines += [f"{key}:", *(f"  - {_flow(entry)}" for entry in value)]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "".join(f"{line}\n" for line in lines)


def _flow(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_PRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
