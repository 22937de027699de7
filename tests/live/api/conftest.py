"""One server for all tests of a module: they use names of their own."""

from collections.abc import Iterator

import pytest

from tests.live.api.serving import Running, serving


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("data")) as made:
        yield made
