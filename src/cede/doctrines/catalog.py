"""The doctrines that exist, loaded when asked for. Who adds one to Cede adds its name here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from cede.doctrines import plugins
from cede.doctrines.parts.doctrine import Doctrine
from cede.model.cluster import DoctrineChoice
from cede.model.dialect import Dialect
from cede.model.errors import InputError, Problem

NAMES = ("kueue", "yunikorn", "ytsaurus", "backendai", "lattice", "kubernetes")
"""Cede's own, in the contract's order."""
BUILT = ("backendai", "kubernetes", "kueue", "lattice", "yunikorn", "ytsaurus")
"""The same, in the order in which they are told of."""
DOCUMENTED = ("backendai", "kueue", "lattice", "yunikorn", "ytsaurus")
"""Those of the contract's documents, which `all` doctrines means."""
DEFAULT = "backendai"
"""Where nobody names one."""


def doctrine_of(choice: DoctrineChoice | None) -> Doctrine:
    """The doctrine a file asks for."""
    if choice is None:
        message = "the file names no doctrine, so there are no rules to decide by"
        raise InputError([Problem("doctrine", message, f"add `doctrine: NAME`; this Cede has {', '.join(known())}")])
    return find(choice.name)


def find(name: str) -> Doctrine:
    """The doctrine of this name: Cede's own, one that was offered, or one that another package brings."""
    if name in NAMES:
        doctrine: Doctrine = import_module(f"cede.doctrines.{name}.doctrine").DOCTRINE
        return doctrine
    found = plugins.find(name)
    if found is None:
        message = f"the doctrine {name!r} is not built yet"
        raise InputError([Problem("doctrine", message, f"this Cede has {', '.join(known())}")])
    return found


def offer(doctrine: object, place: str, source: str | None = None) -> Doctrine:
    """From now on files may name this doctrine, which was found at this place; an InputError if it is none, or if its
    name is taken. What the same `source` offered before is replaced."""
    found = plugins.checked(doctrine, place)
    if found.name in NAMES:
        raise InputError([Problem(place, f"its name {found.name!r} is that of a doctrine of Cede's own")])
    return plugins.offer(found, place, source or place)


def known() -> tuple[str, ...]:
    """The names of all there are, Cede's own first; whether those of other packages can be used is not asked."""
    return (*BUILT, *(name for name in plugins.names() if name not in NAMES))


def usable() -> tuple[list[Doctrine], list[Problem]]:
    """All doctrines there are, and what is wrong with those of other packages that cannot be used."""
    found: list[Doctrine] = [find(name) for name in BUILT]
    problems: list[Problem] = []
    for name in plugins.names():
        if name in NAMES:
            message = f"its name {name!r} is that of a doctrine of Cede's own, which is used"
            problems.append(Problem(plugins.place_of(name), message))
            continue
        try:
            found.append(find(name))
        except InputError as error:
            problems += error.problems
    return found, problems


class _Dialects(Mapping[str, Dialect]):
    """A cluster file names one doctrine: the settings of the others are not imported for it."""

    def __getitem__(self, name: str) -> Dialect:
        if name in NAMES:
            dialect: Dialect = import_module(f"cede.doctrines.{name}.settings").DIALECT
            return dialect
        try:
            found = plugins.find(name)
        except InputError as error:  # told at the place in the file that names it: whose it is goes into the message
            told = [Problem("", f"{one.path}: {one.message}", one.hint) for one in error.problems]
            raise InputError(told) from error
        if found is None:
            raise KeyError(name)
        return found.dialect

    def __contains__(self, name: object) -> bool:
        return name in NAMES or (isinstance(name, str) and name in plugins.names())

    def __iter__(self) -> Iterator[str]:
        return iter((*NAMES, *(name for name in plugins.names() if name not in NAMES)))

    def __len__(self) -> int:
        return len(list(iter(self)))


DIALECTS: Mapping[str, Dialect] = _Dialects()
"""The cluster file with the settings of every doctrine there is: how it is read."""


def described_dialects() -> dict[str, Dialect]:
    """The dialects that the schema describes: of all doctrines that can be used."""
    found, _ = usable()
    others = {doctrine.name: doctrine.dialect for doctrine in found if doctrine.name not in NAMES}
    return {name: DIALECTS[name] for name in NAMES} | others
