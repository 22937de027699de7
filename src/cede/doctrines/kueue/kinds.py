"""Waiting workloads that are alike: what one of them is told, all of them are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any, NamedTuple

from cede.doctrines.kueue.node_bounds import Bounds, Claims, MemberCounts
from cede.doctrines.kueue.quota import Asked, Quotas, rounded_up
from cede.doctrines.kueue.settings import LOWER_OR_NEWER, Settings
from cede.doctrines.parts.claim import Claim
from cede.model.plan import Decision
from cede.model.resources import split_flavor
from cede.model.workloads import PodSet

NOT_READ = frozenset({"app", "originator", "sensitive", "job_priority", "domain"})
OWNERS = frozenset({"user", "project"})
"""Read for policies only."""
NOT_YET = -1
FIRST = -(1 << 63)
"""Earlier than every submission."""

LinePosition = tuple[bool, int, int, str, str, int]
"""Sorts like the line: first what waits for its victims, then by priority, submission, uid, name; last the row."""
Slot = tuple[Asked, ...]
"""What one resource group of one pod set asks for at least, in each of its flavors."""


class Need(NamedTuple):
    """What must be free of a pair in the tree, or else free or to be reclaimed there."""

    pair: int
    free: int
    most: int


@dataclass(eq=False, slots=True)
class Kind:
    """What is the same for all of a kind.

    `refusal`: it is refused before quota is looked at. `slots`: what it asks for at least; none where that alone does
    not tell that it has no way; `plain` is the same where there is no choice of flavors. `claims`: those with the same
    candidates; `group`: the kinds of those that wait. `asleep`: after so many changes of what runs it was found to have
    none, nor has any that came later than the `oldest`. `asked`: it was looked at before. `refused`: it never has a
    way; `steady`: whether that is so does not depend on what runs. `claim`: what it asks of nodes, where that is all
    alike; `members`: how many of its members may have room there, without and with what other queues give. `short`:
    what it could come to have is too little, for as long as none of that grows; `need`: of what, if that is quota.
    `memo`: what else follows from what it asks for.
    """

    queue: int
    priority: int
    preempts: bool
    parts: tuple[PodSet, ...]
    settings: Settings
    refusal: Decision | None
    slots: tuple[Slot, ...] | None
    claims: Claims = field(init=False)
    group: Group = field(init=False)
    plain: Asked | None = field(init=False)
    asleep: int = NOT_YET
    oldest: int = FIRST
    asked: bool = False
    steady: bool = False
    claim: Claim | None = None
    members: dict[bool, MemberCounts] = field(default_factory=dict)
    memo: dict[Hashable, Any] = field(default_factory=dict)
    refused: bool = False
    short: bool = False
    need: Need | None = None

    def __post_init__(self) -> None:
        self.claims = Claims(self.queue, self.priority, self.preempts)
        self.plain = None
        if self.slots is not None and all(len(slot) == 1 for slot in self.slots):
            self.plain = tuple(pair for slot in self.slots for pair in slot[0])

    @property
    def aged(self) -> bool:
        """Whether its age tells what it may take."""
        return LOWER_OR_NEWER in (self.settings.within, self.settings.reclaim)


class Group:
    """Kinds with the same `claims`, and so with the same candidates, each with those of it that wait; and the `pairs`
    that any of them asks for.

    `loose` are those to be looked at whenever something changed. The others are short of quota until their queue, which
    has `moved` so often, does so again, or its tree has what one of them `needs`; all are loose until it is `settled`.
    `short_at`: after so many changes of what runs that was so. `bounds`: what they could come to have, as long as it
    `follows`.
    """

    __slots__ = ("bounds", "claims", "kinds", "loose", "moved", "needs", "pairs", "settled", "short_at")

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.kinds: dict[Kind, list[LinePosition]] = {}
        self.pairs: list[int] = []
        self.settled = False
        self.moved = NOT_YET
        self.short_at = NOT_YET
        self.bounds: Bounds | None = None
        self.loose: list[Kind] = []
        self.needs: list[Need] = []

    def add(self, kind: Kind, places: list[LinePosition]) -> None:
        self.kinds[kind] = places
        kind.group = self
        self.settled = False
        for slot in kind.slots or ():
            for pair, _ in chain(*slot):
                if pair not in self.pairs:
                    self.pairs.append(pair)

    def remove(self, kind: Kind) -> None:
        del self.kinds[kind]
        self.settled = False

    def settle(self, moved: int) -> None:
        """All kinds were looked at, when their queue had moved so often."""
        needs: dict[int, tuple[int, int]] = {}
        self.loose = []
        for kind in self.kinds:
            if kind.need is None:
                self.loose.append(kind)
                continue
            pair, free, most = kind.need
            before = needs.get(pair, (free, most))
            needs[pair] = (min(free, before[0]), min(most, before[1]))
        self.needs = [Need(pair, *least) for pair, least in needs.items()]
        self.moved = moved
        self.short_at = NOT_YET
        self.settled = True


def slots_of(quotas: Quotas, queue: int, parts: tuple[PodSet, ...]) -> tuple[Slot, ...]:
    """What these members ask for at least, group by group, in whatever flavor; what no group has is left out."""
    slots: list[Slot] = []
    for part, group in product(parts, quotas.groups(queue)):
        count = part.count if part.min_count is None else part.min_count
        wanted: dict[str, int] = {}
        for name, nano in part.requests.items():
            resource, _ = split_flavor(name)
            if nano * count and resource in group.resources:
                wanted[resource] = wanted.get(resource, 0) + rounded_up(resource, nano) * count
        if wanted:
            pairs = [[quotas.index[name, flavor] for name in wanted] for flavor in group.flavors]
            slots.append(
                tuple(
                    tuple((pair, quotas.count(pair, nano)) for pair, nano in zip(row, wanted.values(), strict=True))
                    for row in pairs
                )
            )
    return tuple(slots)
