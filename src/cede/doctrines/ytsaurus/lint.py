"""Settings that will not do what they seem to, or that let operations evict each other for ever."""

from __future__ import annotations

from collections.abc import Iterator

from cede.model.lint import Finding
from cede.state.state import State


def lint(state: State, edition: str) -> Iterator[Finding]:
    """Findings about the tree's options, then about every pool, by name."""
    yield from ()
