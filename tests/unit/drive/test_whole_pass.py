"""Edition 26.8 live: a pass is decided and committed whole, with what it books together and what it rolls back."""

from __future__ import annotations

from typing import Any

import cede
from cede.doctrines.document import parse_document
from cede.engine.cluster import Cluster
from cede.engine.drive.facts import Submit
from cede.engine.drive.options import DriverOptions
from cede.engine.drive.replay import replay
from cede.engine.drive.terms import Terms
from tests.drive_world import World, workload

NEVER_STARTED = "backendai.rolled-back"


def world(*cpus: int, doctrine: str = "26.8", **settings: Any) -> World:
    """Agents a1, a2 and so on with so many processors, in one group that preempts within all of it."""
    rules = {"enabled": True, "victim_scope": "resource-group", "scheduler": "fifo"} if doctrine == "26.8" else {}
    return World(
        parse_document(
            {
                "cede": 1,
                "doctrine": {"name": "backendai", "edition": doctrine},
                "nodes": [{"name": f"a{at}", "capacity": {"cpu": cpu}} for at, cpu in enumerate(cpus, 1)],
                "queues": [{"name": "q", "settings": rules | settings}],
            }
        )
    )


def decided(world: World) -> list[tuple[str | None, str, set[str]]]:
    """Of the last step: who, what, and at whose cost."""
    made = [one.decision for one in world.steps[-1].decisions]
    return [(one.workload, one.action, {victim.workload for victim in one.victims}) for one in made]


def busy_agent() -> World:
    """Four sessions of one processor fill one agent."""
    busy = world(4)
    for name in ("r1", "r2", "r3", "r4"):
        busy.run(name, cpu=1)
        busy.wait(1)
    return busy


def come_together(busy: World, *jobs: tuple[str, dict[str, Any]]) -> None:
    """All these in one step, so that one pass decides about them."""
    busy.feed(*(Submit(workload(busy.document, name, **values), Terms()) for name, values in jobs))


def test_a_pass_with_several_preemptions_is_committed_whole() -> None:
    """The room of the first's victim is no room for the second, which takes two where one would do: as shipped."""
    busy = busy_agent()

    come_together(busy, ("p1", {"cpu": 1, "job_priority": 9}), ("p2", {"cpu": 1, "job_priority": 9, "submitted": 2000}))

    assert decided(busy) == [("p1", "preempt", {"r1"}), ("p2", "preempt", {"r2", "r3"})]
    assert busy.phases() == {
        "p1": "held",
        "p2": "held",
        "r1": "preempting",
        "r2": "preempting",
        "r3": "preempting",
        "r4": "running",
    }
    assert busy.steps[-1].problems == []


def test_the_moment_of_every_decision_is_that_before_the_pass() -> None:
    busy = busy_agent()
    come_together(busy, ("p1", {"cpu": 1, "job_priority": 9}), ("p2", {"cpu": 1, "job_priority": 9, "submitted": 2000}))

    for made in busy.steps[-1].decisions:
        assert made.cluster is not None
        assert cede.plan(Cluster(made.cluster)).of(made.decision.workload or "") == made.decision


def test_the_document_edition_makes_its_plan_again_after_each_preemption() -> None:
    """There a victim is gone for those who come after it, and nobody goes for nothing."""
    busy = world(4, doctrine="bep-1014")
    for name in ("r1", "r2", "r3", "r4"):
        busy.run(name, cpu=1, priority=1)

    come_together(busy, ("p1", {"cpu": 1, "priority": 9}), ("p2", {"cpu": 1, "priority": 9, "submitted": 2000}))

    assert busy.phase("p1") == "held"
    assert sum(phase == "preempting" for phase in busy.phases().values()) <= 2


def test_starts_after_a_preemption_of_the_same_pass_stand() -> None:
    busy = world(2, 2)
    busy.run("r1", cpu=2)
    busy.run("r2", cpu=1)

    come_together(busy, ("p1", {"cpu": 2, "job_priority": 9}), ("p2", {"cpu": 1, "submitted": 2000}))

    assert decided(busy) == [("p1", "preempt", {"r1"}), ("p2", "start", set())]


def test_who_was_launched_and_has_not_begun_cannot_be_preempted_for_its_room() -> None:
    """It sits in what is reserved: the reservation cannot be booked and is rolled back, until it has begun."""
    busy = world(2)
    busy.submit("r1", cpu=2)
    busy.submit("p1", cpu=2, job_priority=9)
    busy.ask_why()

    assert (busy.phase("r1"), busy.phase("p1"), busy.job("p1").rule) == ("starting", "pending", NEVER_STARTED)
    assert [made.rule for made in cede.plan(Cluster(busy.driver.snapshot())).decisions] == [NEVER_STARTED]

    busy.begin("r1", after=1)

    assert (busy.phase("r1"), busy.phase("p1")) == ("preempting", "held")


def test_a_rollback_undoes_every_preemption_of_the_pass_and_no_start() -> None:
    busy = world(2, 2, 1, victim_scope="user")
    busy.submit("never", cpu=2, user="ann")
    busy.run("old", cpu=2, user="bob")

    come_together(
        busy,
        ("p1", {"cpu": 2, "job_priority": 9, "user": "bob"}),
        ("p2", {"cpu": 2, "job_priority": 9, "user": "ann", "submitted": 2000}),
        ("p3", {"cpu": 1, "submitted": 2001}),
    )

    assert busy.phases() == {
        "never": "starting",
        "old": "running",
        "p1": "pending",
        "p2": "pending",
        "p3": "starting",
    }
    busy.ask_why()
    assert busy.job("p1").rule == busy.job("p2").rule == NEVER_STARTED


def test_a_restart_remembers_who_had_not_begun() -> None:
    busy = world(2)
    busy.submit("r1", cpu=2)
    busy.submit("p1", cpu=2, job_priority=9)
    busy.restart()
    busy.wait(1)
    busy.ask_why()

    assert busy.job("p1").rule == NEVER_STARTED

    busy.begin("r1")
    busy.restart()
    busy.wait(1)

    assert (busy.phase("r1"), busy.phase("p1")) == ("preempting", "held")


def test_a_replay_commits_the_pass_whole_too() -> None:
    """In virtual time, where what starts has begun at once, nobody is told why he waits, and plans are cut shorter."""
    busy = busy_agent()
    come_together(busy, ("p1", {"cpu": 1, "job_priority": 9}), ("p2", {"cpu": 1, "job_priority": 9, "submitted": 2000}))

    quick = DriverOptions(reasons=False, at_once=True, walltimes=False)
    steps = list(replay(busy.document, busy.inputs, quick))

    assert {victim.workload for made in steps[-1].decisions for victim in made.decision.victims} == {"r1", "r2", "r3"}
    assert len(steps[-1].decisions) == 2
