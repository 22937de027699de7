"""Connections: how many there may be, of whom, and how long one may take to say what it wants.

Every connection takes a file of the process, so there are fewer than the process may open. This machine has a share of
its own, the larger one. Half of a share is for strangers, who have shown no token yet: when it is full, a newcomer
takes the place of the oldest of the address that has the most, so that connections which say nothing keep nobody out.
The other half is for those whose token is known.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from contextlib import suppress
from typing import Any, Protocol

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from cede.live.api.problems import refusal
from cede.live.api.rules import FULL, MANY_LINES
from cede.live.api.wrong_tokens import LOOPBACK, address_of
from cede.live.store.records import Token

MOST = 4096
LEAST = 20
HEAD_WITHIN_S = 10.0
"""From the beginning of a connection, or the first byte of another request, to the end of its headers."""
MOST_HEAD = 16 * 1024
"""Bytes of a request's line and headers."""
KEPT_FOR_S = 5
"""A connection without a request."""
HANDSHAKE_WITHIN_S = 10.0
TLS_BUFFER = 16 * 1024
"""Bytes of what has come over TLS that a connection holds: as many as one record has. asyncio takes 256 KiB for each
connection as soon as it is there, which is a gigabyte for 4096 silent strangers."""
UNREAD_FOR_MS = 120_000
"""A peer that takes nothing of what is sent to it for this long is gone."""


def connection_limit(wanted: int | None) -> int:
    """How many connections there may be: half of the files that the process may open at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MOST if soft == resource.RLIM_INFINITY else soft // 2
    return max(LEAST, min(wanted or MOST, allowed))


class Connection(Protocol):
    """A connection as `ConnectionLimits` sees it."""

    @property
    def idle(self) -> bool:
        """Whether no request is under way."""

    def drop(self) -> None:
        """Close it at once."""


class Share:
    """The connections of this machine, or of all others."""

    def __init__(self, most: int, of_address: float) -> None:
        self.most_strangers = max(1, most // 2)
        self.most_known = max(1, most - self.most_strangers)
        self.most_of_address = max(2, int(self.most_strangers * of_address))
        self.most_of_token = max(2, self.most_known // 2)
        self._strangers: dict[Connection, str] = {}
        self._known: dict[Connection, int] = {}
        self._addresses: Counter[str] = Counter()
        self._tokens: Counter[int] = Counter()

    def enter(self, connection: Connection, address: str) -> None:
        """A newcomer without a token; if there is no room, the oldest of the most crowded address is dropped."""
        if self._addresses[address] >= self.most_of_address:
            self._drop_oldest(address)
        elif len(self._strangers) >= self.most_strangers:
            self._drop_oldest(max(self._addresses.items(), key=lambda one: (one[1], one[0]))[0])
        self._strangers[connection] = address
        self._addresses[address] += 1

    def know(self, connection: Connection, token: int) -> None:
        """Its token is known now; a refusal if there are too many connections with it, or in all, and none is idle."""
        if self._known.get(connection) == token:
            return
        self.leave(connection)
        if self._tokens[token] >= self.most_of_token and not self._drop_idle(token):
            raise refusal(429, MANY_LINES, most=self.most_of_token)
        if len(self._known) >= self.most_known:
            crowd = max(self._tokens.items(), key=lambda one: (one[1], one[0]))[0]
            if not self._drop_idle(crowd) and not any(self._drop_idle(other) for other in list(self._tokens)):
                raise refusal(503, FULL, most=self.most_known)
        self._known[connection] = token
        self._tokens[token] += 1

    def leave(self, connection: Connection) -> None:
        if (address := self._strangers.pop(connection, None)) is not None:
            self._addresses[address] -= 1
            self._addresses += Counter()  # addresses and tokens without any are forgotten
        if (token := self._known.pop(connection, None)) is not None:
            self._tokens[token] -= 1
            self._tokens += Counter()

    def _drop_oldest(self, address: str) -> None:
        oldest = next(connection for connection, other in self._strangers.items() if other == address)
        self._drop(oldest)

    def _drop_idle(self, token: int) -> bool:
        idle = next(
            (connection for connection, other in self._known.items() if other == token and connection.idle), None
        )
        if idle is not None:
            self._drop(idle)
        return idle is not None

    def _drop(self, connection: Connection) -> None:
        self.leave(connection)
        connection.drop()


class ConnectionLimits:
    """All connections of one server. Only the event loop touches it."""

    def __init__(self, most: int) -> None:
        here = most * 3 // 5
        self._here = Share(here, 1.0)
        self._others = Share(most - here, 0.25)

    def share(self, address: str) -> Share:
        return self._here if address == LOOPBACK else self._others


class HttpConnection(H11Protocol):
    """One connection: counted from the moment it is accepted, and with little time for its headers, each time anew."""

    def __init__(
        self,
        limits: ConnectionLimits,
        tls: ssl.SSLContext | None,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state | {"connection": self}, _loop)
        self._limits = limits
        self._tls = tls
        self._raw: asyncio.Transport | None = None
        self._share: Share | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._head: asyncio.TimerHandle | None = None
        self._begun = False
        self._early = b""
        """What came with the end of the handshake, before anybody could take it."""

    # -- what the limits ask -------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        under_way: RequestResponseCycle | None = self.cycle
        return under_way is None or under_way.response_complete

    def drop(self) -> None:
        self._give_up_handshake()
        if self._raw is not None:
            self._raw.abort()

    def known(self, token: Token) -> None:
        """The peer has shown this token; a refusal if there are too many connections with it."""
        if self._share is not None:
            self._share.know(self, token.id)

    # -- the connection ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        self._raw = transport
        peer = transport.get_extra_info("peername")
        address = address_of(peer[0] if peer else None)
        self._share = self._limits.share(address)
        self._share.enter(self, address)
        _detect_dead_peers(transport.get_extra_info("socket"))
        if self._tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._handshake = self.loop.create_task(self._secure(transport, self._tls))

    async def _secure(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        with suppress(OSError, asyncio.CancelledError):
            secured = await self.loop.start_tls(
                transport, self, tls, server_side=True, ssl_handshake_timeout=HANDSHAKE_WITHIN_S
            )
            if secured is not None:
                self._begin(secured)
                return
        self._leave()
        transport.abort()

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._begun = True
        self._wait_for_head()
        if self._early:
            early, self._early = self._early, b""
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            self._early += data
            return
        super().data_received(data)
        if self.idle and not self.transport.is_closing() and self.timeout_keep_alive_task is None:
            self._wait_for_head()
        elif not self.idle:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up_handshake()
        self._leave()
        if self._begun:  # it may be lost before it is secured
            super().connection_lost(exc)

    def _give_up_handshake(self) -> None:
        """A handshake over a lost connection would keep its memory until it times out."""
        if self._handshake is not None:
            self._handshake.cancel()

    def _leave(self) -> None:
        self._stop_waiting()
        if self._share is not None:
            self._share.leave(self)

    def _wait_for_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(HEAD_WITHIN_S, self.drop)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def _detect_dead_peers(line: socket.socket | None) -> None:
    """A peer that is gone, or takes nothing any more, is noticed by the kernel."""
    if line is not None:
        with suppress(OSError):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_FOR_MS)


def tls_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """What a server needs to speak TLS 1.2 or newer; an OSError says what is wrong with the files."""
    SSLProtocol.max_size = TLS_BUFFER
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context
