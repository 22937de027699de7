"""The checkpoint broker: applications hear hints from it over gRPC, and what they answer is reported as facts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import grpc

from cede.checkpoint.wire import checkpoint_pb2 as pb
from cede.checkpoint.wire.methods import REQUESTS, SERVICE, Request
from cede.engine.drive.orders import Hint
from cede.live.broker.attempt_tokens import token
from cede.live.broker.attempts import Estimate
from cede.live.broker.calls import AttemptFiles, Calls, RefusedError
from cede.live.broker.listener import Listener, Owners, inner_socket, socket_in
from cede.live.executors.executor import Report
from cede.model.errors import CedeError

MOST_BYTES = 16 * 1024
"""Of one message, and of its headers."""
STOP_S = 0.5
MOST_STREAMS = 16
"""Of one connection: an application needs one for hints, and one for each call under way."""
OPTIONS = [
    ("grpc.max_concurrent_streams", MOST_STREAMS),
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_metadata_size", MOST_BYTES),
    ("grpc.so_reuseport", 0),
]

Key = tuple[str, int]
Stream = asyncio.Queue[pb.Notice | None]
"""Notices on their way to one member; None ends it."""


class Broker:
    """One thread, whatever the number of applications. Orders may come before `open`: they wait until the application
    registers.

    Every method may be called from any thread.
    """

    def __init__(
        self, report: Report, secret: bytes, owners: Owners = tuple, files: AttemptFiles | None = None
    ) -> None:
        """`owners` tells whose jobs are under way: only those accounts, and this one, may connect."""
        self._owners = owners
        self._secret = secret
        self._calls = Calls(secret, report, files)
        self._streams: dict[Key, dict[int, Stream]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    def open(self, folder: Path, *, shared: bool = False) -> str:
        """The address for CEDE_BROKER, the same in every run: a unix socket in the data directory, or loopback where
        its path would be too long. `shared`: jobs run under other accounts, and must reach it."""
        ready: Future[str] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(folder, shared, ready)), name="cede-broker", daemon=True
        )
        self._thread.start()
        return ready.result()

    def close(self) -> None:
        """Applications notice, and come back when there is a server again."""
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._loop = None

    def token(self, name: str, attempt: int) -> str:
        """For CEDE_BROKER_TOKEN."""
        return token(self._secret, name, attempt)

    def hint(self, order: Hint) -> None:
        """Every member of the attempt hears of it: at once, and again when it registers, until it is answered.

        The same order again is not told again, unless it has another deadline.
        """
        with self._calls.lock:
            news = self._calls.attempts.ask(order)
        if news:
            self._tell(order.name, order.attempt, _notice(order))

    def granted(self, name: str, attempt: int, hint: int, seconds: float) -> None:
        """Tell how much deferral was granted, of what was asked; 0: none."""
        self._tell(name, attempt, pb.Notice(grant=pb.Grant(hint=hint, seconds=seconds)))

    def outstanding(self) -> list[Hint]:
        """Hints that are not answered yet."""
        with self._calls.lock:
            return self._calls.attempts.every_outstanding()

    def estimate(self, name: str, attempt: int) -> Estimate:
        """What the application said of its checkpoints."""
        with self._calls.lock:
            return self._calls.attempts.estimate(name, attempt)

    def ended(self, name: str, attempt: int, member: int) -> None:
        """A member of a gang ended well: no answer of it is waited for."""
        self._calls.ended(name, attempt, member)

    def forget(self, name: str, attempt: int) -> None:
        """The attempt is over."""
        self._calls.forget(name, attempt)
        self._tell(name, attempt, None)

    def _tell(self, name: str, attempt: int, notice: pb.Notice | None) -> None:
        def put() -> None:
            for stream in self._streams.get((name, attempt), {}).values():
                stream.put_nowait(notice)

        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(put)

    async def _serve(self, folder: Path, shared: bool, ready: Future[str]) -> None:
        try:
            own = inner_socket(folder)
            own.unlink(missing_ok=True)
            server = grpc.aio.server(options=OPTIONS)
            server.add_generic_rpc_handlers((self._handler(),))
            server.add_insecure_port(f"unix:{own}")
            await server.start()
            own.chmod(0o600)
            listener = Listener(own, self._owners)
            path = socket_in(folder)
            address = await (listener.open_port(folder) if path is None else listener.open_at(path, shared=shared))
        except BaseException as error:
            ready.set_exception(error)
            return
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        ready.set_result(address)
        await self._stop.wait()
        for streams in self._streams.values():
            for stream in streams.values():
                stream.put_nowait(None)
        await listener.close()
        await server.stop(STOP_S)
        own.unlink(missing_ok=True)
        if own.parent != folder.absolute():
            own.parent.rmdir()

    def _handler(self) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            name: grpc.unary_unary_rpc_method_handler(
                self._take,
                request_deserializer=kind.FromString,
                response_serializer=pb.Noted.SerializeToString,
            )
            for name, kind in REQUESTS.items()
        }
        methods["Hints"] = grpc.unary_stream_rpc_method_handler(
            self._hints,
            request_deserializer=pb.Member.FromString,
            response_serializer=pb.Notice.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _take(self, request: Request, context: grpc.aio.ServicerContext[Any, Any]) -> pb.Noted:
        """An application that is told that its answer was noted may exit at once: so it must be in the store by
        then."""
        try:
            stored = self._calls.take(request)
            if isinstance(stored, Future):
                await asyncio.shield(asyncio.wrap_future(stored))
        except RefusedError as error:
            await context.abort(error.code, error.why)
        except CedeError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        return pb.Noted()

    async def _hints(self, request: pb.Member, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[pb.Notice]:
        try:
            sender = self._calls.sender(request)
        except RefusedError as error:
            await context.abort(error.code, error.why)
        key = (sender.name, sender.attempt)
        stream = Stream()
        streams = self._streams.setdefault(key, {})
        if sender.member in streams:
            streams[sender.member].put_nowait(None)  # it lost its connection and has come back
        streams[sender.member] = stream
        try:
            with self._calls.lock:
                known = self._calls.attempts.is_registered(sender)
                outstanding = self._calls.attempts.outstanding(*key)
            if not known:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "register first")
            if outstanding is not None:
                yield _notice(outstanding)
            while (notice := await stream.get()) is not None:
                yield notice
        finally:
            if streams.get(sender.member) is stream:
                del streams[sender.member]
            if not streams and self._streams.get(key) is streams:
                del self._streams[key]


def _notice(order: Hint) -> pb.Notice:
    return pb.Notice(hint=pb.Hint(hint=order.hint, leaving=order.leaving, deadline_us=order.deadline or 0))
