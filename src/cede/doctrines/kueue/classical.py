"""Classical preemption: the branches that may be reclaimed from, candidates in order, and the attempts in turn.

An attempt takes candidates one after another until the claimant fits, then puts back the victims it does not need. Two
shortcuts do the same with less work, each argued for where it stands: `LineIterator` follows lines that are kept in
order, and `attempt_by_sums` works a whole attempt out with cumulative sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from itertools import product
from typing import NamedTuple

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.candidate_order import in_order
from cede.doctrines.kueue.candidates import allowed_by, pool_of, tested
from cede.doctrines.kueue.node_bounds import AdmittedWorkload, LineEntry, SortKey
from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.search import (
    BORROW,
    MOST,
    NO_VICTIMS,
    OWN,
    RECLAIM,
    Outcome,
    Search,
    Target,
    Targets,
    sums_are_enough,
    usage_words,
)
from cede.doctrines.kueue.settings import ANY, LOWER, NEVER
from cede.doctrines.kueue.usage import QuotaUsage
from cede.doctrines.parts.orders import Rows
from cede.state.columns import Bools, Int8s, Int64s

HIERARCHY, PRIORITY = 1, 2


@dataclass(frozen=True, slots=True)
class Branch:
    """Queues that lie above their quota under one ancestor of the claimant.

    With `advantage` the request fits the quota of `decided`, the claimant's queue or a cohort above it that does not
    contain these queues, so that it reclaims from them as borrowers.
    """

    ancestor: int
    advantage: bool
    decided: int
    queues: tuple[int, ...]


def branches(search: Search) -> list[Branch]:
    """Per ancestor the queues above their quota, and whether the claimant has the advantage over them."""
    quota_usage, queue, quotas = search.quota_usage, search.queue, search.snapshot.quotas
    advantage = all(not quota_usage.borrows(pair, queue, amount) for pair, amount in search.asked)
    rest = {pair: max(0, amount - quota_usage.local_available(pair, queue)) for pair, amount in search.asked}
    reached_branches: list[Branch] = []
    below, decided = queue, queue
    for ancestor in quotas.path[queue][1:]:
        reached = tuple(_exceeding(quota_usage, quotas, ancestor, below, search.contested))
        reached_branches.append(Branch(ancestor, advantage, decided, reached))
        fits = all(
            quota_usage.used[pair][ancestor] + amount <= quotas.subtree[pair][ancestor] for pair, amount in rest.items()
        )
        rest = {pair: max(0, amount - quota_usage.local_available(pair, ancestor)) for pair, amount in rest.items()}
        if fits and not advantage:
            advantage, decided = True, ancestor
        below = ancestor
    return reached_branches


def _exceeding(
    quota_usage: QuotaUsage, quotas: Quotas, cohort: int, skipped: int, contested: list[int]
) -> Iterator[int]:
    """Queues above their quota below this cohort, in parts of the tree that are above theirs."""
    tables = [(quota_usage.used[pair], quotas.subtree[pair]) for pair in contested]
    for child in quotas.children[cohort]:
        if child == skipped:
            continue
        for used, subtree in tables:
            if used[child] > subtree[child]:
                break
        else:
            continue
        if quotas.children[child]:
            yield from _exceeding(quota_usage, quotas, child, skipped, contested)
        else:
            yield child


class ReclaimableBranches:
    """Which queues of other branches can be reached, and through which cohorts."""

    def __init__(self, search: Search) -> None:
        self.quotas = search.snapshot.quotas
        self.branch: dict[int, Branch] = {}
        self._nodes: dict[int, tuple[int, ...]] = {}
        self.branches = branches(search)
        for branch in self.branches:
            self.branch.update(dict.fromkeys(branch.queues, branch))

    @property
    def kind(self) -> Int8s:
        """By queue how those in it are reached; nothing where they are not."""
        kinds = np.zeros(self.quotas.size, np.int8)
        for branch in self.branches:
            kinds[list(branch.queues)] = HIERARCHY if branch.advantage else PRIORITY
        return kinds

    def queues(self, *, advantage: bool) -> list[int]:
        """Those over which the claimant has the advantage, or has not."""
        return [queue for branch in self.branches if branch.advantage == advantage for queue in branch.queues]

    def nodes(self, queue: int) -> tuple[int, ...]:
        """The queue and the cohorts between it and the ancestor it shares with the claimant."""
        nodes = self._nodes.get(queue)
        if nodes is None:
            path = self.quotas.path[queue]
            nodes = self._nodes[queue] = tuple(path[: path.index(self.branch[queue].ancestor)])
        return nodes


MOST_IN_LINE = 64
"""Number of candidates looked at along the line of each queue; if these do not decide, all are sorted."""


class Candidate(NamedTuple):
    """A candidate an attempt comes to; where the claimant has no advantage, `usable` says whether it may take this one
    while it borrows.
    """

    row: int
    queue: int
    usable: bool | None
    own: bool


class CandidateBatch(NamedTuple):
    """Some candidates in order, all of one list; `usable` says which may be taken while the claimant borrows."""

    positions: Rows
    rows: list[int]
    queues: list[int]
    usable: list[bool] | None
    own: bool


class CandidateIterator:
    """Those the claimant has the advantage over, then other queues', then its own; and before all what is leaving.

    Further attempts go through the same batches again, so that each is sorted once.
    """

    def __init__(self, search: Search, hierarchy: Rows, priority: Rows, own: Rows) -> None:
        self._known: list[CandidateBatch] = []
        self._more = _batches(search, (hierarchy, priority, own))

    def __iter__(self) -> Iterator[CandidateBatch]:
        at = 0
        while True:
            if at == len(self._known):
                batch = next(self._more, None)
                if batch is None:
                    return
                self._known.append(batch)
            yield self._known[at]
            at += 1

    def candidates(self, _done: Set[int], _borrowing: bool) -> Iterator[Candidate]:
        """All candidates; the attempt itself passes by those that are out."""
        for positions, rows, queues, usable, own in self:
            which = [None] * len(positions) if usable is None else usable
            for row, queue, use in zip(rows, queues, which, strict=True):
                yield Candidate(row, queue, use, own)


def _batches(search: Search, lists: tuple[Rows, Rows, Rows]) -> Iterator[CandidateBatch]:
    snapshot = search.snapshot
    for leaving in (True, False):
        if leaving and not snapshot.leaving_rows:
            continue
        for number, positions in enumerate(lists):
            if not len(positions):
                continue
            for part in in_order(snapshot, positions[snapshot.leaving[positions] == leaving]):
                usable = _usable(search, part) if number == 1 else None
                rows, queues = snapshot.rows[part].tolist(), snapshot.queue[part].tolist()
                yield CandidateBatch(part, rows, queues, usable, number == 2)


def _usable(search: Search, positions: Rows) -> list[bool]:
    """Which candidates without advantage may be taken even if the claimant's queue ends above its quota."""
    settings = search.claimant.settings
    if not settings.borrow:
        return [False] * len(positions)
    snapshot = search.snapshot
    priorities = snapshot.state.work.priority[snapshot.rows[positions]]
    usable = priorities < search.claimant.priority
    if settings.threshold is not None:
        usable &= priorities <= settings.threshold
    mask: list[bool] = usable.tolist()
    return mask


