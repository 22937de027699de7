"""Where the work stood when the server was killed, read from a copy of its store."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cede.live.executors.local.guard import files

BETWEEN = {"starting": "launch.json", "preempting": "end.json", "cancelling": "end.json", "checkpointing": "hint.json"}
"""Phases that follow from a decision, and the file in which the executor's part of it first shows."""


def moment(data: Path) -> Counter[str]:
    """What there was of each phase, and how much of it was `ordered`: decided and stored, and not yet begun."""
    phases: Counter[str] = Counter()
    with TemporaryDirectory(prefix="cede-moment-") as folder:
        # A copy, so that it is the next server that finds the store as this one left it.
        for path in data.glob("cede.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder)
        with closing(sqlite3.connect(Path(folder) / "cede.db")) as store:
            try:
                rows = store.execute(
                    "SELECT name, phase, job FROM workloads WHERE ended IS NULL OR phase NOT IN "
                    "('completed', 'failed', 'cancelled', 'preempted')"
                ).fetchall()
            except sqlite3.OperationalError:  # killed before there were tables
                return phases
    for name, phase, body in rows:
        phases[phase] += 1
        if phase in BETWEEN and not _acted(data, name, phase, json.loads(body)):
            phases["ordered"] += 1
    return phases


def _acted(data: Path, name: str, phase: str, job: dict[str, Any]) -> bool:
    """Whether the executor had begun what the phase asks of it."""
    attempt = data / "jobs" / name / "attempts" / str(job.get("attempt", 0))
    if phase == "starting":
        return (attempt / BETWEEN[phase]).exists()
    members = [path for path in attempt.glob("*") if path.is_dir()]
    if phase == "checkpointing":
        return any((files.get(str(path), BETWEEN[phase]) or {}).get("hint") == job.get("hint") for path in members)
    return any((path / BETWEEN[phase]).exists() or (path / "exit.json").exists() for path in members)
