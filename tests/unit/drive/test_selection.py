"""A driver goes by the file's `selection`, on the short way to what acts as on the long one."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.drive.driver import Driver
from cede.engine.drive.options import DriverOptions
from cede.model.times import SECOND
from tests.drive_world import World

DOCTRINES: dict[str, dict[str, Any]] = {
    "backendai": {"queues": [{"name": "q", "settings": {"preemptible_priority": 5}}]},
    "kueue": {"queues": [{"name": "q", "guaranteed": {"cpu": 4}, "settings": {"withinClusterQueue": "LowerPriority"}}]},
}
WAYS = {
    "live": DriverOptions(),
    "without reasons": DriverOptions(reasons=False),
    "a replay's": DriverOptions(reasons=False, at_once=True),
}


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("doctrine", DOCTRINES)
@pytest.mark.parametrize(("selection", "victim"), [("doctrine", "first"), ("optimal", "second")])
def test_who_goes_is_chosen_as_the_file_says(doctrine: str, ways: DriverOptions, selection: str, victim: str) -> None:
    """Both doctrines take one of two that are alike to them; the first saves its work in half an hour, the second in
    half a minute."""
    nodes = [{"name": "n1", "capacity": {"cpu": 4}}]
    data = {"cede": 1, "doctrine": doctrine, "selection": selection, "nodes": nodes, **DOCTRINES[doctrine]}
    world = World(cede.load(data).document)
    world.driver = Driver(world.document, 1000 * SECOND, ways)
    older, newer = ("first", "second") if doctrine == "backendai" else ("second", "first")
    for name in (older, newer):
        checkpoint = {"mode": "auto", "time": 1800 if name == "first" else 30}
        world.submit(name, cpu=2, priority=1, checkpoint=checkpoint, after=1)
        world.begin(name, after=1)

    world.submit("in", cpu=2, priority=9, after=100)

    made = [one for step in world.steps for one in step.decisions if one.decision.victims]
    assert [[one.workload for one in each.decision.victims] for each in made] == [[victim]]
