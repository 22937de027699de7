"""The fenced blocks of a page: the commands in them, and what is shown below each.

```console    `$ command` lines, each with its output right below; a line `...` stands for any number of lines
```sh         one command a line, output not shown
```sh parsed  the same, but it is only looked whether there is such a command with such options
```yaml NAME  the file NAME, which the commands after it read
```python     run as it stands
```mermaid    a picture, drawn by who shows the page
A command that ends in `# exit 2` is meant to end with that code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RUN = ("cede", "cat", "echo")
NOT_RUN = ("make", "git", "cd", "pip", "export", "curl", "sudo", "systemctl")
"""Commands that are known, and left alone: they set up the source tree, a shell or a machine."""

LEFT_ALONE = ("bench", "demo", "--install-completion")
"""Of `cede`: what takes long and never says the same twice, and what changes the files of a shell."""

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"\s+# exit ([0-9]+)$")
_IN_COMMENT = re.compile(r"^#\s+(cede .*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page; `shown` is the output below it, None where a page does not show any.

    `parsed`: it is not run, but it must be one that can be.
    """

    line: str
    shown: str | None = None
    parsed: bool = False

    @property
    def code(self) -> int:
        """The exit code it is meant to end with."""
        found = _EXIT.search(self.line)
        return int(found[1]) if found else 0

    @property
    def is_run(self) -> bool:
        """Whether a test may run it."""
        words = shlex.split(self.line, comments=True)
        if words[0] not in RUN + NOT_RUN:
            raise ValueError(f"nobody knows whether to run {self.line!r}: name it in RUN or NOT_RUN")
        return words[0] in RUN and not set(LEFT_ALONE) & set(words[:2])


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `start` and `end` are where its body lies in the page."""

    language: str
    name: str
    body: str
    start: int
    end: int

    @property
    def commands(self) -> list[Command]:
        """What the block would have a reader type."""
        if self.language == "sh":
            lines = self.body.splitlines()
            parsed = self.name == "parsed"
            return [Command(line, parsed=parsed) for line in lines if line.strip() and not line.startswith("#")]
        if self.language != "console":
            return []
        parts = re.split(r"^\$ ", self.body, flags=re.MULTILINE)
        if parts[0].strip():
            raise ValueError(f"a console block begins with something that is no command: {parts[0]!r}")
        split = (part.partition("\n") for part in parts[1:])
        return [Command(line, shown if shown.strip() else None) for line, _, shown in split]


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in _FENCE.finditer(text):
        language, _, name = found["info"].strip().partition(" ")
        yield Block(language, name.strip(), found["body"], found.start("body"), found.end("body"))


def serves(text: str) -> bool:
    """Whether a page starts a server."""
    commands = (command for block in blocks_of(text) for command in block.commands)
    return any(command.line.startswith("cede serve") and not command.parsed for command in commands)


def pages() -> list[Path]:
    """Every page whose commands must hold."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands_in_comments(text: str) -> list[Command]:
    """Commands that the comments of an example offer."""
    return [Command(line) for line in _IN_COMMENT.findall(text)]
