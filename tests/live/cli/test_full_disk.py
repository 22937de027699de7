"""`cede serve` where nothing can be written."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.cli.bench.crash.disks import Disks
from tests.live.cli.serving import CLUSTER, served
from tests.unit.cli.calls import CEDE, environment

pytestmark = pytest.mark.slow


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    """Small ones, that can be filled."""
    made = Disks(tmp_path, mounted=True)
    if made.why_not:
        pytest.skip(f"no file system can be mounted here: {made.why_not}")
    yield made
    made.close()


@pytest.mark.parametrize("used", [False, True])
def test_a_server_that_is_started_on_a_full_disk_says_what_is_full(disks: Disks, *, used: bool) -> None:
    """Whether there is a store already, or none yet."""
    if used:
        with served(disks.data, CLUSTER) as server:
            assert server.run("submit", "--name", "before", "--wait", "--", "true").code == 0
    disks.fill(disks.store, disks.jobs)
    command = [str(CEDE), "serve", str(CLUSTER), "--data", str(disks.data), "--port", "0"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False, timeout=60)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1] == f"error: no space left on {disks.data}"
    disks.free()
    with served(disks.data, CLUSTER) as server:
        assert server.run("submit", "--name", "after", "--wait", "--", "true").code == 0