class LineIterator:
    """The same candidates from the lines that are kept in order, without sorting or looking at those never reached.

    Every line is in the order of candidates, so merging the lines by their first entries gives that order over all
    queues. Of a line only the first `MOST_IN_LINE` entries are looked at. When one runs out before its end the
    iteration is cut right there: all that it gave until then came in the right order, so an attempt that succeeded
    found the victims of the general one; an attempt that did not is made again by the general one.
    """

    def __init__(self, search: Search, hierarchy: Sequence[int], priority: Sequence[int]) -> None:
        self.search = search
        self._cut = False
        settings, running = search.claimant.settings, search.snapshot.running
        self._node_bounds, self._gone, self._zeros = running.node_bounds, search.snapshot.gone, running.zeros
        self._contested = frozenset(search.contested)
        self._leave = {running.queue(row) for row in search.snapshot.leaving_rows}
        """The queues of which some are leaving."""
        self._sides = (LEAVES, STAYS) if self._leave else (STAYS,)
        self.hierarchy = self._anybody(hierarchy)
        self.priority = self._anybody(priority)
        self._own = () if settings.within == NEVER else (search.queue,)

    def candidates(self, done: Set[int], borrowing: bool) -> Iterator[Candidate]:
        """Those that an attempt may take. It adds queues to `done` that are back within their quota: usage only falls
        during an attempt, so they stay within it, and the rest of their lines is passed by.
        """
        borrow = self.search.claimant.settings.borrow
        priority = () if borrowing and not borrow else self.priority  # without that none of them is usable
        for side in self._sides:
            for number, queues in enumerate((self.hierarchy, priority, self._own)):
                for held in self._in_turn(queues, side, done):
                    yield Candidate(held.row, held.queue, self._usable(held) if number == 1 else None, number == 2)
                if self._cut:
                    return

    def is_cut(self) -> bool:
        """Whether some line went on behind the last entry that was looked at."""
        return self._cut

    def _anybody(self, queues: Sequence[int]) -> Sequence[int]:
        """These queues, if there are candidates in them."""
        if self.search.claimant.settings.reclaim != NEVER:
            for queue, side in product(queues, self._sides):
                if next(self._along(queue, side), None) is not None:
                    return queues
        return ()

    def _in_turn(self, queues: Sequence[int], side: SortKey, done: Set[int]) -> Iterator[AdmittedWorkload]:
        """The candidates of several lines in one order."""
        lines: list[tuple[LineEntry, Iterator[LineEntry]]] = []
        for queue in queues:
            if queue not in done and (side is STAYS or queue in self._leave):
                line = self._along(queue, side)
                first = next(line, None)
                if first is not None:
                    lines.append((first, line))
        heapify(lines)  # every turn ends in another name, so that lines are never compared
        while lines and not self._cut:
            (_, held), line = lines[0]
            if held.queue not in done:
                yield held
            following = None if held.queue in done else next(line, None)
            if following is None:
                heappop(lines)
            else:
                heapreplace(lines, (following, line))

    def _along(self, queue: int, side: SortKey) -> Iterator[LineEntry]:
        """The candidates of one queue: they hold something contested, and the claimant's policy lets it take them."""
        claimant, work = self.search.claimant, self.search.snapshot.state.work
        policy = claimant.settings.within if queue == claimant.queue else claimant.settings.reclaim
        line = self._node_bounds.line(queue)
        begin, end = 0, len(line)
        if queue in self._leave:
            middle = bisect_left(line, STAYS, key=_turn)
            begin, end = (0, middle) if side is LEAVES else (middle, end)
        for at in range(begin, min(end, begin + MOST_IN_LINE)):
            held = line[at][1]
            if policy != ANY and held.priority >= claimant.priority:
                if held.priority > claimant.priority or policy == LOWER:
                    return  # and so are all after it
                if work.submitted[held.row] <= claimant.submitted:
                    continue
            if held.row not in self._gone and self._touches(held):
                yield line[at]
        self._cut |= end - begin > MOST_IN_LINE

    def _touches(self, held: AdmittedWorkload) -> bool:
        """Whether it holds any of what is contested; an amount of nothing counts too."""
        for pair, _ in held.amounts:
            if pair in self._contested:
                return True
        return bool(self._zeros) and not self._contested.isdisjoint(self._zeros.get(held.row, ()))

    def _usable(self, held: AdmittedWorkload) -> bool:
        """Whether one without advantage may be taken even if the claimant's queue ends above its quota."""
        claimant, settings = self.search.claimant, self.search.claimant.settings
        if not settings.borrow or held.priority >= claimant.priority:
            return False
        return settings.threshold is None or held.priority <= settings.threshold


