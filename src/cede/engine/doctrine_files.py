"""Doctrines in a Python file of their own, `mine.py`, that nobody installed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from os import PathLike
from pathlib import Path

from cede.doctrines.catalog import find, offer
from cede.doctrines.parts.doctrine import Doctrine
from cede.doctrines.plugins import place_of, said, withdraw
from cede.model.errors import InputError, Problem

SUFFIX = ".py"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file that was run: the doctrine it has, and what stood in it."""

    name: str
    source: bytes


_loaded: dict[str, Loaded] = {}
"""By absolute path."""


def load_doctrine(path: str | PathLike[str]) -> Doctrine:
    """The doctrine that a Python file has as DOCTRINE; from now on cluster files may name it.

    The file is run, so that it must be one you trust. An InputError says why it cannot be used.
    """
    place, home = str(path), str(Path(path).absolute())
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError([Problem(place, f"cannot be read: {reason}")]) from None
    copy = next((one for one in _loaded.values() if one.source == source), None)
    if copy is not None:
        _loaded[home] = copy
        return find(copy.name)
    name = f"cede_doctrine_file_{len(_loaded)}_{Path(path).stem}"
    spec = spec_from_file_location(name, home)
    if spec is None or spec.loader is None:
        raise InputError([Problem(place, "is no Python file", "its name ends in .py")])
    module = module_from_spec(spec)
    sys.modules[name] = module  # annotations are looked up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the file does
        raise InputError([Problem(place, said(error, home))]) from error
    found = offer(module, place, home)
    _loaded[home] = Loaded(found.name, source)
    return found


def named(text: str) -> str:
    """A choice as NAME or NAME/EDITION; of FILE.py or FILE.py/EDITION the file is loaded, and its doctrine named."""
    path, edition = split_file(text)
    if path is None:
        return text
    known = _loaded.get(str(Path(path).absolute()))
    return f"{load_doctrine(path).name if known is None else known.name}{edition}"


def split_file(text: str) -> tuple[str | None, str]:
    """The file that a choice names, if it names one, and what stands after it."""
    path, dot, rest = text.partition(SUFFIX)
    return (path + SUFFIX, rest) if dot and (not rest or rest.startswith("/")) else (None, text)


def forget_files() -> None:
    """Nobody knows the doctrines of files any more."""
    for one in _loaded.values():
        withdraw(one.name)
    _loaded.clear()


def loaded_files() -> tuple[str, ...]:
    """The files whose doctrines this process knows, for another one that must know them too."""
    return tuple(_loaded)


def file_of(doctrine: str) -> str | None:
    """The file that the doctrine of this name was loaded from, as it was given; None if it was not."""
    return place_of(doctrine) if any(one.name == doctrine for one in _loaded.values()) else None


def load_files(paths: Iterable[str]) -> None:
    """All doctrines of these files, in a process that was begun for another one."""
    for path in paths:
        if path not in _loaded:
            load_doctrine(path)
