"""Records against reality: what the store says is under way, and what supervisors, exit records and folders say.

What differs is repaired where it is clear what happened, and told. Work without a record is nobody's to end: it is
listed, and an admin decides.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from cede.engine.drive.facts import Exited, Fact, Occupied, Unrecorded
from cede.engine.drive.job import Job
from cede.engine.drive.orders import Kill
from cede.live.executors.executor import Executor, Trace
from cede.live.store.errors import UnreadableError
from cede.live.store.store import Store
from cede.model.lifecycle import FINAL, PRESENT, Phase

log = logging.getLogger("cede.reconcile")


@dataclass(frozen=True, slots=True)
class PresentWorkload:
    """What the driver knows of a workload that has its room."""

    attempt: int
    began: bool


@dataclass(frozen=True, slots=True)
class Orphan:
    """An attempt that no record accounts for. `why` says how that is known."""

    trace: Trace
    why: str
    recorded: bool = False
    """There is a record of its workload, which knows nothing of this attempt."""
    awaited: bool = False
    """The record takes it over as soon as its room there is free."""


class Reconciler:
    """Called from any thread; `compare` from the one that carries out orders, so that none comes between."""

    def __init__(self, store: Store, executor: Executor, report: Callable[[Fact], object]) -> None:
        self._store = store
        self._executor = executor
        self._report = report
        self._lock = threading.Lock()
        self._present: Mapping[str, PresentWorkload] = {}
        self.orphans: tuple[Orphan, ...] = ()
        self.occupied: Mapping[str, Occupied] = {}
        """By node, what orphans fill of it that no record takes over."""
        self.recoverable: Mapping[str, Unrecorded] = {}
        """By workload, the orphan that its record takes over."""
        self.repaired = 0
        """How often a record differed from what was found, and was put right."""

    def compare(self, present: Mapping[str, PresentWorkload], under_way: Mapping[str, int] | None = None) -> None:
        """Whatever is under way by these records is watched, or its end is reported; whatever else runs is judged.

        `under_way`: workloads that may have had later attempts than these, as when the store was just opened.
        """
        self._present = present
        without = self._executor.adopt({name: standing.attempt for name, standing in present.items()})
        for name in without:
            if present[name].began:
                log.warning("%s: its record says that it runs, and nothing of it is there", name)
                self.repaired += 1
                self._report(Exited(name, present[name].attempt, lost=True))
        for name, attempt in (under_way or {}).items():
            self._tell_past(name, attempt)
        self.look()

    def _tell_past(self, name: str, after: int) -> None:
        """Attempts that the record does not know and that are over by now are told of, in order."""
        for past in self._executor.past(name, after):
            stamp = past.trace.stamp
            if stamp is not None and stamp.identity != self._store.lineage.stamp.identity:
                return
            log.warning("%s: attempt %d, which its record does not know, has ended", name, past.trace.attempt)
            self.repaired += 1
            nodes, attempt = past.trace.nodes, past.trace.attempt
            self._report(Unrecorded(name, attempt, nodes, began=past.began, saved=past.saved, end=past.end))

    def look(self) -> None:
        """`orphans` are those that there are now."""
        with self._lock:
            verdicts = [self._judge(trace) for trace in self._executor.survey(self._store.known)]
            orphans = tuple(orphan for orphan in verdicts if orphan is not None)
            for orphan in orphans:
                if orphan not in self.orphans:
                    log.warning("%s, attempt %d: %s", orphan.trace.name, orphan.trace.attempt, orphan.why)
            self.orphans = orphans
            before, self.occupied = self.occupied, _occupied(orphans)
            for node in sorted(before.keys() | self.occupied.keys()):
                if before.get(node) != (fills := self.occupied.get(node, Occupied(node))):
                    self._report(fills)
            earlier, self.recoverable = self.recoverable, _recoverable(orphans)
            for name in sorted(earlier.keys() | self.recoverable.keys()):
                runs = self.recoverable.get(name)
                if runs is None:
                    self._gone(earlier[name])
                elif runs != earlier.get(name):
                    self._report(runs)

    def _gone(self, fact: Unrecorded) -> None:
        """Its record has taken it over, or it runs no more."""
        with suppress(UnreadableError):
            record = self._store.workload(fact.name)
            if record is not None and record.job.phase not in FINAL and record.job.attempt < fact.attempt:
                self._tell_past(fact.name, record.job.attempt)
        self._report(Unrecorded(fact.name))

    def problem(self) -> str:
        """In a sentence; empty if there are no orphans."""
        if not self.orphans:
            return ""
        running = sum(orphan.trace.running for orphan in self.orphans)
        count = len(self.orphans)
        counted = "1 workload has no record" if count == 1 else f"{count} workloads have no record"
        return f"{counted}, and {running} of them run: `cede orphans list` names them"

    def find(self, name: str) -> Orphan | None:
        """The newest orphan of this name."""
        return next((orphan for orphan in reversed(self.orphans) if orphan.trace.name == name), None)

    def end(self, orphan: Orphan) -> None:
        """Its processes are killed."""
        self._executor.kill(Kill(orphan.trace.name, orphan.trace.attempt))
        self.look()

    def forget(self, orphan: Orphan) -> None:
        """Its files are deleted."""
        self._executor.forget(orphan.trace.name)
        self.look()

    def _judge(self, trace: Trace) -> Orphan | None:
        """What is wrong with this attempt; none if nothing is, or no longer is."""
        try:
            record = self._store.workload(trace.name)
        except UnreadableError as error:
            known = self._present.get(trace.name)  # it could be read when the scheduler was begun
            if not trace.running or (known is not None and known.attempt == trace.attempt):
                return None
            return Orphan(trace, f"it runs, and {error}", recorded=True)
        lineage = self._store.lineage
        remembered = lineage.remembers(trace.stamp)
        if record is None:
            if trace.running or not remembered:
                return Orphan(trace, _without_record(trace, remembered))
            if trace.stamp is not None:  # its record was deleted by retention, which did not come to its files
                self._executor.forget(trace.name)
            return None
        job = record.job
        if not trace.running or (job.phase in PRESENT and job.attempt == trace.attempt):
            return None
        if trace.stamp is not None and trace.stamp.identity != lineage.stamp.identity:
            words = f"another store started it, and here is a workload of its name, which is {job.phase}"
            return Orphan(trace, words, recorded=True)
        if job.attempt < trace.attempt and not _cancelled_since(job, trace):
            then = (
                "it stays as it is" if job.phase in FINAL else "the record takes it over as soon as that room is free"
            )
            words = f"it runs, and its record is {job.phase} and knows {job.attempt or 'no'} attempts; {then}"
            return Orphan(trace, words, recorded=True, awaited=job.phase not in FINAL)
        log.warning("%s: attempt %d runs, and its record says that it is over: it is ended", trace.name, trace.attempt)
        self.repaired += 1
        self._executor.kill(Kill(trace.name, trace.attempt))
        return None


def _cancelled_since(job: Job, trace: Trace) -> bool:
    """Whether somebody cancelled the workload after this attempt began. That wish is about all of it, whatever the
    restored record knew of it. An earlier one is not: a workload of the same name may have been submitted since."""
    if job.phase is not Phase.CANCELLED or job.ended is None:
        return False
    return trace.began is not None and trace.began < job.ended


def _occupied(orphans: Iterable[Orphan]) -> Mapping[str, Occupied]:
    """What those that run fill of their nodes: nobody else can have that, though no record accounts for it."""
    amounts: dict[str, Counter[str]] = {}
    whole: set[str] = set()
    for orphan in orphans:
        trace = orphan.trace
        if not trace.running or orphan.awaited:
            continue
        for node in trace.nodes:
            amounts.setdefault(node, Counter()).update(trace.requests)
        whole.update(trace.nodes if trace.exclusive else ())
    return {node: Occupied(node, dict(filled), node in whole) for node, filled in amounts.items()}


def _recoverable(orphans: Iterable[Orphan]) -> Mapping[str, Unrecorded]:
    """Those that their records take over: their room is theirs until then."""
    traces = [orphan.trace for orphan in orphans if orphan.trace.running and orphan.awaited]
    return {
        trace.name: Unrecorded(trace.name, trace.attempt, trace.nodes, dict(trace.requests), trace.exclusive)
        for trace in traces
    }


def _without_record(trace: Trace, remembered: bool) -> str:
    runs = "runs" if trace.running else "ended"
    if remembered:
        return f"it {runs}, and the store has no record of it"
    return f"it {runs}, and the store knows nothing of it: it was started after the copy that is here now"