LEAVES: SortKey = (False, -(1 << 62), 0, "", "")
STAYS: SortKey = (True, -(1 << 62), 0, "", "")
"""Before all turns of those that are leaving, and of those that stay."""


def _turn(entry: LineEntry) -> SortKey:
    return entry[0]


REASONS = (RECLAIM, BORROW, OWN)
ONE_BY_ONE = 64
"""Number of victims spared by looking for the next one over all at once; after that, over this many at a time."""


def is_plain(search: Search) -> bool:
    """Whether a whole attempt can be made of sums; never where reasons are noted."""
    return search.notes is None and sums_are_enough(search)


def attempt_by_sums(
    search: Search, reclaimable: ReclaimableBranches, iterator: CandidateIterator, borrowing: bool
) -> Targets:
    """As the general attempt; the usage of the search stays as it is."""
    sums = _ArrayAttempt(search, reclaimable, borrowing)
    for batch in iterator:
        if sums.enough_after(batch):
            return sums.victims()
    return []


def _cohorts_above(reclaimable: ReclaimableBranches) -> list[Rows]:
    """By depth in the tree, for each queue within reach the cohort there that it is in; -1 for none.

    Only cohorts below the common ancestor. Each is in one table, whether a queue is just below it or further down.
    """
    quotas = reclaimable.quotas
    tables: list[Rows] = []
    for branch in reclaimable.branches:
        if quotas.height[branch.ancestor] < 2 or not branch.queues:
            continue
        queues: Rows = np.array(branch.queues, np.intp)
        for level, cohorts in enumerate(_below(quotas, branch.ancestor)):
            if level == len(tables):
                tables.append(np.full(quotas.size, -1, np.intp))
            tables[level][queues] = cohorts[queues]
    return tables


