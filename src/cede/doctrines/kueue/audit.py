"""A plain account of quotas for checking: the definitions as they stand, worked out for what is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from cede.model.plan import REQUEUED, Decision
from cede.model.resources import split_flavor
from cede.state.admission import admitted_parts, asks_of, plain_key, standing_ask
from cede.state.amounts import sizes_of
from cede.state.columns import PREEMPTING, RESERVED, STATES, SUSPENDED, Bools
from cede.state.state import State

Pair = tuple[str, str]
Amounts = dict[Pair, int]
BEFORE, AFTER = "before", "after"
WHEN = (BEFORE, AFTER)
MOMENTS = {"preempting": (BEFORE,), "reserved": (AFTER,)}
"""When work in such a state is there; all other is at both."""


class _QueueEntries:
    """What the file says of the queues; made anew after it changed."""

    def __init__(self, state: State) -> None:
        names = state.tree.names
        above = {name: int(state.tree.parent[row]) for name, row in state.tree.index.items()}
        self.parent = {name: None if row < 0 else names[row] for name, row in above.items()}
        self.children: dict[str, list[str]] = {name: [] for name in self.parent}
        for name, parent in self.parent.items():
            if parent is not None:
                self.children[parent].append(name)
        documents = {name: state.tree.documents[row] for name, row in state.tree.index.items()}
        self.weight = {
            name: Fraction(1) if document is None or document.weight is None else Fraction(str(document.weight))
            for name, document in documents.items()
        }
        self.limits = {
            kind: {name: by_pair(getattr(document, kind, None) or {}) for name, document in documents.items()}
            for kind in ("guaranteed", "borrowing_limit", "lending_limit")
        }
        self.groups = {
            name: {
                (resource, flavor)
                for group in getattr(document, "resource_groups", None) or ()
                for resource in group.resources
                for flavor in group.flavors
            }
            for name, document in documents.items()
        }
        self.path: dict[str, tuple[str, ...]] = {}
        for name in self.parent:
            path = [name]
            while (parent := self.parent[path[-1]]) is not None:
                path.append(parent)
            self.path[name] = tuple(path)
        self._quota: dict[tuple[str, Pair], int] = {}
        self._local: dict[tuple[str, Pair], int] = {}
        self._lends_all: dict[tuple[str, Pair], bool] = {}

    def quota(self, node: str, pair: Pair) -> int:
        """What it is promised, with what its children lend."""
        quota = self._quota.get((node, pair))
        if quota is None:
            lent = (self.quota(child, pair) - self.local(child, pair) for child in self.children[node])
            quota = _sum(pair, [self.limits["guaranteed"][node].get(pair, 0), *lent])
            self._quota[node, pair] = quota
        return quota

    def local(self, node: str, pair: Pair) -> int:
        """What the node keeps to itself: of an unlimited quota nothing, if that may all be lent, or else all."""
        local = self._local.get((node, pair))
        if local is None:
            lending = self.limits["lending_limit"][node].get(pair)
            quota = self.quota(node, pair)
            if quota >= unlimited(pair):
                local = 0 if lending is None or lending >= unlimited(pair) else quota
            else:
                local = 0 if lending is None else max(0, quota - lending)
            self._local[node, pair] = local
        return local

    def lends_all(self, node: str, pair: Pair) -> bool:
        """Whether no child keeps anything to itself, so that all that is held below counts."""
        all_lent = self._lends_all.get((node, pair))
        if all_lent is None:
            all_lent = all(not self.local(child, pair) and self.lends_all(child, pair) for child in self.children[node])
            self._lends_all[node, pair] = all_lent
        return all_lent


UsageByMoment = dict[str, Amounts]
"""What work holds, `BEFORE` and `AFTER`."""


class InitialUsage(Protocol):
    """What work held to begin with."""

    def of(self, queue: str, children: list[str]) -> UsageByMoment:
        """That of the queue itself."""

    def below(self, queue: str) -> UsageByMoment | None:
        """That of the queue and of all below it; none where that is not one sum."""


class Account:
    """The queues as the file lists them, and what each holds itself; everything else is worked out when asked.

    Amounts are nano-units. What a queue holds is told twice: `BEFORE` what is preempting has left and what is reserved
    has come, and `AFTER` that. The one makes way for the other, so that what is used is the larger. What a queue held
    to begin with is `counted` on demand.
    """

    def __init__(self, state: State, counted: InitialUsage) -> None:
        entries = state.tree.derived.get("kueue account")
        if not isinstance(entries, _QueueEntries):
            entries = state.tree.derived["kueue account"] = _QueueEntries(state)
        self.entries = entries
        self.parent, self.children = entries.parent, entries.children
        self.weight, self.limits, self.groups = entries.weight, entries.limits, entries.groups
        self.quota, self.local, self.path = entries.quota, entries.local, entries.path
        self._moments = WHEN if state.between else WHEN[:1]  # the two are one where nothing makes way for anything
        self._counted = counted
        self._began: dict[str, UsageByMoment] = {}
        self._below: dict[str, UsageByMoment | None] = {}
        self._moved: dict[str, UsageByMoment] = {}

    def at_first(self) -> Account:
        """The same before anything moved, to go on from there by itself."""
        account = copy(self)
        account._moved = {}
        return account

    def move(self, queue: str, amounts: Mapping[Pair, int], sign: int = 1, word: str = "running") -> None:
        """Work of this queue, in this state, takes so much or gives it back."""
        held = self._moved.setdefault(queue, {BEFORE: {}, AFTER: {}})
        for when in MOMENTS.get(word, WHEN):
            own = held[when]
            for pair, amount in amounts.items():
                own[pair] = own.get(pair, 0) + sign * amount

    def own(self, when: str, queue: str, pair: Pair) -> int:
        """What the queue's own work holds."""
        began = self._began.get(queue)
        if began is None:
            began = self._began[queue] = self._counted.of(queue, self.children[queue])
        moved = self._moved.get(queue)
        return began[when].get(pair, 0) + (0 if moved is None else moved[when].get(pair, 0))

    def root(self, queue: str) -> str:
        return self.path[queue][-1]

    def used(self, node: str, pair: Pair) -> int:
        if len(self._moments) == 1:
            return self.used_when(self._moments[0], node, pair)
        return max([self.used_when(when, node, pair) for when in self._moments])

    def used_when(self, when: str, node: str, pair: Pair) -> int:
        if self.children[node] and self.entries.lends_all(node, pair):
            if node not in self._below:
                self._below[node] = self._counted.below(node)
            began = self._below[node]
            if began is not None:
                moved = [held[when].get(pair, 0) for queue, held in self._moved.items() if node in self.path[queue]]
                return began[when].get(pair, 0) + sum(moved)
        used = self.own(when, node, pair)
        for child in self.children[node]:
            used += max(0, self.used_when(when, child, pair) - self.local(child, pair))
        return used

    def available(self, node: str, pair: Pair) -> int:
        """What the node could still take; below zero where it is over-used."""
        above, used, quota = self.parent[node], self.used(node, pair), self.quota(node, pair)
        if above is None:
            return quota - used
        local = self.local(node, pair)
        through = self.available(above, pair)
        limit = self.limits["borrowing_limit"][node].get(pair)
        if limit is not None:
            through = min(through, quota - local - max(0, used - local) + limit)
        return max(0, local - used) + through

    def potential(self, node: str, pair: Pair) -> int:
        above = self.parent[node]
        if above is None:
            return self.quota(node, pair)
        most = _sum(pair, [self.local(node, pair), self.potential(above, pair)])
        limit = self.limits["borrowing_limit"][node].get(pair)
        return most if limit is None else min(most, _sum(pair, [self.quota(node, pair), limit]))

    def pairs(self, node: str) -> set[Pair]:
        """The pairs that the node or something below it names."""
        own = self.groups[node].union(*(limits[node] for limits in self.limits.values()))
        return own.union(*(self.pairs(child) for child in self.children[node]))

    def share(self, node: str) -> tuple[bool, Fraction]:
        """Whether it is infinite, and the share or, if it is, the plain ratio."""
        above = self.parent[node]
        if above is None:
            return False, Fraction(0)
        excess: dict[str, int] = {}
        for pair in self.pairs(node):
            over = max(0, self.used(node, pair) - self.quota(node, pair))
            excess[pair[0]] = excess.get(pair[0], 0) + over
        ratio = Fraction(0)
        for resource, over in excess.items():
            everything = {pair for pair in self.pairs(self.root(node)) if pair[0] == resource}
            lendable = _sum((resource, ""), [self.potential(above, pair) for pair in everything])
            if over and lendable > 0:
                ratio = max(ratio, Fraction(over * 1000, lendable))
        if not ratio:
            return False, ratio
        return (True, ratio) if not self.weight[node] else (False, ratio / self.weight[node])


