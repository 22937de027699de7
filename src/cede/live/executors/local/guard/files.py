"""Small JSON files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What a file system says that takes nothing at present; it may take something later."""

AGAIN_S = 1.0
"""How long to wait for room before the next try."""


def when_there_is_room(step: Callable[[], T]) -> T:
    """What it returns, however long it takes until the file system has room for it."""
    while True:
        try:
            return step()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            time.sleep(AGAIN_S)


def put(folder: str, name: str, value: dict[str, Any], *, durable: bool = True) -> None:
    """The file holds `value`. If durable, what is found under its name after a loss of power is never cut short."""
    temporary = os.path.join(folder, f".{name}.{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write(fd, value)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, os.path.join(folder, name))


def create(folder: str, name: str, value: dict[str, Any]) -> None:
    """There was no such file, and now it is there, even after a loss of power; or it cannot be, and is not.

    Made in place: to make it elsewhere and move it would have to wait for the disk twice.
    """
    path = os.path.join(folder, name)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _write(fd, value)
        os.fsync(fd)
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        raise
    finally:
        os.close(fd)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def get(folder: str, name: str) -> dict[str, Any] | None:
    """What the file holds; none if there is no such file. A file that was cut short holds nothing: {}."""
    try:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        text = os.read(fd, os.fstat(fd).st_size + 1)
    finally:
        os.close(fd)
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _write(fd: int, value: dict[str, Any]) -> None:
    text = json.dumps(value, separators=(",", ":")).encode()
    if os.write(fd, text) < len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