def _below(quotas: Quotas, ancestor: int) -> list[Rows]:
    """By depth below the ancestor, so that a cohort is in one table only: for every queue the cohort it is in."""
    key = f"below {ancestor}"
    known = quotas.kept.get(key)
    cohorts_by_depth: list[Rows] = known if isinstance(known, list) else []
    if not cohorts_by_depth:
        cohorts_by_depth = [np.full(quotas.size, -1, np.intp) for _ in range(quotas.height[ancestor] - 1)]
        for queue, path in enumerate(quotas.path):
            if ancestor in path and not quotas.is_cohort(queue):
                for level, cohort in enumerate(path[path.index(ancestor) - 1 : 0 : -1]):
                    cohorts_by_depth[level][queue] = cohort
        quotas.kept[key] = cohorts_by_depth
    return cohorts_by_depth


@dataclass(slots=True)
class _TakenColumns:
    """Victims so far, in the order of taking."""

    positions: list[Rows] = field(default_factory=list)
    reasons: list[Int8s] = field(default_factory=list)
    given: list[Int64s] = field(default_factory=list)


class _ArrayAttempt:
    """A whole attempt on arrays: usage by node, and `slack`, which is below zero where the claimant lacks something.

    `sums_are_enough` holds: no queue of the tree keeps anything to itself, so a victim frees all that it holds on every
    level up to the root, and no borrowing limit stands on the claimant's path. So the claimant fits as soon as the sum
    of what victims hold makes up for `slack` at the root (and in its own queue, where it must not borrow), and
    cumulative sums tell at which candidate that is.

    Which candidates are taken follows from sums too. A queue is left alone from the first candidate at whose turn it is
    back within its quota; counting candidates behind that one as gone only lowers the usage further, so the mask of
    `_exceeds` has the same ones. A cohort between the queue and the common ancestor that comes back within its quota
    ends all queues below it: the mask counts only up to the first place where that happens, and the rest is worked out
    again from there. Sparing goes from the latest victim to the earliest, and `slack` only shrinks with each one put
    back: a victim that did not fit in it never will, so each is looked at once.
    """

    def __init__(self, search: Search, reclaimable: ReclaimableBranches, borrowing: bool) -> None:
        self.search = search
        self.reclaimable = reclaimable
        self.borrowing = borrowing
        quotas, quota_usage = search.snapshot.quotas, search.quota_usage
        pairs, queue = search.pairs, search.queue
        self.used: Int64s = np.array([quota_usage.used[pair] for pair in pairs], np.int64)
        self.quota: Int64s = np.array([quotas.subtree[pair] for pair in pairs], np.int64)
        asked: Int64s = np.array([amount for _, amount in search.asked], np.int64)
        root = quotas.root[queue]
        self.slack: Int64s = self.quota[:, root] - self.used[:, root] - asked
        self.slack[asked == 0] = MOST  # of nothing there is always enough, even where too much is taken
        self.own_slack: Int64s = self.quota[:, queue] - self.used[:, queue] - asked
        self.contested = [pairs.index(pair) for pair in search.contested]
        self.done: Bools = np.zeros(quotas.size, np.bool_)
        self.above = _cohorts_above(reclaimable)
        self.pile = _TakenColumns()

    def enough_after(self, batch: CandidateBatch) -> bool:
        """Take from this stretch what may be taken; whether the claimant fits at some point, where it stops."""
        snapshot = self.search.snapshot
        positions = batch.positions
        held: Int64s = np.stack([snapshot.usage(pair, snapshot.rows[positions]) for pair in self.search.pairs])
        reason: Int8s = np.full(len(positions), REASONS.index(OWN if batch.own else RECLAIM), np.int8)
        if batch.usable is not None:
            usable = np.array(batch.usable, np.bool_)
            reason[usable] = REASONS.index(BORROW)
            if self.borrowing:
                positions, held, reason = positions[usable], held[:, usable], reason[usable]
        while len(positions):
            stop, enough = self._up_to(positions, held, reason, own=batch.own)
            if enough:
                return True
            rest = np.arange(len(positions)) >= stop
            if not batch.own:
                rest &= ~self.done[snapshot.queue[positions]]
            positions, held, reason = positions[rest], held[:, rest], reason[rest]
        return False

    def _up_to(self, positions: Rows, held: Int64s, reason: Int8s, *, own: bool) -> tuple[int, bool]:
        """Take until the claimant fits, or a cohort is back within its quota, or the end; where that was."""
        queues = self.search.snapshot.queue[positions]
        if own:
            taken, stop = np.ones(len(positions), np.bool_), len(positions)
        else:
            taken = self._exceeds(queues, held)
            stop = self._first_back(queues, held, taken)
        lacks = self.slack[:, None] + np.cumsum(held * taken, axis=1)
        fits = taken & (lacks >= 0).all(axis=0)
        if not self.borrowing:
            own_lacks = self.own_slack[:, None] + (np.cumsum(held, axis=1) if own else 0)
            fits &= (own_lacks >= 0).all(axis=0)
        hits = np.flatnonzero(fits[:stop])
        end = int(hits[0]) + 1 if len(hits) else stop
        self._take(positions[:end][taken[:end]], held[:, :end][:, taken[:end]], reason[:end][taken[:end]], own=own)
        if not own and end < len(positions) and not len(hits):
            self._note_back()
        return end, bool(len(hits))

    def _exceeds(self, nodes: Rows, held: Int64s) -> Bools:
        """Whether each one's node is above its quota when all before it under the same node are gone."""
        if not len(nodes):
            return np.zeros(0, np.bool_)
        turn = np.argsort(nodes, kind="stable")
        sorted_nodes = nodes[turn]
        new = np.concatenate(([True], sorted_nodes[1:] != sorted_nodes[:-1]))
        begins, group = np.flatnonzero(new), np.cumsum(new) - 1
        above = np.zeros(len(nodes), np.bool_)
        for number in self.contested:
            amount = held[number][turn]
            before = np.cumsum(amount) - amount
            before -= before[begins][group]
            above |= self.used[number, sorted_nodes] - before > self.quota[number, sorted_nodes]
        exceeds = np.empty(len(nodes), np.bool_)
        exceeds[turn] = above
        return exceeds

    def _first_back(self, queues: Rows, held: Int64s, taken: Bools) -> int:
        """The place of the first one taken whose cohort would be back within its quota by then."""
        stop = len(queues)
        at: Rows = np.flatnonzero(taken)
        for above in self.above:
            cohorts = above[queues[at]]
            here = cohorts >= 0
            exceeds = self._exceeds(cohorts[here], held[:, at[here]])
            back = at[here][~exceeds]
            if len(back):
                stop = min(stop, int(back[0]))
        return stop

    def _note_back(self) -> None:
        """Queues below a cohort that is back within its quota are out."""
        within: Bools = np.all(self.used[self.contested] <= self.quota[self.contested], axis=0)
        for above in self.above:
            self.done |= (above >= 0) & within[above]

    def _take(self, positions: Rows, held: Int64s, reason: Int8s, *, own: bool) -> None:
        self.slack = self.slack + held.sum(axis=1)
        if own:
            self.own_slack = self.own_slack + held.sum(axis=1)
        else:
            queues = self.search.snapshot.queue[positions]
            for used, amount in zip(self.used, held, strict=True):
                np.subtract.at(used, queues, amount)
                for above in self.above:
                    cohorts = above[queues]
                    np.subtract.at(used, cohorts[cohorts >= 0], amount[cohorts >= 0])
        self.pile.positions.append(positions)
        self.pile.reasons.append(reason)
        self.pile.given.append(held)

    def victims(self) -> Targets:
        """What is left after putting back, latest but the last first, victims that are not needed."""
        snapshot, pairs = self.search.snapshot, self.search.pairs
        positions, reasons = np.concatenate(self.pile.positions), np.concatenate(self.pile.reasons)
        given = np.concatenate(self.pile.given, axis=1)
        kept = self._kept(given, reasons == REASONS.index(OWN))
        rows, queues = snapshot.rows[positions[kept]].tolist(), snapshot.queue[positions[kept]].tolist()
        known: dict[tuple[int, ...], Asked] = {}
        victims: Targets = []
        for row, queue, code, *held in zip(rows, queues, reasons[kept].tolist(), *given[:, kept].tolist(), strict=True):
            amounts = known.get(key := tuple(held))
            if amounts is None:
                amounts = known[key] = tuple(pair for pair in zip(pairs, held, strict=True) if pair[1])
            victims.append(Target(row, queue, REASONS[code], amounts))
        return victims

    def _kept(self, given: Int64s, own: Bools) -> Bools:
        kept = np.ones(given.shape[1], np.bool_)
        slack, own_slack = self.slack.copy(), self.own_slack.copy()
        end = given.shape[1] - 1
        spared = 0
        while end > 0:
            begin = 0 if spared < ONE_BY_ONE else max(0, end - ONE_BY_ONE)
            part = given[:, begin:end]
            free = (part <= slack[:, None]).all(axis=0)
            if not self.borrowing:
                free &= ~own[begin:end] | (part <= own_slack[:, None]).all(axis=0)
            hits = np.flatnonzero(free)
            if not len(hits):
                end = begin
                continue
            end = begin + int(hits[-1])
            kept[end] = False
            spared += 1
            slack -= given[:, end]
            if own[end]:
                own_slack -= given[:, end]
        return kept


