import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.executor.stand import Stand, until


@pytest.fixture
def data() -> Iterator[Path]:
    """A data directory that every account can pass through to: that of pytest is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="cede-test-"))
    folder.chmod(0o755)
    yield folder / "data"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def stand(data: Path) -> Iterator[Stand]:
    """An open executor; after the test no process of it is left, nor of its jobs."""
    stand = Stand(data)
    stand.open()
    yield stand
    stand.clear()
    until(lambda: not list(stand.zygotes()))
