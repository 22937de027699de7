"""The executor of this machine: see `Executor` for what each method promises."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from cede.engine.drive.facts import Began, Checkpointed, Exited, Fact
from cede.engine.drive.orders import Hint, Kill, Launch, Terminate
from cede.live.disk import why_unwritable
from cede.live.executors.executor import EndedAttempt, Failure, Known, LogPage, OutputPage, Report, Trace
from cede.live.executors.local.attempts import RunningAttempt, RunningAttempts
from cede.live.executors.local.cgroups import Cgroups, find_cgroups
from cede.live.executors.local.event_loop import EventLoop, NotificationPipe
from cede.live.executors.local.folders import NAME, Folders
from cede.live.executors.local.gang import Member, When, by_the_wall, first_failed
from cede.live.executors.local.gpus import GpuError, Gpus, NodeFacts
from cede.live.executors.local.guard import files
from cede.live.executors.local.guard.outcome import outcome
from cede.live.executors.local.logs import read_page
from cede.live.executors.local.output import read_output
from cede.live.executors.local.rights import Rights, RightsError, rights_of
from cede.live.executors.local.spec import (
    environment,
    get_attempt,
    member_environment,
    member_spec,
    new_attempt,
    put_attempt,
)
from cede.live.executors.local.zygote import Zygote
from cede.live.lineage import Stamp
from cede.live.task import Task

STILLBORN = 5
AT_ONCE = 500
"""Workloads that are asked about together."""


class LocalExecutor:
    """Members of workloads as processes of this machine, each under a supervisor that a zygote forked."""

    def __init__(
        self,
        data: Path,
        *,
        nodes: Mapping[str, NodeFacts],
        broker_address: str | None = None,
        broker_hint: Callable[[Hint], None] | None = None,
        broker_token: Callable[[str, int], str] | None = None,
        broker_ended: Callable[[str, int, int], None] | None = None,
        stamp: Callable[[], Stamp | None] = lambda: None,
        when: When = by_the_wall,
    ) -> None:
        self._folders = Folders(data)
        self._nodes = nodes
        self._gpus = Gpus(nodes)
        self._broker_address = broker_address
        self._broker_hint = broker_hint
        self._broker_token = broker_token
        self._broker_ended = broker_ended
        self._stamp = stamp
        self._when = when
        self._no_room = ""
        self._cgroups = Cgroups()
        self._lock = threading.RLock()
        self._report: Report | None = None
        self._stillborn = 0
        """Zygotes in a row that died before they were ready."""

    def open(self, report: Report) -> None:
        self._descriptors = _raise_descriptors()
        self._folders.prepare()
        self._cgroups = find_cgroups(self._folders.data)
        self._report = report
        self._loop = EventLoop()
        self._attempts = RunningAttempts(
            self._folders, self._loop, self._lock, self._say, self._gpus.free, self._when, self._broker_ended
        )
        self._pipe = NotificationPipe(self._folders.data)
        self._loop.readable(self._pipe.fileno(), self._read_notes)
        self._start_zygote()
        self._loop.start()

    def close(self) -> None:
        with self._lock:
            self._report = None
        self._loop.close()
        self._pipe.close()
        self._zygote.close()
        self._cgroups.close()

    def launch(self, order: Launch, task: Task) -> None:
        key = order.name, order.attempt
        with self._lock:
            if self._attempts.get(key) is None:
                if self._attempts.ended_before(key):
                    self._attempts.tell_end(key)
                    return
                self._recall(*key)
            if not order.nodes:  # a plan on quota alone places nobody
                self._refuse(order, "it was given no node: the cluster file has none")
                return
            try:
                rights = rights_of(task.account)
                tracked = self._attempts.get(key) or self._begin(order, task, rights)
                self._equip(tracked, task, rights)
                self._no_room = ""
            except (RightsError, GpuError) as error:
                self._refuse(order, str(error))
            except OSError as error:
                if error.errno in files.NO_ROOM:  # the order comes again until there is room
                    self._no_room = why_unwritable(self._folders.data) or f"{self._folders.data}: {error}"
                    raise
                self._refuse(order, f"its files could not be made: {error}")
            else:
                self._fork(tracked)

    def hint(self, order: Hint) -> None:
        with self._lock:
            tracked = self._attempts.get((order.name, order.attempt))
            if tracked is None:
                return
            if tracked.attempt.protocol != "grpc":
                wanted = {"hint": order.hint, "leaving": order.leaving, "deadline": order.deadline}
                self._attempts.order(tracked, "hint", wanted)
            elif self._broker_hint is not None:
                self._broker_hint(order)

    def terminate(self, order: Terminate) -> None:
        self._end(order.name, order.attempt, "end", {"cause": order.cause, "grace": order.grace})

    def kill(self, order: Kill) -> None:
        with self._lock:
            self._recall(order.name, order.attempt)
            self._end(order.name, order.attempt, "kill", {"cause": order.cause})
            tracked = self._attempts.get((order.name, order.attempt))
            if tracked is not None:
                self._attempts.insist(tracked)

    def adopt(self, attempts: Mapping[str, int]) -> Sequence[str]:
        without = []
        with self._lock:
            for key in attempts.items():
                tracked = self._attempts.get(key)
                if tracked is not None:
                    self._attempts.check(tracked)
                elif self._attempts.ended_before(key):
                    self._attempts.tell_end(key)
                elif get_attempt(self._folders.attempt(*key)) is None:
                    without.append(key[0])
                else:
                    self._recall(*key)
        return without

    def survey(self, known: Known) -> Sequence[Trace]:
        unknown: list[str] = []
        names = self._folders.names()
        # In parts, for there may be very many; and whatever has a folder was on record before it had one.
        while some := list(islice(names, AT_ONCE)):
            unknown += set(some).difference(known(some))
        with self._lock:
            keys = set(self._folders.active())
            for key in keys:
                if self._attempts.get(key) is None:
                    self._look_after(key)
            keys |= {(name, newest) for name in unknown if (newest := self._folders.newest(name))}
            return [self._trace(key) for key in sorted(keys)]

    def past(self, name: str, after: int) -> Sequence[EndedAttempt]:
        attempts = []
        for attempt in range(after + 1, self._folders.newest(name) + 1 if NAME.fullmatch(name) else 0):
            with self._lock:
                facts = self._attempts.story(name, attempt)
            end = next((fact for fact in facts if isinstance(fact, Exited)), None)
            if end is not None:
                began = next((fact.at for fact in facts if isinstance(fact, Began)), None)
                saved = [fact.at or end.at for fact in facts if isinstance(fact, Checkpointed)]
                attempts.append(EndedAttempt(self._trace((name, attempt)), began, saved[-1] if saved else None, end))
        return attempts

    def _look_after(self, key: tuple[str, int]) -> None:
        """One that nobody watches has its devices to itself until it has ended, and then its mark is removed."""
        if self._attempts.ended_before(key):
            self._gpus.free(key)
            with suppress(OSError):
                self._folders.settle(*key)
        elif (attempt := get_attempt(self._folders.attempt(*key))) is not None:
            self._gpus.take(key, attempt.nodes, attempt.gpus)

    def _trace(self, key: tuple[str, int]) -> Trace:
        attempt = get_attempt(self._folders.attempt(*key))
        folder = str(self._folders.member(*key, 0))
        spec, began = files.get(folder, "spec.json") or {}, files.get(folder, "began.json") or {}
        return Trace(
            *key,
            running=attempt is not None and not self._attempts.ended_before(key),
            nodes=() if attempt is None else attempt.nodes,
            account=spec.get("account", ""),
            at=began.get("at"),
            began=self._when(began.get("boot", ""), began.get("elapsed", 0), began["at"]) if began else None,
            stamp=None if attempt is None else attempt.stamp,
            requests={} if attempt is None else attempt.requests,
            exclusive=attempt is not None and attempt.exclusive,
        )

    def holds(self, name: str) -> bool:
        return bool(NAME.fullmatch(name)) and self._folders.job(name).exists()

    def troubles(self) -> Sequence[str]:
        trouble = why_unwritable(self._folders.data) or self._no_room
        return [trouble] if trouble else []

    def logs(self, name: str, attempt: int, member: int, stream: str, offset: int, limit: int) -> LogPage:
        folder = self._folders.member(name, attempt, member)
        # Asked before the log is read: what was written before the end is there then.
        ended = (folder / "exit.json").exists()
        return read_page(folder, stream, offset, limit, ended)

    def output(self, name: str, attempt: int, member: int, offset: int, limit: int) -> OutputPage:
        folder = self._folders.member(name, attempt, member)
        ended = (folder / "exit.json").exists()  # before the rest, as above
        return read_output(folder, offset, limit, ended)

    def failure(self, name: str, attempt: int) -> Failure | None:
        record = get_attempt(self._folders.attempt(name, attempt))
        if record is None:
            return None
        folders = [self._folders.member(name, attempt, member) for member in range(len(record.nodes))]
        members = [Member(exit=files.get(str(folder), "exit.json") or None) for folder in folders]
        first = first_failed(members)
        end = None if first is None else members[first].exit
        if first is None or end is None:
            return None
        return Failure(first, record.nodes[first], end["code"], end["signal"], end["told"], end["lost"], end["error"])

    def forget(self, name: str) -> None:
        with self._lock:
            for tracked in self._attempts.all():
                if tracked.attempt.name == name:
                    self.kill(Kill(*tracked.attempt.key))
            self._folders.remove(name)

    def notices(self) -> Sequence[str]:
        notices = list(self._cgroups.notices())
        if os.getuid() != 0:
            notices.append(f"every job runs as {rights_of(None).account}, the account of this server")
        return notices

    def _begin(self, order: Launch, task: Task, rights: Rights) -> RunningAttempt:
        key = order.name, order.attempt
        attempt = new_attempt(order, task, self._gpus.assign(key, order.nodes, task.gpus), self._stamp())
        # Its members' folders first: an attempt that is found again can then be ended, however little there is of it.
        self._folders.make(order.name, order.attempt, len(order.nodes), None)
        put_attempt(self._folders.attempt(*key), attempt)
        return self._attempts.track(attempt)

    def _equip(self, tracked: RunningAttempt, task: Task, rights: Rights) -> None:
        """Every member has its spec.json. One that is there stays: a supervisor may have read it."""
        attempt = tracked.attempt
        broker = {}
        if task.protocol == "grpc" and self._broker_address is not None:
            broker["CEDE_BROKER"] = self._broker_address
            if self._broker_token is not None:
                broker["CEDE_BROKER_TOKEN"] = self._broker_token(*attempt.key)
        lacking = [(member, folder) for member, folder in tracked.present() if not files.get(folder, "spec.json")]
        if lacking:
            self._folders.make(*attempt.key, len(attempt.nodes), rights)
            shared = environment(self._folders, attempt, task, rights, self._nodes, broker)
            for member, folder in lacking:
                env = shared | member_environment(attempt, member, folder)
                groups = self._cgroups.make(f"{attempt.name}@{attempt.attempt}.{member}", task.cpu, task.memory)
                spec = member_spec(self._folders, attempt, task, rights, env, groups)
                files.put(folder, "spec.json", spec, durable=False)

    def _fork(self, tracked: RunningAttempt) -> None:
        """A supervisor is asked for, for every member that has not begun and for which none was."""
        begun = {member for member, state in enumerate(tracked.gang.members) if state.began}
        wanted = [member for member, _ in tracked.present() if member not in begun | tracked.asked]
        if not wanted:
            return
        self._folders.set_active(*tracked.attempt.key)
        tracked.asked.update(wanted)
        try:
            self._zygote.fork([tracked.folders[member] for member in wanted])
        except TimeoutError:  # it is stuck
            self._zygote.kill()
            self._replace_zygote()
        except OSError:
            self._replace_zygote()

    def _refuse(self, order: Launch, why: str) -> None:
        """The attempt is over before it began, and its folder says so."""
        key = order.name, order.attempt
        tracked = self._attempts.get(key)
        with suppress(OSError):
            for member in range(len(order.nodes) if tracked else 1):
                self._folders.make(*key, member + 1, None)
                files.put(str(self._folders.member(*key, member)), "exit.json", outcome(error=why))
        if tracked is not None:
            self._attempts.settle(tracked)
        self._gpus.free(key)
        self._say(Exited(*key, error=why))

    def _end(self, name: str, attempt: int, kind: str, wanted: dict[str, object]) -> None:
        key = name, attempt
        with self._lock:
            tracked = self._attempts.get(key)
            if tracked is not None:
                self._attempts.end(tracked, kind, wanted)
            elif self._attempts.ended_before(key):
                self._attempts.tell_end(key)
            else:
                # It was ordered, or nobody would want its end; but of its start there is no trace.
                self._say(Exited(name, attempt, told=True, lost=True))

    def _recall(self, name: str, attempt: int) -> None:
        key = name, attempt
        record = get_attempt(self._folders.attempt(*key)) if self._attempts.get(key) is None else None
        if record is not None:
            self._gpus.take(key, record.nodes, record.gpus)
            self._attempts.recall(key)

    def _say(self, fact: Fact) -> None:
        if self._report is not None:
            self._report(fact)

    def _read_notes(self) -> None:
        notes = self._pipe.notes()
        with self._lock:
            for note in notes:
                self._attempts.noted(*note)

    def _start_zygote(self) -> None:
        self._zygote = zygote = Zygote(self._folders.data / "guard.log", self._descriptors)
        self._loop.readable(zygote.fileno(), partial(self._read_zygote, zygote))

    def _read_zygote(self, zygote: Zygote) -> None:
        with self._lock:
            if zygote is self._zygote and self._report is not None:
                forked, lives = zygote.receive()
                for folder, pidfd in forked:
                    self._attempts.forked(folder, pidfd)
                if not lives:
                    self._replace_zygote()

    def _replace_zygote(self) -> None:
        """Another zygote is there, and is asked for every supervisor that the dead one may not have forked.

        If it did fork one after all, the second waits for the first to end, and then finds nothing to do.
        """
        self._stillborn = 0 if self._zygote.ready else self._stillborn + 1
        self._loop.drop(self._zygote.fileno())
        self._zygote.close()
        self._start_zygote()
        for tracked in self._attempts.all():
            unseen = [member for member, _ in tracked.present() if member in tracked.asked - set(tracked.watched)]
            if self._stillborn >= STILLBORN:
                self._attempts.give_up(tracked, unseen, "the process that starts jobs cannot be started: see guard.log")
            elif unseen:
                try:
                    self._zygote.fork([tracked.folders[member] for member in unseen])
                except OSError:
                    self._zygote.kill()  # so that we are called again
                    return


def _raise_descriptors() -> int:
    """This process may have as many descriptors as it can: each supervisor that it watches takes one. The result is
    how many it had before, which is what commands get."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft
