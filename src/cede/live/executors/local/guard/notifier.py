"""Notes from a supervisor to the server: they only wake it, the files are the truth."""

from __future__ import annotations

import os
import time
from typing import Any

NAME = "notes"
"""A named pipe in the data directory: a socket would hold ten notes only while the server is busy."""
AGAIN = 0.02


class Notifier:
    """A note that finds the pipe full waits in `unsent`; one that finds no server is not needed."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._sender = f"{spec['name']} {spec['attempt']} {spec['member']}"
        self._data = os.open(spec["data"], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self.unsent: list[str] = []

    def send(self, kind: str) -> None:
        if kind not in self.unsent:
            self.unsent.append(kind)
        self.flush()

    def deliver(self, kind: str) -> None:
        """The server has the note, or there is none."""
        self.send(kind)
        pause = AGAIN
        while self.unsent:
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)
            self.flush()

    def flush(self) -> None:
        if not self.unsent:
            return
        try:
            pipe = os.open(NAME, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._data)
        except OSError:  # nobody reads: it is not there
            self.unsent.clear()
            return
        try:
            while self.unsent:
                os.write(pipe, f"{self._sender} {self.unsent[0]}\n".encode())
                del self.unsent[0]
        except BlockingIOError:
            pass
        except OSError:
            self.unsent.clear()
        finally:
            os.close(pipe)
