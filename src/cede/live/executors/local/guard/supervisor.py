"""The supervisor of one member: it starts the command once, watches it, ends it when told, and writes down its end."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from . import command, dumps, ending, files, kernel, procfs
from .checkpoint_protocol import CheckpointProtocol
from .logs import Log
from .notifier import AGAIN, Notifier
from .outcome import CANCEL, ENDINGS, end_remains, moment, ordered_cause, outcome
from .output_order import OutputOrder

CHUNK = 1 << 16
LEFT = 16
"""Chunks that are read of an output after the end: no pipe holds more, and a process that still writes is none of the
member's."""
LONGEST_WAIT_S = 3600.0
"""What is due later is waited for again: poll counts milliseconds in 31 bits, which is less than 25 days."""
BACKSTOP = 10.0
"""Seconds after the walltime at which a supervisor acts without the server."""


def supervise(folder: str) -> None:
    """When it returns there is an exit.json in the folder, and no process of this member.

    Whoever holds the lock decides: a command that was ever let go is never started again. A second supervisor of the
    same member waits here until the first is gone.
    """
    os.chdir(folder)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    lock = files.when_there_is_room(lambda: os.open("lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    fcntl.flock(lock, fcntl.LOCK_EX)
    me = procfs.look(os.getpid())
    os.ftruncate(lock, 0)
    signature = b"%d %d" % (os.getpid(), me.start if me else 0)

    def sign() -> None:
        os.pwrite(lock, signature, 0)

    with suppress(OSError):  # no room: it is tried again
        sign()
    spec = files.get(".", "spec.json")
    if not spec or files.get(".", "exit.json") is not None:
        return
    post = Notifier(spec)
    began = files.get(".", "began.json")
    if began is not None:
        end_remains(spec, began)
        lost = outcome(lost=True, cause=ordered_cause(".") or "")
        files.when_there_is_room(lambda: files.put(".", "exit.json", lost))
    else:
        Supervisor(spec, post).run(sign)
    post.deliver("exited")


class Supervisor:
    """One member from its start to its end. Runs in the member's folder, with the lock held."""

    def __init__(self, spec: dict[str, Any], post: Notifier) -> None:
        self._spec = spec
        self._notifier = post
        self._grace: float = spec["grace_us"] / 1e6
        self._poll = select.poll()
        self._heard: dict[int, Callable[[], None]] = {}
        self._logs: dict[int, Log] = {}
        self._outputs: list[Log] = []
        self._cause = ""
        self._interrupted = self._told = self._killed = self._walltime = False
        self._reaped = False
        self._end: os.waitid_result | None = None
        self._kill_at: float | None = None
        self._expires: float | None = None
        self._again: float | None = None
        self._pause = 0.001

    def run(self, sign: Callable[[], None]) -> None:
        self._wake, end = os.pipe()
        for fd in (self._wake, end):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(end, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._signalled)
        self._hear(self._wake, self._woken)
        self._control = self._listen()
        self._hear(self._control.fileno(), self._ordered)
        # The server writes an order down, then knocks: one from before the socket was there is found here.
        cause = ordered_cause(".")
        if cause is not None:
            self._record(outcome(told=True, cause=cause))
            return
        if not self._begin(sign) or not self._start():
            return
        while not self._gone():
            self._wait()
        self._finish()

    def _listen(self) -> socket.socket:
        with suppress(FileNotFoundError):
            os.unlink("control.sock")
        control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        files.when_there_is_room(lambda: control.bind("control.sock"))
        return control

    def _begin(self, sign: Callable[[], None]) -> bool:
        """It is written down that the command begins, so that it never begins twice. On a full disk that has to wait,
        and the command with it: it has not begun, and is not lost."""
        self._note = dumps.dumped(self._spec)
        if self._note:  # restored processes are what they were, their mark too
            self._spec["mark"] = self._note["mark"]
        logs = [partial(self._open, name) for name in ("out", "err")]
        left: list[Callable[[], None]] = [sign, self._converse, *logs, self._keep_order, self._note_it]
        while left:
            try:
                left[0]()
                del left[0]
                continue
            except OSError as error:
                if error.errno not in files.NO_ROOM:
                    self._record(outcome(error=str(error)))
                    return False
            for fd, _ in self._poll.poll(files.AGAIN_S * 1000):
                if fd == self._wake:
                    self._woken()
            cause = self._ordered_to_end()
            if cause is not None or self._interrupted:
                self._record(outcome(told=cause is not None, lost=cause is None, cause=cause or ""))
                return False
        return True

    def _converse(self) -> None:
        self._checkpoints = CheckpointProtocol(self._spec, self._notifier)

    def _open(self, name: str) -> None:
        self._outputs.append(Log(name, self._spec["log_limit"]))

    def _keep_order(self) -> None:
        self._output_order = OutputOrder(self._spec["log_limit"])

    def _note_it(self) -> None:
        me = procfs.look(os.getpid())
        identity = {"supervisor": os.getpid(), "supervisor_start": me.start if me else 0, "mark": self._spec["mark"]}
        self._began: dict[str, Any] = {**identity, **moment()}
        files.create(".", "began.json", self._began)

    def _ordered_to_end(self) -> str | None:
        """Why it is to end before it began; none if it is not. An order that found the disk full came by the socket."""
        causes = [cause] if (cause := ordered_cause(".")) is not None else []
        with suppress(BlockingIOError):
            while True:
                message = self._control.recv(CHUNK)
                with suppress(ValueError, KeyError, TypeError, AttributeError):  # it is none of ours
                    kind, order = json.loads(message)
                    if kind in ENDINGS:
                        causes.append(order.get("cause", ""))
        return CANCEL if CANCEL in causes else causes[0] if causes else None

    def _start(self) -> bool:
        """The command runs."""
        began = self._began
        try:
            started = dumps.resume(self._spec, self._note) if self._note else command.start(self._spec)
        except command.NotStartedError as error:
            self._record(outcome(error=str(error)))
            return False
        except OSError as error:  # a full disk is no fault of the command: like a node that went away
            self._record(outcome(error=str(error), lost=error.errno in files.NO_ROOM))
            return False
        self._pid = started.pid
        child = procfs.look(started.pid)
        began |= {"pid": started.pid, "start": child.start if child else 0}
        with suppress(OSError):  # without it the command is still known by its mark
            files.put(".", "began.json", began, durable=False)
        self._notifier.send("began")
        if self._spec["walltime_us"] is not None:
            self._expires = time.monotonic() + self._spec["walltime_us"] / 1e6 + BACKSTOP
        for fd, log in zip(started.outputs, self._outputs, strict=True):
            self._logs[fd] = log
            self._hear(fd, partial(self._pump, fd))
        if self._checkpoints.fd >= 0:
            self._hear(self._checkpoints.fd, self._checkpoints.turn)
        self._find_orders()
        return True

    def _hear(self, fd: int, handler: Callable[[], None]) -> None:
        self._heard[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def _drop(self, fd: int) -> None:
        self._poll.unregister(fd)
        del self._heard[fd]
        os.close(fd)

    def _wait(self) -> None:
        now = time.monotonic()
        due = [at for at in (self._kill_at, self._expires, self._again, self._checkpoints.due()) if at is not None]
        if self._notifier.unsent:
            due.append(now + AGAIN)
        timeout = None if not due else max(0.0, min(min(due) - now, LONGEST_WAIT_S)) * 1000 + 0.5
        for fd, _ in self._poll.poll(timeout):
            if fd in self._heard:
                self._heard[fd]()
        self._notifier.flush()
        self._keep_time()

    def _keep_time(self) -> None:
        now = time.monotonic()
        talk = self._checkpoints.due()
        if talk is not None and now >= talk:
            self._checkpoints.turn()
        if self._expires is not None and now >= self._expires:
            self._expires = None
            self._terminate("walltime", self._grace)
        if self._interrupted and self._kill_at is None:
            self._terminate("", self._grace)
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()

    def _signalled(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:  # somebody ends this supervisor, as when the machine is shut down
            self._interrupted = True

    def _woken(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wake, 512):
                pass

    def _pump(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        if data:
            self._keep(self._logs[fd], data)
        else:
            self._drop(fd)
            del self._logs[fd]

    def _keep(self, log: Log, data: bytes) -> None:
        self._output_order.goes_on(self._outputs.index(log), *(one.position for one in self._outputs))
        log.write(data)

    def _ordered(self) -> None:
        with suppress(BlockingIOError):
            while True:
                message = self._control.recv(CHUNK)
                with suppress(ValueError, KeyError, TypeError):  # it is none of ours
                    kind, order = json.loads(message)
                    self._obey(kind, order)
        self._find_orders()

    def _find_orders(self) -> None:
        """An order that found the socket full lies in the folder; one that found the disk full came by the socket."""
        for kind in ("kill", "end", "hint"):
            order = files.get(".", f"{kind}.json")
            if order is not None:
                self._obey(kind, order)

    def _obey(self, kind: str, order: dict[str, Any]) -> None:
        """Doing it twice is doing it once."""
        if kind == "kill":
            self._kill(order.get("cause", ""))
        elif kind == "end" and order:
            self._terminate(order["cause"], order["grace"] / 1e6)
        elif kind == "hint" and order and self._end is None:
            self._checkpoints.ask(order, self._pid)

    def _terminate(self, cause: str, grace: float) -> None:
        """The command is told to end; what is left of it after the grace is killed. The first deadline stays."""
        self._kill_at = min(time.monotonic() + grace, self._kill_at or float("inf"))
        if not self._told and self._end is None:
            self._told = ending.tell(self._pid)
            self._walltime = self._told and cause == "walltime"
        self._goes_for(cause)

    def _kill(self, cause: str = "") -> None:
        if self._end is None and not self._told:
            self._told = self._killed = not ending.ended(self._pid)
        self._goes_for(cause)
        self._kill_at = 0.0
        self._strike()

    def _goes_for(self, cause: str) -> None:
        """The first cause stays, but for one: a cancelled member is cancelled, whatever it was told to end for
        before."""
        if self._told and (cause == CANCEL or not self._cause):
            self._cause = cause

    def _strike(self) -> None:
        """SIGKILL to everything of the member; soon again, until nothing is left."""
        ending.kill_cgroup(self._spec["cgroups"])
        ending.signal_all(None if self._reaped else self._pid, signal.SIGKILL)
        self._kill_at = self._again = time.monotonic() + self._pause
        self._pause = min(1.0, self._pause * 2)

    def _gone(self) -> bool:
        """Whether nothing of the member is left. Its first process is reaped last: until then its pid, which is also
        the number of its group, cannot be another's."""
        if self._end is None:
            self._end = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        for pid, status in ending.reap(0 if self._reaped else self._pid):
            if self._checkpoints.dump is not None:
                self._checkpoints.dump.reaped(pid, status)
                self._checkpoints.turn()
        if self._end is None or (self._checkpoints.dump is not None and self._checkpoints.dump.helper is not None):
            return False
        if procfs.below(os.getpid()):
            # One that was told to go has its grace, and so have its children. One that ended by itself leaves none.
            now = time.monotonic()
            if not self._told and (self._again is None or now >= self._again):
                self._strike()
            return False
        if not self._reaped:
            os.waitpid(self._pid, 0)
            self._reaped = True
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False

    def _finish(self) -> None:
        for fd in list(self._logs):
            with suppress(BlockingIOError):  # somebody outside holds the other end
                for _ in range(LEFT):
                    self._keep(self._logs[fd], os.read(fd, CHUNK))
        self._checkpoints.close()
        assert self._end is not None
        ended = self._end.si_code == os.CLD_EXITED
        number = None if ended else self._end.si_status
        self._record(
            outcome(
                code=self._end.si_status if ended else None,
                signal=number,
                told=self._checkpoints.left or (self._told and not (self._killed and number != signal.SIGKILL)),
                walltime=self._walltime,
                lost=self._interrupted,
                cause=self._cause,
            )
        )

    def _record(self, result: dict[str, Any]) -> None:
        with suppress(OSError):
            os.unlink("control.sock")
        ending.remove_cgroups(self._spec["cgroups"])
        while True:
            for log in self._outputs:
                log.settle()
            try:
                files.put(".", "exit.json", result)
            except FileNotFoundError:  # the folder was deleted
                return
            except OSError:  # no room: the end must not be forgotten
                time.sleep(1)
            else:
                return
