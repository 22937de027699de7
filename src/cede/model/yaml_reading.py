"""What a scalar of a YAML file stands for: the core schema of YAML 1.2, no more."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, TypeGuard

import yaml

from cede.model.errors import InputError, Problem, shown
from cede.model.values import DEEPEST

Scalar = str | int | Decimal | bool | None

TAG = "tag:yaml.org,2002:"

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMERIC = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MOST_DIGITS = 1000
_KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, Decimal), "bool": (bool,), "null": (type(None),)}


def plain_scalar(text: str) -> Scalar:
    """The value of a scalar without quotes and tag; a ValueError if it is a number that cannot be read.

    What is not finite comes as such a Decimal: whoever takes the number knows its place and refuses it.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        try:
            return Decimal(text)
        except InvalidOperation:
            raise ValueError(f"{shown(text)} is a number too large to be read") from None
    if match := _NOT_FINITE.fullmatch(text):
        return Decimal("NaN" if match[3] else f"{match[1]}Infinity")
    return text


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{shown(text)} is a number too large to be read")
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


def tagged_scalar(text: str, tag: str) -> Scalar:
    """The value of a scalar that says what it is; a ValueError if it is not that, or says something of its own."""
    if tag in ("!", f"{TAG}str"):
        return text
    kinds = _KINDS.get(tag.removeprefix(TAG))
    if kinds is None:
        raise ValueError(f"the tag {shown(tag)} is not known; write plain values")
    value = plain_scalar(text)
    if type(value) not in kinds:
        raise ValueError(f"{shown(text)} is not what its tag {shown(tag)} says")
    return value


MOST_NODES = 5_000_000

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_KEY = object()
_MERGE = object()
_SECOND = "a second document begins here; a file holds one"


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being read."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    size: int = 1
    height: int = 0
    key: object = _NO_KEY
    merged: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Any
    size: int
    height: int


def is_kubernetes_object(data: object) -> TypeGuard[dict[str, Any]]:
    """Whether this is an object as Kubernetes has them: it says its API and its kind."""
    return isinstance(data, dict) and all(isinstance(data.get(key), str) for key in ("apiVersion", "kind"))


def read_yaml(text: str, name: str, *, keys_as_text: bool = False) -> object:
    """The one document of the text; an InputError says what is wrong and where.

    Files of Kubernetes objects may have several, which come as a list, without those that are empty. `keys_as_text`:
    a key that looks like a number or a truth value is the text that stands there, and not an error.
    """
    builder = _Builder(name, keys_as_text=keys_as_text)
    try:
        _feed(builder, text, name)
    except InputError as error:
        raise InputError([*builder.problems, *error.problems]) from None
    if builder.problems:
        raise InputError(builder.problems)
    if not builder.starts:
        raise InputError([Problem(name, "the file holds no document")])
    return builder.result()


def _feed(builder: _Builder, text: str, name: str) -> None:
    try:
        for event in yaml.parse(text, Loader=_PARSER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = name if mark is None else f"{name}:{mark.line + 1}:{mark.column + 1}"
        hint = None if mark is None else _tab_hint(text, mark.line, mark.column)
        raise InputError([Problem(place, error.problem or error.context or "this is no YAML", hint)]) from None
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position].decode(errors="ignore")
        raise InputError([Problem(place_after(before, name), "this character may not stand in a file")]) from None
    except yaml.YAMLError as error:
        raise InputError([Problem(name, " ".join(str(error).split()))]) from None


def place_after(before: str, name: str) -> str:
    """The place in a file that comes just after the text `before`; lines and columns count from 1."""
    return f"{name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _tab_hint(text: str, line: int, column: int) -> str | None:
    lines = text.split("\n", line + 1)
    before = lines[line][: column + 1] if line < len(lines) else ""
    return "indent with spaces, not tabs" if "\t" in before else None


