"""The machine that is not there: attempts that begin, save, leave and end in virtual time, as they are ordered to."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from cede.engine.drive.facts import Began, Checkpointed, Exited, Fact
from cede.engine.drive.orders import Hint, Kill, Launch, Order, Terminate
from cede.sim.attempt import Attempt
from cede.sim.records import Records

END, WRITTEN, GONE, BEGIN = range(4)
"""What comes up on the agenda, in the order of one moment: it ends by itself, its checkpoint is written, it has left,
it begins."""

SIGTERM = 15
HOW = {"preempt": "preempted", "drain": "drained", "node": "node", "cancel": "cancelled", "suspend": "cancelled"}
"""The word of the records for why an attempt was told to go."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What every job does alike; in microseconds."""

    start_delay: int = 0
    """From the order to start until it works."""
    stop_time: int = 0
    """From SIGTERM until its processes are gone; never longer than the grace period."""


class Machine:
    """Carries out orders in virtual time. `due` gives the facts of a moment, `at` the next moment there is one."""

    def __init__(self, records: Records, habits: Habits) -> None:
        self.records = records
        self.habits = habits
        self._origin = records.trace.origin or 0
        self.agenda: list[tuple[int, int, int, int]] = []
        """When, what, which job, and which turn of its attempt."""
        self.attempts: dict[int, Attempt] = {}
        self.written: list[Attempt] = []
        """Those that wrote a checkpoint that they were asked for, and were not seen to since (`settle`)."""
        self.departed: list[str] = []
        """Names of those that left because they were told to, or lost their node; whoever looks empties it."""
        self.tells_saves = False
        """Whether anything reads `saves`."""
        self._saving: list[tuple[int, int, int]] = []
        """When an attempt writes a checkpoint by itself: which job, which attempt of it."""
        self._turns = 0

    @property
    def at(self) -> int | None:
        return self.agenda[0][0] if self.agenda else None

    # -- orders ------------------------------------------------------------------------------------------------

    def obey(self, orders: Sequence[Order], now: int) -> None:
        for order in orders:
            job = self.records.index[order.name]
            if type(order) is Launch:
                self._launch(order, job, now)
                continue
            attempt = self.attempts.get(job)
            if attempt is None or attempt.number != order.attempt:
                continue
            if type(order) is Hint:
                self._hint(attempt, order, now)
            elif type(order) is Terminate:
                self._stop(attempt, now)
                attempt.leaving, attempt.cause = True, order.cause
                self._plan(attempt, now + min(self.habits.stop_time, order.grace), GONE)
            elif type(order) is Kill:
                self._stop(attempt, now)
                attempt.leaving = True
                self._plan(attempt, now, GONE)

    def find(self, job: int, started: int, kept: int) -> None:
        """A job that ran before anybody looked, with so much of its work safe."""
        attempt = self.attempts[job] = Attempt(job, 1, started, kept, started)
        attempt.place = self._turns
        self._save_later(attempt)
        self.records.began(job, started)
        self._plan(attempt, started + self.records.duration[job], END)

    def lose(self, jobs: Sequence[int]) -> None:
        """Their node went down: how they end is not seen."""
        for job in jobs:
            if job in self.attempts:
                self.attempts[job].lost_node = True

    def _launch(self, order: Launch, job: int, now: int) -> None:
        records, delay = self.records, self.habits.start_delay
        restore = records.restart_time[job] if order.resume else 0
        kept, works_from = records.kept[job], now + delay + restore
        attempt = Attempt(job, order.attempt, now, kept, works_from, restore)
        self.attempts[job] = attempt
        attempt.place = self._turns
        if self.tells_saves:
            self._save_later(attempt)
        records.began(job, now)
        if delay or restore:
            attempt.overhead = delay + restore
        if delay:
            heapq.heappush(self.agenda, (now + delay, BEGIN, job, order.attempt))
        self._plan(attempt, works_from + records.duration[job] - kept, END)

    def _hint(self, attempt: Attempt, order: Hint, now: int) -> None:
        """It stops working and writes; asked again about the same hint it only learns whether it is to leave."""
        if order.hint == attempt.hint:
            return
        attempt.hint = order.hint
        self._stop(attempt, now)
        self._plan(attempt, now + self.records.checkpoint_time[attempt.job], WRITTEN)

    def _stop(self, attempt: Attempt, now: int) -> None:
        """Its work up to now is counted; from here on time passes without any."""
        if attempt.stopped is not None:
            return
        if now < attempt.works_from:
            unused = attempt.works_from - now
            attempt.overhead -= unused
            attempt.restored = max(0, attempt.restored - unused)
        attempt.worked += max(0, now - attempt.works_from)
        attempt.stopped = now

    def _go_on(self, attempt: Attempt, now: int) -> None:
        """It works again after a checkpoint that it need not leave for."""
        assert attempt.stopped is not None
        attempt.overhead += now - attempt.stopped
        attempt.stopped, attempt.works_from = None, now
        self._save_later(attempt)
        left = self.records.duration[attempt.job] - self.records.kept[attempt.job] - attempt.worked
        self._plan(attempt, now + left, END)

    def _plan(self, attempt: Attempt, at: int, what: int) -> None:
        self._turns += 1
        attempt.turn = self._turns
        heapq.heappush(self.agenda, (at, what, attempt.job, attempt.turn))

    # -- facts -------------------------------------------------------------------------------------------------

    def due(self, now: int) -> list[Fact]:
        """What happens at this moment, in order: ends, checkpoints, departures, beginnings; each by job number."""
        facts: list[Fact] = []
        agenda, attempts, names = self.agenda, self.attempts, self.records.names
        while agenda and agenda[0][0] <= now:
            _, what, job, turn = heapq.heappop(agenda)
            attempt = attempts.get(job)
            if attempt is None or turn != (attempt.number if what == BEGIN else attempt.turn):
                continue
            name = names[job]
            if what == END:
                attempt.worked += now - attempt.works_from
                del attempts[job]
                self.records.completed(attempt, now)
                facts.append(Exited(name, attempt.number, 0))
            elif what == BEGIN:
                facts.append(Began(name, attempt.number))
            elif what == WRITTEN:
                attempt.kept = self.records.kept[job] + attempt.worked
                attempt.saved = True
                self.written.append(attempt)
                facts.append(Checkpointed(name, attempt.number, attempt.hint))
            else:
                facts.extend(self._leave(attempt, name, now))
        return facts

    def saves(self, now: int) -> list[Fact]:
        """The last checkpoint of each that saves by itself at its interval, if it was not told yet."""
        due: dict[int, int] = {}
        while self._saving and self._saving[0][0] <= now:
            _, job, number = heapq.heappop(self._saving)
            attempt = self.attempts.get(job)
            if attempt is None or attempt.number != number or attempt.stopped is not None:
                continue
            interval = self.records.checkpoint_interval[job]
            if now - attempt.works_from >= interval:
                last = now - (now - attempt.works_from) % interval
                if last > attempt.told:
                    attempt.told = due[job] = last
                    heapq.heappush(self._saving, (last + interval, job, number))
        if len(due) > 1:
            due = dict(sorted(due.items(), key=lambda one: self.attempts[one[0]].place))
        names, attempts = self.records.names, self.attempts
        return [Checkpointed(names[job], attempts[job].number, at=last + self._origin) for job, last in due.items()]

    def _save_later(self, attempt: Attempt) -> None:
        """It writes its next checkpoint by itself after its interval of work."""
        interval = self.records.checkpoint_interval[attempt.job]
        if interval and self.tells_saves:
            heapq.heappush(self._saving, (attempt.works_from + interval, attempt.job, attempt.number))

    def settle(self, now: int) -> None:
        """Those that wrote a checkpoint and were not told to go work on."""
        for attempt in self.written:
            if not attempt.leaving and self.attempts.get(attempt.job) is attempt:
                attempt.saved = False
                self._go_on(attempt, now)
        self.written.clear()

    def _leave(self, attempt: Attempt, name: str, now: int) -> list[Fact]:
        facts: list[Fact] = []
        interval = self.records.checkpoint_interval[attempt.job]
        base = self.records.kept[attempt.job]
        if not attempt.saved and interval:
            attempt.kept = max(attempt.kept, base + attempt.worked // interval * interval)
            if attempt.kept > base and attempt.stopped is not None:
                since = attempt.kept - base
                when = attempt.stopped - (attempt.worked - since)
                facts.append(Checkpointed(name, attempt.number, at=when + self._origin))
        self._gone(attempt, now, HOW.get(attempt.cause, "failed") if not attempt.lost_node else "node")
        self.departed.append(name)
        facts.append(
            Exited(
                name,
                attempt.number,
                None,
                None if attempt.lost_node else SIGTERM,
                told=not attempt.lost_node,
                lost=attempt.lost_node,
            )
        )
        return facts

    def _gone(self, attempt: Attempt, now: int, how: str) -> None:
        del self.attempts[attempt.job]
        if attempt.stopped is not None:
            attempt.overhead += now - attempt.stopped
        self.records.left(attempt, now, how)
