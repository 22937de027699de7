"""Who may be preempted by whom, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.naive.quota import Amounts, FlavorResource, Node, Tree, Workload

WITHIN = "InClusterQueue"
RECLAIM = "InCohortReclamation"
RECLAIM_BORROWING = "InCohortReclaimWhileBorrowing"
FAIR = "InCohortFairSharing"


@dataclass(frozen=True)
class Preemptor:
    """The pending workload for which room is made, with all that it requests of its queue."""

    queue: str
    requests: Amounts
    priority: int = 0
    queued_at: int = 0
    uid: str = ""
    preempts: bool = True


def allows(policy: str | None, preemptor: Preemptor, candidate: Workload) -> bool:
    """Whether a policy lets this preemptor take this candidate."""
    lower = candidate.priority < preemptor.priority
    match policy:
        case "Any":
            return True
        case "LowerPriority":
            return lower
        case "LowerOrNewerEqualPriority":
            newer = candidate.priority == preemptor.priority and preemptor.queued_at < candidate.queued_at
            return lower or newer
    return False


def eligible(
    node: Node, policy: str, preemptor: Preemptor, contested: Collection[FlavorResource]
) -> Iterator[Workload]:
    """The workloads of one queue that the policy allows and that hold something contested."""
    for workload in node.workloads.values():
        if (
            workload.preemptible
            and any(fr in workload.usage for fr in contested)
            and allows(policy, preemptor, workload)
        ):
            yield workload


def order(queue: str) -> Callable[[Workload], tuple[Any, ...]]:
    """The key by which candidates are sorted for a preemptor of this queue."""

    def key(workload: Workload) -> tuple[Any, ...]:
        own = workload.queue == queue
        return not workload.evicted, own, workload.priority, -workload.reserved_at, workload.uid, workload.name

    return key


def fill_back(tree: Tree, targets: Sequence[Workload], fits: Callable[[], bool]) -> list[Workload]:
    """Those of the removed targets that are needed; the others are put back, last taken first, never the last one."""
    needed = list(targets[-1:])
    for workload in reversed(targets[:-1]):
        tree.hold(workload)
        if not fits():
            tree.release(workload)
            needed.append(workload)
    return needed