class _Builder:
    """Takes events one by one and puts the data together; `problems` are those after which reading goes on."""

    def __init__(self, name: str, *, keys_as_text: bool = False) -> None:
        self.name = name
        self.keys_as_text = keys_as_text
        self.value: object = None
        self.before: list[object] = []
        self.starts: list[Any] = []
        self.problems: list[Problem] = []
        self.total = 0
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Anchored] = {}

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._open(event, {}, "map")
        elif kind is yaml.SequenceStartEvent:
            self._open(event, [], "seq")
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close(event)
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent:
            self._begin(event)

    def result(self) -> object:
        """What was read: the one document, or the objects of all of them."""
        if len(self.starts) == 1:
            return self.value
        self._keep(self.starts[-1])
        if not self.before:
            raise self._wrong(self.starts[1], _SECOND)
        return self.before

    def _begin(self, event: Any) -> None:
        self.starts.append(event)
        if len(self.starts) > 1:
            self._keep(self.starts[-2])
            self.value = None
            self.anchors.clear()

    def _keep(self, start: Any) -> None:
        """Puts the document that was read beside those before it, if it may stand there."""
        if is_kubernetes_object(self.value):
            self.before.append(self.value)
        elif self.value is not None and self.before:
            raise self._wrong(start, "this document has no apiVersion and kind, as others have")
        elif self.value is not None:
            raise self._wrong(self.starts[1], _SECOND)

    def _scalar(self, event: Any) -> None:
        text, tag = event.value, event.tag
        if self.stack and tag is None and text == "<<" and not event.style and self._at_key():
            if self.stack[-1].merged:
                self._note(event, "the key '<<' is given twice")
            self.stack[-1].key = _MERGE
            return
        try:
            as_text = event.style or (self.keys_as_text and self.stack and self._at_key())
            untagged = str if as_text else plain_scalar
            value = untagged(text) if tag is None else tagged_scalar(text, tag)
        except ValueError as error:
            raise self._wrong(event, str(error)) from None
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, 1, 0)
        self._put(event, value, 1, 0)

    def _open(self, event: Any, value: list[Any] | dict[str, Any], tag: str) -> None:
        if event.tag not in (None, "!", TAG + tag):
            raise self._wrong(event, f"the tag {shown(event.tag)} is not known; write plain values")
        if self.stack and self._at_key():
            raise self._wrong(event, "a key is text, not a list or an object")
        if len(self.stack) >= DEEPEST:
            raise self._wrong(event, f"nested more than {DEEPEST} deep")
        self.stack.append(_Frame(value, event.anchor))

    def _close(self, event: Any) -> None:
        frame = self.stack.pop()
        for merged in frame.merged:
            for key, value in merged.items():
                frame.value.setdefault(key, value)  # type: ignore[union-attr]  # only mappings merge
        if frame.anchor is not None:
            self.anchors[frame.anchor] = _Anchored(frame.value, frame.size, frame.height)
        self._put(event, frame.value, frame.size, frame.height, already_counted=True)

    def _alias(self, event: Any) -> None:
        anchored = self.anchors.get(event.anchor)
        if any(frame.anchor == event.anchor for frame in self.stack):
            raise self._wrong(event, f"*{event.anchor} stands within itself")
        if anchored is None:
            raise self._wrong(event, f"no anchor is called &{event.anchor}")
        if len(self.stack) + anchored.height > DEEPEST:
            raise self._wrong(event, f"nested more than {DEEPEST} deep")
        self._put(event, anchored.value, anchored.size, anchored.height)

    def _at_key(self) -> bool:
        frame = self.stack[-1]
        return frame.key is _NO_KEY and isinstance(frame.value, dict)

    def _put(self, event: Any, value: Any, size: int, height: int, *, already_counted: bool = False) -> None:
        """Gives a value its place in what is being read."""
        if self.stack and self._at_key():
            self._key(event, self.stack[-1], value)
            return
        self.total += 1 if already_counted else size
        if self.total > MOST_NODES:
            raise self._wrong(event, f"more than {MOST_NODES:,} values, counting what aliases repeat")
        if not self.stack:
            self.value = value
            return
        frame = self.stack[-1]
        frame.size += size
        if frame.height <= height:
            frame.height = height + 1
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _MERGE:
            self._merge(event, frame, value)
            frame.key = _NO_KEY
        else:
            frame.value[frame.key] = value  # type: ignore[index]  # _key lets only text through
            frame.key = _NO_KEY

    def _key(self, event: Any, frame: _Frame, key: object) -> None:
        if not isinstance(key, str):
            self._note(event, f"the key {shown(key)} is not text", "write it in quotes")
            key = shown(key)
        elif key in frame.value:
            self._note(event, f"the key {shown(key)} is given twice")
        frame.key = key

    def _merge(self, event: Any, frame: _Frame, value: object) -> None:
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise self._wrong(event, "<< takes an object or a list of objects")
            frame.merged.append(source)

    def _note(self, event: Any, message: str, hint: str | None = None) -> None:
        mark = event.start_mark
        self.problems.append(Problem(f"{self.name}:{mark.line + 1}:{mark.column + 1}", message, hint))

    def _wrong(self, event: Any, message: str) -> InputError:
        mark = event.start_mark
        return InputError([Problem(f"{self.name}:{mark.line + 1}:{mark.column + 1}", message)])
