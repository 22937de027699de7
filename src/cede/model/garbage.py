"""Making very many objects without looking for cycles among them meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
