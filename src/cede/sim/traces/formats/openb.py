"""Alibaba's openb traces of 2023: pods with GPUs or parts of one, and the nodes they ran on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from cede.model.cluster import Node
from cede.model.errors import InputError, Problem
from cede.model.quantities import NANO
from cede.model.times import parse_duration
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.columns import seconds, text, whole, words
from cede.sim.traces.source import head_of, source_of
from cede.sim.traces.table import ROW, Layout, Rows, read_table
from cede.sim.traces.trace import Shape, Trace

SIZES = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIMES = ("creation_time", "deletion_time", "scheduled_time")
COLUMNS = (*SIZES, "gpu_spec", "qos", "pod_phase", *TIMES)
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")

PRIORITIES = {"Guaranteed": 9, "LS": 9, "Burstable": 5, "BE": 1}
OUTCOMES = {"Succeeded": "completed", "Failed": "failed", "Running": "running", "Pending": None}
GPU_MODEL = "gpu_model"
"""The label of a node with the model of its GPUs."""

MILLI = NANO // 1000
MIB = 2**20 * NANO

BY_QOS = "Priorities stand for the class of service: Guaranteed and LS 9, Burstable 5, BE 1."
ARRANGED = "This trace has no times: one pod comes every {every} and runs for {each}, as it was asked for."


def recognises(_name: str, head: bytes) -> bool:
    """By the header of its pods."""
    return head.startswith(",".join(SIZES).encode())


def read(
    path: Path,
    *,
    nodes: str | Path | None = None,
    never_placed: Literal["drop", "keep"] = "drop",
    every: str | None = None,
    duration: str | None = None,
) -> Trace:
    """Its pods. `nodes` is the list of nodes, by default the one beside the file.

    Pods that were never placed are left out, or kept with the time from creation to deletion as their duration. Where
    the file has no times, one pod comes `every` so long and runs for `duration`.
    """
    source = source_of(path)
    arranged = _arranged(every, duration)
    needs = SIZES if arranged else COLUMNS
    if not arranged:
        _check_times(path)
    jobs, places = read_table(source, Layout(), _converted, needs=needs, only=COLUMNS)
    notes = _notes(jobs, never_placed)
    if arranged:
        between, each = arranged
        jobs = jobs.with_columns(submitted=pl.col(ROW).cast(pl.Int64) * between, duration=pl.lit(each), started=None)
        notes.append(ARRANGED.format(every=every, each=duration))
    elif never_placed == "drop":
        jobs = jobs.filter(pl.col("started").is_not_null())
    shape, shapes = shapes_of(jobs, ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"], _shape)
    machines = _nodes(path, nodes)
    return assemble(jobs.with_columns(shape), shapes, "openb", places, notes=notes, nodes=machines)


def _arranged(every: str | None, duration: str | None) -> tuple[int, int] | None:
    if every is None and duration is None:
        return None
    lengths = []
    for option, value in (("every", every), ("duration", duration)):
        if value is None:
            raise InputError([Problem(option, "is missing", "give both every and duration, or neither")])
        try:
            lengths.append(parse_duration(float(value) if value.replace(".", "", 1).isdigit() else value))
        except ValueError as error:
            raise InputError([Problem(option, str(error))]) from None
    return lengths[0], lengths[1]


def _check_times(path: Path) -> None:
    """A list of pods without times cannot be replayed as it is."""
    line = head_of(source_of(path)).partition(b"\n")[0].decode(errors="replace")
    header = [name.strip() for name in line.split(",")]
    if not any(name in header for name in TIMES):
        hint = "give every=10s and duration=1h to let pods come and run so, or take a list that has times"
        raise InputError([Problem(str(path), "this list of pods has no times: nobody knows when they came", hint)])


def _converted(rows: Rows) -> pl.DataFrame:
    timed = "creation_time" in rows
    created = seconds(rows, "creation_time", needed=timed)
    deleted = seconds(rows, "deletion_time", needed=timed)
    started = seconds(rows, "scheduled_time", needed=False)
    rows.wrong("scheduled_time", started < created, "is before creation_time")
    rows.wrong("deletion_time", deleted < created, "is before creation_time")
    rows.wrong("deletion_time", deleted < started, "is before scheduled_time")
    qos = words(rows, "qos", PRIORITIES, needed=False)
    phase = words(rows, "pod_phase", OUTCOMES, needed=False)
    return pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": text(rows, "name"),
            "submitted": created,
            "started": started,
            "duration": deleted - started.zip_with(started.is_not_null(), created),
            "priority": qos.replace_strict(PRIORITIES, default=None, return_dtype=pl.Int32),
            "outcome": phase.replace_strict(OUTCOMES, default=None, return_dtype=pl.String),
            "gpu_spec": text(rows, "gpu_spec", needed=False),
            **{name: whole(rows, name, least=0) for name in SIZES[1:]},
        }
    )


def _notes(jobs: pl.DataFrame, never_placed: str) -> list[str]:
    notes = []
    if jobs["priority"].null_count() < jobs.height:
        notes.append(BY_QOS)
    waiting = int((jobs["started"].is_null() & jobs["submitted"].is_not_null()).sum())
    if waiting and never_placed == "drop":
        notes.append(f"{waiting:,} of {jobs.height:,} pods are left out: they were never placed, and never ran.")
    elif waiting:
        notes.append(f"{waiting:,} pods were never placed: how long they waited for stands for how long they run.")
    choices = int(jobs["gpu_spec"].str.contains("|", literal=True).sum())
    if choices:
        notes.append(f"{choices:,} pods take one of several models of GPU; here they take the first only.")
    return notes


def _shape(cpu_milli: int, memory_mib: int, num_gpu: int, gpu_milli: int, gpu_spec: str | None) -> Shape:
    requests = {"cpu": cpu_milli * MILLI, "memory": memory_mib * MIB}
    if not num_gpu:
        return Shape(requests)
    labels = {GPU_MODEL: gpu_spec.partition("|")[0]} if gpu_spec else {}
    return Shape(requests | {"gpu": num_gpu * gpu_milli * MILLI}, labels=labels)


def _nodes(path: Path, given: str | Path | None) -> list[Node]:
    """The nodes of the list that was given or stands beside the pods; none if there is no list."""
    beside = sorted(path.parent.glob("openb_node_list_all*.csv*")) or sorted(path.parent.glob("openb_node_list*.csv*"))
    if given is None and not beside:
        return []
    table, _ = read_table(
        source_of(beside[0] if given is None else Path(given)), Layout(), _converted_nodes, needs=NODE_COLUMNS
    )
    nodes = []
    for name, cpu_milli, memory_mib, gpus, model in table.iter_rows():
        capacity: dict[str, int | str] = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
        if gpus:
            capacity["gpu"] = gpus
        nodes.append(
            Node.model_validate({"name": name, "capacity": capacity, "labels": {GPU_MODEL: model} if model else {}})
        )
    return nodes


def _converted_nodes(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "sn": text(rows, "sn"),
            **{name: whole(rows, name, least=0) for name in NODE_COLUMNS[1:4]},
            "model": text(rows, "model", needed=False),
        }
    )
