"""Making very many objects without looking for cycles among them meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 100_000
"""How many more objects there must be than after the last look for cycles until the next."""


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
def collecting_garbage_seldom() -> Iterator[None]:
    """For a long run that makes many objects, of which few are in cycles: those are found, but not looked for all the
    time."""
    often = gc.get_threshold()
    gc.set_threshold(SELDOM, *often[1:])
    try:
        yield
    finally:
        gc.set_threshold(*often)
