"""`cede simulate` says what a reader would else not notice: who never ran, what really happened, how far it is."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cede.cli.sim_progress import progress_bar, told
from cede.model.times import SECOND
from cede.sim.progress import ReplayProgress
from tests.unit.cli.calls import called

Capture = pytest.CaptureFixture[str]

CLUSTER = """\
cede: 1
doctrine: backendai
nodes: [{name: n, capacity: {gpu: 4}}]
queues: [{name: q, settings: {preemptible_priority: 5}}]
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("cluster.yaml").write_text(CLUSTER, encoding="utf-8")


def jobs(*rows: dict[str, object]) -> str:
    lines = [json.dumps({"submitted": number, "duration": 100} | row) for number, row in enumerate(rows)]
    Path("jobs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return "jobs.jsonl"


def test_jobs_wider_than_the_cluster_are_told_beside_the_numbers(capsys: Capture) -> None:
    trace = jobs({"name": "a", "requests": {"gpu": 1}}, {"name": "b", "requests": {"gpu": 9}})

    found = called(capsys, "simulate", trace, "--cluster", "cluster.yaml", "--json").data

    refused = (
        "1 of 2 jobs were refused and did not run (by backendai.fits-no-node 1): this cluster could never take them."
    )
    assert refused in found["stated"]


def test_evictions_of_reality_stand_beside_the_preemptions_of_the_replay(capsys: Capture) -> None:
    trace = jobs(
        {"name": "low", "requests": {"gpu": 4}, "priority": 1, "evictions": 3},
        {"name": "high", "requests": {"gpu": 4}, "priority": 9, "evictions": 1},
    )

    found = called(capsys, "simulate", trace, "--cluster", "cluster.yaml", "--out", "out", "--json").data
    page = called(capsys, "simulate", trace, "--cluster", "cluster.yaml").out

    told_of = {one["band"]: (one["replayed"], one["recorded"]) for one in found["yardstick"]["bands"]}
    assert told_of == {"9": (0, 1), "1": (1, 3)}
    assert json.loads(Path("out/summary.json").read_text()) == found
    assert "in reality" in page
    assert "Evictions of the trace are all that were recorded there" in page


def test_a_trace_without_evictions_has_no_yardstick(capsys: Capture) -> None:
    trace = jobs({"name": "a", "requests": {"gpu": 1}, "evictions": 0})

    assert "yardstick" not in called(capsys, "simulate", trace, "--cluster", "cluster.yaml", "--json").data


def test_the_bar_and_all_beside_it_fit_into_80_columns() -> None:
    seen = ReplayProgress(0.5, 157 * 86400 * SECOND, 120_000, 110_000)
    state = f"{told(seen, 122_060)}  12,345 jobs/s  16m 54s left"
    bar = progress_bar()
    bar.add_task("", total=2, completed=1, state=state)
    page = Console(width=80, record=True, file=StringIO())

    page.print(bar.get_renderable())

    shown = page.export_text()
    assert state in shown
    assert "50%" in shown
    assert "━" * 7 in shown
