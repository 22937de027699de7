"""The times of the preemption sequence that a doctrine names itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cede.doctrines.lattice.dialect import LatticeSettings
from cede.doctrines.ytsaurus.option_models import OperationSettings, TreeSettings
from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile

_OF_LATTICE = ("checkpoint_timeout", "timeout_extension", "max_deferral", "grace_period")


def times_of(document: ClusterFile, app: str | None = None) -> dict[str, Any]:
    """What the cluster file's doctrine says of a workload of this app, under the keys of `Terms`; often nothing."""
    choice = document.doctrine
    if choice is None:
        return {}
    if choice.name == "lattice":
        settings = LatticeSettings.model_validate(choice.settings)
        return {key: value for key in _OF_LATTICE if (value := getattr(settings, key)) is not None}
    if choice.name == "ytsaurus":
        return _of_ytsaurus(document, TreeSettings.model_validate(choice.settings), app)
    return {}


def terms_of_apps(document: ClusterFile, terms: Terms) -> dict[str, Terms]:
    """These terms as they are for workloads of apps that the doctrine gives another time to save."""
    given = {app.name: times_of(document, app.name).get("gone_within") for app in document.apps}
    return {
        name: replace(terms, checkpoint_timeout=timeout, gone_within=timeout)
        for name, timeout in given.items()
        if timeout is not None and timeout != terms.gone_within
    }


def _of_ytsaurus(document: ClusterFile, tree: TreeSettings, app: str | None) -> dict[str, Any]:
    """Who can be interrupted is asked to, and aborted when the timeout is over; nothing makes that longer."""
    entry = next((one for one in document.apps if one.name == app), None)
    own = OperationSettings.model_validate({} if entry is None else entry.settings)
    if own.preemption_mode == "graceful":
        given, default = own.allocation_graceful_preemption_timeout, tree.allocation_graceful_preemption_timeout
    else:
        given, default = own.allocation_preemption_timeout, tree.allocation_preemption_timeout
    timeout = default if given is None else given
    return {
        "checkpoint_timeout": timeout,
        "timeout_extension": 0.0,
        "max_deferral": 0,
        "grace_period": min(timeout, Terms().grace_period),
        "gone_within": timeout,
    }


def merged(doctrine: dict[str, Any], *levels: dict[str, Any]) -> dict[str, Any]:
    """Each time from the last level that gives it; who gives more time to save than the doctrine lifts its limit."""
    found = dict(doctrine)
    for level in levels:
        found |= level
        if level.keys() & {"checkpoint_timeout", "timeout_extension", "max_deferral"}:
            found.pop("gone_within", None)
    return found