def unlimited(pair: Pair) -> int:
    """The number that an unlimited quota is: the largest that Kueue counts, CPUs in thousandths."""
    return (2**63 - 1) * (10**6 if pair[0] == "cpu" else 10**9)


def _sum(pair: Pair, quotas: Sequence[int]) -> int:
    """Of quotas of a resource; if one of them is unlimited so is the sum, and bounded ones never are."""
    most = unlimited(pair)
    return most if any(quota >= most for quota in quotas) else min(sum(quotas), most - 1)


def by_pair(amounts: Mapping[str, int]) -> Amounts:
    """Amounts by resource and flavor; a plain name is the flavor `default`.

    Each is rounded up: of `cpu` to thousandths, of everything else to whole units.
    """
    amounts_by_pair: Amounts = {}
    for name, nano in amounts.items():
        resource, flavor = split_flavor(name)
        pair = (resource, flavor or "default")
        step = 10**6 if resource == "cpu" else 10**9
        amounts_by_pair[pair] = amounts_by_pair.get(pair, 0) + nano + -nano % step
    return amounts_by_pair


def of_members(sizes: Sequence[tuple[Mapping[str, int], int]]) -> Amounts:
    """What so many members ask for, each one's amounts rounded up."""
    total: Amounts = {}
    for requests, count in sizes:
        for pair, nano in by_pair(requests).items():
            total[pair] = total.get(pair, 0) + nano * count
    return total


