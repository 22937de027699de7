"""The zygote: a small process that forks supervisors, because an interpreter takes long to start.

It outlives its server until the last of its supervisors has ended: what one leaves behind that was killed comes to the
zygote, and is ended, whatever session, group or environment it gave itself.
"""

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

from . import kernel, procfs
from .supervisor import supervise

LARGEST = 1 << 18
READY = b"ready"
SPARED = b"-500"
SPARES = 4
REAPER = "cede-reaper"
"""What a zygote is called that forks no more."""
CALM_MS = 50
"""So long after the last message new spares are made: not while the supervisors just asked for need the cores."""


def main(fd: int, descriptors: int) -> None:
    """Each message names folders of members, with NUL between them; each gets a supervisor.

    The answer to each is the folder and a pidfd of its supervisor. After the end of the server no more are forked; it
    is no concern of the supervisors. `descriptors` is how many files a command may have open, which may be fewer than
    the server takes for itself.
    """
    server = socket.socket(fileno=fd)
    server.set_inheritable(False)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
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
    with suppress(BrokenPipeError):  # a server that died meanwhile needs no zygote, which then ends as usual
        server.send(READY)
    Zygote(server).run()


class Zygote:
    """Keeps a few supervisors in store that wait for their folder: a fork, and the first touch of every page after
    it, are most of the time that a start takes."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._spares: list[tuple[int, int]] = []
        """Pid, and the end of the pipe through which it is told its folder."""
        self._forked: set[int] = set()
        """Children that are supervisors or spares, and not reaped yet."""

    def run(self) -> None:
        self._wake, self._woken = os.pipe()
        for fd in (self._wake, self._woken):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing)
        poll = select.poll()
        poll.register(self._server, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll(CALM_MS if len(self._spares) < SPARES else None)]
            if self._wake in ready:
                self._reap()
            if self._server.fileno() in ready:
                try:
                    message = self._server.recv(LARGEST)
                except ConnectionError:  # it died with words of ours unread
                    break
                if not message:
                    break
                for folder in message.decode().split("\0"):
                    self._announce(folder, self._give(folder))
            elif not ready:
                self._spares.append(self._spare())
        self._linger()

    def _linger(self) -> None:
        """The server is gone. What is forked already has somebody to be left to until it has ended."""
        self._server.close()
        for _, pipe in self._spares:
            os.close(pipe)
        kernel.call_me(REAPER)
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        self._reap()
        while self._forked or procfs.children(os.getpid()):
            poll.poll()
            self._reap()

    def _reap(self) -> None:
        """Ended children are reaped. A child that was not forked here was left behind by a supervisor that died: it is
        ended, and each end of one brings us here again, until no child of theirs is left either."""
        with suppress(BlockingIOError):
            while os.read(self._wake, 512):
                pass
        with suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._forked.discard(pid)
        for pid in set(procfs.children(os.getpid())) - self._forked:
            process = procfs.look(pid)
            if process is not None and process.state not in "ZX":
                name = procfs.name(pid)
                print(f"process {pid} ({name}) lost its supervisor and is ended", file=sys.stderr, flush=True)
                procfs.send(process, signal.SIGKILL)

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
        pid = self._fork()
        if pid == 0:
            _live(folder)
        return pid

    def _spare(self) -> tuple[int, int]:
        told, pipe = os.pipe()
        pid = self._fork()
        if pid == 0:
            os.close(pipe)
            procfs.below(os.getpid())  # what is used later is already its own
            folder = os.read(told, LARGEST)
            os.close(told)
            if folder:
                _live(folder.decode())
            os._exit(0)
        os.close(told)
        return pid, pipe

    def _fork(self) -> int:
        """The pid of a child, 0 in that child, which holds nothing of the zygote's."""
        pid = os.fork()
        if pid:
            self._forked.add(pid)
            return pid
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._server.close()
        for fd in (self._wake, self._woken, *(pipe for _, pipe in self._spares)):
            os.close(fd)
        os.setsid()
        return 0

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


def _nothing(_number: int, _frame: object) -> None:
    """The signal is only to wake us."""


def _live(folder: str) -> NoReturn:
    try:
        supervise(folder)
    except BaseException:
        print(folder, file=sys.stderr)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
