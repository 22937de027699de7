"""The running attempts: which supervisors are watched, what was heard, and what is reported of it."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cede.engine.drive.facts import Fact, Stuck
from cede.live.executors.local import adoption
from cede.live.executors.local.event_loop import EventLoop, send_order
from cede.live.executors.local.folders import Folders
from cede.live.executors.local.gang import BROKEN, Gang, Member, When, by_the_wall
from cede.live.executors.local.guard import files
from cede.live.executors.local.spec import Attempt, get_attempt

Key = tuple[str, int]
log = logging.getLogger(__name__)
AGAIN_S = 1.0


@dataclass(slots=True)
class RunningAttempt:
    """One attempt: what it is, what is known of its members, and the supervisors that are watched."""

    attempt: Attempt
    gang: Gang
    folders: list[str]
    watched: dict[int, set[int]] = field(default_factory=dict)
    """Pidfds by member."""
    asked: set[int] = field(default_factory=set)
    """Members for which a supervisor was asked for."""
    breaking: bool = False
    """One member failed, and the others were told to go."""
    ended_well: set[int] = field(default_factory=set)
    """Members of which the broker knows that no answer will come."""
    burying: set[int] = field(default_factory=set)
    """Members whose remains are being ended."""
    kills: int = 0
    """How often it was to be killed."""

    def present(self) -> Iterator[tuple[int, str]]:
        """Members that have not ended, with their folders."""
        for member, folder in enumerate(self.folders):
            if self.gang.members[member].exit is None:
                yield member, folder


class RunningAttempts:
    """All running attempts. Every method is called with the lock held; what comes from elsewhere takes it first."""

    def __init__(
        self,
        folders: Folders,
        watch: EventLoop,
        lock: threading.RLock,
        say: Callable[[Fact], None],
        settled: Callable[[Key], None],
        when: When = by_the_wall,
        ended_well: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """`ended_well` hears of each member of a gang whose members answer a broker, before what follows from it."""
        self._folders = folders
        self._loop = watch
        self._lock = lock
        self._say = say
        self._settled = settled
        self._when = when
        self._ended_well = ended_well
        self._tracked: dict[Key, RunningAttempt] = {}
        self._members: dict[str, tuple[RunningAttempt, int]] = {}

    def get(self, key: Key) -> RunningAttempt | None:
        return self._tracked.get(key)

    def all(self) -> list[RunningAttempt]:
        return list(self._tracked.values())

    def track(self, attempt: Attempt) -> RunningAttempt:
        gang = self._gang_of(attempt)
        folders = [str(self._folders.member(*attempt.key, member)) for member in range(len(attempt.nodes))]
        tracked = RunningAttempt(attempt, gang, folders)
        self._tracked[attempt.key] = tracked
        for member, folder in enumerate(tracked.folders):
            self._members[folder] = tracked, member
        return tracked

    def _gang_of(self, attempt: Attempt) -> Gang:
        members = [Member() for _ in attempt.nodes]
        dumps = attempt.protocol == "criu"
        return Gang(*attempt.key, members, attempt.grace_us, dumps=dumps, when=self._when)

    def ended_before(self, key: Key) -> bool:
        """Whether the attempt's files say that it is over, however little of it there was."""
        folder = self._folders.attempt(*key)
        attempt = get_attempt(folder)
        size = len(attempt.nodes) if attempt else 1
        return all((folder / str(member) / "exit.json").exists() for member in range(size))

    def recall(self, key: Key) -> RunningAttempt | None:
        """The attempt as its files tell it, watched again; none if there is no trace of it, or nothing to watch.

        What happened while nobody looked is reported. Members that never began are left as they are.
        """
        attempt = get_attempt(self._folders.attempt(*key))
        if attempt is None:
            return None
        tracked = self.track(attempt)
        for member, folder in enumerate(tracked.folders):
            if not Path(folder).is_dir():
                continue
            state = tracked.gang.members[member]
            self._hear(tracked, member)
            if state.exit is None and not self._find(tracked, member) and state.began:
                self._bury(tracked, member)
        self.advance(tracked)
        return self._tracked.get(key)

    def check(self, tracked: RunningAttempt) -> None:
        """What its files tell is known, every member that began has its supervisor, and none of these stands still."""
        for member, folder in tracked.present():
            self._hear(tracked, member)
            state = tracked.gang.members[member]
            if state.exit is None and state.began and not self._supervised(tracked, member):
                self._bury(tracked, member)
            else:
                adoption.let_go_on(folder)
        self.advance(tracked)

    def _supervised(self, tracked: RunningAttempt, member: int) -> bool:
        if tracked.watched.get(member):
            return True
        return self._find(tracked, member)

    def tell_end(self, key: Key) -> None:
        """The end of an attempt that is over is reported once more."""
        if get_attempt(self._folders.attempt(*key)) is not None:
            self.recall(key)
            return
        for fact in self.story(*key):
            self._say(fact)

    def story(self, name: str, number: int) -> list[Fact]:
        """What there is to tell of an attempt by its files alone."""
        attempt = get_attempt(self._folders.attempt(name, number))
        if attempt is None:
            end = files.get(str(self._folders.member(name, number, 0)), "exit.json")
            return list(Gang(name, number, [Member(exit=end)], when=self._when).news()) if end else []
        gang = self._gang_of(attempt)
        for member, state in enumerate(gang.members):
            _read(str(self._folders.member(name, number, member)), state)
        return list(gang.news())

    def insist(self, tracked: RunningAttempt) -> None:
        """It was killed before, and is still there. If its supervisor is kept from its work, it is ended without it;
        what cannot be ended is named."""
        tracked.kills += 1
        left: list[str] = []
        for _, folder in tracked.present():
            adoption.let_go_on(folder)
            if tracked.kills > 1:
                left += adoption.strike(folder)
                adoption.let_go_on(folder)  # the process that stopped it again has gone by now
        if left and tracked.kills > 1:
            self._say(Stuck(*tracked.attempt.key, ", ".join(left)))

    def forked(self, folder: str, pidfd: int | None) -> None:
        """The zygote has forked a supervisor for this folder."""
        entry = self._members.get(folder)
        if entry is None:
            if pidfd is not None:
                os.close(pidfd)
            return
        tracked, member = entry
        if pidfd is None:
            self._gone(folder)
        else:
            self._watch_over(tracked, member, pidfd)

    def noted(self, name: str, attempt: int, member: int, kind: str) -> None:
        """A supervisor sent a note."""
        tracked = self._tracked.get((name, attempt))
        if tracked is None or not 0 <= member < len(tracked.folders):
            return
        if kind == "began":
            self._hear(tracked, member)
            tracked.gang.members[member].began = True
            if not tracked.watched.get(member):
                self._find(tracked, member)
        else:
            self._hear(tracked, member)
        self.advance(tracked)

    def order(self, tracked: RunningAttempt, kind: str, order: dict[str, Any]) -> None:
        """Every present member has the order: it lies in its folder, and its supervisor was sent it too."""
        for _, folder in tracked.present():
            try:
                files.put(folder, f"{kind}.json", order, durable=False)
            except OSError as error:
                log.error("%s: an order could not be written: %s", folder, error)
            send_order(folder, kind, order)

    def end(self, tracked: RunningAttempt, kind: str, order: dict[str, Any]) -> None:
        """Every present member ends: by its supervisor, or else as one that has none."""
        self.order(tracked, kind, order)
        for member, folder in tracked.present():
            # A supervisor that is only beginning finds the order when it is ready to listen.
            if (Path(folder) / "began.json").exists():
                if not self._supervised(tracked, member):
                    self._bury(tracked, member)
            else:
                end = adoption.conclude(folder, told=True, cause=order.get("cause", ""))
                tracked.gang.members[member].exit = end
        self.advance(tracked)

    def give_up(self, tracked: RunningAttempt, members: list[int], why: str) -> None:
        """These members have no supervisor and will have none: that is their end, unless they have one after all."""
        for member in members:
            tracked.gang.members[member].exit = adoption.conclude(tracked.folders[member], error=why)
        self.advance(tracked)

    def advance(self, tracked: RunningAttempt) -> None:
        """What is new of the attempt is reported, and then what follows from it is done."""
        self._tell_broker(tracked)
        for fact in list(tracked.gang.news()):
            self._say(fact)
        if tracked.gang.ended:
            self.settle(tracked)
        elif tracked.gang.failing and not tracked.breaking:
            tracked.breaking = True
            self.end(tracked, "end", {"cause": BROKEN, "grace": tracked.attempt.grace_us})

    def _tell_broker(self, tracked: RunningAttempt) -> None:
        members = tracked.gang.members
        if self._ended_well is None or tracked.attempt.protocol != "grpc" or len(members) == 1:
            return
        well = {number for number, member in enumerate(members) if member.exit is not None and not member.failed}
        for number in sorted(well - tracked.ended_well):
            self._ended_well(*tracked.attempt.key, number)
        tracked.ended_well = well

    def settle(self, tracked: RunningAttempt) -> None:
        """The attempt is over: nothing of it is kept in mind."""
        for pidfds in tracked.watched.values():
            for pidfd in pidfds:
                self._loop.forget(pidfd)
        for folder in tracked.folders:
            self._members.pop(folder, None)
        if self._tracked.pop(tracked.attempt.key, None) is not None:
            self._settled(tracked.attempt.key)
            try:
                self._folders.settle(*tracked.attempt.key)
            except OSError as error:  # it is found again, and tidied up, when records are compared with folders
                log.warning("%s: its mark could not be removed: %s", tracked.attempt.name, error)

    def _find(self, tracked: RunningAttempt, member: int) -> bool:
        """Whether the member has a supervisor; it is watched then."""
        pidfd = adoption.supervisor(tracked.folders[member])
        if pidfd is not None:
            self._watch_over(tracked, member, pidfd)
        return pidfd is not None

    def _watch_over(self, tracked: RunningAttempt, member: int, pidfd: int) -> None:
        tracked.asked.add(member)
        tracked.watched.setdefault(member, set()).add(pidfd)
        self._loop.end_of(pidfd, partial(self._ended, tracked, member, pidfd))

    def _ended(self, tracked: RunningAttempt, member: int, pidfd: int) -> None:
        with self._lock:
            tracked.watched.get(member, set()).discard(pidfd)
            if tracked.attempt.key in self._tracked:
                self._gone(tracked.folders[member])

    def _gone(self, folder: str) -> None:
        """A supervisor of this folder has ended. If it did so before its member, that is lost."""
        tracked, member = self._members[folder]
        if tracked.gang.members[member].exit is None:
            self._hear(tracked, member)
            if tracked.gang.members[member].exit is None:
                self._bury(tracked, member)
            self.advance(tracked)

    def _hear(self, tracked: RunningAttempt, member: int) -> None:
        """All that the member's files tell is known."""
        _read(tracked.folders[member], tracked.gang.members[member])

    def _bury(self, tracked: RunningAttempt, member: int) -> None:
        """In a thread of its own, because it lasts until nothing of the member is left."""

        if member in tracked.burying:
            return
        tracked.burying.add(member)

        def bury() -> None:
            end = _until_written(tracked.folders[member])
            with self._lock:
                tracked.burying.discard(member)
                if tracked.gang.members[member].exit is None and tracked.attempt.key in self._tracked:
                    self._hear(tracked, member)
                    if tracked.gang.members[member].exit is None:  # it could not be written down
                        tracked.gang.members[member].exit = end
                    self.advance(tracked)

        threading.Thread(target=bury, name="cede-bury", daemon=True).start()


def _read(folder: str, state: Member) -> None:
    end = files.get(folder, "exit.json")  # before the rest: what is written after it is not waited for
    state.said = files.get(folder, "said.json") or {}
    began = files.get(folder, "began.json")
    if began is not None and not (end and end["error"]):
        state.began, state.since = True, began
    state.exit = state.exit or end or None


def _until_written(folder: str) -> dict[str, Any] | None:
    """How a member without a supervisor ended, once that is written down: a full disk must not make it unheard of."""
    while True:
        try:
            return adoption.conclude(folder, wait=True)
        except OSError as error:
            log.warning("%s: its end could not be written down yet: %s", folder, error)
            time.sleep(AGAIN_S)
