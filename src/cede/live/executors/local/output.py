"""What a member wrote to both streams, put together again by the order that its supervisor noted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from cede.live.executors.executor import OutputPage, Piece
from cede.live.executors.local.guard.output_order import ORDER, RECORD
from cede.live.executors.local.logs import MOST, STREAMS, TRIES, file_parts, is_still, open_file

AT_ONCE = 1024


class Mark(NamedTuple):
    """From here on one stream was written; `out` and `err` had this many bytes by then."""

    at: int
    stream: int
    positions: tuple[int, int]


def read_output(folder: Path, offset: int, limit: int, ended: bool) -> OutputPage:
    """The bytes of both from `offset`, which counts those of both. `ended`: nothing writes any more.

    Of what nobody noted the order, because there was no room for it or it is too old, `out` comes first; of one that
    runs still, `err` of that comes when it has ended, so that no byte changes its place.
    """
    limit = max(0, min(limit, MOST))
    with ExitStack() as stack:
        # Before the order: of every byte that is counted here there is a mark then.
        files = [file_parts(folder, stream, stack) for stream in STREAMS]
        first = [min((start for start, _, _ in parts), default=0) for parts in files]
        ends = [max((start + size for start, size, _ in parts), default=0) for parts in files]
        at = start = min(max(0, offset), sum(ends))
        pieces: list[Piece] = []
        for mark, stream, begins, reaches, position in _stretches(_marks(folder, at, stack), ends, ended):
            skipped = max(at - position, first[stream] - begins, 0)
            if begins + skipped >= reaches:
                continue
            if position + skipped > at:
                if pieces:  # what comes between is gone
                    break
                at = start = position + skipped
            wanted = min(reaches - begins - skipped, limit - (at - start))
            data = _bytes(files[stream], begins + skipped, wanted)
            if data:
                pieces.append(Piece(mark.at, STREAMS[stream], data))
            at += len(data)
            if len(data) < reaches - begins - skipped:
                break
        else:
            if ended and not pieces:  # the rest of it is gone, or there is none
                at = start = max(at, sum(ends))
    return OutputPage(tuple(pieces), start, at, ended and at >= sum(ends))


def _stretches(marks: Iterator[Mark], ends: list[int], ended: bool) -> Iterator[tuple[Mark, int, int, int, int]]:
    """Where each stream goes on: its mark, the stream, from which byte to which, and where that is in both together."""
    mark = next(marks)
    while True:
        following = next(marks, None)
        reaches = tuple(ends) if following is None else following.positions
        stream, other = mark.stream, 1 - mark.stream
        known = min(reaches[stream], ends[stream])
        yield mark, stream, mark.positions[stream], known, sum(mark.positions)
        if known < reaches[stream] or (following is None and not ended):
            return
        # Nobody noted when these came: only that it was before the next mark.
        known_other = min(reaches[other], ends[other])
        yield mark, other, mark.positions[other], known_other, reaches[stream] + mark.positions[other]
        if following is None or known_other < reaches[other]:
            return
        mark = following


def _marks(folder: Path, offset: int, stack: ExitStack) -> Iterator[Mark]:
    """The marks from the one that `offset` lies behind, at least one."""
    paths = [folder / f"{ORDER}.log.1", folder / f"{ORDER}.log"]
    fds: list[int] = []
    for _ in range(TRIES):
        opened = [open_file(path, stack) for path in paths]
        fds = [fd for fd in opened if fd is not None]
        if all(is_still(path, fd) for path, fd in zip(paths, opened, strict=True)):
            break
    counts = [os.fstat(fd).st_size // RECORD.size for fd in fds]

    def read(index: int, count: int) -> list[Mark]:
        made: list[Mark] = []
        for fd, size in zip(fds, counts, strict=True):
            here = min(count - len(made), size - index)
            if here > 0:
                text = os.pread(fd, here * RECORD.size, index * RECORD.size)
                made += [Mark(when >> 1, when & 1, (out, err)) for when, out, err in RECORD.iter_unpack(text)]
            index = max(0, index - size)
        return made

    low, high = 0, sum(counts)  # the first of those that begin behind the offset
    while low < high:
        middle = (low + high) // 2
        if sum(read(middle, 1)[0].positions) <= offset:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        first = read(0, 1)
        yield Mark(first[0].at if first else 0, 0, (0, 0))
    index = max(0, low - 1)
    while marks := read(index, AT_ONCE):
        yield from marks
        index += len(marks)


def _bytes(parts: list[tuple[int, int, int]], begins: int, count: int) -> bytes:
    data = b""
    for start, size, fd in parts:
        at = begins + len(data)
        if start <= at < start + size and len(data) < count:
            data += os.pread(fd, min(count - len(data), start + size - at), at - start)
    return data
