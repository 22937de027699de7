"""How many cases drawn by lot a test looks at: a sample in every run of the suite, many more in `make explore`.

A test says what its sample is. `SAMPLE` in the environment says how many times as many: `make check` looks at a few of
them, `make explore` at many more, drawn anew each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

TIMES = float(os.environ.get("SAMPLE", "1"))
FEWEST = 5
Test = TypeVar("Test", bound=Callable[..., Any])


def many(sample: int) -> int:
    """So many cases are looked at where the sample is this large."""
    return max(round(sample * TIMES), min(sample, FEWEST))


def examples(sample: int) -> settings:
    """The test looks at so many examples of Hypothesis."""
    return settings(max_examples=many(sample))


def seeds(sample: int) -> Callable[[Test], Test]:
    """The test is run with so many seeds, one at a time; the first ones are those of the sample."""

    def decorate(test: Test) -> Test:
        marked: Test = pytest.mark.drawn(pytest.mark.parametrize("seed", range(many(sample)))(test))
        return marked

    return decorate
