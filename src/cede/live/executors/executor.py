"""What the controller asks of an executor, whatever it runs workloads on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cede.engine.drive.facts import Exited, Fact
from cede.engine.drive.orders import Hint, Kill, Launch, Terminate
from cede.live.lineage import Stamp
from cede.live.task import Task

Report = Callable[[Fact], object]
"""Takes Began, Exited, Stuck, Heard, Checkpointed, CheckpointFailed and Deferral, from any thread, at once."""


@dataclass(frozen=True, slots=True)
class LogPage:
    """A part of a log. `next` is the offset to go on from; `ended`: nothing more will come.

    Offsets count from the first byte ever written: `data` may begin later than asked, where older bytes were rotated
    away, and `start` says where.
    """

    data: bytes
    start: int
    next: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of one stream. `at` orders pieces of the members of one attempt: microseconds of a clock of theirs."""

    at: int
    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class OutputPage:
    """A part of what a member wrote to both streams, in order; offsets and the rest as in a LogPage."""

    pieces: tuple[Piece, ...]
    start: int
    next: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """The member whose end was that of the attempt. `told`: it had been signalled to end before it ended."""

    member: int
    node: str
    code: int | None
    signal: int | None
    told: bool
    lost: bool
    error: str


@dataclass(frozen=True, slots=True)
class Trace:
    """An attempt as its files tell it. `at`: when it began, by the wall clock; `began`: by the scheduler's."""

    name: str
    attempt: int
    running: bool
    nodes: tuple[str, ...] = ()
    account: str = ""
    at: int | None = None
    began: int | None = None
    stamp: Stamp | None = None
    requests: Mapping[str, int] = field(default_factory=dict)
    """What each member fills of its node, in billionths."""
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """An attempt that is over, as its files tell it: when it began and last saved its work, by the scheduler's clock,
    and how it ended."""

    trace: Trace
    began: int | None
    saved: int | None
    end: Exited


Known = Callable[[Collection[str]], Collection[str]]
"""Those of some workloads, a few hundred at most, that are on record."""


class Executor(Protocol):
    """Every order may come twice: then nothing happens. One for an attempt that has ended has its end reported again.

    A Launch that cannot be carried out is reported as Exited with `error`; no method raises for what a job does.
    """

    def open(self, report: Report) -> None:
        """Begin: from now on facts are reported."""

    def adopt(self, attempts: Mapping[str, int]) -> Sequence[str]:
        """After a restart, and from time to time: these attempts were ordered. Those under way are watched, facts
        missed meanwhile are reported. The names of those of which there is no trace are returned, and they are left
        alone (the Launch comes again); so is whatever is not listed."""

    def survey(self, known: Known) -> Sequence[Trace]:
        """Every attempt that is not settled, and the newest one of every workload that is not known."""

    def past(self, name: str, after: int) -> Sequence[EndedAttempt]:
        """The attempts of this workload after that one which are over, in order."""

    def holds(self, name: str) -> bool:
        """Whether there are files of a workload of this name."""

    def launch(self, order: Launch, task: Task) -> None: ...

    def hint(self, order: Hint) -> None: ...

    def terminate(self, order: Terminate) -> None: ...

    def kill(self, order: Kill) -> None: ...

    def logs(self, name: str, attempt: int, member: int, stream: str, offset: int, limit: int) -> LogPage:
        """A page of `out` or `err` of one member."""

    def output(self, name: str, attempt: int, member: int, offset: int, limit: int) -> OutputPage:
        """A page of both, as they were written: what came within a moment of each other may have changed places."""

    def failure(self, name: str, attempt: int) -> Failure | None:
        """Which member failed first; none if none did, or it is not known any more."""

    def forget(self, name: str) -> None:
        """The workload's record is being deleted: its files go too."""

    def troubles(self) -> Sequence[str]:
        """What keeps jobs from being started or their ends from being seen at present, in sentences."""

    def notices(self) -> Sequence[str]:
        """What this machine does not allow, in sentences for the admin."""

    def close(self) -> None:
        """Stop watching. Processes of workloads go on."""
