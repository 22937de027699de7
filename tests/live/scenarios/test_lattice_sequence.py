"""The sequence once more under Lattice, with the times of its own settings: every row of its tables of steps and
timeouts, of requeue policies, and of walltime against checkpoints."""

from typing import Any

import pytest

from tests.live.scenarios import test_ends, test_requeue, test_sequence
from tests.live.scenarios.lattices import lattice_of

pytestmark = pytest.mark.slow

for module in (test_sequence, test_requeue, test_ends):
    globals().update({name: value for name, value in vars(module).items() if name.startswith("test_")})


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return lattice_of("n1")


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"times": {}}
