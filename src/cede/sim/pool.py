"""Tasks of a comparison in processes of their own, watched and stopped together."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from cede.engine.doctrine_files import load_files, loaded_files
from cede.sim.compare import Outcome, Task, run_task
from cede.sim.progress import Look, ReplayProgress, watch_of

PAUSE_S = 0.1
FIELDS = 2
"""Of each task: its share, and how many of its jobs have ended."""

_shared: tuple[Any, Any] | None = None
"""In a process of the pool: whether to stop, and where to tell how far its task is."""


def run_all(tasks: Sequence[Task], look: Look, processes: int | None = None) -> list[Outcome | None]:
    """The outcome of every task in their order; none of those that had not begun when `look` said to stop.

    `processes`: as many as there are cores, unless told. With one all run in this process.
    """
    many = min(len(tasks), processes or cores())
    if many <= 1:
        return _one_by_one(tasks, look)
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    seen = context.RawArray("d", FIELDS * len(tasks))
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(many, context, _begin, (stop, seen, loaded_files()))
    try:
        with _interrupts_held():
            waiting = [pool.submit(_in_pool, task, place) for place, task in enumerate(tasks)]
        _watch(waiting, stop, seen, look)
        return [None if one.cancelled() else one.result() for one in waiting]
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def _one_by_one(tasks: Sequence[Task], look: Look) -> list[Outcome | None]:
    shown = [ReplayProgress() for _ in tasks]
    outcomes: list[Outcome | None] = []
    for place, task in enumerate(tasks):

        def tell(how_far: ReplayProgress, place: int = place) -> bool:
            shown[place] = how_far
            return look(shown)

        outcome = run_task(task, watch_of(task.trace, task.choices, tell)) if look(shown) else None
        shown[place] = ReplayProgress(1.0, finished=len(task.trace.jobs))
        outcomes.append(outcome)
    return outcomes


def _watch(waiting: Sequence[Future[Outcome | None]], stop: Any, seen: Any, look: Look) -> None:
    """Until all are done; the first failure ends it."""
    left = set(waiting)
    while left:
        done, left = wait(left, PAUSE_S)
        for one in done:
            if not one.cancelled() and (error := one.exception()) is not None:
                raise error
        shown = [ReplayProgress(seen[place], finished=int(seen[place + 1])) for place in range(0, len(seen), FIELDS)]
        if not look(shown) and not stop.is_set():
            stop.set()
            for one in left:
                one.cancel()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes that are started here never hear of Ctrl-C, which is for the one that watches them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in a process of the pool ----------------------------------------------------------------------------------


def _begin(stop: Any, seen: Any, doctrines: Sequence[str]) -> None:
    global _shared  # noqa: PLW0603
    load_files(doctrines)
    _shared = stop, seen


def _in_pool(task: Task, place: int) -> Outcome | None:
    assert _shared is not None, "a process of the pool was begun"
    stop, seen = _shared
    if stop.is_set():
        return None

    def tell(how_far: ReplayProgress) -> bool:
        seen[FIELDS * place : FIELDS * (place + 1)] = [how_far.share, float(how_far.finished)]
        return not stop.is_set()

    outcome = run_task(task, watch_of(task.trace, task.choices, tell))
    seen[FIELDS * place : FIELDS * (place + 1)] = [1.0, float(len(task.trace.jobs))]
    return outcome
