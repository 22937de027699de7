"""Which flavor each resource of a claimant gets: the first that is good enough, else the best seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cede.doctrines.kueue.node_room import Room
from cede.doctrines.kueue.preemption import find_victims, may_borrow_and_preempt
from cede.doctrines.kueue.quota import Asked, Group, Quotas, rounded_up
from cede.doctrines.kueue.search import OWN, Outcome, Targets
from cede.doctrines.kueue.settings import NEVER
from cede.doctrines.kueue.snapshot import Claimant, Snapshot
from cede.doctrines.kueue.usage import QuotaUsage, asked_of
from cede.doctrines.parts.claim import Claim
from cede.model.resources import split_flavor
from cede.model.workloads import PodSet
from cede.state.admission import admitted_parts

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
"""How good a flavor is, worst first."""

Chosen = dict[str, str]
"""Resource to flavor, of one pod set."""
Tried = dict[tuple[int, int], int]
"""The flavor last tried, by pod set and resource group; -1 once the last one was."""


class Verdict(NamedTuple):
    """One pair, or the worst of a group: how well it goes, how high it borrows, and why if it cannot go at all."""

    mode: int
    level: int = 0
    why: str = ""
    hopeless: bool = False
    nodes: bool = False


@dataclass(slots=True)
class Assignment:
    """Flavors and usage of a claimant at given counts. `contested` are the pairs that need preemption."""

    counts: tuple[int, ...]
    flavors: list[Chosen]
    asked: Asked = ()
    contested: list[int] = field(default_factory=list)
    lowest: int = 0
    levels: list[Callable[[], int]] = field(default_factory=list)
    mode: int = FIT
    whys: list[str] = field(default_factory=list)
    hopeless: bool = False
    never_on_nodes: bool = False
    undeclared: list[str] = field(default_factory=list)
    tried: Tried = field(default_factory=dict)
    lacking: Room | None = None
    room: Room | None = None
    steady: bool = False
    """Whether nodes that are empty have room for it, so that it is not refused for nodes, whatever runs."""
    claim: Claim | None = None
    """What it asks of nodes, where flavors leave no choice."""

    @property
    def level(self) -> int:
        """How high it borrows. What that is with victims gone is worked out on demand."""
        for later in self.levels:
            self.lowest = max(self.lowest, later())
        self.levels = []
        return self.lowest

    @property
    def stuck(self) -> bool:
        """Whether it counts as fitting though something it asks for is short.

        A preference for preemption ranks what fits by borrowing below what needs preemption, so that the worst of a
        group is a fit; and that is all that is remembered of the group.
        """
        return self.mode == FIT and bool(self.contested)

    @property
    def short_of_nodes(self) -> str:
        """What is missing on the nodes, in words; nothing if nothing is."""
        return "" if self.lacking is None else self.lacking.short()


class Assigner:
    """Finds flavors for one claimant in a snapshot; what a single pair would need is asked once."""

    def __init__(
        self,
        snapshot: Snapshot,
        claimant: Claimant,
        only: Sequence[Chosen] | None = None,
        tried: Tried | None = None,
        *,
        quota_only: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.claimant = claimant
        self.only = only
        self.tried = tried or {}
        self.quota_only = quota_only
        self.searched: dict[tuple[Asked, tuple[int, ...]], Outcome] = {}
        self._together: Room | None = None

    def assign(self, counts: tuple[int, ...]) -> Assignment:
        """Flavors for so many members of each pod set."""
        assignment = Assignment(counts, [])
        taken: dict[int, int] = {}
        contested: set[int] = set()
        needs_preemption = False
        for number, count in enumerate(counts):
            assignment.asked = asked_of(taken)  # if this pod set fails, those before it still count among the heads
            assignment.flavors.append({})
            slots, assignment.undeclared = self._slots(number, count)
            if assignment.undeclared:
                assignment.mode, assignment.hopeless = NO_FIT, True
                return assignment
            self._together = self._in_one_go(slots, count)
            assignment.claim = None if self._together is None else self._together.claim
            assignment.steady = self._together is not None or not self.snapshot.state.nodes.size
            for slot in slots:
                mode = self._one_group(slot, taken, contested, assignment)
                if mode == NO_FIT:
                    return assignment
                needs_preemption |= mode != FIT
        for part, chosen in zip(self.claimant.parts, assignment.flavors, strict=True):
            if len(chosen) < len(part.requests):
                _name_flavors_of_nothing(self.snapshot.quotas, self.claimant.queue, part, chosen)
        assignment.asked = asked_of(taken)
        assignment.contested = sorted(contested)
        assignment.mode = PREEMPT if needs_preemption else FIT
        self._on_nodes(assignment)
        return assignment

    def _slots(self, number: int, count: int) -> tuple[list[_Slot], list[str]]:
        """What so many members of a pod set want, group by group; and what the queue does not declare."""
        key = ("slots", number, count)
        known: tuple[list[_Slot], list[str]] | None = self.claimant.memo.get(key)
        if known is None:
            part = self.claimant.parts[number]
            requests, pins = _requests(part, count)
            slots: list[_Slot] = []
            declared: set[str] = set()
            for group_number, group in enumerate(self.snapshot.quotas.groups(self.claimant.queue)):
                declared.update(group.resources)
                wanted = {name: requests[name] for name in group.resources if name in requests}
                if wanted:
                    slots.append(_Slot(number, group_number, group, wanted, pins, part))
            known = self.claimant.memo[key] = (slots, sorted(requests.keys() - declared))
        return known

    def _one_group(self, slot: _Slot, taken: dict[int, int], contested: set[int], assignment: Assignment) -> int:
        """The mode of the group in the flavor it gets: the worst of its resources, as the queue ranks them."""
        best: tuple[Verdict, str, dict[int, Verdict]] | None = None
        flavors = slot.group.flavors
        start = self.tried.get((slot.part_number, slot.group_number), -1) + 1
        whys: list[str] = []
        hopeless = True
        last = start
        for at in range(start, len(flavors)):
            last = at
            if not self._open(slot, flavors[at]):
                continue
            verdicts, worst = self._flavor(slot, flavors[at], taken, assignment)
            if worst.why:
                whys.append(worst.why)
            hopeless &= worst.mode == NO_FIT and worst.hopeless
            assignment.never_on_nodes |= worst.nodes
            if best is None or self._better(worst, best[0]):
                best = (worst, flavors[at], verdicts)
            if not self._try_next(worst):
                best = (worst, flavors[at], verdicts)
                break
        assignment.tried[slot.part_number, slot.group_number] = -1 if last >= len(flavors) - 1 else last
        if best is None or best[0].mode == NO_FIT:
            assignment.mode, assignment.hopeless = NO_FIT, hopeless and start == 0
            assignment.whys = whys or [f"no flavor of {', '.join(slot.wanted)} is open to it"]
            return NO_FIT
        worst, flavor, verdicts = best
        assignment.flavors[slot.part_number].update(dict.fromkeys(slot.wanted, flavor))
        for name, nano in slot.wanted.items():
            pair = self.snapshot.quotas.index[name, flavor]
            taken[pair] = taken.get(pair, 0) + self.snapshot.quotas.count(pair, nano)
            assignment.lowest = max(assignment.lowest, verdicts[pair].level)
            if verdicts[pair].mode != FIT:
                contested.add(pair)
        return worst.mode

    def _open(self, slot: _Slot, flavor: str) -> bool:
        if not slot.pins and self.only is None:
            return True
        pinned = {slot.pins[name] for name in slot.wanted if name in slot.pins}
        if pinned - {flavor}:
            return False
        before = None if self.only is None else self.only[slot.part_number]
        return before is None or all(before.get(name) in (None, flavor) for name in slot.wanted)

    def _flavor(
        self, slot: _Slot, flavor: str, taken: Mapping[int, int], assignment: Assignment
    ) -> tuple[dict[int, Verdict], Verdict]:
        """The verdict on each resource of the group in this flavor, and the worst of them."""
        quotas = self.snapshot.quotas
        verdicts: dict[int, Verdict] = {}
        worst = Verdict(FIT)
        for name in sorted(slot.wanted):
            pair = quotas.index[name, flavor]
            verdict = self._pair(pair, quotas.count(pair, slot.wanted[name]) + taken.get(pair, 0), assignment)
            verdicts[pair] = verdict
            if self._better(worst, verdict):
                worst = verdict
            if verdict.mode == NO_FIT:
                return verdicts, verdict
        if self.snapshot.state.nodes.size and not self.quota_only and self._together is None:
            return self._placed(slot, flavor, taken, assignment, verdicts, worst)
        return verdicts, worst

    def _pair(self, pair: int, amount: int, assignment: Assignment) -> Verdict:
        """What quota says of so much of one pair."""
        snapshot, queue = self.snapshot, self.claimant.queue
        quotas, quota_usage = snapshot.quotas, snapshot.quota_usage
        if amount > quotas.potential[pair][queue]:
            most = quotas.show(pair, quotas.potential[pair][queue])
            why = f"{self._shown(pair, amount)}, {most} is the most {quotas.names[queue]} can ever have"
            return Verdict(NO_FIT, why=why, hopeless=True)
        level, may_reclaim = quota_usage.level(pair, queue, amount)
        free = quota_usage.available(pair, queue)
        if amount <= free:
            return Verdict(FIT, level)
        nominal = quotas.subtree[pair][queue]
        if not (amount <= nominal or may_reclaim or may_borrow_and_preempt(snapshot, self.claimant)):
            why = f"{self._shown(pair, amount)}, {quotas.show(pair, free)} available"
            return Verdict(NO_FIT, level, f"{why}, quota {quotas.show(pair, nominal)}")
        if self._together is not None and snapshot.silent and not self.claimant.settings.preempt_first:
            # Without a choice of flavors it is all one whether quota alone could be had: it preempts or waits, and only
            # its turn among several heads depends on how high it would borrow then.
            if not level or self._borrows_anyway(pair, amount):
                return Verdict(PREEMPT, level)
            assignment.levels.append(lambda: self._with_victims(pair, amount, level).level)
            return Verdict(PREEMPT)
        return self._with_victims(pair, amount, level)

    def _borrows_anyway(self, pair: int, amount: int) -> bool:
        """Whether it borrows as high as it does now, whatever the victims are.

        In a tree of one cohort there is one level to borrow from. And if the queue still borrows with all candidates of
        its own gone, it borrows with any victims: what other queues give back does not change its own usage.
        """
        snapshot, claimant = self.snapshot, self.claimant
        quotas, queue = snapshot.quotas, claimant.queue
        if len(quotas.path[queue]) != 2 or not snapshot.followed:
            return False
        within = claimant.settings.within if claimant.preempts else NEVER
        given = snapshot.running.node_bounds.own(queue, within, claimant.priority).sums[pair]
        return snapshot.quota_usage.borrows(pair, queue, amount - given)

    def _with_victims(self, pair: int, amount: int, level: int) -> Verdict:
        """What quota says of so much of a pair of which so much is not available."""
        victims = self.search(((pair, amount),), [pair]).victims
        if not victims:
            return Verdict(NO_CANDIDATES, level)
        level = _without(self.snapshot, victims).level(pair, self.claimant.queue, amount)[0]
        own = any(victim.reason == OWN for victim in victims)
        return Verdict(PREEMPT if own else RECLAIM, level)

    def _shown(self, pair: int, amount: int) -> str:
        return f"{self.snapshot.quotas.name(pair)}: {self.snapshot.quotas.show(pair, amount)} asked"

    def search(self, asked: Asked, contested: list[int], room: Room | None = None) -> Outcome:
        """Victims for this; asked again only where nodes are in it."""
        key = (asked, tuple(contested))
        if room is not None:
            return find_victims(self.snapshot, self.claimant, asked, contested, room)
        if key not in self.searched:
            self.searched[key] = find_victims(self.snapshot, self.claimant, asked, contested)
        return self.searched[key]

    def _better(self, one: Verdict, other: Verdict) -> bool:
        """Whether the first verdict is to be preferred to the second."""
        if NO_FIT in (one.mode, other.mode):
            return one.mode != NO_FIT
        if (one.mode == NO_CANDIDATES) != (other.mode == NO_CANDIDATES):
            return other.mode == NO_CANDIDATES
        if self.claimant.settings.preempt_first:
            return (-one.level, one.mode) > (-other.level, other.mode)
        return (one.mode, -one.level) > (other.mode, -other.level)

    def _try_next(self, worst: Verdict) -> bool:
        settings = self.claimant.settings
        if worst.mode in (NO_FIT, NO_CANDIDATES):
            return True
        return (worst.mode in (PREEMPT, RECLAIM) and settings.preempt_next) or (
            worst.level > 0 and settings.borrow_next
        )

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _in_one_go(self, slots: list[_Slot], count: int) -> Room | None:
        """The room for all of it, if nodes need not be looked at group by group: that look says all there is to say.

        So it is where there is no choice of flavors: what has room for everything has room for a part of it, and
        where everything has none, everything is contested. What never has room is told of the part that has none.
        """
        claimant, snapshot = self.claimant, self.snapshot
        if self.quota_only or not snapshot.state.nodes.size or len(claimant.parts) != 1:
            return None
        key = ("one flavor", count)
        if key not in claimant.memo:
            parts: tuple[PodSet, ...] | None = None
            if all(len(slot.group.flavors) == 1 for slot in slots):
                chosen: Chosen = {name: slot.group.flavors[0] for slot in slots for name in slot.wanted}
                parts = parts_of(snapshot, claimant, Assignment((count,), [chosen]))
            claimant.memo[key] = parts
        parts = claimant.memo[key]
        if parts is None:
            return None
        room = self._room(parts)
        if not room.grows_with_room or (not room.fits() and self._never(room, count)):
            return None
        return room

    def _never(self, room: Room, count: int) -> bool:
        """Whether empty nodes have no room for so many; told once of all that are alike."""
        key = ("never", count)
        if self.snapshot.state.reservations:
            return room.never() is not None
        never: bool | None = self.claimant.memo.get(key)
        if never is None:
            never = self.claimant.memo[key] = room.never() is not None
        return never

    def _placed(
        self,
        slot: _Slot,
        flavor: str,
        taken: Mapping[int, int],
        assignment: Assignment,
        verdicts: dict[int, Verdict],
        worst: Verdict,
    ) -> tuple[dict[int, Verdict], Verdict]:
        """The verdicts once the pod sets up to this one must also find nodes together that offer their flavors."""
        state, row = self.snapshot.state, self.claimant.row
        so_far = self.claimant.parts[: slot.part_number + 1]
        flavors = {part.name: dict(chosen) for part, chosen in zip(so_far, assignment.flavors, strict=True)}
        flavors[slot.part.name] |= dict.fromkeys(slot.wanted, flavor)
        counts = {part.name: count for part, count in zip(so_far, assignment.counts, strict=False)}
        parts = admitted_parts(state, row, flavors, counts, self.claimant.parts) or self.claimant.parts
        room = self._room(parts[: len(so_far)])
        never = room.never()
        if never is not None:
            why = f"flavor {flavor}: no node could hold it even if empty, {never}"
            return verdicts, Verdict(NO_FIT, worst.level, why, hopeless=True, nodes=True)
        fits = room.fits()
        if worst.mode == NO_CANDIDATES or (worst.mode == FIT and fits):
            return verdicts, worst
        total = dict(taken)
        for pair in verdicts:
            wanted = slot.wanted[self.snapshot.quotas.pairs[pair][0]]
            total[pair] = total.get(pair, 0) + self.snapshot.quotas.count(pair, wanted)
        contested = sorted(pair for pair, verdict in verdicts.items() if not fits or verdict.mode != FIT)
        victims = self.search(asked_of(total), contested, room.copy()).victims
        own = any(victim.reason == OWN for victim in victims)
        mode = (PREEMPT if own else RECLAIM) if victims else NO_CANDIDATES
        levels = {pair: Verdict(mode, verdicts[pair].level) for pair in contested}
        return verdicts | levels, Verdict(mode, worst.level)

    def _on_nodes(self, assignment: Assignment) -> None:
        """Whether all members find room together; if not, everything it asks for is contested."""
        assignment.room = self.room(assignment) if self._together is None else self._together
        if assignment.room is None or assignment.room.fits():
            return
        never = None if self._together is not None else assignment.room.never()
        if never is not None:
            assignment.mode, assignment.hopeless, assignment.never_on_nodes = NO_FIT, True, True
            assignment.whys = [f"all members together, {never}"]
            return
        assignment.lacking = assignment.room
        assignment.mode = PREEMPT
        assignment.contested = [pair for pair, _ in assignment.asked]

    def room(self, assignment: Assignment) -> Room | None:
        """The nodes as they stand, for the members as assigned."""
        state = self.snapshot.state
        if self.quota_only or not state.nodes.size:
            return None
        return self._room(parts_of(self.snapshot, self.claimant, assignment))

    def _room(self, parts: tuple[PodSet, ...]) -> Room:
        """The nodes as they stand for these members, to be asked and not changed."""
        key = tuple((part.count, tuple(part.requests.items())) for part in parts)
        memo = {} if self.snapshot.state.reservations else self.claimant.memo
        claim: Claim | None = memo.get(key)
        if claim is None:
            claim = memo[key] = self.snapshot.claim(self.claimant.row, parts, key)
        return self.snapshot.room(claim)


def _without(snapshot: Snapshot, victims: Targets) -> QuotaUsage:
    """The usage with these gone."""
    freed: dict[tuple[int, int, int], int] = {}
    for victim in victims:
        code = snapshot.code(victim.row)
        for pair, amount in victim.amounts:
            key = (pair, victim.queue, code)
            freed[key] = freed.get(key, 0) + amount
    after = snapshot.quota_usage.copy()
    for (pair, queue, code), amount in freed.items():
        after.remove(pair, queue, amount, code)
    return after


@dataclass(frozen=True, slots=True)
class _Slot:
    """One resource group of one pod set: what it wants, in nano-units, and the flavors it names itself."""

    part_number: int
    group_number: int
    group: Group
    wanted: dict[str, int]
    pins: dict[str, str]
    part: PodSet


def _requests(part: PodSet, count: int) -> tuple[dict[str, int], dict[str, str]]:
    """What all members of a pod set ask for by resource, each rounded up, and the flavors they name.

    A request for nothing is none.
    """
    total: dict[str, int] = {}
    pins: dict[str, str] = {}
    for name, nano in part.requests.items():
        resource, flavor = split_flavor(name)
        if nano * count:
            total[resource] = total.get(resource, 0) + rounded_up(resource, nano) * count
            if flavor is not None:
                pins[resource] = flavor
    return total, pins


def _name_flavors_of_nothing(quotas: Quotas, queue: int, part: PodSet, chosen: Chosen) -> None:
    """What is asked for in the amount of nothing has a flavor too: that of its group, or the group's first.

    A flavor that the request names itself stays, as everywhere; one without any of the resource in the file is none.
    """
    given, pins = dict(chosen), dict(split_flavor(name) for name in sorted(part.requests))
    for resource in pins.keys() - given.keys():
        group = next((group for group in quotas.groups(queue) if resource in group.resources), None)
        if group is not None:
            others = [given[other] for other in group.resources if other in given]
            known = [name for name in (*others, *group.flavors) if quotas.knows(resource, name)]
            flavor = pins[resource] or next(iter(known), None)
            chosen |= {} if flavor is None else {resource: flavor}


def flavors_by_part(claimant: Claimant, assignment: Assignment) -> dict[str, Chosen] | Chosen:
    """As a plan shows them: resource to flavor, or that for each pod set where pod sets differ."""
    first: Chosen = {}
    for chosen in assignment.flavors:
        for name, flavor in chosen.items():
            if first.setdefault(name, flavor) != flavor:
                return {part.name: own for part, own in zip(claimant.parts, assignment.flavors, strict=True)}
    return first


def counts_by_part(claimant: Claimant, assignment: Assignment) -> dict[str, int]:
    """The pod sets' sizes where fewer members are admitted than asked for."""
    parts = zip(claimant.parts, assignment.counts, strict=True)
    return {part.name: count for part, count in parts if count < part.count}


def parts_of(snapshot: Snapshot, claimant: Claimant, assignment: Assignment) -> tuple[PodSet, ...]:
    """The members as they will stand on nodes and count against quota."""
    chosen = tuple(tuple(flavors.items()) for flavors in assignment.flavors)
    key = ("parts", assignment.counts, chosen)
    known: tuple[PodSet, ...] | None = claimant.memo.get(key)
    if known is None:
        flavors, counts = flavors_by_part(claimant, assignment), counts_by_part(claimant, assignment)
        parts = admitted_parts(snapshot.state, claimant.row, flavors, counts, claimant.parts)
        known = claimant.memo[key] = claimant.parts if parts is None else parts
    return known
