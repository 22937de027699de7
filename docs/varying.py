"""What differs from run to run in the output of a server: places, times, secrets; and what is the same but for that."""

from __future__ import annotations

import re
from pathlib import Path

USER = "ann"
DATA = f"/home/{USER}/.local/state/cede"
FOLDER = f"/home/{USER}/cede"
TOKEN = "cede_q8f0Zk3rXW4nB1tYvS6mJ2hLpD7aGcUe5oTiRxKw9Ns"

_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
_TOKEN = re.compile(r"cede_[A-Za-z0-9_-]{43}")
_RIGHTS = re.compile(rf"jobs of {USER} as \w+; others cannot submit")
_AS = re.compile(r"^runs as +root\n", re.MULTILINE)

_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "MOMENT"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?\b"), "CLOCK"),
    (re.compile(r"\+\d+\.\d+ s\b"), "PASSED"),
    (re.compile(r"\d+(\.\d+)?(m\d\d)?m?s of work\b"), "SPAN of work"),
    # Times that are set are whole, and are told after these words.
    (re.compile(r"(?<!with )(?<!within )(?<![\w.])\d+(\.\d+)?(m\d\d)?m?s\b"), "SPAN"),
    (re.compile(r"\bcosts \d+(\.\d+)? s\b"), "costs SPAN"),
    (re.compile(r"(settings|file|hash) [0-9a-f]{8,64}\b"), r"\1 HASH"),
    (re.compile(r"(saved|from) \d+"), r"\1 COUNT"),
)


def as_a_reader_has_it(printed: str, data: Path, folder: Path) -> str:
    """The text with the places, the address and the rights of somebody who runs it at home."""
    text = printed.replace(str(data), DATA).replace(str(folder), FOLDER)
    text = _AS.sub("", _TOKEN.sub(TOKEN, _PORT.sub("8642", text)))
    return _RIGHTS.sub(f"everything runs as {USER}", text)


def alike(shown: str, printed: str) -> bool:
    """Whether the page shows what was printed, but for times and how lines are broken because of them.

    `...` on a line of its own stands for any lines, and `…` for the rest of what was cut off.
    """
    parts = [_plain(part) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    patterns = [rf"(?<!\S){re.escape(part).replace('…', '.*?')}(?!\S)" if part else "" for part in parts]
    return re.fullmatch(".*?".join(patterns), _plain(printed)) is not None


def _plain(text: str) -> str:
    """The words of the text, one blank between them, with a name for each that varies."""
    text = " ".join(re.sub("─+", "─", text).split())
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text
