"""Waiting workloads that are alike: what one of them is told, all of them are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from cede.doctrines.kueue.hosts import Claims, Members
from cede.doctrines.kueue.quota import Asked, Quotas, rounded_up
from cede.doctrines.kueue.settings import LOWER_OR_NEWER, Settings
from cede.doctrines.parts.claim import Claim
from cede.model.plan import Decision
from cede.model.resources import split_flavor
from cede.model.workloads import PodSet

NOT_READ = ("app", "originator", "sensitive", "job_priority", "domain")
OWNERS = ("user", "project")
"""Read for policies only."""
NOT_YET = -1
FIRST = -(1 << 63)
"""Earlier than every submission."""

Slot = tuple[Asked, ...]
"""What one resource group of one pod set asks for at least, in each of its flavors."""


@dataclass(eq=False, slots=True)
class Kind:
    """What is the same for all of a kind.

    `refusal`: it is refused before anybody looks at quota. `slots`: what it asks for at least; none where that alone
    does not tell that it has no way; `plain` is the same where there is no choice of flavors. `claims`: those with the
    same candidates. `asleep`: after so many changes of what runs it was found to have none, and nobody
    has who came later than the `oldest`. `asked`: somebody looked at it before. `refused`: it never has a way;
    `steady`: whether that is so does not depend on what runs. `claim`: what it asks of nodes, where that is all alike;
    `members`: how many of its members may have room there, without and with what other queues give. `short_of`: the
    bounds, by their version, that are too low for it. `memo`: what else follows from what it asks for.
    """

    number: int
    queue: int
    priority: int
    preempts: bool
    parts: tuple[PodSet, ...]
    settings: Settings
    refusal: Decision | None
    slots: tuple[Slot, ...] | None
    claims: Claims = field(init=False)
    plain: Asked | None = field(init=False)
    asleep: int = NOT_YET
    oldest: int = FIRST
    asked: bool = False
    steady: bool = False
    claim: Claim | None = None
    members: dict[bool, Members] = field(default_factory=dict)
    memo: dict[Hashable, Any] = field(default_factory=dict)
    refused: bool = False
    short_of: int = NOT_YET

    def __post_init__(self) -> None:
        self.claims = Claims(self.queue, self.priority, self.preempts)
        self.plain = None
        if self.slots is not None and all(len(slot) == 1 for slot in self.slots):
            self.plain = tuple(pair for slot in self.slots for pair in slot[0])

    @property
    def aged(self) -> bool:
        """Whether its age tells whom it may take."""
        return LOWER_OR_NEWER in (self.settings.within, self.settings.reclaim)


def slots_of(quotas: Quotas, queue: int, parts: tuple[PodSet, ...]) -> tuple[Slot, ...]:
    """What these members ask for at least, group by group, in whatever flavor; what no group has is left out."""
    found: list[Slot] = []
    for part, group in product(parts, quotas.groups(queue)):
        count = part.count if part.min_count is None else part.min_count
        wanted: dict[str, int] = {}
        for name, nano in part.requests.items():
            resource, _ = split_flavor(name)
            if nano * count and resource in group.resources:
                wanted[resource] = wanted.get(resource, 0) + rounded_up(resource, nano) * count
        if wanted:
            pairs = [[quotas.index[name, flavor] for name in wanted] for flavor in group.flavors]
            found.append(
                tuple(
                    tuple((pair, quotas.count(pair, nano)) for pair, nano in zip(row, wanted.values(), strict=True))
                    for row in pairs
                )
            )
    return tuple(found)
