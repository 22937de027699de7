"""From plain data to a cluster file that can be trusted, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from cede.model.checks import Draft, check, counted_out
from cede.model.cluster import FORMAT, ClusterFile
from cede.model.doctrine import DoctrineChoice
from cede.model.errors import InputError, Problem, shown
from cede.model.garbage import collecting_no_garbage
from cede.model.quantities import format_quantity
from cede.model.reports import Finding, Hints, findings_of, in_file_order
from cede.model.resources import parse_resources
from cede.model.times import Instant, format_duration, format_time, parse_duration, parse_time
from cede.model.values import Part, Reads, plain_number
from cede.model.workloads import Workload

SECTIONS = ("nodes", "queues", "apps", "tenants", "policies", "workloads")


def parse_document(data: object) -> ClusterFile:
    """The cluster file that `data` describes; an InputError lists everything that is wrong with it."""
    if not isinstance(data, dict):
        raise InputError([Problem("", f"{shown(data)} is no cluster file, which is an object with the key 'cede'")])
    hints = Hints()
    findings: list[Finding] = []
    with collecting_no_garbage():
        try:
            draft = Draft(ClusterFile.model_validate(data))
        except ValidationError as error:
            findings = findings_of(error, ClusterFile, hints)
            draft = _salvaged(data, findings)
        findings += check(draft, hints)
        if findings:
            raise InputError(in_file_order(findings, data))
        if all(node.count is None for node in draft.doc.nodes):
            return draft.doc
        return draft.doc.model_copy(update={"nodes": counted_out(draft.doc.nodes)})


def _salvaged(data: dict[str, Any], findings: list[Finding]) -> Draft:
    """What remains of a document without the parts in which something was found."""
    keys = {f.loc[0] for f in findings if len(f.loc) == 1 or (f.loc and f.loc[0] not in SECTIONS)}
    entries = {finding.loc[:2] for finding in findings}
    sound = {key: data[key] for key in data if key in ClusterFile.model_fields and key not in keys}
    places: dict[str, Sequence[int]] = {}
    claimed: dict[str, list[tuple[str, int | None]]] = {}
    for section in SECTIONS:
        items = sound.get(section, [])
        kept = [index for index in range(len(items)) if (section, index) not in entries]
        if len(kept) < len(items):
            places[section] = kept
            claimed[section] = [name for item in items for name in _claim(item)]
            sound[section] = [items[index] for index in kept]
    doc = ClusterFile.model_validate(sound | {"cede": FORMAT})
    return Draft(doc, places, claimed, frozenset(map(str, keys)))


def _claim(item: object) -> list[tuple[str, int | None]]:
    """The name that an entry, be it readable or not, lays claim to; a queue's parent exists by being named."""
    if not isinstance(item, dict):
        return []
    count = item.get("count") if type(item.get("count")) is int and item["count"] > 0 else None
    return [(item[key], count) for key in ("name", "parent") if isinstance(item.get(key), str)]


def dump_document(doc: ClusterFile, *, defaults: bool = False) -> dict[str, object]:
    """The document in its one normal form: what was given, or with `defaults` everything that has a value."""
    with collecting_no_garbage():
        return _dump(doc, defaults)


def _dump(part: Part, defaults: bool) -> dict[str, object]:
    given = part.model_fields_set
    values = part.__dict__
    result: dict[str, object] = {}
    for key, form in _forms(type(part)):
        if (key in given or defaults) and (value := values[key]) is not None:
            result[key] = form(value, defaults)
    if defaults and isinstance(part, Workload) and part.pod_sets is not None:
        del result["members"], result["requests"]
    return result


Form = Callable[[Any, bool], object]


@cache
def _forms(model: type[Part]) -> tuple[tuple[str, Form], ...]:
    """The keys of a part in the contract's order, and how the value of each is written."""
    return tuple((key, _form(info)) for key, info in model.model_fields.items())


def _form(info: FieldInfo) -> Form:
    parse = next((mark.parse for mark in info.metadata if isinstance(mark, Reads)), None)
    if parse is parse_resources:
        return lambda value, _: {name: format_quantity(nano) for name, nano in value.items()}
    if parse is parse_time:
        return lambda value, _: format_time(value, isinstance(value, Instant))
    if parse is parse_duration:
        return lambda value, _: format_duration(value)
    return _dump_any


def _dump_any(value: Any, defaults: bool) -> object:
    if isinstance(value, DoctrineChoice):
        edition = {"edition": value.edition} if defaults or "edition" in value.model_fields_set else {}
        return {"name": value.name, **edition, **copy.deepcopy(value.settings)}
    if isinstance(value, Part):
        return _dump(value, defaults)
    if isinstance(value, list):
        return [_dump_any(item, defaults) for item in value]
    if isinstance(value, dict):
        return copy.deepcopy(value)
    return plain_number(value) if isinstance(value, float) else value
