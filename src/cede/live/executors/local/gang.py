"""The members of an attempt as one: what each of them does becomes what is reported of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.engine.drive.facts import Began, Checkpointed, CheckpointFailed, Deferral, Exited, Fact, Heard
from cede.live.executors.local.guard.outcome import CANCEL
from cede.model.times import SECOND

BROKEN = "gang"
"""Why members are told to go when another has failed."""
When = Callable[[str, int, int], int]
"""The scheduler's time of a moment that a supervisor noted: by its boot, what elapsed in that, and the wall clock."""


def by_the_wall(_boot: str, _elapsed: int, wall: int) -> int:
    return wall


@dataclass(slots=True)
class Member:
    began: bool = False
    said: dict[str, Any] = field(default_factory=dict)
    exit: dict[str, Any] | None = None
    since: dict[str, Any] = field(default_factory=dict)
    """The moment at which it began, if its files were read."""

    @property
    def failed(self) -> bool:
        end = self.exit
        return end is not None and bool(end["lost"] or end["error"] or end["signal"] is not None or end["code"] != 0)


def first_failed(members: Sequence[Member]) -> int | None:
    """The member whose failure was the first, and so that of the whole.

    Who was told to go because another had failed was never the first, whatever the clocks say. Within one boot moments
    are told apart by what elapsed: the wall clock may have been set between two of them.
    """
    ends = {number: member.exit for number, member in enumerate(members) if member.failed and member.exit is not None}
    clock = "elapsed" if len({end.get("boot", "") for end in ends.values()}) == 1 else "at"

    def order(number: int) -> tuple[bool, int, bool]:
        end = ends[number]
        return bool(end["told"] and end.get("cause") == BROKEN), end.get(clock, end["at"]), not end["error"]

    return min(ends, key=order, default=None)


@dataclass(slots=True)
class Gang:
    """Nothing is reported twice. `dumps`: a checkpoint is taken of the processes, which are gone with it if asked."""

    name: str
    attempt: int
    members: list[Member]
    grace: int = 30 * SECOND
    """How long one that answered may take to leave, if it is not asked to any more."""
    dumps: bool = False
    when: When = by_the_wall
    _began: bool = False
    _ended: bool = False
    _done: int = 0
    _own: int = 0
    _failed: int = 0
    _progress: tuple[int, float] | None = None
    _defer: tuple[int, float] | None = None

    @property
    def ended(self) -> bool:
        return self._ended

    @property
    def failing(self) -> bool:
        """One has failed: those that are left must go."""
        return any(member.failed for member in self.members)

    def news(self) -> Iterator[Fact]:
        """What is to be reported now."""
        if not self._began and all(member.began for member in self.members):
            self._began = True
            yield Began(self.name, self.attempt, self._last([member.since for member in self.members]))
        yield from self._said()
        if not self._ended and all(member.exit is not None for member in self.members):
            self._ended = True
            end = self._exit([member.exit for member in self.members if member.exit is not None])
            gave_way = [member for member in self.members if self._gave_way(member) == end.gave_way > self._done]
            others = [member for member in self.members if member not in gave_way]
            if gave_way and not any(member.failed or self._gave_way(member) for member in others):
                # Only the broker was told. The record may be older than that; and members that had answered a server
                # that died since, or ended well when the others had answered, were missing when the broker counted.
                at = self._last([member.said.get("answered", {}) for member in gave_way])
                yield Checkpointed(self.name, self.attempt, end.gave_way, at=at)
            yield end

    def _said(self) -> Iterator[Fact]:
        """A member that has ended with success needs no checkpoint any more: the others speak for all.

        When all have, the one that answered last does: it may have left in the midst of its work.
        """
        speaking = [member.said for member in self.members if member.exit is None or member.failed]
        if not speaking:
            speaking = [max((member.said for member in self.members), key=lambda said: int(said.get("done", 0)))]
        name, attempt = self.name, self.attempt
        progress = [(said["progress"][0], said["progress"][1]) for said in speaking if said.get("progress")]
        if progress and min(progress) != self._progress:
            self._progress = min(progress)
            yield Heard(name, attempt, *self._progress)
        defers = [(said["defer"][0], said["defer"][1]) for said in speaking if said.get("defer")]
        if defers and max(defers) != self._defer:
            self._defer = max(defers)
            yield Deferral(name, attempt, self._defer[0], round(self._defer[1] * SECOND))
        for hint, why in sorted((said["failed"][0], said["failed"][1]) for said in speaking if said.get("failed")):
            if hint > self._failed:
                self._failed = hint
                yield CheckpointFailed(name, attempt, hint, why)
        own = min(said.get("own", 0) for said in speaking)
        if own > self._own:
            self._own = own
            yield Checkpointed(name, attempt, 0)
        done = min(said.get("done", 0) for said in speaking)
        if done > self._done:
            self._done = done
            leaves = self.dumps and all(said.get("leaving") for said in speaking)
            yield Checkpointed(name, attempt, done, leaves)

    def _last(self, moments: list[dict[str, Any]]) -> int | None:
        """The last of these, by the scheduler's clock; none if one of them is not known."""
        if not all("at" in moment for moment in moments):
            return None
        return max(self.when(one.get("boot", ""), one.get("elapsed", 0), one["at"]) for one in moments)

    def _gave_way(self, member: Member) -> int:
        """The request to leave that it answered last, and may have ended because of; 0 if there is none.

        One that was taken back when it had heard it counts for as long as it may take to leave.
        """
        said, end = member.said, member.exit or {}
        if said.get("leaving"):
            return int(said.get("done", 0))
        answered = said.get("answered", {})
        soon = 0 <= end.get("elapsed", 0) - answered.get("elapsed", 0) <= self.grace
        return int(said["gave_way"]) if answered and soon and answered["boot"] == end.get("boot") else 0

    def _exit(self, ends: list[dict[str, Any]]) -> Exited:
        """How the whole ended: as the first member that failed, or well, if none did."""
        failed = first_failed(self.members)
        first = None if failed is None else self.members[failed].exit
        if failed is None or first is None:
            return Exited(
                self.name,
                self.attempt,
                code=0,
                told=any(end["told"] for end in ends),
                walltime=any(end["walltime"] for end in ends),
                cause=next((end["cause"] for end in ends if end.get("cause")), ""),
                at=self._last(ends),
                gave_way=max(map(self._gave_way, self.members), default=0),
            )
        return Exited(
            self.name,
            self.attempt,
            code=first["code"],
            signal=first["signal"],
            told=first["told"],
            lost=first["lost"],
            walltime=any(end["walltime"] for end in ends),
            error=first["error"],
            # Who was cancelled was so, though the first to fail was not told to go for that.
            cause=CANCEL if any(end.get("cause") == CANCEL for end in ends) else first.get("cause", ""),
            at=self._last(ends),
            gave_way=self._gave_way(self.members[failed]),
        )
