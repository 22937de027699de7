"""What a replay may be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Self

from cede.engine.cluster import Cluster
from cede.engine.drive.terms import Terms, merged, times_of
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.sim.checkpoint_assumptions import Assumed
from cede.sim.durations import parse_moment, parse_span, show_span
from cede.sim.faults import Fault, draw_faults, parse_faults, read_faults
from cede.sim.machine import Habits
from cede.sim.traces.cutting import begin_of, noted, shake
from cede.sim.traces.trace import Trace

MOMENTS = 20
"""Number of the costliest preemptions that are kept with the cluster they were decided on."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Times in microseconds on the trace's clock. `backfill`: auto is easy where jobs have walltimes, else off."""

    backfill: str = "auto"
    extends: bool = False
    """Whether walltimes that jobs ran beyond are extended to their run times."""
    until: int | None = None
    habits: Habits = field(default_factory=Habits)
    terms: Terms = field(default_factory=Terms)
    """Of every job; those that save their work answer when they are asked for a checkpoint."""
    faults: Sequence[Fault] = ()
    assumed: Assumed = field(default_factory=Assumed)
    """Of jobs that do not say how they save their work."""
    breaker: bool = False
    """Backoff and breaker act as on a server; otherwise it is only told where they would."""
    moments: int = MOMENTS
    queue: str | None = None
    settings: Mapping[str, Any] | None = None
    """What was asked for, to be told beside the result."""
    reasons: bool = False
    """Every plan is made whole, with all its reasons: slow, and the same in every table."""


Span = str | int | float | None
"""A length of time as `2d` or `30s`, or a number of seconds."""

BACKFILLS = ("auto", "off", "strict", "easy")
OVERRUNS = ("keep", "extend")
"""What becomes of the walltime of a job that ran longer: it stays, or is extended to its run time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayChoices:
    """None leaves a thing as trace, cluster and Cede have it."""

    until: Span = None
    """Where to stop: a length of time from the first submission, or RFC 3339."""
    seed: int = 0
    """Of what is drawn: faults, and how arrivals are shaken."""
    shake_by: Span = None
    """How far arrivals are moved at most; drawn with the seed."""
    queue: str | None = None
    backfill: str = "auto"
    overrun: str = "keep"
    checkpoint: str | None = None
    checkpoint_interval: Span = None
    checkpoint_time: Span = None
    restart_time: Span = None
    grace: Span = None
    stop_time: Span = None
    start_delay: Span = None
    faults: str | PathLike[str] | Sequence[Mapping[str, Any]] | None = None
    """A fault file, or its entries."""
    mtbf: Span = None
    mttr: Span = None
    breaker: bool = False
    """Jobs that fail, and jobs that evict each other in a circle, are slowed down as on a server."""
    moments: int = MOMENTS

    @classmethod
    def among(cls, given: Mapping[str, Any]) -> Self:
        """What is chosen by these values, of which others may be no choices."""
        return cls(**{one.name: given[one.name] for one in fields(cls) if one.name in given})

    def told(self) -> dict[str, Any]:
        """Those that are not as they would be anyway, as plain data; the seed always."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        chosen = {
            one.name: given[one.name] for one in fields(self) if one.name == "seed" or given[one.name] != one.default
        }
        return {name: str(value) if isinstance(value, PathLike) else value for name, value in chosen.items()}


def asked(
    trace: Trace, cluster: Cluster, choices: ReplayChoices, settings: Mapping[str, Any]
) -> tuple[Trace, ReplayOptions]:
    """The trace and the options that these choices mean; an InputError says all that is wrong with them."""
    spans = _Spans()
    begin = begin_of(trace)
    until = spans.moment("until", choices.until, begin, trace.origin)
    habits = Habits(spans.us("start_delay", choices.start_delay, 0), spans.us("stop_time", choices.stop_time, 0))
    grace = spans.maybe("grace", choices.grace)
    terms = Terms(**merged(times_of(cluster.document), {} if grace is None else {"grace_period": grace}))
    by = spans.us("shake_by", choices.shake_by, 0)
    assumed = Assumed(
        choices.checkpoint,
        spans.maybe("checkpoint_interval", choices.checkpoint_interval),
        spans.maybe("checkpoint_time", choices.checkpoint_time),
        spans.maybe("restart_time", choices.restart_time),
    )
    for name, chosen, known in (("backfill", choices.backfill, BACKFILLS), ("overrun", choices.overrun, OVERRUNS)):
        if chosen not in known:
            message = f"{shown(chosen)} is none of {', '.join(known)}"
            spans.problems.append(Problem(name, message, did_you_mean(chosen, known)))
    mean = spans.drawn(choices)
    if spans.problems:
        raise InputError(spans.problems)
    faults = _faults(trace, cluster, choices, mean, until)
    if mean is not None:
        trace = noted(trace, _told_faults(choices, faults))
    return shake(trace, choices.seed, by), ReplayOptions(
        backfill=choices.backfill,
        extends=choices.overrun == "extend",
        until=until,
        habits=habits,
        terms=terms,
        faults=faults,
        assumed=assumed,
        breaker=choices.breaker,
        moments=choices.moments,
        queue=choices.queue,
        settings=settings,
    )


