"""The shared-memory flag: 64 bytes that the application maps, and that the supervisor reads and writes as a file.

A supervisor that mapped it would die when the application cuts it short.
"""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress

from .checkpoint_answers import CheckpointAnswers

SIZE = 64
MAGIC = b"CEDESHM1"
ASKED = struct.Struct("<IIQ")
ASKED_AT = 8
ANSWERED = struct.Struct("<IIfIQ")
ANSWERED_AT = 24
PROGRESS_AT = 32
OFTEN = 0.02
SELDOM = 2.0


class SharedMemoryFlag:
    """The protocol `shm`. `fd` is -1: there is nothing to wait for, one must look."""

    fd = -1

    def __init__(self, answers: CheckpointAnswers, folder: str, uid: int, gid: int) -> None:
        self._answers = answers
        self._last = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        path = os.path.join(folder, "flag")
        self._file = os.open(path, flags, 0o600)
        try:
            if os.write(self._file, MAGIC.ljust(SIZE, b"\0")) < SIZE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:  # it is made again
            os.close(self._file)
            os.unlink(path)
            raise
        if uid != os.getuid():
            os.fchown(self._file, uid, gid)

    def every(self) -> float | None:
        """How often to look, in seconds."""
        return OFTEN if self._answers.outstanding else SELDOM

    def ask(self, deadline: int, *, new: bool) -> None:
        # The number last: a reader that sees it sees the rest, and no answers to an earlier one.
        fields = ASKED.pack(self._answers.hint, self._answers.leaving, deadline)
        with suppress(OSError):
            if new:
                os.pwrite(self._file, bytes(8), PROGRESS_AT)
            os.pwrite(self._file, fields[4:], ASKED_AT + 4)
            os.pwrite(self._file, fields[:4], ASKED_AT)

    def look(self) -> None:
        try:
            data = os.pread(self._file, ANSWERED.size, ANSWERED_AT)
        except OSError:
            return
        if len(data) < ANSWERED.size:
            return
        done, failed, progress, defer, last = ANSWERED.unpack(data)
        hint = self._answers.hint
        answered = hint > 0 and done == hint and self._answers.said["done"] < hint
        if hint > 0:
            if progress:
                self._answers.progress(hint, progress)
            self._answers.defer(hint, defer)
            if failed == hint:
                self._answers.failed(hint, "the application reported that its checkpoint failed")
            self._answers.done(done)
        if last != self._last:
            self._last = last
            if not answered:
                self._answers.own()
