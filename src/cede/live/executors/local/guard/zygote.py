"""The zygote: a small process that forks supervisors, because an interpreter takes long to start."""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import NoReturn

from . import procfs
from .supervisor import supervise

LARGEST = 1 << 18
READY = b"ready"
SPARED = b"-500"
SPARES = 4
CALM_MS = 50
"""So long after the last message new spares are made: not while the supervisors just asked for need the cores."""


def main(fd: int, descriptors: int) -> None:
    """Each message names folders of members, with NUL between them; each gets a supervisor.

    The answer to each is the folder and a pidfd of its supervisor. The end of the server is the end of the zygote,
    and no concern of the supervisors. `descriptors` is how many files a command may have open, which may be fewer than
    the server takes for itself.
    """
    server = socket.socket(fileno=fd)
    server.set_inheritable(False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors: the kernel reaps them
    adj = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    with suppress(OSError):  # only root may be spared when memory runs out
        os.write(adj, SPARED)
    os.close(adj)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(descriptors, hard) if hard >= 0 else descriptors, hard))
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    gc.disable()
    gc.freeze()  # a collection in a child would copy every page it looks at
    with suppress(BrokenPipeError):  # a server that died meanwhile needs no zygote, which then ends as ever
        server.send(READY)
    Zygote(server).run()


class Zygote:
    """Keeps a few supervisors in store that wait for their folder: a fork, and the first touch of every page after
    it, are most of the time that a start takes."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._spares: list[tuple[int, int]] = []
        """Pid, and the end of the pipe through which it is told its folder."""

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._server, select.POLLIN)
        while True:
            if not poll.poll(CALM_MS if len(self._spares) < SPARES else None):
                self._spares.append(self._spare())
                continue
            try:
                message = self._server.recv(LARGEST)
            except ConnectionError:  # it died with words of ours unread
                return
            if not message:
                return
            for folder in message.decode().split("\0"):
                self._announce(folder, self._give(folder))

    def _give(self, folder: str) -> int:
        """The pid of a process that supervises this folder from now on."""
        while self._spares:
            pid, pipe = self._spares.pop()
            try:
                os.write(pipe, folder.encode())
            except BrokenPipeError:  # somebody killed it
                continue
            finally:
                os.close(pipe)
            return pid
        pid = os.fork()
        if pid == 0:
            self._leave()
            _live(folder)
        return pid

    def _spare(self) -> tuple[int, int]:
        told, pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._leave()
            os.close(pipe)
            procfs.below(os.getpid())  # what is used later is already its own
            folder = os.read(told, LARGEST)
            os.close(told)
            if folder:
                _live(folder.decode())
            os._exit(0)
        os.close(told)
        return pid, pipe

    def _leave(self) -> None:
        """The child holds nothing of the zygote's."""
        self._server.close()
        for _, pipe in self._spares:
            os.close(pipe)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()

    def _announce(self, folder: str, pid: int) -> None:
        fds = []
        with suppress(ProcessLookupError):  # it had nothing to do, and is gone
            fds.append(os.pidfd_open(pid))
        # Never waited for: the server may itself be waiting to be heard. Supervisors it was not told of it finds by
        # what they write.
        with suppress(OSError):
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds))]
            self._server.sendmsg([folder.encode()], rights if fds else [], socket.MSG_DONTWAIT)
        for fd in fds:
            os.close(fd)


def _live(folder: str) -> NoReturn:
    try:
        supervise(folder)
    except BaseException:
        print(folder, file=sys.stderr)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
