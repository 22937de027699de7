"""What a cluster file may say under YuniKorn: the settings of the cluster and of a queue, and what YuniKorn refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from cede.model.dialect import Dialect
from cede.model.errors import Loc, shown
from cede.model.queues import Queue
from cede.model.reports import Finding
from cede.model.settings import Means
from cede.model.times import SECOND
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
