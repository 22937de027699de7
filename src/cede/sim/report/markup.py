"""HTML put together so that text cannot become markup: whatever is not Markup is escaped."""

from __future__ import annotations

import json
from html import escape

VOID = frozenset({"br", "meta", "col"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str | int | float | bool | None) -> Markup:
    """An element with these children; an attribute that is None or False is left out, one that is True has no value.

    Underscores in names of attributes stand for hyphens, and one at the end for nothing: `class_`, `data_run`.
    """
    opening = tag + "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """The children one after the other."""
    return Markup("".join(child if isinstance(child, Markup) else escape(child) for child in children))


def data(value: object, identifier: str) -> Markup:
    """The value as JSON inside the page. No byte of it can end the element it stands in."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{escape(identifier)}">{text}</script>')


def hidden(text: str) -> Markup:
    """Said by a screen reader, not shown."""
    return element("span", text, class_="said")


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
