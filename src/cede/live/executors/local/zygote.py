"""The zygote as the server sees it: folders go in, supervisors come out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from cede.live.executors.local.guard.zygote import LARGEST, READY

HERE = Path(__file__).parent
# Appended, so that no module of ours stands before one of the standard library.
START = "import sys; sys.path.append(sys.argv[1]); from guard.zygote import main; main(*map(int, sys.argv[2:]))"
AT_ONCE = 64
PATIENCE = 10.0
BRIEFLY = 0.2
"""So long a zygote that has nobody left takes to end."""


class Zygote:
    """One process. `fileno` is what to watch: readable when a supervisor was forked, or the zygote died."""

    def __init__(self, log: Path, descriptors: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", START, str(HERE), str(theirs.fileno()), str(descriptors)],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[theirs.fileno()],
                env={"PATH": os.defpath},
                cwd="/",
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(errors)
        ours.settimeout(PATIENCE)
        self._socket = ours
        self._reading = ours.dup()
        self._reading.setblocking(False)
        self.ready = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        return self._reading.fileno()

    def fork(self, folders: Sequence[str]) -> None:
        """Supervisors for these folders are asked for. OSError if the zygote is dead or stuck."""
        for at in range(0, len(folders), AT_ONCE):
            self._socket.send("\0".join(folders[at : at + AT_ONCE]).encode())

    def receive(self) -> tuple[list[tuple[str, int | None]], bool]:
        """The supervisors forked since the last call, each as its folder and, if it has not ended yet, its pidfd;
        and whether the zygote still lives."""
        answers: list[tuple[str, int | None]] = []
        while True:
            try:
                message, fds, _, _ = socket.recv_fds(self._reading, LARGEST, 1)
            except BlockingIOError:
                return answers, True
            except OSError:
                return answers, False
            if not message:
                return answers, False
            if message == READY:
                self.ready = True
            else:
                answers.append((message.decode(), fds[0] if fds else None))

    def kill(self) -> None:
        """It is dead, as its watcher is about to see."""
        self._process.kill()

    def close(self) -> None:
        """The zygote forks no more; its supervisors go on, and it ends with the last of them."""
        self._socket.close()
        self._reading.close()
        try:
            self._process.wait(BRIEFLY)
        except subprocess.TimeoutExpired:  # it stays for its supervisors, and is reaped when it ends
            threading.Thread(target=self._process.wait, name="cede-zygote", daemon=True).start()
