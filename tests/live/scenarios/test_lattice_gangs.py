"""Gangs once more under Lattice: a checkpoint is written only if every member has written its part."""

from typing import Any

import pytest

from tests.live.scenarios import test_gangs
from tests.live.scenarios.lattices import lattice_of

pytestmark = pytest.mark.slow

globals().update({name: value for name, value in vars(test_gangs).items() if name.startswith("test_")})


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return lattice_of(*test_gangs.NODES, max_victims=4)


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"times": {}}
