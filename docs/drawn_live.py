"""The parts of the docs that are drawn from the live scheduler: life of a workload, times, configuration, metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from prometheus_client import Counter, Gauge, Histogram
from pydantic import BaseModel, BeforeValidator

from cede.cli.main import app
from cede.engine.drive.holds import MARGIN
from cede.engine.drive.leaving import KILL_AGAIN
from cede.engine.drive.terms import Terms
from cede.live.config import Amounts, Duration, ServerConfig
from cede.live.metrics import Metrics
from cede.model.lifecycle import FINAL, MEANINGS, PRESENT, SENTENCES, TABLE, Phase, Signal
from cede.model.quantities import format_quantity
from cede.model.times import format_duration, show_duration
from docs.meanings import CONFIGURATION, METRICS, TIMES
from docs.tables import table

CONFIG_INTRODUCTION = """\
# Configuration of a server

This page is drawn from the code by `make docs`. `cede serve --config FILE` reads these keys, as YAML or JSON. All of
them have defaults, so no file is needed. An unknown key or a wrong value is refused, with its place. What is not here
is in the [cluster file](../concepts/cluster-file.md): doctrine, nodes, queues, who may use which priority.
[Serving](../guides/serving.md) shows a file.

A time is a number of seconds, or text as `30s`, `10m` or `1h30m`.

"""

METRICS_INTRODUCTION = """\
# Metrics

This page is drawn from the code by `make docs`. `/metrics` and `/api/v1/metrics` have these in Prometheus' text format,
for any token. [Serving](../guides/serving.md#metrics) says how to collect them.
[grafana/cede.json](../../grafana/cede.json) is a dashboard of them.

Counters begin at 0 with every start of the server. Times are in seconds.

"""

ANY_TIME = frozenset(
    signal
    for signal in Signal
    if signal is Signal.CANCEL or {phase for phase, given in TABLE if given is signal} == PRESENT
)
"""Signals that may come whatever it does while it is present; a picture with them would show nothing else."""


def lifecycle() -> dict[str, str]:
    """The drawn parts of the page about the life of a workload."""
    rows = ((str(phase), str(signal), str(to), SENTENCES[signal]) for (phase, signal), to in _moves())
    means = ((f"`{phase}`", MEANINGS[phase], _room(phase)) for phase in Phase)
    return {
        "picture": "\n".join(("```mermaid", *_picture(), "```")),
        "states": "\n".join(table(("state", "a workload in it", "room"), means)),
        "moves": "\n".join(table(("from", "signal", "to", "when"), rows)),
    }


def _moves() -> list[tuple[tuple[Phase, Signal], Phase]]:
    phases, signals = list(Phase), list(Signal)
    return sorted(TABLE.items(), key=lambda move: (phases.index(move[0][0]), signals.index(move[0][1])))


def _picture() -> Iterator[str]:
    yield "stateDiagram-v2"
    yield "    [*] --> pending"
    labels: dict[tuple[Phase, Phase], list[str]] = {}
    for (phase, signal), to in _moves():
        if signal not in ANY_TIME:
            labels.setdefault((phase, to), []).append(signal)
    for (phase, to), signals in labels.items():
        yield f"    {phase} --> {to}: {', '.join(signals)}"


def _room(phase: Phase) -> str:
    if phase is Phase.HELD:
        return "is kept for it"
    return "has it" if phase in PRESENT else ("" if phase in FINAL else "none")


def times() -> dict[str, str]:
    """The drawn parts of the page about the preemption sequence."""
    rows = ((f"`{key}`", _default_of_times(key), meaning, _option(key)) for key, meaning in TIMES.items())
    return {
        "times": "\n".join(table(("key", "default", "meaning", "option of `cede submit`"), rows)),
        "again": f"If something is still there after SIGKILL, it is killed again every {show_duration(KILL_AGAIN)}.",
    }


def _option(key: str) -> str:
    """How a submission gives this time; some only a program can give."""
    group: Any = typer.main.get_command(app)
    known = {name: one for one in group.commands["submit"].params for name in one.opts}
    option = {"grace_period": "--grace"}.get(key, f"--{key.replace('_', '-')}")
    return f"`{option}`" if option in known else ""


def _default_of_times(key: str) -> str:
    default = getattr(Terms(), key)
    if default is None:
        return f"as long as its victims may take, and {show_duration(MARGIN)}"
    lasts = key not in ("timeout_extension", "requeue", "max_requeues")
    return f"`{show_duration(default)}`" if lasts else f"`{default}`"


def config_page() -> str:
    """Every key of a server's configuration."""
    rows = ((f"`{key}`", _kind(kind), shown, CONFIGURATION[key]) for key, kind, shown in config_keys(ServerConfig))
    heads = ("key", "value", "default", "meaning")
    note = "The times are explained in [the preemption sequence](../concepts/preemption-sequence.md)."
    return CONFIG_INTRODUCTION + "\n".join([*table(heads, rows), "", note, ""])


def config_keys(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, Any, str]]:
    """Key, type and default of every key, with those of objects behind a dot and those of lists behind brackets."""
    for name, field in model.model_fields.items():
        key, kind = f"{above}{name}", _kind_of(field)
        within = next((one for one in (kind, *get_args(kind)) if _is_model(one)), None)
        if within is None:
            yield key, kind, _default(key, field)
        else:
            yield from config_keys(within, f"{key}{_step(kind)}.")


