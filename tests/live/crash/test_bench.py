"""`cede bench crash`: one run in full, and what is shown of one."""

import json
from typing import Any

import pytest

from cede.cli.bench.crash.report import print_report
from cede.cli.main import main
from cede.cli.output import console

REPORT: dict[str, Any] = {
    "kills": 200,
    "seed": 3,
    "account": "nobody",
    "seconds": 250.2,
    "killed": {"starting": 60, "serving": 140},
    "between_kills_s": {"p50": 0.9, "max": 2.5},
    "also_killed": {"zygotes": 9, "supervisors": 7},
    "kills_that_met": {"held": 20, "ordered": 31, "running": 190},
    "ready_s": {"p50": 0.2, "max": 0.5, "starts": 141},
    "jobs": {"completed": 400, "failed": 20},
    "submissions": {
        "acknowledged": 419,
        "unanswered": 30,
        "there_after_all": 6,
        "not_asked_again": 3,
        "of_these_there": 1,
    },
    "attempts": {
        "recorded": 900,
        "ended_before_a_line": 50,
        "resumed": 60,
        "lost_their_supervisor": 7,
        "finished_after_saving": 4,
        "photo_finishes": 1,
    },
    "preemptions": {"decisions": 180, "victims": 300, "counted": 298},
    "violations": [],
    "folder": None,
}


@pytest.mark.slow
def test_twenty_kills_break_no_promise(capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["bench", "crash", "--kills", "20", "--seed", "1", "--json"])
    report = json.loads(capfd.readouterr().out)

    assert report["violations"] == []
    assert code == 0
    assert sum(report["killed"].values()) == report["kills"] == 20
    assert sum(report["jobs"].values()) >= 20
    assert report["preemptions"]["victims"] > 0
    assert report["folder"] is None


def test_the_figures_fit_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_report(console(), REPORT)
    shown = capsys.readouterr().out

    assert max(map(len, shown.splitlines())) <= 80
    assert "140 serving, 60 while starting" in shown
    assert shown.splitlines()[-1] == "0 violations"


def test_violations_are_told_with_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(console(), REPORT | {"violations": ["job-1 never ended"], "folder": "/tmp/cede-crash-x"})
    lines = capsys.readouterr().out.splitlines()

    assert lines[-3:] == [
        "1 violation",
        "  job-1 never ended",
        "data, evidence and logs are in /tmp/cede-crash-x",
    ]
