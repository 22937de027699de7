"""A Cede server's history as a trace: its workloads and their events, as its API shows them, become jobs.

How long a job runs without interruption is not what a server knows; it follows from its events. It is what the last
attempt ran, and of those before it what was kept: until the checkpoint that the next one went on from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cede.model.cluster import Node
from cede.model.lifecycle import FINAL, PRESENT
from cede.model.quantities import parse_quantity
from cede.model.times import parse_duration, parse_time
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.table import ROW, Places
from cede.sim.traces.trace import Shape, Trace

FORMAT = "cede-server"
OUTCOMES = {"completed": "completed", "failed": "failed", "cancelled": "cancelled", "preempted": "evicted"}
"""By the state a workload ended in; one that has not is running."""
SAVED = ("saved", "checkpointed")
"""Events that tell of a usable checkpoint."""

Document = Mapping[str, Any]


@dataclass(slots=True)
class _Story:
    """What the events of one workload come to, in microseconds since 1970."""

    given: int | None = None
    """When it was first given its room."""
    began: int | None = None
    """When its present or last attempt began."""
    since: int = 0
    """The same by the scheduler's clock, which nobody can set: lengths of time are counted by that."""
    saved: int | None = None
    """When that attempt last wrote a checkpoint, as far as an event tells, by the scheduler's clock."""
    kept: int = 0
    """Work of attempts before it that was not lost."""
    ran: int | None = None
    """How long the attempt ran that ended the workload."""

    def take(self, event: Document) -> None:
        at = int(parse_time(event["at"]))
        clock = int(event.get("clock", at))
        before, after = event["before"], event["after"]
        if event["signal"] in SAVED:
            self.saved = clock
        if after == "starting" and before != "starting" and self.given is None:
            self.given = at
        elif event["signal"] == "began":
            self.began, self.since, self.saved, self.ran = at, clock, None, None
        elif before in PRESENT and after == "suspended" and self.began is not None:
            self.kept += (clock if self.saved is None else self.saved) - self.since
            self.began = None
        elif before in PRESENT and after == "pending":
            self.began, self.kept = None, 0
        elif before in PRESENT and after in FINAL and self.began is not None:
            self.ran = clock - self.since
        elif before in FINAL and after not in FINAL:
            # Queued again after a failure: from its checkpoint if it has one, which no event tells.
            self.began, self.kept, self.ran = None, 0, None


def served_trace(
    workloads: Iterable[Document], events: Iterable[Document], nodes: Sequence[Document], now: str
) -> Trace:
    """The trace of what a server knows at `now`: documents of its API, workloads in any order, events oldest first.

    Workloads that have not begun are left out, for nobody knows how long they would run.
    """
    stories: dict[str, _Story] = {}
    for event in events:
        stories.setdefault(event["workload"], _Story()).take(event)
    moment = int(parse_time(now))
    jobs = sorted(workloads, key=lambda job: (parse_time(job["submitted"] or job["since"]), job["name"]))
    origin = int(parse_time(jobs[0]["submitted"] or jobs[0]["since"])) if jobs else moment
    told: Counter[str] = Counter()
    rows = [row for job in jobs if (row := _row(job, stories.get(job["name"]), origin, moment, told)) is not None]
    frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()
    shapes: list[Shape] = []
    if rows:
        numbers, shapes = shapes_of(frame, ("requests", "members", "labels", "divisible"), _shape)
        frame = frame.with_columns(numbers).with_row_index(ROW)
    places = Places("the server", lambda found: [f"job {row + 1}" for row in found])
    return assemble(
        frame, shapes, FORMAT, places, notes=_notes(told, len(jobs)), origin=origin, nodes=[_node(one) for one in nodes]
    )