def find(search: Search) -> Outcome:
    """The victims of the first attempt that makes room; none if no attempt does."""
    by_sums = is_plain(search)
    if search.snapshot.followed and search.notes is None and not by_sums:
        outcome = _along_lines(search)
        if outcome is not None:
            return outcome
    pool = pool_of(search)
    if not len(pool.own) and not len(pool.others):
        return NO_VICTIMS
    reclaimable = ReclaimableBranches(search)
    if search.notes is not None:
        _note_unreached(search, reclaimable)
    kind = reclaimable.kind[search.snapshot.queue[pool.others]]
    hierarchy, priority = pool.others[kind == HIERARCHY], pool.others[kind == PRIORITY]
    iterator = CandidateIterator(search, hierarchy, priority, pool.own)
    attempt = attempt_by_sums if by_sums else _attempt
    noted = {} if search.notes is None else dict(search.notes.reasons)
    attempts = _attempts(search, bool(len(hierarchy)), bool(len(priority)))
    for borrowing in attempts:
        if search.notes is not None:
            search.notes.reasons = dict(noted)  # what an attempt that failed had to say is of no interest
        elif attempts == (True, False) and not borrowing and not len(priority):
            continue  # the same walk as before, and it would have to end within its quota besides
        search.restore()
        if search.notes is None and not _enough(search, (pool.own, hierarchy, priority), borrowing):
            continue
        victims = attempt(search, reclaimable, iterator, borrowing)
        if victims:
            return Outcome(victims, within_quota=not borrowing)
    return NO_VICTIMS


