"""Printing: JSON as stable bytes, and text and tables that fit the terminal."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, cast

from cede.cli.failures import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

STYLES = {
    "start": "green",
    "preempt": "bold yellow",
    "wait": "cyan",
    "refuse": "bold red",
    "victim": "bold yellow",
    "protected": "cyan",
    "not-needed": "green",
    "not-eligible": "dim",
}
MOST_NAMES = 6
MOST_LETTERS = 400
BLANKS = re.compile(r" +(?=\n)")


def emit_json(value: object) -> None:
    """The value, indented, in UTF-8 whatever the terminal speaks: the same value gives the same bytes."""
    emit(as_json(value))


def as_json(value: object) -> str:
    """The value as indented text."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def emit(text: str) -> None:
    """Text to standard output, in UTF-8."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        buffer.write(text.encode())
        buffer.flush()


def console() -> Console:
    """Where tables are printed. Colour only on a terminal; NO_COLOR is honoured."""
    from rich.console import Console

    file = None if sys.stdout.isatty() else cast("IO[str]", Trimmed(sys.stdout))
    return Console(file=file, highlight=False, markup=False, emoji=False)


class Trimmed:
    """A stream that lines go to without the blanks that fill them up."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, lines: str) -> int:
        self._stream.write(BLANKS.sub("", lines))
        return len(lines)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def table(*columns: str | tuple[str, Mapping[str, object]]) -> Table:
    """An empty table without a frame; a column is its header, or that with what Rich may know about it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        header, how = (column, {}) if isinstance(column, str) else column
        made.add_column(header, **{"overflow": "fold", **how})  # type: ignore[arg-type]
    return made


def styled(word: str) -> Text:
    """A word that stands for an action or a verdict, in its colour."""
    return text(word, STYLES.get(word, ""))


def text(content: str, style: str = "", most: int | None = MOST_LETTERS) -> Text:
    """Text as it stands: no markup in it, nothing a terminal would act on, and not without end unless asked for."""
    from rich.text import Text

    return Text(printable(content if most is None else cut(content, most)), style)


def cut(content: str, most: int = MOST_LETTERS) -> str:
    """At most `most` letters, cut after a word if one ends in the last tenth."""
    if len(content) <= most:
        return content
    kept = content[: most - 3]
    end = kept.rfind(" ", most - most // 10)
    return f"{kept if end < 0 else kept[:end]}..."


def lines(*parts: Text) -> Text:
    """The parts below each other."""
    from rich.text import Text

    return Text("\n").join(parts)


def counted(names: Iterable[str]) -> str:
    """Names with how often each comes, the first few of them."""
    counts = Counter(names)
    return listed([name if times == 1 else f"{name} ×{times}" for name, times in counts.items()])


def listed(names: Sequence[str], separator: str = ", ") -> str:
    """The first few names, and how many more there are."""
    if len(names) <= MOST_NAMES:
        return separator.join(names)
    return f"{separator.join(names[:MOST_NAMES])}{separator}and {len(names) - MOST_NAMES} more"


def number(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def condition_in_words(kind: str, why: str, at: str = "") -> str:
    """One condition that could end a wait: its kind, what would have to be, and the date, if time alone brings it."""
    return f"{kind}: {why}{f', at {at}' if 'T' in at else ''}"
