"""One search for victims: what classical preemption and fair sharing have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cede.doctrines.kueue.node_room import Room
from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.snapshot import Claimant, Snapshot
from cede.doctrines.kueue.usage import QuotaUsage
from cede.model.rules import Rule

OWN = "InClusterQueue"
RECLAIM = "InCohortReclamation"
BORROW = "InCohortReclaimWhileBorrowing"
FAIR = "InCohortFairSharing"
MOST = 1 << 62
"""More than any sum of quotas that is counted in 64 bits."""


@dataclass(slots=True)
class Notes:
    """Why each workload that was looked at was taken or left; only kept where it is asked for."""

    reasons: dict[int, tuple[Rule, Mapping[str, object]]] = field(default_factory=dict)

    def put(self, row: int, rule: Rule, **facts: object) -> None:
        self.reasons[row] = (rule, facts)

    def stays(self, row: int, rule: Rule, **facts: object) -> None:
        """One that was taken stays after all; what admitted it is told too."""
        before, known = self.reasons[row]
        self.put(row, rule, how=known["how"] if "how" in known else before.because(**known), **facts)


@dataclass(slots=True)
class Target:
    """A victim under consideration; `strategy` is the share rule that admitted it, if one did."""

    row: int
    queue: int
    reason: str
    amounts: Asked
    strategy: str | None = None


class Search:
    """A claimant, what it asks for, and its own copy of the usage to try things on."""

    def __init__(
        self,
        snapshot: Snapshot,
        claimant: Claimant,
        asked: Asked,
        contested: list[int],
        room: Room | None,
        notes: Notes | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.claimant = claimant
        self.asked = asked
        self.contested = contested
        self.room = room
        self.notes = notes
        self.quota_usage: QuotaUsage = snapshot.quota_usage.copy()
        self.pairs = tuple(pair for pair, _ in asked)
        self.tried: list[Target] = []
        """Targets of an attempt that failed, to be put back before the next one."""

    def restore(self) -> None:
        """Put back the targets of an attempt that failed."""
        for victim in reversed(self.tried):
            self.put_back(victim)
        self.tried = []

    @property
    def queue(self) -> int:
        return self.claimant.queue

    def fits(self, borrowing: bool = True) -> bool:
        """Whether the claimant has quota and, where there are nodes, a place."""
        return (self.room is None or self.room.fits()) and self.quota_usage.fits(self.queue, self.asked, borrowing)

    def take(self, victim: Target) -> None:
        self.quota_usage.remove_all(victim.queue, victim.amounts, self.snapshot.code(victim.row))
        if self.room is not None:
            self.room.take(victim.row)

    def put_back(self, victim: Target) -> None:
        self.quota_usage.add_all(victim.queue, victim.amounts, self.snapshot.code(victim.row))
        if self.room is not None:
            self.room.put_back(victim.row)

    def spare(self, taken: list[Target], borrowing: bool) -> list[Target]:
        """Put back, latest but the last first, targets that the claimant does not need; the last one always goes."""
        kept = [taken[-1]]
        for victim in reversed(taken[:-1]):
            self.put_back(victim)
            if not self.fits(borrowing):
                self.take(victim)
                kept.append(victim)
        return kept[::-1]


Targets = list[Target]
"""Victims in the order of taking."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found; no victims means that there is no way.

    `breach` says which share rule the victims break now that others were spared. They are `unlawful` victims, and
    not victims, where that is checked. `within_quota`: the claimant's queue had to end within its quota.
    """

    victims: Targets
    breach: str = ""
    unlawful: Targets = field(default_factory=list)
    within_quota: bool = False


NO_VICTIMS = Outcome([])


def sums_are_enough(search: Search) -> bool:
    """Whether what the claimant can take is what the root has left; never where nodes count, or usage overlaps."""
    if search.room is not None or search.quota_usage.moments is not None:
        return False
    quotas = search.snapshot.quotas
    path = quotas.path[search.queue]
    return all(
        _sums_up(quotas, pair, path[-1]) and all(quotas.borrowing[pair][node] is None for node in path)
        for pair in search.pairs
    )


def _sums_up(quotas: Quotas, pair: int, root: int) -> bool:
    """No queue of the tree keeps anything of this to itself, and it is counted in one column within 64 bits."""
    key = f"sums up {pair} {root}"
    answer = quotas.kept.get(key)
    if answer is None:
        tree = [node for node in range(quotas.size) if quotas.root[node] == root]
        answer = quotas.kept[key] = (
            all(quotas.lending[pair][node] is None for node in tree)
            and all(factor == 1 for _, factor in quotas.columns[pair])
            and sum(quotas.subtree[pair][node] for node in tree) < MOST
        )
    return bool(answer)


def spared_by_sums(search: Search, taken: Targets) -> Targets:
    """As `spare`, from sums; borrowing is allowed.

    Where sums are enough the claimant fits as long as the root keeps its quota, so a victim may stay if what it holds
    fits in the slack there.
    """
    quotas, used = search.snapshot.quotas, search.quota_usage.used
    root = quotas.root[search.queue]
    slack = {pair: quotas.subtree[pair][root] - used[pair][root] - amount for pair, amount in search.asked if amount}
    kept = [taken[-1]]
    for victim in reversed(taken[:-1]):
        for pair, amount in victim.amounts:
            if pair in slack and amount > slack[pair]:
                kept.append(victim)
                break
        else:
            for pair, amount in victim.amounts:
                if pair in slack:
                    slack[pair] -= amount
    return kept[::-1]


def usage_words(search: Search, queue: int) -> str:
    """What a queue holds of the contested pairs beside its quota: as it stands, and at this point of the search."""
    quotas, before, now = search.snapshot.quotas, search.snapshot.quota_usage.used, search.quota_usage.used
    return ", ".join(
        f"{quotas.show(pair, before[pair][queue])} of {quotas.show(pair, quotas.subtree[pair][queue])} "
        f"{quotas.name(pair)}"
        + (f" ({quotas.show(pair, now[pair][queue])} at its turn)" if now[pair][queue] != before[pair][queue] else "")
        for pair in search.contested
    )
