"""Notes from a supervisor to the server: they only wake it, the files are the truth."""

from __future__ import annotations

import os
import socket
from typing import Any

AGAIN = 0.005


class Post:
    """A note that finds the server's mailbox full waits in `unsent`; one that finds no server is not needed."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._whom = f"{spec.get('name')} {spec.get('attempt')} {spec.get('member')}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        # By descriptor, because the path of a socket may have 107 bytes only.
        data = os.open(spec.get("data", "/"), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._mailbox = f"/proc/self/fd/{data}/notify.sock"
        self.unsent: list[str] = []

    def send(self, kind: str) -> None:
        if kind not in self.unsent:
            self.unsent.append(kind)
        self.flush()

    def flush(self) -> None:
        while self.unsent:
            try:
                self._socket.sendto(f"{self._whom} {self.unsent[0]}".encode(), self._mailbox)
            except BlockingIOError:
                return
            except OSError:
                self.unsent.clear()
                return
            del self.unsent[0]
