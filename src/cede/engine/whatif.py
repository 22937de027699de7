"""A cluster file as it would be: changes made to the plain data, so that every mistake has a place.

The doctrine is exchanged first; then entries go, others come, and values are set. So an entry can be replaced, and a
value can be set in one that was just added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cede.doctrines.catalog import DIALECTS
from cede.doctrines.document import parse_document
from cede.engine.address import GONE, counted_index, counted_out, entry_index, name_of, names_in, put
from cede.engine.cluster import Cluster
from cede.model.document import SECTIONS
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.named_settings import settings_under_name, under_names
from cede.model.reading import read_value
from cede.model.workloads import HOLDING

_SECTIONS = {"workload": "workloads", "node": "nodes", "queue": "queues"}
_INDEXED = re.compile(r"(\w+)\[([0-9]+)\]")
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Changes to a file, as the options of the same names give them; `add` holds sources and their plain data."""

    doctrine: str | None = None
    without: tuple[str, ...] = ()
    add: tuple[tuple[str, object], ...] = ()
    set: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.doctrine is not None or bool(self.without or self.add or self.set)


def changed(data: object, what_if: WhatIf) -> object:
    """The data with the changes; an InputError lists all that cannot be made. What was given stays as it is."""
    if not isinstance(data, dict):
        return data
    steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    if what_if.doctrine is not None:
        steps.append((_with_doctrine, (what_if.doctrine,)))
    steps += [(_without, (name,)) for name in what_if.without]
    steps += [(_with_workloads, (source, extra)) for source, extra in what_if.add]
    steps += [(_with_value, (assignment,)) for assignment in what_if.set]
    problems: list[Problem] = []
    for step, arguments in steps:
        try:
            data = step(data, *arguments)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return data


def cluster_if(data: object, what_if: WhatIf) -> Cluster:
    """The cluster that the data describes after the changes; entries are named in errors, for numbers have moved."""
    after = changed(data, what_if)
    try:
        return Cluster(parse_document(after))
    except InputError as error:
        if not what_if or not isinstance(after, dict):
            raise
        names = {section: list(map(name_of, _list(after, section))) for section in SECTIONS}
        counts = {section: Counter(found) for section, found in names.items()}
        raise InputError(Problem(_named(p.path, names, counts), p.message, p.hint) for p in error.problems) from None


def _named(path: str, names: dict[str, list[str | None]], counts: dict[str, Counter[str | None]]) -> str:
    """The path with the entry's number replaced by its name, if that is plain and its own."""
    found = _INDEXED.match(path)
    if found is None or found[1] not in names or int(found[2]) >= len(names[found[1]]):
        return path
    name = names[found[1]][int(found[2])]
    if name is None or counts[found[1]][name] > 1 or not name.isprintable() or "]" in name:
        return path
    return f"{found[1]}[{name}]{path[found.end() :]}"


def _with_doctrine(data: dict[str, Any], text: str) -> dict[str, Any]:
    """Another doctrine or edition. Settings stay with the doctrine that they are of: under its name, if it goes."""
    name, slash, edition = text.partition("/")
    if not name or (slash and not edition):
        raise InputError([Problem(f"--doctrine {text}", "is no choice of a doctrine", "write NAME or NAME/EDITION")])
    before = data.get("doctrine")
    was = before.get("name") if isinstance(before, dict) else before
    kept: dict[str, Any] = {}
    if isinstance(before, dict):
        kept = {key: value for key, value in before.items() if key not in ("name", "edition")}
    if was != name and isinstance(was, str) and was in DIALECTS:
        data = under_names(data, was, DIALECTS)
        kept = settings_under_name(kept, was)
    elif was != name:
        kept = {}
    return {**data, "doctrine": {"name": name, **({"edition": edition} if slash else {}), **kept}}


def _without(data: dict[str, Any], text: str) -> dict[str, Any]:
    kind, slash, name = text.partition("/")
    if not slash or kind not in _SECTIONS:
        kind, name = "workload", text
    section = _SECTIONS[kind]
    entries = _list(data, section)
    index = entry_index(entries, name) if name in names_in(entries) else None
    if index is None and kind == "node" and (counted := counted_index(entries, name)) is not None:
        entries = counted_out(entries, counted)
        index = entry_index(entries, name)
    if index is None:
        raise InputError([_unknown(data, kind, name, text, entries)])
    if kind == "queue":
        _forbid_orphans(data, name, text)
    if kind == "node" and len(entries) == 1:
        hint = f"to lose it, give --set 'nodes[{name}].state=down'"
        raise InputError([Problem(f"--without {text}", "it is the last node; without any only quota is decided", hint)])
    rest = {**data, section: [*entries[:index], *entries[index + 1 :]]}
    if kind == "node":
        count = entries[index].get("count")
        names = {name} if type(count) is not int else {f"{name}-{number}" for number in range(count)}
        rest["workloads"] = [_moved_out(work, names) for work in _list(data, "workloads")]
    elif kind == "workload" and "nodes" in rest:
        rest["nodes"] = [_unreserved(node, name) for node in _list(data, "nodes")]
    return rest


