"""What the broker knows of running attempts: which members listen, what they were asked, which have answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from cede.engine.drive.facts import Checkpointed, CheckpointFailed, Deferral, Fact, Heard
from cede.engine.drive.orders import Hint
from cede.model.times import SECOND


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an application says of its checkpoints, in microseconds: how long one takes to write, and how often it
    writes one of its own accord. None: not known."""

    write: int | None = None
    interval: int | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """The member of an attempt that a call comes from; `size` is how many there are."""

    name: str
    attempt: int
    member: int
    size: int


@dataclass(slots=True)
class Record:
    """One attempt. `answers`: the members that are done with hint `about`; `saved`: with one of their own accord."""

    size: int = 1
    order: Hint | None = None
    about: int = 0
    answers: set[int] = field(default_factory=set)
    saved: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    """Members that have ended well, and need no checkpoint any more: the others speak for all."""
    to_leave: set[int] = field(default_factory=set)
    """The hints that asked it to leave, though that may have been taken back since."""
    quiet_until: int = 0
    estimates: dict[int, Estimate] = field(default_factory=dict)


class Attempts:
    """A gang answers as one: it is done when every member is, and has failed when one has. Not safe between threads."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, int], Record] = {}

    def ask(self, order: Hint) -> bool:
        """Whether this is news: another hint, or another deadline for it."""
        for name, attempt in [key for key in self._records if key[0] == order.name and key[1] < order.attempt]:
            self.forget(name, attempt)
        record = self._record(order.name, order.attempt)
        if record.order == order:
            return False
        if record.order is None or record.order.hint != order.hint:
            record.quiet_until = 0
        record.order = order
        if order.leaving:
            record.to_leave.add(order.hint)
        return True

    def asked_to_leave(self, sender: Sender, hint: int) -> bool:
        """Whether this hint asked it to leave when it was given."""
        record = self._records.get((sender.name, sender.attempt))
        return record is not None and hint in record.to_leave

    def outstanding(self, name: str, attempt: int) -> Hint | None:
        """The hint that is not answered yet."""
        record = self._records.get((name, attempt))
        return record.order if record is not None else None

    def every_outstanding(self) -> list[Hint]:
        return [record.order for record in self._records.values() if record.order is not None]

    def register(self, sender: Sender, estimate: Estimate) -> None:
        self._of(sender).estimates[sender.member] = estimate

    def is_registered(self, sender: Sender) -> bool:
        record = self._records.get((sender.name, sender.attempt))
        return record is not None and sender.member in record.estimates

    def estimate(self, name: str, attempt: int) -> Estimate:
        """Of the attempt as a whole: the slowest of its members, and the one that saves least often."""
        record = self._records.get((name, attempt))
        known = list(record.estimates.values()) if record is not None else []
        return Estimate(
            max((each.write for each in known if each.write is not None), default=None),
            max((each.interval for each in known if each.interval is not None), default=None),
        )

    def progress(self, sender: Sender, hint: int, part: float | None) -> Fact:
        self._of(sender)
        return Heard(sender.name, sender.attempt, hint, part)

    def defer(self, sender: Sender, hint: int, wanted: int, now: int) -> Fact:
        """Asking the same again, or as another member, is no more than a sign of life."""
        record = self._of(sender)
        if now + wanted <= record.quiet_until + SECOND:
            return Heard(sender.name, sender.attempt, hint)
        record.quiet_until = now + wanted
        return Deferral(sender.name, sender.attempt, hint, wanted)

    def done(self, sender: Sender, hint: int) -> Fact:
        """Checkpointed when this was the last member, else a sign of life."""
        record = self._of(sender)
        if hint > record.about:
            record.about, record.answers = hint, set()
        own = hint < record.about or hint == 0
        members = record.saved if own else record.answers
        members.add(sender.member)
        if len(members | record.ended) < record.size:
            return Heard(sender.name, sender.attempt, hint)
        if own:
            record.saved = set()
            return Checkpointed(sender.name, sender.attempt, 0)
        self._settle(record, hint)
        return Checkpointed(sender.name, sender.attempt, hint)

    def ended(self, name: str, attempt: int, member: int) -> Fact | None:
        """A member ended well; Checkpointed if all others have answered what is asked at present."""
        record = self._record(name, attempt)
        record.ended.add(member)
        waits = record.order is not None and record.order.hint == record.about
        if not (waits and record.answers) or len(record.answers | record.ended) < record.size:
            return None
        self._settle(record, record.about)
        return Checkpointed(name, attempt, record.about)

    def failed(self, sender: Sender, hint: int, why: str) -> Fact:
        self._settle(self._of(sender), hint)
        return CheckpointFailed(sender.name, sender.attempt, hint, why)

    def forget(self, name: str, attempt: int) -> None:
        self._records.pop((name, attempt), None)

    def _record(self, name: str, attempt: int) -> Record:
        return self._records.setdefault((name, attempt), Record())

    def _of(self, sender: Sender) -> Record:
        record = self._record(sender.name, sender.attempt)
        record.size = max(record.size, sender.size)
        return record

    def _settle(self, record: Record, hint: int) -> None:
        if record.order is not None and record.order.hint <= hint:
            record.order = None