MOST_KEPT = 4096
"""Amounts of workloads that are kept."""
HOLDING = (
    *("kueue.no-victims", "kueue.may-not-preempt", "kueue.share-recheck"),
    *("kueue.deferred-fit", "kueue.awaits-victims"),
)
"""Answers to heads that wait and count nevertheless, by which their queue may look larger to those after them."""


class Audit:
    """Follows a plan decision by decision, and says what is wrong with each."""

    def __init__(self, state: State, _edition: str) -> None:
        self.state = state
        self.account = Account(state, _InitialUsage(state))
        choice = state.static.doctrine
        self.settings: dict[str, Any] = {} if choice is None else dict(choice.settings)
        self.started = False
        self.awaited = False
        self.held_back = False
        self._before: Account | None = None

    @property
    def before(self) -> Account:
        """The account as the file stands."""
        if self._before is None:
            self._before = self.account.at_first()
        return self._before

    def __call__(self, made: Decision) -> Iterator[str]:
        if made.workload is None:
            yield "it names no workload to start or preempt for"
            return
        row = self.state.work_index[made.workload]
        queue = self._queue(row)
        if made.rule == "kueue.awaits-victims":
            self._let_leave()
        self.held_back |= made.rule in HOLDING
        if made.action not in ("start", "preempt"):
            return
        if queue is None or self.account.children[queue]:
            yield "only work of a queue can start"
            return
        asked = self._asked(row, made)
        for victim in made.victims:
            other = self.state.work_index[victim.workload]
            yield from (f"{victim.workload} {complaint}" for complaint in self._about(row, other, victim.reason, asked))
            if victim.fate != REQUEUED:
                yield f"{victim.workload} would be {victim.fate}; what is preempted queues again"
        if self.settings.get("recheck_final_set") and not self.started and not self.held_back:
            yield from self._shares(queue, asked, made)
        self.started = True
        for victim in made.victims:
            other = self.state.work_index[victim.workload]
            home = self._queue(other)
            if home is not None and not (self.awaited and _leaving(self.state, other)):
                self.account.move(home, _held(self.state, other), -1, _word(self.state, other))
        for pair, amount in asked.items():
            if amount > max(0, self.account.available(queue, pair)):
                yield f"{queue} has not {amount} nano-units of {'@'.join(pair)} for it"
        self.account.move(queue, asked)

    def _let_leave(self) -> None:
        """A workload waits for what is leaving, so that every later decision may count on that room."""
        if not self.awaited:
            for row in self.state.work_index.values():
                queue = self._queue(row)
                if queue is not None and _leaving(self.state, row):
                    self.account.move(queue, _held(self.state, row), -1, "preempting")
        self.awaited = True

    def _queue(self, row: int) -> str | None:
        queue = int(self.state.work.queue[row])
        return None if queue < 0 else self.state.tree.names[queue]

    def _asked(self, row: int, made: Decision) -> Amounts:
        if not made.counts and all(isinstance(flavor, str) for flavor in made.flavors.values()):
            key = plain_key(self.state, row)
            return _once(self.state, key, (*made.flavors.items(),), lambda: self._asked_anew(row, made))
        return self._asked_anew(row, made)

    def _asked_anew(self, row: int, made: Decision) -> Amounts:
        parts = admitted_parts(self.state, row, made.flavors, made.counts)
        asked = of_members(sizes_of(asks_of(self.state, row) if parts is None else parts))
        return {pair: nano for pair, nano in asked.items() if nano}

    def _about(self, claimant: int, row: int, reason: str, asked: Amounts) -> Iterator[str]:
        work, account = self.state.work, self.account
        mine, theirs = self._queue(claimant), self._queue(row)
        assert mine is not None
        if not work.preempts[claimant]:
            yield "is taken by one that never preempts"
        if not work.preemptible[row]:
            yield "asks not to be preempted"
        if theirs is None or account.root(theirs) != account.root(mine):
            yield "is in another tree"
            return
        raw = self.state.tree.settings(self.state.tree.index[mine])
        policy = raw.get("withinClusterQueue" if mine == theirs else "reclaimWithinCohort") or "Never"
        lower = int(work.priority[row]) < int(work.priority[claimant])
        newer = work.priority[row] == work.priority[claimant] and work.submitted[row] > work.submitted[claimant]
        if not (
            policy == "Any"
            or (policy == "LowerPriority" and lower)
            or (policy == "LowerOrNewerEqualPriority" and (lower or newer))
        ):
            yield f"has priority {work.priority[row]} against {work.priority[claimant]}, and the policy is {policy}"
        if (mine == theirs) != (reason == "InClusterQueue"):
            yield f"is of {theirs}, and the reason is {reason}"
        if mine != theirs and not self.held_back and not self._above(theirs, asked):
            yield f"is of {theirs}, which is within its quota"
        fair = self.settings.get("preemption") == "FairSharing"
        if reason == "InCohortFairSharing" and not fair:
            yield "is taken for fair sharing, which is off"
        if reason == "InCohortReclaimWhileBorrowing":
            borrow = raw.get("borrowWithinCohort") or {}
            most = borrow.get("maxPriorityThreshold")
            above = most is not None and int(work.priority[row]) > most
            if fair or borrow.get("policy", "Never") == "Never" or not lower or above:
                yield "may not be taken while the claimant's queue borrows"

    def _above(self, queue: str, asked: Amounts) -> bool:
        """Whether the queue is above its quota in anything asked, as the file stands or as the plan left it."""
        return any(
            account.used(queue, pair) > account.quota(queue, pair)
            for account in (self.before, self.account)
            for pair in asked
        )

    def _shares(self, queue: str, asked: Amounts, made: Decision) -> Iterator[str]:
        """The share rules, victim by victim, with only those of this decision gone.

        Checked of the first workload that starts or preempts: later ones were nominated on usage that the plan alone
        does not tell.
        """
        account = self.before
        strategies = self.settings.get("strategies") or ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        account.move(queue, asked)
        gone: list[tuple[str, int]] = []
        for victim in made.victims:
            other = self.state.work_index[victim.workload]
            home = self._queue(other)
            if home is None:
                continue
            mine, theirs = self._sides(queue, home)
            new, before = account.share(mine), account.share(theirs)
            account.move(home, _held(self.state, other), -1, _word(self.state, other))
            gone.append((home, other))
            after = account.share(theirs)
            lawful = ("LessThanOrEqualToFinalShare" in strategies and new <= after) or (
                "LessThanInitialShare" in strategies and new < before
            )
            if victim.reason == "InCohortFairSharing" and not lawful:
                yield f"{victim.workload}: {mine} has share {new[1]}, {theirs} had {before[1]} and has {after[1]}"
        for home, other in gone:
            account.move(home, _held(self.state, other), 1, _word(self.state, other))
        account.move(queue, asked, -1)

    def _sides(self, one: str, other: str) -> tuple[str, str]:
        first, second = list(self.account.path[one]), list(self.account.path[other])
        while len(first) > 1 and len(second) > 1 and first[-1] == second[-1]:
            first.pop()
            second.pop()
        return first[-1], second[-1]


