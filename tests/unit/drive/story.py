"""One long story of a cluster, told to any driver: most of what can happen happens in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from cede.engine.drive.facts import AskCheckpoint, Cancel, Resume, SetNode, Suspend
from tests.drive_world import World
from tests.unit.drive.lattice_worlds import lattice
from tests.unit.drive.worlds import WORLDS, kueue, nodes, terms

CLUSTERS: dict[str, Callable[[], World]] = {
    "backendai": lambda: nodes(4, 4),
    "backendai that terminates": lambda: nodes(4, 4, mode="terminate"),
    "kueue on nodes": lambda: kueue(4, 4, quota=8),
    "kueue with quota alone": lambda: kueue(quota=8),
    "lattice": lambda: lattice("a", None),
}
assert set(WORLDS) <= set(CLUSTERS)


def tell(world: World, between: Callable[[World], None] = lambda _: None) -> None:
    """Tell the story; `between` is called after every step."""
    for number in range(8):
        mode = "auto" if number % 2 else "none"
        world.submit(
            f"low{number}", cpu=1, priority=number % 3, terms=terms(requeue="always"), checkpoint={"mode": mode}
        )
        between(world)
    begin_all(world, between)
    world.submit("gang", cpu=3, members=2, priority=9, terms=terms(), after=10)
    between(world)
    world.feed(AskCheckpoint("low7"), Suspend("low5", "ann"), Cancel("low2", "bob"), after=5)
    between(world)
    for _ in range(3):
        answer_all(world, between)
        leave_all(world, between)
        begin_all(world, between)
    if world.driver.state.node_index:
        world.feed(SetNode("n1", "cordoned", "ann", evict=True), after=60)
        between(world)
    world.feed(Resume("low5", "ann"))
    between(world)
    world.submit("late", cpu=1, walltime=500)
    between(world)
    for seconds in (1, 299, 300, 31, 10, 600, 31):
        world.wait(seconds)
        between(world)
        begin_all(world, between)
        leave_all(world, between)


def begin_all(world: World, between: Callable[[World], None]) -> None:
    for name in sorted(process.name for process in world.processes.values() if not process.began):
        world.begin(name)
        between(world)


def answer_all(world: World, between: Callable[[World], None]) -> None:
    for name in sorted(process.name for process in world.processes.values() if process.hint and not process.told):
        world.save(name, after=2)
        between(world)


def leave_all(world: World, between: Callable[[World], None]) -> None:
    for name in sorted(process.name for process in world.processes.values() if process.told):
        world.exit(name, after=1)
        between(world)


def digest(which: str) -> str:
    """What came out of the story, in a few letters."""
    world = CLUSTERS[which]()
    tell(world)
    steps = [(step.at, step.transitions, step.orders, step.decisions, step.wakes_at) for step in world.steps]
    return hashlib.sha256(repr(steps).encode()).hexdigest()


if __name__ == "__main__":
    for name in CLUSTERS:
        print(digest(name))