def _row(job: Document, story: _Story | None, origin: int, now: int, told: Counter[str]) -> dict[str, Any] | None:
    """The job as columns; none of one whose run time is not known at all."""
    story = story or _Story()
    outcome = OUTCOMES.get(job["state"], "running")
    began = story.began if story.began is not None else _instant(job["began"])
    if began is None and not story.kept:
        told["never began" if outcome == "running" else "ended before they began"] += 1
        return None
    if story.ran is not None:
        duration = story.kept + story.ran
    elif outcome != "running" and began is not None:
        # It ended while the events were read, unless they are deleted by now.
        told["events gone"] += story.began is None
        duration = story.kept + max(0, (_instant(job["ended"]) or began) - began)
    else:
        told["still run"] += 1
        present = job["state"] in PRESENT and began is not None
        duration = story.kept + (max(0, now - began) if present and began is not None else 0)
    return _columns(job, origin, told) | {
        "duration": duration,
        "outcome": outcome,
        "started": (story.given if story.given is not None else began or now) - origin,
    }


def _columns(job: Document, origin: int, told: Counter[str]) -> dict[str, Any]:
    checkpoint = job["checkpoint"]
    parts = job["pod_sets"] or [{"count": job["members"], "requests": job["requests"]}]
    if len(parts) > 1:
        told["parts differ"] += 1
    return {
        "name": job["name"],
        "submitted": int(parse_time(job["submitted"] or job["since"])) - origin,
        "walltime": _length(job["walltime"]),
        "queue": job["queue"],
        "user": job["user"],
        "project": job["project"],
        "kind": None if job["kind"] == "batch" else job["kind"],
        "priority": job["priority"],
        "job_priority": job["job_priority"] or 0,
        "preemptible": job["preemptible"],
        "preempts": job["preempts"],
        "checkpoint": checkpoint["mode"],
        "checkpoint_interval": _length(checkpoint["interval"]),
        "checkpoint_time": _length(checkpoint["time"]),
        "evictions": job["preempted"],
        "requests": _flat(_total(parts) if len(parts) > 1 else parts[0]["requests"]),
        "members": 1 if len(parts) > 1 else parts[0]["count"],
        "labels": _flat(job["labels"]),
        "divisible": len(parts) > 1,
    }


def _total(parts: Sequence[Document]) -> dict[str, str]:
    """All of the parts together, in nano-units."""
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part["requests"].items():
            total[name] = total.get(name, 0) + part["count"] * parse_quantity(amount)
    return {name: f"{nano}n" for name, nano in total.items()}


def _flat(values: Mapping[str, Any]) -> str:
    """An object as text, so that equal ones are equal values of a column."""
    return "\n".join(f"{name}={values[name]}" for name in sorted(values))


def _shape(requests: str, members: int, labels: str, divisible: bool) -> Shape:
    def parts(flat: str) -> dict[str, str]:
        return dict(line.split("=", 1) for line in flat.splitlines())

    amounts = {name: parse_quantity(amount) for name, amount in parts(requests).items()}
    return Shape(amounts, members, divisible, parts(labels))


def _node(node: Document) -> Node:
    given = {"name": node["name"], "capacity": node["capacity"]}
    given |= {key: node[key] for key in ("occupied", "partition") if node[key] and node[key] != "default"}
    return Node.model_validate(given)


def _instant(text: str | None) -> int | None:
    return None if text is None else int(parse_time(text))


def _length(text: str | None) -> int | None:
    return None if text is None else parse_duration(text)


def _notes(told: Counter[str], jobs: int) -> list[str]:
    sentences = {
        "never began": "{} of {} workloads have not begun yet and are left out: nobody knows how long they run.",
        "ended before they began": "{} of {} workloads ended before they began and are left out.",
        "still run": "{} of {} workloads have not ended yet: they are taken to run as long as they have so far.",
        "events gone": "The events of {} of {} workloads are gone: only their last attempt is counted.",
        "parts differ": "{} of {} workloads have members of different size: their total is divided evenly.",
    }
    return [text.format(f"{told[key]:,}", f"{jobs:,}") for key, text in sentences.items() if told[key]]
