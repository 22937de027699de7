"""One server of a kind for all tests of a module; nothing is left under way between two tests.

When they are over, what the server recorded is told to a fresh driver, and the same must come of it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cede.engine.drive.options import DriverOptions
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import Live, cluster_of, serving


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    """What the module's server is given; a module that wants another says so."""
    return cluster_of("n1")


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    """The same for its configuration."""
    return {}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, cluster: dict[str, Any], config: dict[str, Any]) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("data")
    with serving(folder, cluster, **config) as live:
        yield live
    assert_replays(folder, DriverOptions(worth=config.get("checkpoints") == "worth"))


@pytest.fixture
def live(served: Live) -> Iterator[Live]:
    yield served
    served.clear()
