"""Faults of nodes: which node is in which state from when on, from a file or drawn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from cede.model.errors import InputError, Loc, Problem, did_you_mean, shown
from cede.model.nodes import NodeState
from cede.model.reading import read_text
from cede.model.reports import Hints, findings_of
from cede.model.values import Maybe, Name, Part
from cede.sim.durations import parse_moment, parse_span
from cede.sim.files import bytes_of

MOST_BYTES = 64 * 2**20
GLOBS = "*?["
LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Fault:
    """From `at` on, in microseconds on the trace's clock, the node is in this state; `evict`: what runs there goes."""

    at: int
    node: str
    state: NodeState
    evict: bool = False


class _Entry(Part):
    """One entry of a fault file."""

    at: Any = Field(description="A length of time from the first submission, or RFC 3339.")
    node: Maybe[Name] = Field(None, description="A node, or a pattern of names: gpu-1*, gpu-[0-3].")
    nodes: Maybe[list[Name]] = Field(None, min_length=1, description="Several of them.")
    state: NodeState = Field(description="What it is from then on.")
    evict: bool = Field(False, description="A drain: what runs there is sent away. With cordoned only.")
    lasts: Maybe[Any] = Field(None, alias="for", description="After so long it is ready again.")


def read_faults(
    path: str | Path, nodes: Sequence[str], *, begin: int = 0, origin: int | None = None
) -> tuple[Fault, ...]:
    """The faults of a file, sorted, YAML or JSON Lines; an InputError says all that is wrong with it, and where.

    `nodes` are the names there are. Lengths of time count from `begin`; `origin` is time 0 of the trace's clock.
    """
    name, data = str(path), bytes_of(path, MOST_BYTES, "fault files")
    if name.endswith(LINES):
        entries = _lines(data, name)
    else:
        entries = [((f"[{index}]",), one) for index, one in enumerate(_listed(read_text(data, name=name), name))]
    return _parsed([(f"{name}: {loc[0]}", one) for loc, one in entries], nodes, begin, origin)


def parse_faults(data: object, nodes: Sequence[str], *, begin: int = 0, origin: int | None = None) -> tuple[Fault, ...]:
    """The faults that a list of plain objects describes."""
    entries = [(f"[{index}]", one) for index, one in enumerate(_listed(data, ""))]
    return _parsed(entries, nodes, begin, origin)


def _listed(data: object, name: str) -> list[object]:
    """The entries: a list, or an object with the key `faults`."""
    if isinstance(data, dict) and set(data) == {"faults"}:
        data = data["faults"]
    if not isinstance(data, list):
        hint = "as - {at: 2h, node: gpu-1, state: down, for: 30m}"
        raise InputError([Problem(name, f"{shown(data)} is no list of faults", hint)])
    return data


def _lines(data: bytes, name: str) -> list[tuple[Loc, object]]:
    entries: list[tuple[Loc, object]] = []
    problems = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            entries.append(((f"line {number}",), json.loads(line)))
        except ValueError as error:
            problems.append(Problem(f"{name}:{number}", f"is no JSON: {error}"))
    if problems:
        raise InputError(problems)
    return entries


def _parsed(
    entries: Iterable[tuple[str, object]], nodes: Sequence[str], begin: int, origin: int | None
) -> tuple[Fault, ...]:
    problems: list[Problem] = []
    faults: list[Fault] = []
    hints = Hints()
    for place, raw in entries:
        if not isinstance(raw, dict):
            problems.append(Problem(place, f"{shown(raw)} is no object"))
            continue
        try:
            entry = _Entry.model_validate(raw)
        except ValidationError as error:
            problems += [_at(place, f.problem()) for f in findings_of(error, _Entry, hints)]
            continue
        faults += _faults(entry, place, nodes, begin, origin, problems)
    if problems:
        raise InputError(problems)
    return _sorted(faults)


def _at(place: str, problem: Problem) -> Problem:
    return Problem(f"{place}.{problem.path}" if problem.path else place, problem.message, problem.hint)


def _faults(
    entry: _Entry, place: str, nodes: Sequence[str], begin: int, origin: int | None, problems: list[Problem]
) -> list[Fault]:
    wrong: list[Problem] = []
    at = ends = 0
    try:
        at = parse_moment(entry.at, begin, origin)
    except ValueError as error:
        wrong.append(Problem(f"{place}.at", str(error)))
    try:
        ends = at + (0 if entry.lasts is None else parse_span(entry.lasts))
    except ValueError as error:
        wrong.append(Problem(f"{place}.for", str(error)))
    if entry.lasts is not None and entry.state == "ready":
        wrong.append(Problem(f"{place}.for", "a node that is ready comes back from nowhere", "leave 'for' out"))
    if entry.evict and entry.state != "cordoned":
        wrong.append(Problem(f"{place}.evict", f"goes with cordoned, not with {entry.state}"))
    if (entry.node is None) == (entry.nodes is None):
        wrong.append(Problem(place, "names its nodes by 'node' or by 'nodes', and by one of them only"))
    meant = [] if wrong else _meant(entry, place, nodes, wrong)
    problems += wrong
    faults = [Fault(at, node, entry.state, entry.evict) for node in meant]
    if entry.lasts is not None:
        faults += [Fault(ends, node, "ready") for node in meant]
    return faults


def _meant(entry: _Entry, place: str, nodes: Sequence[str], wrong: list[Problem]) -> list[str]:
    """The nodes that the entry names, each once, in the cluster's order."""
    known = set(nodes)
    chosen: set[str] = set()
    for pattern in entry.nodes or [entry.node or ""]:
        if pattern in known:
            chosen.add(pattern)
            continue
        matching = [node for node in nodes if fnmatchcase(node, pattern)] if set(pattern) & set(GLOBS) else []
        if not matching:
            what = "no node's name is like" if set(pattern) & set(GLOBS) else "the cluster has no node"
            wrong.append(Problem(place, f"{what} {shown(pattern)}", did_you_mean(pattern, nodes)))
        chosen.update(matching)
    return [node for node in nodes if node in chosen]


def _sorted(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """By time; of one moment those that end come first, then by name."""
    return tuple(sorted(faults, key=lambda fault: (fault.at, fault.state != "ready", fault.node, fault.evict)))


def draw_faults(
    nodes: Sequence[str],
    begin: int,
    end: int,
    *,
    mtbf: int,
    mttr: int,
    seed: int = 0,
    state: Literal["down", "cordoned"] = "down",
) -> tuple[Fault, ...]:
    """Faults from `begin` to `end`: each node is well for `mtbf` on average and then away for `mttr`, both exponential.

    Times in microseconds, drawn to the second. Nodes draw in the order of their names, each from a stream of its own,
    so that another node more changes nothing for the others that sort before it. The same seed gives the same faults.
    """
    if mtbf <= 0 or mttr <= 0:
        raise InputError([Problem("mtbf" if mtbf <= 0 else "mttr", "is not above 0")])
    faults: list[Fault] = []
    streams = np.random.SeedSequence(seed).spawn(len(nodes))
    for name, stream in zip(sorted(nodes), streams, strict=True):
        draws = np.random.Generator(np.random.PCG64(stream))
        at = begin
        while True:
            at += _seconds(draws.standard_exponential() * mtbf)
            if at >= end:
                break
            faults.append(Fault(at, name, state))
            at += _seconds(draws.standard_exponential() * mttr)
            faults.append(Fault(at, name, "ready"))
    return _sorted(faults)


def _seconds(us: float) -> int:
    """To the next second: the last bits of a logarithm are not the same on every machine."""
    return (int(us) // 10**6 + 1) * 10**6
