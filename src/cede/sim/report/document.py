"""A page that is complete in itself: its style and its scripts inside it, and nothing fetched."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from cede.sim.report.markup import Markup, element, join

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
