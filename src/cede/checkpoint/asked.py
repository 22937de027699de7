"""A hint as the application sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """Hints of an attempt are numbered from 1. `leaving`: the processes will be told to go when it is written.

    `deadline`: until when it is waited for, in seconds since 1970, where that is known.
    """

    hint: int
    leaving: bool
    deadline: float | None = None
