"""The scalars of YSON: numbers as text, strings with escapes, and values in binary."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.model.errors import InputError, Problem, shown
from cede.model.garbage import collecting_no_garbage
from cede.model.values import DEEPEST
from cede.model.yaml_reading import place_after

CONSTANTS = {b"%true": True, b"%false": False}
BINARY = b"\x01\x02\x03\x04\x05\x06"
"""What a string, int64, double, false, true and uint64 in binary begin with."""
INT64 = range(-(2**63), 2**63)
UINT64 = range(2**64)

_INTEGER = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"\+?[0-9]+u")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_DIGITS = 25
_MOST_VARINT_BYTES = 10
_ESCAPE = re.compile(
    rb"\\(?:([0-3][0-7]{0,2}|[4-7][0-7]?)|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL
)
_SHORT = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class ScalarError(ValueError):
    """A scalar that cannot be read; the message says why."""


def read_number(text: str) -> int | float:
    """An int64, a uint64 as `5u`, or a double as `5.`."""
    if len(text) <= _MOST_DIGITS:
        if _INTEGER.fullmatch(text) is not None:
            return _within(int(text), INT64, "64 bits")
        if _UNSIGNED.fullmatch(text) is not None:
            return _within(int(text[:-1]), UINT64, "64 bits without a sign")
    elif text.removesuffix("u").lstrip("+-").isdigit():
        raise ScalarError(f"{shown(text)} is no whole number of 64 bits")
    if _DOUBLE.fullmatch(text) is None:
        raise ScalarError(f"{shown(text)} is no number")
    return _finite(float(text), text)


def unescaped(raw: bytes) -> bytes:
    """What a text between quotes stands for. As in YTsaurus, a \\ before any other character means that character."""
    return _ESCAPE.sub(_unescape, raw) if b"\\" in raw else raw


def read_binary(data: bytes, at: int) -> tuple[bytes | int | float | bool, int]:
    """The value whose marker stands there, and where it ends."""
    mark = data[at]
    at += 1
    if mark == 1:
        zigzag, at = _varint(data, at)
        length = _signed(zigzag)
        if not 0 <= length <= len(data) - at:
            raise ScalarError(f"a text of {length} bytes does not fit into the file")
        return data[at : at + length], at + length
    if mark == 2:
        zigzag, at = _varint(data, at)
        return _signed(zigzag), at
    if mark == 3:
        if len(data) < at + 8:
            raise ScalarError("the file ends within a number")
        return _finite(struct.unpack_from("<d", data, at)[0]), at + 8
    if mark == 6:
        return _varint(data, at)
    return mark == 5, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that the bytes from there on make, seven bits each, the lowest first."""
    number = 0
    for index, byte in enumerate(data[at : at + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return _within(number, UINT64, "64 bits"), at + index + 1
    raise ScalarError(
        "the file ends within a number" if len(data) - at < _MOST_VARINT_BYTES else "a number without an end"
    )


def _signed(zigzag: int) -> int:
    return (zigzag >> 1) ^ -(zigzag & 1)


def _within(number: int, bounds: range, size: str) -> int:
    if number not in bounds:
        raise ScalarError(f"{number} is no whole number of {size}")
    return number


def _finite(number: float, text: str | None = None) -> float:
    if not math.isfinite(number):
        what = "this" if text is None else shown(text)
        raise ScalarError(f"{what} is no finite number, and has no place in a cluster file")
    return number


def _unescape(match: re.Match[bytes]) -> bytes:
    octal, byte, short, long, other = match.groups()
    if octal is not None:
        return bytes([int(octal, 8)])
    if byte is not None:
        return bytes([int(byte, 16)])
    if other is not None:
        return _SHORT.get(other, other)
    code = int(short or long, 16)
    try:
        return chr(code).encode()
    except (ValueError, OverflowError):
        return b"\xff"  # no character at all, which whoever decodes the text will say


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
        value = reader.value(0)
        reader.end()
    return value


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
        if (match := _NUMBER.match(self.data, self.at)) is not None:
            return self._number(match)
        raise self._wrong(
            "the text ends where a value should stand" if not sign else f"no value begins with {_shown(sign)}"
        )

    def _pairs(self, close: bytes, depth: int) -> dict[str, Any]:
        """Keys and values up to the closing sign."""
        pairs: dict[str, Any] = {}
        self._open(depth)
        while (sign := self._next()) != close:
            start = self.at
            key = self._key(sign, close)
            if key in pairs:
                raise self._wrong(f"the key {shown(key)} is given twice", start)
            if self._next() != b"=":
                raise self._wrong(f"a = should follow the key {shown(key)}")
            self.at += 1
            pairs[key] = self.value(depth + 1)
            self._separate(close)
        self.at += 1
        return pairs

    def _items(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self._open(depth)
        while self._next() != b"]":
            items.append(self.value(depth + 1))
            self._separate(b"]")
        self.at += 1
        return items

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
            match = _WORD.match(self.data, start)
            if match is None:
                raise self._wrong("this is no text")
            self.at = match.end()
            return match[0].decode()
        match = _TEXT.match(self.data, start)
        if match is None:
            raise self._wrong("the quotes are not closed")
        self.at = match.end()
        return self._decoded(unescaped(match[1]), start)

    def _number(self, match: re.Match[bytes]) -> int | float:
        try:
            number = read_number(match[0].decode())
        except ScalarError as error:
            raise self._wrong(str(error)) from None
        self.at = match.end()
        return number

    def _constant(self) -> bool:
        match = _CONSTANT.match(self.data, self.at)
        word = b"" if match is None else match[0]
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
