"""The times and rules of one workload, worked out from cluster, queue and its own wishes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cede.engine.drive.terms import Terms
from cede.live.config import ServerConfig, Times
from cede.model.cluster import ClusterFile
from cede.model.settings import LatticeSettings

_OF_LATTICE = ("checkpoint_timeout", "timeout_extension", "max_deferral", "grace_period")
_KEYS = tuple(part.name for part in fields(Terms) if part.name != "answers")


def terms_of(
    config: ServerConfig, document: ClusterFile, queue: str | None, times: Times, *, answers: bool = False
) -> Terms:
    """Each time from the nearest level that gives it: workload, queue, server, then the cluster file's doctrine."""
    levels = [_of_doctrine(document), _given(config.times)]
    if queue is not None and queue in config.queues:
        levels.append(_given(config.queues[queue]))
    levels.append(_given(times))
    found: dict[str, Any] = {}
    for level in levels:
        found |= level
    return Terms(**found, answers=answers)


def _given(times: Times) -> dict[str, Any]:
    return {key: value for key in _KEYS if (value := getattr(times, key)) is not None}


def _of_doctrine(document: ClusterFile) -> dict[str, Any]:
    """Only Lattice names these times in a cluster file."""
    if document.doctrine is None or document.doctrine.name != "lattice":
        return {}
    settings = LatticeSettings.model_validate(document.doctrine.settings)
    return {key: value for key in _OF_LATTICE if (value := getattr(settings, key)) is not None}
