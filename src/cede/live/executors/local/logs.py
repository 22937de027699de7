"""Pages of a log that is being written and rotated meanwhile."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from cede.live.executors.executor import LogPage

STREAMS = ("out", "err")
MOST = 1 << 20
TRIES = 20


def read_page(folder: Path, stream: str, offset: int, limit: int, ended: bool) -> LogPage:
    """The bytes from `offset`, at most `limit`, as far as they are still there. `ended`: nothing writes any more."""
    if stream not in STREAMS:
        raise ValueError(f"{stream!r} is no stream; there are out and err")
    offset, limit = max(0, offset), max(0, min(limit, MOST))
    with ExitStack() as stack:
        parts = file_parts(folder, stream, stack)
        end = max((start + size for start, size, _ in parts), default=0)
        first = min((start for start, _, _ in parts), default=0)
        at = start = min(max(offset, first), end)
        data = b""
        for begins, size, fd in parts:
            if begins <= at < begins + size and len(data) < limit:
                piece = os.pread(fd, min(limit - len(data), begins + size - at), at - begins)
                data += piece
                at += len(piece)
    return LogPage(data, start, at, ended and at >= end)


def file_parts(folder: Path, stream: str, stack: ExitStack) -> list[tuple[int, int, int]]:
    """Where each file begins, its size and a descriptor, the older first: all seen at one moment.

    The note NAME.at names one of the two by its inode. What was seen while the files changed places is looked at again.
    """
    paths = [folder / f"{stream}.log.1", folder / f"{stream}.log"]
    older: int | None = None
    newer: int | None = None
    for _ in range(TRIES):
        older, newer = (open_file(path, stack) for path in paths)
        inode, before = _note(folder / f"{stream}.at")
        if all(is_still(path, fd) for path, fd in zip(paths, (older, newer), strict=True)):
            size = os.fstat(older).st_size if older is not None else 0
            if inode is None or (older is not None and os.fstat(older).st_ino == inode):
                return _places((older, before), (newer, before + size))
            if newer is not None and os.fstat(newer).st_ino == inode:
                return _places((older, before - size), (newer, before))
    return _places((newer, 0))


def _places(*files: tuple[int | None, int]) -> list[tuple[int, int, int]]:
    return [(begins, os.fstat(fd).st_size, fd) for fd, begins in files if fd is not None]


def open_file(path: Path, stack: ExitStack) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    stack.callback(os.close, fd)
    return fd


def is_still(path: Path, fd: int | None) -> bool:
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return fd is None
    return fd is not None and os.path.samestat(status, os.fstat(fd))


def _note(path: Path) -> tuple[int | None, int]:
    try:
        inode, before = path.read_text().split()
    except (FileNotFoundError, ValueError):
        return None, 0
    return int(inode), int(before)
