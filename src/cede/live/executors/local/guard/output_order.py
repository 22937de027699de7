"""In which order the outputs of a member were written: what a reader needs to put them together again."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress

ORDER = "order"
RECORD = struct.Struct("<QQQ")
"""Twice the moment, in microseconds since the machine was started, plus 1 if it is of `err`; how many bytes there were
of `out`, and how many of `err`."""
SPACING_US = 50_000
"""How much of one output counts as one moment."""
SHARE = 8
"""The files of the order are at most this part of those of an output; of what is older only each output is kept."""
LEAST = 4096


class OutputOrder:
    """Files of records in the present folder, each from where one output goes on: ORDER.log, and before it ORDER.log.1.

    The supervisor reads what the command writes from two pipes. Of what waits in both at the same time nobody can tell
    which came first; all else is in the order in which it was written. A record is written before the bytes it tells
    of: whoever reads those finds it. One that found no room is missed by nobody: what it would have told of then
    follows what came before it.
    """

    def __init__(self, log_limit: int) -> None:
        self._limit = max(LEAST, log_limit // SHARE) // RECORD.size * RECORD.size
        self._size = 0
        self._last: tuple[int, int] = (-1, 0)
        self._fd = self._open()

    def goes_on(self, stream: int, out: int, err: int) -> None:
        """What is written next goes to `out` (0) or `err` (1), after `out` and `err` bytes of each."""
        now = time.monotonic_ns() // 1000
        before, at = self._last
        if stream == before and now - at < SPACING_US:
            return
        with suppress(OSError):
            if self._size >= self._limit:
                self._rotate()
            wrote = os.write(self._fd, RECORD.pack(now << 1 | stream, out, err))
            if wrote < RECORD.size:
                os.ftruncate(self._fd, self._size)
                return
            self._size += wrote
            self._last = stream, now

    def _open(self) -> int:
        return os.open(f"{ORDER}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _rotate(self) -> None:
        os.rename(f"{ORDER}.log", f"{ORDER}.log.1")
        fresh = self._open()
        os.close(self._fd)
        self._fd = fresh
        self._size = 0
