"""Who may come to the broker: applications of those who own jobs, so many at a time."""

import asyncio
import fcntl
import gc
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cede.live.broker.listener import Listener, owner_of
from cede.live.data_directory import DataDirectory
from cede.model.errors import CedeError

NOBODY = 65534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")


def as_account(uid: int, act: Callable[[], bytes]) -> bytes:
    """What this returns to a process of that account; the name of the error if it fails."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setuid(uid)
            os.write(write, act())
        except OSError as error:
            os.write(write, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read()


def says_hello(path: Path) -> bytes:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(60)
        line.connect(str(path))
        line.sendall(b"hello")
        return line.recv(100)


def takes_lock(path: Path) -> bytes:
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    return b"taken"


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every account can pass through, as a server's that is root."""
    with tempfile.TemporaryDirectory(prefix="cede-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@asynccontextmanager
async def guarded(folder: Path, owners: Iterable[int] = (), most: int | None = None) -> AsyncIterator[Path]:
    """An entrance, and something behind it that says again what it hears. At the end nothing is open."""
    ended: list[asyncio.Task[None]] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.current_task())  # type: ignore[arg-type]  # there is one
        while data := await reader.read(100):
            writer.write(data)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    inner_socket = await asyncio.start_unix_server(echo, str(folder / "behind"))
    listener = Listener(folder / "behind", lambda: tuple(owners), most)
    await listener.open_at(folder / "front", shared=True)
    try:
        yield folder / "front"
    finally:
        await listener.close()
        await asyncio.gather(*ended)
        inner_socket.close()


async def asked(folder: Path, owners: tuple[int, ...], user: int) -> bytes:
    """What a process of this account hears that says hello at the entrance."""
    async with guarded(folder, owners) as front:
        return await asyncio.to_thread(as_account, user, lambda: says_hello(front))


@ROOT_ONLY
@pytest.mark.parametrize(("owners", "heard"), [((), False), ((NOBODY,), True), ((NOBODY + 1,), False)])
def test_an_account_without_a_job_is_not_let_in(folder: Path, owners: tuple[int, ...], heard: bool) -> None:
    assert (asyncio.run(asked(folder, owners, NOBODY)) == b"hello") is heard


@ROOT_ONLY
def test_an_account_whose_jobs_are_over_is_not_let_in_any_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cede.live.broker.listener.OWNERS_FOR_S", 0.0)
    owners = [NOBODY]

    async def twice() -> tuple[bytes, bytes]:
        async with guarded(folder, owners) as front:
            during = await asyncio.to_thread(as_account, NOBODY, lambda: says_hello(front))
            owners.clear()
            return during, await asyncio.to_thread(as_account, NOBODY, lambda: says_hello(front))

    during, after = asyncio.run(twice())
    assert (during, after == b"hello") == (b"hello", False)


def test_the_servers_own_account_is_let_in(folder: Path) -> None:
    assert asyncio.run(asked(folder, (), os.geteuid())) == b"hello"


@pytest.mark.parametrize("turns", range(8))
def test_a_connection_that_arrives_while_the_entrance_closes_is_closed(folder: Path, turns: int) -> None:
    async def closing(line: socket.socket) -> None:
        async with guarded(folder) as front:
            line.connect(str(front))
            for _ in range(turns):
                await asyncio.sleep(0)

    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(60)
        asyncio.run(closing(line))
        with suppress(ConnectionResetError):
            assert line.recv(1) == b""
    gc.collect()  # what was left open would be said here, and fail the test


def test_no_more_come_in_than_there_is_room_for(folder: Path) -> None:
    async def crowd() -> list[bytes]:
        async with guarded(folder, most=3) as front:
            lines = [await asyncio.open_unix_connection(str(front)) for _ in range(5)]
            for _, writer in lines:
                writer.write(b"hello")
            heard = [await asyncio.wait_for(_heard(reader), 60) for reader, _ in lines]
            for _, writer in lines:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
            return heard

    heard = asyncio.run(crowd())
    assert sorted(heard) == [b"", b"", b"hello", b"hello", b"hello"]


async def _heard(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(100)
    except ConnectionError:
        return b""


def test_the_kernel_says_whose_a_connection_of_this_machine_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        theirs, _ = listener.accept()
        assert owner_of(theirs) == os.geteuid()
        theirs.close()


@ROOT_ONLY
def test_a_job_cannot_take_the_servers_lock(folder: Path) -> None:
    (folder / "server.lock").touch(mode=0o644)
    place = DataDirectory.take(folder)
    place.leave()

    assert as_account(NOBODY, lambda: takes_lock(folder / "server.lock")) == b"PermissionError"
    DataDirectory.take(folder).leave()


def test_the_servers_own_files_are_for_its_account_alone(folder: Path) -> None:
    for name in ("server.lock", "cede.db", "broker.port"):
        (folder / name).touch(mode=0o644)
    (folder / "notes.txt").touch(mode=0o644)

    place = DataDirectory.take(folder)
    with pytest.raises(CedeError, match="is using it already"):
        DataDirectory.take(folder)
    place.leave()

    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert modes == {"server.lock": 0o600, "cede.db": 0o600, "broker.port": 0o600, "notes.txt": 0o644}
