"""Every move of the table happens in somebody's life; what nobody does would be in the table for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cede.engine.drive.facts import AskCheckpoint, Cancel, Checkpointed, Resume, SetNode, Suspend
from cede.model.lifecycle import TABLE
from tests.drive_world import World
from tests.unit.drive.worlds import claimed, nodes, run_victim, terms

Happens = Callable[[World], object]
FAILS: dict[str, Any] = {"code": None, "lost": True, "signal": None}


def waiting() -> World:
    """`w` waits for `other`."""
    world = nodes(4)
    run_victim(world, "other", priority=5)
    world.submit("w", cpu=4, priority=1)
    return world


def held() -> World:
    """`w` has a hold on the room of `other`."""
    world = nodes(4)
    run_victim(world, "other")
    world.submit("w", cpu=4, priority=5)
    return world


def suspended(world: World | None = None) -> World:
    """`w` left with its checkpoint, parked by ann."""
    found = world or running()
    found.feed(Suspend("w", "ann"))
    found.save("w")
    found.exit("w")
    return found


def starting() -> World:
    world = nodes(4)
    world.submit("w", cpu=4, priority=1)
    return world


def running(**more: Any) -> World:
    world = nodes(4)
    run_victim(world, "w", **more)
    return world


def asked() -> World:
    world = running()
    world.feed(AskCheckpoint("w"))
    return world


def victim(mode: str = "suspend", **more: Any) -> World:
    world = nodes(4, mode=mode)
    run_victim(world, "w", **more)
    world.submit("other", cpu=4, priority=9)
    return world


def told(**more: Any) -> World:
    return victim(mode="suspend", **{"terms": terms(answers=False), **more})


def cancelled() -> World:
    world = running()
    world.feed(Cancel("w"))
    return world


def dumped(mode: str) -> World:
    world = victim(mode)
    world.feed(Checkpointed("w", 1, 1, leaves=True))
    return world


def late_saver() -> World:
    world = victim(walltime=50)
    world.wait(50)
    world.save("w")
    return world


def resuming() -> World:
    """`w` has a checkpoint, and holds the room of `other`."""
    world = suspended(running(priority=5))
    run_victim(world, "other")
    world.feed(Resume("w"))
    return world


def parked_behind() -> World:
    world = suspended(running(priority=5))
    run_victim(world, "other")
    return world


def waiting_high() -> World:
    """`w` is parked, and would preempt `other`."""
    world = nodes(4)
    run_victim(world, "blocker", priority=9)
    world.submit("w", cpu=4, priority=5)
    world.feed(Suspend("w"))
    world.exit("blocker")
    run_victim(world, "other")
    return world


def told_with_a_checkpoint() -> World:
    world = victim()
    world.save("w")
    return world


LIVES: dict[str, tuple[Callable[[], World], Happens]] = {
    "pending+start": (waiting, lambda w: w.exit("other")),
    "pending+hold": (waiting_high, lambda w: w.feed(Resume("w"))),
    "pending+cancel": (waiting, lambda w: w.feed(Cancel("w"))),
    "held+freed": (held, lambda w: w.exit("other", 0)),
    "held+cancel": (held, lambda w: w.feed(Cancel("w"))),
    "held+requeue": (held, lambda w: w.feed(SetNode("n1", "cordoned"))),
    "held+suspend": (resuming, lambda w: w.feed(SetNode("n1", "cordoned"))),
    "starting+began": (starting, lambda w: w.begin("w")),
    "starting+evict": (starting, lambda w: w.submit("other", cpu=4, priority=9)),
    "starting+cancel": (starting, lambda w: w.feed(Cancel("w"))),
    "starting+complete": (starting, lambda w: w.exit("w", 0)),
    "starting+fail": (starting, lambda w: w.exit("w", None, error="no such program")),
    "running+hint": (running, lambda w: w.feed(AskCheckpoint("w"))),
    "running+evict": (lambda: running(mode="none"), lambda w: w.submit("other", cpu=4, priority=9)),
    "running+cancel": (running, lambda w: w.feed(Cancel("w"))),
    "running+expire": (lambda: running(walltime=50), lambda w: w.wait(50)),
    "running+complete": (running, lambda w: w.exit("w", 0)),
    "running+fail": (running, lambda w: w.exit("w", 3)),
    "checkpointing+checkpointed": (asked, lambda w: w.save("w")),
    "checkpointing+give up": (asked, lambda w: w.wait(600)),
    "checkpointing+evict": (victim, lambda w: w.save("w")),
    "checkpointing+cancel": (victim, lambda w: w.feed(Cancel("w"))),
    "checkpointing+expire": (lambda: victim(walltime=50), lambda w: w.wait(50)),
    "checkpointing+complete": (victim, lambda w: w.exit("w", 0)),
    "checkpointing+fail": (victim, lambda w: w.exit("w", 3)),
    "checkpointing+suspend": (lambda: dumped("suspend"), lambda w: w.exit("w", None, signal=9)),
    "checkpointing+end": (lambda: dumped("terminate"), lambda w: w.exit("w", None, signal=9)),
    "preempting+cancel": (told, lambda w: w.feed(Cancel("w"))),
    "preempting+complete": (told, lambda w: w.exit("w", 0, told=False, signal=None)),
    "preempting+fail": (told, lambda w: w.exit("w", **FAILS)),
    "preempting+suspend": (told_with_a_checkpoint, lambda w: w.exit("w")),
    "preempting+requeue": (told, lambda w: w.exit("w")),
    "preempting+end": (lambda: told(terms=terms(requeue="never", answers=False)), lambda w: w.exit("w")),
    "suspended+start": (suspended, lambda w: w.feed(Resume("w"))),
    "suspended+hold": (parked_behind, lambda w: w.feed(Resume("w"))),
    "suspended+cancel": (suspended, lambda w: w.feed(Cancel("w"))),
    "cancelling+complete": (cancelled, lambda w: w.exit("w", 0, told=False, signal=None)),
    "cancelling+fail": (cancelled, lambda w: w.exit("w", 3, told=False, signal=None)),
    "cancelling+suspend": (late_saver, lambda w: w.exit("w")),
    "cancelling+end": (cancelled, lambda w: w.exit("w")),
    "failed+requeue": (lambda: running(terms=terms(requeue="always")), lambda w: w.exit("w", 3)),
}


@pytest.mark.parametrize("move", LIVES)
def test_every_move_happens_and_comes_with_a_reason(move: str) -> None:
    begin, happens = LIVES[move]
    phase, signal = move.split("+")
    world = begin()
    happens(world)

    (found,) = (
        one for one in world.steps[-1].transitions if one.name == "w" and (one.before, one.signal) == (phase, signal)
    )
    assert found.why
    assert found.rule


def test_there_is_a_life_for_every_move_of_the_table() -> None:
    assert {f"{phase}+{signal}" for phase, signal in TABLE} == set(LIVES)


def test_in_every_life_the_claimant_gets_its_room_in_the_end() -> None:
    """Whatever becomes of the victim."""
    for happens in (
        lambda w: w.exit("old", 0),
        lambda w: w.exit("old", 3),
        lambda w: w.exit("old", **FAILS),
        lambda w: (w.save("old"), w.exit("old")),
        lambda w: (w.feed(Cancel("old")), w.exit("old")),
        lambda w: (w.feed(Suspend("old")), w.save("old"), w.exit("old")),
        lambda w: (w.cannot_save("old"), w.exit("old")),
        lambda w: (w.wait(600), w.wait(30), w.exit("old")),
    ):
        world = claimed()
        happens(world)
        assert world.phase("new") == "starting"
