"""The one place that asks the machine for the time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Microseconds since 1970."""

    def now(self) -> int: ...


class WallClock:
    """The machine's time."""

    def now(self) -> int:
        return time.time_ns() // 1000
