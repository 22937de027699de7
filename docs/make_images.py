"""The pictures of the docs: real commands, run, and drawn as a terminal shows them."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from docs.blocks import ROOT
from docs.commands import WIDTH, prepared, ran

PICTURES = {"docs/images/plan.svg": "cede plan examples/threshold.yaml --explain"}

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

_TEXT = re.compile(r'<text ([^>]*)x="([0-9.]+)"([^>]*)textLength="[0-9.]+"([^>]*)>([^<]*)</text>')


def pictures() -> dict[str, str]:
    """Each picture by its place in the source tree."""
    return {place: picture(command, Path(place).stem) for place, command in PICTURES.items()}


def picture(command: str, name: str) -> str:
    """What a terminal shows after the command, as SVG; the same output gives the same bytes."""
    with TemporaryDirectory() as folder:
        colours = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        code, printed = ran(command, prepared(Path(folder)), **colours)
    if code:
        raise RuntimeError(f"{command!r} ended with {code}:\n{printed}")
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(Text.assemble(("$ ", "green"), (command, "bold")))
    console.print(Text.from_ansi(printed))
    drawn = console.export_svg(title="", code_format=FRAME, unique_id=f"cede-{name}")
    return "\n".join(line.rstrip() for line in _TEXT.sub(_each_where_it_stands, drawn).splitlines()) + "\n"


def _each_where_it_stands(found: re.Match[str]) -> str:
    """A piece of text as its parts between wide gaps, each with its own place, whatever a viewer does with blanks."""
    before, x, between, after, text = found.groups()
    parts: list[str] = []
    at = 0
    for piece in re.split(f"((?:{BLANK}){{2,}})", text.replace("\n", "")):
        length = len(html.unescape(piece))
        if piece.replace(BLANK, ""):
            place, wide = float(x) + at * LETTER, length * LETTER
            parts.append(f'<text {before}x="{place:g}"{between}textLength="{wide:g}"{after}>{piece}</text>')
        at += length
    return "\n".join(parts)


def main() -> None:
    for place, drawn in pictures().items():
        (ROOT / place).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
