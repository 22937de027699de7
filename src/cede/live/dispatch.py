"""Orders on their way to the executor: in order, from a thread of their own, so that no commit waits for a process."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from cede.engine.drive.orders import Hint, Kill, Launch, Order, Terminate
from cede.live.errors import UnavailableError
from cede.live.executors.executor import Executor
from cede.live.store.store import Store
from cede.live.task import Task

log = logging.getLogger("cede.dispatch")


SOON_S = 2.0
"""After a start, until records are compared with what runs for the first time."""


OFTEN_S = 0.01
"""They are not compared more often than this, whatever is asked for."""


class Dispatch:
    """An order that fails is logged; the driver's deadlines see that it had no effect.

    `wall` is what the wall clock shows at a time of the scheduler's: applications are told deadlines by that.
    """

    def __init__(
        self,
        executor: Executor,
        store: Store,
        wall: Callable[[int], int],
        compare: Callable[[], None] = lambda: None,
        compare_s: float = 30.0,
    ) -> None:
        self._executor = executor
        self._store = store
        self._wall = wall
        self._compare = compare
        self._compare_s = max(compare_s, OFTEN_S)
        self._orders: queue.SimpleQueue[tuple[Order, Task | None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="dispatch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What was given is still carried out."""
        self._orders.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def give(self, orders: Sequence[Order], tasks: Mapping[str, Task]) -> None:
        """Carry out these; `tasks` are those that are at hand, the others are looked up."""
        for order in orders:
            self._orders.put((order, tasks.get(order.name)))

    def _run(self) -> None:
        again = time.monotonic() + min(SOON_S, self._compare_s)
        waiting = 0
        while True:
            # However many orders come; but those that waited meanwhile are carried out before it is done again.
            if (left := again - time.monotonic()) <= 0 and waiting <= 0:
                self._try(self._compare, "records were not compared with what runs")
                again = time.monotonic() + self._compare_s
                left, waiting = self._compare_s, self._orders.qsize()
            try:
                given = self._orders.get(timeout=max(0.0, left))
            except queue.Empty:
                waiting = 0
                continue
            waiting -= 1
            if given is None:
                return
            self._try(partial(self._carry_out, *given), f"an order was not carried out: {given[0]!r}")

    def _try(self, work: Callable[[], None], otherwise: str) -> None:
        try:
            work()
        except (OSError, UnavailableError) as error:
            log.error("%s: %s", otherwise, error)
        except Exception:
            log.exception("%s", otherwise)

    def _carry_out(self, order: Order, task: Task | None) -> None:
        match order:
            case Launch():
                if task is None and (record := self._store.workload(order.name)) is not None:
                    task = record.task
                if task is not None:
                    self._executor.launch(order, task)
            case Hint():
                until = None if order.deadline is None else self._wall(order.deadline)
                self._executor.hint(replace(order, deadline=until))
            case Terminate():
                self._executor.terminate(order)
            case Kill():
                self._executor.kill(order)
