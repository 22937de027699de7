"""Control groups of version 2, as far as this machine lets us make them, which is tried out.

Each member has one, so that nothing of it gets lost; controllers keep it to what it asked for where they can be had.

Version 1 is left alone: to join one of its groups takes a process several milliseconds.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CONTROLLERS = ("cpu", "memory", "pids")
LACKS = {
    "cpu": "jobs are not kept to their share of the cores",
    "memory": "jobs are not kept to the memory they asked for",
    "pids": "jobs are not kept from starting processes without end",
}


@dataclass(slots=True)
class Cgroups:
    """`groups` holds for each controller that works the group under which ours are made."""

    groups: dict[str, Path] = field(default_factory=dict)
    parent: Path | None = None
    """Where a group can be made for each member; none if nowhere."""
    home: Path | None = None
    """The server's own group."""

    def make(self, member: str, cpu: float | None, memory: int | None) -> dict[Path, Path]:
        """The control group that a member's command is to join, with the one that this server itself is in; none if
        none can be made."""
        if self.parent is None or self.home is None:
            return {}
        group = self.parent / member
        self._make(self.parent, group)
        for controller in self.groups if cpu is not None or memory is not None else ():
            for name, value in _settings(controller, cpu, memory).items():
                (group / name).write_text(value)
        return {group: self.home}

    def _make(self, parent: Path, group: Path) -> None:
        """The group is there. A supervisor that removes the last one removes the parent with it, even while we look."""
        for last in (False,) * 20 + (True,):
            try:
                parent.mkdir(exist_ok=True)
                if self.groups:
                    (parent / "cgroup.subtree_control").write_text(_switch(self.groups))
                group.mkdir(exist_ok=True)
            except (FileNotFoundError, FileExistsError):
                if last:
                    raise
            else:
                return

    def notices(self) -> list[str]:
        lacking = [controller for controller in CONTROLLERS if controller not in self.groups]
        if lacking == list(CONTROLLERS):
            notices = [
                "jobs are not kept to what they asked for: no controller of control groups of version 2 can be had here"
            ]
            if self.parent is None:
                notices.append(
                    "a job that kills its supervisor may leave processes behind: no control group can be made"
                )
            return notices
        return [f"{LACKS[name]}: no control group with the controller {name} can be made here" for name in lacking]

    def close(self) -> None:
        """The groups under which ours are made are gone, if nothing runs there."""
        if self.parent is not None:
            with suppress(OSError):
                self.parent.rmdir()


def find_cgroups(data: Path) -> Cgroups:
    """What works here, for the server of this data directory."""
    ours = f"cede-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}"
    limits = Cgroups()
    own, mounts = _own_groups(), _mounts()
    if "" in own and "" in mounts:
        parent = _below(mounts[""], own[""])
        for controller in _enable(parent, parent / ours):
            if _works(parent / ours, controller):
                limits.groups[controller] = parent / ours
        own = _own_groups()  # once more: we may have gone one down
        home = mounts[""] / own[""].lstrip("/")
        if limits.groups or (_works(parent / ours) and _takes_us(home)):
            limits.parent, limits.home = parent / ours, home
        with suppress(OSError):
            (parent / ours).rmdir()
    return limits


def _settings(controller: str, cpu: float | None, memory: int | None) -> dict[str, str]:
    """A share of the cores where they are short, not a cap: idle cores may be used."""
    if controller == "cpu" and cpu is not None:
        return {"cpu.weight": str(max(1, min(10_000, round(100 * cpu))))}
    if controller == "memory" and memory is not None:
        return {"memory.max": str(memory), "memory.oom.group": "1"}
    if controller == "pids":
        most = int(Path("/proc/sys/kernel/pid_max").read_text())
        return {"pids.max": str(max(1024, most // 2))}
    return {}


def _takes_us(home: Path) -> bool:
    """Whether a process may come back to the server's own group."""
    try:
        (home / "cgroup.procs").write_text("0")
    except OSError:
        return False
    return True


def _works(parent: Path, controller: str = "") -> bool:
    probe = parent / f"probe-{os.getpid()}"
    try:
        parent.mkdir(exist_ok=True)
        probe.mkdir()
        try:
            for name, value in _settings(controller, 1.0, 2**30).items():
                (probe / name).write_text(value)
            _visit(probe)
        finally:
            probe.rmdir()
    except OSError:
        return False
    return True


def _visit(group: Path) -> None:
    """A process was in the group, and is gone."""
    with subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL) as visitor:
        try:
            (group / "cgroup.procs").write_text(str(visitor.pid))
        finally:
            visitor.kill()


def _enable(parent: Path, ours: Path) -> list[str]:
    """Controllers that groups below ours have, in the hierarchy of version 2."""
    try:
        wanted = [name for name in (parent / "cgroup.controllers").read_text().split() if name in CONTROLLERS]
        if not wanted:
            return []
        ours.mkdir(exist_ok=True)
        if not set(wanted) <= set((parent / "cgroup.subtree_control").read_text().split()):
            _give(parent, _switch(wanted))
        (ours / "cgroup.subtree_control").write_text(_switch(wanted))
    except OSError:
        return []
    return wanted


def _switch(controllers: Iterable[str]) -> str:
    """What switches the controllers on for the groups below."""
    return " ".join(f"+{controller}" for controller in controllers)


def _give(parent: Path, switch: str) -> None:
    """The groups below have the controllers. A group with processes cannot give them away: ours goes one down."""
    try:
        (parent / "cgroup.subtree_control").write_text(switch)
    except OSError:
        if (parent / "cgroup.procs").read_text().split() != [str(os.getpid())]:
            raise
        (parent / "cede-serve").mkdir(exist_ok=True)
        (parent / "cede-serve" / "cgroup.procs").write_text("0")
        try:
            (parent / "cgroup.subtree_control").write_text(switch)
        except OSError:
            (parent / "cgroup.procs").write_text("0")
            raise


def _own_groups() -> dict[str, str]:
    """The group of this process in each hierarchy, by controller; "" is the one of version 2."""
    groups: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def _mounts() -> dict[str, Path]:
    mounts: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            mounts.setdefault("", Path(point))
    return mounts


def _below(mount: Path, own: str) -> Path:
    parent = mount / own.lstrip("/")
    # A server that went one down before, as above, makes its groups where it did then.
    return parent.parent if parent.name == "cede-serve" else parent
