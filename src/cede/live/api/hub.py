"""Events on their way from the controller to everyone who reads them as they happen."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from cede.live.api.problems import refusal
from cede.live.api.rules import BUSY, ONE_AT_A_TIME
from cede.live.api.server import Scheduler
from cede.live.store.records import Event

MOST_READERS = 200
MOST_OF_ONE = 20
MOST_UNREAD = 2000
"""Events that wait for one reader; one that is slower is sent away, and may come back where it was."""


class Reader:
    """One who reads, and the events that wait for it. Only the event loop touches it."""

    def __init__(self) -> None:
        self._unread: deque[Event] = deque()
        self._wake = asyncio.Event()
        self.slow = False
        self.closed = False

    def put(self, events: Sequence[Event]) -> None:
        if len(self._unread) + len(events) > MOST_UNREAD:
            self.slow = True
            self._unread.clear()
        if not self.slow:
            self._unread.extend(events)
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def next(self) -> list[Event]:
        """What has come since the last time, at least one unless the reader is too slow or closed."""
        while not self._unread and not self.slow and not self.closed:
            self._wake.clear()
            await self._wake.wait()
        events = list(self._unread)
        self._unread.clear()
        return events


class Hub:
    """Listens to the controller while anybody reads."""

    def __init__(self, controller: Scheduler) -> None:
        self._controller = controller
        self._readers: dict[Reader, str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @contextmanager
    def reading(self, caller: str) -> Iterator[Reader]:
        """A reader of all events from now on."""
        if len(self._readers) >= MOST_READERS or self._closed:
            raise refusal(503, BUSY, why="too many read the events" if not self._closed else "it is stopping")
        if Counter(self._readers.values())[caller] >= MOST_OF_ONE:
            raise refusal(429, ONE_AT_A_TIME, caller=caller, most=MOST_OF_ONE)
        self._loop = asyncio.get_running_loop()
        if not self._readers:
            self._controller.subscribe(self._heard)
        reader = Reader()
        self._readers[reader] = caller
        try:
            yield reader
        finally:
            del self._readers[reader]
            if not self._readers:
                self._controller.unsubscribe(self._heard)

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
