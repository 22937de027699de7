"""Runs the commands of a page: in this process, for starting one for each takes longer than all of them.

What a page may use of the shell is `echo TEXT | cede ...`, `cat FILE | cede ...` and `cede ... > FILE`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer
from typer.exceptions import TyperException

from cede.cli.main import app, main
from cede.engine.doctrine_files import forget_files
from docs.blocks import ROOT

WIDTH = 100
PLAIN = {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}


def prepared(folder: Path) -> Path:
    """A folder with the examples and an environment in it, as a reader has them."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def ran(line: str, folder: Path, **environment: str) -> tuple[int, str]:
    """The exit code of a command and all that it printed, without the blanks at the end of its lines."""
    stages, target = _parsed(line)
    with chdir(folder), patch.dict(os.environ, environment or PLAIN, clear=True):
        given = b""
        for words in stages[:-1]:
            given = _source(words)
        out, errors = BytesIO(), BytesIO()
        code = _cede(stages[-1], given, out, out if target is None else errors)
        if target is not None:
            Path(target).write_bytes(out.getvalue())
    return code, tidy((out if target is None else errors).getvalue().decode())


def _parsed(line: str) -> tuple[list[list[str]], str | None]:
    """The commands of a pipe, and the file that its output goes to."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    stages: list[list[str]] = [[]]
    words = list(lexer)
    target = None
    if len(words) > 1 and words[-2] == ">":
        target = words[-1]
        words = words[:-2]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    if any(not stage for stage in stages) or stages[-1][0] != "cede" or ">" in words:
        raise ValueError(f"this is more of a shell than the docs may use: {line!r}")
    return stages, target


def _source(words: Sequence[str]) -> bytes:
    if words[0] == "echo":
        return (" ".join(words[1:]) + "\n").encode()
    if words[0] == "cat":
        return b"".join(Path(name).read_bytes() for name in words[1:])
    raise ValueError(f"nobody knows how to run {words[0]!r}")


def _cede(words: Sequence[str], given: bytes, out: BytesIO, errors: BytesIO) -> int:
    """The command itself, with streams of its own."""
    stdin = TextIOWrapper(BytesIO(given), encoding="utf-8")
    stdout = TextIOWrapper(out, encoding="utf-8", write_through=True)
    stderr = TextIOWrapper(errors, encoding="utf-8", write_through=True)
    with patch.object(sys, "stdin", stdin), redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            code = main(words[1:])
        finally:
            forget_files()  # every command is a process of its own
    for stream in (stdout, stderr):
        stream.detach()  # else it would close what it wrote to
    return code


def parsed(words: Sequence[str]) -> tuple[int, str]:
    """0 if there is such a command with such arguments and options, else 2 with what is wrong; nothing is run."""
    command: Any = typer.main.get_command(app)
    above, name, left = None, "cede", list(words[1:])
    try:
        while True:
            above = command.make_context(name, left, parent=above)
            left = [*above._protected_args, *above.args] if hasattr(command, "commands") else []
            if not left:
                return 0, ""
            name, command, left = command.resolve_command(above, left)
    except TyperException as error:
        return 2, str(error)


def tidy(text: str) -> str:
    """The text as a page shows it: no blanks at the ends of lines, one line feed at the end."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def agrees(shown: str, printed: str) -> bool:
    """Whether what a page shows is what was printed; `...` on a line of its own stands for any lines."""
    wanted = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n" for line in tidy(shown).splitlines()
    )
    return re.fullmatch(wanted, printed) is not None
