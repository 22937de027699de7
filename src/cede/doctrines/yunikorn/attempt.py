"""An attempt of release 1.9 to preempt: the victims of each node by two passes over its candidates, the node with the
fewest, and what it adds from other nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.orders import Rows, ordered, tie_break
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.covers import Covers, unwilling
from cede.doctrines.yunikorn.queues import Amounts, Queues
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.sparse_amounts import covers, over, under, within
from cede.model.rules import Rule
from cede.state.columns import NONE, Bools, Int64s
from cede.state.state import State
from cede.state.units import WHOLE


@dataclass(frozen=True, slots=True)
class NodeVictims:
    """A node, the place of the first victim after which the ask fits (-1: it fits as it is), and victims up to it."""

    node: int
    index: int
    victims: list[int]


@dataclass(frozen=True, slots=True)
class _One:
    """A candidate: what it takes of its queues, and what it frees of the columns that are asked for."""

    row: int
    queue: int
    amounts: Amounts
    frees: list[int]


class NodeWalk:
    """Walks nodes one after the other; what a walk books in the snapshot is undone."""

    def __init__(self, state: State, snapshot: Snapshot, ask: Ask, rows: Rows) -> None:
        self.state = state
        self.snapshot = snapshot
        self.ask = ask
        self.open = np.zeros(state.work.size, np.bool_)
        self.open[rows] = True
        self.columns = ask.claim.columns
        self.need = [int(ask.claim.vectors[0][column]) for column in self.columns]

    def on(self, node: int) -> NodeVictims | None:
        """The list of this node; none if it does not make room."""
        free = [int(self.state.nodes.free[column, node]) for column in self.columns]
        listed = self._first_pass(self._candidates(node), free)
        return self._second_pass(node, listed, free) if listed else None

    def _candidates(self, node: int) -> list[_One]:
        """Those that may be preempted first, then no originators, then the youngest, leaf by leaf if of one age."""
        state, work = self.state, self.state.work
        last, rank = tie_break(state), self.snapshot.queues.rank
        keyed = [
            (
                *(not work.preemptible[row], bool(work.originator[row]), -int(work.submitted[row])),
                *(int(rank[work.queue[row]]), last(row), row, resident),
            )
            for resident in state.node_residents[node]
            if self.open[row := int(state.residents.work[resident])]
        ]
        ones = []
        for *_, row, resident in sorted(keyed):
            usage = work.usage[:, row].tolist()
            held = state.residents.amount[:, resident].tolist()
            amounts = {column: amount for column, amount in enumerate(usage) if amount and column != WHOLE}
            ones.append(_One(row, int(work.queue[row]), amounts, [held[column] for column in self.columns]))
        return ones

    def _first_pass(self, candidates: list[_One], free: list[int]) -> list[_One]:
        """Who counts, those first that shrink what is short; one that the asking leaf is not owed ends the pass."""
        snapshot, leaf, asked = self.snapshot, self.ask.leaf, self.ask.amounts
        room = list(free)
        booked: list[_One] = []
        head: list[_One] = []
        tail: list[_One] = []
        for one in candidates:
            rest = snapshot.remaining(one.queue)
            if rest is not None and not over(asked, rest):
                continue
            snapshot.move(one.queue, one.amounts.items(), -1)
            owed = snapshot.remaining(leaf)
            if owed is None or not within(owed, one.amounts):
                snapshot.move(one.queue, one.amounts.items(), 1)
                break
            if any(freed and have < need for freed, have, need in zip(one.frees, room, self.need, strict=True)):
                snapshot.move(leaf, one.amounts.items(), 1)
                booked.append(one)
                room = [have + freed for have, freed in zip(room, one.frees, strict=True)]
                head.append(one)
            else:
                snapshot.move(one.queue, one.amounts.items(), 1)
                tail.append(one)
        for one in booked:
            snapshot.move(leaf, one.amounts.items(), -1)
            snapshot.move(one.queue, one.amounts.items(), 1)
        return head + tail

    def _second_pass(self, node: int, listed: list[_One], free: list[int]) -> NodeVictims | None:
        """Of those on the list, in order, who counts when nothing else is charged; up to the first that is enough."""
        snapshot, asked = self.snapshot, self.ask.amounts
        room = list(free)
        taken: list[_One] = []
        index = -1
        for one in listed:
            rest = snapshot.remaining(one.queue)
            if rest is not None and not over(asked, rest):
                continue
            snapshot.move(one.queue, one.amounts.items(), -1)
            room = [have + freed for have, freed in zip(room, one.frees, strict=True)]
            taken.append(one)
            if all(have >= need for have, need in zip(room, self.need, strict=True)):
                index = len(taken) - 1
                break
        for one in taken:
            snapshot.move(one.queue, one.amounts.items(), 1)
        return None if index < 0 else NodeVictims(node, index, [one.row for one in taken])


FIRST = 256
"""How many of the further victims are sorted at first; more when somebody looks further."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A node and final victims, or the rule that refuses; `counted` are those held against what is asked for."""

    refusal: Rule | None = None
    node: int = NONE
    victims: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()


