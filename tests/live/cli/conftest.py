"""One server for all tests of a module: they use names of their own, and leave the nodes empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.cli.serving import CLUSTER, Call, Served, served
from tests.unit.cli.calls import COLOURS, called


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served") / "data", CLUSTER) as made:
        yield made


@pytest.fixture
def call(server: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """A command within this process, which is faster than one of its own."""
    for name in (*COLOURS, "CEDE_URL", "CEDE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("CEDE_DATA", str(server.data))
    return lambda *arguments: called(capsys, *arguments)