def _unknown(data: dict[str, Any], kind: str, name: str, text: str, entries: list[Any]) -> Problem:
    hint = did_you_mean(name, names_in(entries))
    for other, section in _SECTIONS.items():
        if other != kind and name in names_in(_list(data, section)):
            hint = f"a {other} is: --without {other}/{name}"
    return Problem(f"--without {text}", f"no {kind} is called {shown(name)}", hint)


def _forbid_orphans(data: dict[str, Any], queue: str, text: str) -> None:
    inside = [w["name"] for w in _list(data, "workloads") if isinstance(w, dict) and w.get("queue") == queue]
    if inside:
        more = f" and {len(inside) - _MOST_NAMED} more" if len(inside) > _MOST_NAMED else ""
        message = f"it still has workloads: {', '.join(map(str, inside[:_MOST_NAMED]))}{more}"
        hint = f"leave them out too, or move them: --set 'workloads[{inside[0]}].queue=OTHER'"
        raise InputError([Problem(f"--without {text}", message, hint)])


def _moved_out(work: Any, nodes: set[str]) -> Any:
    """A workload that stood on one of these nodes lost its place, and waits again."""
    if not isinstance(work, dict) or work.get("state") not in HOLDING or not isinstance(work.get("nodes"), list):
        return work
    if not any(isinstance(node, str) and node in nodes for node in work["nodes"]):
        return work
    # What says only what it holds asks for that.
    held = ("usage",) if "requests" in work or "pod_sets" in work else ()
    return {key: value for key, value in work.items() if key not in ("state", "nodes", "started", *held)}


def _unreserved(node: Any, workload: str) -> Any:
    if not isinstance(node, dict) or node.get("reserved_for") != workload:
        return node
    return {key: value for key, value in node.items() if key not in ("reserved_for", "reserved_since")}


def _with_workloads(data: dict[str, Any], source: str, extra: object) -> dict[str, Any]:
    return {**data, "workloads": [*_list(data, "workloads"), *entries_of(source, extra)]}


def entries_of(source: str, extra: object) -> Iterator[dict[str, Any]]:
    """The workload entries of a file that is one, a list of them, or a document that has some."""
    if isinstance(extra, dict) and "workloads" in extra:
        extra = extra["workloads"]
    entries = extra if isinstance(extra, list) else [extra]
    if not entries:
        raise InputError([Problem(f"--add {source}", "holds no workload")])
    for entry in entries:
        if not isinstance(entry, dict):
            hint = "give a workload entry, a list of them, or a document with the key 'workloads'"
            raise InputError([Problem(f"--add {source}", f"{shown(entry)} is no workload", hint)])
        yield entry


def _with_value(data: dict[str, Any], assignment: str) -> object:
    place, text = _split(assignment)
    return put(data, place, lambda wants_text: _value(place, text, wants_text))


def _split(assignment: str) -> tuple[str, str]:
    """The place and the value, parted by the first `=` that stands in no brackets."""
    depth = 0
    for at, character in enumerate(assignment):
        depth += (character == "[") - (character == "]")
        if character == "=" and depth <= 0:
            return assignment[:at].strip(), assignment[at + 1 :].strip()
    hint = "write PATH=VALUE, as workloads[train-1].priority=3"
    raise InputError([Problem(f"--set {assignment}", "gives no value", hint)])


def _value(place: str, text: str, wants_text: bool) -> object:
    """What the text stands for in YAML; null, or nothing at all, takes the key away."""
    if not text:
        return GONE
    try:
        value = read_value(text)
    except InputError as error:
        if wants_text:
            return text
        message = f"{shown(text)} is no value: {error.problems[0].message}"
        raise InputError([Problem(f"--set {place}", message)]) from None
    if value is None:
        return GONE
    return text if wants_text and not isinstance(value, str | list | dict) else value


def _list(data: dict[str, Any], section: str) -> list[Any]:
    """The entries of a section; none where the file has something else, of which reading it will complain."""
    found = data.get(section)
    return found if isinstance(found, list) else []
