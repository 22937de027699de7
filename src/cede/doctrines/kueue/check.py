"""What Kueue promises of every decision, re-derived from the file's entries by code that chose nothing.

Policies bind every victim, queues give way only above their quota, and whoever starts or preempts has the quota
once its victims are gone. With `recheck_final_set` the share rules hold for the victims as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Any

import numpy as np

from cede.doctrines.kueue.account import AFTER, BEFORE, MOMENTS, WHEN, Account, Amounts, Held, Pair, by_pair, of_members
from cede.model.plan import REQUEUED, Decision
from cede.state.admission import admitted_parts, asks_of, plain_key, sizes_of, standing_ask
from cede.state.columns import STATES, SUSPENDED, Bools
from cede.state.standing import OVERLAPPING
from cede.state.state import State

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
        self.account = Account(state, _Counted(state))
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
            yield "nobody is preempted for nobody"
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
        """Somebody waits for what is leaving, so that everybody after it may count on that."""
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

        Asked of the first who starts or preempts: those after it were nominated on usage that nobody can tell from
        the plan alone.
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
    found = known.get((key, what))
    if found is None:
        if len(known) >= MOST_KEPT:
            known.clear()
        found = known[key, what] = amounts()
    return found


def _columns(state: State) -> list[tuple[int, Pair, int]]:
    """The pair that each column counts, and the nano-units in one of it."""
    found: list[tuple[int, Pair, int]] | None = state.tree.derived.get("kueue columns")
    if found is None:
        units = list(zip(state.units.names, state.units.nano, strict=True))
        found = [(at, next(iter(by_pair({name: nano}))), nano) for at, (name, nano) in enumerate(units) if name]
        state.tree.derived["kueue columns"] = found
    return found


def _overlapping(state: State) -> dict[int, list[int]]:
    """By queue those that are preempting or reserved."""
    found: dict[int, list[int]] = {}
    if state.between:
        codes = state.work.state[: state.work.size]
        here = np.logical_or.reduce([codes == code for code in OVERLAPPING])
        for row in np.flatnonzero(here).tolist():
            found.setdefault(int(state.work.queue[row]), []).append(row)
    return found


class _Counted:
    """What work holds by queue: from the sum, where nothing is finer than what Kueue counts in.

    An account is of one state, which stays as it is while decisions about it are checked.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._overlapping = _overlapping(state)
        self._whole = _whole(state)
        self._columns = _columns(state)
        self._sums: dict[str, list[int]] = {}

    def of(self, queue: str, children: list[str]) -> Held:
        state, row = self._state, self._state.tree.index[queue]
        if not self._whole:
            found: Held = {BEFORE: {}, AFTER: {}}
            for holder in _holders(state, row, state.work.state > SUSPENDED):
                for when in MOMENTS.get(_word(state, holder), WHEN):
                    for pair, amount in _held(state, holder).items():
                        found[when][pair] = found[when].get(pair, 0) + amount
            return found
        total = self._sum(queue)
        if children:
            below = zip(*map(self._sum, children), strict=True)
            total = [have - sum(less) for have, less in zip(total, below, strict=True)]
        return self._told(total, self._overlapping.get(row, ()))

    def below(self, queue: str) -> Held | None:
        if not self._whole:
            return None
        tree = self._state.tree
        at = tree.index[queue]
        overlapping = [row for other, rows in self._overlapping.items() if at in tree.path(other) for row in rows]
        return self._told(self._sum(queue), overlapping)

    def _sum(self, queue: str) -> list[int]:
        """What the queue and all below it hold of each column."""
        found = self._sums.get(queue)
        if found is None:
            tree = self._state.tree
            found = self._sums[queue] = tree.usage[:, tree.index[queue]].tolist()
        return found

    def _told(self, total: list[int], overlapping: Collection[int]) -> Held:
        """So much by pair, with and without those that are preempting or reserved."""
        everything: Amounts = {}
        for column, pair, nano in self._columns:
            if total[column]:
                everything[pair] = everything.get(pair, 0) + total[column] * nano
        if not overlapping:
            return {BEFORE: everything, AFTER: everything}  # what moves is written elsewhere
        found = {BEFORE: everything, AFTER: dict(everything)}
        for row in overlapping:
            missing = found[AFTER if _leaving(self._state, row) else BEFORE]
            for pair, amount in _held(self._state, row).items():
                missing[pair] = missing.get(pair, 0) - amount
        return found


def _holders(state: State, queue: int, which: Bools) -> list[int]:
    """Those of these workloads that are of this queue itself."""
    found: list[int] = np.flatnonzero(which & (state.work.queue == queue)).tolist()
    return found


def _whole(state: State) -> bool:
    """Whether no column counts in parts of what Kueue counts in, so that a sum of what is rounded up is the sum."""
    found = state.tree.derived.get("kueue whole")
    if found is None:
        units = dict(zip(state.units.names[1:], state.units.nano[1:], strict=True))
        found = state.tree.derived["kueue whole"] = sum(units.values()) == sum(by_pair(units).values())
    return bool(found)
