"""A place in a cluster file as people write it, `queues[team-a].max.cpu`, and the file with another value there.

Nothing that is given is changed: what lies on the way to the place is copied, the rest is shared. So an entry that
several aliases of a YAML file stand for is changed in one place only.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from cede.doctrines.catalog import DIALECTS
from cede.model.cluster import ClusterFile
from cede.model.dialect import Open
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.named_settings import QUEUE_KEYS
from cede.model.queues import Queue
from cede.model.values import Part

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
