"""`make docs`: what the docs draw from the code, drawn anew; the output shown below commands, printed anew.

The same code gives the same bytes. Measurements are not repeated: reference/benchmarks.md is changed by hand.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from docs import drawn, drawn_api, drawn_limits, drawn_live, drawn_minimal, drawn_shares, drawn_sim
from docs.blocks import ROOT, Block, blocks_of, pages
from docs.make_images import live_pictures, pictures, stale_pictures
from docs.terminal import Terminal

WHOLE: dict[str, Callable[[], str]] = {
    "docs/reference/api.md": drawn_api.api_page,
    "docs/reference/cli.md": drawn.cli_page,
    "docs/reference/config.md": drawn_live.config_page,
    "docs/reference/limits.md": drawn_limits.limits_page,
    "docs/reference/metrics.md": drawn_live.metrics_page,
    "docs/reference/openapi.json": drawn_api.openapi,
    "docs/reference/rules.md": drawn.rules_page,
    "docs/reference/schema.json": drawn.schema,
}
MARKED: dict[str, Callable[[], Mapping[str, str]]] = {
    "docs/concepts/backendai.md": lambda: drawn.tables("backendai"),
    "docs/concepts/kubernetes.md": lambda: drawn.tables("kubernetes"),
    "docs/concepts/kueue.md": lambda: drawn.tables("kueue"),
    "docs/concepts/lattice.md": lambda: drawn.tables("lattice"),
    "docs/concepts/lifecycle.md": drawn_live.lifecycle,
    "docs/concepts/minimal.md": drawn_minimal.parts,
    "docs/concepts/preemption-sequence.md": drawn_live.times,
    "docs/concepts/ytsaurus.md": lambda: drawn.tables("ytsaurus"),
    "docs/concepts/yunikorn.md": lambda: drawn.tables("yunikorn"),
    "docs/reference/measures.md": drawn_sim.measures,
}


def generated() -> dict[str, str]:
    """Every file that is drawn, or has drawn parts, by its place in the source tree."""
    found = {place: draw() for place, draw in WHOLE.items()}
    for place, parts in MARKED.items():
        found[place] = filled((ROOT / place).read_text(encoding="utf-8"), parts())
    return found | pictures() | drawn_minimal.pictures()


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with each part between its markers: `<!-- drawn: NAME -->` and `<!-- end -->`."""
    for name, text in parts.items():
        begin, end = f"<!-- drawn: {name} -->", "<!-- end -->"
        if page.count(begin) != 1:
            raise ValueError(f"the marker {begin} must stand in the page once")
        pattern = re.compile(f"({re.escape(begin)}\n).*?(\n{re.escape(end)})", re.DOTALL)
        page = pattern.sub(lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}", page)  # type: ignore[misc]
    return page


def refreshed(page: str, terminal: Terminal) -> str:
    """The page with the real output below every command; what is shown in part stays as long as it holds."""
    result, at = "", 0
    for block in blocks_of(page):
        if block.language in ("yaml", "json") and block.name:
            (terminal.folder / block.name).write_text(block.body, encoding="utf-8")
        result += page[at : block.start] + _reprinted(block, terminal)
        at = block.end
    return result + page[at:]


def _reprinted(block: Block, terminal: Terminal) -> str:
    if not block.commands:
        return block.body
    parts: list[str] = []
    for command in block.commands:
        code, printed = terminal.outcome(command) if command.is_run else (command.code, "")
        if code != command.code:
            raise RuntimeError(f"{command.line!r} ended with {code}, not {command.code}; its page stays:\n{printed}")
        if command.shown is None or not command.is_run or terminal.agrees(command.shown, printed):
            printed = command.shown or ""
        parts.append(f"$ {command.line}\n{printed}")
    return "".join(parts) if block.language == "console" else block.body


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for place, text in generated().items():
        _write(place, text)
    for page in pages():
        with TemporaryDirectory() as folder, Terminal(Path(folder), patience_s=5.0) as terminal:
            text = refreshed(page.read_text(encoding="utf-8"), terminal)
        _write(page.relative_to(ROOT).as_posix(), text)
    if drawn_shares.stale_curves():
        for place, picture in drawn_shares.curves().items():
            (ROOT / place).write_bytes(picture)
            print(f"  wrote {place}")
    if stale_pictures():
        for place, text in live_pictures().items():
            _write(place, text)


def _write(place: str, text: str) -> None:
    path = ROOT / place
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"  wrote {place}")


if __name__ == "__main__":
    main()
