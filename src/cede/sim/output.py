"""A result as files: its tables, its numbers, how to repeat it, and the clusters of its costliest preemptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from cede.sim.measures.conservation import conserve
from cede.sim.measures.measure import Measured
from cede.sim.measures.timeline import timeline
from cede.sim.report.files import file_names, write_moments
from cede.sim.result import Result

Tables = Literal["parquet", "csv"]

SCHEMA = "cede-replay/1"
TABLES = ("jobs", "attempts", "decisions", "victims", "holds", "outages")
TIMELINES = ("state", "queue", "priority")
MOMENTS = "moments"
SUMMARY = "summary.json"
SETTINGS = "replay.json"
CLUSTER = "cluster.yaml"
FILES = (
    *(f"{name}.{kind}" for name in (*TABLES, "timeline") for kind in ("parquet", "csv")),
    *(SUMMARY, SETTINGS, CLUSTER),
)
"""Every file that a replay may leave, but for the moments."""


def summary_of(result: Result, measured: Measured, yardstick: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The numbers of a replay and all that must stand beside them, as plain data.

    With a `yardstick`, what really happened to these jobs, too.
    """
    states = result.jobs["state"].value_counts().sort("state")
    return {
        "schema": SCHEMA,
        "doctrine": result.doctrine,
        "edition": result.edition,
        "settings": dict(result.settings),
        "complete": result.complete,
        "begin_us": result.begin,
        "end_us": result.end,
        "window_us": list(measured.window),
        "resource": measured.resource,
        "states": dict(states.iter_rows()),
        "groups": [
            {"by": by, "group": group, "values": dict(values)} for (by, group), values in measured.values.items()
        ],
        "capacity_hours": conserve(result).to_dicts(),
        "loops": list(result.loops),
        "stated": list(measured.stated),
        "events": result.events,
        "plans": result.plans,
        "slowed": dict(result.slowed),
        **({} if yardstick is None else {"yardstick": dict(yardstick)}),
    }


def write_result(
    folder: Path,
    result: Result,
    measured: Measured,
    *,
    tables: Tables = "parquet",
    repeat: Mapping[str, Any] | None = None,
    label: str | None = None,
    yardstick: Mapping[str, Any] | None = None,
) -> None:
    """Everything of a replay into a folder that is there. The same result gives the same bytes.

    `repeat` is what it takes to do it again. Files of moments are called after the label.
    """
    [name] = file_names([label or f"{result.doctrine} {result.edition}"])
    moments = write_moments(result, name, result.moments, folder / MOMENTS)
    for table in TABLES:
        frame = getattr(result, table)
        if table == "decisions":
            places = [moments.get(number) for number in frame["decision"].to_list()]
            frame = frame.with_columns(
                pl.Series("moment", [place and f"{MOMENTS}/{place}" for place in places], pl.String())
            )
        _write_table(folder, table, frame, tables)
    _write_table(folder, "timeline", timelines(result), tables)
    _write_json(folder / SUMMARY, summary_of(result, measured, yardstick))
    _write_json(folder / SETTINGS, repeat if repeat is not None else {"settings": dict(result.settings)})


def timelines(result: Result) -> pl.DataFrame:
    """Use and demand over time by state, queue and priority, below each other; `by` says which."""
    parts = (timeline(result, by).select(pl.lit(by).alias("by"), pl.all()) for by in TIMELINES)
    return pl.concat(parts)


def _write_table(folder: Path, name: str, frame: pl.DataFrame, tables: Tables) -> None:
    if tables == "parquet":
        frame.write_parquet(folder / f"{name}.parquet")
        return
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    flat = frame.with_columns(pl.col(name).cast(pl.List(pl.String())).list.join(" ") for name in lists)
    flat.write_csv(folder / f"{name}.csv")


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
