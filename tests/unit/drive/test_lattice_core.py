"""Edition core under the driver: its victims may leave nodes that are not for the claimant; it does not start there."""

from __future__ import annotations

import cede
from tests.drive_world import World
from tests.unit.drive.lattice_worlds import given

CLUSTER = {
    "cede": 1,
    "doctrine": {"name": "lattice", "edition": "core"},
    "nodes": [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "z1", "capacity": {"cpu": 4}, "labels": {"zone": "z"}}],
    "queues": [{"name": "a"}],
}


def test_a_claimant_does_not_start_on_a_node_that_is_not_for_it() -> None:
    world = World(cede.load(CLUSTER).document)
    for name, zone in (("plain", {}), ("right", {"zone": "z"})):
        world.run(name, queue="a", cpu=4, priority=1, constraints={"labels": zone}, terms=given())
    world.wait(60)
    world.submit("in", queue="a", cpu=4, priority=8, constraints={"labels": {"zone": "z"}}, terms=given())
    for _ in range(6):
        for process in [one for one in world.processes.values() if one.told]:
            world.exit(process.name, after=1)

    assert (world.phase("in"), world.process("in").nodes) == ("starting", ("z1",))
    assert world.job("plain").preempted == 1
