"""The line of time of `cede why`."""

from __future__ import annotations

from typing import Any

import pytest

from cede.cli.live.why_view import print_story
from cede.cli.output import console
from tests.unit.cli.live.test_costs_shown import DECISION, JOB, LEFT, WHY


def told(at: str, clock: int | None) -> dict[str, Any]:
    """An event at this time by the wall clock, and in seconds by the scheduler's; without that, a decision."""
    if clock is None:
        return {"at": at, "sentence": "", "rule": "", "event": None, "decision": DECISION | {"at": at}}
    event = LEFT | {"at": at, "clock": clock * 1_000_000, "lost_gpu_hours": 0}
    return {"at": at, "sentence": "", "rule": "", "event": event, "decision": None}


def offsets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *story: dict[str, Any]) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    print_story(console(), WHY | {"workload": JOB | {"at_stake": None}, "story": list(story)})  # type: ignore[arg-type]
    return [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith("+")]


def test_a_wall_clock_that_is_set_in_the_midst_of_a_story_does_not_stretch_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on, back = "2026-01-01T02:00:05Z", "2025-12-31T22:00:08Z"
    story = told("2026-01-01T00:00:00Z", 100), told(on, None), told(on, 105), told(back, 108), told(back, None)

    assert offsets(monkeypatch, capsys, *story) == ["+0.00", "+5.00", "+5.00", "+8.00", "+8.00"]


def test_a_decision_without_an_event_of_its_step_stands_at_the_line_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    story = told("2026-01-01T00:00:00Z", None), told("2026-01-01T00:00:01Z", 7), told("2026-01-01T00:00:02Z", None)

    assert offsets(monkeypatch, capsys, *story) == ["+0.00", "+0.00", "+0.00"]
