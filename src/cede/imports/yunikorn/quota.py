"""Queues above their max, of which a dump does not say since when they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cede.imports.amounts import Amounts, total
from cede.imports.yunikorn.applications import Work
from cede.imports.yunikorn.configuration import SWITCHES, Partition
from cede.imports.yunikorn.properties import NO_DELAY, QUOTA_DELAY
from cede.imports.yunikorn.quantities import excess
from cede.imports.yunikorn.queues import Queue

SINCE = (
    "it uses more than this, and a dump does not say since when; `over_limit_since` of the queue says it in the file"
)


def note_overuse(partition: Partition, configured: Mapping[str, Queue], works: Iterable[Work]) -> None:
    """Name the queues that quota preemption would look at, if it is switched on."""
    if not partition.switches.get(SWITCHES["quotapreemptionenabled"]):
        return
    used: dict[str, Amounts] = {}
    for work in works:
        path = work.entry["queue"] if work.holds else ""
        while path:
            used[path] = total([used.get(path, {}), work.amounts])
            path = path.rpartition(".")[0]
    for queue in configured.values():
        for name in excess(queue.max, used.get(queue.path, {})) if _is_enforced(queue) else ():
            queue.fields.remark(SINCE, "resources", "max", name)


def _is_enforced(queue: Queue) -> bool:
    """Whether the queue, or the nearest above that says anything, has a delay after which its max is enforced."""
    at: Queue | None = queue
    while at is not None and QUOTA_DELAY not in at.settings:
        at = at.parent
    return at is not None and at.settings[QUOTA_DELAY] != NO_DELAY
