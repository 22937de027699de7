"""Over gRPC no file keeps what the application said: whoever is told that it was noted may rely on it."""

import getpass
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from cede.cli.bench.crash.serving import ForkServer
from tests.live.crash.scene import Scene, until

pytestmark = pytest.mark.slow


@pytest.fixture
def own_scene(fork_server: ForkServer) -> Iterator[Scene]:
    """Jobs have the rights and the interpreter of the tests, which knows gRPC."""
    folder = Path(tempfile.mkdtemp(prefix="cede-test-"))
    scene = Scene(fork_server, folder, (getpass.getuser(), sys.executable), isolated=False)
    yield scene
    scene.close()
    shutil.rmtree(folder)


def _answered(scene: Scene, times: int) -> bool:
    return len(scene.lines("victim", "done")) == times


def test_an_answer_that_was_noted_outlives_the_server(own_scene: Scene) -> None:
    scene = own_scene
    scene.submit("victim", {"goes": True}, cpu=4, constraints={"nodes": ["n-0"]}, checkpoint={"protocol": "grpc"})
    until(lambda: scene.lines("victim", "step"))
    for number in range(5):
        scene.wait("victim", "running")
        scene.submit(f"claimant-{number}", {"steps": 1}, cpu=4, priority=90, constraints={"nodes": ["n-0"]})
        until(partial(_answered, scene, number + 1))
        scene.restart()
        assert scene.wait(f"claimant-{number}")["state"] == "completed"

    victim = scene.wait("victim", "running")
    assert (victim["attempt"], victim["preempted"]) == (6, 5)
    resumed = until(lambda: len(lines := scene.lines("victim", "resumed")) == 5 and lines)
    assert [one.details for one in resumed] == [one.details for one in scene.lines("victim", "saved")][:5]


def test_an_answer_given_while_the_server_was_away_is_delivered(own_scene: Scene) -> None:
    scene = own_scene
    scene.submit("victim", {"takes": scene.sign()}, members=4, cpu=4, checkpoint={"protocol": "grpc"})
    until(lambda: len(scene.lines("victim", "step")) >= 4)
    scene.wait("victim", "running")
    scene.claim()
    until(lambda: len(scene.lines("victim", "hint")) == 4)

    def away() -> None:
        scene.give_sign()
        until(lambda: len(scene.lines("victim", "saved")) == 4)

    scene.restart(away=away)

    assert scene.wait("claimant")["state"] == "completed"
    assert len(scene.lines("victim", "hint")) == len(scene.lines("victim", "told")) == 4
    assert len(until(lambda: len(lines := scene.lines("victim", "resumed")) == 4 and lines)) == 4
