"""How a member ended, as exit.json tells it."""

from __future__ import annotations

import signal
import time
from typing import Any

from . import ending, procfs


def outcome(**known: Any) -> dict[str, Any]:
    """What exit.json holds when nothing more is known than this."""
    unknown: dict[str, Any] = {"code": None, "signal": None, "told": False, "walltime": False, "lost": False}
    return {**unknown, "error": "", **moment(), **known}


def moment() -> dict[str, Any]:
    """This moment by the clocks of the machine: `at` is wall time, `elapsed` what nobody can set, within this boot."""
    return {"at": time.time_ns() // 1000, "elapsed": time.monotonic_ns() // 1000, "boot": procfs.boot()}


def end_remains(spec: dict[str, Any], began: dict[str, Any]) -> None:
    """Nothing is left of a member whose supervisor died; a process that merely has its pid is not touched.

    Processes of the member are those below its command, and those with its mark in their environment.
    """
    if began.get("boot") != procfs.boot():
        return
    mark = began.get("mark") or spec.get("mark")
    pause = 0.001
    while True:
        ending.kill_cgroup(spec.get("cgroups", []))
        found = procfs.marked(f"CEDE_MARK={mark}") if mark else []
        main = procfs.look(began.get("pid", 0))
        if main is not None and main.start == began.get("start") and main.state not in "ZX":
            found += [main, *procfs.below(main.pid)]
        if not found:
            ending.remove_cgroups(spec.get("cgroups", []))
            return
        for process in found:
            procfs.send(process, signal.SIGKILL)
        time.sleep(pause)
        pause = min(1.0, pause * 2)
