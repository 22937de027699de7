"""A terminal of a known width for every test."""

from __future__ import annotations

import pytest

from tests.unit.cli.calls import COLOURS


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in COLOURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
