"""Calls of applications to the broker: whether the sender is proven, what is out of bounds, and which fact follows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import isfinite
from typing import Protocol

import grpc

from cede.checkpoint.wire import checkpoint_pb2 as pb
from cede.checkpoint.wire.methods import Request
from cede.engine.drive.facts import Estimated, Fact
from cede.live.broker.attempt_tokens import proves
from cede.live.broker.attempts import Attempts, Estimate, Sender
from cede.model.times import SECOND

MOST_NAME = 220
MOST_WHY = 500
MOST_MEMBERS = 100_000
MOST_SECONDS = 366 * 24 * 3600.0


class RefusedError(Exception):
    """A call that is answered with this code."""

    def __init__(self, code: grpc.StatusCode, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


class AttemptFiles(Protocol):
    """The files of attempts, as far as the broker needs them."""

    def size(self, name: str, attempt: int) -> int | None:
        """How many members the attempt has; none if that is not known."""

    def keep_answer(self, name: str, attempt: int, member: int, hint: int) -> None:
        """The member has answered this hint, which asked it to leave: its files say so from now on."""


class Calls:
    """Each call says whose it is, and proves it. Facts are reported in the order in which they came to be."""

    def __init__(self, secret: bytes, report: Callable[[Fact], object], files: AttemptFiles | None = None) -> None:
        self.attempts = Attempts()
        self.lock = threading.Lock()
        self._secret = secret
        self._report = report
        self._files = files
        self._sizes: dict[tuple[str, int], int] = {}

    def sender(self, said: pb.Member) -> Sender:
        """Whose call it is; RefusedError if that is not proven."""
        if not (said.job and len(said.job) <= MOST_NAME) or not proves(
            self._secret, said.job, said.attempt, said.token
        ):
            raise RefusedError(grpc.StatusCode.PERMISSION_DENIED, "the token is not that of this job and attempt")
        size = max(1, said.size)
        most = self._size(said.job, said.attempt)
        if said.member >= size or size > most:
            why = f"there is no member {said.member} of {size}"
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, f"{why}; the job has {most}" if size > most else why)
        return Sender(said.job, said.attempt, said.member, size)

    def _size(self, name: str, attempt: int) -> int:
        """How many members the attempt has, or the most that any has, where that is not known."""
        size = self._sizes.get((name, attempt))
        if size is None and self._files is not None:
            size = self._files.size(name, attempt)
            if size is not None:
                self._sizes[name, attempt] = size
        return MOST_MEMBERS if size is None else size

    def forget(self, name: str, attempt: int) -> None:
        """The attempt is over."""
        with self.lock:
            self.attempts.forget(name, attempt)
            self._sizes.pop((name, attempt), None)

    def ended(self, name: str, attempt: int, member: int) -> None:
        """A member of a gang ended well."""
        with self.lock:
            fact = self.attempts.ended(name, attempt, member)
        if fact is not None:
            self._report(fact)

    def take(self, request: Request) -> object:
        """The call has been noted, and the fact in it reported; what came of the report."""
        sender = self.sender(request.member)
        with self.lock:
            if isinstance(request, pb.CheckpointDone) and self.attempts.asked_to_leave(sender, request.hint):
                self._keep_answer(sender, request.hint)
            fact = self._fact(sender, request)
        return None if fact is None else self._report(fact)

    def _keep_answer(self, sender: Sender, hint: int) -> None:
        """The attempt's files say that it left because it was asked to: a restored store may not know of it."""
        if self._files is not None:
            self._files.keep_answer(sender.name, sender.attempt, sender.member, hint)

    def _fact(self, sender: Sender, request: Request) -> Fact | None:
        attempts = self.attempts
        match request:
            case pb.Registration():
                write, interval = _seconds(request.estimate_s), _seconds(request.interval_s)
                attempts.register(sender, Estimate(write or None, interval or None))
                return Estimated(sender.name, sender.attempt, write) if write else None
            case pb.ProgressMade():
                part = request.part if request.HasField("part") else None
                if part is not None and not 0 <= part <= 1:
                    raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, f"progress goes from 0 to 1: {part}")
                return attempts.progress(sender, request.hint, part)
            case pb.TimeWanted():
                wanted = _seconds(request.seconds)
                return attempts.defer(sender, _number(request.hint), wanted, time.monotonic_ns() // 1000)
            case pb.CheckpointDone():
                return attempts.done(sender, request.hint)
            case _:
                return attempts.failed(sender, _number(request.hint), request.why[:MOST_WHY])


def _seconds(said: float) -> int:
    """Microseconds of it; RefusedError if nobody can mean it."""
    if not (isfinite(said) and 0 <= said <= MOST_SECONDS):
        raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, f"seconds go from 0 to a year: {said}")
    return round(said * SECOND)


def _number(hint: int) -> int:
    if hint == 0:
        raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, "hints are numbered from 1")
    return hint
