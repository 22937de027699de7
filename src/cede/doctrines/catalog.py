"""The doctrines that exist, loaded when asked for. Who adds one adds its name here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from cede.doctrines.parts.doctrine import Doctrine
from cede.model.cluster import DoctrineChoice
from cede.model.dialect import Dialect
from cede.model.errors import InputError, Problem

NAMES = ("kueue", "yunikorn", "ytsaurus", "backendai", "lattice")
"""In the contract's order."""
BUILT = ("backendai", "kueue", "lattice", "yunikorn", "ytsaurus")
"""The same, in the order in which they are told of."""
DEFAULT = "backendai"
"""Where nobody names one."""


def doctrine_of(choice: DoctrineChoice | None) -> Doctrine:
    """The doctrine a file asks for."""
    if choice is None:
        message = "the file names no doctrine, so there are no rules to decide by"
        raise InputError([Problem("doctrine", message, f"add `doctrine: NAME`; this Cede has {', '.join(BUILT)}")])
    return find(choice.name)


def find(name: str) -> Doctrine:
    """The doctrine of this name."""
    if name not in NAMES:
        message = f"the doctrine {name!r} is not built yet"
        raise InputError([Problem("doctrine", message, f"this Cede has {', '.join(BUILT)}")])
    doctrine: Doctrine = import_module(f"cede.doctrines.{name}.doctrine").DOCTRINE
    return doctrine


class _Dialects(Mapping[str, Dialect]):
    """A cluster file names one doctrine: the settings of the others are not imported for it."""

    def __getitem__(self, name: str) -> Dialect:
        if name not in NAMES:
            raise KeyError(name)
        dialect: Dialect = import_module(f"cede.doctrines.{name}.dialect").DIALECT
        return dialect

    def __contains__(self, name: object) -> bool:
        return name in NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


DIALECTS: Mapping[str, Dialect] = _Dialects()
