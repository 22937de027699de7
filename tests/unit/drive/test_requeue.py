"""What a workload keeps and counts when it queues again, and when it does not."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Checkpointed
from cede.engine.drive.orders import Launch
from cede.engine.drive.terms import Requeue
from cede.model.times import SECOND
from tests.unit.drive.worlds import WORLDS, claimed, nodes, run_victim, survives_restart, terms


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_victim_resumes_from_its_checkpoint_with_its_old_submission_time_and_is_counted(which: str) -> None:
    world = claimed(WORLDS[which]())
    submitted = world.job("old").workload.submitted
    world.save("old", after=5)
    world.exit("old")
    world.begin("new")

    step = world.exit("new", after=1000)

    (order,) = step.orders
    assert isinstance(order, Launch)
    assert (order.name, order.attempt, order.resume) == ("old", 2, True)
    job = world.job("old")
    assert (job.workload.submitted, job.preempted, job.attempt) == (submitted, 1, 2)
    assert job.checkpoint == 1105 * SECOND
    (entry,) = (one for one in world.driver.snapshot().workloads if one.name == "old")
    assert (entry.submitted, entry.preempted) == (submitted, 1)


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_victim_without_a_checkpoint_begins_anew(which: str) -> None:
    world = claimed(WORLDS[which](), mode="none")
    world.exit("old")
    world.begin("new")
    world.exit("new")

    assert world.process("old").resume is False
    assert world.process("old").attempt == 2


def test_preempted_counts_up_once_for_each_preemption() -> None:
    world = nodes(4)
    run_victim(world)
    for count in (1, 2, 3):
        world.submit(f"new{count}", cpu=4, priority=9)
        world.save("old")
        world.exit("old")
        assert world.job("old").preempted == count
        survives_restart(world)
        world.begin(f"new{count}")
        world.exit(f"new{count}")
        world.begin("old")

    assert world.job("old").attempt == 4
    world.exit("old")
    assert world.job("old").preempted == 3


def test_being_preempted_does_not_use_up_the_requeues_of_a_policy() -> None:
    world = claimed(terms=terms(requeue="always", max_requeues=1))
    world.save("old")
    world.exit("old")

    assert world.job("old").requeues == 0


def test_a_failing_workload_runs_as_often_as_its_cap_allows() -> None:
    world = nodes(4)
    run_victim(world, terms=terms(requeue="always", max_requeues=2))
    for _ in range(2):
        world.exit("old", 1)
        world.retry("old")
        world.begin("old")
    world.exit("old", 1)

    job = world.job("old")
    assert (job.phase, job.attempt, job.requeues) == ("failed", 3, 2)


def test_a_failing_workload_goes_on_from_the_checkpoint_it_has() -> None:
    world = nodes(4)
    run_victim(world, terms=terms(requeue="always"))
    world.feed(Checkpointed("old", 1, 0), after=5)
    world.exit("old", 1)
    world.retry("old")

    assert world.process("old").resume is True


@pytest.mark.parametrize(
    ("requeue", "phase"), [("never", "failed"), ("on_node_failure", "starting"), ("always", "starting")]
)
def test_a_lost_workload_runs_again_unless_its_policy_is_never(requeue: Requeue, phase: str) -> None:
    world = nodes(4)
    run_victim(world, terms=terms(requeue=requeue))
    world.exit("old", None, lost=True)

    assert world.phase("old") == phase


@pytest.mark.parametrize("mode", ["auto", "none"])
def test_a_victim_whose_policy_is_never_ends_preempted(mode: str) -> None:
    world = claimed(mode=mode, terms=terms(requeue="never"))
    if mode == "auto":
        world.save("old")
    world.exit("old")

    job = world.job("old")
    assert (job.phase, job.preempted) == ("preempted", 1)
    assert "old" not in world.driver.jobs
    assert world.phase("new") == "starting"


@pytest.mark.parametrize("saves", [True, False])
def test_where_the_doctrine_ends_its_victims_they_end_preempted(saves: bool) -> None:
    world = claimed(nodes(4, mode="terminate"), mode="auto" if saves else "none")
    if saves:
        world.save("old")
    world.exit("old")

    assert world.phase("old") == "preempted"
    assert "new" in world.job("old").why


def test_where_the_doctrine_ends_its_victims_one_that_left_with_a_dump_ends_too() -> None:
    world = claimed(nodes(4, mode="terminate"))
    world.feed(Checkpointed("old", 1, 1, leaves=True))
    world.exit("old", None, signal=9, told=False)

    assert world.phase("old") == "preempted"


def test_where_the_doctrine_suspends_its_victims_they_queue_again() -> None:
    world = claimed(nodes(4, mode="suspend"), mode="none")
    world.exit("old")

    assert world.phase("old") == "pending"


def test_a_requeued_workload_forgets_how_and_where_its_last_attempt_ended_when_it_starts() -> None:
    world = claimed(mode="none")
    world.exit("old")
    assert (world.job("old").exit_signal, world.job("old").nodes) == (15, ())
    world.begin("new")
    world.exit("new")

    job = world.job("old")
    assert (job.exit_code, job.exit_signal, job.began, job.ended, job.leaving) == (None, None, None, None, None)


def test_hints_are_numbered_from_1_in_every_attempt() -> None:
    world = claimed()
    world.save("old")
    world.exit("old")
    world.begin("new")
    world.exit("new")
    world.begin("old")
    world.submit("again", cpu=4, priority=9)

    assert world.process("old").hint == 1
    assert world.process("old").attempt == 2
