"""What must hold of one job by its own evidence: once at a time, told once, and on from what it saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from cede.cli.bench.crash.evidence import COMPLETE, Life, Line
from cede.cli.bench.crash.wishes import Wish
from cede.live.documents import Event, Workload


def twice(life: Life, wish: Wish, events: Sequence[Event] | None) -> Iterator[str]:
    """Each thing that was done twice, or at the same time as another; `events` are none where records are missing."""
    for attempt in life.attempts():
        asked = () if events is None else _asked(life, attempt, events)
        for sentence in (*_once(life, attempt, wish.members), *asked):
            yield f"{life.name}, attempt {attempt}: {sentence}"
    yield from (f"{life.name}: {sentence}" for sentence in _apart(life))


def forgotten(life: Life, job: Workload, wish: Wish, lost: set[int]) -> Iterator[str]:
    """Work that was saved and not gone on from, and members that are not there."""
    yield from (f"{life.name}: {sentence}" for sentence in _resumed(life, wish, lost))
    if job["members"] != wish.members:
        yield f"{life.name} has {job['members']} members, not {wish.members}"


def after_a_restore(
    life: Life, wish: Wish, since: int, lost: set[int], told: Callable[[int], bool], excused: Callable[[int], bool]
) -> Iterator[str]:
    """What must hold of a job though its records were set back: it ended once, and nobody ended it without a record.

    `told` says of an attempt whether a record has it told to go, `excused` whether it may have got to its end unseen.
    Of a gang that `lost` a supervisor by our hand the other members are told to go, for it cannot be whole any more:
    that is a failure on record, and no decision about anybody. One without other members has nobody to be told.
    """
    attempts = life.attempts()
    for attempt in attempts[:-1]:
        if life.completed(attempt, wish.members, COMPLETE) and not told(attempt) and not excused(attempt):
            yield f"{life.name} got to its end in attempt {attempt}, and ran again"
    for attempt in attempts:
        late = [line for line in life.of(attempt, "told") if line.at > since]
        if late and not told(attempt) and not (wish.members > 1 and attempt in lost):
            yield f"{life.name}, attempt {attempt} ran when the store was set back, and was told to go by nobody"


def _once(life: Life, attempt: int, members: int) -> Iterator[str]:
    """Each member began once, and what follows was written by that process."""
    for member, lines in life.members(attempt):
        if not 0 <= member < members:
            yield f"there is no member {member}"
        began = [line for line in lines if line.what == "begin"]
        if len(began) != 1:
            yield f"member {member} began {len(began)} times"
        if strange := {line.pid for line in lines} - {line.pid for line in began}:
            yield f"member {member} was also process {', '.join(map(str, sorted(strange)))}"
        if sum(line.what == "told" for line in lines) > 1:
            yield f"member {member} was told to go more than once"


def _asked(life: Life, attempt: int, events: Sequence[Event]) -> Iterator[str]:
    """Each hint was heard once, and none that nobody gave."""
    given = sum(event["signal"] == "hint" and event["attempt"] == attempt for event in events)
    for member, lines in life.members(attempt):
        heard = [int(line.details[0]) for line in lines if line.what == "hint"]
        if any(later <= earlier for earlier, later in pairwise(heard)):
            yield f"member {member} heard hints {heard}"
        if heard and max(heard) > given:
            yield f"member {member} heard hint {max(heard)}, and only {given} were given"


def _apart(life: Life) -> Iterator[str]:
    """No attempt was there when another began."""
    for line in life.lines:
        if line.what == "overlap":
            yield f"attempt {line.attempt} began while process {line.details[0]} of another was there"
    ends: list[tuple[int, int]] = []
    for attempt in life.attempts():
        lines = life.of(attempt)
        first = min(line.at for line in lines)
        for other, last in ends:
            if last > first:
                yield f"attempt {other} was at work {(last - first) / 1e6:.1f} ms after attempt {attempt} began"
        ends.append((attempt, max(line.at for line in lines)))


def _resumed(life: Life, wish: Wish, lost: set[int]) -> Iterator[str]:
    """Every member went on from the last thing that it saved; and what was saved and told of was not forgotten."""
    for member in range(wish.members):
        mine = [line for line in life.lines if line.member == member]
        for at, line in enumerate(mine):
            if line.what == "resumed":
                yield from _from_what_it_saved(wish, line, mine[:at])
            elif line.what == "begin" and line.details[0] == "0" and wish.members == 1:
                answered = [before for before in mine[:at] if before.what == "done" and before.attempt not in lost]
                if answered:
                    yield f"attempt {line.attempt} began anew, though attempt {answered[-1].attempt} had saved its work"


def _from_what_it_saved(wish: Wish, line: Line, before: Sequence[Line]) -> Iterator[str]:
    # Killed between the file and the line about it, a member has saved a step that it only says it was saving.
    saved = [int(other.details[0]) for other in before if other.what == "saved"]
    saving = [int(other.details[0]) for other in before if other.what == "saving"]
    wanted = {*saved[-1:], *saving[-1:]}
    if not wanted and wish.members > 1:
        wanted = {-1}  # it had nothing to save when the others did
    if int(line.details[0]) not in wanted:
        words = " or ".join(map(str, sorted(wanted))) or "nothing"
        step, attempt = line.details[0], line.attempt
        yield f"member {line.member} resumed from step {step} in attempt {attempt}, and had saved {words}"
