"""One output of a member as files: the newest bytes in NAME.log, those before in NAME.log.1, older ones gone."""

from __future__ import annotations

import os
from contextlib import suppress


class Log:
    """Written in the present folder. No failure to write ends the member: what finds no room is dropped, and a line in
    its place says how much that was, as soon as there is room for it.

    NAME.at says how many bytes were written before the first one of a file, and which file (its inode) that is. So a
    reader knows where it is, whenever it looks and even if the writer died while it rotated.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._before = 0
        self._size = 0
        self._missing = 0
        """Bytes that were dropped and of which the log does not tell yet."""
        self._why = ""
        self._fd = self._open()

    @property
    def position(self) -> int:
        """How many bytes were ever written."""
        return self._before + self._size

    def write(self, data: bytes) -> None:
        if not self.settle():
            self._missing += len(data)
            return
        left = memoryview(data)
        while left:
            try:
                if self._size >= self._limit:
                    self._rotate()
                wrote = os.write(self._fd, left[: self._limit - self._size])
            except OSError as error:
                self._missing, self._why = len(left), os.strerror(error.errno or 0).lower()
                return
            self._size += wrote
            left = left[wrote:]

    def settle(self) -> bool:
        """Whether the log has every byte, or tells of those that it lacks."""
        if not self._missing:
            return True
        note = f"\n[cede: {self._missing} bytes of output are missing here: {self._why}]\n".encode()
        try:
            if os.write(self._fd, note) < len(note):
                os.ftruncate(self._fd, self._size)
                return False
        except OSError:
            return False
        self._size += len(note)
        self._missing = 0
        return True

    def _open(self) -> int:
        return os.open(f"{self._name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _rotate(self) -> None:
        with suppress(FileNotFoundError):  # an earlier rotation found no room for the new file
            os.rename(f"{self._name}.log", f"{self._name}.log.1")
        fresh = self._open()
        os.close(self._fd)
        self._fd = fresh
        self._before += self._size
        self._size = 0
        at = os.open(f"{self._name}.at.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.write(at, b"%d %d" % (os.fstat(fresh).st_ino, self._before))
        os.close(at)
        os.rename(f"{self._name}.at.new", f"{self._name}.at")
