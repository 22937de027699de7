"""Quota preemption from cycle to cycle: when a timer begins, how it is moved, and what stops it."""

from __future__ import annotations

from typing import Any

import cede
from cede.doctrines.yunikorn.doctrine import DOCTRINE as YUNIKORN
from cede.engine.cycle import plan_state
from cede.engine.events import QueuePut, Requeued, Started, Ticked, apply
from cede.engine.verify import verify
from cede.model.times import SECOND
from tests.unit.yunikorn.fact_files import NOW
from tests.unit.yunikorn.quota_files import FULL, Entry, cluster, queue, work


class Run:
    """Cycles on one state; `at` puts the clock to so many seconds after the beginning and says who goes then."""

    def __init__(self, *entries: Entry) -> None:
        self.state = cluster(*entries).state
        self.memory: dict[str, Any] = {}

    def at(self, seconds: int, **change: Any) -> set[str]:
        apply(self.state, Ticked((NOW + seconds) * SECOND))
        if change:
            changed = cede.load({"cede": 1, "doctrine": "yunikorn", "queues": [queue("root.a", **change)]})
            apply(self.state, QueuePut(next(each for each in changed.document.queues if each.name == "root.a")))
        return plan_state(self.state, YUNIKORN, memory=self.memory).victims


THREE = [work(name, "root.a", 4) for name in ("one", "two", "three")]


def test_a_plan_that_was_not_carried_out_is_made_again() -> None:
    run = Run(*FULL)

    assert run.at(0) == run.at(1) == {"two"}


def test_after_a_run_the_queue_is_left_alone_until_its_max_is_lowered() -> None:
    run = Run(queue("root.a", max={"cpu": 7}, since=NOW - 60), *THREE)

    assert run.at(0) == {"two"}
    apply(run.state, Requeued("two"))
    assert run.at(1) == run.at(100) == set()
    assert run.at(101, max={"cpu": 4}) == run.at(160) == set()
    assert run.at(161) == {"three"}


def test_after_a_run_the_queue_is_left_alone_until_it_was_within_its_max() -> None:
    run = Run(queue("root.a", max={"cpu": 7}, since=NOW - 60), *THREE)

    assert run.at(0) == {"two"}
    apply(run.state, Requeued("two"))
    assert run.at(1, max={"cpu": 8}) == set()
    apply(run.state, Started("two", ("n",)))
    assert run.at(2) == run.at(61) == set()
    assert run.at(62) == {"two"}


def test_a_timer_goes_on_when_the_max_is_lowered_again_or_raised_too_little() -> None:
    run = Run(queue("root.a", max={"cpu": 7}), *THREE)

    assert run.at(0) == set()
    assert run.at(10, max={"cpu": 4}) == run.at(20, max={"cpu": 8}) == run.at(59) == set()
    assert run.at(60) == {"two"}


def test_a_timer_is_moved_by_what_the_delay_changed() -> None:
    run = Run(queue("root.a", max={"cpu": 8}), *THREE)

    assert run.at(0) == run.at(10, max={"cpu": 8}, delay="20s") == run.at(19) == set()
    assert run.at(20) == {"two"}


def test_a_delay_that_is_there_for_the_first_time_counts_from_then() -> None:
    run = Run(queue("root.a", max={"cpu": 8}, delay=None), *THREE)

    assert run.at(0) == run.at(100, max={"cpu": 8}, delay="20s") == run.at(119) == set()
    assert run.at(120) == {"two"}


def test_a_queue_wakes_the_scheduler_when_its_time_comes() -> None:
    assert cede.plan(cluster(queue("root.a", max={"cpu": 4}), *FULL[1:])).wakes_at == (NOW + 60) * SECOND


def test_room_that_is_given_back_can_be_used_in_the_same_plan() -> None:
    waiting = {"name": "in", "queue": "root.b", "requests": {"cpu": 4}, "submitted": NOW - 1}
    found = cluster(*FULL, queue("root.b"), waiting, cpu=8)

    made = cede.plan(found)

    assert verify(found, made) == []
    assert [(each.workload, each.action) for each in made.decisions] == [(None, "preempt"), ("in", "start")]
