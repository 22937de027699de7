"""What preemptions cost, as `cede why` prints it."""

from __future__ import annotations

from typing import Any

import pytest

from cede.cli.live.why_view import print_story
from cede.cli.output import console

AT = "2026-01-01T00:00:00Z"
SAVING = "saving takes 1.1s, as it took the last time"
JOB: dict[str, Any] = {
    "name": "old", "state": "running", "since": AT, "submitted": AT, "user": "ann", "attempt": 2, "preempted": 1,
    "at_stake": {"lost": "1m", "charged": "1m", "cost": 5.5, "lost_gpu_hours": 0.25, "saving": SAVING}, "parked": "",
}  # fmt: skip
LEFT: dict[str, Any] = {
    "number": 1, "at": AT, "clock": 0, "workload": "old", "attempt": 1, "signal": "requeue", "before": "preempting",
    "after": "pending", "rule": "cede.requeued", "why": "it queues again", "decision": 7, "claimant": "new", "by": "",
    "lost_gpu_hours": 1.5,
}  # fmt: skip
DECISION: dict[str, Any] = {
    "number": 7, "at": AT, "workload": "new", "action": "preempt", "victims": ["old"], "rule": "r", "why": "lower",
    "doctrine": "kueue", "edition": "0.20", "settings_hash": "", "cluster_hash": "", "cluster": None,
    "decision": {"victims": [
        {"workload": "old", "reason": "r", "fate": "requeued", "cost": 12.0, "lost_gpu_hours": 1.0},
        {"workload": "other", "reason": "r", "fate": "requeued", "cost": 0.0, "lost_gpu_hours": 0.0, "leaving": True},
    ]},
}  # fmt: skip
WHY: dict[str, Any] = {
    "workload": JOB,
    "story": [
        {"at": AT, "sentence": "", "rule": "r", "event": None, "decision": DECISION},
        {"at": AT, "sentence": "", "rule": "", "event": LEFT, "decision": None},
    ],
    "left_out": 0, "lost_gpu_hours": 1.5, "stands_in_its_way": None, "not_asked": "",
}  # fmt: skip


def test_a_story_tells_what_was_thought_what_was_lost_and_what_is_at_stake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    print_story(console(), WHY)  # type: ignore[arg-type]
    out = capsys.readouterr().out

    assert "gave way 1 time, 1.5 GPU-hours lost by that" in out
    assert "old is requeued, at the cost of 12 min, 1 GPU-hour" in out
    assert "other is leaving already\n" in out.replace(" \n", "\n")
    assert "it queues again; 1.5 GPU-hours lost" in out
    assert f"costs 5.5 min, 0.25 GPU-hours ({SAVING}), with 1m of work that it has not saved." in out
