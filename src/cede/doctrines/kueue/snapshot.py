"""The cluster as one plan sees it: usage that moves as the plan goes on, and who held room when it began."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np

from cede.doctrines.kueue.book import Book, book_of
from cede.doctrines.kueue.drs import Doubts, Shares
from cede.doctrines.kueue.holdings import Holdings
from cede.doctrines.kueue.quota import DEFAULT, Asked, Quotas, quotas_of
from cede.doctrines.kueue.settings import Mode, Settings, mode_of
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.orders import Rows, tie_break
from cede.model.resources import split_flavor
from cede.model.workloads import PodSet
from cede.state.admission import asks_of
from cede.state.columns import NEVER, NONE, PREEMPTING, RESERVED, RUNNING, UNSET, Bools, Int64s
from cede.state.state import State

CLAIMS = "kueue.claims"
TAKES, HOLDS = "takes", "holds back"
"""What a claimant does to the usage others see."""


@dataclass(eq=False, slots=True)
class Claimant:
    """A pending workload with a queue of its own."""

    row: int
    name: str
    queue: int
    priority: int
    submitted: int
    last: tuple[str, str]
    preempts: bool
    parts: tuple[PodSet, ...]
    settings: Settings

    @property
    def turn(self) -> tuple[int, int, tuple[str, str]]:
        """Its place among the pending work of its queue."""
        return (-self.priority, self.submitted, self.last)


@dataclass(slots=True)
class Snapshot:
    """`book` is the usage as it is now, `lasting` the same without what is held back for a pass only.

    `stamp` is a number for what the book went through: where it is the same again, so is the book.

    `rows` are the workloads that held room when the plan began, `queue` and `leaving` beside them. `overlapping` has
    the state of each that is preempting or reserved, where there are both; `pools` whom claimants may take of them.

    A victim's usage stays in the book for its pass, as its pods are still there; `victims` says for whom it was taken.
    For later passes it has `left`. Nodes and hard limits are `tracked` by the trial, where the file has any. `log` says
    who changed the book so far, how, and in which pairs. `uneven`: less than nothing was held back in this pass, and
    what a cohort uses is not what its children take. `silent`: nobody reads why somebody waits.

    Shares are compared as the release compares them, or `exact`; `doubts` are those where that is not the same.
    """

    cycle: Cycle
    quotas: Quotas
    holdings: Holdings
    mode: Mode
    exact: bool
    lasting: Book
    book: Book
    rows: Rows
    queue: Rows
    leaving: Bools
    zeros: dict[int, frozenset[int]]
    leaving_rows: frozenset[int]
    overlapping: dict[int, int]
    tracked: bool
    victims: dict[int, str] = field(default_factory=dict)
    left: dict[int, str] = field(default_factory=dict)
    log: list[tuple[str, str, frozenset[int]]] = field(default_factory=list)
    stamp: int = 0
    pools: dict[Hashable, object] = field(default_factory=dict)
    uneven: bool = False
    silent: bool = False
    doubts: Doubts | None = None
    _stamps: dict[Hashable, int] = field(default_factory=dict)
    _changes: int = 0
    _touched: bool = False
    _roots: Rows | None = None

    @property
    def state(self) -> State:
        return self.cycle.state

    @property
    def moment(self) -> tuple[int, int]:
        """The same for the same usage and the same bookings, as long as nobody's victims are there yet."""
        return self.stamp, self.cycle.trial.mark()

    def charge(self, claimant: Claimant, asked: Asked, word: str, *, lasting: bool = True) -> None:
        """A claimant's queue takes so much for the rest of the plan, or only of the pass."""
        queue = claimant.queue
        self.note(claimant, asked, word)
        self.uneven |= any(amount < 0 for _, amount in asked)
        self.book.add_all(queue, asked)
        self._went_through(self.stamp, queue, asked)
        self._touched = True
        if lasting:
            self.lasting.add_all(queue, asked)
            self._changes += 1

    def note(self, claimant: Claimant, asked: Asked, word: str) -> None:
        """What the claimant does, to be told later."""
        self.log.append((claimant.name, word, frozenset([pair for pair, amount in asked if amount])))

    def _went_through(self, *what: Hashable) -> None:
        self.stamp = self._stamps.setdefault(what, len(self._stamps) + 1)

    def end_pass(self) -> None:
        """What was taken for the pass only is free again, and its victims have left."""
        for row in self.victims:
            self.let_go(self.lasting, row)
        if self.victims:
            self._changes += 1
            self._touched = True
            stay = ~np.isin(self.rows, list(self.victims))
            self.rows, self.queue, self.leaving = self.rows[stay], self.queue[stay], self.leaving[stay]
            self._roots, self.pools = None, {}
            self.left |= self.victims
            self.victims = {}
        self.log.append(("", "", frozenset()))
        if self._touched:
            self.book = self.lasting.copy()
            self.uneven = False
            self._went_through(self._changes, self.cycle.trial.mark())
            self._touched = False

    def still_there(self) -> Book:
        """The usage with those that have left for us counted in, whose pods may be there yet."""
        book = self.book.copy()
        for row in self.left:
            book.add_all(int(self.state.work.queue[row]), self.everything(row), self.code(row))
        return book

    def empty(self) -> Snapshot:
        """The same cluster with nobody in it."""
        quotas = self.quotas
        return replace(
            self,
            book=Book(quotas, [[0] * quotas.size for _ in quotas.pairs]),
            rows=self.rows[:0],
            queue=self.queue[:0],
            leaving=self.leaving[:0],
            pools={},
            _roots=None,
        )

    def without_victims(self) -> Book:
        """The usage once the victims so far are gone."""
        if not self.victims:
            return self.book
        book = self.book.copy()
        for row in self.victims:
            self.let_go(book, row)
        return book

    def let_go(self, book: Book, row: int) -> None:
        """All that a workload holds is taken out of the book."""
        book.remove_all(int(self.state.work.queue[row]), self.everything(row), self.code(row))

    def shares(self, book: Book) -> Shares:
        """The shares in a book, compared in the way of this snapshot."""
        return Shares(book, exact=self.exact, doubts=self.doubts)

    def code(self, row: int) -> int:
        """The state that a workload had when the plan began, as far as that matters to a book."""
        return self.overlapping.get(row, RUNNING)

    def usage(self, pair: int, rows: Rows) -> Int64s:
        """What each of these workloads holds of a pair."""
        return self.holdings.of(pair, rows)

    def amounts(self, row: int, pairs: tuple[int, ...]) -> Asked:
        """What one workload holds of these pairs, zeros left out."""
        return self.holdings.amounts(row, pairs)

    def everything(self, row: int) -> Asked:
        """All that one workload holds."""
        return self.amounts(row, tuple(range(len(self.quotas.pairs))))

    def roots(self) -> Rows:
        """The root of each holder's queue."""
        if self._roots is None:
            every = self.quotas.kept.get("roots")
            if not isinstance(every, np.ndarray):
                every = self.quotas.kept["roots"] = np.array(self.quotas.root, np.intp)
            self._roots = every[self.queue]
        return self._roots

    def touches(self, rows: Rows, pairs: list[int]) -> Bools:
        """Which of these hold any of the pairs; an amount of nothing counts too."""
        found = np.zeros(len(rows), np.bool_)
        for pair in pairs:
            for column, _ in self.quotas.columns[pair]:
                found |= self.state.work.usage[column, rows] > 0
        if self.zeros:
            wanted = set(pairs)
            here = [row for row, zero in self.zeros.items() if zero & wanted]
            found |= np.isin(rows, here)
        return found

    def claim(self, row: int, parts: tuple[PodSet, ...], key: Hashable) -> Claim:
        """The claim of these members, told by their key; kept for those like it as long as nodes and units stay."""
        state, work = self.state, self.state.work
        if state.reservations or row in state.constraints or work.required_node[row] != NONE:
            return claim_of(state, row, parts)
        reshaped = state.journal.reshaped
        before, claims = self.cycle.memory.get(CLAIMS, (None, {}))
        if before != reshaped:
            claims = {}
            self.cycle.memory[CLAIMS] = (reshaped, claims)
        like = (key, int(work.partition[row]), int(work.placement[row]), bool(work.exclusive[row]))
        found = claims.get(like)
        if not isinstance(found, Claim):
            found = claims[like] = claim_of(state, row, parts)
        return found

    def reserved_at(self, rows: Rows) -> Int64s:
        """When each got its quota; what does not say so got it now."""
        started = self.state.work.started[rows]
        return np.where(started == NEVER, self.state.now, started)