class Attempt:
    """Everything one attempt knows; `rows` are all candidates, `allowed` the nodes that may be taken."""

    def __init__(self, state: State, snapshot: Snapshot, ask: Ask, rows: Rows, allowed: Bools, *, tried: bool) -> None:
        self.state = state
        self.queues = snapshot.queues
        self.ask = ask
        self.tried = tried
        self.snapshot = snapshot
        self.rows = rows
        self.claim: Claim = replace(ask.claim, allowed=allowed & self._large_enough())
        self.open_leaf = self._leaves_that_give()

    def _large_enough(self) -> Bools:
        """Nodes whose whole capacity would do."""
        nodes, size = self.state.nodes, self.state.nodes.size
        enough = np.ones(size, np.bool_)
        for column in self.ask.claim.columns:
            if column != WHOLE:
                enough &= nodes.capacity[column, :size] >= self.ask.claim.vectors[0][column]
        return enough

    def _leaves_that_give(self) -> Bools:
        """Leaves of which somebody may be taken to begin with: no guarantee counts there, or it is exceeded in a type
        that is asked for.

        Taking somebody never opens a leaf that is closed: what it frees only adds to what remains, and what is charged
        to the asking leaf is no more than remains on every level above it.
        """
        giving = np.zeros(self.queues.size + 1, np.bool_)
        for queue in self._owners():
            rest = self.snapshot.remaining(queue)
            giving[queue] = rest is None or over(self.ask.amounts, rest)
        return giving

    def _owners(self) -> list[int]:
        """The queues of the candidates; all of them have one, for what has none is outside of every fence."""
        return np.flatnonzero(np.bincount(self.state.work.queue[self.rows], minlength=1)).tolist()

    def run(self) -> Outcome:
        if not self.owed():
            return Outcome(rules.NOT_OWED)
        giving = self.rows[self.open_leaf[self.state.work.queue[self.rows]]]
        best = self._best_node(giving)
        if best is None:
            return Outcome(rules.NO_VICTIMS)
        more = _Further(self, giving, best.victims).victims()
        return Outcome(rules.NO_VICTIMS) if more is None else self._trimmed(best, more)

    def owed(self) -> bool:
        """The first gate: the ask fits what remains of the guarantees, or would if every candidate were gone."""
        asked, leaf = self.ask.amounts, self.ask.leaf
        rest = self.snapshot.remaining(leaf)
        if rest is not None and within(rest, asked):
            return True
        trial = self.snapshot.fresh()
        trial.move(leaf, asked.items(), 1)
        columns = range(1, len(self.state.units))
        owners = self.state.work.queue[self.rows]
        for queue in self._owners():
            gone = self.state.work.usage[:, self.rows[owners == queue]].sum(axis=1).tolist()
            trial.move(queue, [(column, gone[column]) for column in columns], -1)
        rest = trial.remaining(leaf)
        return rest is not None and under(asked, rest)

    def _best_node(self, giving: Rows) -> NodeVictims | None:
        """The node with the fewest victims up to the first that is enough, then by name.

        No node needs fewer than if all were as large as its largest, so that not all nodes are walked.
        """
        if not self.state.nodes.size:
            return NodeVictims(NONE, -1, [])
        given = Covers(self.state, self.claim, (), giving)
        nodes = len(given.allowed)
        needs = np.zeros(nodes, np.bool_)
        for short in given.short:
            needs |= short > 0
        rank = self.state.node_rank()
        roomy = np.flatnonzero(~needs & self.claim.allowed)
        if len(roomy) and not self.tried:
            return NodeVictims(int(roomy[np.argmin(rank[roomy])]), -1, [])
        if not len(giving):
            return None
        at = np.flatnonzero(given.total() & needs)
        fewest = given.fewest()
        walk = NodeWalk(self.state, self.snapshot, self.ask, giving)
        best: NodeVictims | None = None
        for node in at[np.lexsort((rank[at], fewest[at]))].tolist():
            if best is not None and (int(fewest[node]) - 1, int(rank[node])) > (best.index, int(rank[best.node])):
                break
            victims = walk.on(node)
            if victims is not None and (
                best is None or (victims.index, int(rank[node])) < (best.index, int(rank[best.node]))
            ):
                best = victims
        return best

    def _trimmed(self, best: NodeVictims, more: list[int]) -> Outcome:
        """Node victims, then further ones, as long as the ask is above what they give in all they share."""
        asked, total, final = self.ask.amounts, dict[int, int](), list[int]()
        fits = self._fits(best.node)
        counted = [row for row in (*best.victims, *more) if fits or self._node_of(row) == best.node]
        for row in counted:
            if covers(asked, total, equal=False):
                final.append(row)
            for column, amount in amounts_of(self.state, row).items():
                total[column] = total.get(column, 0) + amount
        if covers(asked, total, equal=False):
            return Outcome(rules.SHORTFALL, best.node, tuple(final), tuple(counted))
        return Outcome(None, best.node, tuple(final), tuple(counted))

    def total(self, rows: Iterable[int]) -> Amounts:
        """What these hold together."""
        sums: Counter[int] = Counter()
        for row in rows:
            sums.update(amounts_of(self.state, row))
        return dict(sums)

    def stopped(self) -> dict[int, int]:
        """Candidates that are not reached, because one before them on their node, or they themselves, is larger than
        what the asking leaf is owed; with that one.
        """
        rest = self.snapshot.remaining(self.ask.leaf)
        stopped_by: dict[int, int] = {}
        giving = self.rows[self.open_leaf[self.state.work.queue[self.rows]]]
        ends: dict[int, int] = {}
        for row in ordered(self.state, giving, *eagerness(self.state, self.queues, giving)).tolist():
            node = self._node_of(row)
            if node not in ends and (rest is None or not within(rest, amounts_of(self.state, row))):
                ends[node] = row
            if node in ends:
                stopped_by[row] = ends[node]
        return stopped_by

    def _fits(self, node: int) -> bool:
        if node == NONE:
            return True
        need, free = self.claim.vectors[0], self.state.nodes.free[:, node]
        return bool((need <= np.maximum(free, 0)).all())

    def _node_of(self, row: int) -> int:
        return int(self.state.residents.node[self.state.work.resident[row]]) if self.state.nodes.size else NONE


