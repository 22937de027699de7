"""The scalars of YSON: numbers as text, strings with escapes, and values in binary."""

from __future__ import annotations

import math
import re
import struct

from cede.model.errors import shown

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


def _unescape(found: re.Match[bytes]) -> bytes:
    octal, byte, short, long, other = found.groups()
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