def snapshot_of(cycle: Cycle, *, silent: bool = False) -> Snapshot:
    """The state as it stands, ready to be planned on."""
    state = cycle.state
    quotas = quotas_of(state)
    choice = state.static.doctrine
    work, size = state.work, state.work.size
    rows = np.flatnonzero((work.state[:size] >= RESERVED) & (work.queue[:size] != NONE))
    return Snapshot(
        cycle=cycle,
        quotas=quotas,
        holdings=(holdings := Holdings(state, quotas)),
        mode=(mode := mode_of({} if choice is None else choice.settings)),
        exact=mode.recheck,
        lasting=(book := book_of(state, quotas, holdings)),
        book=book.copy(),
        rows=rows,
        queue=work.queue[rows].astype(np.intp),
        leaving=work.state[rows] == PREEMPTING,
        zeros=_zeros(state, quotas),
        leaving_rows=frozenset(rows[work.state[rows] == PREEMPTING].tolist()),
        overlapping={} if book.moments is None else _states(state, rows, (PREEMPTING, RESERVED)),
        tracked=bool(state.nodes.size or state.static.tenants or (state.tree.max[:, : quotas.size] != UNSET).any()),
        silent=silent,
        doubts=Doubts() if mode.fair and not mode.recheck and not silent else None,
    )


