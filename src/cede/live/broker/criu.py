"""Whether CRIU (criu.org) works here: it dumps processes and brings them back without the application's help."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache

from cede.live.executors.local.guard.dumps import PROGRAM_PATH

CHECK_S = 10.0

_ERROR = re.compile(r"^(?:\([0-9.]+\) )?Error \([^)]*\): (.*)$", re.MULTILINE)


def works(path: str = PROGRAM_PATH) -> tuple[bool, str]:
    """Whether processes can be dumped on this machine; if not, why, in a sentence. A program is asked only once."""
    program = shutil.which("criu", path=path)
    if program is None:
        return False, "criu is not installed"
    if os.geteuid() != 0:
        return False, "only a server that runs as root can dump processes with criu"
    return _checked(program)


@cache
def _checked(program: str) -> tuple[bool, str]:
    try:
        done = subprocess.run(
            [program, "check"], capture_output=True, text=True, errors="replace", timeout=CHECK_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"criu check did not end within {CHECK_S:g} s"
    except OSError as error:
        return False, f"criu cannot be started: {error.strerror}"
    if done.returncode == 0:
        return True, ""
    errors = _ERROR.findall(done.stdout + done.stderr)
    return False, f"criu check says: {errors[-1].strip() if errors else f'exit {done.returncode}'}"
