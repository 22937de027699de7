"""Random lives of work of two tenants: what happens next under a driver, drawn by lot."""

from __future__ import annotations

import random

from cede.engine.drive.terms import Terms
from tests.drive_world import World


def one_thing(world: World, chance: random.Random, number: int, queues: str, terms: Terms) -> None:
    """Somebody comes, begins, saves or leaves, or time goes by."""
    fresh = [one.name for one in world.processes.values() if not one.began]
    hinted = [one.name for one in world.processes.values() if one.hint and not one.told]
    there = [one.name for one in world.processes.values() if one.began]
    match chance.choice(("submit", "submit", "submit", "begin", "begin", "save", "exit", "wait")):
        case "begin" if fresh:
            world.begin(chance.choice(fresh))
        case "save" if hinted:
            world.save(chance.choice(hinted), after=1)
        case "exit" if there:
            world.exit(chance.choice(there), after=1)
        case "wait":
            world.wait(chance.choice((1, 31, 61, 700)))
        case _:
            world.submit(
                f"w{number}",
                queue=chance.choice(queues),
                tenant=chance.choice(("acme", "other")),
                members=chance.choice((1, 1, 2)),
                cpu=chance.choice((1, 2, 4)),
                priority=chance.randrange(10),
                checkpoint={"mode": chance.choice(("auto", "none"))},
                terms=terms,
                after=1,
            )
