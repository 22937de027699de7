"""A client of the broker without `cede.checkpoint`, which may say anything."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc

from cede.checkpoint.wire import checkpoint_pb2 as pb
from cede.checkpoint.wire.methods import REQUESTS, path


class Client:
    """One connection, which speaks for whoever it is told to."""

    def __init__(self, address: str) -> None:
        own = ("grpc.use_local_subchannel_pool", 1)  # or equal channels of one process share a connection
        self._channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0), own])
        self._streams: list[Any] = []

    def call(self, name: str, request: Any) -> grpc.StatusCode:
        """The code that the call ends with."""
        made = self._channel.unary_unary(
            path(name),
            request_serializer=REQUESTS[name].SerializeToString,
            response_deserializer=pb.Noted.FromString,
        )
        going = made.future(request, timeout=300, wait_for_ready=True)
        with suppress(grpc.RpcError):
            going.result()
        return going.code()

    def hints(self, member: pb.Member) -> "Stream":
        stream = self._channel.unary_stream(
            path("Hints"), request_serializer=pb.Member.SerializeToString, response_deserializer=pb.Notice.FromString
        )(member, wait_for_ready=True)
        self._streams.append(stream)
        return Stream(stream)

    def close(self) -> None:
        for stream in self._streams:
            stream.cancel()
        self._channel.close()


class Stream:
    """What has come on a stream so far."""

    def __init__(self, stream: Any) -> None:
        self.notices: list[pb.Notice] = []
        self.code: grpc.StatusCode | None = None
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def numbers(self) -> list[int]:
        """The hints among them."""
        return [notice.hint.hint for notice in self.notices if notice.WhichOneof("about") == "hint"]

    def _read(self) -> None:
        with suppress(grpc.RpcError):
            self.notices.extend(self._stream)
        self.code = self._stream.code()


@contextmanager
def connected(address: str) -> Iterator[Client]:
    client = Client(address)
    try:
        yield client
    finally:
        client.close()
