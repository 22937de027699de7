"""A function that saves, called whenever a hint comes."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import overload

from cede.checkpoint.by_signal import BySignal
from cede.checkpoint.channel import Silence
from cede.checkpoint.checkpoint import Checkpoint, listen

LOOK_EVERY = 60.0

Save = Callable[[Checkpoint], object]


class Saver:
    """The function together with the hints that it answers; `ck` is what it is called with.

    Called by the program itself, it saves of the job's own accord, and says so.
    """

    def __init__(self, save: Save, *, restore: Save | None, exit: bool, estimate: float, interval: float) -> None:
        self.ck = listen(estimate=estimate, interval=interval)
        self._save = save
        self._exit = exit
        self._busy = threading.Lock()
        self._process = os.getpid()
        self._stopped = False
        self._called = False
        atexit.register(self.stop)
        # Before any hint is answered: else the state of a program that has just started would replace the saved one.
        if restore is not None and self.ck.resuming:
            restore(self.ck)
        channel = self.ck.channel
        self._interrupted = isinstance(channel, BySignal) and channel.interrupts
        if isinstance(channel, BySignal) and self._interrupted:
            channel.call_on_hint(self._look)
        elif not isinstance(channel, Silence):
            if exit:
                signal.signal(self.ck.environment.hint_signal, self._leave)
            threading.Thread(target=self._watch, name="cede-checkpoint", daemon=True).start()

    def __call__(self) -> None:
        with self._busy:
            self._save(self.ck)
            self.ck.saved()
        if self._interrupted:
            self._look()  # for a hint that came meanwhile

    def stop(self) -> None:
        """No hint is answered any more."""
        if not self._stopped and os.getpid() == self._process:
            self._stopped = True
            atexit.unregister(self.stop)
            self.ck.close()

    def _look(self) -> None:
        """In the main thread, between two instructions of the program: maybe in the midst of saving.

        Then nothing is touched here: whoever holds the lock looks once more when it is released.
        """
        self._called = True
        while self._called and self._busy.acquire(blocking=False):
            try:
                self._called = False
                left = self.ck.wanted() and self._answer()
            finally:
                self._busy.release()
            if left:
                raise SystemExit(0)

    def _watch(self) -> None:
        """In a thread of its own, beside the program."""
        while not self._stopped:
            if self.ck.wait(LOOK_EVERY):
                with self._busy:
                    left = self.ck.wanted() and self._answer()
                if left:
                    main = threading.main_thread().ident
                    assert main is not None
                    signal.pthread_kill(main, self.ck.environment.hint_signal)
                    return

    def _answer(self) -> bool:
        """Whether it is time to leave, after the function was called and its result told."""
        hint, leaving = self.ck.hint, self.ck.leaving
        try:
            self._save(self.ck)
        except Exception as error:
            with suppress(Exception):  # a log may be full, or closed; the answer counts
                traceback.print_exc()
            self.ck.failed(f"{type(error).__name__}: {error}")
            return False
        if self.ck.quiet_for:
            self._call_again(self.ck.quiet_for)
            return False
        if self.ck.hint == hint:  # else the function has answered by itself
            self.ck.done()
        return self._exit and leaving

    def _call_again(self, seconds: float) -> None:
        """The thread waits by itself; where there is none the signal comes once more when the deferral is over."""
        if self._interrupted:
            timer = threading.Timer(seconds, os.kill, (self._process, self.ck.environment.hint_signal))
            timer.daemon = True
            timer.start()

    def _leave(self, number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)


@overload
def on_hint(save: Save, /) -> Saver: ...


@overload
def on_hint(
    *, restore: Save | None = ..., exit: bool = ..., estimate: float = ..., interval: float = ...
) -> Callable[[Save], Saver]: ...


def on_hint(
    save: Save | None = None,
    /,
    *,
    restore: Save | None = None,
    exit: bool = False,
    estimate: float = 0.0,
    interval: float = 0.0,
) -> Saver | Callable[[Save], Saver]:
    """The function, called with a `Checkpoint` when a hint comes: done if it returns, failed if it raises.

    Hints are answered from here on: decorate when there is something to save. Under the signal protocol it runs in the
    main thread between two instructions, else in a thread. `restore` is called first, with the same `Checkpoint`, if
    the job resumes. `exit`: after a hint to leave, the program ends by SystemExit in its main thread; otherwise Cede's
    SIGTERM comes. `estimate` and `interval` are those of `listening`.
    """

    def made(function: Save) -> Saver:
        return Saver(function, restore=restore, exit=exit, estimate=estimate, interval=interval)

    return made if save is None else made(save)
