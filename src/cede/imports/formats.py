"""Whose objects some data are, and the cluster file they become.

The importers are loaded only when there is something for them: most files are cluster files.
"""

from __future__ import annotations

from collections.abc import Mapping

from cede.imports.report import Imported
from cede.model.errors import InputError, Problem
from cede.model.reading import is_kubernetes_object


def imported(data: object) -> Imported | None:
    """What another system's configuration becomes; none where the data is that of a cluster file already."""
    if holds_objects(data):
        from cede.imports.kueue.convert import from_kueue

        return from_kueue([("", data)])
    if holds_partitions(data):
        from cede.imports.yunikorn.convert import from_yunikorn

        return from_yunikorn(("", data))
    return None


def added(base: object, before: Imported | None, source: str, extra: object) -> Imported | None:
    """What objects that are added become beside those of the base; none if these are not objects.

    `before` is what the base became. An InputError says what cannot be added.
    """
    if not holds_objects(extra):
        return None
    from cede.imports.kueue.convert import SHORT, workloads_beside

    if before is None or not holds_objects(base):
        message = "Kubernetes objects cannot be added to a cluster file"
        raise InputError([Problem(source, message, f"write a workload as {SHORT}")])
    return workloads_beside(base, before, source, extra)


def holds_partitions(data: object) -> bool:
    """Whether this is a queue configuration of YuniKorn."""
    return isinstance(data, Mapping) and "partitions" in data and "cede" not in data


def holds_objects(data: object) -> bool:
    """Whether these are Kubernetes objects, one or a list of them."""
    return is_kubernetes_object(data) or (
        isinstance(data, list) and bool(data) and all(map(is_kubernetes_object, data))
    )
