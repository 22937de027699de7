"""Watching a replay: a bar on a terminal, and Ctrl-C, which lets it stop and be told as far as it came."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from cede.model.times import about

if TYPE_CHECKING:
    from rich.progress import Progress

    from cede.sim.progress import ReplayProgress

EVERY_S = 0.1


class Interrupts:
    """Within it the first Ctrl-C is only noted, in `stopped`; the second one is what it always is."""

    def __init__(self) -> None:
        self.stopped = False
        self._before: object = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._noted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def _noted(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def told(seen: ReplayProgress, jobs: int) -> str:
    """Simulated time, and how many jobs have ended; short enough for a terminal of 80 columns."""
    return f"{about(seen.passed)}  {seen.finished:,} of {jobs:,}"


class Bar:
    """A bar on standard error, if that is a terminal and it is wanted; `show` may be called as often as one likes."""

    def __init__(self, title: str, *, wanted: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress_bar() if wanted and sys.stderr.isatty() else None
        self._title = title
        self._clock = clock
        self._began = clock()
        self._shown = 0.0

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._progress.start()
            self._task = self._progress.add_task(self._title, total=1.0, state="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, share: float, state: str, jobs: int) -> None:
        """How much is done, what to say of it, and how many jobs have come to their end so far."""
        if self._progress is None:
            return
        now = self._clock()
        if now - self._shown < EVERY_S:
            return
        self._shown = now
        took = max(now - self._began, 1e-6)
        left = f"{about(round(took / share * (1 - share)) * 10**6)} left" if share > 0 else ""
        parts = (state, f"{jobs / took:,.0f} jobs/s", left)
        self._progress.update(self._task, completed=share, state="  ".join(part for part in parts if part))


def progress_bar() -> Progress:
    """The bar with its share and what is said beside it, in 80 columns."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}"),
        console=Console(stderr=True, highlight=False, markup=False, emoji=False),
        transient=True,
    )
