"""The listener in front of the broker: it checks the peer's account and the number of connections, then proxies.

gRPC does not tell which account a peer has, and takes connections without end. So the socket that applications know is
held here: the kernel says whose process it is, and what it sends is passed on to the broker's own socket. Both stay at
the same place in every run of the server, for applications that outlive one.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from cede.checkpoint.files import replace

SOCKET = "broker.sock"
INNER_SOCKET = "broker.own"
"""The broker's own socket, behind the listener that applications know."""
PORT = "broker.port"
LOOPBACK = "127.0.0.1"
LONGEST = 107
"""Bytes that the path of a unix socket may have."""

MOST = 2048
AT_ONCE = 65536
TURNS = 5
"""A connection needs fewer turns of the loop than this from being accepted to being seen, or from abort to closed."""
OWNERS_FOR_S = 1.0
"""Whether somebody owns a job is not looked up again for so long."""
_CREDENTIALS = struct.Struct("3i")
Owners = Callable[[], Collection[int]]
"""The ids of the accounts whose jobs are under way."""


def line_limit() -> int:
    """How many applications may be connected: each takes two files here, and one of the broker's."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(16, min(MOST, soft // 8))


class Listener:
    """Takes connections at one address and passes them on to a socket that only this account can open."""

    def __init__(self, inner_socket: Path, owners: Owners, most: int | None = None) -> None:
        self._inner_socket = inner_socket
        self._owners = owners
        self._most = line_limit() if most is None else most
        self._known: frozenset[int] = frozenset()
        self._looked: dict[int, float] = {}
        self._open: Counter[int] = Counter()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    async def open_at(self, path: Path, *, shared: bool) -> str:
        """The address of a unix socket."""
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._arrived, str(path), limit=AT_ONCE)
        path.chmod(0o666 if shared else 0o600)
        return f"unix:{path}"

    async def open_port(self, folder: Path) -> str:
        """The address of a port of this machine, where the path of a socket would be too long."""
        try:
            server = await asyncio.start_server(self._arrived, LOOPBACK, saved_port(folder), limit=AT_ONCE)
        except OSError:  # somebody else has it now
            server = await asyncio.start_server(self._arrived, LOOPBACK, 0, limit=AT_ONCE)
        self._server = server
        port = server.sockets[0].getsockname()[1]
        save_port(folder, port)
        return f"{LOOPBACK}:{port}"

    async def close(self) -> None:
        """No connection is accepted any more, and open ones are closed."""
        self._closing = True
        if self._server is not None:
            # asyncio loses a connection whose server closes between its acceptance and its first callback
            for line in self._server.sockets:
                asyncio.get_running_loop().remove_reader(line.fileno())
            await _turns()
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await _turns()

    def _arrived(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Each connection is a task of its own; however that ends, also before it began, the connection is closed."""
        if self._closing:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._take(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whose = owner_of(writer.get_extra_info("socket"))
        try:
            if whose is not None and await self._admits(whose):
                self._open[whose] += 1
                try:
                    await self._pass_on(reader, writer)
                finally:
                    self._open[whose] -= 1
                    self._open += Counter()
        finally:
            await _closed(writer)

    async def _admits(self, whose: int) -> bool:
        """Whether it owns a job, or is the server's own account, and leaves room for others."""
        share = self._most if whose == os.geteuid() else max(1, self._most // 2)
        if self._open.total() >= self._most or self._open[whose] >= share:
            return False
        if whose == os.geteuid():
            return True
        now = time.monotonic()
        if now - self._looked.get(whose, -OWNERS_FOR_S) >= OWNERS_FOR_S:
            if len(self._looked) > self._most:
                self._looked.clear()
            self._looked[whose] = now
            self._known = frozenset(await asyncio.to_thread(self._owners))
        return whose in self._known

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_unix_connection(str(self._inner_socket), limit=AT_ONCE)
        except OSError:
            return  # the broker is stopping
        both = [
            asyncio.create_task(_copy(reader, inner_writer)),
            asyncio.create_task(_copy(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await _closed(inner_writer)


async def _turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.CancelledError):
        while data := await reader.read(AT_ONCE):
            writer.write(data)
            await writer.drain()


def owner_of(line: socket.socket) -> int | None:
    """The id of the account whose process is at the other end, as the kernel has it; none if it does not say."""
    if line.family == socket.AF_UNIX:
        credentials = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(credentials)[1])
    with suppress(OSError):
        return _owner_of_port(line.getpeername(), line.getsockname())
    return None


def _owner_of_port(theirs: tuple[str, int], ours: tuple[str, int]) -> int | None:
    """Whose socket of this machine is connected from there to here."""
    wanted = [_hexed(*theirs), _hexed(*ours)]
    with Path("/proc/net/tcp").open(encoding="ascii") as table:
        for row in table:
            columns = row.split()
            if columns[1:3] == wanted:
                return int(columns[7])
    return None


def _hexed(host: str, port: int) -> str:
    """An address as the kernel's table writes it."""
    return f"{int.from_bytes(socket.inet_aton(host), 'little'):08X}:{port:04X}"


def socket_in(folder: Path) -> Path | None:
    """The unix socket of this data directory; none if its path is too long for one."""
    path = folder.absolute() / SOCKET
    return path if len(bytes(path)) <= LONGEST else None


def inner_socket(folder: Path) -> Path:
    """A socket that only this account can open: in the data directory, or in a short one where that is too deep."""
    path = folder.absolute() / INNER_SOCKET
    if len(bytes(path)) <= LONGEST:
        return path
    return Path(tempfile.mkdtemp(prefix="cede-")) / INNER_SOCKET


def saved_port(folder: Path) -> int:
    """The port of the last run, or 0: any."""
    with suppress(OSError, ValueError):
        return int((folder / PORT).read_text(encoding="ascii"))
    return 0


def save_port(folder: Path, port: int) -> None:
    replace(folder / PORT, str(port).encode(), mode=0o600)
