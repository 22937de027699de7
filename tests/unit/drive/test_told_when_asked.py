"""With thousands that wait one event makes no words but for who acts; they are made once, when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cede.doctrines.catalog import BUILT, find
from cede.doctrines.document import parse_document
from cede.doctrines.parts.doctrine import Cycle, Doctrine
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import AskWhy, Began, Exited, Fact, Submit
from cede.engine.drive.orders import Launch
from cede.engine.drive.step import Step
from cede.model.cluster import Workload
from cede.model.lifecycle import Phase
from cede.model.times import SECOND

WAITING = 2_000
EDITIONS = [(name, edition) for name in BUILT for edition in find(name).editions if edition in find(name).incremental]
"""An assembled doctrine makes a whole plan for every event."""


@dataclass
class Counted:
    """A doctrine, and how many cycles with words it was asked for, and decisions in all."""

    doctrine: Doctrine
    with_words: int = 0
    decisions: int = 0
    made: Doctrine = field(init=False)

    def __post_init__(self) -> None:
        def decide(cycle: Cycle) -> Iterator[Any]:
            self.with_words += cycle.words
            return self.counted(self.doctrine.decide(cycle))

        self.made = replace(self.doctrine, decide=decide)

    def counted(self, decisions: Iterator[Any]) -> Iterator[Any]:
        for one in decisions:
            self.decisions += 1
            yield one

    def since(self) -> tuple[int, int]:
        found = self.with_words, self.decisions
        self.with_words = self.decisions = 0
        return found


class Busy:
    """Two nodes are full, and two thousand wait for room."""

    def __init__(self, name: str, edition: str) -> None:
        queue = {"name": "q", "guaranteed": {"gpu": 16}} if name in ("kueue", "yunikorn") else {"name": "q"}
        counts = ("max_operation_count_per_pool", "max_running_operation_count_per_pool")
        more = dict.fromkeys(counts, 2 * WAITING) if name == "ytsaurus" else {}
        document = parse_document(
            {
                "cede": 1,
                "doctrine": {"name": name, "edition": edition, **more},
                "nodes": [{"name": "n", "count": 2, "capacity": {"gpu": 8}, "labels": {"group": "g"}}],
                "queues": [queue],
            }
        )
        self.at = 0
        self.driver = Driver(document, 0)
        self.counted = Counted(self.driver._roll.doctrine)
        self.driver._roll.doctrine = self.counted.made
        step = self.feed(*(self.job(number) for number in range(WAITING + 16)))
        for _ in range(20):
            if not step.orders:
                break
            step = self.feed(*(Began(one.name, one.attempt) for one in step.orders if isinstance(one, Launch)))
        self.counted.since()

    def job(self, number: int) -> Submit:
        entry = {"name": f"j{number:05}", "queue": "q", "requests": {"gpu": 1}, "submitted": number}
        return Submit(Workload.model_validate(entry))

    def feed(self, *facts: Fact) -> Step:
        self.at += SECOND
        step = self.driver.feed(self.at, facts)
        assert not step.problems
        return step

    def running(self) -> str:
        return min(name for name, job in self.driver.jobs.items() if job.phase is Phase.RUNNING)


@pytest.mark.parametrize(("name", "edition"), EDITIONS)
def test_one_event_makes_no_words_for_those_that_wait(name: str, edition: str) -> None:
    busy = Busy(name, edition)
    assert len(busy.driver.jobs) == WAITING + 16

    came = busy.feed(busy.job(9_000))
    assert busy.counted.since()[0] == 0
    assert [told.signal for told in came.transitions] == ["submit"]

    ended = busy.feed(Exited(busy.running(), 1, 0))
    words, decisions = busy.counted.since()
    assert (words, len(ended.orders)) == (0, 1)
    assert decisions <= 2
    assert {told.signal for told in ended.transitions} == {"complete", "start"}


@pytest.mark.parametrize(("name", "edition"), EDITIONS)
def test_who_asks_is_told_of_all_by_one_plan(name: str, edition: str) -> None:
    busy = Busy(name, edition)

    told = busy.feed(AskWhy())
    words, decisions = busy.counted.since()
    assert words == 1
    assert decisions >= WAITING
    assert len([one for one in told.transitions if one.signal == "wait"]) == WAITING
    assert all(rule and why for _, rule, why in busy.driver.reasons().values())
    assert not busy.driver.untold

    busy.feed(AskWhy())
    assert busy.counted.since() == (0, 0)