def _step(kind: Any) -> str:
    origin = get_origin(kind)
    return ".NAME" if origin is dict else "[]" if origin is tuple else ""


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _kind_of(field: Any) -> Any:
    """The type of a field without `None`; a time and amounts with what tells them from plain integers."""
    marks = [mark for mark in field.metadata if isinstance(mark, BeforeValidator)]
    return Annotated[field.annotation, marks[0]] if marks else _inner(field.annotation)


def _inner(kind: Any) -> Any:
    """The type without `None`."""
    if get_origin(kind) in (UnionType, Union):
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else kind
    return kind


def _default(key: str, field: Any) -> str:
    name = key.rpartition(".")[2]
    if key.startswith("times."):
        return _default_of_times(name)
    if key.startswith("queues."):
        return "as `times`"
    if key.startswith(("limits.queues.", "limits.roles.", "users[].limits.")) and name != "may":
        return "as the level above"
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None or default in ((), {}):
        return ""
    kind = _kind(_kind_of(field))
    if kind == "time":
        return f"`{format_duration(default)}`"
    if kind == "amounts":
        return "`" + ", ".join(f"{name}: {format_quantity(nano)}" for name, nano in default.items()) + "`"
    if isinstance(default, tuple):
        return f"`{', '.join(default)}`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _kind(kind: Any) -> str:
    if Duration in (kind, _inner(kind)):
        return "time"
    if kind == Amounts:
        return "amounts"
    if get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(kind))
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return f"list of {_kind(inner)}" if get_origin(inner) is Literal else "list of text"
    words = {str: "text", Path: "path", float: "number", bool: "true or false"}
    return words.get(kind, "integer")


def metrics_page() -> str:
    """Every series of a server."""
    rows: list[tuple[str, str, str, str]] = []
    for collector in Metrics("0").registry._collector_to_names:
        kind = next(word for known, word in KINDS.items() if isinstance(collector, known))
        for one in collector.collect():
            name = f"{one.name}_total" if kind == "counter" else one.name
            labels = ", ".join(f"`{label}`" for label in getattr(collector, "_labelnames", ()))
            more = METRICS.get(name)
            rows.append((f"`{name}`", kind, labels, f"{one.documentation}{f': {more}' if more else ''}"))
    return METRICS_INTRODUCTION + "\n".join([*table(("series", "kind", "labels", "meaning"), rows), ""])


KINDS: Mapping[type, str] = {Counter: "counter", Gauge: "gauge", Histogram: "histogram"}
