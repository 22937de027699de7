"""Where the files of jobs, attempts and members lie in the data directory, and who may reach them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from cede.live.executors.local.rights import Rights

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,219}")
"""Room for a user's name, a dot, and what that user calls the job."""


class Folders:
    """The data directory as the executor uses it. No name of a job leads out of it."""

    def __init__(self, data: Path) -> None:
        self.data = data.absolute()
        self._active = self.data / "active"
        self._trash = self.data / "trash"

    def prepare(self) -> None:
        for folder in (self.data, self.data / "jobs", self._active, self._trash):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(self._trash.iterdir()):
            threading.Thread(target=self._empty_trash, name="cede-trash", daemon=True).start()

    def job(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a job")
        return self.data / "jobs" / name

    def attempt(self, name: str, attempt: int) -> Path:
        return self.job(name) / "attempts" / str(int(attempt))

    def member(self, name: str, attempt: int, member: int) -> Path:
        return self.attempt(name, attempt) / str(int(member))

    def make(self, name: str, attempt: int, members: int, rights: Rights | None) -> None:
        """The folders are there: those of the job's account belong to it, and it can reach them."""
        foreign = rights is not None and rights.groups is not None
        mode = 0o711 if foreign else 0o700
        if foreign:
            for folder in (self.data, self.data / "jobs"):
                folder.chmod(mode)
        job = self.job(name)
        path = self.attempt(name, attempt)
        for folder in (job, job / "attempts", path, *(path / str(member) for member in range(members))):
            _make(folder, mode)
        if rights is not None:
            for folder in (job / "checkpoint", *(path / str(member) / "control" for member in range(members))):
                _make(folder, 0o700)
                if foreign:
                    os.chown(folder, rights.uid, rights.gid, follow_symlinks=False)

    def set_active(self, name: str, attempt: int) -> None:
        """The attempt is found by `active` until it is settled, however many jobs there were before."""
        (self._active / f"{name}@{attempt}").touch(mode=0o600)

    def settle(self, name: str, attempt: int) -> None:
        (self._active / f"{name}@{attempt}").unlink(missing_ok=True)

    def active(self) -> Iterator[tuple[str, int]]:
        for path in sorted(self._active.iterdir()):
            name, _, attempt = path.name.rpartition("@")
            if NAME.fullmatch(name) and attempt.isdigit():
                yield name, int(attempt)

    def names(self) -> Iterator[str]:
        """Workloads that have a folder."""
        with os.scandir(self.data / "jobs") as entries:
            yield from (entry.name for entry in entries if NAME.fullmatch(entry.name))

    def newest(self, name: str) -> int:
        """The newest attempt of which there is a folder, 0 if there is none."""
        try:
            names = [path.name for path in (self.job(name) / "attempts").iterdir()]
        except FileNotFoundError:
            return 0
        return max((int(each) for each in names if each.isdigit()), default=0)

    def remove(self, name: str) -> None:
        """The job's folder is gone at once, and its bytes soon."""
        job = self.job(name)
        if job.exists():
            target = self._trash / f"{name}@{os.urandom(8).hex()}"
            job.rename(target)
            threading.Thread(target=_delete, args=(target,), name="cede-trash", daemon=True).start()

    def _empty_trash(self) -> None:
        for path in self._trash.iterdir():
            _delete(path)


def _make(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        pass
    else:
        mode_now = folder.stat().st_mode & 0o777  # the umask may have taken something away
        if mode_now == mode:
            return
    folder.chmod(mode)


def _delete(path: Path) -> None:
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:
        # A job may nest folders deeper than Python can follow.
        subprocess.run(["rm", "-rf", "--", str(path)], check=False, stderr=subprocess.DEVNULL)