def _word(state: State, row: int) -> str:
    return STATES[state.work.state[row]]


def _leaving(state: State, row: int) -> bool:
    return _word(state, row) == "preempting"


def _held(state: State, row: int) -> Amounts:
    work = state.work
    key: Hashable = None
    if not (row in state.odd_usages or row in state.parts or work.usage_given[row]):
        odd = state.odd_requests.get(row)
        key = work.need[:, row].tobytes() if odd is None else tuple(odd.items()), int(work.members[row])
    return _once(state, key, "held", lambda: _held_anew(state, row))


def _held_anew(state: State, row: int) -> Amounts:
    ask = standing_ask(state, row)
    return by_pair(ask.usage) if state.work.usage_given[row] else of_members(ask.sizes)


def _once(state: State, key: Hashable, what: Hashable, amounts: Callable[[], Amounts]) -> Amounts:
    """Amounts that follow from this key alone, if there is one: the same as long as units and queues stay."""
    if key is None:
        return amounts()
    known: dict[Hashable, Amounts] = state.tree.derived.setdefault("kueue amounts", {})
    made = known.get((key, what))
    if made is None:
        if len(known) >= MOST_KEPT:
            known.clear()
        made = known[key, what] = amounts()
    return made


def _columns(state: State) -> list[tuple[int, Pair, int]]:
    """The pair that each column counts, and the nano-units in one of it."""
    columns: list[tuple[int, Pair, int]] | None = state.tree.derived.get("kueue columns")
    if columns is None:
        units = list(zip(state.units.names, state.units.nano, strict=True))
        columns = [(at, next(iter(by_pair({name: nano}))), nano) for at, (name, nano) in enumerate(units) if name]
        state.tree.derived["kueue columns"] = columns
    return columns


