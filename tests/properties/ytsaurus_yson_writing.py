"""Values as YSON, text and binary."""

import re
import struct
from typing import Any

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")


def as_text(value: Any) -> bytes:
    """Written as text, words without quotes where that may be."""
    match value:
        case None:
            return b"#"
        case bool():
            return b"%true" if value else b"%false"
        case int():
            return f"{value}u".encode() if value >= 2**63 else str(value).encode()
        case float():
            return repr(value).encode()
        case str():
            return value.encode() if WORD.fullmatch(value) else quoted(value)
        case list():
            return b"[" + b" ;\n".join(map(as_text, value)) + b"]"
        case dict():
            return b"{" + b"".join(as_text(key) + b" = " + as_text(item) + b";" for key, item in value.items()) + b"}"
    return b"<" + as_text(value.attributes)[1:-1] + b">" + as_text(value.value)


def quoted(text: str) -> bytes:
    plain = (bytes([b]) if 0x20 <= b < 0x7F and b not in b'"\\' else b"\\x%02x" % b for b in text.encode())
    return b'"' + b"".join(plain) + b'"'


def as_binary(value: Any) -> bytes:
    match value:
        case None:
            return b"#"
        case bool():
            return b"\x05" if value else b"\x04"
        case int():
            return b"\x06" + varint(value) if value >= 2**63 else b"\x02" + zigzag(value)
        case float():
            return b"\x03" + struct.pack("<d", value)
        case str():
            return b"\x01" + zigzag(len(value.encode())) + value.encode()
        case list():
            return b"[" + b";".join(map(as_binary, value)) + b"]"
        case dict():
            return b"{" + b";".join(as_binary(key) + b"=" + as_binary(item) for key, item in value.items()) + b"}"
    return b"<" + as_binary(value.attributes)[1:-1] + b">" + as_binary(value.value)


def zigzag(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def varint(number: int) -> bytes:
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
