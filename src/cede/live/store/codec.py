"""Jobs, tasks, facts, transitions, decisions and documents as JSON text and back, exactly.

Entries of a cluster file are in its contract form, and all times beside them are whole microseconds. A duration that
was stored before there was a longest one is read as the longest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, get_args

from cede.doctrines.document import parse_document
from cede.engine.drive.facts import Fact, SetTerms, Submit
from cede.engine.drive.job import Job
from cede.engine.drive.step import Refusal, Transition
from cede.engine.drive.terms import Terms
from cede.live.store.shapes import Shape
from cede.live.task import Task
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document, dump_part
from cede.model.plan import Decision
from cede.model.times import LONGEST, clamped, clamping
from cede.model.values import Part

# Everything but ASCII is escaped, so that any text a job or user came up with can be stored.
text_of = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
plain_of = json.loads


def _kind(cls: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


_JOB = Shape(Job)
_TRANSITION = Shape(Transition)
_DECISION = Shape(Decision)
_REFUSAL = Shape(Refusal)
_FACTS: dict[str, Shape[Any]] = {_kind(cls): Shape(cls) for cls in get_args(Fact)}
_KINDS: dict[type, str] = {cls: _kind(cls) for cls in get_args(Fact)}


def dump_job(job: Job) -> str:
    return text_of(_JOB.dump(job))


def parse_job(text: str) -> Job:
    with clamping():
        job = _JOB.parse(plain_of(text))
    job.terms = within(job.terms)
    return job


def dump_task(task: Task) -> str:
    return text_of(task.model_dump(exclude_unset=True))


def parse_task(text: str) -> Task:
    task = Task.model_validate(plain_of(text))
    if max(task.grace_us, task.walltime_us or 0) <= LONGEST:
        return task
    walltime = None if task.walltime_us is None else clamped(task.walltime_us)
    return task.model_copy(update={"grace_us": clamped(task.grace_us), "walltime_us": walltime})


def dump_facts(facts: Iterable[Fact]) -> str:
    """The facts in order, each as its kind and what it says."""
    return text_of([[kind := _KINDS[type(fact)], _FACTS[kind].dump(fact)] for fact in facts])


def parse_facts(text: str) -> list[Fact]:
    with clamping():
        found = [_FACTS[kind].parse(data) for kind, data in plain_of(text)]
    return [replace(fact, terms=within(fact.terms)) if isinstance(fact, Submit | SetTerms) else fact for fact in found]


def within(terms: Terms) -> Terms:
    """The same with no time above the longest."""
    times = {one.name: getattr(terms, one.name) for one in fields(Terms)}
    long: dict[str, Any] = {
        name: clamped(value) for name, value in times.items() if isinstance(value, int) and value > LONGEST
    }
    return replace(terms, **long) if long else terms


def dump_refusals(refusals: Iterable[Refusal]) -> str:
    return text_of([_REFUSAL.dump(refusal) for refusal in refusals])


def parse_refusals(text: str) -> list[Refusal]:
    return [_REFUSAL.parse(data) for data in plain_of(text)]


def dump_transition(transition: Transition) -> str:
    return text_of(_TRANSITION.dump(transition))


def parse_transition(text: str) -> Transition:
    return _TRANSITION.parse(plain_of(text))


def dump_decision(decision: Decision) -> str:
    return text_of(_DECISION.dump(decision))


def parse_decision(text: str) -> Decision:
    return _DECISION.parse(plain_of(text))


def dump_cluster(document: ClusterFile) -> str:
    """The text of `dump_document`. Entries of the last document are written once: files of moments share most."""
    lists: dict[str, Sequence[Part]] = {"nodes": document.nodes, "workloads": document.workloads}
    empty: dict[str, list[Part]] = {key: [] for key in lists if key in document.model_fields_set}
    before, after = _WRITTEN[0], dict[int, tuple[Part, str]]()
    pieces = []
    for key, value in dump_document(document.model_copy(update=empty)).items():
        text = "[" + ",".join(_entries(lists[key], before, after)) + "]" if key in lists else text_of(value)
        pieces.append(f"{text_of(key)}:{text}")
    _WRITTEN[0] = after
    return "{" + ",".join(pieces) + "}"


_WRITTEN: list[dict[int, tuple[Part, str]]] = [{}]
"""By id, entries of the document that was written last, which never change, and their text."""


def _entries(
    parts: Sequence[Part], before: Mapping[int, tuple[Part, str]], after: dict[int, tuple[Part, str]]
) -> Iterator[str]:
    for part in parts:
        known = before.get(id(part))
        if known is None:
            known = part, text_of(dump_part(part))
        after[id(part)] = known
        yield known[1]


def parse_cluster(text: str) -> ClusterFile:
    with clamping():
        return parse_document(plain_of(text))
