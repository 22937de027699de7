"""The executor's event loop: one thread that waits for notes of supervisors, ends of processes, and the zygote."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cede.live.executors.local.guard import notifier

ROOM = 1 << 20
log = logging.getLogger(__name__)


class EventLoop:
    """Callbacks run in the thread, one at a time. A descriptor given to `end_of` is closed here."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._pidfds: set[int] = set()
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)
        self._epoll.register(self._stop, select.EPOLLIN)
        self._thread = threading.Thread(target=self._run, name="cede-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def readable(self, fd: int, callback: Callable[[], None]) -> None:
        self._callbacks[fd] = callback
        self._epoll.register(fd, select.EPOLLIN)

    def drop(self, fd: int) -> None:
        if self._callbacks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def end_of(self, pidfd: int, callback: Callable[[], None]) -> None:
        """Called once, when the process has ended."""

        def once() -> None:
            # The event may have been meant for another process, whose descriptor had this number a moment ago.
            ended = select.poll()
            ended.register(pidfd, select.POLLIN)
            if not ended.poll(0):
                return
            self.forget(pidfd)
            callback()

        self._pidfds.add(pidfd)
        self.readable(pidfd, once)

    def forget(self, pidfd: int) -> None:
        """The process is of no interest any more."""
        if pidfd in self._pidfds:
            self._pidfds.discard(pidfd)
            self.drop(pidfd)
            os.close(pidfd)

    def close(self) -> None:
        os.eventfd_write(self._stop, 1)
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
        for fd in list(self._pidfds):
            self.forget(fd)
        self._epoll.close()
        os.close(self._stop)

    def _run(self) -> None:
        while True:
            for fd, _ in self._epoll.poll():
                if fd == self._stop:
                    return
                callback = self._callbacks.get(fd)
                if callback is not None:
                    try:
                        callback()
                    except Exception:  # one job's trouble must not end the watch over the others
                        log.exception("an event of an executor was not handled")


class NotificationPipe:
    """The named pipe through which supervisors send their notes."""

    def __init__(self, data: Path) -> None:
        self._path = data / notifier.NAME
        self._path.unlink(missing_ok=True)
        os.mkfifo(self._path, 0o600)
        # For writing too, so that it never ends when a supervisor closes it.
        self._fd = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):
            fcntl.fcntl(self._fd, fcntl.F_SETPIPE_SZ, ROOM)
        self._rest = b""

    def fileno(self) -> int:
        return self._fd

    def notes(self) -> list[tuple[str, int, int, str]]:
        """All that have come: job, attempt, member and what it is about."""
        with suppress(BlockingIOError):
            while True:
                self._rest += os.read(self._fd, ROOM)
        *lines, self._rest = self._rest.split(b"\n")
        notes = []
        for line in lines:
            name, attempt, member, kind = line.decode().split(" ")
            notes.append((name, int(attempt), int(member), kind))
        return notes

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def send_order(folder: str, kind: str, order: dict[str, Any]) -> None:
    """The supervisor of this folder, if it listens, has the order."""
    with suppress(OSError):
        # By descriptor, because the path of a socket may have 107 bytes only.
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
                sender.sendto(json.dumps([kind, order]).encode(), f"/proc/self/fd/{fd}/control.sock")
        finally:
            os.close(fd)
