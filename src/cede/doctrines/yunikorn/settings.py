"""The settings of the cluster and of a queue, with YuniKorn's defaults and what is inherited from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cede.doctrines.yunikorn.dialect import DELAY, DIALECT
from cede.model.times import SECOND, parse_duration

EDITIONS = LAWS, SHIPPED = DIALECT.editions

DEFAULT, FENCE, DISABLED = "default", "fence", "disabled"
CHECK_INTERVAL = 15 * SECOND
ATTEMPTS = 10
RESERVATION_DELAY = 2 * SECOND
RESERVATION_WAIT = 3600 * SECOND
INT32 = 1 << 31

CLUSTER_DEFAULTS = DIALECT.defaults("cluster", SHIPPED)
ONLY_SHIPPED = DIALECT.only_in(SHIPPED)
"""Settings that the design does not know, so that edition `laws` does not read them."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The cluster-wide settings."""

    enabled: bool
    quota: bool


@dataclass(frozen=True, slots=True)
class Properties:
    """One queue's settings as they count; times in microseconds."""

    fence: bool
    disabled: bool
    delay: int
    priority_fence: bool
    offset: int
    quota_delay: int


def mode_of(raw: Mapping[str, Any]) -> Mode:
    """The cluster-wide settings as the file's `doctrine` gives them."""
    full = CLUSTER_DEFAULTS | dict(raw)
    return Mode(bool(full["preemption.enabled"]), bool(full["preemption.quotapreemptionenabled"]))


def properties_of(path: Sequence[Mapping[str, Any]], edition: str) -> Properties:
    """What counts for the first queue of the path, given the raw settings of it and of all above it.

    Release 1.9 merges properties downwards: delays as they are, of the policies only `disabled`, of priorities
    nothing. In the design a delay counts on the leaf alone, and `disabled` protects all that is below.
    """
    own = path[0] if path else {}
    policy = str(own.get("preemption.policy", DEFAULT)).lower()
    if edition == LAWS:
        disabled = any(str(raw.get("preemption.policy", "")).lower() == DISABLED for raw in path)
        delay = _positive(own.get("preemption.delay"), DELAY)
        return Properties(policy == FENCE, disabled, delay, priority_fence=False, offset=0, quota_delay=0)
    given = next((raw["preemption.policy"] for raw in path if "preemption.policy" in raw), DEFAULT)
    return Properties(
        fence=policy == FENCE,
        disabled=str(given).lower() == DISABLED,
        delay=_positive(_nearest(path, "preemption.delay"), DELAY),
        priority_fence=str(own.get("priority.policy", DEFAULT)).lower() == FENCE,
        offset=_offset(own.get("priority.offset", 0)),
        quota_delay=_positive(_nearest(path, "quota.preemption.delay"), 0),
    )


def _nearest(path: Sequence[Mapping[str, Any]], name: str) -> object:
    return next((raw[name] for raw in path if name in raw), None)


def _positive(raw: object, default: int) -> int:
    """A delay; what is no duration, or none above zero, is the default."""
    if raw is None:
        return default
    try:
        return parse_duration(raw) or default
    except ValueError:
        return default


def _offset(raw: object) -> int:
    """A whole number of 32 bits; anything else is 0."""
    try:
        found = int(str(raw))
    except ValueError:
        return 0
    return found if -INT32 <= found < INT32 else 0
