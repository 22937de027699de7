import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.cli.bench.crash.run import worker
from cede.cli.bench.crash.serving import Nursery
from tests.live.crash.scene import Scene


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where servers come from; loading them once is enough."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def account() -> tuple[str, str]:
    """Whose rights jobs have, and what Python they use."""
    return worker()


@pytest.fixture
def scene(nursery: Nursery, account: tuple[str, str]) -> Iterator[Scene]:
    """A server that answers, on an empty data directory; after the test nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="cede-test-"))
    folder.chmod(0o711)
    scene = Scene(nursery, folder, account)
    yield scene
    scene.close()
    shutil.rmtree(folder)
