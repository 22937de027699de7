"""The pictures of the docs: real commands, run, and drawn as a terminal shows them.

Those of a running server are never the same twice. They are drawn anew only if they no longer show what a page shows.
"""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from docs.blocks import ROOT, Command, blocks_of
from docs.commands import WIDTH, prepared, ran
from docs.terminal import Terminal
from docs.varying import alike

PICTURES = {"docs/images/plan.svg": "cede plan examples/threshold.yaml --explain"}
LIVE_PAGE = "docs/guides/live.md"
LIVE_PICTURES = {"docs/images/why.svg": "cede why train"}
"""Commands of the page about running work, after those that stand before them there."""

COLOURS = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}

FRAME = """\
<svg class="terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
  <style>
    .{unique_id}-matrix {{
      font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
      font-size: {char_height}px;
      line-height: {line_height}px;
      font-variant-east-asian: full-width;
    }}
    .{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
  </style>
  <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
{lines}
  </defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
{matrix}
    </g>
  </g>
</svg>
"""
"""Rich's own frame fetches a font from elsewhere, which a page that shows the picture may not do."""

BLANK = "&#160;"
LETTER = 12.2
"""How wide Rich takes a letter to be."""

_WORDS = re.compile(r"<text [^>]*>([^<]*)</text>")
_TEXT = re.compile(r'<text ([^>]*)x="([0-9.]+)"([^>]*)textLength="[0-9.]+"([^>]*)>([^<]*)</text>')


def pictures() -> dict[str, str]:
    """Each picture by its place in the source tree."""
    return {place: picture(command, Path(place).stem) for place, command in PICTURES.items()}


def picture(command: str, name: str) -> str:
    """What a terminal shows after the command, as SVG; the same output gives the same bytes."""
    with TemporaryDirectory() as folder:
        code, printed = ran(command, prepared(Path(folder)), **COLOURS)
    if code:
        raise RuntimeError(f"{command!r} ended with {code}:\n{printed}")
    return drawn(command, printed, name)


def drawn(command: str, printed: str, name: str) -> str:
    """A terminal with the command and what it printed, as SVG."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(Text.assemble(("$ ", "green"), (command, "bold")))
    console.print(Text.from_ansi(printed))
    made = console.export_svg(title="", code_format=FRAME, unique_id=f"cede-{name}")
    return "\n".join(line.rstrip() for line in _TEXT.sub(_each_where_it_stands, made).splitlines()) + "\n"


def stale_pictures() -> list[str]:
    """Pictures of a running server that do not show what the page about it shows."""
    return [place for place, command in LIVE_PICTURES.items() if not alike(_on_page(command), words_of(ROOT / place))]


def words_of(place: Path) -> str:
    """What is written in a picture below its command."""
    if not place.exists():
        return ""
    pieces = _WORDS.findall(place.read_text(encoding="utf-8"))
    lines = " ".join(html.unescape(piece).replace("\N{NO-BREAK SPACE}", " ").strip() for piece in pieces)
    return lines.removeprefix("$ ").removeprefix(LIVE_PICTURES[place.relative_to(ROOT).as_posix()])


def _on_page(command: str) -> str:
    return next(one.shown or "" for one in _commands() if one.line == command)


def _commands() -> list[Command]:
    page = (ROOT / LIVE_PAGE).read_text(encoding="utf-8")
    return [command for block in blocks_of(page) for command in block.commands]


def live_pictures() -> dict[str, str]:
    """The pictures of a running server, from a run of the page."""
    found: dict[str, str] = {}
    with TemporaryDirectory() as folder, Terminal(Path(folder)) as terminal:
        for command in _commands():
            if len(found) == len(LIVE_PICTURES):
                break
            terminal.outcome(command)
            for place in [place for place, line in LIVE_PICTURES.items() if line == command.line]:
                found[place] = drawn(command.line, terminal.coloured(command.line, COLOURS), Path(place).stem)
    return found


def _each_where_it_stands(found: re.Match[str]) -> str:
    """A piece of text as its parts between wide gaps, each with its own place, whatever a viewer does with blanks."""
    before, x, between, after, text = found.groups()
    parts: list[str] = []
    at = 0
    for piece in re.split(f"((?:{BLANK}){{2,}}|^{BLANK}|{BLANK}$)", text.replace("\n", "")):
        length = len(html.unescape(piece))
        if piece.replace(BLANK, ""):
            place, wide = float(x) + at * LETTER, length * LETTER
            parts.append(f'<text {before}x="{place:g}"{between}textLength="{wide:g}"{after}>{piece}</text>')
        at += length
    return "\n".join(parts)


def main() -> None:
    for place, made in (pictures() | live_pictures()).items():
        (ROOT / place).write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