def _overlapping(state: State) -> dict[int, list[int]]:
    """By queue those that are preempting or reserved."""
    overlapping: dict[int, list[int]] = {}
    if state.between:
        codes = state.work.state[: state.work.size]
        here = (codes == PREEMPTING) | (codes == RESERVED)
        for row in np.flatnonzero(here).tolist():
            overlapping.setdefault(int(state.work.queue[row]), []).append(row)
    return overlapping


class _InitialUsage:
    """What work holds by queue: from the sum, where nothing is finer than what Kueue counts in.

    An account is of one state, which stays as it is while decisions about it are checked.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._overlapping = _overlapping(state)
        self._whole = _whole(state)
        self._columns = _columns(state)
        self._sums: dict[str, list[int]] = {}

    def of(self, queue: str, children: list[str]) -> UsageByMoment:
        state, row = self._state, self._state.tree.index[queue]
        if not self._whole:
            held: UsageByMoment = {BEFORE: {}, AFTER: {}}
            for holder in _holders(state, row, state.work.state > SUSPENDED):
                for when in MOMENTS.get(_word(state, holder), WHEN):
                    for pair, amount in _held(state, holder).items():
                        held[when][pair] = held[when].get(pair, 0) + amount
            return held
        total = self._sum(queue)
        if children:
            below = zip(*map(self._sum, children), strict=True)
            total = [have - sum(less) for have, less in zip(total, below, strict=True)]
        return self._told(total, self._overlapping.get(row, ()))

    def below(self, queue: str) -> UsageByMoment | None:
        if not self._whole:
            return None
        tree = self._state.tree
        at = tree.index[queue]
        overlapping = [row for other, rows in self._overlapping.items() if at in tree.path(other) for row in rows]
        return self._told(self._sum(queue), overlapping)

    def _sum(self, queue: str) -> list[int]:
        """What the queue and all below it hold of each column."""
        sums = self._sums.get(queue)
        if sums is None:
            tree = self._state.tree
            sums = self._sums[queue] = tree.usage[:, tree.index[queue]].tolist()
        return sums

    def _told(self, total: list[int], overlapping: Collection[int]) -> UsageByMoment:
        """So much by pair, with and without those that are preempting or reserved."""
        everything: Amounts = {}
        for column, pair, nano in self._columns:
            if total[column]:
                everything[pair] = everything.get(pair, 0) + total[column] * nano
        if not overlapping:
            return {BEFORE: everything, AFTER: everything}  # what moves is written elsewhere
        held = {BEFORE: everything, AFTER: dict(everything)}
        for row in overlapping:
            missing = held[AFTER if _leaving(self._state, row) else BEFORE]
            for pair, amount in _held(self._state, row).items():
                missing[pair] = missing.get(pair, 0) - amount
        return held


def _holders(state: State, queue: int, which: Bools) -> list[int]:
    """Those of these workloads that are of this queue itself."""
    rows: list[int] = np.flatnonzero(which & (state.work.queue == queue)).tolist()
    return rows


def _whole(state: State) -> bool:
    """Whether no column counts in parts of what Kueue counts in, so that a sum of what is rounded up is the sum."""
    whole = state.tree.derived.get("kueue whole")
    if whole is None:
        units = dict(zip(state.units.names[1:], state.units.nano[1:], strict=True))
        whole = state.tree.derived["kueue whole"] = sum(units.values()) == sum(by_pair(units).values())
    return bool(whole)
