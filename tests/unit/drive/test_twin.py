"""The same facts give the same steps: in another driver, under another hash seed, across restarts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cede.engine.drive.driver import Driver
from cede.model.document import dump_document
from cede.model.lifecycle import FINAL
from cede.model.times import SECOND
from tests.unit.drive.story import CLUSTERS, digest, tell

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("which", CLUSTERS)
def test_what_one_driver_was_told_gives_the_same_steps_in_another(which: str) -> None:
    world = CLUSTERS[which]()
    tell(world)
    twin = Driver(world.document, 1000 * SECOND)

    for step, (at, facts) in zip(world.steps, world.inputs, strict=True):
        again = twin.feed(at, facts)
        assert (again.transitions, again.orders, again.decisions) == (step.transitions, step.orders, step.decisions)
        assert (again.wakes_at, again.refusals, again.granted) == (step.wakes_at, step.refusals, step.granted)
    assert dump_document(twin.snapshot()) == dump_document(world.driver.snapshot())


@pytest.mark.parametrize("which", CLUSTERS)
def test_a_driver_that_is_restored_after_every_step_does_the_same(which: str) -> None:
    world, twin = CLUSTERS[which](), CLUSTERS[which]()
    tell(world)
    tell(twin, between=lambda one: one.restart())

    for step, again in zip(world.steps, twin.steps, strict=True):
        assert (again.at, again.transitions, again.orders) == (step.at, step.transitions, step.orders)
    assert twin.phases() == world.phases()


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "4242"])
def test_the_steps_do_not_depend_on_the_hash_seed(seed: str) -> None:
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.unit.drive.story"]
    told = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)

    assert told.stdout.split() == [digest(which) for which in CLUSTERS]


@pytest.mark.parametrize("which", CLUSTERS)
def test_the_story_meets_most_phases(which: str) -> None:
    """Else it would prove little."""
    world = CLUSTERS[which]()
    tell(world)
    seen = {str(one.after) for step in world.steps for one in step.transitions}

    assert seen >= {"pending", "held", "starting", "running", "checkpointing", "preempting", "cancelling", "cancelled"}
    assert "suspended" in seen or which == "backendai that terminates"
    assert seen & {str(phase) for phase in FINAL} > {"cancelled"} or which.startswith("kueue")
