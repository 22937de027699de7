"""Calling `cede`: as a process, as users do, or in this one, which is faster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cede.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"
CEDE = Path(sys.executable).with_name("cede")
COLOURS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CEDE_DEBUG")


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """The environment without what would change how things are printed."""
    return {key: value for key, value in os.environ.items() if key not in COLOURS} | more


def cede(*arguments: str | Path, given: bytes = b"", **env: str) -> Ran:
    """Run the real command."""
    command = [str(CEDE), *map(str, arguments)]
    ran = subprocess.run(command, input=given, capture_output=True, env=environment(**env), check=False, timeout=300)
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    """The same within this process."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Ran(code, captured.out, captured.err)
