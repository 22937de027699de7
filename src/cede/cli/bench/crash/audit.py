"""The audit: what the jobs wrote down, held against what Cede has on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cede.cli.bench.crash.job_logs import COMPLETE, FINISHED, JobLog, Line
from cede.cli.bench.crash.job_specs import JobSpec
from cede.cli.bench.crash.stream import UNDER_WAY, Ledger
from cede.engine.drive.rules import EXIT_CODE
from cede.live.documents import Decision, Event, Workload

EMPTY = JobLog("", ())
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
class Findings:
    """The violations, and how many attempts ended in which way."""

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
    ledger: Ledger, records: Records, logs: Mapping[str, JobLog], harmed: set[tuple[str, int]], left: Sequence[Workload]
) -> Findings:
    """Everything that must hold of each job, and of all together."""
    findings = Findings()
    findings.note("other", ledger.faults)
    findings.note("stuck", (f"{job['name']} never ended: it is {job['state']}: {job['why']}" for job in left))
    findings.note("lost", _submissions(ledger, records, logs))
    findings.note("doubled", _decisions(records))
    for name, job in records.jobs.items():
        spec = ledger.tried.get(name)
        if spec is None or job["state"] in UNDER_WAY:
            continue
        log = logs.get(name, EMPTY)
        lost = {attempt for other, attempt in harmed if other == name}
        if name in ledger.stale:
            _set_back(findings, spec, job, log, records, lost, ledger)
            continue
        _job(findings, spec, job, log, records, lost, cancelled=name in ledger.cancelled)
        findings.note("doubled", twice(log, spec, records.events.get(name, ())))
        findings.note("lost", forgotten(log, job, spec, lost))
    for name in sorted(ledger.missing & logs.keys()):
        findings.note("doubled", twice(logs[name], ledger.tried[name], None))
    return findings


def _set_back(
    findings: Findings, spec: JobSpec, job: Workload, log: JobLog, records: Records, lost: set[int], ledger: Ledger
) -> None:
    """A job that went on after the copy of the store was made that is in force now: the records lack a part of it."""
    name = spec.name
    findings.attempts += job["attempt"]
    findings.set_back += 1
    findings.lost += len(lost)
    findings.note("lost", _end(spec, job, cancelled=name in ledger.cancelled))
    if job["state"] == "completed" and not any(
        log.completed(attempt, spec.members, COMPLETE, FINISHED) for attempt in log.attempts()
    ):
        findings.note("lost", [f"{name} is completed, and no attempt got to its end"])
    findings.note("doubled", twice(log, spec, None))

    def excused(attempt: int) -> bool:
        return attempt in lost or (name, attempt) in records.signalled

    told = after_a_restore(log, spec, ledger.stale[name], lost, lambda attempt: records.told(name, attempt), excused)
    findings.note("doubled", told)


def _end(spec: JobSpec, job: Workload, *, cancelled: bool) -> Iterator[str]:
    if job["state"] not in (*spec.ends, *(["cancelled"] if cancelled else [])):
        yield f"{spec.name} ended as {job['state']}, not {' or '.join(spec.ends)}: {job['why']}"


def _submissions(ledger: Ledger, records: Records, logs: Mapping[str, JobLog]) -> Iterator[str]:
    for name in sorted(ledger.taken - records.jobs.keys() - ledger.missing):
        yield f"{name} was acknowledged, and is not there"
    for name in sorted(records.jobs.keys() - ledger.tried.keys()):
        yield f"{name} is there, and nobody submitted it"
    for name in sorted(logs.keys() - records.jobs.keys() - ledger.missing):
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
    findings: Findings,
    spec: JobSpec,
    job: Workload,
    log: JobLog,
    records: Records,
    lost: set[int],
    *,
    cancelled: bool,
) -> None:
    name = spec.name

    def say(sentence: str) -> None:
        findings.note("lost", [sentence])

    findings.attempts += job["attempt"]
    findings.resumed += len({line.attempt for line in log.lines if line.what == "resumed"})
    findings.lost += len(lost)
    findings.note("lost", _end(spec, job, cancelled=cancelled))
    for attempt in log.attempts():
        if not 1 <= attempt <= job["attempt"]:
            say(f"{name} ran attempt {attempt}, of which there is no record")
    for attempt in range(1, job["attempt"] + 1):
        last = attempt == job["attempt"]
        whole = log.completed(attempt, spec.members, COMPLETE)
        if not log.of(attempt):
            findings.silent += 1
            if not records.told(name, attempt) and attempt not in lost:
                say(f"{name}, attempt {attempt}: nobody told it to go, and it never did anything")
        if last and job["state"] == "completed":
            if not log.completed(attempt, spec.members, COMPLETE, FINISHED):
                say(f"{name} is completed, and attempt {attempt} did not get to its end")
        elif log.of(attempt, FINISHED) or (whole and records.let_off(name, attempt)):
            findings.finished += 1
        elif whole and (name, attempt) in records.signalled:
            findings.photo_finishes += 1
        elif whole and attempt not in lost:
            say(f"{name}, attempt {attempt} got to its end, and its record does not say so")
    _failures(findings, spec, job, log, records, lost)
    asked = {event["attempt"] for event in records.events.get(name, ()) if event["signal"] in ("hint", "evict")}
    if job["preempted"] > len(asked):
        counted = f"{name} counts {job['preempted']} preemptions, and was asked to give way in {len(asked)} attempts"
        findings.note("doubled", [counted])


def _failures(findings: Findings, spec: JobSpec, job: Workload, log: JobLog, records: Records, lost: set[int]) -> None:
    """Attempts that failed by themselves are the ones that say so, with the code that they ended with."""
    name = spec.name
    recorded = [
        e["attempt"] for e in records.events.get(name, ()) if e["signal"] == "fail" and e["rule"] == EXIT_CODE.id
    ]
    seen = {line.attempt for line in log.lines if line.what == "fail"}
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
    if job["state"] == "failed" and job["rule"] == EXIT_CODE.id and job["exit_code"] != spec.acts.get("code"):
        findings.note("lost", [f"{name} ended with code {spec.acts.get('code')}, on record {job['exit_code']}"])


def twice(log: JobLog, spec: JobSpec, events: Sequence[Event] | None) -> Iterator[str]:
    """Each thing that was done twice, or at the same time as another; `events` are none where records are missing."""
    for attempt in log.attempts():
        asked = () if events is None else _asked(log, attempt, events)
        for sentence in (*_once(log, attempt, spec.members), *asked):
            yield f"{log.name}, attempt {attempt}: {sentence}"
    yield from (f"{log.name}: {sentence}" for sentence in _apart(log))


def forgotten(log: JobLog, job: Workload, spec: JobSpec, lost: set[int]) -> Iterator[str]:
    """Work that was saved and not gone on from, and members that are not there."""
    yield from (f"{log.name}: {sentence}" for sentence in _resumed(log, spec, lost))
    if job["members"] != spec.members:
        yield f"{log.name} has {job['members']} members, not {spec.members}"


def after_a_restore(
    log: JobLog, spec: JobSpec, since: int, lost: set[int], told: Callable[[int], bool], excused: Callable[[int], bool]
) -> Iterator[str]:
    """What must hold of a job though its records were set back: it ended once, and was not ended without a record.

    `told` says of an attempt whether a record has it told to go, `excused` whether it may have got to its end unseen.
    Of a gang that `lost` a supervisor by our hand the other members are told to go, for it cannot be whole any more:
    that is a failure on record, and no decision. A job without other members has none to tell.
    """
    attempts = log.attempts()
    for attempt in attempts[:-1]:
        if log.completed(attempt, spec.members, COMPLETE) and not told(attempt) and not excused(attempt):
            yield f"{log.name} got to its end in attempt {attempt}, and ran again"
    for attempt in attempts:
        late = [line for line in log.of(attempt, "told") if line.at > since]
        if late and not told(attempt) and not (spec.members > 1 and attempt in lost):
            yield f"{log.name}, attempt {attempt} ran when the store was set back, and was told to go by nobody"


def _once(log: JobLog, attempt: int, members: int) -> Iterator[str]:
    """Each member began once, and what follows was written by that process."""
    for member, lines in log.members(attempt):
        if not 0 <= member < members:
            yield f"there is no member {member}"
        began = [line for line in lines if line.what == "begin"]
        if len(began) != 1:
            yield f"member {member} began {len(began)} times"
        if strange := {line.pid for line in lines} - {line.pid for line in began}:
            yield f"member {member} was also process {', '.join(map(str, sorted(strange)))}"
        if sum(line.what == "told" for line in lines) > 1:
            yield f"member {member} was told to go more than once"


def _asked(log: JobLog, attempt: int, events: Sequence[Event]) -> Iterator[str]:
    """Each hint was heard once, and none that nobody gave."""
    given = sum(event["signal"] == "hint" and event["attempt"] == attempt for event in events)
    for member, lines in log.members(attempt):
        heard = [int(line.details[0]) for line in lines if line.what == "hint"]
        if any(later <= earlier for earlier, later in pairwise(heard)):
            yield f"member {member} heard hints {heard}"
        if heard and max(heard) > given:
            yield f"member {member} heard hint {max(heard)}, and only {given} were given"


def _apart(log: JobLog) -> Iterator[str]:
    """No attempt was there when another began."""
    for line in log.lines:
        if line.what == "overlap":
            yield f"attempt {line.attempt} began while process {line.details[0]} of another was there"
    ends: list[tuple[int, int]] = []
    for attempt in log.attempts():
        lines = log.of(attempt)
        first = min(line.at for line in lines)
        for other, last in ends:
            if last > first:
                yield f"attempt {other} was at work {(last - first) / 1e6:.1f} ms after attempt {attempt} began"
        ends.append((attempt, max(line.at for line in lines)))


def _resumed(log: JobLog, spec: JobSpec, lost: set[int]) -> Iterator[str]:
    """Every member went on from the last thing that it saved; and what was saved and told of was not forgotten."""
    for member in range(spec.members):
        mine = [line for line in log.lines if line.member == member]
        for at, line in enumerate(mine):
            if line.what == "resumed":
                yield from _from_what_it_saved(spec, line, mine[:at])
            elif line.what == "begin" and line.details[0] == "0" and spec.members == 1:
                answered = [before for before in mine[:at] if before.what == "done" and before.attempt not in lost]
                if answered:
                    yield f"attempt {line.attempt} began anew, though attempt {answered[-1].attempt} had saved its work"


def _from_what_it_saved(spec: JobSpec, line: Line, before: Sequence[Line]) -> Iterator[str]:
    # Killed between the file and the line about it, a member has saved a step that it only says it was saving.
    saved = [int(other.details[0]) for other in before if other.what == "saved"]
    saving = [int(other.details[0]) for other in before if other.what == "saving"]
    wanted = {*saved[-1:], *saving[-1:]}
    if not wanted and spec.members > 1:
        wanted = {-1}  # it had nothing to save when the others did
    if int(line.details[0]) not in wanted:
        words = " or ".join(map(str, sorted(wanted))) or "nothing"
        step, attempt = line.details[0], line.attempt
        yield f"member {line.member} resumed from step {step} in attempt {attempt}, and had saved {words}"
