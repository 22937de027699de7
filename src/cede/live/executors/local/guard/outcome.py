"""How a member ended, as exit.json tells it."""

from __future__ import annotations

import signal
import time
from typing import Any

from . import ending, files, procfs

CANCEL = "cancel"
ENDINGS = ("end", "kill")
"""Orders that end a member, as their files are called."""


def ordered_cause(folder: str) -> str | None:
    """Why this member is to end, by the orders that lie in its folder; none if none does.

    A cancelled member is cancelled, whatever it was told to end for before.
    """
    orders = [files.get(folder, f"{kind}.json") for kind in ENDINGS]
    causes = [order.get("cause", "") for order in orders if order is not None]
    return CANCEL if CANCEL in causes else causes[0] if causes else None


def outcome(**known: Any) -> dict[str, Any]:
    """What exit.json holds when nothing more is known than this."""
    unknown: dict[str, Any] = {"code": None, "signal": None, "told": False, "walltime": False, "lost": False}
    return {**unknown, "cause": "", "error": "", **moment(), **known}


def moment() -> dict[str, Any]:
    """This moment in microseconds: `at` of the wall clock, which may be set, and `elapsed` within this `boot`."""
    return {"at": time.time_ns() // 1000, "elapsed": time.monotonic_ns() // 1000, "boot": procfs.boot()}


def remains(spec: dict[str, Any], began: dict[str, Any]) -> list[procfs.Process]:
    """What is left of a member, as far as it can be told for its own."""
    mark = began.get("mark") or spec.get("mark")
    processes = procfs.marked(f"CEDE_MARK={mark}") if mark else []
    processes += ending.members(spec.get("cgroups", []))
    pid, start = began.get("pid", 0), began.get("start", 0)
    main = procfs.look(pid)
    if main is not None and main.start == start and main.state not in "ZX":
        processes += [main, *procfs.below(main.pid)]
    if pid and (main is None or main.start == start):
        # While anybody is in a session its number is given to no other process: so these are of the command's.
        processes += procfs.session(pid, start)
    return list({process.pid: process for process in processes}.values())


def gave_way(hint: int) -> dict[str, Any]:
    """What said.json holds of a member that has just answered this hint, which asked it to leave."""
    return {"gave_way": hint, "answered": moment()}


def end_remains(spec: dict[str, Any], began: dict[str, Any]) -> None:
    """Nothing is left of a member whose supervisor died; a process that merely has its pid is not touched.

    Processes of the member are those in its control groups, those below its command or in the session that it
    began, and those with its mark in their environment. What left all of these was below the supervisor, and went to
    the zygote when that died: it ends them.
    """
    if began.get("boot") != procfs.boot():
        return
    pause = 0.001
    while True:
        ending.kill_cgroup(spec.get("cgroups", []))
        processes = remains(spec, began)
        if not processes:
            ending.remove_cgroups(spec.get("cgroups", []))
            return
        for process in processes:
            procfs.send(process, signal.SIGKILL)
        time.sleep(pause)
        pause = min(1.0, pause * 2)
