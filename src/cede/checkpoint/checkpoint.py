"""What an application holds to hear hints and to answer them, the same for every protocol."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cede.checkpoint.channel import Channel, Hint, opened
from cede.checkpoint.environment import Environment, read_environment
from cede.checkpoint.files import replace, within

PROGRESS_EVERY = 0.1
"""Seconds between two reports of progress; those in between are not sent."""
LONGEST_WAIT_S = 3600.0
"""Longer waits are made of several: no number of seconds is too large for a wait then."""
LONGEST_DEFERRAL_S = 100 * 365 * 86400.0
"""What is asked for beyond is cut to this: every protocol can tell it."""

_listener: Checkpoint | None = None


class Checkpoint:
    """Hints come in, answers go out. `wanted` may be called as often as a loop goes round."""

    def __init__(self, environment: Environment, channel: Channel, estimate: float = 0.0) -> None:
        self.environment = environment
        self.channel = channel
        self._estimate = estimate
        self._asked: Hint | None = None
        self._answered = 0
        self._asked_quiet: tuple[float, float] | None = None
        self._progress_at = 0.0
        self._closed = False

    @property
    def job(self) -> str:
        return self.environment.job

    @property
    def attempt(self) -> int:
        """1 when the job runs for the first time."""
        return self.environment.attempt

    @property
    def rank(self) -> int:
        return self.environment.rank

    @property
    def size(self) -> int:
        return self.environment.size

    @property
    def resuming(self) -> bool:
        """Whether an earlier attempt left a checkpoint to go on from."""
        return self.environment.resuming

    @property
    def directory(self) -> Path:
        """Where checkpoints belong: the same folder in every attempt. Outside Cede, the working directory."""
        return self.environment.directory

    @property
    def interval(self) -> float | None:
        """Seconds between checkpoints of its own accord, where whoever submitted the job said so."""
        return self.environment.interval

    @property
    def hint(self) -> int:
        """The number of the hint that `wanted` told of and that is not answered yet, or 0."""
        return self._asked.hint if self._asked is not None and self._asked.hint > self._answered else 0

    @property
    def leaving(self) -> bool:
        """Whether the last hint that `wanted` told of asks for the job's room too: go when the checkpoint is done."""
        return self._asked is not None and self._asked.leaving

    @property
    def deadline(self) -> float | None:
        """Until when the checkpoint is waited for, in seconds since 1970, where that is known."""
        return self._asked.deadline if self._asked is not None else None

    @property
    def quiet_for(self) -> float:
        """Seconds until `wanted` speaks again of a hint that was deferred; 0 if none was, or they are over."""
        if self._asked_quiet is None or not self.hint:
            return 0.0
        since, seconds = self._asked_quiet
        granted = self.channel.granted(self.hint)
        left = since + (seconds if granted is None else min(seconds, granted)) - time.monotonic()
        if self.deadline is not None:  # what was granted moves it
            left = min(left, self.deadline + (granted or 0.0) - self._estimate - time.time())
        return max(0.0, left)

    def wanted(self) -> bool:
        """Whether a checkpoint is wanted now: a hint came, is not answered, and is not deferred."""
        if self._closed:
            return False
        latest = self.channel.latest()
        if latest is None or latest.hint <= self._answered:
            return False
        if latest is not self._asked:
            known = self.hint
            self._asked = latest
            if latest.hint != known:
                self._asked_quiet = None
                self._progress_at = 0.0
                self.channel.seen(latest.hint)
        return self._asked_quiet is None or self.quiet_for == 0

    def wait(self, seconds: float) -> bool:
        """Whether a checkpoint is wanted, as soon as it is, or after so long."""
        end = time.monotonic() + seconds
        while True:
            before = self.channel.mark()  # what comes while it is looked must not be slept through
            if self.wanted():
                return True
            left = end - time.monotonic()
            if left <= 0 or self._closed:
                return False
            quiet = self.quiet_for
            self.channel.wait(min(left, quiet or left, LONGEST_WAIT_S), before)

    def progress(self, part: float) -> None:
        """How much of the checkpoint is written, from 0 to 1: a job that tells it is given more time at the end."""
        if not 0 <= part <= 1:
            raise ValueError(f"progress goes from 0 to 1: {part}")
        now = time.monotonic()
        if self.hint and now >= self._progress_at:
            self._progress_at = now + PROGRESS_EVERY
            self.channel.progress(self.hint, part)

    def defer(self, seconds: float) -> None:
        """Ask to be left alone for so long. `wanted` is False meanwhile; it is True earlier if less is granted."""
        if not seconds > 0:
            raise ValueError(f"seconds must be above 0: {seconds}")
        if self.hint:
            seconds = min(seconds, LONGEST_DEFERRAL_S)
            self._asked_quiet = (time.monotonic(), seconds)
            self.channel.defer(self.hint, seconds)

    def done(self) -> None:
        """The checkpoint that `wanted` told of is on disk. Without a hint it is one of the job's own accord.

        If that cannot be told because the disk is full, this waits until it can.
        """
        hint = self.hint
        self.channel.done(hint)
        self._answered = max(self._answered, hint)

    def saved(self) -> None:
        """A usable checkpoint is on disk, of the job's own accord. A hint stays unanswered."""
        self.channel.done(0)

    def failed(self, why: str) -> None:
        """There will be no checkpoint in answer to the hint that `wanted` told of."""
        if hint := self.hint:
            self.channel.failed(hint, " ".join(why.split())[:500])
            self._answered = hint

    def write(self, name: str, data: bytes) -> Path:
        """The file in the checkpoint directory, durable. Until it is written in full the one before it stays."""
        path = within(self.directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, data)
        return path

    def read(self, name: str) -> bytes:
        """What was last written under this name; FileNotFoundError if nothing was."""
        return within(self.directory, name).read_bytes()

    def close(self) -> None:
        """No hint is heard any more. Answers that were given have gone out."""
        global _listener  # noqa: PLW0603  a process hears its hints in one place
        if not self._closed:
            self._closed = True
            self.channel.close()
        if _listener is self:
            _listener = None


def listen(*, estimate: float = 0.0, interval: float = 0.0, environment: Mapping[str, str] = os.environ) -> Checkpoint:
    """Begin to hear hints, until `close`.

    `estimate`: seconds that a checkpoint takes to write. `interval`: seconds between checkpoints that the job writes
    of its own accord, by default those it was submitted with. Both help to choose victims, where the protocol
    can tell them.
    """
    global _listener  # noqa: PLW0603  a process hears its hints in one place
    if _listener is not None:
        raise RuntimeError("this process already listens to hints")
    here = read_environment(environment)
    _listener = Checkpoint(here, opened(here, estimate, interval or here.interval or 0.0), estimate)
    return _listener


@contextmanager
def listening(
    *, estimate: float = 0.0, interval: float = 0.0, environment: Mapping[str, str] = os.environ
) -> Iterator[Checkpoint]:
    """Hear hints inside the block. The arguments are those of `listen`."""
    ck = listen(estimate=estimate, interval=interval, environment=environment)
    try:
        yield ck
    finally:
        ck.close()
