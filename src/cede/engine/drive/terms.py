"""The times and rules under which one workload is started, asked to go and queued again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from cede.model.cluster import ClusterFile
from cede.model.times import SECOND

Requeue = Literal["never", "on_node_failure", "always"]
RECLAIM = "reclaim"
"""Why a victim is taken whose nodes are lent, and wanted back by the queue they are at home in."""


@dataclass(frozen=True, slots=True)
class RunningCap:
    """The most workloads of one owner that may have room at once. `key` says where the number is written."""

    owner: Literal["user", "project"]
    most: int
    key: str


@dataclass(frozen=True, slots=True)
class Terms:
    """All times in microseconds. Whoever submits works them out from cluster, queue and workload."""

    checkpoint_timeout: int = 600 * SECOND
    timeout_extension: float = 0.5
    max_deferral: int = 300 * SECOND
    grace_period: int = 30 * SECOND
    reclaim_grace: int = 60 * SECOND
    """The least grace of one that stands on a node which its home queue takes back."""
    gone_within: int | None = None
    """From a hint to leave until it is killed, whatever it does; none: as long as the parts of the sequence take."""
    start_timeout: int = 60 * SECOND
    hold_timeout: int | None = None
    """How long room is held; none: as long as the sequence of its victims can take, and a minute."""
    requeue: Requeue = "on_node_failure"
    max_requeues: int = 3
    answers: bool = False
    """Whether something answers a hint: a protocol of the application, or a dump of its processes."""

    running: tuple[RunningCap, ...] = ()
    """What its owners may have running; who is one too many waits outside the line."""

    def grace(self, reason: str = "") -> int:
        """From SIGTERM to SIGKILL, of one that leaves for this reason."""
        return max(self.grace_period, self.reclaim_grace) if reason == RECLAIM else self.grace_period


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