def _along_lines(search: Search) -> Outcome | None:
    """The same along the lines in which candidates are kept; none where that is not told by the first ones of each.

    An attempt that is not cut sees all that the general one does, in the same order. Whether it could come to enough
    at all is not asked before: that would cost more than so few steps.
    """
    reclaimable = ReclaimableBranches(search)
    iterator = LineIterator(search, reclaimable.queues(advantage=True), reclaimable.queues(advantage=False))
    if iterator.is_cut():
        return None
    attempts = _attempts(search, bool(iterator.hierarchy), bool(iterator.priority))
    for borrowing in attempts:
        if attempts == (True, False) and not borrowing and not iterator.priority:
            continue
        search.restore()
        victims = _attempt(search, reclaimable, iterator, borrowing)
        if victims:
            return Outcome(victims, within_quota=not borrowing)
        if iterator.is_cut():
            search.restore()
            return None
    return NO_VICTIMS


def _enough(search: Search, lists: tuple[Rows, Rows, Rows], borrowing: bool) -> bool:
    """False only if the claimant would certainly not fit, whatever an attempt took.

    The less is used, the more is available, as long as what a cohort uses is what its children take: then all of them
    gone is the most that any choice leaves.
    """
    snapshot, quota_usage, queue = search.snapshot, search.quota_usage, search.queue
    at: Rows = np.concatenate(lists[: 2 if borrowing and not search.claimant.settings.borrow else 3])
    if not len(at):
        return False
    rows = snapshot.rows[at]
    if quota_usage.moments is None and not snapshot.uneven:
        left = quota_usage.copy()
        queues = snapshot.queue[at]
        for pair, _ in search.asked:
            for column, factor in snapshot.quotas.columns[pair]:
                freed = np.zeros(snapshot.quotas.size, np.int64)
                np.add.at(freed, queues, snapshot.workload_usage.column(column)[rows])
                for other in np.flatnonzero(freed).tolist():
                    left.remove(pair, other, int(freed[other]) * factor)
        if not left.fits(queue, search.asked, borrowing):
            return False
    return search.room is None or search.room.enough(rows)


