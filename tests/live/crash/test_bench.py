"""`cede bench crash`, in full."""

import json

import pytest

from cede.cli.main import main


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
