"""What the benchmarks `kueue` and `sim` print of their figures."""

from __future__ import annotations

from typing import Any

import pytest

from bench import sim_tables
from bench.kueue import print_report
from bench.sim import BARS, BYTES_BAR, EDITIONS, GROWTH_BAR, PEERS, RATE_BARS, VICTIMS_BAR
from cede.cli.output import console


def row(p50: float, ratio: float, *, bar: int | None = None, bar_ms: int | None = None) -> dict[str, Any]:
    figures = {"p50": p50, "p99": p50 * 1.5, "naive": p50 * ratio, "ratio": ratio}
    return {"mode": "FairSharing", "levels": 3, "victims": 20_000, **figures, "bar": bar, "bar_ms": bar_ms}


ROWS = {
    "below its bar in time": (row(0.0012, 6.84, bar_ms=5), "1.2 ms 1.8 ms 8.2 ms 6.8× <5 ms"),
    "not below its bar in time": (row(0.0068, 2, bar_ms=5), "6.8 ms 10 ms 14 ms 2.0× <5 ms missed"),
    "as much faster as it must be": (row(0.3, 20, bar=20), "300 ms 450 ms 6.0 s 20× ≥20×"),
    "not as much faster": (row(0.3, 19.4, bar=20), "300 ms 450 ms 5.8 s 19× ≥20× missed"),
    "without a bar": (row(0.00012, 1234), "120 µs 180 µs 148 ms 1,234×"),
}


@pytest.mark.parametrize(("figures", "shown"), ROWS.values(), ids=ROWS.keys())
def test_a_row_fits_eighty_columns_and_says_whether_it_misses_its_bar(
    figures: dict[str, Any], shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    widest = row(0.8764, 1234, bar=20) | {"ratio": 19}
    print_report(console(), {"queues": 1000, "running": 50_000, "decisions": [widest, figures]})
    lines = capsys.readouterr().out.splitlines()

    assert lines[3].split() == ["FairSharing,", "3", "20,000", *shown.split()]
    assert len(lines) == 5
    assert "…" not in "".join(lines)


def test_every_replay_has_its_row_and_its_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def case(name: str) -> dict[str, Any]:
        figures = {"replay_s": 9.9, "taken": 122_055, "ratio": 1234.5, "jobs_per_s": 12_345.6, "victims": 28_309}
        return {"name": name, "jobs": 122_055, "complete": True, "submitted": 122_055, **figures}

    monkeypatch.setenv("COLUMNS", "80")
    bars = {"rate_bars": RATE_BARS, "growth_bar": GROWTH_BAR, "bytes_bar": BYTES_BAR, "victims_bar": VICTIMS_BAR}
    sizes = {"left_out": [], "growth": 1.25, "bytes": 2900.0}
    editions = [{"edition": name, "cases": [case(name)], **sizes} for name in EDITIONS]
    others = [case(name) for name in sim_tables.OTHERS]
    report = {"editions": editions, "others": others, "bars": BARS, **bars, "absent": ["borg"], "peers": PEERS}
    sim_tables.print_report(console(), report)
    lines = capsys.readouterr().out.splitlines()

    bars_shown = {name: f"{bar:g}" for name, bar in BARS.items()}
    for name, bar in (bars_shown | {name: f"{rate:,}/s" for name, rate in RATE_BARS.items()}).items():
        shown = sim_tables.OTHERS.get(name, name)
        assert any(line.strip().startswith(shown) and f" {bar} " in f"{line} " for line in lines)
    assert any("left out" in line and "--borg FILE" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
