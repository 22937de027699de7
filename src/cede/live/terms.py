"""What the configuration means for the driver: the options of the server, and the terms of one workload."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cede.engine.drive.breaker import BreakerLimits
from cede.engine.drive.options import Backoff, DriverOptions
from cede.engine.drive.terms import Terms, merged, times_of
from cede.live.config import ServerConfig, Times
from cede.model.cluster import ClusterFile

_KEYS = tuple(part.name for part in fields(Terms) if part.name not in ("answers", "gone_within", "running"))


def terms_of(
    config: ServerConfig,
    document: ClusterFile,
    queue: str | None,
    times: Times,
    *,
    app: str | None = None,
    answers: bool = False,
    sensitive: bool = False,
) -> Terms:
    """Each time from the nearest level that gives it: workload, queue, server, then the cluster file's doctrine.

    Where the doctrine has a class of sensitive work, such work is not queued again by itself after it failed.
    """
    levels = [_given(config.times)]
    if queue is not None and queue in config.queues:
        levels.append(_given(config.queues[queue]))
    levels.append(_given(times))
    base = times_of(document, app)
    if sensitive and document.dialect.sensitive is not None:
        base |= {"requeue": "never"}
    return Terms(**merged(base, *levels), answers=answers)


def _given(times: Times) -> dict[str, Any]:
    return {key: value for key in _KEYS if (value := getattr(times, key)) is not None}


def driver_options(config: ServerConfig) -> DriverOptions:
    """What this server wants of the driver."""
    return DriverOptions(
        backfill=config.backfill,
        worth=config.checkpoints == "worth",
        backoff=Backoff(config.backoff.delay, config.backoff.max_delay),
        breaker=BreakerLimits(**config.breaker.model_dump()),
        thrashing=config.thrashing,
    )
