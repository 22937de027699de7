"""What the application says about checkpoints, in files of its control folder.

The folder belongs to the job's account and so does everything in it: nothing found there is trusted. Files are opened
without following links, and only if they are plain ones of that account.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from typing import Any

from . import kernel

NAMES = ("progress", "defer", "failed", "done")
OFTEN = 0.1
SELDOM = 2.0
MOST = 2000
"""Bytes of an answer that are read."""


class CheckpointAnswers:
    """What the application was asked and has answered; `said` is what the server is shown.

    `own` counts checkpoints that nobody asked for.
    """

    def __init__(self) -> None:
        self.hint = 0
        self.leaving = False
        self.said: dict[str, Any] = {"done": 0, "own": 0, "failed": None, "progress": None, "defer": None}

    @property
    def outstanding(self) -> bool:
        failed = self.said["failed"]
        return self.said["done"] < self.hint and not (failed and failed[0] == self.hint)

    def done(self, hint: int) -> None:
        if hint <= self.hint:
            self.said["done"] = max(hint, self.said["done"])

    def own(self) -> None:
        self.said["own"] += 1

    def failed(self, hint: int, why: str) -> None:
        if hint == self.hint and self.outstanding:
            self.said["failed"] = [hint, why]

    def progress(self, hint: int, share: float) -> None:
        if hint == self.hint and 0 <= share <= 1:
            self.said["progress"] = [hint, share]

    def defer(self, hint: int, seconds: float) -> None:
        if hint == self.hint and 0 < seconds < 10**6:
            self.said["defer"] = [hint, seconds]


class SignalFiles:
    """The protocol `signal`: a file `hint`, then a signal; answers are files put into the folder."""

    def __init__(self, answers: CheckpointAnswers, folder: str, uid: int) -> None:
        self._answers = answers
        self._uid = uid
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._seen: dict[str, tuple[int, int]] = {}
        try:
            self.fd = kernel.watch(folder)
        except OSError:  # the watches of an account are limited, and all supervisors are of one
            self.fd = -1

    def every(self) -> float | None:
        """How often to look, in seconds, though nothing woke us."""
        if self.fd >= 0:
            return None
        return OFTEN if self._answers.outstanding else SELDOM

    def ask(self, deadline: int, *, new: bool) -> None:
        text = {"hint": self._answers.hint, "leaving": self._answers.leaving, "deadline": deadline / 1e6 or None}
        with suppress(OSError):
            with suppress(FileNotFoundError):
                os.unlink(".hint", dir_fd=self._folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(".hint", flags, 0o644, dir_fd=self._folder)
            try:
                os.fchmod(fd, 0o644)
                os.write(fd, json.dumps(text).encode())
            finally:
                os.close(fd)
            os.rename(".hint", "hint", src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def look(self) -> None:
        changed = kernel.names(self.fd) if self.fd >= 0 else self._changed()
        for name in NAMES:
            if name in changed or "" in changed:
                self._read(name)

    def _changed(self) -> set[str]:
        before, self._seen = self._seen, {}
        for name in NAMES:
            with suppress(OSError):
                status = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                self._seen[name] = status.st_ino, status.st_mtime_ns
        return {name for name, seen in self._seen.items() if before.get(name) != seen}

    def _read(self, name: str) -> None:
        number, _, rest = self._text(name).partition(" ")
        with suppress(ValueError):
            hint = int(number)
            if name == "done" and hint == 0:
                self._answers.own()
            elif name == "done":
                self._answers.done(hint)
            elif name == "failed":
                self._answers.failed(hint, rest.strip())
            elif name == "progress":
                self._answers.progress(hint, float(rest))
            else:
                self._answers.defer(hint, float(rest))

    def _text(self, name: str) -> str:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder)
        except OSError:
            return ""
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != self._uid or status.st_nlink > 1:
                return ""
            return os.read(fd, MOST).decode(errors="replace").strip()
        except OSError:
            return ""
        finally:
            os.close(fd)