def _attempts(search: Search, hierarchy: bool, priority: bool) -> tuple[bool, ...]:
    """Whether the claimant's queue may end above its quota, attempt by attempt."""
    quota_usage, quotas = search.quota_usage, search.snapshot.quotas
    forbidden = not search.claimant.settings.borrow
    under = all(quotas.subtree[pair][search.queue] > quota_usage.used[pair][search.queue] for pair in search.contested)
    if not (hierarchy or priority) or (forbidden and not under):
        return (True,)
    return (False, True) if forbidden and not hierarchy else (True, False)


def _attempt(
    search: Search, reclaimable: ReclaimableBranches, iterator: CandidateIterator | LineIterator, borrowing: bool
) -> Targets:
    """Take one after another until the claimant fits; then spare. If it does not, all are to be put back."""
    quota_usage, contested = search.quota_usage, search.contested
    amounts = search.snapshot.amounts
    done: set[int] = set()
    taken: Targets = []
    notes, room = search.notes, search.room
    for row, queue, usable, own in iterator.candidates(done, borrowing):
        if own:
            reason = OWN
        else:
            if queue in done:
                if notes is not None:
                    _note_by_then(search, row, queue)
                continue
            if usable is False and borrowing:
                if notes is not None:
                    _note_no_borrowing(search, row)
                continue
            if quota_usage.any_within(reclaimable.nodes(queue), contested):
                done.add(queue)
                if notes is not None:
                    _note_by_then(search, row, queue)
                continue
            reason = BORROW if usable else RECLAIM
        if notes is not None:
            _note_taken(search, reclaimable, row, queue, reason)
        victim = Target(row, queue, reason, amounts(row, search.pairs))
        search.take(victim)
        taken.append(victim)
        if (room is None or room.fits()) and search.fits(borrowing):
            return _spared(search, taken, iterator, borrowing)
    search.tried = taken
    if notes is not None:
        for victim in taken:
            notes.stays(victim.row, rules.TOO_LITTLE)
    return []


