"""The times of the preemption sequence that a doctrine names itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile


def times_of(document: ClusterFile, app: str | None = None) -> dict[str, Any]:
    """What the cluster file's doctrine says of a workload of this app, under the keys of `Terms`; often nothing."""
    if document.dialect.times is None:
        return {}
    found = document.dialect.times(document, app)
    if "gone_within" in found:
        found.setdefault("grace_period", min(found["gone_within"], Terms().grace_period))
    return found


def terms_of_apps(document: ClusterFile, terms: Terms) -> dict[str, Terms]:
    """These terms as they are for workloads of apps that the doctrine gives another time to save."""
    given = {app.name: times_of(document, app.name).get("gone_within") for app in document.apps}
    return {
        name: replace(terms, checkpoint_timeout=timeout, gone_within=timeout)
        for name, timeout in given.items()
        if timeout is not None and timeout != terms.gone_within
    }


def merged(doctrine: dict[str, Any], *levels: dict[str, Any]) -> dict[str, Any]:
    """Each time from the last level that gives it; who gives more time to save than the doctrine lifts its limit."""
    found = dict(doctrine)
    for level in levels:
        found |= level
        if level.keys() & {"checkpoint_timeout", "timeout_extension", "max_deferral"}:
            found.pop("gone_within", None)
    return found
