"""What a cluster file may say under YuniKorn: the settings of the cluster and of a queue, and what YuniKorn refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from cede.model.dialect import Dialect
from cede.model.errors import Loc, shown
from cede.model.queues import Queue
from cede.model.reports import Finding
from cede.model.settings import Means
from cede.model.times import SECOND, parse_duration
from cede.model.values import Duration, Part, Reads, whole

LAWS = "laws"
SHIPPED = "1.9"
ROOT = "root"
DELAY = 30 * SECOND

_OFFSET = re.compile(r"[+-]?[0-9]+")
_MOST_OFFSET_DIGITS = 20


def _parse_offset(raw: object) -> int:
    if isinstance(raw, str):
        if len(raw) > _MOST_OFFSET_DIGITS or _OFFSET.fullmatch(raw) is None:
            raise ValueError(f"{shown(raw)} is no whole number")
        return int(raw)
    return int(whole().parse(raw))


Offset = Annotated[
    int, Reads(_parse_offset, {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[+-]?[0-9]+$"}]})
]


class YunikornSettings(Part):
    preemption_enabled: Annotated[
        bool, Means("whether asks preempt at all; work that needs a certain node still does")
    ] = Field(True, alias="preemption.enabled", description="Default true.")
    quota_preemption_enabled: Annotated[
        bool, Means("whether a queue above its max is cut back after quota.preemption.delay", only=(SHIPPED,))
    ] = Field(False, alias="preemption.quotapreemptionenabled", description="Default false.")


class YunikornQueueSettings(Part):
    preemption_policy: Annotated[
        Literal["default", "fence", "disabled"],
        Means("fence: work below the queue finds no victim outside; disabled: no victim in it or below"),
    ] = Field("default", alias="preemption.policy")
    preemption_delay: Annotated[
        Duration, Means("how long an ask of the leaf waits before it may preempt; 0 means the default")
    ] = Field(DELAY, alias="preemption.delay", description="Default 30s.")
    priority_policy: Annotated[
        Literal["default", "fence"],
        Means("fence: seen from outside, all work below the queue has the priority priority.offset", only=(SHIPPED,)),
    ] = Field("default", alias="priority.policy")
    priority_offset: Annotated[Offset, Means("added to the priority of all work below the queue", only=(SHIPPED,))] = (
        Field(0, alias="priority.offset", description="Default 0.")
    )
    quota_preemption_delay: Annotated[
        Duration,
        Means("how long a queue may stay above its max before it is cut back; 0 means for ever", only=(SHIPPED,)),
    ] = Field(0, alias="quota.preemption.delay", description="Default 0, off.")


def queue_findings(queue: Queue, _settings: Mapping[str, Any], broken: frozenset[Loc]) -> Iterator[Finding]:
    """A limit of the root, which is what the nodes have."""
    if queue.name == ROOT and (queue.max is not None or ("max",) in broken):
        message = "under yunikorn the root's limit is the sum of its nodes; it has no max of its own"
        yield Finding(("max",), message)


DIALECT = Dialect(
    "yunikorn",
    cluster=YunikornSettings,
    queues={LAWS: YunikornQueueSettings, SHIPPED: YunikornQueueSettings},
    zero_is_unset=True,
    queue_findings=queue_findings,
)


EDITIONS = (LAWS, SHIPPED)

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
        offset = int(str(raw))
    except ValueError:
        return 0
    return offset if -INT32 <= offset < INT32 else 0
