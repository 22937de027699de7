"""The clusters of the costliest preemptions as files that `cede plan` opens."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.sim.result import Result

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