class _Further:
    """Victims anywhere that the quota asks for beside those on the node: in order, as long as the leaf is owed them."""

    def __init__(self, attempt: Attempt, giving: Rows, taken: list[int]) -> None:
        self.attempt = attempt
        self.snapshot = attempt.snapshot.fresh()
        for row in taken:
            queue = int(attempt.state.work.queue[row])
            self.snapshot.move(queue, amounts_of(attempt.state, row).items(), -1)
        self.rows = np.delete(giving, np.searchsorted(giving, taken))  # they are sorted

    def victims(self) -> list[int] | None:
        """None if some are taken and the leaf is over what it is owed afterwards all the same."""
        attempt, snapshot = self.attempt, self.snapshot
        state, leaf, asked = attempt.state, attempt.ask.leaf, attempt.ask.amounts
        rest = snapshot.remaining(leaf)
        counted = [column for column in rest or () if column != WHOLE]
        useful = np.zeros(len(self.rows), np.bool_)
        for column in counted:  # who holds nothing of these is put back and changes nothing
            useful |= state.work.usage[column, self.rows] > 0
        chosen: list[int] = []
        closed: set[int] = set()
        for row in self._in_order(self.rows[useful] if rest is not None else self.rows, closed):
            queue = int(state.work.queue[row])
            before = snapshot.remaining(queue)
            if before is not None and not over(asked, before):
                closed.add(queue)
                continue
            amounts = amounts_of(state, row)
            snapshot.move(queue, amounts.items(), -1)
            owed = snapshot.remaining(leaf)
            if owed is None or not within(owed, amounts):
                snapshot.move(queue, amounts.items(), 1)
                break
            snapshot.move(leaf, amounts.items(), 1)
            chosen.append(row)
        if not chosen:
            return []
        rest = snapshot.remaining(leaf)
        return chosen if rest is not None and under(asked, rest) else None

    def _in_order(self, rows: Rows, closed: set[int]) -> Iterator[int]:
        """As `eagerness` has them; leaves that turned out to give nothing are passed over. Sorted as far as somebody
        looks.
        """
        state = self.attempt.state
        key, leaf = eagerness(state, self.attempt.queues, rows)
        size = FIRST
        while len(rows):
            if size < len(rows):
                edge = np.partition(key, size)[size]
                near = key <= edge
            else:
                near = np.ones(len(rows), np.bool_)
            batch = ordered(state, rows[near], key[near], leaf[near])
            owners = state.work.queue[batch]
            at = 0
            while at < len(batch):
                if closed:
                    open_ = np.flatnonzero(~np.isin(owners[at:], list(closed)))
                    if not len(open_):
                        break
                    at += int(open_[0])
                yield int(batch[at])
                at += 1
            rows, key, leaf = rows[~near], key[~near], leaf[~near]
            size *= 4


def eagerness(state: State, queues: Queues, rows: Rows) -> tuple[Int64s, Int64s]:
    """Keys that sort those first that may be preempted, then no originators, then the youngest; then leaf by leaf."""
    return (unwilling(state, rows) << 59) - state.work.submitted[rows], queues.rank[state.work.queue[rows]]


def amounts_of(state: State, row: int) -> Amounts:
    """What a workload takes of its queues, type by type."""
    usage = state.work.usage[:, row].tolist()
    return {column: amount for column, amount in enumerate(usage) if amount and column != WHOLE}
