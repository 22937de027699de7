"""What a workload wrote: of one attempt, of all that are still to come, or its last lines; of one member or of all."""

from __future__ import annotations

import heapq
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from cede.live.client import Client
    from cede.live.client.client import Piece

LEAST_PAGE, MOST_PAGE = 4096, 2**20
MOST_AT_ONCE = 2**23
"""Bytes that are asked for at a time, of all members together."""
LEAST_PAUSE_S, MOST_PAUSE_S = 0.1, 1.0
"""Between two looks at what all members wrote."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What one member wrote, to one stream or both; of the present attempt, if none is named."""

    name: str
    attempt: int | None = None
    member: int = 0
    stream: Literal["out", "err", "both"] = "both"


class Line(NamedTuple):
    """One line of one member, without its end."""

    member: int
    stream: str
    data: bytes


def written(client: Client, wanted: LogQuery, *, offset: int = 0, follow: bool = False) -> Iterator[bytes]:
    """What there is; with `follow` what comes too, until the attempt has ended."""
    return client.logs(
        wanted.name,
        attempt=wanted.attempt,
        member=wanted.member,
        stream=wanted.stream,
        offset=offset,
        follow=follow,
    )


def pieces(client: Client, name: str) -> Iterator[Piece]:
    """What a workload of one member writes until it has ended, in order."""
    for attempt in attempts(client, name):
        yield from client.output(name, attempt=attempt, follow=True)


def lines_of_all(
    client: Client, name: str, members: int, attempt: int | None, streams: Collection[str], *, follow: bool
) -> Iterator[Line]:
    """The lines of all members, each as it is complete, in the order in which they were written.

    With `follow` those that come too, until the attempt that is named has ended, or the workload.
    """
    if not follow:
        limit = min(MOST_PAGE, max(LEAST_PAGE, MOST_AT_ONCE // members))
        pieces = [
            _of_member(client.output(name, attempt=attempt, member=one, limit=limit), one) for one in range(members)
        ]
        yield from _whole_lines(heapq.merge(*pieces, key=lambda one: one[1].at), streams)
        return
    for one in attempts(client, name) if attempt is None else (attempt,):
        yield from _whole_lines(_as_they_come(client, name, members, one), streams)


def prefixed(line: Line, members: int) -> bytes:
    """The line behind the number of its member, all numbers equally wide."""
    return b"[%s] %s\n" % (str(line.member).rjust(len(str(members - 1))).encode(), line.data)


def _of_member(pieces: Iterator[Piece], member: int) -> Iterator[tuple[int, Piece]]:
    return ((member, piece) for piece in pieces)


def _as_they_come(client: Client, name: str, members: int, attempt: int) -> Iterator[tuple[int, Piece]]:
    """Every member is asked in turn; those that have ended no more."""
    offsets = dict.fromkeys(range(members), 0)
    pause_s = LEAST_PAUSE_S
    while offsets:
        news: list[tuple[int, Piece]] = []
        for member, offset in list(offsets.items()):
            more, offsets[member], ended = client.output_page(name, attempt, member, offset)
            news += [(member, piece) for piece in more]
            if ended:
                del offsets[member]
        yield from sorted(news, key=lambda one: one[1].at)
        pause_s = LEAST_PAUSE_S if news else min(MOST_PAUSE_S, pause_s * 1.5)
        if offsets:
            time.sleep(pause_s)


def _whole_lines(pieces: Iterable[tuple[int, Piece]], streams: Collection[str]) -> Iterator[Line]:
    begun: dict[tuple[int, str], bytes] = {}
    for member, piece in pieces:
        if piece.stream in streams:
            *whole, rest = (begun.pop((member, piece.stream), b"") + piece.data).split(b"\n")
            yield from (Line(member, piece.stream, line) for line in whole)
            if rest:
                begun[member, piece.stream] = rest
    yield from (Line(member, stream, rest) for (member, stream), rest in begun.items())


def _tell_attempt(attempt: int) -> None:
    sys.stdout.flush()
    print(f"-- attempt {attempt} --", file=sys.stderr)


def followed(
    client: Client,
    wanted: LogQuery,
    tail: int | None = None,
    between: Callable[[int], None] | None = _tell_attempt,
) -> Iterator[bytes]:
    """What comes until the workload has ended, attempt after attempt; only one if it is named.

    `between` is told of every attempt after the first.
    """
    for attempt in attempts(client, wanted.name, between) if wanted.attempt is None else (wanted.attempt,):
        this = replace(wanted, attempt=attempt)
        yield from written(client, this, follow=True) if tail is None else _from_the_last(client, this, tail)
        tail = None


def attempts(client: Client, name: str, between: Callable[[int], None] | None = _tell_attempt) -> Iterator[int]:
    """The present attempt, or the first, and every one that begins after it, until the workload has ended."""
    first = attempt = max(1, client.job(name)["attempt"])
    while _begins(client, name, attempt):
        if attempt > first and between is not None:
            between(attempt)
        yield attempt
        attempt += 1


def _begins(client: Client, name: str, attempt: int) -> bool:
    """Waits until the attempt has begun; whether it ever did."""
    from cede.model.lifecycle import FINAL

    # From its first event on, so that nothing can happen between looking and listening.
    for event in client.events(after=0, workload=name, follow=True):
        if event["attempt"] >= attempt:
            return True
        if event["after"] in FINAL and (job := client.job(name))["state"] in FINAL:
            return job["attempt"] >= attempt
    return False


def _from_the_last(client: Client, wanted: LogQuery, count: int) -> Iterator[bytes]:
    """The last lines there are now, then what comes."""
    size, kept = 0, _Lines(count)
    for piece in written(client, wanted):
        size += len(piece)
        kept.take(piece)
    yield from kept.lines()
    yield from written(client, wanted, offset=size, follow=True)


def last_lines(pieces: Iterable[bytes], count: int) -> Iterator[bytes]:
    """Only the last lines of all."""
    kept = _Lines(count)
    for piece in pieces:
        kept.take(piece)
    yield from kept.lines()


class _Lines:
    """The last lines of what it is given, and no more of it in memory."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: deque[bytes] = deque(maxlen=count)
        self._open = b""

    def take(self, piece: bytes) -> None:
        *whole, self._open = (self._open + piece).split(b"\n")
        self._kept.extend(line + b"\n" for line in whole)

    def lines(self) -> Iterator[bytes]:
        lines = [*self._kept, *([self._open] if self._open else [])]
        yield from lines[max(0, len(lines) - self._count) :]
