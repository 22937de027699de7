"""Cluster files as the options of a command ask for them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from cede.cli.failures import about, printable
from cede.model.errors import InputError, Problem

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster
    from cede.engine.whatif import WhatIf
    from cede.imports.report import Imported


class Parse(Protocol):
    """Makes plain data of what is in a file."""

    def __call__(self, data: bytes, *, name: str) -> object: ...


def read_what_if(
    file: str,
    max_size: str,
    doctrine: str | None,
    add: Sequence[str] | None,
    set_: Sequence[str] | None,
    without: Sequence[str] | None,
) -> tuple[object, WhatIf]:
    """The plain data of the file, and the changes asked for, with what --add names read too."""
    from cede.engine.doctrine_files import named
    from cede.engine.whatif import WhatIf
    from cede.imports.formats import added as beside

    limit = size_of(max_size)
    doctrine = None if doctrine is None else named(doctrine)
    sources = [file, *(add or ())]
    if sources.count("-") > 1:
        raise InputError([Problem("--add -", "standard input can be read once only")])
    data, *extras = (_read(source, limit) for source in sources)
    made = _imported(file, data)
    imports = {} if made is None else {file: made}
    added = []
    for source, extra in zip(sources[1:], extras, strict=True):
        entries = beside(data, made, f"--add {source}", extra)
        if entries is not None:
            imports[source] = entries
        added.append((source, extra if entries is None else entries.document["workloads"]))
    _tell_losses(imports)
    return data if made is None else made.document, WhatIf(
        doctrine, tuple(without or ()), tuple(added), tuple(set_ or ())
    )


def file_or_live(file: str | None, live: bool, url: str | None, token: str | None, data: str | None) -> str | None:
    """The file to read, or None for the running server: exactly one of the two must be asked for."""
    if live and file is not None:
        raise InputError([Problem("--live", f"stands beside the file {name_of(file)}", "leave one of the two out")])
    if live:
        return None
    if file is None:
        raise InputError([Problem("FILE", "is missing", "give a cluster file, or --live for the running server")])
    for option, value in (("--url", url), ("--token", token), ("--data", data)):
        if value is not None:
            raise InputError([Problem(option, "means the running server", "add --live, and leave the file out")])
    return file


def entries_of(source: str, max_size: str) -> list[dict[str, object]]:
    """The workloads of a file that is one, a list of them, or a document: what --add names."""
    from cede.engine.whatif import entries_of as entries
    from cede.imports.formats import holds_objects

    data = _read(source, size_of(max_size))
    if holds_objects(data):
        raise InputError([Problem(f"--add {source}", "Kubernetes objects cannot be added to a running cluster")])
    return list(entries(source, data))


def cluster_of(file: str, data: object, what_if: WhatIf | None = None) -> Cluster:
    """The cluster that the data of this file describes, with the changes if there are any."""
    from cede.engine.whatif import WhatIf, cluster_if

    with about(name_of(file)):
        return cluster_if(data, what_if or WhatIf())


def load(file: str, max_size: str) -> Cluster:
    """The cluster a file describes, as it stands."""
    data = _read(file, size_of(max_size))
    made = _imported(file, data)
    if made is None:
        return cluster_of(file, data)
    _tell_losses({file: made})
    return cluster_of(file, made.document)


def read_all(files: Sequence[str], max_size: str, parse: Parse | None = None) -> list[tuple[str, object]]:
    """The plain data of several files, each with its name; `parse` makes it of their bytes, if not as YAML or JSON."""
    if list(files).count("-") > 1:
        raise InputError([Problem("-", "standard input can be read once only")])
    limit = size_of(max_size)
    return [(name_of(file), _read(file, limit, parse)) for file in files]


MOST_WARNINGS = 5


def name_of(file: str) -> str:
    """A file as it is called in messages."""
    return "standard input" if file == "-" else file


def _imported(file: str, data: object) -> Imported | None:
    from cede.imports.formats import imported

    with about(name_of(file)):
        return imported(data)


def name_of_doctrine(made: Imported) -> str:
    """The system whose configuration this was."""
    doctrine = made.document["doctrine"]
    return str(doctrine["name"] if isinstance(doctrine, Mapping) else doctrine)


def tell_lookalikes(cluster: Cluster) -> None:
    """Warn on standard error of resources that nothing offers by that name."""
    from cede.engine.lint import resource_findings

    warn([f"{one.path}: {one.message} ({one.hint})" for one in resource_findings(cluster.document)])


def warn(warnings: Sequence[str]) -> None:
    """Say these on standard error, the first few of them."""
    for warning in warnings[:MOST_WARNINGS]:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    if len(warnings) > MOST_WARNINGS:
        print(f"warning: and {len(warnings) - MOST_WARNINGS} more like these", file=sys.stderr)


def _tell_losses(imports: Mapping[str, Imported]) -> None:
    """Count on standard error what was in the objects and is not in the cluster; finished work is no loss.

    Fields that are perhaps misspelled are named.
    """
    if not imports:
        return
    from cede.imports.fields import UNKNOWN
    from cede.imports.report import grouped

    warn(grouped(note for made in imports.values() for note in made.notes if note.why.startswith(UNKNOWN)))
    workloads = sum(len(made.left_out) for made in imports.values())
    others = sum(len(made.other_notes()) for made in imports.values())
    lost = []
    if workloads:
        lost.append("1 workload was left out" if workloads == 1 else f"{workloads} workloads were left out")
    if others:
        other = "other " if workloads else ""
        lost.append(f"{others} {other}{'thing' if others == 1 else 'things'} could not be carried over")
    if lost:
        # The cluster's objects come first: without them those that were added mean nothing.
        files = [file for number, (file, made) in enumerate(imports.items()) if made.notes or number == 0]
        system = name_of_doctrine(next(iter(imports.values())))
        command = " ".join([f"cede import {system}", *("FILE" if file == "-" else printable(file) for file in files)])
        names = "names it" if workloads + others == 1 else "names them"
        print(f"note: {' and '.join(lost)}; `{command}` {names}", file=sys.stderr)


def _read(source: str, limit: int, parse: Parse | None = None) -> object:
    from cede.engine.load import read_bytes
    from cede.model.reading import read_text

    if source == "-" and sys.stdin is None:
        raise InputError([Problem("standard input", "is closed")])
    try:
        name, data = read_bytes(source, limit=limit)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError([Problem("standard input", f"cannot be read: {reason}")]) from None
    return (parse or read_text)(data, name=name)


def size_of(text: str) -> int:
    """A number of bytes."""
    from cede.model.quantities import NANO, parse_quantity

    try:
        return parse_quantity(text) // NANO
    except ValueError as error:
        raise InputError([Problem("--max-size", str(error), "write it as 512Mi")]) from None
