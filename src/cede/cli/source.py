"""Cluster files as the options of a command ask for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cede.cli.failures import about
from cede.model.errors import InputError, Problem

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster
    from cede.engine.whatif import WhatIf


def read_what_if(
    file: str,
    max_size: str,
    doctrine: str | None,
    add: Sequence[str] | None,
    set_: Sequence[str] | None,
    without: Sequence[str] | None,
) -> tuple[object, WhatIf]:
    """The plain data of the file, and the changes asked for, with what --add names read too."""
    from cede.engine.whatif import WhatIf

    limit = size_of(max_size)
    sources = [file, *(add or ())]
    if sources.count("-") > 1:
        raise InputError([Problem("--add -", "standard input can be read once only")])
    data, *extras = (_read(source, limit) for source in sources)
    return data, WhatIf(doctrine, tuple(without or ()), tuple(zip(sources[1:], extras, strict=True)), tuple(set_ or ()))


def cluster_of(file: str, data: object, what_if: WhatIf | None = None) -> Cluster:
    """The cluster that the data of this file describes, with the changes if there are any."""
    from cede.engine.whatif import WhatIf, cluster_if

    with about("standard input" if file == "-" else file):
        return cluster_if(data, what_if or WhatIf())


def load(file: str, max_size: str) -> Cluster:
    """The cluster a file describes, as it stands."""
    return cluster_of(file, _read(file, size_of(max_size)))


def _read(source: str, limit: int) -> object:
    from cede.engine.load import read_source

    if source == "-" and sys.stdin is None:
        raise InputError([Problem("standard input", "is closed")])
    try:
        return read_source(source, limit=limit)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError([Problem("standard input", f"cannot be read: {reason}")]) from None


def size_of(text: str) -> int:
    """A number of bytes."""
    from cede.model.quantities import NANO, parse_quantity

    try:
        return parse_quantity(text) // NANO
    except ValueError as error:
        raise InputError([Problem("--max-size", str(error), "write it as 512Mi")]) from None
