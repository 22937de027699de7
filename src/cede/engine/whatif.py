"""A place in a cluster file as people write it, `queues[team-a].max.cpu`, and the file with another value there.

Nothing that is given is changed: what lies on the way to the place is copied, the rest is shared. So an entry that
several aliases of a YAML file stand for is changed in one place only.
"""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from cede.doctrines.catalog import DIALECTS
from cede.doctrines.document import parse_document
from cede.engine.cluster import Cluster
from cede.model.cluster import ClusterFile
from cede.model.dialect import Open
from cede.model.document import SECTIONS
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.named_settings import QUEUE_KEYS, settings_under_name, under_names
from cede.model.queues import Queue
from cede.model.reading import read_value
from cede.model.values import Part
from cede.model.workloads import HOLDING

GONE = object()
"""In place of a value: the key is taken away."""

_PLAIN_KEY = re.compile(r"[^.\[]+")
_QUOTED_STEP = re.compile(r"\[(?:\"([^\"]*)\"|'([^']*)')\]")
_STEP = re.compile(r"\[([^\]]*)\]")
_QUEUE_SETTINGS = re.compile(r"queues\[.*\]\.settings")
_SINGULAR = {"policies": "policy", "pod_sets": "pod set"}


def put(data: object, place: str, value_for: Callable[[bool], object]) -> object:
    """The data with another value at the place; `value_for` is told whether the format wants text there."""
    if not place:
        raise InputError([Problem("--set", "names no place", "write PATH=VALUE, as workloads[train-1].priority=3")])
    choice = data.get("doctrine") if isinstance(data, dict) else None
    return _Put(place, choice, value_for).into(data, ClusterFile, place, "")


def entry_index(entries: list[Any], label: str) -> int | None:
    """Which entry is called so; failing that, which has this number."""
    for index, entry in enumerate(entries):
        if name_of(entry) == label:
            return index
    number = int(label) if label.isascii() and label.isdigit() and len(label) < 10 else len(entries)
    return number if number < len(entries) else None


def counted_index(entries: list[Any], label: str) -> int | None:
    """Which entry with a `count` makes a node of this name."""
    stem, dash, number = label.rpartition("-")
    if not dash or not (number.isascii() and number.isdigit()) or str(int(number)) != number:
        return None
    for index, entry in enumerate(entries):
        if isinstance(entry, dict) and entry.get("name") == stem:
            count = entry.get("count")
            if type(count) is int and int(number) < count:
                return index
    return None


def counted_out(entries: list[Any], index: int) -> list[Any]:
    """The entries with the one at `index` replaced by as many as its `count` says."""
    entry = entries[index]
    rest = {key: value for key, value in entry.items() if key not in ("name", "count")}
    made = [{"name": f"{entry['name']}-{number}", **rest} for number in range(entry["count"])]
    return [*entries[:index], *made, *entries[index + 1 :]]


def names_in(entries: Iterable[Any]) -> list[str]:
    """The names by which the entries of a list may be addressed."""
    return [name for name in map(name_of, entries) if name is not None]


