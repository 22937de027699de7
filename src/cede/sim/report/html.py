"""HTML put together so that text cannot become markup: whatever is not Markup is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files

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


def prose(text: str) -> Markup:
    """Text in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return join(text)
    return join(*(element("code", part) if place % 2 else part for place, part in enumerate(parts)))


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


FOOTER = "Made by cede. This page is complete in itself and loads nothing."


def document(title: str, script: str, *body: str, style: str = "", plotly: bool = False) -> str:
    """The whole page. `style` comes after that of the report; with `plotly` the script draws with it."""
    scripts = [script]
    if plotly:
        # The one bundle that the package carries; its licence is in its first lines, which stay.
        scripts.insert(0, files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8"))
    common = files("cede.sim.report").joinpath("report.css").read_text(encoding="utf-8")
    head = join(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(common + style)),
    )
    inside = join(*body, *(element("script", Markup(one)) for one in scripts))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{inside}</body></html>\n'


def _policy(scripts: list[str]) -> str:
    """Only these scripts run, and nothing is fetched, whatever the page may hold."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"
