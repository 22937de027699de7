"""Doctrines that are no part of Cede: those that installed packages bring, and those that somebody offers by hand.

A package brings one as an entry point of the group `cede.doctrines`, named like the doctrine. It is imported when
somebody asks for it by that name, so that one that is broken harms nobody else.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from cede.doctrines.parts.doctrine import Doctrine
from cede.model.errors import CedeError, DoctrineError, InputError, Problem

GROUP = "cede.doctrines"
ATTRIBUTE = "DOCTRINE"
"""What a module calls the doctrine that it brings."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_EDITION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_offered: dict[str, tuple[Doctrine, str, str]] = {}
"""By name: what was offered in this process, where it was found as people are told, and by which source."""


def names() -> tuple[str, ...]:
    """The names of all there are; nothing is imported for it."""
    return tuple(sorted({*_offered, *_installed()}))


def find(name: str) -> Doctrine | None:
    """The doctrine of this name, or None; an InputError says why one that is there cannot be used."""
    if name in _offered:
        return _offered[name][0]
    return _imported(name) if name in _installed() else None


def offer(doctrine: Doctrine, place: str, source: str) -> Doctrine:
    """From now on it is found by its name. The same source may offer again, and replaces what it had offered."""
    before = _offered.get(doctrine.name)
    if before is not None and before[2] != source:
        raise _taken(place, doctrine.name, before[1])
    if before is None and doctrine.name in _installed():
        raise _taken(place, doctrine.name, place_of(doctrine.name))
    _offered[doctrine.name] = doctrine, place, source
    return doctrine


def withdraw(name: str) -> None:
    """What was offered by this name is so no more."""
    _offered.pop(name, None)


def place_of(name: str) -> str:
    """Where this one comes from, for people."""
    if name in _offered:
        return _offered[name][1]
    return _place(_installed()[name][0])


def checked(found: object, place: str, file: str | None = None) -> Doctrine:
    """The doctrine that this is, or that this module has; an InputError says what is wrong with it. What it raises
    later names it, and the line of its `file`."""
    what = "it"
    if isinstance(found, ModuleType):
        file = found.__file__
        if not hasattr(found, ATTRIBUTE):
            raise _wrong(place, f"has no {ATTRIBUTE}", f"end it with `{ATTRIBUTE} = ...`")
        found, what = getattr(found, ATTRIBUTE), ATTRIBUTE
    if not isinstance(found, Doctrine):
        raise _wrong(place, f"{what} is of type {type(found).__name__}, and not a Doctrine")
    name, rules = found.name, found.rules.doctrine
    if not _NAME.fullmatch(name):
        raise _wrong(place, f"{name!r} is no name of a doctrine", "use small letters, digits and single hyphens")
    if rules != name:
        raise _wrong(place, f"the doctrine is called {name!r}, and its rules are those of {rules!r}")
    if not found.editions:
        raise _wrong(place, f"the doctrine {name!r} has no edition")
    for edition in found.editions:
        if not _EDITION.fullmatch(edition):
            raise _wrong(place, f"{edition!r} is no name of an edition")
    calls: dict[str, Any] = {
        part: _blamed(call, f"the doctrine {name} ({place})", file)
        for part in ("decide", "fate", "audit", "lint", "question", "shares")
        if (call := getattr(found, part)) is not None
    }
    # Its models may be called like somebody else's, and the schema tells models by their names.
    return replace(found, dialect=replace(found.dialect, described=False), **calls)


def said(error: BaseException, file: str | None) -> str:
    """What went wrong, with the line of this file that it happened in."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file:
            line = frame.lineno
    where = "" if line is None else f"line {line}: "
    what = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{where}{type(error).__name__}{f': {what}' if what else ''}"


def _blamed(call: Callable[..., Any], whose: str, file: str | None) -> Callable[..., Any]:
    """The same call; what it raises, or what it gives raises when it is used, is told of as a fault of the doctrine."""

    def fault(error: Exception) -> DoctrineError:
        return DoctrineError(f"{whose} failed: {said(error, file)} (CEDE_DEBUG=1 shows where)")

    def followed(steps: Generator[Any, None, None]) -> Iterator[Any]:
        try:
            yield from steps
        except CedeError:
            raise
        except Exception as error:
            raise fault(error) from error

    def made(*given: Any) -> Any:
        try:
            found = call(*given)
        except CedeError:
            raise
        except Exception as error:
            raise fault(error) from error
        if isinstance(found, Generator):
            return followed(found)
        return _blamed(found, whose, file) if callable(found) else found

    return made


@cache
def _installed() -> dict[str, list[EntryPoint]]:
    """Entry points by name; more than one where two packages want the same name."""
    found: dict[str, list[EntryPoint]] = {}
    for one in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value, _package(one))):
        if one not in found.setdefault(one.name, []):
            found[one.name].append(one)
    return found


@cache
def _imported(name: str) -> Doctrine:
    first, *others = _installed()[name]
    place = _place(first)
    if others:
        raise _taken(place, name, _place(others[0]))
    try:
        loaded = first.load()
    except (Exception, SystemExit) as error:  # whatever somebody else's module does
        raise _wrong(place, f"cannot be imported: {type(error).__name__}: {error}") from error
    spec = find_spec(first.module)
    doctrine = checked(loaded, place, None if spec is None else spec.origin)
    if doctrine.name != name:
        raise _wrong(place, f"the entry point is called {name!r}, and its doctrine {doctrine.name!r}")
    return doctrine


def _place(one: EntryPoint) -> str:
    return f"{one.value} of the package {_package(one)}"


def _package(one: EntryPoint) -> str:
    return "(no name)" if one.dist is None else f"{one.dist.name} {one.dist.version}"


def _wrong(place: str, message: str, hint: str | None = None) -> InputError:
    return InputError([Problem(place, message, hint)])


def _taken(place: str, name: str, other: str) -> InputError:
    return _wrong(place, f"its name {name!r} is taken by {other}")
