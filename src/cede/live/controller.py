"""The controller: one thread that owns the driver, feeds it what has come in, commits each step, then acts on it."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cede.engine.clock import Mark, SchedulerClock
from cede.engine.drive import rules
from cede.engine.drive.driver import Driver, Reasons
from cede.engine.drive.facts import AskWhy, Fact, Restarted, SetAside, Submit
from cede.engine.drive.job import Job
from cede.engine.drive.losses import Stake
from cede.engine.drive.options import LIVE, DriverOptions
from cede.engine.drive.orders import Order
from cede.engine.drive.restart_memory import Kept
from cede.engine.drive.step import Refusal, Step
from cede.live.dispatch import Dispatch
from cede.live.errors import UnavailableError
from cede.live.executors.executor import Executor, Report
from cede.live.fault_isolation import find_culprit, in_words, name_of
from cede.live.metrics import Metrics
from cede.live.reconcile import PresentWorkload, Reconciler
from cede.live.sensitive import Sensitive
from cede.live.store.errors import StaleError, StoreError, TakenError, UnwritableError
from cede.live.store.records import AuditRequest, Entry, Event, Saved
from cede.live.store.store import Store
from cede.live.task import Task
from cede.live.view import ClusterState, describe
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.model.lifecycle import FINAL, PRESENT
from cede.model.times import SECOND, show_duration


def canonical(document: ClusterFile) -> bytes:
    """The document as canonical JSON: the same bytes for the same cluster, for hashes by which decisions name it."""
    return json.dumps(dump_document(document), sort_keys=True, separators=(",", ":")).encode()


def document_hash(document: ClusterFile) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()


def settings_hash(document: ClusterFile) -> str:
    """Of everything but nodes and workloads: doctrine, queues, apps, tenants, policies."""
    return document_hash(document.model_copy(update={"nodes": [], "workloads": [], "now": 0}))


log = logging.getLogger("cede.controller")

ATTEMPTS = 3
RETRY_S = 1.0
"""Between two tries to store what was seen; there is no last one."""
LONG_S, LONGEST_PAUSE_S = 0.003, 0.050
"""After a step that took long to decide, more comes together before the next: deciding leaves time for the rest."""
MOST_DEATHS, DEATHS_WITHIN_S = 5, 60.0
"""A loop that fails this often in this short a time will not recover by itself."""
LONGEST_WAIT = 60 * SECOND
"""The longest single wait: longer ones are split, so that no configured time is too long for the operating system."""
ASKED_SHARE, UNASKED_SHARE = 2, 20
"""Working out why workloads wait takes at most one second in this many of the scheduler's time: the first where a
caller asked, the second where it is only for the record."""
MOST_AT_ONCE = 500
"""Facts of one step; the rest follows in the next."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question, once that is durable. `job` is the workload it was about, as it was then."""

    refusal: Refusal | None
    job: Job | None
    version: int
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Request:
    fact: Fact
    audit: AuditRequest | None = None
    task: Task | None = None
    future: Future[Answer] | None = None
    stored: Future[None] | None = None
    """Of what was seen: there when it is in the store."""


@dataclass(slots=True)
class _Query:
    """A question about the live state, answered between two steps."""

    look: Callable[[], Any]
    future: Future[Any]

    def answer(self) -> None:
        try:
            self.future.set_result(self.look())
        except BaseException as error:
            self.future.set_exception(error)
            if not isinstance(error, Exception):
                raise


@dataclass(slots=True)
class _ReasonsQuery:
    """Asks why workloads wait."""

    future: Future[Reasons]


Item = _Request | _Query | _ReasonsQuery


def _awaited(item: Item) -> Future[Any] | None:
    """The future on which the caller waits for the answer."""
    return item.future or item.stored if isinstance(item, _Request) else item.future


def _reject(future: Future[Any] | None) -> None:
    if future is not None and not future.done():
        future.set_exception(UnavailableError("the server is stopping"))


Granted = Callable[[str, int, int, int], None]
"""Told of every deferral: workload, attempt, hint, microseconds granted."""


