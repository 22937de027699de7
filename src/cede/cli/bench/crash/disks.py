"""The file systems of a crash test: one for the store and one for the jobs, small enough to be filled."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

OF_JOBS = ("jobs", "active", "trash")
SIZE = "64m"
PATIENCE_S = 5.0


class Disks:
    """`data` is on a disk of its own, and what supervisors write to is on another, as links in it.

    So the disk of the store has no writers while no server runs, and can be made read-only. `why_not` says what keeps
    this machine from mounting anything; then everything is in plain folders.
    """

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.store, self.jobs = folder / "store", folder / "work"
        self.data = self.store / "data"
        self._mounted: list[Path] = []
        self.why_not = ""
        for disk in (self.store, self.jobs):
            disk.mkdir()
            disk.chmod(0o711)
            if mounted and not self.why_not:
                self.why_not = _mount("-t", "tmpfs", "-o", f"size={SIZE},mode=711", "tmpfs", str(disk))
                self._mounted += [] if self.why_not else [disk]
        self.data.mkdir()
        self.data.chmod(0o711)
        for name in OF_JOBS:
            (self.jobs / name).mkdir(mode=0o711)
            (self.data / name).symlink_to(self.jobs / name)
        (self.jobs / "guard.log").touch(0o600)
        (self.data / "guard.log").symlink_to(self.jobs / "guard.log")

    def fill(self, *disks: Path) -> None:
        """Not a byte more can be written to these."""
        for disk in disks:
            with (disk / "hog").open("wb", buffering=0) as hog:
                for size in (1 << 20, 1 << 12, 1):
                    _write_all(hog.fileno(), size)

    def free(self) -> None:
        """There is room again."""
        for disk in (self.store, self.jobs):
            (disk / "hog").unlink(missing_ok=True)

    def read_only(self) -> str:
        """The store's disk takes nothing; if somebody still writes to it, why that cannot be."""
        until = time.monotonic() + PATIENCE_S
        while (why := _mount("-o", "remount,ro", str(self.store))) and time.monotonic() < until:
            time.sleep(0.05)
        return why

    def writable(self) -> None:
        if why := _mount("-o", "remount,rw", str(self.store)):
            raise OSError(f"{self.store} stays read-only: {why}")

    def keep(self) -> None:
        """A copy of what is on the disks stays beside them when they are unmounted."""
        for disk in self._mounted:
            copy = disk.with_name(f"{disk.name}-kept")
            subprocess.run(["cp", "-a", str(disk), str(copy)], capture_output=True, check=False)

    def close(self) -> None:
        """Nothing is mounted any more, and what was on the disks is gone."""
        for disk in self._mounted:
            subprocess.run(["umount", "-l", str(disk)], capture_output=True, check=False)
        self._mounted.clear()


def _mount(*words: str) -> str:
    """Why it could not be mounted so; empty if it is."""
    try:
        made = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"mount: {error.strerror}"
    return "" if made.returncode == 0 else made.stderr.strip() or f"mount ended with {made.returncode}"


def _write_all(fd: int, size: int) -> None:
    block = b"x" * size
    try:
        while os.write(fd, block) == size:
            pass
    except OSError:
        return
