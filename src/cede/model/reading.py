"""The text of a file, JSON or YAML, as plain data."""

from __future__ import annotations

import re

import jiter

from cede.model.errors import InputError, Problem
from cede.model.garbage import collecting_no_garbage
from cede.model.yaml_reading import is_kubernetes_object, place_after, read_yaml

__all__ = ["is_kubernetes_object", "read_text", "read_value"]

# A quoted key after the first brace is JSON. Other beginnings are as JSON has them, but YAML may have them too.
_JSON = re.compile(r"\s*(\{\s*[\"}]|\[\s*[\"{\[\]])")
_SURELY_JSON = re.compile(r"[\s\[]*\{\s*\"")
_AT = re.compile(r"(.*) at line ([0-9]+) column ([0-9]+)", re.DOTALL)
_NO_NUMBER = re.compile(r"[-+]?(nan|infinity|inf)\b", re.IGNORECASE)
_BARE_KEY = "key must be a string"
_MARK = re.compile(r"^---\s*$", re.MULTILINE)
"""What parts the documents of a YAML file, of which each may be JSON."""


def read_text(data: bytes | str, *, name: str = "<input>") -> object:
    """The dicts, lists, strings, numbers, booleans and nulls that the text stands for; decimals are Decimals.

    An InputError says what is wrong and where, as `name:line:column`. A number in YAML may be infinite, or none at all.
    """
    text = _decoded(data, name)
    with collecting_no_garbage():
        return _read_either(text, name) if _JSON.match(text) else read_yaml(text, name)


def read_value(data: bytes | str, *, name: str = "<input>", keys_as_text: bool = False) -> object:
    """The same for a text that is YAML, as what is typed by hand; `keys_as_text`: keys may be numbers, and are text."""
    return read_yaml(_decoded(data, name), name, keys_as_text=keys_as_text)


def _read_either(text: str, name: str) -> object:
    """What the text is in JSON, or else in YAML, which has lists and objects that look alike: `[{name: x}]`."""
    try:
        return _read_json(text, name)
    except InputError as error:
        surely = _SURELY_JSON.match(text) is not None and _MARK.search(text) is None
        if surely and error.problems[0].message != _BARE_KEY:
            raise
        try:
            return read_yaml(text, name)
        except InputError:
            if surely:
                raise error from None
            raise


def _decoded(data: bytes | str, name: str) -> str:
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
        text.encode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise InputError([Problem(place_after(before, name), message, "save the file as UTF-8")]) from None
    except UnicodeEncodeError as error:
        raise InputError(
            [Problem(place_after(error.object[: error.start], name), "half a character is not text")]
        ) from None
    if "\0" in text:
        raise InputError([Problem(place_after(text[: text.index("\0")], name), "a NUL byte is not text")])
    if not text.strip():
        raise InputError([Problem(name, "the file is empty")])
    return text


def _read_json(text: str, name: str) -> object:
    try:
        return jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False, float_mode="decimal")
    except ValueError as error:
        match = _AT.fullmatch(str(error))
        if match is None:
            raise InputError([Problem(name, _in_our_words(str(error)))]) from None
        line, column = int(match[2]), int(match[3])
        if number := _no_number(text, line, column):
            column, message = number.start() + 1, f"{number[0]} is no JSON number; JSON has finite numbers only"
        else:
            message = _in_our_words(match[1])
        raise InputError([Problem(f"{name}:{line}:{column}", message)]) from None


def _no_number(text: str, line: int, column: int) -> re.Match[str] | None:
    """The NaN or Infinity at whose first or second character the reading stopped."""
    at = text.split("\n", line)[line - 1]
    before = len(at.encode()[: column - 1].decode(errors="ignore"))
    return next((n for start in (before - 1, before) if start >= 0 and (n := _NO_NUMBER.match(at, start))), None)


def _in_our_words(message: str) -> str:
    if message.startswith("Detected duplicate key "):
        return f"the key {message.removeprefix('Detected duplicate key ')} is given twice"
    if message.startswith(("Internal error", "number out of range")):
        return "the number is too large"
    if message.startswith("recursion limit"):
        return "nested too deep"
    return message if message.isprintable() else "this is no JSON"
