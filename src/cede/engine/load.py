"""Cluster files, or the objects of another system, from disk, standard input or plain data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from cede.doctrines.document import parse_document
from cede.engine.cluster import Cluster
from cede.imports.formats import imported
from cede.model.errors import InputError, Problem, shown
from cede.model.reading import read_text

SIZE_LIMIT = 256 * 2**20
"""A file above this is refused before it is read; `limit` raises it."""


def load(source: str | PathLike[str] | Mapping[str, Any], *, limit: int = SIZE_LIMIT) -> Cluster:
    """The cluster that a file, `-` for standard input, or plain data describes.

    Kueue's Kubernetes objects will do as well, and YuniKorn's queue configuration; what of them could not be carried
    over is in the cluster's `notes`.
    """
    data = dict(source) if isinstance(source, Mapping) else read_source(source, limit=limit)
    made = imported(data)
    return Cluster(parse_document(data)) if made is None else Cluster(parse_document(made.document), made.notes)


def read_source(source: str | PathLike[str], *, limit: int = SIZE_LIMIT) -> object:
    """Plain data from a JSON or YAML file, or from standard input for `-`."""
    name, data = read_bytes(source, limit=limit)
    return read_text(data, name=name)


def read_bytes(source: str | PathLike[str], *, limit: int = SIZE_LIMIT) -> tuple[str, bytes]:
    """What is in a file, or in standard input for `-`, and what to call it."""
    given: object = source
    if not isinstance(given, str | PathLike):
        hint = "give a file's name, '-' for standard input, or a dict"
        raise InputError([Problem("", f"{shown(given)} is neither a file nor a document", hint)])
    name = str(source)
    if name == "-":
        data = sys.stdin.buffer.read(limit + 1)
        name = "standard input"
    else:
        data = _read_file(Path(source), limit)
    if len(data) > limit:
        raise _too_large(name, f"more than {limit}", limit)
    return name, data


def _read_file(path: Path, limit: int) -> bytes:
    try:
        if path.is_dir():
            raise InputError([Problem(str(path), "this is a directory, not a cluster file")])
        size = path.stat().st_size
        if size > limit:
            raise _too_large(str(path), str(size), limit)
        with path.open("rb") as file:
            return file.read(limit + 1)
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError([Problem(str(path), f"cannot be read: {reason.lower()}")]) from None
    except ValueError as error:
        raise InputError([Problem(repr(str(path)), f"is no file name: {error}")]) from None


def _too_large(name: str, size: str, limit: int) -> InputError:
    message = f"has {size} bytes, and files above {limit} are not read"
    return InputError([Problem(name, message, "raise the limit with --max-size, or limit= in Python")])
