"""The audit of the crash test sees what must not be: each case is a small lie, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from cede.cli.bench.crash.audit import Records, audit
from cede.cli.bench.crash.job_logs import JobLog, Line
from cede.cli.bench.crash.job_specs import JobSpec
from cede.cli.bench.crash.stream import Ledger
from cede.live.documents import Decision, Event, Workload


def line(at: int, attempt: int, what: str, *details: object, member: int = 0, pid: int | None = None) -> Line:
    number = 10 * attempt + member if pid is None else pid
    return Line(at, attempt, member, number, number, what, tuple(map(str, details)))


def event(attempt: int, signal: str, **more: Any) -> Event:
    plain = {"attempt": attempt, "signal": signal, "rule": "", "decision": None, "claimant": None}
    return cast(Event, plain | more)


PREEMPTED = {"decision": 5, "claimant": "urgent"}


class Case:
    """A job that was preempted once, saved, resumed and completed, with nothing wrong; then something is changed."""

    def __init__(self) -> None:
        self.spec = JobSpec("job", {}, {"checkpoint": {}})
        self.ledger = Ledger(tried={"job": self.spec}, taken={"job"})
        self.job: dict[str, Any] = {"name": "job", "state": "completed", "attempt": 2, "members": 1, "preempted": 1}
        self.job |= {"exit_code": 0, "rule": "live.completed", "why": "it is"}
        self.lines = [
            *(line(1, 1, "begin", 0), line(2, 1, "hint", 1, 1), line(3, 1, "saving", 4), line(4, 1, "saved", 4)),
            *(line(5, 1, "done", 1), line(6, 1, "told"), line(7, 1, "left")),
            *(line(11, 2, "begin", 1), line(12, 2, "resumed", 4), line(13, 2, "complete", 0)),
        ]
        self.events = [event(1, "hint", **PREEMPTED), event(1, "evict", **PREEMPTED), event(2, "complete")]
        self.decisions: list[dict[str, Any]] = [{"number": 5, "victims": ["job"]}]
        self.harmed: set[tuple[str, int]] = set()
        self.left: list[Workload] = []

    def violations(self) -> list[str]:
        jobs = {self.job["name"]: cast(Workload, self.job)} if self.job else {}
        records = Records(jobs, {"job": self.events}, cast(list[Decision], self.decisions))
        logs = {"job": JobLog("job", self.lines)} if self.lines else {}
        return audit(self.ledger, records, logs, self.harmed, self.left).violations


def change(**fields: Any) -> Callable[[Case], object]:
    return lambda case: case.job.update(fields)


def write(*lines: Line) -> Callable[[Case], object]:
    return lambda case: case.lines.extend(lines)


def drop(what: str) -> Callable[[Case], object]:
    def dropped(case: Case) -> None:
        case.lines = [one for one in case.lines if one.what != what]

    return dropped


def tell(*events: Event) -> Callable[[Case], object]:
    return lambda case: case.events.extend(events)


def silence(case: Case) -> None:
    """Its second attempt did nothing."""
    case.lines = case.lines[:7]


LIES: dict[str, tuple[Callable[[Case], object], str]] = {
    "an acknowledged job is not there": (lambda case: case.job.clear(), "acknowledged, and is not there"),
    "a job ran without a record": (lambda case: case.job.clear(), "there is no record of it"),
    "a job that nobody submitted": (lambda case: case.ledger.tried.clear(), "nobody submitted it"),
    "a job never ended": (lambda case: case.left.append(cast(Workload, case.job)), "never ended"),
    "an end that it cannot have": (change(state="failed"), "ended as failed, not completed"),
    "a completion that did not happen": (drop("complete"), "did not get to its end"),
    "a completion that is not on record": (change(attempt=3), "got to its end, and its record does not say so"),
    "an attempt that is not on record": (change(attempt=1), "ran attempt 2, of which there is no record"),
    "an attempt that nobody ended": (silence, "never did anything"),
    "a member that began twice": (write(line(14, 2, "begin", 1, pid=99)), "began 2 times"),
    "two attempts at once": (write(line(14, 2, "overlap", "1:10")), "began while process 1:10 of another was there"),
    "an attempt that works on": (write(line(12, 1, "step", 9)), "after attempt 2 began"),
    "a second SIGTERM": (write(line(6, 1, "told")), "told to go more than once"),
    "a hint heard twice": (write(line(6, 1, "hint", 1, 1)), "heard hints [1, 1]"),
    "a hint that nobody gave": (write(line(12, 2, "hint", 1, 1)), "only 0 were given"),
    "a resumption from something else": (
        lambda case: case.lines.__setitem__(8, line(12, 2, "resumed", 3)),
        "resumed from step 3",
    ),
    "work that was saved and forgotten": (
        lambda case: case.lines.__setitem__(7, line(11, 2, "begin", 0)),
        "began anew, though attempt 1 had saved its work",
    ),
    "a victim hinted twice for one decision": (tell(event(1, "hint", **PREEMPTED)), "suffered 'hint' 2 times"),
    "a victim preempted twice for one decision": (tell(event(2, "evict", **PREEMPTED)), "in attempts [1, 2]"),
    "a victim that no decision names": (lambda case: case.decisions.clear(), "which does not name it"),
    "a decision that is there twice": (
        lambda case: case.decisions.append(case.decisions[0]),
        "decision 5 is there 2 times",
    ),
    "more preemptions than there were": (change(preempted=2), "counts 2 preemptions"),
    "a failure that is not on record": (write(line(14, 2, "fail", 3)), "failed, and its record does not say so"),
    "a failure that did not happen": (tell(event(2, "fail", rule="live.exit-code")), "did not say so"),
    "an answer that no server should give": (lambda case: case.ledger.faults.append("a fault"), "a fault"),
}


def test_a_life_without_fault_is_not_faulted() -> None:
    assert Case().violations() == []


@pytest.mark.parametrize(("lie", "said"), LIES.values(), ids=LIES.keys())
def test_the_audit_sees(lie: Callable[[Case], object], said: str) -> None:
    case = Case()
    lie(case)

    assert [sentence for sentence in case.violations() if said in sentence] != []


def test_an_attempt_whose_supervisor_was_killed_may_have_got_to_its_end() -> None:
    case = Case()
    case.lines += [line(21, 3, "begin", 1), line(22, 3, "resumed", 4), line(23, 3, "complete", 0)]
    case.job["attempt"] = 3
    case.harmed.add(("job", 2))

    assert case.violations() == []
