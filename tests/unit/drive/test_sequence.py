"""The preemption sequence as it should go: asked, answered, told, gone, and the claimant starts."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Checkpointed
from cede.engine.drive.orders import Hint, Launch, Terminate
from cede.model.times import SECOND
from tests.unit.drive.worlds import WORLDS, claimed, nodes, run_victim, terms


@pytest.mark.parametrize("which", sorted(WORLDS))
@pytest.mark.parametrize("mode", ["auto", "manual"])
def test_a_victim_is_asked_then_told_then_leaves_suspended_and_the_claimant_starts(which: str, mode: str) -> None:
    world = claimed(WORLDS[which](), mode=mode)
    assert world.phases() == {"new": "held", "old": "checkpointing"}
    assert world.orders("old") == ["Launch", "Hint"]

    world.save("old", after=20)
    assert world.phases() == {"new": "held", "old": "preempting"}
    assert world.orders("old") == ["Launch", "Hint", "Terminate"]
    assert world.orders("new") == []

    world.exit("old", after=1)
    assert world.phases() == {"new": "starting", "old": "suspended"}
    assert world.orders("new") == ["Launch"]


def test_a_hint_says_that_it_must_leave_and_until_when() -> None:
    world = claimed()

    assert world.steps[-1].orders == [Hint("old", 1, 1, leaving=True, deadline=(1100 + 600) * SECOND)]


def test_being_told_comes_with_the_grace_period_and_the_reason() -> None:
    world = claimed(terms=terms(grace_period=7))

    step = world.save("old", after=1)

    assert step.orders == [Terminate("old", 1, "preempt", 7 * SECOND)]
    assert world.job("old").deadline == 1108 * SECOND


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_one_without_checkpoints_is_told_at_once(which: str) -> None:
    world = claimed(WORLDS[which](), mode="none", terms=terms(answers=False))
    assert world.phases()["old"] == "preempting"
    assert world.orders("old") == ["Launch", "Terminate"]

    world.exit("old", after=3)

    assert world.phases() == {"new": "starting", "old": "pending"}


def test_one_without_checkpoints_is_killed_after_the_grace_period() -> None:
    world = claimed(mode="none")

    world.wait(29)
    assert world.orders("old") == ["Launch", "Terminate"]
    world.wait(1)
    assert world.orders("old") == ["Launch", "Terminate", "Kill"]


def test_one_that_says_it_checkpoints_but_does_not_answer_is_told_at_once() -> None:
    world = claimed(terms=terms(answers=False))

    assert world.orders("old") == ["Launch", "Terminate"]
    assert "nothing answers a request for a checkpoint" in world.job("old").why


def test_all_victims_are_asked_in_the_same_step() -> None:
    world = nodes(4, 4)
    for name in ("a", "b", "c", "d"):
        run_victim(world, name, cpu=2)

    step = world.submit("gang", cpu=4, members=2, priority=9)

    hinted = sorted(order.name for order in step.orders if isinstance(order, Hint))
    assert hinted == ["a", "b", "c", "d"]
    assert world.job("gang").waits_for
    assert set(world.job("gang").waits_for) == {"a", "b", "c", "d"}


def test_those_who_save_and_those_who_do_not_are_sent_away_in_parallel() -> None:
    world = nodes(4)
    run_victim(world, "saves", cpu=2)
    run_victim(world, "loses", cpu=2, mode="none")

    step = world.submit("new", cpu=4, priority=9)

    assert {(order.name, type(order)) for order in step.orders} == {("saves", Hint), ("loses", Terminate)}


def test_the_claimant_starts_with_the_last_victim_and_not_before() -> None:
    world = nodes(4)
    run_victim(world, "a", cpu=2)
    run_victim(world, "b", cpu=2)
    world.submit("new", cpu=4, priority=9)

    world.save("b", after=1)
    world.exit("b", after=1)
    assert world.job("new").waits_for == ("a",)
    assert world.phase("new") == "held"
    world.save("a", after=500)
    assert world.phase("new") == "held"
    step = world.exit("a", after=1)

    assert step.orders[0] == Launch("new", 1, ("n1",), resume=False)


def test_the_victim_knows_for_whom_and_by_which_decision_it_goes() -> None:
    world = claimed()
    hint = next(one for one in world.steps[-1].transitions if one.signal == "hint")
    made = world.steps[-1].decisions[-1]

    assert (hint.claimant, hint.decision) == ("new", made.number)
    assert [victim.workload for victim in made.decision.victims] == ["old"]
    assert made.cluster is not None
    assert {workload.name for workload in made.cluster.workloads} == {"old", "new"}


def test_one_that_did_not_begin_yet_is_told_at_once_and_begins_anew() -> None:
    world = nodes(4)
    world.submit("old", cpu=4, priority=1, terms=terms(), checkpoint={"mode": "auto"})

    world.submit("new", cpu=4, priority=9)
    assert world.phases() == {"new": "held", "old": "preempting"}
    world.exit("old")

    assert world.phases() == {"new": "starting", "old": "pending"}
    assert not world.job("old").resumes


def test_a_checkpoint_with_which_the_processes_go_needs_no_signal() -> None:
    """A dump ends what it dumps."""
    world = claimed()

    world.feed(Checkpointed("old", 1, 1, leaves=True), after=1)
    assert world.phase("old") == "checkpointing"
    world.exit("old", None, signal=9, told=False, after=1)

    assert world.orders("old") == ["Launch", "Hint"]
    assert world.phases() == {"new": "starting", "old": "suspended"}


def test_one_that_said_it_goes_with_its_checkpoint_and_stays_is_told() -> None:
    world = claimed()
    world.feed(Checkpointed("old", 1, 1, leaves=True), after=1)

    world.wait(30)

    assert world.orders("old") == ["Launch", "Hint", "Terminate"]
    assert world.phase("old") == "preempting"
