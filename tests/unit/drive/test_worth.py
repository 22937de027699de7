"""Checkpoints that nobody asked for: under Lattice, who runs is asked when one is worth what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Began, Checkpointed, Fact, Submit
from cede.engine.drive.options import DriverOptions
from cede.engine.drive.orders import Hint
from cede.engine.drive.step import Step
from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile, Workload
from cede.model.times import SECOND
from tests.drive_world import copy_of

TIMEOUT = 600


def document(doctrine: str = "lattice") -> ClusterFile:
    node = {"name": "n1", "capacity": {"cpu": 4, "gpu": 4}}
    return parse_document({"cede": 1, "doctrine": doctrine, "nodes": [node], "queues": [{"name": "q"}]})


class Clock:
    """A driver and its clock; one workload began at the beginning of an hour."""

    def __init__(
        self, doctrine: str = "lattice", mode: str = "auto", *, worth: bool = True, answers: bool = True
    ) -> None:
        self.document, self.now = document(doctrine), 3600
        self.driver = Driver(self.document, self.now * SECOND, DriverOptions(worth=worth))
        entry = {"name": "w", "queue": "q", "requests": {"gpu": 4}, "checkpoint": {"mode": mode, "time": "1s"}}
        terms = Terms(answers=answers, checkpoint_timeout=TIMEOUT * SECOND)
        self.at(0, Submit(Workload.model_validate(entry), terms))
        self.at(0, Began("w", 1))
        assert self.driver.jobs["w"].phase == "running"

    def at(self, seconds: int, *facts: Fact) -> Step:
        """The step at so many seconds after it began."""
        self.now = 3600 + seconds
        step = self.driver.feed(self.now * SECOND, facts)
        assert not step.problems
        return step

    def asked_at(self, seconds: Sequence[int]) -> list[int]:
        """At which of these times it is asked; it saves within a second."""
        found = []
        for second in seconds:
            step = self.at(second)
            hints = [order for order in step.orders if isinstance(order, Hint)]
            if hints:
                [hint] = hints
                assert not hint.leaving
                found.append(second)
                self.at(second + 1, Checkpointed("w", 1, hint.hint))
        return found


MINUTES = range(60, 3 * 3600, 60)


def test_it_is_asked_when_that_is_worth_what_it_costs_and_not_before() -> None:
    """A second of writing costs 1 + 4 + 1.6; four GPUs are worth 0.004 a second, which is as much after 1,650 s."""
    assert Clock().asked_at(MINUTES) == [1680, 3360, 5040, 6720, 8400, 10_080]


def test_it_saves_and_runs_on_and_the_reason_has_the_numbers() -> None:
    clock = Clock()
    clock.at(1620)
    step = clock.at(1680)
    assert step.orders == [Hint("w", 1, 1, leaving=False, deadline=(3600 + 1680 + TIMEOUT) * SECOND)]
    job = clock.driver.jobs["w"]
    assert (job.phase, job.rule) == ("checkpointing", "live.worth-saving")
    assert "its last 28m are saved nowhere; a checkpoint is worth 7 and costs 7" in job.why
    clock.at(1690, Checkpointed("w", 1, 1))
    assert (job.phase, job.checkpoint) == ("running", (3600 + 1690) * SECOND)


def test_who_does_not_answer_runs_on_and_is_asked_again_after_a_rest() -> None:
    clock = Clock()
    hints = [second for second in MINUTES for order in clock.at(second).orders if isinstance(order, Hint)]

    assert hints[:3] == [1680, 1680 + TIMEOUT, 1680 + 2 * TIMEOUT]
    assert clock.driver.jobs["w"].phase in ("running", "checkpointing")


@pytest.mark.parametrize(
    "other",
    [{"worth": False}, {"answers": False}, {"mode": "manual"}, {"mode": "none"}, {"doctrine": "backendai"}],
    ids=["not wanted", "nothing answers", "on its own terms", "writes none", "another doctrine"],
)
def test_others_are_never_asked(other: dict[str, Any]) -> None:
    clock = Clock(**other)

    assert clock.asked_at(MINUTES) == []
    assert clock.at(4 * 3600).wakes_at is None


def test_the_driver_wakes_for_the_next_minute_of_the_clock_and_looks_once_in_each() -> None:
    clock = Clock()
    assert clock.at(90).wakes_at == (3600 + 120) * SECOND
    clock.at(1620)
    assert clock.at(1680).orders != []
    clock.at(1681, Checkpointed("w", 1, 1))
    assert [clock.at(1680 + second).orders for second in range(2, 60, 7)] == [[]] * 9


def test_a_restart_neither_asks_twice_nor_forgets_to_ask() -> None:
    clock = Clock()
    clock.at(1620)

    def restart() -> None:
        jobs = [copy_of(job) for job in clock.driver.jobs.values()]
        clock.driver = Driver.restore(clock.document, clock.now * SECOND, jobs, ways=DriverOptions(worth=True))

    restart()
    assert clock.at(1680).orders != []
    restart()
    assert clock.at(1680).orders == []
    clock.at(1681, Checkpointed("w", 1, 1))
    restart()
    assert clock.asked_at(range(1740, 3400, 60)) == [3360]
