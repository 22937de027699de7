"""Small clusters under YTsaurus' rules, and the situations that tests of its clocks begin with."""

from __future__ import annotations

from typing import Any

import cede
from cede.model.document import dump_document
from tests.drive_world import World
from tests.unit.drive.worlds import terms

OPTIONS: dict[str, Any] = {
    "fair_share_starvation_timeout": 10,
    "fair_share_aggressive_starvation_timeout": 100,
    "preemptive_scheduling_backoff": 2,
}


def pools(*, options: dict[str, Any] | None = None, nodes: int = 1, **keys: Any) -> World:
    """Two pools, `a` and `b`, which share nodes of 8 cpus evenly. Who is below its share starves after 10 s."""
    data = {
        "cede": 1,
        "doctrine": {"name": "ytsaurus", **OPTIONS, **(options or {})},
        "nodes": [{"name": f"n{at + 1}", "capacity": {"cpu": 8}} for at in range(nodes)],
        "queues": [{"name": "a"}, {"name": "b"}],
        **keys,
    }
    return World(cede.load(data).document)


def filled(world: World, app: str = "exp", cpu: int = 4) -> World:
    """One operation of pool `a` has everything: old-1 first, then the others."""
    room = sum(node.capacity["cpu"] for node in world.document.nodes) // 10**9
    for number in range(1, room // cpu + 1):
        more = {"queue": "a", "app": app, "cpu": cpu, "checkpoint": {"mode": "auto"}}
        world.run(f"old-{number}", terms=terms(), **more)
        world.seconds += 0.001
    return world


def claimed(world: World | None = None) -> World:
    """`new` of pool `b` waits since second 1000, as good as, and its pool is below its share."""
    world = filled(pools()) if world is None else world
    world.submit("new", queue="b", cpu=4, terms=terms())
    return world


def clocks(world: World, at: float | None = None) -> dict[str, Any]:
    """What a cluster file of the moment says of clocks."""
    document = dump_document(world.driver.snapshot(None if at is None else int(at * 10**6)))
    found: dict[str, Any] = {}
    for section in ("apps", "queues"):
        for entry in document.get(section, ()):  # type: ignore[attr-defined]
            found |= {f"{section} {entry['name']}": entry["settings"]} if entry.get("settings") else {}
    for node in document["nodes"]:  # type: ignore[attr-defined]
        own = {key: value for key, value in node.items() if key in ("overcommitted_since", "last_preemptive_attempt")}
        found |= {f"nodes {node['name']}": own} if own else {}
    return found


def preempted(world: World) -> list[tuple[str | None, list[str], str]]:
    """Every decision with victims: for whom, who, by which rule."""
    return [
        (made.decision.workload, [victim.workload for victim in made.decision.victims], made.decision.rule)
        for step in world.steps
        for made in step.decisions
        if made.decision.victims
    ]
