"""The gRPC protocol: hints come on a stream, answers are calls, and both outlast a restart of the server."""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import grpc

from cede.checkpoint.channel import Hint
from cede.checkpoint.environment import Environment
from cede.checkpoint.wire import checkpoint_pb2 as pb
from cede.checkpoint.wire.methods import REQUESTS, Request, path

CALL_S = 10.0
DELIVER_S = 2.0
"""How long an answer may keep the application waiting; then it goes on being sent beside it."""
CLOSE_S = 5.0
RETRY_S = 0.2
MOST_WAITING = 16
"""Letters that wait for the server to come back before progress is dropped."""
SECOND = 1_000_000

OPTIONS = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
REFUSALS = {grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED}
"""Asking again would change nothing."""


@dataclass(slots=True)
class Letter:
    call: str
    request: Request
    taken: threading.Event = field(default_factory=threading.Event)


class ByGrpc:
    """One thread hears, another sends; both begin anew when the connection breaks."""

    def __init__(self, environment: Environment, estimate: float, interval: float) -> None:
        if not environment.broker:
            raise ValueError("CEDE_PROTOCOL is grpc, and CEDE_BROKER is not set")
        self._me = pb.Member(
            job=environment.job,
            attempt=environment.attempt,
            member=environment.rank,
            size=environment.size,
            token=environment.token,
        )
        self._registration = pb.Registration(member=self._me, estimate_s=estimate, interval_s=interval)
        self._latest: Hint | None = None
        self._grants: dict[int, float] = {}
        self._answer: tuple[int, str, Request] | None = None
        self._letters: deque[Letter] = deque()
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._stream: Any = None
        self._connection = grpc.insecure_channel(environment.broker, options=OPTIONS)
        self._calls = {
            name: self._connection.unary_unary(
                path(name), request_serializer=kind.SerializeToString, response_deserializer=pb.Noted.FromString
            )
            for name, kind in REQUESTS.items()
        }
        self._hints = self._connection.unary_stream(
            path("Hints"), request_serializer=pb.Member.SerializeToString, response_deserializer=pb.Notice.FromString
        )
        for work in (self._hear, self._send):
            threading.Thread(target=work, name=f"cede{work.__name__}", daemon=True).start()

    def latest(self) -> Hint | None:
        return self._latest

    def granted(self, hint: int) -> float | None:
        return self._grants.get(hint)

    def mark(self) -> tuple[Hint | None, dict[int, float]]:
        with self._changed:
            return self._latest, dict(self._grants)

    def wait(self, seconds: float, since: object) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing.is_set() or (self._latest, self._grants) != since, seconds)

    def seen(self, hint: int) -> None:
        self._post("Progress", pb.ProgressMade(member=self._me, hint=hint))

    def progress(self, hint: int, part: float) -> None:
        if len(self._letters) < MOST_WAITING:
            self._post("Progress", pb.ProgressMade(member=self._me, hint=hint, part=part))

    def defer(self, hint: int, seconds: float) -> None:
        self._grants.pop(hint, None)  # the answer to an earlier question
        self._post("Defer", pb.TimeWanted(member=self._me, hint=hint, seconds=seconds))

    def done(self, hint: int) -> None:
        self._settle(hint, "Done", pb.CheckpointDone(member=self._me, hint=hint))

    def failed(self, hint: int, why: str) -> None:
        self._settle(hint, "Failed", pb.CheckpointMissing(member=self._me, hint=hint, why=why))

    def close(self) -> None:
        end = time.monotonic() + CLOSE_S
        for letter in list(self._letters):
            letter.taken.wait(max(0.0, end - time.monotonic()))
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        if self._stream is not None:
            self._stream.cancel()
        self._connection.close()

    def _settle(self, hint: int, call: str, request: Request) -> None:
        """The final answer to a hint; it is kept, for the server may ask again after a crash."""
        if hint:
            self._answer = (hint, call, request)
        self._post(call, request).taken.wait(DELIVER_S)

    def _post(self, call: str, request: Request) -> Letter:
        letter = Letter(call, request)
        with self._changed:
            self._letters.append(letter)
            self._changed.notify_all()
        return letter

    def _hear(self) -> None:
        while not self._closing.is_set():
            try:
                self._calls["Register"](self._registration, timeout=CALL_S, wait_for_ready=True)
                self._stream = self._hints(self._me, wait_for_ready=True)
                for notice in self._stream:
                    self._take(notice)
            except (grpc.RpcError, ValueError) as error:  # ValueError: the connection was closed meanwhile
                if self._closing.is_set():
                    return
                if isinstance(error, grpc.Call) and error.code() in REFUSALS:
                    warnings.warn(f"no hint is heard: the checkpoint broker says {error.details()!r}", stacklevel=1)
                    return
            self._closing.wait(RETRY_S)

    def _take(self, notice: pb.Notice) -> None:
        if notice.WhichOneof("about") == "grant":
            with self._changed:
                self._grants[notice.grant.hint] = notice.grant.seconds
                self._changed.notify_all()
            return
        told = notice.hint
        answer = self._answer
        if answer is not None and answer[0] == told.hint:
            self._post(answer[1], answer[2])
            return
        with self._changed:
            self._latest = Hint(told.hint, told.leaving, told.deadline_us / SECOND if told.deadline_us else None)
            self._changed.notify_all()

    def _send(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._letters or self._closing.is_set())
            if self._closing.is_set():
                return
            letter = self._letters[0]
            try:
                self._calls[letter.call](letter.request, timeout=CALL_S, wait_for_ready=True)
            except (grpc.RpcError, ValueError) as error:
                if not (isinstance(error, grpc.Call) and error.code() in REFUSALS):
                    self._closing.wait(RETRY_S)
                    continue
            self._letters.popleft()
            letter.taken.set()


def opened(environment: Environment, estimate: float, interval: float) -> ByGrpc:
    """The channel; the connection is made beside the application."""
    return ByGrpc(environment, estimate, interval)