def stops_at(trace: Trace, choices: ReplayChoices) -> int | None:
    """When the replay is to stop, on the trace's clock; none: when everything has ended."""
    spans = _Spans()
    until = spans.moment("until", choices.until, begin_of(trace), trace.origin)
    if spans.problems:
        raise InputError(spans.problems)
    return until


class _Spans:
    """Lengths of time in microseconds, and all that is wrong with those that are none."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def maybe(self, name: str, raw: Span) -> int | None:
        try:
            return None if raw is None else parse_span(raw)
        except ValueError as error:
            self.problems.append(Problem(name, str(error)))
            return None

    def us(self, name: str, raw: Span, default: int) -> int:
        length = self.maybe(name, raw)
        return default if length is None else length

    def moment(self, name: str, raw: Span, begin: int, origin: int | None) -> int | None:
        try:
            at = None if raw is None else parse_moment(raw, begin, origin)
        except ValueError as error:
            self.problems.append(Problem(name, str(error)))
            return None
        if at is not None and at < begin:
            self.problems.append(Problem(name, f"{shown(raw)} is before the first job is submitted"))
        return at

    def drawn(self, choices: ReplayChoices) -> tuple[int, int] | None:
        """How long nodes are well and away on average, if faults are to be drawn."""
        if choices.mtbf is None and choices.mttr is None:
            return None
        for name, other in (("mtbf", "mttr"), ("mttr", "mtbf")):
            if getattr(choices, name) is None:
                self.problems.append(Problem(name, f"is missing: {other} says only half of how nodes fail"))
        if choices.faults is not None:
            self.problems.append(Problem("faults", "are given, and mtbf asks to draw them", "leave one of the two out"))
        lengths = self.us("mtbf", choices.mtbf, 1), self.us("mttr", choices.mttr, 1)
        self.problems += [
            Problem(name, "is not above 0") for name, us in zip(("mtbf", "mttr"), lengths, strict=True) if not us
        ]
        return lengths


def _faults(
    trace: Trace, cluster: Cluster, choices: ReplayChoices, mean: tuple[int, int] | None, until: int | None
) -> Sequence[Fault]:
    nodes = [node.name for node in cluster.document.nodes]
    begin = begin_of(trace)
    if mean is not None:
        end = _draw_until(trace) if until is None else until
        return draw_faults(nodes, begin, end, mtbf=mean[0], mttr=mean[1], seed=choices.seed)
    if choices.faults is None:
        return ()
    if isinstance(choices.faults, str | PathLike):
        return read_faults(str(choices.faults), nodes, begin=begin, origin=trace.origin)
    return parse_faults(list(choices.faults), nodes, begin=begin, origin=trace.origin)


def _draw_until(trace: Trace) -> int:
    """When the last job would be over that starts at once: nobody knows beforehand how long a replay takes."""
    ends = (trace.jobs["submitted"] + trace.jobs["duration"]).max()
    return ends if isinstance(ends, int) else 0


def _told_faults(choices: ReplayChoices, faults: Sequence[Fault]) -> str:
    away = sum(fault.state != "ready" for fault in faults)
    end = "when the last job would end if nobody had to wait" if choices.until is None else "where the replay stops"
    well, back = (show_span(parse_span(one)) for one in (choices.mtbf, choices.mttr))
    return (
        f"Faults of nodes are drawn with seed {choices.seed}: each is well for {well} and then down for {back} on "
        f"average, which makes {away:,} outages up to {end}."
    )
