"""The nearest miss: the cheapest running workloads that would have made room, whatever protects them.

Cheapest is the fewest workloads, then the smallest share of the cluster, then uids. For one member the set is
exact on the nodes that come closest (all of them up to LOOKED nodes, up to SMALL residents each, CHECKS sets in
all); for a gang, and where a limit is short, the largest are taken first and those not needed are spared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, combinations, repeat
from math import comb

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cover import FindsRoom, VictimOrder, take_until_fits
from cede.doctrines.parts.fit import fits, named_columns
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows, nine_decimals, nodes_by, tie_break
from cede.doctrines.parts.shortage import shares_missing
from cede.state.columns import CHECKPOINTING, RUNNING, Int64s
from cede.state.state import State

LOOKED = 64
SMALL = 12
CHECKS = 1_000


def nearest_miss(state: State, claim: Claim, limits: list[Limit], finds_room: FindsRoom | None = None) -> list[int]:
    """Workload rows; none if no set of running workloads makes room. `finds_room`: as `take_until_fits` has it."""
    free = state.nodes.free[:, : state.nodes.size]
    if not limits and (fits(state, claim) if finds_room is None else finds_room(free)):
        return []
    size = state.work.size
    running = (state.work.state[:size] == RUNNING) | (state.work.state[:size] == CHECKPOINTING)
    if claim.single and claim.need is not None and not limits and state.nodes.size:
        return _on_one_node(state, claim, claim.need)
    weight = -_share(state, np.arange(size))
    order = VictimOrder(weight, np.zeros(size, np.int64))
    victims = take_until_fits(state, claim, running, order, limits, anywhere=bool(limits), finds_room=finds_room)
    return victims or []


def _on_one_node(state: State, claim: Claim, need: Int64s) -> list[int]:
    """The cheapest set on any of the closest nodes, those first that could do with the fewest."""
    sites = [site for node in _closest(state, claim, need).tolist() if (site := _site(state, claim, need, node))]
    sites.sort(key=lambda site: site.fewest)
    best: tuple[int, int, list[tuple[str, str]]] | None = None
    cheapest: list[int] = []
    budget = CHECKS
    for site in sites:
        if best is not None and site.fewest > best[0]:
            break
        chosen, budget = site.cheapest(state, best[0] if best else len(site.rows), budget)
        cost = _cost(state, chosen) if chosen else None
        if cost is not None and (best is None or cost < best):
            best, cheapest = cost, chosen
    return cheapest


def _closest(state: State, claim: Claim, need: Int64s) -> Rows:
    nodes = np.flatnonzero(claim.allowed)
    if len(nodes) <= LOOKED:
        return nodes
    missing = shares_missing(state, claim, need, nodes, state.nodes.free)
    return nodes_by(state, nodes, missing)[:LOOKED]


def _running_on(state: State, node: int) -> list[int]:
    rows = {int(state.residents.work[resident]) for resident in state.node_residents[node]}
    return sorted((row for row in rows if state.work.state[row] in (RUNNING, CHECKPOINTING)), key=tie_break(state))


@dataclass(frozen=True, slots=True)
class _Site:
    """One node: what is short, the running workloads on it and what each frees of that, in plain integers.

    `weighs` says what is compared when the largest is taken: of a resource and a flavor of it that are short not both.
    """

    short: tuple[int, ...]
    weighs: tuple[bool, ...]
    rows: list[int]
    amounts: dict[int, tuple[int, ...]]
    shares: dict[int, int]
    fewest: int

    def cheapest(self, state: State, most: int, budget: int) -> tuple[list[int], int]:
        """Of the smallest sets that are enough, at most `most`, the one with the least share; and the budget left."""
        if len(self.rows) <= SMALL:
            for count in range(self.fewest, most + 1):
                if comb(len(self.rows), count) > budget:
                    break
                budget -= comb(len(self.rows), count)
                sets = [list(chosen) for chosen in combinations(self.rows, count) if self._enough(chosen)]
                if sets:
                    least = min(sum(self.shares[row] for row in chosen) for chosen in sets)
                    close = [chosen for chosen in sets if sum(self.shares[row] for row in chosen) == least]
                    last = tie_break(state)
                    return min(close, key=lambda chosen: sorted(map(last, chosen))), budget
            else:
                return [], budget
        return self._greedy(), budget

    def _enough(self, rows: Iterable[int]) -> bool:
        freed = map(sum, zip(*(self.amounts[row] for row in rows), strict=True))
        return all(have >= want for have, want in zip(freed, self.short, strict=True))

    def _greedy(self) -> list[int]:
        taken: list[int] = []
        left = list(self.short)
        rest = list(self.rows)
        while any(left):
            row = max(rest, key=lambda row: (self._use(row, left, self.weighs), self._use(row, left)))
            rest.remove(row)
            taken.append(row)
            left = [max(0, want - have) for want, have in zip(left, self.amounts[row], strict=True)]
        for row in list(taken):
            others = [other for other in taken if other != row]
            if others and self._enough(others):
                taken = others
        return taken

    def _use(self, row: int, left: list[int], weighs: Iterable[bool] = repeat(True)) -> float:
        shorts = zip(self.amounts[row], left, self.short, weighs, strict=False)
        return sum(min(amount, want) / short for amount, want, short, counts in shorts if counts)


def _site(state: State, claim: Claim, need: Int64s, node: int) -> _Site | None:
    """None where all that runs on the node is not enough."""
    free = state.nodes.free[:, node]
    columns = [column for column in claim.columns if free[column] < need[column]]
    short = tuple(int(need[column] - free[column]) for column in columns)
    names = [state.units.names[column] for column in columns]
    weighs = tuple("@" not in name or name.partition("@")[0] not in names for name in names)
    rows = _running_on(state, node)
    amounts = {row: tuple(_on(state, row, node)[columns].tolist()) for row in rows}
    fewest = 0
    for at, want in enumerate(short):
        freed = list(accumulate(sorted((amounts[row][at] for row in rows), reverse=True)))
        enough = next((count for count, have in enumerate(freed, 1) if have >= want), None)
        if enough is None:
            return None
        fewest = max(fewest, enough)
    shares = dict(zip(rows, _share(state, np.array(rows, np.intp)).tolist(), strict=True))
    return _Site(short, weighs, rows, amounts, shares, fewest)


def _on(state: State, row: int, node: int) -> Int64s:
    return next(
        state.residents.amount[:, resident]
        for resident in state.residents_of(row)
        if state.residents.node[resident] == node
    )


def _share(state: State, rows: Rows) -> Int64s:
    """How much of the whole cluster each workload holds, as a key."""
    score = np.zeros(len(rows))
    for column in named_columns(state):
        total = int(state.nodes.capacity[column, : state.nodes.size].sum())
        used = state.work.usage[column, rows]
        for flavor in state.units.flavored.get(state.units.names[column], ()):
            used = used + state.work.usage[flavor, rows]
        score += used / max(total, 1)
    return nine_decimals(score)


def _cost(state: State, rows: list[int]) -> tuple[int, int, list[tuple[str, str]]]:
    share = int(_share(state, np.array(rows, np.intp)).sum())
    return len(rows), share, sorted(map(tie_break(state), rows))
