"""`cede.simulate`: a replay from Python, its tables ready for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from cede.engine.cluster import Cluster
from cede.engine.load import read_source
from cede.engine.whatif import WhatIf, cluster_if
from cede.imports.formats import imported
from cede.model.document import dump_document
from cede.model.errors import InputError, Problem, shown
from cede.sim.choices import Choices, Span
from cede.sim.replay import Watch
from cede.sim.result import Result
from cede.sim.running import check_doctrine, run
from cede.sim.traces.mapping import mapped, parse_mapping
from cede.sim.traces.reading import read
from cede.sim.traces.shaping import Shaping
from cede.sim.traces.trace import Trace
from cede.sim.wishes import MOMENTS

Place = str | PathLike[str]


def simulate(
    trace: Place | Trace,
    cluster: Place | Mapping[str, Any] | Cluster,
    *,
    doctrine: str | None = None,
    set: Sequence[str] = (),
    until: Span = None,
    seed: int = 0,
    load_factor: float = 1.0,
    take: int | None = None,
    window: str | None = None,
    mapping: Place | Mapping[str, Any] | None = None,
    faults: Place | Sequence[Mapping[str, Any]] | None = None,
    mtbf: Span = None,
    mttr: Span = None,
    backfill: str = "auto",
    overrun: str = "keep",
    queue: str | None = None,
    checkpoint: str | None = None,
    checkpoint_interval: Span = None,
    checkpoint_time: Span = None,
    restart_time: Span = None,
    grace: Span = None,
    stop_time: Span = None,
    start_delay: Span = None,
    shake_by: Span = None,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    moments: int = MOMENTS,
    watch: Watch | None = None,
) -> Result:
    """The trace replayed on the cluster; `result.jobs`, `attempts`, `decisions` and `timeline()` are Polars tables.

    Trace and cluster are files, or what was read from them; a cluster may be plain data too. The rest is as the options
    of `cede simulate`. `watch(now, submitted, finished)` is called now and then, and says whether to go on.
    """
    choices = Choices.among(locals())
    made = trace if isinstance(trace, Trace) else read(_path(trace), format, **(options or {}))
    if isinstance(mapping, Mapping):
        made = mapped(made, parse_mapping(mapping))
    file = None if mapping is None or isinstance(mapping, Mapping) else _path(mapping)
    made = Shaping(file, window, take, load_factor).of(made)
    check_doctrine(doctrine)
    on = cluster_if(_document(cluster), WhatIf(doctrine, set=tuple(set)))
    given = {
        "trace": None if isinstance(trace, Trace) else str(trace),
        "cluster": str(cluster) if isinstance(cluster, str | PathLike) else None,
        "doctrine": doctrine,
        "set": list(set) or None,
        "mapping": mapping if file is None else str(file),
        "window": window,
        "take": take,
        "load_factor": None if load_factor == 1 else load_factor,
    }
    settings = {name: value for name, value in given.items() if value is not None} | choices.told()
    return run(made, on, choices, settings, watch)


def _path(given: object) -> Path:
    if not isinstance(given, str | PathLike):
        raise InputError([Problem("", f"{shown(given)} is no file", "give a file's name, or what was read from one")])
    return Path(given)


def _document(cluster: Place | Mapping[str, Any] | Cluster) -> object:
    """The plain data of a cluster file."""
    if isinstance(cluster, Cluster):
        return dump_document(cluster.document)
    data = dict(cluster) if isinstance(cluster, Mapping) else read_source(cluster)
    made = imported(data)
    return data if made is None else made.document