class Controller:
    """Owns the driver and the writing side of the store. Everybody else requests, from any thread."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        document: ClusterFile,
        *,
        clock: SchedulerClock,
        metrics: Metrics,
        granted: Granted | None = None,
        reporting: Report | None = None,
        assumed_age: int | None = None,
        options: DriverOptions = LIVE,
        compare_s: float = 30.0,
    ) -> None:
        self._store = store
        self._executor = executor
        self._dispatch = Dispatch(executor, store, clock.wall, self._compare, compare_s)
        self._document = document
        self._clock = clock
        self._shifts = 0
        """How many steps of the wall clock are in the store."""
        self._metrics = metrics
        self._granted = granted
        self._assumed_age = assumed_age
        self._options = options
        self._reporting = reporting or self.report
        self.reconciler = Reconciler(store, executor, self._reporting)
        self._settings = settings_hash(document)
        self._sensitive = Sensitive(document)
        self._inbox: deque[Item] = deque()
        self._ready = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._live, name="controller", daemon=True)
        self._subscribers: list[Callable[[Sequence[Event]], None]] = []
        self._wakes_at: int | None = None
        self._version = 0
        self._deciding_s = 0.0
        self._untold = False
        """Something was decided since the reasons were worked out last."""
        self._telling = False
        """They are being worked out: the last ones hold no more."""
        self._reasons: Reasons = {}
        self._want_reasons: list[Future[Reasons]] = []
        self._told_at, self._telling_s = 0.0, 0.0
        """When they were last worked out, and how long that took."""
        self._driver: Driver
        self._rebuilt = True
        """The driver was made from the store, and no step is stored yet that says so."""
        self._doubtful = False
        """The driver has seen a step that is not in the store, and must be made anew before the next."""
        self.adopted = 0
        """Workloads that were under way when the server began."""
        self._in_hand: list[Item] = []
        self._died = ""
        """Why the loop was not begun anew."""
        self._aside: dict[str, str] = {}
        """Workloads to be set aside with the next step, and why."""
        self._set_aside: Mapping[str, str] = {}
        self._held_back: Mapping[str, str] = {}
        self._unreadable: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        """What was not taken as it stands in the store."""
        self.problem = ""
        """What keeps the scheduler from its work, in a sentence; empty while all is well."""

    # -- from any thread ---------------------------------------------------------------------------------------

    @property
    def cluster_file(self) -> ClusterFile:
        """The cluster without its workloads, as it was configured."""
        return self._document

    def ask(self, fact: Fact, audit: AuditRequest, task: Task | None = None) -> Future[Answer]:
        """The answer comes when what follows is durable."""
        future: Future[Answer] = Future()
        self._put(_Request(fact, audit, task, future))
        return future

    def report(self, fact: Fact) -> Future[None]:
        """An executor or a broker saw this; done when it is in the store, however long that takes."""
        stored: Future[None] = Future()
        self._put(_Request(fact, stored=stored))
        return stored

    def problems(self) -> tuple[str, ...]:
        """What keeps the scheduler from its work, or waits for an admin, in sentences; none while all is well."""
        problems = [self.problem, *self._executor.troubles(), self._store.trouble()]
        problems += [self._store.lineage.loss, self.reconciler.problem()]
        return tuple(dict.fromkeys(one for one in problems if one))

    def snapshot(self) -> Future[ClusterFile]:
        """The live state as a cluster file."""
        return self._call(lambda: self._moment()[0])

    def moment(self) -> Future[tuple[ClusterFile, Kept]]:
        """The same, and what the doctrine remembers that a file has no words for: a plan of both is the scheduler's."""
        return self._call(self._moment)

    def describe(self) -> Future[ClusterState]:
        """The live state for people."""
        return self._call(self._described)

    def at_stake(self, name: str) -> Future[Stake | None]:
        """What the eviction of this workload would throw away now; none if it is over."""
        return self._call(lambda: self._stake(name))

    def reasons(self) -> Future[Reasons]:
        """Why each waiting workload waits, by name, as of now or soon after. The events have it from then on."""
        why = _ReasonsQuery(Future())
        if self._untold or self._telling:
            self._put(why)
        else:
            why.future.set_result(self._reasons)
        return why.future

    @property
    def dead(self) -> str:
        """Why the scheduler has ended though nobody stopped it; empty while it lives."""
        if not self._died and self._thread.ident is not None and not self._thread.is_alive() and not self._stopping:
            return "the scheduler's thread has ended"
        return self._died

    @property
    def alarms(self) -> tuple[str, ...]:
        """What waits for an admin, in sentences: workloads that are set aside or that the breaker holds back, and
        records that are none."""
        return (
            *(f"{name} is set aside: {why}" for name, why in sorted(self._set_aside.items())),
            *(f"{name}: {why}" for name, why in sorted(self._held_back.items())),
            *self._unreadable,
        )

    def subscribe(self, callback: Callable[[Sequence[Event]], None]) -> None:
        """Call this with the events of every commit, from the controller's thread; it must not take long."""
        self._subscribers = [*self._subscribers, callback]

    def unsubscribe(self, callback: Callable[[Sequence[Event]], None]) -> None:
        self._subscribers = [other for other in self._subscribers if other != callback]

    # -- beginning and end -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what was under way, adopt what still runs, give the orders in force again, and go on."""
        self._shifts = len(self._store.load_clock().shifts)
        self._load()
        self._executor.open(self._reporting)
        present, _ = self._in_force()
        self.adopted = len(present)
        self.reconciler.compare(present, {job.name: job.attempt for job in self._driver.jobs.values()})
        self._dispatch.start()
        self._dispatch.give(self._driver.outstanding(), {})
        self._wakes_at = self._clock.now()
        self._thread.start()

    def stop(self) -> None:
        """Finish the step under way. Workloads go on."""
        with self._ready:
            self._stopping = True
            self._ready.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=30)
        # Before the dispatcher stops: it may be waiting for an answer too.
        for future in (*map(_awaited, self._inbox), *self._want_reasons):
            _reject(future)
        self._dispatch.stop()

    def _load(self) -> None:
        """The driver is there, without those workloads that would not let it be."""
        while True:
            try:
                self._reload()
                return
            except Exception as error:
                if not self._set_aside_for([], error):
                    raise

    def _reload(self) -> None:
        saved = self._store.load()
        self._document = saved.document or self._document
        self._sensitive = Sensitive(self._document)
        self._version = saved.version
        jobs = [replace(job, aside=self._aside.get(job.name, job.aside)) for job in saved.jobs]
        self._driver = self._driver_of(saved, jobs)
        self._metrics.restore(jobs)
        self._unreadable = saved.unreadable
        self._alarm(jobs)
        for warning in set(saved.warnings) - set(self.warnings):
            log.warning("%s", warning)
        self.warnings = saved.warnings
        self._rebuilt = True
        self._doubtful = False

    def _driver_of(self, saved: Saved, jobs: Sequence[Job]) -> Driver:
        return Driver.restore(
            self._document,
            self._clock.now(),
            jobs,
            next_decision=saved.next_decision,
            node_states=dict(saved.node_states),
            kept=saved.kept,
            ways=self._options,
        )

    def _alarm(self, changed: Iterable[Job]) -> None:
        """What the alarms say is so: of these workloads the records changed."""
        set_aside, held_back = dict(self._set_aside), dict(self._held_back)
        for job in changed:
            set_aside.pop(job.name, None)
            held_back.pop(job.name, None)
            if job.aside and job.phase not in FINAL:
                set_aside[job.name] = rules.ASIDE.because(why=job.aside)
            elif job.evicts_after is not None and job.phase not in FINAL:
                held_back[job.name] = job.why
        if set_aside != self._set_aside:
            self._set_aside = set_aside
            self._metrics.set_aside(len(set_aside))
        if held_back != self._held_back:
            self._held_back = held_back
            self._metrics.held_back(len(held_back))

    # -- the thread --------------------------------------------------------------------------------------------

    def _put(self, item: Item) -> None:
        with self._ready:
            if not self._stopping:
                self._inbox.append(item)
                self._ready.notify()
                return
        _reject(_awaited(item))  # nobody takes it in any more; what was seen is found again by the next server

    def _call(self, look: Callable[[], Any]) -> Future[Any]:
        question = _Query(look, Future())
        self._put(question)
        return question.future

    def _live(self) -> None:
        """The loop, begun anew whenever it fails; one that fails again and again ends the server with a message."""
        deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        while True:
            try:
                self._run()
                return
            except BaseException as error:
                log.critical("the scheduler's loop failed and is begun anew", exc_info=True)
                deaths.append(time.monotonic())
                self._doubtful = True
                if len(deaths) == MOST_DEATHS and deaths[-1] - deaths[0] < DEATHS_WITHIN_S:
                    self._died = f"the scheduler failed {MOST_DEATHS} times in a row: {in_words(error)}"
                    log.critical("%s", self._died)
                    return
                self.problem = f"the scheduler's loop failed and was begun anew: {in_words(error)}"
                self._metrics.restarted()
                self._take_up_again()
                time.sleep(RETRY_S)

    def _take_up_again(self) -> None:
        """What the loop had in hand when it failed is not lost: requests without an answer go back to the head of the
        inbox."""
        left = [item for item in self._in_hand if not (awaited := _awaited(item)) or not awaited.done()]
        self._in_hand = []
        with self._ready:
            self._inbox.extendleft(reversed(left))
        try:
            self._load()  # nobody knows how far the driver came
        except Exception:
            log.exception("the store cannot be read")

    def _run(self) -> None:
        while True:
            items = self._collect()
            if items is None:
                return
            self._in_hand = items
            requests = [item for item in items if isinstance(item, _Request)]
            try:
                if self._doubtful:
                    self._reload()
                if requests or self._due():
                    self._take(requests)
            except UnwritableError as error:
                self._impaired(error)
                self._recover(requests, UnavailableError(f"{error}; nothing of it happened", impaired=True))
            except Exception as error:
                log.exception("a step failed")
                if not self._set_aside_for(requests, error):
                    self.problem = "a step failed; the log says how"
                    self._recover(requests, UnavailableError("it could not be stored; nothing of it happened"))
            self._in_hand = [item for item in items if isinstance(item, _Query)]
            for item in items:
                if isinstance(item, _Query):
                    item.answer()
            self._in_hand = []
            self._want_reasons += [item.future for item in items if isinstance(item, _ReasonsQuery)]
            self._tell()

    def _impaired(self, error: UnwritableError) -> None:
        """Health says so until something can be stored again; the log says it once."""
        if self.problem != str(error):
            log.error("nothing can be stored: %s; what happens is kept in mind until it can", error)
        self.problem = str(error)

    def _due(self) -> bool:
        return self._wakes_at is not None and self._wakes_at <= self._clock.now()

    def _tells_in(self) -> float | None:
        """Seconds until it is worked out why workloads wait; none if there is nothing to work out."""
        if not self._untold:
            return 0.0 if self._want_reasons else None
        share = ASKED_SHARE if self._want_reasons else UNASKED_SHARE
        return self._told_at + (share - 1) * self._telling_s - time.monotonic()

    def _tell(self) -> None:
        """Work out why workloads wait, if it is time: only after what acts is stored and ordered, never in its way.

        That is a step of its own. If it fails nothing is lost, for nothing acts by it.
        """
        left = self._tells_in()
        if left is None or left > 0 or self._doubtful or (self._inbox and not self._want_reasons):
            return
        wanted, self._want_reasons = self._want_reasons, []
        if self._untold:
            began, deciding = time.monotonic(), self._deciding_s
            self._telling = True
            try:
                self._take([_Request(AskWhy())])
                self._reasons = self._driver.reasons()
            except UnwritableError as error:
                self._impaired(error)
                self._doubtful = True
                began -= RETRY_S
            except Exception:
                log.exception("nobody could be told why it waits")
                self._doubtful = True
                began -= RETRY_S
            self._telling = False
            self._told_at, self._deciding_s = time.monotonic(), deciding
            self._telling_s = self._told_at - began
        for future in wanted:
            future.set_result(self._reasons)

    def _collect(self) -> list[Item] | None:
        """What has come in; waits for something, or for the time the driver wants to be called."""
        with self._ready:
            while not self._inbox and not self._stopping:
                left = LONGEST_WAIT if self._wakes_at is None else self._wakes_at - self._clock.now()
                tells_in = self._tells_in()
                if left <= 0 or (tells_in is not None and tells_in <= 0):
                    break
                waits = min(left, LONGEST_WAIT) / SECOND
                self._ready.wait(waits if tells_in is None else min(waits, tells_in))
            if self._stopping:
                return None
        if self._deciding_s > LONG_S:
            time.sleep(min(3 * self._deciding_s, LONGEST_PAUSE_S))
        with self._ready:
            return [self._inbox.popleft() for _ in range(min(len(self._inbox), MOST_AT_ONCE))]

    def _take(self, requests: list[_Request]) -> None:
        """One step: feed, commit, answer, act."""
        for _ in range(ATTEMPTS):
            aside = [_Request(SetAside(name, why)) for name, why in sorted(self._aside.items())]
            filled = [_Request(fills) for _, fills in sorted(self.reconciler.occupied.items())]
            filled += [_Request(runs) for _, runs in sorted(self.reconciler.recoverable.items())]
            taken = [_Request(Restarted()), *filled, *aside, *requests] if self._rebuilt else requests
            facts = [request.fact for request in taken]
            began = time.perf_counter()
            mark = self._clock.mark()
            step = self._driver.feed(mark.at, facts)
            decided = time.perf_counter()
            self._deciding_s = decided - began
            self._wakes_at = step.wakes_at
            self._untold = self._driver.untold
            asks_why = all(isinstance(fact, AskWhy) for fact in facts)
            if asks_why and not step.changed and not step.decisions and step.kept is None:
                return
            try:
                entry = self._entry(step, taken, mark)
                self._version = self._store.commit(entry)
                self._rebuilt = False
                self._aside = {}
                self._keep_up(entry)
            except StaleError:
                log.warning("another writer moved the store; deciding again")
                self._reload()
                continue
            except TakenError:
                self._reload()
                requests = self._refuse_taken_names(requests)
                continue
            committed = time.perf_counter()
            try:
                self._metrics.observe(step, decided - began, committed - decided)
                self._alarm(step.changed.values())
                self._after(step, taken, entry.tasks)
            except Exception:
                log.exception("a step was stored, but not all of it was carried out")
                self._dispatch.give(self._driver.outstanding(), {})
            return
        raise UnavailableError("another writer keeps moving the store")

    def _keep_up(self, entry: Entry) -> None:
        """Steps of the wall clock are stored now; applications that were given deadlines by it get them anew."""
        self._shifts += len(entry.shifts)
        for shift in entry.shifts:
            off = show_duration(round(abs(shift.ahead) / SECOND) * SECOND)
            where = "ahead of" if shift.ahead > 0 else "behind"
            log.warning("the wall clock was set: it is %s %s the scheduler's, which goes on as before", off, where)
        if entry.shifts:
            self._dispatch.give(self._driver.outstanding(), {})

    def _refuse_taken_names(self, requests: list[_Request]) -> list[_Request]:
        """The requests that are left once submissions whose names are taken have been refused: only the store knows all
        names."""
        left = []
        for request in requests:
            if isinstance(request.fact, Submit) and self._is_taken(request.fact.workload.name, request.task):
                rule, name = rules.NAME_TAKEN, request.fact.workload.name
                if request.audit is not None:
                    self._store.note_audit(replace(request.audit, allowed=False, rule=rule.id), self._clock.wall_now())
                if request.future is not None:
                    request.future.set_result(Answer(Refusal(0, rule.id, rule.because(name=name)), None, self._version))
            else:
                left.append(request)
        return left

    def _is_taken(self, name: str, task: Task | None) -> bool:
        """Whether there is a record of this name, or its owner calls another workload so."""
        if self._store.taken(name):
            return True
        return task is not None and self._store.called(task.owner, task.called or name) is not None

    def _entry(self, step: Step, requests: Sequence[_Request], mark: Mark | None) -> Entry:
        refused = {refusal.fact for refusal in step.refusals}
        tasks = {
            request.fact.workload.name: request.task
            for at, request in enumerate(requests)
            if isinstance(request.fact, Submit) and request.task is not None and at not in refused
        }
        audit = [replace(request.audit, fact=at) for at, request in enumerate(requests) if request.audit is not None]
        notes = self._sensitive.records(step)
        return Entry(
            self._version,
            step,
            [request.fact for request in requests],
            tasks,
            audit,
            notes,
            self._settings,
            mark=mark,
            shifts=self._clock.shifts[self._shifts :],
        )

    def _after(self, step: Step, requests: Sequence[_Request], tasks: Mapping[str, Task]) -> None:
        """What follows a commit: answers, orders, and events for subscribers."""
        self.problem = f"a plan was not carried out: {step.problems[0]}" if step.problems else ""
        for problem in step.problems:
            log.error("unlawful plan: %s", problem)
        refused = {refusal.fact: refusal for refusal in step.refusals}
        for at, request in enumerate(requests):
            if request.future is not None:
                job = step.changed.get(name_of(request.fact)) or self._driver.jobs.get(name_of(request.fact))
                seen = None if job is None else replace(job)
                request.future.set_result(Answer(refused.get(at), seen, self._version))
            elif request.stored is not None:
                request.stored.set_result(None)
        self._dispatch.give(step.orders, tasks)
        if self._granted is not None:
            for name, granted in step.granted.items():
                job = step.changed[name]
                self._granted(name, job.attempt, job.hint, granted)
        if step.transitions and self._subscribers:
            events = self._store.events_of(self._version)
            for callback in self._subscribers:
                callback(events)

    def _set_aside_for(self, requests: list[_Request], error: Exception) -> bool:
        """Whether the workload that makes the step fail is known and set aside, so that the rest goes on at once."""
        if isinstance(error, StoreError | UnavailableError):
            return False
        try:
            return self._set_aside_culprit(requests)
        except Exception:
            log.exception("no workload could be found that makes the step fail")
            return False

    def _set_aside_culprit(self, requests: list[_Request]) -> bool:
        saved = self._store.load()
        jobs = [replace(job, aside=self._aside.get(job.name, job.aside)) for job in saved.jobs]
        self._version = saved.version

        def rehearse(step: Step, count: int) -> None:
            with suppress(TakenError):  # the caller is told that
                self._store.rehearse(self._entry(step, [_Request(Restarted()), *requests[:count]], None))

        culprit = find_culprit(
            jobs,
            [request.fact for request in requests],
            self._clock.now(),
            lambda some: self._driver_of(saved, some),
            rehearse,
        )
        if culprit is None:
            return False
        log.error("a step fails because of %s: %s", culprit.name or "what was asked for", culprit.why)
        left = list(requests)
        known = {job.name: job for job in jobs}.get(culprit.name)
        new = known is not None and not known.aside
        if culprit.fact is not None:
            request = left[culprit.fact]
            if request.future is not None or not new:
                del left[culprit.fact]
                self._refuse(request, rules.FAULT.because(why=culprit.why))
        if new:
            self._aside[culprit.name] = culprit.why
        elif culprit.fact is None:
            return False
        with self._ready:
            self._inbox.extendleft(reversed(left))
        self._reload()
        self._wakes_at = self._clock.now()
        return True

    def _refuse(self, request: _Request, why: str) -> None:
        if request.future is not None:
            if request.audit is not None:
                audit = replace(request.audit, allowed=False, rule=rules.FAULT.id)
                self._store.note_audit(audit, self._clock.wall_now())
            request.future.set_result(Answer(Refusal(0, rules.FAULT.id, why), None, self._version))
        elif request.stored is not None:
            log.error("not taken in: %r", request.fact)
            request.stored.set_result(None)

    def _recover(self, requests: Sequence[_Request], why: UnavailableError) -> None:
        """The step is not in the store: forget it, tell the callers, and take in again what was observed, however
        often."""
        self._doubtful = True
        for request in requests:
            if request.future is not None and not request.future.done():
                request.future.set_exception(why)
        seen = [request for request in requests if request.future is None]
        ends = time.monotonic() + RETRY_S
        with self._ready:
            self._inbox.extendleft(reversed(seen))
            while not self._stopping and (left := ends - time.monotonic()) > 0:
                self._ready.wait(left)
        try:
            self._reload()
            self._dispatch.give(self._driver.outstanding(), {})
            self._wakes_at = self._clock.now()
        except Exception as error:
            log.error("the store cannot be read: %s", error)
            self._wakes_at = self._clock.now() + int(RETRY_S * 1e6)

    def _compare(self) -> None:
        """Records are compared with what runs, and orders that did not arrive are given again, as soon as the scheduler
        has said what is in force. Orders that it gives until then come first, and none of them waits for that."""
        self._call(self._in_force).add_done_callback(self._compare_with)

    def _compare_with(self, answer: Future[tuple[dict[str, PresentWorkload], list[Order]]]) -> None:
        error = answer.exception()
        if error is None:
            self._dispatch.then(partial(self._compared, *answer.result()))
        elif not self._stopping:
            log.error("records were not compared with what runs: %s", in_words(error))

    def _compared(self, present: Mapping[str, PresentWorkload], orders: Sequence[Order]) -> None:
        self.reconciler.compare(present)
        self._metrics.compared(len(self.reconciler.orphans), self.reconciler.repaired)
        self._dispatch.give(orders, {})

    def _in_force(self) -> tuple[dict[str, PresentWorkload], list[Order]]:
        jobs = self._driver.jobs.values()
        present = {
            job.name: PresentWorkload(job.attempt, job.began is not None) for job in jobs if job.phase in PRESENT
        }
        return present, self._driver.outstanding()

    # -- answers -----------------------------------------------------------------------------------------------

    def _moment(self) -> tuple[ClusterFile, Kept]:
        return self._driver.moment(self._clock.now())

    def _stake(self, name: str) -> Stake | None:
        return self._driver.at_stake(name, self._clock.now(), self._assumed_age)

    def _described(self) -> ClusterState:
        return describe(self._driver, self._version)
