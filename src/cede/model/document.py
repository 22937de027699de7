"""From plain data to a cluster file that can be trusted, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from cede.model.checks import check, counted_out
from cede.model.cluster import ClusterFile
from cede.model.dialect import Dialects
from cede.model.doctrine import DoctrineChoice
from cede.model.errors import InputError, Problem, shown
from cede.model.garbage import collecting_no_garbage
from cede.model.named_settings import SECTIONS as NAMED_SECTIONS
from cede.model.named_settings import Aside, resolve, unknown_doctrine
from cede.model.quantities import format_quantity
from cede.model.reports import Finding, Hints, findings_of, in_file_order
from cede.model.resources import parse_quotas, parse_resources
from cede.model.salvage import SECTIONS, Draft, salvaged
from cede.model.times import Instant, format_duration, format_time, parse_duration, parse_time
from cede.model.values import Part, Reads, plain_number
from cede.model.workloads import Workload

__all__ = ["SECTIONS", "dump_document", "dump_part", "parse"]

MOST_LEVELS = 6
"""How deep a list may stand in a document, but for settings."""


def parse(data: object, dialects: Dialects) -> ClusterFile:
    """The cluster file that `data` describes; an InputError lists everything that is wrong with it."""
    if not isinstance(data, dict):
        raise InputError([Problem("", f"{shown(data)} is no cluster file, which is an object with the key 'cede'")])
    hints = Hints()
    findings: list[Finding] = []
    with collecting_no_garbage():
        resolved = resolve(data, dialects)
        try:
            draft = Draft(ClusterFile.model_validate(resolved.data, context=dialects))
        except ValidationError as error:
            if (listed := _with_lists(data)) is not data:
                return parse(listed, dialects)
            findings = findings_of(error, ClusterFile, hints)
            draft = salvaged(resolved.data, (finding.loc for finding in findings), dialects)
        findings += check(draft, hints)
        findings = [unknown_doctrine(resolved.placed(one), data, dialects) for one in findings]
        if findings := [*findings, *resolved.findings]:
            raise InputError(in_file_order(findings, data))
        doc = draft.doc
        doc.set_aside(resolved.aside)
        if doc.dialect.normal is not None:
            doc = doc.dialect.normal(doc)
        if all(node.count is None for node in doc.nodes):
            return doc
        return doc.model_copy(update={"nodes": counted_out(doc.nodes)})


def _with_lists(data: Any, levels: int = MOST_LEVELS) -> Any:
    """The data with a list for every tuple; the very same if it has none."""
    if levels == 0 or not isinstance(data, dict | list | tuple):
        return data
    if isinstance(data, dict):
        changed = {key: new for key, item in data.items() if (new := _with_lists(item, levels - 1)) is not item}
        return {**data, **changed} if changed else data
    items = [_with_lists(item, levels - 1) for item in data]
    same = isinstance(data, list) and all(new is old for new, old in zip(items, data, strict=True))
    return data if same else items


def dump_document(doc: ClusterFile, *, defaults: bool = False) -> dict[str, object]:
    """The document in its one normal form: what was given, or with `defaults` everything that has a value."""
    with collecting_no_garbage():
        return _dump(doc, defaults)


def dump_part(part: Part) -> dict[str, object]:
    """One entry of a document in its normal form, as far as it was given; its class reads it again."""
    return _dump(part, False)


def _dump(part: Part, defaults: bool) -> dict[str, object]:
    given = part.model_fields_set
    values = part.__dict__
    result: dict[str, object] = {}
    for key, form in _forms(type(part)):
        if (key in given or defaults) and (value := values[key]) is not None:
            result[key] = form(value, defaults)
    if defaults and isinstance(part, Workload) and part.pod_sets is not None:
        del result["members"], result["requests"]
    if isinstance(part, ClusterFile) and part.aside:
        return _with_aside(result, part.aside, "" if part.doctrine is None else part.doctrine.name)
    return result


def _with_aside(written: dict[str, Any], aside: Aside, force: str) -> dict[str, object]:
    """The normal form with the settings of doctrines that are not in force in their place again."""
    entries = {(section, one["name"]): one for section in NAMED_SECTIONS for one in written.get(section, ())}
    for place, kept in aside.items():
        entry = written["doctrine"] if place[0] == "doctrine" else entries.get(place)
        if entry is None:
            continue
        own = {key: entry.pop(key) for key in kept.shared if key in entry}
        for key, value in kept.shared.items():
            if value is not None:
                shared = NAMED_SECTIONS[place[0]][0].model_validate({"name": "?", key: value})
                entry[key] = _dump(shared, False)[key]
        named = {**({force: own} if own else {}), **copy.deepcopy(dict(kept.others))}
        if named:
            entry["settings"] = {**entry.get("settings", {}), **named}
        if place[0] in NAMED_SECTIONS:
            order = {key: number for number, (key, _) in enumerate(_forms(NAMED_SECTIONS[place[0]][0]))}
            for key in sorted(entry, key=order.__getitem__):
                entry[key] = entry.pop(key)
    return written


Form = Callable[[Any, bool], object]


@cache
def _forms(model: type[Part]) -> tuple[tuple[str, Form], ...]:
    """The keys of a part in the contract's order, and how the value of each is written."""
    return tuple((key, _form(info)) for key, info in model.model_fields.items())


def _form(info: FieldInfo) -> Form:
    parse = next((mark.parse for mark in info.metadata if isinstance(mark, Reads)), None)
    if parse in (parse_resources, parse_quotas):
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
