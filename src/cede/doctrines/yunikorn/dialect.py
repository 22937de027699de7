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
from cede.model.values import Duration, Maybe, Part, Reads, whole

LAWS = "laws"
SHIPPED = "1.9"
ROOT = "root"

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
    preemption_enabled: Maybe[bool] = Field(None, alias="preemption.enabled", description="Default true.")
    quota_preemption_enabled: Maybe[bool] = Field(
        None, alias="preemption.quotapreemptionenabled", description="Default false."
    )


class YunikornQueueSettings(Part):
    preemption_policy: Maybe[Literal["default", "fence", "disabled"]] = Field(None, alias="preemption.policy")
    preemption_delay: Maybe[Duration] = Field(None, alias="preemption.delay", description="Default 30s.")
    priority_policy: Maybe[Literal["default", "fence"]] = Field(None, alias="priority.policy")
    priority_offset: Maybe[Offset] = Field(None, alias="priority.offset", description="Default 0.")
    quota_preemption_delay: Maybe[Duration] = Field(None, alias="quota.preemption.delay", description="Default 0, off.")


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