def _spared(search: Search, taken: Targets, iterator: CandidateIterator | LineIterator, borrowing: bool) -> Targets:
    kept = search.spare(taken, borrowing)
    if search.notes is not None:
        stay = {victim.row for victim in kept}
        for victim in taken:
            if victim.row not in stay:
                search.notes.stays(victim.row, rules.SPARED)
        for row, _, usable, _ in iterator.candidates(set(), borrowing):
            if row in search.notes.reasons:
                continue
            if borrowing and usable is False:
                _note_no_borrowing(search, row)
            else:
                search.notes.put(row, rules.NOT_REACHED, how=allowed_by(search.snapshot, search.claimant, row))
    return kept


# -- explanations ----------------------------------------------------------------------------------------------------


def _note_taken(search: Search, reclaimable: ReclaimableBranches, row: int, queue: int, reason: str) -> None:
    quotas, settings = search.snapshot.quotas, search.claimant.settings
    assert search.notes is not None
    test = tested(search.snapshot, search.claimant, row)
    if reason == OWN:
        search.notes.put(row, rules.WITHIN, queue=quotas.names[queue], policy=settings.within, test=test)
        return
    branch = reclaimable.branch[queue]
    search.notes.put(
        row,
        rules.BORROW if reason == BORROW else rules.RECLAIM,
        queue=quotas.names[queue],
        held=usage_words(search, queue),
        advantage=_advantage(search, branch),
        policy=settings.reclaim,
        threshold="" if settings.threshold is None else f" up to priority {settings.threshold}",
        test=test,
    )


def _advantage(search: Search, branch: Branch) -> str:
    names = search.snapshot.quotas.names
    where = f"common ancestor {names[branch.ancestor]}"
    if not branch.advantage:
        return f"{where}, no advantage: with the request no quota below it would be kept"
    what = "own quota of" if branch.decided == search.queue else "quota of cohort"
    return f"{where}, advantage decided at {names[branch.decided]}: the request fits the {what} {names[branch.decided]}"


def _note_by_then(search: Search, row: int, queue: int) -> None:
    assert search.notes is not None
    names = search.snapshot.quotas.names
    search.notes.put(row, rules.NOMINAL_BY_THEN, queue=names[queue], held=usage_words(search, queue))


def _note_no_borrowing(search: Search, row: int) -> None:
    assert search.notes is not None
    settings, work = search.claimant.settings, search.snapshot.state.work
    priority = int(work.priority[row])
    if not settings.borrow:
        reason = "borrowWithinCohort is Never"
    elif priority >= search.claimant.priority:
        reason = f"its priority {priority} is not below {search.claimant.priority}"
    else:
        reason = f"its priority {priority} is above maxPriorityThreshold {settings.threshold}"
    search.notes.put(row, rules.NO_BORROWING, claimant_queue=search.snapshot.quotas.names[search.queue], reason=reason)


def _note_unreached(search: Search, reclaimable: ReclaimableBranches) -> None:
    """Note all that stand in a queue, or below a cohort, that is within its quota to begin with."""
    snapshot, quotas = search.snapshot, search.snapshot.quotas
    assert search.notes is not None
    pool = pool_of(search)
    for at in pool.others.tolist():
        queue = int(snapshot.queue[at])
        if queue in reclaimable.branch:
            continue
        row = int(snapshot.rows[at])
        mine = set(quotas.path[search.queue])
        above = [cohort for cohort in quotas.path[queue][1:] if cohort not in mine]
        cohort = next((c for c in reversed(above) if search.quota_usage.within(c, search.contested)), None)
        if cohort is None:
            search.notes.put(row, rules.NOMINAL, queue=quotas.names[queue], held=usage_words(search, queue))
        else:
            facts = {"cohort": quotas.names[cohort], "held": usage_words(search, cohort)}
            search.notes.put(row, rules.COHORT_NOMINAL, queue=quotas.names[queue], **facts)
