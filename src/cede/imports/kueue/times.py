"""The latest moment that any of the objects knows of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cede.imports.kueue.objects import Object
from cede.model.times import Instant, parse_time


def latest(objects: Iterable[Object]) -> int | None:
    """The latest time in them, when something was made, changed or last seen; not when something is due."""
    times = [time for one in objects for time in _times(one.fields.data)]
    return max(times, default=None)


def _times(data: Mapping[str, Any]) -> Iterable[int]:
    metadata, status = _object(data.get("metadata")), _object(data.get("status"))
    texts = [metadata.get("creationTimestamp")]
    texts += [_object(one).get("time") for one in _list(metadata.get("managedFields"))]
    for one in (*_list(status.get("conditions")), *_list(status.get("admissionChecks"))):
        texts += [_object(one).get(key) for key in ("lastTransitionTime", "lastHeartbeatTime", "lastProbeTime")]
    for text in texts:
        if isinstance(text, str):
            try:
                yield Instant(parse_time(text))
            except ValueError:
                continue  # whoever reads the field complains of it


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
