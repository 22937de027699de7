"""Cluster files as the options of a command ask for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cede.cli.failures import about, printable
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
    for source, extra in zip(sources[1:], extras, strict=True):
        _forbid_objects(source, extra)
    return _document(file, data), WhatIf(
        doctrine, tuple(without or ()), tuple(zip(sources[1:], extras, strict=True)), tuple(set_ or ())
    )


def cluster_of(file: str, data: object, what_if: WhatIf | None = None) -> Cluster:
    """The cluster that the data of this file describes, with the changes if there are any."""
    from cede.engine.whatif import WhatIf, cluster_if

    with about(name_of(file)):
        return cluster_if(data, what_if or WhatIf())


def load(file: str, max_size: str) -> Cluster:
    """The cluster a file describes, as it stands."""
    return cluster_of(file, _document(file, _read(file, size_of(max_size))))


def read_all(files: Sequence[str], max_size: str) -> list[tuple[str, object]]:
    """The plain data of several files, each with its name."""
    if list(files).count("-") > 1:
        raise InputError([Problem("-", "standard input can be read once only")])
    limit = size_of(max_size)
    return [(name_of(file), _read(file, limit)) for file in files]


def name_of(file: str) -> str:
    """A file as it is called in messages."""
    return "standard input" if file == "-" else file


def _document(file: str, data: object) -> object:
    """The data as that of a cluster file; if it was objects, what was lost on the way is counted on standard error."""
    from cede.engine.load import as_document

    with about(name_of(file)):
        document, notes = as_document(data)
    if notes:
        things = "1 thing" if len(notes) == 1 else f"{len(notes)} things"
        command = f"cede import kueue {'FILE' if file == '-' else printable(file)}"
        print(f"note: {things} could not be carried over; `{command}` names them", file=sys.stderr)
    return document


def _forbid_objects(source: str, extra: object) -> None:
    from cede.engine.load import holds_objects

    if holds_objects(extra):
        hint = "make one file of all objects with `cede import kueue`"
        raise InputError([Problem(f"--add {source}", "Kubernetes objects cannot be added", hint)])


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
