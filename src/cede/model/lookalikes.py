"""Names of resources that nobody offers, but that look like ones somebody does."""

from __future__ import annotations

from collections.abc import Iterable

from cede.model.errors import nearest
from cede.model.resources import is_gpu, split_flavor

USUAL = frozenset({"cpu", "memory", "gpu"})


def lookalike(asked: str, offered: Iterable[str]) -> str | None:
    """The resource that was perhaps meant by a name that is not offered; none if it is, or looks like nothing.

    GPUs are known by many names, so one that is asked for by the wrong name is offered under the right one. A usual
    name is never taken for another: who asks for gpu does not mean cpu.
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
