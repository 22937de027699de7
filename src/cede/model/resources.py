"""Names of resources, and amounts of several resources together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from cede.model.errors import InputError, Problem, nearest, shown
from cede.model.quantities import parse_quantity, parse_quota

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?(@[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_MOST_KNOWN = 20_000
_MOST_CHARACTERS = 500

_known: set[str] = set()


def parse_resources(raw: object) -> dict[str, int]:
    """Amounts in 10**-9 units by NAME or NAME@FLAVOR; an InputError names every key that is wrong."""
    return _parse(raw, parse_quantity)


def parse_quotas(raw: object) -> dict[str, int]:
    """The same of quotas or limits, which may be unlimited."""
    return _parse(raw, parse_quota)


def _parse(raw: object, parse: Callable[[object], int]) -> dict[str, int]:
    if not isinstance(raw, dict):
        raise InputError([Problem("", f"{shown(raw)} is no object of resource names and quantities")])
    try:
        return {name if name in _known else _checked(name): parse(value) for name, value in raw.items()}
    except (ValueError, TypeError):
        raise InputError(_problems(raw, parse)) from None


def _checked(name: object) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{shown(name)} is no resource name; names are text")
    if len(name) > _MOST_CHARACTERS or _NAME.fullmatch(name) is None:
        raise ValueError(f"{shown(name)} is no resource name; write NAME or NAME@FLAVOR, as cpu or nvidia.com/gpu@a100")
    if len(_known) < _MOST_KNOWN:
        _known.add(name)
    return name


def _problems(raw: dict[object, object], parse: Callable[[object], int]) -> list[Problem]:
    problems = []
    for name, value in raw.items():
        try:
            _checked(name)
            parse(value)
        except ValueError as error:
            problems.append(Problem.at((name if isinstance(name, str) else shown(name),), str(error)))
    return problems


def split_flavor(name: str) -> tuple[str, str | None]:
    """The resource and, if the name pins one, the flavor."""
    resource, at, flavor = name.partition("@")
    return resource, flavor if at else None


@lru_cache(_MOST_KNOWN)
def is_gpu(name: str) -> bool:
    """Whether this counts as GPU: the name is or ends in `gpu` before any `@`."""
    return name.partition("@")[0].endswith("gpu")


USUAL = frozenset({"cpu", "memory", "gpu"})


def lookalike(asked: str, offered: Iterable[str]) -> str | None:
    """The resource that was perhaps meant by a name that is not offered; none if it is, or looks like nothing.

    GPUs are known by many names, so one that is asked for by the wrong name is offered under the right one. A usual
    name is never taken for another: a request for gpu does not mean cpu.
    """
    names = {split_flavor(name)[0] for name in offered}
    resource = split_flavor(asked)[0]
    if resource in names:
        return None
    meant = resource if resource in USUAL or is_gpu(resource) else nearest(resource, names | USUAL)
    if meant is None or meant in names:
        return meant
    alike = sorted(name for name in names if is_gpu(meant) and is_gpu(name))
    return alike[0] if alike else meant if meant != resource else None
