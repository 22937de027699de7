"""Small clusters under a driver, and the situations that its tests begin with."""

from __future__ import annotations

from typing import Any

import cede
from cede.engine.drive.terms import Requeue, Terms
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.model.times import SECOND
from tests.drive_world import World

PLAIN = ("max_requeues", "timeout_extension")


def terms(requeue: Requeue = "on_node_failure", answers: bool = True, **seconds: Any) -> Terms:
    """Times in seconds, by name; counts and shares as they are."""
    given: dict[str, Any] = {key: value if key in PLAIN else int(value * SECOND) for key, value in seconds.items()}
    return Terms(requeue=requeue, answers=answers, **given)


def nodes(*sizes: int, mode: str = "suspend") -> World:
    """Backend.AI on nodes n1, n2, ... with so many cpus. Up to priority 5 everybody may be preempted."""
    return World(nodes_file(*sizes, mode=mode))


def nodes_file(*sizes: int, mode: str = "suspend") -> ClusterFile:
    data: dict[str, Any] = {
        "cede": 1,
        "doctrine": "backendai",
        "nodes": [{"name": f"n{at}", "capacity": {"cpu": size}} for at, size in enumerate(sizes, 1)],
        "queues": [{"name": "q", "settings": {"preemptible_priority": 5, "preemption_mode": mode}}],
    }
    return cede.load(data).document


def kueue(*sizes: int, quota: int) -> World:
    """Kueue with one queue and its quota; without sizes there are no nodes."""
    data: dict[str, Any] = {
        "cede": 1,
        "doctrine": "kueue",
        "nodes": [{"name": f"n{at}", "capacity": {"cpu": size}} for at, size in enumerate(sizes, 1)],
        "queues": [{"name": "q", "guaranteed": {"cpu": quota}, "settings": {"withinClusterQueue": "LowerPriority"}}],
    }
    return World(cede.load(data).document)


WORLDS = {
    "backendai": lambda: nodes(4),
    "kueue on nodes": lambda: kueue(4, quota=4),
    "kueue with quota alone": lambda: kueue(quota=4),
}
"""Room for four cpus, in every way there is."""


def run_victim(world: World, name: str = "old", *, mode: str = "auto", cpu: int = 4, **more: Any) -> None:
    """Run one that may be preempted, and that answers hints."""
    rules = more.pop("terms", terms())
    world.run(name, terms=rules, cpu=cpu, priority=more.pop("priority", 1), checkpoint={"mode": mode}, **more)


def claimed(world: World | None = None, **more: Any) -> World:
    """`old` fills the cluster and makes way for `new`."""
    found = world or nodes(4)
    run_victim(found, **more)
    found.submit("new", cpu=4, priority=9, after=100)
    assert found.phases()["new"] == "held"
    return found


def state_of(world: World, name: str) -> str:
    """What the cluster file of this moment calls a workload."""
    (entry,) = (one for one in world.driver.snapshot().workloads if one.name == name)
    return entry.state


def survives_restart(world: World) -> None:
    """A driver made from the records is where the old one was, and gives the orders that are in force."""
    before = dump_document(world.driver.snapshot(int(world.seconds * SECOND)))
    orders = world.driver.outstanding()
    jobs = {name: (job.phase, job.deadline, job.leaving) for name, job in world.driver.jobs.items()}
    world.restart()
    assert dump_document(world.driver.snapshot()) == before
    assert world.driver.outstanding() == orders
    assert {name: (job.phase, job.deadline, job.leaving) for name, job in world.driver.jobs.items()} == jobs
