"""YSON, text and binary, as plain data; no well-kept library reads it in pure Python, so this does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.imports.ytsaurus.yson_scalars import (
    BINARY,
    CONSTANTS,
    ScalarError,
    read_binary,
    read_number,
    unescaped,
)
from cede.model.errors import InputError, Problem, shown
from cede.model.garbage import collecting_no_garbage
from cede.model.values import DEEPEST
from cede.model.yaml_reading import place_after

MOST_VALUES = 5_000_000

_BLANK = frozenset((b" ", b"\t", b"\n", b"\r", b"\v", b"\f"))
_BLANKS = re.compile(rb"[ \t\n\r\v\f]*")
_TEXT = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_.\-]*")
_NUMBER = re.compile(rb"[+\-.0-9][0-9A-Za-z_.+\-]*")
_CONSTANT = re.compile(rb"%[+\-]?[A-Za-z]*")
_MARKS = re.compile(rb"[\x01-\x06]")
_KEY = rb'(?:"[^"\\]*(?:\\.[^"\\]*)*"|[A-Za-z_][A-Za-z0-9_.\-]*)'
_OPENING = re.compile(
    rb"""[ \t\n\r\v\f\[]*
    (?: <(?!<)
      | \{[ \t\n\r\v\f]*%(key)b[ \t\n\r\v\f]*=
      | (?<=\[)[ \t\n\r\v\f]*(?:%(key)b|[+\-.0-9a-z%%#]+)[ \t\n\r\v\f]*;
    )"""
    % {b"key": _KEY},
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Attributed:
    """A value, and the attributes that stand before it."""

    value: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)


def is_yson(data: bytes) -> bool:
    """Whether this is YSON that is neither JSON nor YAML: it has attributes, keys with `=`, or binary values."""
    return _OPENING.match(data) is not None or _MARKS.search(data) is not None


def read_yson(data: bytes, *, name: str = "<input>") -> object:
    """The value that the text stands for: dicts, lists, strings, numbers, booleans, None, and Attributed ones.

    An InputError says what is wrong and where, as `name:line:column`.
    """
    reader = _Reader(data, name)
    with collecting_no_garbage():
        found = reader.value(0)
        reader.end()
    return found


class _Reader:
    """Reads from left to right; `at` is the next byte."""

    __slots__ = ("at", "count", "data", "name")

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.at = 0
        self.count = 0

    def value(self, depth: int) -> Any:
        """The next value, with its attributes if it has any."""
        sign = self._next()
        if sign != b"<":
            return self._bare(sign, depth)
        attributes = self._pairs(b">", depth)
        bare = self._next()
        if bare == b"<":
            raise self._wrong("a value has its attributes once")
        return Attributed(self._bare(bare, depth), attributes)

    def end(self) -> None:
        if self._next():
            raise self._wrong("the value has ended, and more follows")

    def _bare(self, sign: bytes, depth: int) -> Any:
        self.count += 1
        if self.count > MOST_VALUES:
            raise self._wrong(f"more than {MOST_VALUES:,} values")
        if sign == b"{":
            return self._pairs(b"}", depth)
        if sign == b"[":
            return self._items(depth)
        if sign == b"#":
            self.at += 1
            return None
        if sign == b"%":
            return self._constant()
        if sign in BINARY and sign:
            return self._binary()
        if sign == b'"' or sign.isalpha() or sign == b"_":
            return self._string(sign)
        if (found := _NUMBER.match(self.data, self.at)) is not None:
            return self._number(found)
        raise self._wrong(
            "the text ends where a value should stand" if not sign else f"no value begins with {_shown(sign)}"
        )

    def _pairs(self, close: bytes, depth: int) -> dict[str, Any]:
        """Keys and values up to the closing sign."""
        found: dict[str, Any] = {}
        self._open(depth)
        while (sign := self._next()) != close:
            start = self.at
            key = self._key(sign, close)
            if key in found:
                raise self._wrong(f"the key {shown(key)} is given twice", start)
            if self._next() != b"=":
                raise self._wrong(f"a = should follow the key {shown(key)}")
            self.at += 1
            found[key] = self.value(depth + 1)
            self._separate(close)
        self.at += 1
        return found

    def _items(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._open(depth)
        while self._next() != b"]":
            found.append(self.value(depth + 1))
            self._separate(b"]")
        self.at += 1
        return found

    def _open(self, depth: int) -> None:
        if depth >= DEEPEST:
            raise self._wrong(f"nested more than {DEEPEST} deep")
        self.at += 1

    def _separate(self, close: bytes) -> None:
        sign = self._next()
        if sign == b";":
            self.at += 1
        elif sign != close:
            raise self._wrong(f"a ; or {close.decode()} should stand here")

    def _key(self, sign: bytes, close: bytes) -> str:
        if sign == b"\x01":
            return str(self._binary())
        if sign == b'"' or sign.isalpha() or sign == b"_":
            return self._string(sign)
        raise self._wrong(f"a key, which is text, or {close.decode()} should stand here")

    def _string(self, sign: bytes) -> str:
        start = self.at
        if sign != b'"':
            found = _WORD.match(self.data, start)
            if found is None:
                raise self._wrong("this is no text")
            self.at = found.end()
            return found[0].decode()
        found = _TEXT.match(self.data, start)
        if found is None:
            raise self._wrong("the quotes are not closed")
        self.at = found.end()
        return self._decoded(unescaped(found[1]), start)

    def _number(self, found: re.Match[bytes]) -> int | float:
        try:
            number = read_number(found[0].decode())
        except ScalarError as error:
            raise self._wrong(str(error)) from None
        self.at = found.end()
        return number

    def _constant(self) -> bool:
        found = _CONSTANT.match(self.data, self.at)
        word = b"" if found is None else found[0]
        if word not in CONSTANTS:
            if word.lower().lstrip(b"%+-") in (b"nan", b"inf"):
                raise self._wrong(f"{word.decode()} is no finite number, and has no place in a cluster file")
            raise self._wrong(f"{shown(word.decode())} is neither %true nor %false")
        self.at += len(word)
        return CONSTANTS[word]

    def _binary(self) -> Any:
        start = self.at
        try:
            value, self.at = read_binary(self.data, start)
        except ScalarError as error:
            raise self._wrong(str(error)) from None
        return self._decoded(value, start) if isinstance(value, bytes) else value

    def _decoded(self, raw: bytes, start: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self._wrong(f"byte 0x{raw[error.start]:02x} of this text is not UTF-8", start) from None

    def _next(self) -> bytes:
        """The next byte that is no blank; none at the end."""
        sign = self.data[self.at : self.at + 1]
        if sign not in _BLANK:
            return sign
        blanks = _BLANKS.match(self.data, self.at)
        if blanks is not None:
            self.at = blanks.end()
        return self.data[self.at : self.at + 1]

    def _wrong(self, message: str, at: int | None = None) -> InputError:
        before = self.data[: self.at if at is None else at].decode("utf-8", "replace")
        return InputError([Problem(place_after(before, self.name), message)])


def _shown(sign: bytes) -> str:
    text = sign.decode("ascii", "replace")
    return shown(text) if text.isascii() and text.isprintable() else f"byte 0x{sign[0]:02x}"
