"""The audit: what the jobs wrote down, held against what Cede has on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cede.cli.bench.crash.evidence import COMPLETE, FINISHED, Life
from cede.cli.bench.crash.lives import after_a_restore, forgotten, twice
from cede.cli.bench.crash.stream import UNDER_WAY, Ledger
from cede.cli.bench.crash.wishes import Wish
from cede.engine.drive.rules import EXIT_CODE
from cede.live.documents import Decision, Event, Workload

EMPTY = Life("", ())
TELLING = ("evict", "cancel", "expire")
"""Signals by which a workload is told to go."""


@dataclass(frozen=True, slots=True)
class Records:
    """All that Cede has to say, at the end."""

    jobs: Mapping[str, Workload]
    events: Mapping[str, Sequence[Event]]
    decisions: Sequence[Decision]
    signalled: Collection[tuple[str, int]] = ()
    """Attempts that had not ended when the signal to go reached them, as their supervisors saw it."""

    def signals(self, name: str, attempt: int) -> list[Event]:
        return [event for event in self.events.get(name, ()) if event["attempt"] == attempt]

    def told(self, name: str, attempt: int) -> bool:
        """Whether this attempt was told to go."""
        return any(event["signal"] in TELLING for event in self.signals(name, attempt))

    def let_off(self, name: str, attempt: int) -> bool:
        """Whether it was asked to leave, and then not any more. Whether it heard the second in time, only it knows: so
        what ends soon after it saved counts as left, which loses nothing but time."""
        return any(event["signal"] == "withdraw" for event in self.signals(name, attempt))


@dataclass(slots=True)
class Found:
    """What came of it."""

    violations: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """How many violations there are of each kind: lost, doubled, stuck, other."""
    attempts: int = 0
    """Of the records."""
    silent: int = 0
    """Those that were ended before they could write a line."""
    resumed: int = 0
    finished: int = 0
    """Attempts that got to their end after they had saved in order to leave, and so ran once more."""
    photo_finishes: int = 0
    """Attempts that were told to go in the moment between their last line and their end."""
    lost: int = 0
    """Attempts that lost their supervisor, by our hand."""
    set_back: int = 0
    """Jobs of which a restored store knew less than had happened."""

    def note(self, kind: str, sentences: Iterable[str]) -> None:
        """These are wrong, in the same way."""
        told = list(sentences)
        self.violations += told
        if told:
            self.kinds[kind] += len(told)


def audit(
    ledger: Ledger, records: Records, lives: Mapping[str, Life], harmed: set[tuple[str, int]], left: Sequence[Workload]
) -> Found:
    """Everything that must hold of each job, and of all together."""
    findings = Found()
    findings.note("other", ledger.faults)
    findings.note("stuck", (f"{job['name']} never ended: it is {job['state']}: {job['why']}" for job in left))
    findings.note("lost", _submissions(ledger, records, lives))
    findings.note("doubled", _decisions(records))
    for name, job in records.jobs.items():
        wish = ledger.tried.get(name)
        if wish is None or job["state"] in UNDER_WAY:
            continue
        life = lives.get(name, EMPTY)
        lost = {attempt for other, attempt in harmed if other == name}
        if name in ledger.stale:
            _set_back(findings, wish, job, life, records, lost, ledger)
            continue
        _job(findings, wish, job, life, records, lost, cancelled=name in ledger.cancelled)
        findings.note("doubled", twice(life, wish, records.events.get(name, ())))
        findings.note("lost", forgotten(life, job, wish, lost))
    for name in sorted(ledger.missing & lives.keys()):
        findings.note("doubled", twice(lives[name], ledger.tried[name], None))
    return findings


def _set_back(
    findings: Found, wish: Wish, job: Workload, life: Life, records: Records, lost: set[int], ledger: Ledger
) -> None:
    """A job that went on after the copy of the store was made that is in force now: the records lack a part of it."""
    name = wish.name
    findings.attempts += job["attempt"]
    findings.set_back += 1
    findings.lost += len(lost)
    findings.note("lost", _end(wish, job, cancelled=name in ledger.cancelled))
    if job["state"] == "completed" and not any(
        life.completed(attempt, wish.members, COMPLETE, FINISHED) for attempt in life.attempts()
    ):
        findings.note("lost", [f"{name} is completed, and no attempt got to its end"])
    findings.note("doubled", twice(life, wish, None))

    def excused(attempt: int) -> bool:
        return attempt in lost or (name, attempt) in records.signalled

    told = after_a_restore(life, wish, ledger.stale[name], lost, lambda attempt: records.told(name, attempt), excused)
    findings.note("doubled", told)


def _end(wish: Wish, job: Workload, *, cancelled: bool) -> Iterator[str]:
    if job["state"] not in (*wish.ends, *(["cancelled"] if cancelled else [])):
        yield f"{wish.name} ended as {job['state']}, not {' or '.join(wish.ends)}: {job['why']}"


def _submissions(ledger: Ledger, records: Records, lives: Mapping[str, Life]) -> Iterator[str]:
    for name in sorted(ledger.taken - records.jobs.keys() - ledger.missing):
        yield f"{name} was acknowledged, and is not there"
    for name in sorted(records.jobs.keys() - ledger.tried.keys()):
        yield f"{name} is there, and nobody submitted it"
    for name in sorted(lives.keys() - records.jobs.keys() - ledger.missing):
        yield f"{name} ran, and there is no record of it"


def _decisions(records: Records) -> Iterator[str]:
    """A decision is carried out once, on one attempt of each victim."""
    numbers = Counter(decision["number"] for decision in records.decisions)
    yield from (f"decision {number} is there {times} times" for number, times in numbers.items() if times > 1)
    victims = {decision["number"]: decision["victims"] for decision in records.decisions}
    for name, events in records.events.items():
        suffered = Counter(
            (e["decision"], e["signal"]) for e in events if e["claimant"] and e["signal"] in ("hint", "evict")
        )
        for (number, signal), times in suffered.items():
            if times > 1:
                yield f"{name} suffered {signal!r} {times} times for decision {number}"
            if number is None or name not in victims.get(number, ()):
                yield f"{name} suffered {signal!r} for decision {number}, which does not name it"
        for number in {number for number, _ in suffered}:
            attempts = {e["attempt"] for e in events if e["decision"] == number and e["claimant"]}
            if len(attempts) > 1:
                yield f"{name} was preempted in attempts {sorted(attempts)} for decision {number}"


def _job(
    findings: Found,
    wish: Wish,
    job: Workload,
    life: Life,
    records: Records,
    lost: set[int],
    *,
    cancelled: bool,
) -> None:
    name = wish.name

    def say(sentence: str) -> None:
        findings.note("lost", [sentence])

    findings.attempts += job["attempt"]
    findings.resumed += len({line.attempt for line in life.lines if line.what == "resumed"})
    findings.lost += len(lost)
    findings.note("lost", _end(wish, job, cancelled=cancelled))
    for attempt in life.attempts():
        if not 1 <= attempt <= job["attempt"]:
            say(f"{name} ran attempt {attempt}, of which there is no record")
    for attempt in range(1, job["attempt"] + 1):
        last = attempt == job["attempt"]
        whole = life.completed(attempt, wish.members, COMPLETE)
        if not life.of(attempt):
            findings.silent += 1
            if not records.told(name, attempt) and attempt not in lost:
                say(f"{name}, attempt {attempt}: nobody told it to go, and it never did anything")
        if last and job["state"] == "completed":
            if not life.completed(attempt, wish.members, COMPLETE, FINISHED):
                say(f"{name} is completed, and attempt {attempt} did not get to its end")
        elif life.of(attempt, FINISHED) or (whole and records.let_off(name, attempt)):
            findings.finished += 1
        elif whole and (name, attempt) in records.signalled:
            findings.photo_finishes += 1
        elif whole and attempt not in lost:
            say(f"{name}, attempt {attempt} got to its end, and its record does not say so")
    _failures(findings, wish, job, life, records, lost)
    asked = {event["attempt"] for event in records.events.get(name, ()) if event["signal"] in ("hint", "evict")}
    if job["preempted"] > len(asked):
        counted = f"{name} counts {job['preempted']} preemptions, and was asked to give way in {len(asked)} attempts"
        findings.note("doubled", [counted])


def _failures(findings: Found, wish: Wish, job: Workload, life: Life, records: Records, lost: set[int]) -> None:
    """Attempts that failed by themselves are the ones that say so, with the code that they ended with."""
    name = wish.name
    recorded = [
        e["attempt"] for e in records.events.get(name, ()) if e["signal"] == "fail" and e["rule"] == EXIT_CODE.id
    ]
    seen = {line.attempt for line in life.lines if line.what == "fail"}
    for attempt in sorted(set(recorded) - seen):
        findings.note("lost", [f"{name}, attempt {attempt} failed on record, and did not say so"])
    for attempt in sorted(seen - set(recorded) - lost):
        if (name, attempt) in records.signalled:
            findings.photo_finishes += 1
        else:
            findings.note("lost", [f"{name}, attempt {attempt} failed, and its record does not say so"])
    for attempt, times in Counter(recorded).items():
        if times > 1:
            findings.note("doubled", [f"{name}, attempt {attempt} failed {times} times on record"])
    if job["state"] == "failed" and job["rule"] == EXIT_CODE.id and job["exit_code"] != wish.acts.get("code"):
        findings.note("lost", [f"{name} ended with code {wish.acts.get('code')}, on record {job['exit_code']}"])
