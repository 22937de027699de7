"""A cluster file as YAML that reads well: one line an entry where all of a section fit, else a line a key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cede.model.quantities import LARGEST, parse_quota, show_quantity
from cede.model.yaml_reading import plain_scalar

WIDTH = 120
AMOUNTS = ("capacity", "occupied", "guaranteed", "max", "borrowing_limit", "lending_limit", "requests", "usage")

_PLAIN = re.compile(r"[A-Za-z0-9_/](?:[A-Za-z0-9_./@+ -]*[A-Za-z0-9_./@+-])?")
_OTHER_READERS = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|[0-9][0-9a-f_.+txoz -]*")
"""What YAML 1.1 takes for a truth value, a number or a date: quoted, so that every reader sees text."""


def as_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML; reading it gives the same document."""
    return "".join(f"{line}\n" for key, value in document.items() for line in _section(key, value))


def with_units(value: Any, key: str = "") -> Any:
    """The same document with memory written as people do, 16Gi rather than 17179869184."""
    if isinstance(value, list):
        return [with_units(item) for item in value]
    if not isinstance(value, dict):
        return value
    if key in AMOUNTS:
        return {name: _short(name, amount) for name, amount in value.items()}
    return {name: item if name == "settings" else with_units(item, name) for name, item in value.items()}


def _short(name: str, amount: int | str) -> int | str:
    """As people write it; what is unlimited has no other way to be written than its number."""
    nano = parse_quota(amount)
    shown = show_quantity(name, nano)
    return amount if nano == LARGEST or shown == str(amount) else shown


def _section(key: str, value: Any) -> Iterator[str]:
    if not (isinstance(value, list) and value):
        yield from _pair(key, value, "")
        return
    yield f"{_scalar(key)}:"
    lines = [f"  - {_flow(entry)}" for entry in value]
    if all(len(line) <= WIDTH for line in lines):
        yield from lines
        return
    for entry in value:
        if isinstance(entry, dict) and entry:
            pairs = [line for name, item in entry.items() for line in _pair(name, item, "    ")]
            yield f"  - {pairs[0].lstrip()}"
            yield from pairs[1:]
        else:
            yield f"  - {_flow(entry)}"


def _pair(key: str, value: Any, indent: str) -> Iterator[str]:
    line = f"{indent}{_scalar(key)}: {_flow(value)}"
    if len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        yield line
        return
    yield f"{indent}{_scalar(key)}:"
    if isinstance(value, list):
        yield from (f"{indent}  - {_flow(item)}" for item in value)
    else:
        for name, item in value.items():
            yield from _pair(name, item, f"{indent}  ")


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_scalar(key)}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if _is_safe(value) else _quoted(value)
    return json.dumps(value)


def _is_safe(text: str) -> bool:
    """Whether the text may stand without quotes and is text to every reader."""
    return _PLAIN.fullmatch(text) is not None and _OTHER_READERS.fullmatch(text) is None and plain_scalar(text) == text


def _quoted(text: str) -> str:
    """In double quotes, with what is not printable written as YAML escapes."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
