"""The text of a file, JSON or YAML, as plain data."""

from __future__ import annotations

import re

import jiter

from cede.model.errors import InputError, Problem
from cede.model.garbage import collecting_no_garbage
from cede.model.yaml_reading import place_after, read_yaml

# YAML may begin with a brace too, but then hardly with a quoted key or a nested bracket.
_JSON = re.compile(r"\s*(\{\s*[\"}]|\[\s*[\"{\[\]])")
_AT = re.compile(r"(.*) at line ([0-9]+) column ([0-9]+)", re.DOTALL)


def read_text(data: bytes | str, *, name: str = "<input>") -> object:
    """The dicts, lists, strings, numbers, booleans and nulls that the text stands for; decimals are Decimals.

    An InputError says what is wrong and where, as `name:line:column`.
    """
    text = _decoded(data, name)
    if not text.strip():
        raise InputError([Problem(name, "the file is empty")])
    with collecting_no_garbage():
        return _read_json(text, name) if _JSON.match(text) else read_yaml(text, name)


def _decoded(data: bytes | str, name: str) -> str:
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
        text.encode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise InputError([Problem(place_after(before, name), found, "save the file as UTF-8")]) from None
    except UnicodeEncodeError as error:
        raise InputError(
            [Problem(place_after(error.object[: error.start], name), "half a character is not text")]
        ) from None
    if "\0" in text:
        raise InputError([Problem(place_after(text[: text.index("\0")], name), "a NUL byte is not text")])
    return text


def _read_json(text: str, name: str) -> object:
    try:
        return jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False, float_mode="decimal")
    except ValueError as error:
        found = _AT.fullmatch(str(error))
        message, place = (found[1], f"{name}:{found[2]}:{found[3]}") if found else (str(error), name)
        raise InputError([Problem(place, _in_our_words(message))]) from None


def _in_our_words(message: str) -> str:
    if message.startswith("Detected duplicate key "):
        return f"the key {message.removeprefix('Detected duplicate key ')} is given twice"
    if message.startswith(("Internal error", "number out of range")):
        return "the number is too large"
    if message.startswith("recursion limit"):
        return "nested too deep"
    return message if message.isprintable() else "this is no JSON"
