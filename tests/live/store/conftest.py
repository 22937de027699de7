"""One suite over every kind of database a store can be kept in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.live.store.store import Store


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that nobody has used yet."""
    return f"{request.param}:///{tmp_path / 'cede.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store.open(url)
    yield opened
    opened.close()
