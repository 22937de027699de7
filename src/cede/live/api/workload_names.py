"""Names of workloads: generated for submissions that give none, and made unique for records."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from itertools import count

MOST_STEMS = 10_000


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def keys_of(owner: str, name: str) -> Iterator[str]:
    """What the record of an owner's workload may be called, best first, without end: NAME, OWNER.NAME, OWNER.NAME.2."""
    yield name
    qualified = f"{_NOT_IN_NAMES.sub('-', owner).lstrip('._-') or 'user'}.{name}"
    yield qualified
    for number in count(2):
        yield f"{qualified}.{number}"


class GeneratedNames:
    """Counts up from the last number that was given with a stem; `taken` says what others used before."""

    def __init__(self, taken: Callable[[str], bool]) -> None:
        self._taken = taken
        self._lock = threading.Lock()
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """STEM-NUMBER, unused and never given before."""
        with self._lock:
            number = self._next.get(stem) or self._first_free(stem)
            while self._taken(f"{stem}-{number}"):
                number += 1
            if len(self._next) >= MOST_STEMS:
                self._next.clear()
            self._next[stem] = number + 1
            return f"{stem}-{number}"

    def _first_free(self, stem: str) -> int:
        """A number near the first that nobody used: found by doubling, for there may be very many."""
        high = 1
        while self._taken(f"{stem}-{high}"):
            high *= 2
        low = high // 2
        while low + 1 < high:
            middle = (low + high) // 2
            if self._taken(f"{stem}-{middle}"):
                low = middle
            else:
                high = middle
        return high
