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

ASKED_AGAIN_S = 60.0
"""After this the scheduler is asked once more for its records, if it has not answered."""

Item = tuple[Order, Task | None] | Callable[[], None] | None
"""An order with its task, something else that waits its turn among them, or the end."""


class Dispatch:
    """An order that fails is logged; the driver's deadlines see that it had no effect.

    `wall` is what the wall clock shows at a time of the scheduler's: applications are told deadlines by that. `compare`
    asks for the records and returns at once; the comparison itself comes back by `then`, so that no order waits for an
    answer.
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
        self._orders: queue.SimpleQueue[Item] = queue.SimpleQueue()
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

    def then(self, work: Callable[[], None]) -> None:
        """Do this after the orders that were given before, and before those that are given later."""
        self._orders.put(work)

    def _run(self) -> None:
        compares_at = time.monotonic() + min(SOON_S, self._compare_s)
        while True:
            if time.monotonic() >= compares_at:
                self._try(self._compare, "records were not compared with what runs")
                compares_at = time.monotonic() + ASKED_AGAIN_S
            try:
                given = self._orders.get(timeout=max(0.0, compares_at - time.monotonic()))
            except queue.Empty:
                continue
            if given is None:
                return
            if callable(given):
                self._try(given, "records were not compared with what runs")
                compares_at = time.monotonic() + self._compare_s
            else:
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
