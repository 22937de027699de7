"""Waiting for other threads, each time with a deadline: for the controller, and for what-if questions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from cede.live.api.problems import refusal
from cede.live.api.rules import BUSY, IMPAIRED, ONE_AT_A_TIME
from cede.live.errors import UnavailableError

ANSWERS_WITHIN_S = 30.0
MOST_AT_ONCE = 2
MOST_WAITING = 8

T = TypeVar("T")


async def in_time(future: Future[T], limit_s: float = ANSWERS_WITHIN_S) -> T:
    """The result, or a refusal if it does not come in time; the asking itself is never taken back."""
    try:
        async with asyncio.timeout(limit_s):
            return await asyncio.shield(asyncio.wrap_future(future))
    except TimeoutError:
        raise refusal(503, BUSY, why=f"no answer came within {limit_s:g} s; it may still be carried out") from None
    except UnavailableError as error:
        raise refusal(503, IMPAIRED if error.impaired else BUSY, why=str(error)) from None


class WhatIfPool:
    """Threads for what-if questions: one question at a time for each caller, so that no caller keeps others waiting."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="what-if")
        self._lock = threading.Lock()
        self.callers: set[str] = set()
        """Callers with a question under way."""

    async def run(self, caller: str, work: Callable[[], T]) -> T:
        """What `work` returns; refused while the same caller, or too many others, have something under way.

        Work that takes too long is refused to its caller, and keeps its place until it is done.
        """
        with self._lock:
            if caller in self.callers:
                raise refusal(429, ONE_AT_A_TIME, caller=caller, most=1)
            if len(self.callers) >= MOST_WAITING:
                raise refusal(503, BUSY, why=f"{MOST_WAITING} questions are under way already")
            self.callers.add(caller)
        return await in_time(self._pool.submit(self._work, caller, work))

    def _work(self, caller: str, work: Callable[[], T]) -> T:
        try:
            return work()
        finally:
            with self._lock:
                self.callers.discard(caller)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
