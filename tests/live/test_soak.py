"""the benchmark `soak`: a few dozen jobs, and what is shown of many."""

import json

import pytest
import typer

from bench.__main__ import app
from bench.soak import print_report
from cede.cli.output import console


@pytest.mark.slow
def test_a_short_soak_finishes_every_job_and_keeps_none(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typer.main.get_command(app).main(["soak", "--jobs", "40", "--json"], standalone_mode=False)
    report = json.loads(capfd.readouterr().out)

    assert [sample["jobs"] for sample in report["samples"]] == list(range(0, 44, 4))
    assert report["lost"] == 0
    assert report["samples"][-1]["store"] > report["samples"][0]["store"]
    assert all(sample["memory"] > 2**20 and sample["descriptors"] > 3 for sample in report["samples"])
    kept = report["retention"]
    assert (kept["rows_left"], kept["folders_left"], kept["health"]) == (0, 0, "ok")

    monkeypatch.setenv("COLUMNS", "80")
    print_report(console(), report)
    shown = capfd.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "40 of 40 jobs completed; lost 0" in shown
