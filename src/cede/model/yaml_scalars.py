"""What a scalar of a YAML file stands for: the core schema of YAML 1.2, no more."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from cede.model.errors import shown

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
    if found := _NOT_FINITE.fullmatch(text):
        return Decimal("NaN" if found[3] else f"{found[1]}Infinity")
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
