"""Fault isolation: which workload or fact makes a step fail, by bisection on copies with fewer of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Fact, Restarted, Submit
from cede.engine.drive.job import Job
from cede.engine.drive.step import Step
from cede.live.store.errors import StoreError


@dataclass(frozen=True, slots=True)
class Culprit:
    """Without this fact, or if no fact is at fault without this stored workload, the step does not fail."""

    fact: int | None
    name: str
    """Of the workload that it is about; empty if it is about none."""
    why: str


Restore = Callable[[Sequence[Job]], Driver]
"""A driver with these workloads under way and all else as it is stored."""
Rehearse = Callable[[Step, int], None]
"""Commits the step with its first `count` facts and rolls back; raises what the commit would."""


def find_culprit(
    jobs: Sequence[Job], facts: Sequence[Fact], at: int, restore: Restore, rehearse: Rehearse
) -> Culprit | None:
    """What makes the step fail; none if it fails no more, or fails with no workload at all.

    `jobs` in the order of their submission: of several that fail only together it is the youngest.
    """

    def error(some: Sequence[Job], told: Sequence[Fact]) -> Exception | None:
        try:
            driver = restore([_copy(job) for job in some])
            rehearse(driver.feed(at, [Restarted(), *told]), len(told))
        except StoreError:
            raise  # no workload causes that
        except Exception as failed:
            return failed
        return None

    if error(jobs, ()) is not None:
        if error((), ()) is not None:
            return None
        first = _first_failing(len(jobs), lambda count: error(jobs[:count], ()) is not None)
        return Culprit(None, jobs[first - 1].name, in_words(error(jobs[:first], ())))
    if error(jobs, facts) is None:
        return None
    first = _first_failing(len(facts), lambda count: error(jobs, facts[:count]) is not None)
    return Culprit(first - 1, name_of(facts[first - 1]), in_words(error(jobs, facts[:first])))


def _first_failing(count: int, fails: Callable[[int], bool]) -> int:
    """The least count that fails. Zero passes and all fail, and bisection keeps that invariant: so one fewer passes."""
    passes = 0
    while count - passes > 1:
        middle = (passes + count) // 2
        if fails(middle):
            count = middle
        else:
            passes = middle
    return count


def _copy(job: Job) -> Job:
    """A driver changes the record of a workload and how it leaves, and nothing else of it."""
    return replace(job, leaving=None if job.leaving is None else replace(job.leaving))


def name_of(fact: Fact) -> str:
    """The workload that the fact is about, empty if it is about none."""
    return fact.workload.name if isinstance(fact, Submit) else getattr(fact, "name", "")


def in_words(error: BaseException | None) -> str:
    """What went wrong, on one line."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
