"""Event streams: events on their way from the controller to every reader that follows them."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from cede.live.api.problems import refusal
from cede.live.api.rules import BUSY, CLOSED_CROWDED, CLOSED_SLOW, ONE_AT_A_TIME, WRONG_TOKEN
from cede.live.api.server import Scheduler
from cede.live.store.records import Event
from cede.model.rules import Rule

MOST_READERS = 200
MOST_OF_ONE = 20
MOST_UNREAD = 2000
"""Events that wait for one reader; one that is slower is sent away, and may come back where it was."""


class Reader:
    """One open stream, and the events that wait for it. Only the event loop touches it."""

    def __init__(self, caller: str = "", token: int = 0) -> None:
        self.caller = caller
        self.token = token
        self._unread: deque[Event] = deque()
        self._wake = asyncio.Event()
        self.closed = False
        self.why: Rule | None = None
        """Why it was closed, if it shall be told."""

    @property
    def slow(self) -> bool:
        return self.why is CLOSED_SLOW

    def put(self, events: Sequence[Event]) -> None:
        if len(self._unread) + len(events) > MOST_UNREAD:
            self.close(CLOSED_SLOW)
        if not self.closed:
            self._unread.extend(events)
        self._wake.set()

    def close(self, why: Rule | None = None) -> None:
        """Nothing more comes, and what has not been read is not read any more."""
        if not self.closed:
            self.closed, self.why = True, why
            self._unread.clear()
        self._wake.set()

    async def next(self) -> list[Event]:
        """What has come since the last time, at least one unless the reader is closed."""
        while not self._unread and not self.closed:
            self._wake.clear()
            await self._wake.wait()
        events = list(self._unread)
        self._unread.clear()
        return events


class EventStreams:
    """Listens to the controller while anybody reads."""

    def __init__(self, controller: Scheduler) -> None:
        self._controller = controller
        self._readers: dict[Reader, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._revoked: set[int] = set()
        """Tokens that were shown a moment before they were revoked open no stream after that."""

    @contextmanager
    def reading(self, caller: str, token: int) -> Iterator[Reader]:
        """A reader of all events from now on. When there are as many as there may be, the user with the most loses its
        oldest, so that many streams of one user keep nobody out."""
        if self._closed:
            raise refusal(503, BUSY, why="it is stopping")
        if token in self._revoked:
            raise refusal(401, WRONG_TOKEN)
        counts = Counter(reader.caller for reader in self._readers)
        if counts[caller] >= MOST_OF_ONE:
            raise refusal(429, ONE_AT_A_TIME, caller=caller, most=MOST_OF_ONE)
        if len(self._readers) >= MOST_READERS:
            self._make_room(counts, caller)
        self._loop = asyncio.get_running_loop()
        if not self._readers:
            self._controller.subscribe(self._heard)
        reader = Reader(caller, token)
        self._readers[reader] = None
        try:
            yield reader
        finally:
            self._readers.pop(reader, None)
            if not self._readers:
                self._controller.unsubscribe(self._heard)

    def _make_room(self, counts: Counter[str], caller: str) -> None:
        crowd, most = max(counts.items(), key=lambda one: (one[1], one[0]))
        if most <= counts[caller] + 1:
            raise refusal(503, BUSY, why=f"{len(self._readers)} read the events, nobody more than {most} times")
        oldest = next(reader for reader in self._readers if reader.caller == crowd)
        oldest.close(CLOSED_CROWDED)
        del self._readers[oldest]

    def revoke(self, token: int, why: Rule) -> None:
        """End every stream that was opened with this token; called from the event loop."""
        self._revoked.add(token)
        for reader in self._readers:
            if reader.token == token:
                reader.close(why)

    def _heard(self, events: Sequence[Event]) -> None:
        """Called by the controller, from its thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and so have its readers
                loop.call_soon_threadsafe(self._spread, tuple(events))

    def _spread(self, events: Sequence[Event]) -> None:
        for reader in self._readers:
            reader.put(events)

    def close(self) -> None:
        """End every reader's stream; called from the event loop when the server stops."""
        self._closed = True
        for reader in self._readers:
            reader.close()
