"""The bytes a workload wrote: of one attempt, of all that are still to come, or the last lines of them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cede.live.client import Client


@dataclass(frozen=True, slots=True)
class Wanted:
    """One stream of one member; of the present attempt, if none is named."""

    name: str
    attempt: int | None = None
    member: int = 0
    stream: Literal["out", "err"] = "out"


def written(client: Client, wanted: Wanted, *, offset: int = 0, follow: bool = False) -> Iterator[bytes]:
    """What there is; with `follow` what comes too, until the attempt has ended."""
    return client.logs(
        wanted.name,
        attempt=wanted.attempt,
        member=wanted.member,
        stream=wanted.stream,
        offset=offset,
        follow=follow,
    )


def _tell_attempt(attempt: int) -> None:
    sys.stdout.flush()
    print(f"-- attempt {attempt} --", file=sys.stderr)


def followed(
    client: Client,
    wanted: Wanted,
    tail: int | None = None,
    between: Callable[[int], None] | None = _tell_attempt,
) -> Iterator[bytes]:
    """What comes until the workload has ended, attempt after attempt; only one if it is named.

    `between` is told of every attempt after the first.
    """
    attempt = wanted.attempt or max(1, client.job(wanted.name)["attempt"])
    first = attempt
    while _begins(client, wanted.name, attempt):
        if attempt > first and between is not None:
            between(attempt)
        this = replace(wanted, attempt=attempt)
        yield from written(client, this, follow=True) if tail is None else _from_the_last(client, this, tail)
        if wanted.attempt is not None:
            return
        attempt, tail = attempt + 1, None


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


def _from_the_last(client: Client, wanted: Wanted, count: int) -> Iterator[bytes]:
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
        found = [*self._kept, *([self._open] if self._open else [])]
        yield from found[max(0, len(found) - self._count) :]
