"""Classical preemption: own, hierarchical and priority candidates, with and without borrowing, the first fit wins."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bench.naive.candidates import (
    RECLAIM,
    RECLAIM_BORROWING,
    WITHIN,
    Preemptor,
    eligible,
    fill_back,
    order,
)
from bench.naive.quota import FlavorResource, Node, Tree, Workload

Contested = Collection[FlavorResource]


@dataclass(frozen=True)
class Candidate:
    """A workload, the cohort it shares with the preemptor if it is foreign, and what taking it is called."""

    workload: Workload
    ancestor: Node | None
    reason: str
    while_borrowing: bool


@dataclass(frozen=True)
class Lists:
    own: list[Candidate]
    hierarchy: list[Candidate]
    priority: list[Candidate]

    def in_order(self, queue: str) -> list[Candidate]:
        key = order(queue)
        lists = [
            sorted(some, key=lambda candidate: key(candidate.workload))
            for some in (self.hierarchy, self.priority, self.own)
        ]
        leaving = [one for some in lists for one in some if one.workload.evicted]
        return leaving + [one for some in lists for one in some if not one.workload.evicted]


def search(tree: Tree, preemptor: Preemptor, contested: Contested) -> dict[str, str] | None:
    """The victims, each with its reason, or None if no set of candidates makes the preemptor fit."""
    if not preemptor.preempts:
        return None
    queue = tree.nodes[preemptor.queue]
    lists = collect(queue, preemptor, contested)
    candidates = lists.in_order(queue.name)
    for borrowing in attempts(queue, lists, contested):
        victims = attempt(tree, queue, preemptor, contested, candidates, borrowing=borrowing)
        if victims is not None:
            return victims
    return None


def collect(queue: Node, preemptor: Preemptor, contested: Contested) -> Lists:
    """Every candidate; a foreign one stands in `hierarchy` if the request fits a subtree that leaves it out."""
    policy, requests = queue.policy, preemptor.requests
    own = [Candidate(found, None, WITHIN, True) for found in eligible(queue, policy.within, preemptor, contested)]
    lists = Lists(own, [], [])
    if policy.reclaim == "Never":
        return lists
    advantage = all(queue.usage(fr) + amount <= queue.quota(fr) for fr, amount in requests.items())
    rest = {fr: max(0, amount - queue.local_available(fr)) for fr, amount in requests.items()}
    handled = queue
    for ancestor in queue.ancestors():
        for other in _exceeding(ancestor, handled, contested):
            for workload in eligible(other, policy.reclaim, preemptor, contested):
                if advantage:
                    lists.hierarchy.append(Candidate(workload, ancestor, RECLAIM, True))
                elif _above_threshold(queue, preemptor, workload):
                    lists.priority.append(Candidate(workload, ancestor, RECLAIM, False))
                else:
                    lists.priority.append(Candidate(workload, ancestor, RECLAIM_BORROWING, True))
        fits = all(ancestor.usage(fr) + amount <= ancestor.quota(fr) for fr, amount in rest.items())
        rest = {fr: max(0, amount - ancestor.local_available(fr)) for fr, amount in rest.items()}
        advantage = advantage or fits
        handled = ancestor
    return lists


def _exceeding(cohort: Node, handled: Node, contested: Contested) -> Iterator[Node]:
    """The queues below that exceed their quota, in child cohorts that do, too."""
    for child in cohort.children:
        if child is handled or child.within_nominal(contested):
            continue
        if child.children:
            yield from _exceeding(child, handled, contested)
        else:
            yield child


def _above_threshold(queue: Node, preemptor: Preemptor, candidate: Workload) -> bool:
    """Whether the candidate may be taken only if the preemptor ends up without borrowing."""
    policy = queue.policy
    return (
        policy.borrowing == "Never"
        or candidate.priority >= preemptor.priority
        or (policy.threshold is not None and candidate.priority > policy.threshold)
    )


def attempts(queue: Node, lists: Lists, contested: Contested) -> list[bool]:
    """Whether borrowing is allowed, attempt by attempt."""
    forbidden = queue.policy.borrowing == "Never"
    under = all(queue.quota(fr) > queue.usage(fr) for fr in contested)
    if not (lists.hierarchy or lists.priority) or (forbidden and not under):
        return [True]
    if forbidden and not lists.hierarchy:
        return [False, True]
    return [True, False]


def attempt(
    tree: Tree, queue: Node, preemptor: Preemptor, contested: Contested, candidates: list[Candidate], *, borrowing: bool
) -> dict[str, str] | None:
    """The victims of one walk along the candidates; the tree is afterwards as it was."""
    reasons: dict[str, str] = {}
    targets: list[Workload] = []
    found = None

    def fits() -> bool:
        return queue.fits(preemptor.requests, borrowing=borrowing)

    for candidate in candidates:
        if not _usable(tree, candidate, contested, borrowing=borrowing):
            continue
        tree.release(candidate.workload)
        targets.append(candidate.workload)
        reasons[candidate.workload.name] = candidate.reason
        if fits():
            targets = fill_back(tree, targets, fits)
            found = {victim.name: reasons[victim.name] for victim in targets}
            break
    for victim in targets:
        tree.hold(victim)
    return found


def _usable(tree: Tree, candidate: Candidate, contested: Contested, *, borrowing: bool) -> bool:
    """Own ones always are; foreign ones while they and the cohorts up to the common one exceed their quota."""
    if candidate.ancestor is None:
        return True
    if borrowing and not candidate.while_borrowing:
        return False
    node = tree.nodes[candidate.workload.queue]
    while node is not candidate.ancestor:
        if node.within_nominal(contested) or node.parent is None:
            return False
        node = node.parent
    return True
