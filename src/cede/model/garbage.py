"""Making very many objects without looking for cycles among them all the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 50_000
"""Objects that have come and not gone between two looks at the young ones; Python's own 700 to 2,000 are reached many
times a second by work that makes next to no cycles."""


@contextmanager
def collecting_no_garbage() -> Iterator[None]:
    """For a block that makes many objects and no cycles: looking for cycles would double its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """For long work that makes few cycles: they are found, but nobody looks through what was there before."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
