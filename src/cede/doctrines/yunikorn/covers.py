"""What candidates give to what is short, on every node at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows
from cede.doctrines.yunikorn.seven_laws import Slack
from cede.state.columns import NONE, Bools, Int64s
from cede.state.state import State

EXACT_IN_FLOAT = 1 << 53


class Covers:
    """What candidates give to what is short: a row for each resource on the node, and for each limit on the path.

    `anywhere`: the claimant stands on another node, and only limits must be covered. `limits_alone`: each victim must
    be one without whom some limit is not covered, whatever it gives to the node.
    """

    def __init__(
        self,
        state: State,
        claim: Claim,
        limits: Sequence[Limit],
        rows: Rows,
        *,
        anywhere: bool = False,
        limits_alone: bool = False,
    ) -> None:
        self.state = state
        self.rows = rows
        nodes = max(1, state.nodes.size)
        need = claim.vectors[0]
        if state.nodes.size:
            residents = state.work.resident[rows]
            self.node: Rows = state.residents.node[residents]
            free = state.nodes.free[:, :nodes]
            short = [np.maximum(need[column] - free[column], 0) for column in claim.columns]
            useful = [] if anywhere else [at for at, each in enumerate(short) if each[claim.allowed].any()]
            gives = [state.residents.amount[claim.columns[at], residents] for at in useful]
            self.allowed = np.ones(nodes, np.bool_) if anywhere else claim.allowed
        else:
            self.node = np.zeros(len(rows), np.intp)
            short, gives, useful = [], [], []
            self.allowed = np.ones(1, np.bool_)
        self.columns: list[int | None] = [claim.columns[at] for at in useful]
        self.short: list[Int64s] = [short[at] for at in useful]
        self.gives: list[Int64s] = list(gives)
        self.decisive = range(len(useful), len(useful) + len(limits)) if limits_alone else range(0)
        """The covers for which a victim must be needed; none: for any."""
        self._sums: list[Int64s] = []
        """Of each cover what all candidates of a node give together, once somebody asked."""
        for limit in limits:
            self.columns.append(limit.column)
            self.short.append(np.full(nodes, limit.short, np.int64))
            self.gives.append(limit.credit(state, rows))

    def within(self, slack: Slack) -> Bools:
        """The nodes on which the candidates cover everything, though no leaf gives more than it may lose."""
        queues = self.state.work.queue[self.rows]
        nodes, leaves = len(self.allowed), int(queues.max(initial=0)) + 1
        enough = self.allowed.copy()
        for column, gives, short in zip(self.columns, self.gives, self.short, strict=True):
            least = None if column is None else slack.least.get(column)
            if least is None or (gives > self.state.work.usage[column, self.rows]).any():
                continue
            by_leaf = _sums(self.node * leaves + queues, gives, nodes * leaves).reshape(nodes, leaves)
            enough &= np.minimum(by_leaf, np.maximum(least[:leaves], 0)).sum(axis=1) >= short
        return enough

    def total(self, without: Bools | None = None) -> Bools:
        """The nodes on which the candidates together cover everything; also if these are left out."""
        if not self._sums:
            self._sums = [_sums(self.node, gives, len(self.allowed)) for gives in self.gives]
        enough = self.allowed.copy()
        out = None if without is None else np.flatnonzero(without)
        for gives, short, total in zip(self.gives, self.short, self._sums, strict=True):
            left = total if out is None else total - _sums(self.node[out], gives[out], len(self.allowed))
            enough &= left >= short
        return enough

    def fewest(self) -> Int64s:
        """By node, how many victims there must be at least, were they all as large as the largest."""
        nodes = len(self.allowed)
        least = np.ones(nodes, np.int64)
        for gives, short in zip(self.gives, self.short, strict=True):
            largest = np.zeros(nodes, np.int64)
            np.maximum.at(largest, self.node, gives)
            np.maximum(least, -(-short // np.maximum(largest, 1)), out=least)
        return least

    def alone(self) -> Bools:
        """Candidates that cover everything on their node by themselves."""
        enough = self.allowed[self.node]
        for gives, short in zip(self.gives, self.short, strict=True):
            enough &= gives >= short[self.node]
        return enough


def _sums(node: Rows, amounts: Int64s, nodes: int) -> Int64s:
    """By node, the sum of these amounts, exactly."""
    if int(amounts.sum()) < EXACT_IN_FLOAT:
        return np.bincount(node, weights=amounts, minlength=nodes).astype(np.int64)
    sums = np.zeros(nodes, np.int64)
    np.add.at(sums, node, amounts)
    return sums


def node_of(state: State, row: int) -> int:
    return int(state.residents.node[state.work.resident[row]]) if state.nodes.size else NONE


def unwilling(state: State, rows: Rows) -> Int64s:
    """0 for ordinary work, 1 for originators, 2 for what opted out, 3 for both."""
    return 2 * (~state.work.preemptible[rows]).astype(np.int64) + state.work.originator[rows]
