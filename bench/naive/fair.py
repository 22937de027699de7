"""Fair sharing: take from whoever has the largest share, as long as the preemptor's own stays below it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from bench.naive.candidates import FAIR, RECLAIM, WITHIN, Preemptor, eligible, fill_back, order
from bench.naive.quota import FlavorResource, Node, Tree, Workload
from bench.naive.shares import share_of
from bench.naive.tournament import Tournament

Contested = Collection[FlavorResource]
FINAL_SHARE = "LessThanOrEqualToFinalShare"
INITIAL_SHARE = "LessThanInitialShare"


def search(
    tree: Tree,
    preemptor: Preemptor,
    contested: Contested,
    strategies: Sequence[str] = (FINAL_SHARE, INITIAL_SHARE),
) -> dict[str, str] | None:
    """The victims, each with its reason, or None if the rules let no set of candidates make the preemptor fit."""
    if not preemptor.preempts:
        return None
    queue = tree.nodes[preemptor.queue]
    candidates = sorted(collect(queue, preemptor, contested), key=order(queue.name))
    if not candidates:
        return None
    return Search(tree, queue, preemptor, contested).run(candidates, strategies)


def collect(queue: Node, preemptor: Preemptor, contested: Contested) -> Iterator[Workload]:
    """Own candidates, and those of every queue of the tree that is above its nominal quota in something contested."""
    yield from eligible(queue, queue.policy.within, preemptor, contested)
    if queue.policy.reclaim != "Never":
        for other in queue.root().queues():
            if other is not queue and not other.within_nominal(contested):
                yield from eligible(other, queue.policy.reclaim, preemptor, contested)


class Search:
    """One search; the preemptor counts as usage of its queue while it lasts."""

    def __init__(self, tree: Tree, queue: Node, preemptor: Preemptor, contested: Contested) -> None:
        self.tree = tree
        self.queue = queue
        self.preemptor = preemptor
        self.contested = contested
        self.reasons: dict[str, str] = {}
        self.targets: list[Workload] = []
        self.retry: list[Workload] = []

    def run(self, candidates: Sequence[Workload], strategies: Sequence[str]) -> dict[str, str] | None:
        self.tree.use(self.queue, self.preemptor.requests)
        enough = self.first_pass(candidates, strategies[0])
        if not enough and len(strategies) > 1:
            enough = self.second_pass()
        self.tree.unuse(self.queue, self.preemptor.requests)
        if enough:
            self.targets = fill_back(self.tree, self.targets, self.fits)
        for victim in self.targets:
            self.tree.hold(victim)
        return {victim.name: self.reasons[victim.name] for victim in self.targets} if enough else None

    def first_pass(self, candidates: Sequence[Workload], strategy: str) -> bool:
        tournament = Tournament(self.queue, candidates)
        in_nominal = self.queue.within_nominal(self.contested)
        while (target := tournament.next()) is not None:
            if target is self.queue:
                victim, reason = tournament.pop(target), WITHIN
            elif in_nominal:
                victim, reason = tournament.pop(target), RECLAIM
            else:
                fair = self.fair_victim(tournament, target, strategy)
                if fair is None:
                    continue
                victim, reason = fair, FAIR
            if self.take(victim, reason):
                return True
        return False

    def fair_victim(self, tournament: Tournament, target: Node, strategy: str) -> Workload | None:
        """The first candidate of the target that passes the strategy; those before it are for the second pass."""
        mine, theirs = below_common_ancestor(self.queue, target)
        mine_new, theirs_old = share_of(mine), share_of(theirs)
        hopeless = mine_new.infinite and not theirs_old.infinite
        while tournament.left(target):
            candidate = tournament.pop(target)
            if not hopeless:
                if strategy == INITIAL_SHARE:
                    passes = mine_new.key < theirs_old.key
                else:
                    self.tree.release(candidate)
                    passes = mine_new.key <= share_of(theirs).key
                    self.tree.hold(candidate)
                if passes:
                    return candidate
            self.retry.append(candidate)
        return None

    def second_pass(self) -> bool:
        """At most one more victim from each queue, while the preemptor's share is below the queue's present one."""
        tournament = Tournament(self.queue, self.retry)
        while (target := tournament.next()) is not None:
            mine, theirs = below_common_ancestor(self.queue, target)
            candidate = tournament.pop(target)
            if share_of(mine).key < share_of(theirs).key and self.take(candidate, FAIR):
                return True
            tournament.drop(target)
        return False

    def take(self, victim: Workload, reason: str) -> bool:
        """Remove the victim; whether the preemptor now fits."""
        self.tree.release(victim)
        self.targets.append(victim)
        self.reasons[victim.name] = reason
        self.tree.unuse(self.queue, self.preemptor.requests)
        enough = self.fits()
        self.tree.use(self.queue, self.preemptor.requests)
        return enough

    def fits(self) -> bool:
        return self.queue.fits(self.preemptor.requests)


def below_common_ancestor(queue: Node, target: Node) -> tuple[Node, Node]:
    """The children of the lowest common cohort, on the side of the queue and on the side of the target."""
    children = {parent: child for child, parent in pairwise([queue, *queue.ancestors()])}
    for child, parent in pairwise([target, *target.ancestors()]):
        if parent in children:
            return children[parent], child
    raise ValueError(f"{queue.name} and {target.name} have no cohort in common")
