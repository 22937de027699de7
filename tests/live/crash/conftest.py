import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.cli.bench.crash.run import worker
from cede.cli.bench.crash.serving import ForkServer
from tests.live.crash.scene import Scene


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Where servers come from; loading them once is enough."""
    fork_server = ForkServer()
    yield fork_server
    fork_server.close()


@pytest.fixture(scope="session")
def account() -> tuple[str, str]:
    """Whose rights jobs have, and what Python they use."""
    return worker()


@pytest.fixture
def scene(fork_server: ForkServer, account: tuple[str, str]) -> Iterator[Scene]:
    """A server that answers, on an empty data directory; after the test nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="cede-test-"))
    folder.chmod(0o711)
    scene = Scene(fork_server, folder, account)
    yield scene
    scene.close()
    shutil.rmtree(folder)
