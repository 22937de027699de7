"""What is plotted of one replay: use over time, distributions, and what each preemption cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, replace
from itertools import groupby
from statistics import stdev
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.model.quantities import NANO
from cede.sim import compare
from cede.sim.compare import Compared
from cede.sim.measures.columns import HOUR, NEVER, SECOND, Columns, columns
from cede.sim.measures.conservation import conserve
from cede.sim.measures.costliest import costliest
from cede.sim.measures.definitions import MEASURES
from cede.sim.measures.timeline import timeline
from cede.sim.number_format import amount, duration
from cede.sim.report.content import (
    Balance,
    Cell,
    Content,
    Costly,
    Definition,
    Distribution,
    Grouped,
    Mark,
    Party,
    Row,
    Run,
    Timeline,
)
from cede.sim.report.measure_tables import divided
from cede.sim.result import Result
from cede.sim.verdicts import judge

BINS = 240
"""Steps of a timeline: what a screen has room for."""
EVENLY, IN_THE_TAIL, TAIL = 240, 80, 0.95
"""Points of a distribution: this number over all of it, and as many again where the longest are."""


def timeline_of(result: Result) -> Timeline:
    """Averages over equal parts of the replay, in seconds since its begin and units of the main resource."""
    queues, priorities, states = (_by_group(timeline(result, by, BINS)) for by in ("queue", "priority", "state"))
    edges = np.array([result.begin + (result.end - result.begin) * one // BINS for one in range(BINS + 1)], np.int64)
    at = result.victims.join(result.decisions.select("decision", "at"), "decision", "left")["at"].to_numpy()
    step = np.clip(np.searchsorted(edges, at, "right") - 1, 0, BINS - 1)
    whole = result.capacity.get(result.main, 0) / NANO
    return Timeline(
        times=((edges - result.begin) / SECOND).tolist(),
        capacity=(whole - np.array(states["down"]["used"])).tolist(),
        waiting=np.array(states["running"]["waiting"]).tolist(),
        by_queue={group: own["used"] for group, own in queues.items()},
        by_priority={group: own["used"] for group, own in priorities.items()},
        preemptions=np.bincount(step, minlength=BINS).tolist(),
    )


def distributions_of(
    result: Result, counted: int, bound_s: float, common: Set[str] | None = None
) -> dict[str, Distribution]:
    """Of the last `counted` jobs to be submitted, and of these the `common` ones: those are measured. A job without
    a value is left out."""
    table = columns(result)
    last = np.zeros(len(table.submitted), np.bool_)
    last[np.argsort(table.submitted, kind="stable")[len(last) - counted :]] = True
    if common is not None:
        last &= table.jobs["name"].is_in(sorted(common)).to_numpy()
    started = last & (table.first_start != NEVER)
    completed = last & table.state_is("completed")
    wait = (table.first_start - table.submitted)[started] / SECOND
    turnaround = (table.ended - table.submitted)[completed] / SECOND
    alone = np.maximum(table.duration[completed] / SECOND, bound_s)
    slowdown = np.maximum(np.divide(turnaround, alone, out=np.ones(len(alone)), where=alone > 0), 1.0)
    return {
        "wait": _distribution(np.maximum(wait, 1.0)),
        "slowdown": _distribution(slowdown),
        "turnaround": _distribution(np.maximum(turnaround, 1.0)),
    }


def spent_of(result: Result) -> list[float]:
    """The hours of the main resource that each preemption cost, of victims that have left: work and overhead."""
    table = columns(result)
    left = result.victims.filter(pl.col("lost").is_not_null())
    spent = (left["lost"] + left["overhead"]).to_numpy()
    return [float(one) for one in spent / HOUR * _sizes(table, left["job"])]


def _sizes(table: Columns, jobs: pl.Series) -> NDArray[np.float64]:
    sizes: NDArray[np.float64] = table.each_units[table.rows_of(jobs)]
    return sizes


def _by_group(frame: pl.DataFrame) -> Mapping[str, Mapping[str, list[float]]]:
    parts = frame.partition_by("group", maintain_order=True, as_dict=True)
    return {
        str(group): {name: own[name].fill_null(0.0).to_list() for name in ("used", "waiting")}
        for (group,), own in parts.items()
    }


def _distribution(values: NDArray[np.float64]) -> Distribution:
    """Its steps, or as many of them as can be told apart by eye; always the first and the last."""
    ordered = np.sort(values)
    count = len(ordered)
    if not count:
        return Distribution([], [])
    ranks = np.unique(
        np.concatenate(
            [np.linspace(0, count - 1, EVENLY), np.linspace(TAIL * (count - 1), count - 1, IN_THE_TAIL)]
        ).astype(np.int64)
    )
    chosen = np.arange(count) if count <= EVENLY else ranks
    return Distribution(ordered[chosen].tolist(), ((chosen + 1) / count).tolist())


COSTLIEST = 20
MOST_GROUPS, MOST_CELLS = 60, 5_000
"""Maximum numbers of groups of one kind with a table, and of cells in these: a page with more would be slow to
open, and larger than 2 MB. The JSON has them all."""
BOUND_S = 10.0


def gather(
    compared: Compared,
    results: Sequence[Result],
    *,
    title: str,
    notes: Iterable[str] = (),
    facts: Iterable[tuple[str, str]] = (),
    moments: Sequence[Mapping[int, str]] = (),
    sources: Mapping[str, str] | None = None,
    bound_s: float = BOUND_S,
) -> Content:
    """Everything that the report shows.

    `results[i]` is the first replay of `compared.runs[i]`, and `moments[i]` are its cluster files by decision.
    `sources` are the files of doctrines that nobody installed, by name.
    """
    if len(results) != len(compared.runs):
        raise ValueError(f"{len(compared.runs)} runs were compared, and {len(results)} results are given")
    files = moments or [{} for _ in results]
    said = [(run.label, result.notes) for run, result in zip(compared.runs, results, strict=True)]
    own_notes = tuple(dict.fromkeys([*notes, *compare.said_by(said)]))
    resource = results[0].main if results else "cpu"
    judgement = judge(compared)
    tables, left_out = _tables(compared, resource, ranks=judgement.calm is None)
    common = _common(compared, results)
    return Content(
        title=title,
        facts=(*facts, *_facts(compared, results)),
        notes=own_notes,
        stated=(*(one for one in compared.stated if one not in own_notes), *left_out),
        resource=resource,
        runs=tuple(
            replace(_run(run, result, kept, compared, bound_s, common), source=(sources or {}).get(result.doctrine))
            for run, result, kept in zip(compared.runs, results, files, strict=True)
        ),
        tables=tables,
        definitions=tuple(
            Definition(one.key, _first_up(one.title), _unit(one.unit, resource), one.better or "", one.says)
            for one in MEASURES
        ),
        judgement=judgement,
        seeds=compared.repeats,
        plotted_seed=compared.runs[0].seeds[0] if compared.repeats > 1 else None,
    )


def costly_decisions(result: Result) -> set[int]:
    """The decisions whose victims are among the costliest."""
    return set(costliest(result, COSTLIEST)["decision"].to_list())


def _facts(compared: Compared, results: Sequence[Result]) -> list[tuple[str, str]]:
    if not results:
        return []
    result = results[0]
    nodes = len(result.node_capacity)
    room = f"{amount(result.capacity.get(result.main, 0) / NANO)} {result.main}"
    begin, end = compared.runs[0].results[0].window
    return [
        ("Jobs", f"{len(result.jobs):,}"),
        ("Cluster", f"{nodes:,} {'node' if nodes == 1 else 'nodes'}, {room}" if nodes else room),
        ("Measured", f"{duration((end - begin) / SECOND)}{'' if result.complete else ', stopped before its end'}"),
        ("Seed" if compared.repeats == 1 else "Seeds", ", ".join(map(str, compared.runs[0].seeds))),
    ]


def _tables(compared: Compared, resource: str, *, ranks: bool) -> tuple[tuple[Grouped, ...], tuple[str, ...]]:
    """A table for each group, and what is to be said of those that have none."""
    tables: list[Grouped] = []
    left_out: dict[str, int] = {}
    for (by, group), rows in groupby(compared.rows, key=lambda row: (row.by, row.group)):
        made = {row.measure.key: _row(row, compared, resource, ranks=ranks) for row in rows}
        sections = tuple((name, tuple(made[key] for key in keys)) for name, keys in divided(made).items())
        jobs = made["jobs"].cells[0].value if "jobs" in made else None
        tables.append(Grouped(by, group, round(jobs or 0), sections))
    for by in dict.fromkeys(one.by for one in tables):
        own = sorted((one for one in tables if one.by == by), key=lambda one: -one.jobs)
        dropped = {one.group for one in own[most_groups(own[0]) :]}
        if dropped:
            left_out[by] = len(dropped)
            tables = [one for one in tables if one.by != by or one.group not in dropped]
    shown = Counter(one.by for one in tables)
    said = tuple(
        f"By {by} the {shown[by]} groups with most jobs are shown; {count} more are in the JSON."
        for by, count in left_out.items()
    )
    return tuple(tables), said


def most_groups(grouped: Grouped) -> int:
    """How many groups with as many cells as this one have a table."""
    cells = sum(len(row.cells) for _, rows in grouped.sections for row in rows)
    return min(MOST_GROUPS, max(1, MOST_CELLS // max(1, cells)))


def _row(row: compare.Row, compared: Compared, resource: str, *, ranks: bool) -> Row:
    """A row of numbers; `ranks`: with marks, for somebody had to wait."""
    key = row.measure.key
    cells = []
    for run, cell in zip(compared.runs, row.cells, strict=True):
        values = [one for one in (result.value(key, row.by, row.group) for result in run.results) if one is not None]
        spread = stdev(values) if len(values) > 1 else None
        mark: Mark = "" if not ranks else "best" if cell.best else "near" if cell.within_noise else ""
        cells.append(Cell(cell.value, spread, mark))
    better = row.measure.better or ""
    return Row(key, _first_up(row.measure.title), _unit(row.measure.unit, resource), better, tuple(cells))


def _common(compared: Compared, results: Sequence[Result]) -> frozenset[str] | None:
    """The jobs that distributions are over: those that every judged run finished; none: all."""
    judged = [result for run, result in zip(compared.runs, results, strict=True) if run.judged] or list(results)
    if len(results) < 2:
        return None
    finished = [frozenset(result.jobs.filter(pl.col("state") == "completed")["name"]) for result in judged]
    return frozenset.intersection(*finished)


def _run(
    run: compare.Run,
    result: Result,
    files: Mapping[int, str],
    compared: Compared,
    bound_s: float,
    common: frozenset[str] | None,
) -> Run:
    counted = round(run.results[0].value("jobs") or 0)
    return Run(
        label=run.label,
        about=_about(run, compared),
        balance=_balance(result),
        timeline=timeline_of(result),
        distributions=distributions_of(result, counted, bound_s, common),
        spent=spent_of(result),
        costly=tuple(_costly(result, files)),
        preemptions=len(result.victims),
        loops=result.loops,
        judged=run.judged,
    )


def _about(run: compare.Run, compared: Compared) -> str:
    """The doctrine and its edition, and those of its settings that not every run has alike."""
    others = [one.settings for one in compared.runs]
    own = [
        f"{key} {_plain(value)}"
        for key, value in run.settings.items()
        if (key, value) != ("doctrine", run.doctrine)
        and any(key not in other or other[key] != value for other in others)
    ]
    return " · ".join([f"{run.doctrine} {run.edition}".strip(), *own])


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_plain(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _balance(result: Result) -> Balance:
    rows = conserve(result).filter(pl.col("resource") == result.main).rows(named=True)
    parts = rows[0] if rows else {}
    return Balance(**{part.name: float(parts.get(part.name, 0.0)) for part in fields(Balance)})


def _costly(result: Result, files: Mapping[int, str]) -> Iterable[Costly]:
    members = dict(zip(result.jobs["name"].to_list(), result.jobs["members"].to_list(), strict=True))
    names = result.jobs["name"].to_list()
    left = {
        (decision, names[job]): time
        for decision, job, time in result.victims.select("decision", "job", "left").iter_rows()
    }
    apart = result.jobs.filter(pl.col("allocations") > 1)["name"] if "allocations" in result.jobs.columns else ()
    members |= dict.fromkeys(apart, 1)
    called = dict(result.decisions.select("decision", "workload").iter_rows()) if len(apart) else {}
    for one in costliest(result, COSTLIEST).iter_rows(named=True):
        gone = left.get((one["decision"], one["victim"]))
        yield Costly(
            decision=one["decision"],
            at=(one["at"] - result.begin) / SECOND,
            victim=_party(one, "victim", one["size"], members),
            claimant=None if one["claimant"] is None else _party(one, "claimant", one["claimant_size"], members),
            rule=one["victim_rule"] or one["rule"] or "",
            why=one["victim_why"] or one["why"] or "",
            lost_hours=one["lost_hours"] or 0.0,
            overhead_hours=one["overhead_hours"] or 0.0,
            left=None if gone is None else (gone - one["at"]) / SECOND,
            moment=files.get(one["decision"]),
            asked_for=called.get(one["decision"]),
        )


def _party(row: Mapping[str, Any], role: str, size: float, members: Mapping[str, int]) -> Party:
    name = row[role]
    return Party(name, row[f"{role}_queue"], row[f"{role}_priority"], size, members.get(name) or 1)


def _unit(unit: str, resource: str) -> str:
    return unit.replace("resource", resource)


def _first_up(title: str) -> str:
    return title[:1].upper() + title[1:]