def name_of(entry: object) -> str | None:
    """The name of an entry; a policy, which has none, is called by whom it is for."""
    if not isinstance(entry, dict):
        return None
    name = entry["name"] if "name" in entry else entry.get("user", entry.get("project"))
    return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class _Put:
    place: str
    choice: object
    value_for: Callable[[bool], object]

    def into(self, at: Any, shape: Any, rest: str, done: str) -> object:
        """A copy of `at`, which `shape` describes and `done` has led to, with the value at `rest` below it."""
        if not rest:
            return self.value_for(_is_text(shape))
        if rest.startswith("["):
            return self._into_bracket(at, shape, rest, done)
        if done == "doctrine" and isinstance(at, str):
            at = {"name": at}
        if not isinstance(at, dict):
            raise self._wrong(f"{done or 'the file'} is {shown(at)}, which has nothing below it")
        key, after = self._next_key(at, shape, rest, done)
        return self._under(at, shape, key, after, f"{done}.{key}" if done else key)

    def _into_bracket(self, at: Any, shape: Any, rest: str, done: str) -> object:
        step = _QUOTED_STEP.match(rest) or _STEP.match(rest)
        if step is None:
            raise self._wrong("a bracket is not closed", "write workloads[NAME].KEY")
        label = next(group for group in step.groups() if group is not None)
        after = self._after(rest[step.end() :])
        walked = f"{done}{step[0]}"
        if isinstance(at, dict) and step.re is _QUOTED_STEP:
            return self._under(at, shape, label, after, walked)
        if not isinstance(at, list):
            raise self._wrong(f"{done} is {shown(at)}, not a list")
        index = entry_index(at, label)
        if index is None and done == "nodes" and (counted := counted_index(at, label)) is not None:
            at = counted_out(at, counted)
            index = entry_index(at, label)
        if index is None:
            raise self._no_entry(at, done, label)
        value = self.into(at[index], _below(shape, ""), after, walked)
        return [*at[:index], *([] if value is GONE else [value]), *at[index + 1 :]]

    def _under(self, at: dict[str, Any], shape: Any, key: str, after: str, walked: str) -> dict[str, Any]:
        inner = self._shape_of(at, shape, key, walked)
        if key not in at and after.startswith("["):
            raise self._wrong(f"{walked} has no entries yet")
        value = self.into(at.get(key, {}), inner, after, walked)
        if value is GONE:
            return {other: kept for other, kept in at.items() if other != key}
        return {**at, key: value}

    def _next_key(self, at: dict[str, Any], shape: Any, rest: str, done: str) -> tuple[str, str]:
        """The longest known key that `rest` begins with, for keys may hold dots; and what comes after it."""
        known = {*at, *self._keys(at, shape, done)}
        fitting = [key for key in known if rest == key or rest.startswith((f"{key}.", f"{key}["))]
        if fitting:
            key = max(fitting, key=len)
            return key, self._after(rest[len(key) :])
        if self._is_free(shape):
            return rest, ""
        found = _PLAIN_KEY.match(rest)
        if found is None:
            raise self._wrong(f"there is no key between the dots after {done or 'the beginning'}")
        if not self._is_open(shape, done):
            where = f" in {done}" if done else ""
            raise self._wrong(f"there is no key {shown(found[0])}{where}", did_you_mean(found[0], known))
        return found[0], self._after(rest[found.end() :])

    def _after(self, rest: str) -> str:
        if rest == ".":
            raise self._wrong("ends in a dot")
        return rest.removeprefix(".")

    def _keys(self, at: dict[str, Any], shape: Any, done: str) -> Mapping[str, Any]:
        if done == "doctrine":
            name = at.get("name")
            own = DIALECTS[name].cluster if isinstance(name, str) and name in DIALECTS else None
            return {"name": str, "edition": str, **_fields(own), "settings": None}
        if done == "doctrine.settings":
            return {name: dialect.cluster for name, dialect in DIALECTS.items()}
        return {**_fields(shape), **(self._named() if _QUEUE_SETTINGS.fullmatch(done) else {})}

    def _named(self) -> Mapping[str, Any]:
        """What a queue says to each doctrine under its name."""
        return {name: _Named(dialect.queues[dialect.editions[0]]) for name, dialect in DIALECTS.items()}

    def _shape_of(self, at: dict[str, Any], shape: Any, key: str, walked: str) -> Any:
        if key == "settings" and walked.startswith("queues["):
            return self._queue_settings()
        done = walked.removesuffix(f".{key}") if walked.endswith(f".{key}") else ""
        return self._keys(at, shape, done).get(key, _below(shape, key))

    def _queue_settings(self) -> Any:
        """What the doctrine of the file has; nothing is known of settings without one."""
        choice = {"name": self.choice} if isinstance(self.choice, str) else self.choice
        name = choice.get("name") if isinstance(choice, dict) else None
        if not isinstance(name, str) or name not in DIALECTS or not isinstance(choice, dict):
            return None
        dialect = DIALECTS[name]
        edition = choice.get("edition", dialect.editions[0])
        return dialect.queues.get(edition if isinstance(edition, str) else "", Open)

    def _is_open(self, shape: Any, done: str) -> bool:
        """Whether nothing is known of which keys stand here: of the settings of an edition there is not."""
        return done != "doctrine" and shape is Open

    def _is_free(self, shape: Any) -> bool:
        """Whether any key may stand here, with a plain value: resources, labels, settings nothing is known of."""
        return shape is None or get_origin(shape) is dict

    def _no_entry(self, entries: list[Any], done: str, label: str) -> InputError:
        section = re.split(r"[.\]]", done)[-1]
        kind = _SINGULAR.get(section, section.removesuffix("s"))
        names = names_in(entries)
        if label.isdigit() or not names:
            count = f"{len(entries)} entry" if len(entries) == 1 else f"{len(entries)} entries"
            numbers = f", numbered 0 to {len(entries) - 1}" if entries else ""
            return self._wrong(f"there is no {kind} {shown(label)}; {done} has {count}{numbers}")
        return self._wrong(f"no {kind} is called {shown(label)}", did_you_mean(label, names))

    def _wrong(self, message: str, hint: str | None = None) -> InputError:
        return InputError([Problem(f"--set {self.place}", message, hint)])


@dataclass(frozen=True, slots=True)
class _Named:
    """Settings of a queue under a doctrine's name, and keys of the queue that may stand there too."""

    settings: type[Part]


def _fields(shape: Any) -> dict[str, Any]:
    if isinstance(shape, _Named):
        shared = {key: annotation for key, annotation in _fields(Queue).items() if key in QUEUE_KEYS}
        return {**shared, **_fields(shape.settings)}
    if not (isinstance(shape, type) and issubclass(shape, Part)):
        return {}
    return {info.alias or name: info.annotation for name, info in shape.model_fields.items()}


def _below(shape: Any, key: str) -> Any:
    """What an entry of a list, or the value of a free key, looks like; None if nothing is known of it."""
    if get_origin(shape) is list:
        return _bare(get_args(shape)[0])
    if get_origin(shape) is dict:
        return _bare(get_args(shape)[1])
    return _fields(shape).get(key)


def _bare(shape: Any) -> Any:
    return get_args(shape)[0] if get_origin(shape) is Annotated else shape


def _is_text(shape: Any) -> bool:
    if get_origin(shape) is types.UnionType:
        return False
    return shape is str or get_origin(shape) is Literal


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