def _states(state: State, rows: Rows, codes: tuple[int, ...]) -> dict[int, int]:
    """The state of those of these workloads that are in one of these states."""
    found = rows[np.isin(state.work.state[rows], codes)]
    return dict(zip(found.tolist(), state.work.state[found].tolist(), strict=True))


def claimant_of(snapshot: Snapshot, row: int, parts: tuple[PodSet, ...] | None = None) -> Claimant:
    """A pending workload as a claimant; `parts` is what it asks for, where that is at hand."""
    state = snapshot.state
    queue = int(state.work.queue[row])
    return Claimant(
        row=row,
        name=state.work_names[row],
        queue=queue,
        priority=int(state.work.priority[row]),
        submitted=int(state.work.submitted[row]),
        last=tie_break(state)(row),
        preempts=bool(state.work.preempts[row]),
        parts=asks_of(state, row) if parts is None else parts,
        settings=snapshot.quotas.settings(queue),
    )


def _zeros(state: State, quotas: Quotas) -> dict[int, frozenset[int]]:
    """The pairs of which a workload says that it holds nothing; what it asks for counts where it gives no usage."""
    found: dict[int, frozenset[int]] = {}
    given = state.work.usage_given
    sides = [
        *state.odd_usages.items(),
        *((row, amounts) for row, amounts in state.odd_requests.items() if not given[row]),
        *((row, part.requests) for row, parts in state.parts.items() if not given[row] for part in parts),
    ]
    for row, amounts in sides:
        names = [split_flavor(name) for name, nano in amounts.items() if not nano]
        pairs = {quotas.index[resource, flavor or DEFAULT] for resource, flavor in names}
        if pairs:
            found[row] = found.get(row, frozenset()) | pairs
    return found
