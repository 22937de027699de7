"""Dataclasses as plain data and back, exactly, by the types of their fields."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from enum import Enum
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cede.doctrines.document import parse_document
from cede.engine.drive.facts import Fact, SetTerms, Submit
from cede.engine.drive.job import Job
from cede.engine.drive.step import Refusal, Transition
from cede.engine.drive.terms import Terms
from cede.live.task import Task
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document, dump_part
from cede.model.lifecycle import Signal
from cede.model.plan import Decision
from cede.model.times import LONGEST, clamped, clamping
from cede.model.values import Part

T = TypeVar("T")
Form = Callable[[Any], Any]

_PLAIN = (str, int, float, bool)
_SIGNALS = {str(signal): signal for signal in Signal}
_SHAPES: dict[type, Shape[Any]] = {}
"""By class, those that were made."""


class Shape(Generic[T]):
    """How one dataclass is written: a key for each field whose value is not its default; of those it is made with."""

    def __init__(self, cls: type[T]) -> None:
        _SHAPES[cls] = self  # before its fields are looked at: one of them may hold another of its kind
        hints = get_type_hints(cls)
        every = dataclasses.fields(cls)  # type: ignore[arg-type]  # only dataclasses are asked for
        fields = [one for one in every if one.init]
        self._cls = cls
        names = [one.name for one in fields]
        # Of a single name attrgetter gives the value, not a tuple of it, and of none it is an error.
        self._values: Callable[[Any], tuple[Any, ...]] = (
            attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)
        )
        self._rows = tuple((one.name, _default(one), *_forms(hints[one.name])) for one in fields)
        self._parsers = {name: parse for name, _, _, parse in self._rows if parse is not None}

    def dump(self, value: T) -> dict[str, Any]:
        return {
            name: item if dump is None or item is None else dump(item)
            for (name, default, dump, _), item in zip(self._rows, self._values(value), strict=True)
            if item is not default and item != default
        }

    def parse(self, data: Mapping[str, Any]) -> T:
        given = dict(data)
        for name, parse in self._parsers.items():
            if (item := given.get(name)) is not None:
                given[name] = parse(item)
        return self._cls(**given)


def _default(one: dataclasses.Field[Any]) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def _forms(hint: Any) -> tuple[Form | None, Form | None]:
    """How a value of this type is written and read, none where it is plain data; a type we do not know is an error."""
    if hint is Any or hint in _PLAIN or get_origin(hint) is Literal:
        return None, None
    if hint == Signal | str:
        return str, _signal
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        inner = [argument for argument in arguments if argument is not NoneType]
        if len(inner) == 1:
            return _forms(inner[0])
    elif origin is tuple and arguments[1:] == (...,):
        return _tuple_forms(*_forms(arguments[0]))
    elif origin in (dict, Mapping):
        return dict, None
    elif isinstance(hint, type):
        if issubclass(hint, Part):
            return dump_part, hint.model_validate
        if issubclass(hint, Enum):
            return str, hint
        if dataclasses.is_dataclass(hint):
            inner_shape = _SHAPES.get(hint) or Shape(hint)
            return inner_shape.dump, inner_shape.parse
    raise TypeError(f"the store does not know how to keep a {hint}")


def _tuple_forms(dump: Form | None, parse: Form | None) -> tuple[Form, Form]:
    return (
        list if dump is None else lambda items: [dump(item) for item in items],
        tuple if parse is None else lambda items: tuple(parse(item) for item in items),
    )


def _signal(text: str) -> Signal | str:
    return _SIGNALS.get(text, text)


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
        facts = [_FACTS[kind].parse(data) for kind, data in plain_of(text)]
    return [replace(fact, terms=within(fact.terms)) if isinstance(fact, Submit | SetTerms) else fact for fact in facts]


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
