"""A cheap victim set, quickly: by cost per unit still needed, then without those who are not needed after all.

For pools too large to be searched. A unit is one member that finds room. Where no two candidates share a node, what
they free adds up: the best completion is looked for at every step, and exchanges are tried in the end. Else nodes are
opened one after another, each by those who must leave it (parts/opening.py).
"""

from __future__ import annotations

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import fits, members_that_fit
from cede.doctrines.parts.opening import opened
from cede.doctrines.parts.orders import Rows, ordered
from cede.state.columns import ANY, TIGHT, Bools, Int64s
from cede.state.state import State

ROUNDS = 32


def cheapest_cover(state: State, claim: Claim, rows: Rows, cost: Int64s) -> list[int] | None:
    """Some of these workloads, who cost so much each, so that the claimant fits when they are gone; none if all of
    them are too few. Nobody of them is superfluous."""
    if not len(rows) or not _fits_without(state, claim, rows):
        return None
    residents = state.residents
    standing = residents_of_all(state, rows)
    standing = standing[claim.allowed[residents.node[standing]]]
    nodes = residents.node[standing]
    alone = not len(nodes) or int(np.bincount(nodes).max()) <= 1
    if claim.need is not None and alone and claim.placement in (ANY, TIGHT):
        found = _adding_up(state, claim, rows, cost, standing)
        if claim.placement == ANY:
            return found
    elif claim.need is not None:
        return opened(state, claim, rows, cost)
    else:
        found = _by_cost(state, claim, rows, cost)
    return _spared(state, claim, found, dict(zip(rows.tolist(), cost.tolist(), strict=True)))


# -- what candidates free adds up ------------------------------------------------------------------------------------


def _adding_up(state: State, claim: Claim, rows: Rows, cost: Int64s, standing: Rows) -> list[int]:
    residents, need = state.residents, claim.need
    assert need is not None
    nodes = residents.node[standing]
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    free = state.nodes.free[:, nodes] + residents.amount[:, standing]
    after = np.full(len(standing), claim.members)
    for column in claim.columns:
        np.minimum(after, free[column] // need[column], out=after)
    gain = np.maximum(after, 0) - before[nodes]
    place = np.zeros(state.work.size, np.intp)
    place[rows] = np.arange(len(rows))
    at = place[residents.work[standing]]
    if claim.placement == ANY:
        sums = np.bincount(at, gain, len(rows)).astype(np.int64)
        chosen = cover(cost, sums, claim.members - int(before.sum()))
        return [] if chosen is None else [int(rows[one]) for one in chosen]
    groups = state.nodes.group[: state.nodes.size]
    room = np.bincount(groups, before, len(state.groups.names)).astype(np.int64)
    best: tuple[int, list[int]] | None = None
    for group in np.unique(groups[nodes]).tolist():
        sums = np.bincount(at, np.where(groups[nodes] == group, gain, 0), len(rows)).astype(np.int64)
        chosen = cover(cost, sums, claim.members - int(room[group]))
        if chosen is not None:
            found = int(cost[chosen].sum()), [int(rows[one]) for one in chosen]
            best = found if best is None else min(best, found)
    return [] if best is None else best[1]


def cover(cost: Int64s, gain: Int64s, wanted: int) -> list[int] | None:
    """Places of some whose gains add up to what is wanted, at little cost; none if all are too little."""
    useful = np.flatnonzero(gain > 0)
    if int(gain[useful].sum()) < wanted:
        return None
    cost, gain = cost[useful], np.minimum(gain[useful], wanted)
    left, spent = wanted, 0
    open_ = np.ones(len(useful), np.bool_)
    taken: list[int] = []
    best: tuple[int, list[int]] | None = None
    while left > 0:
        worth = np.minimum(gain, left)
        last = np.flatnonzero(open_ & (gain >= left))
        if len(last):
            one = int(last[np.argmin(cost[last])])
            if best is None or spent + int(cost[one]) < best[0]:
                best = spent + int(cost[one]), [*taken, one]
        if best is not None and spent >= best[0]:
            break
        rate = np.where(open_, cost / worth, np.inf)
        one = int(np.argmin(rate))
        if not open_[one]:
            break
        open_[one] = False
        taken.append(one)
        spent += int(cost[one])
        left -= int(gain[one])
    if left <= 0 and (best is None or spent < best[0]):
        best = spent, taken
    assert best is not None, "all together are enough"
    return sorted(int(useful[one]) for one in _exchanged(cost, gain, wanted, best[1]))


def _exchanged(cost: Int64s, gain: Int64s, wanted: int, chosen: list[int]) -> list[int]:
    """The same set without who is not needed, and with one for another wherever that is cheaper."""
    inside = np.zeros(len(cost), np.bool_)
    inside[chosen] = True
    for _ in range(ROUNDS):
        slack = int(gain[inside].sum()) - wanted
        members = np.flatnonzero(inside)
        needless = members[gain[members] <= slack]
        if len(needless):
            inside[needless[np.argmax(cost[needless])]] = False
            continue
        if not _exchange(cost, gain, inside, slack):
            break
    return np.flatnonzero(inside).tolist()


def _exchange(cost: Int64s, gain: Int64s, inside: Bools, slack: int) -> bool:
    """One goes in for one, or for two, that cost more and are not missed; whether there was such a one."""
    members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    if not len(others):
        return False
    best: tuple[int, int, tuple[int, ...]] | None = None
    turn = others[np.argsort(gain[others], kind="stable")]
    gains = gain[turn]
    least = np.minimum.accumulate(cost[turn][::-1])[::-1]
    pairs: list[tuple[int, ...]] = [(int(one),) for one in members]
    if len(members) <= ROUNDS:
        pairs += [(int(a), int(b)) for at, a in enumerate(members) for b in members[at + 1 :]]
    for out in pairs:
        wanted = sum(int(gain[one]) for one in out) - slack
        at = int(np.searchsorted(gains, wanted))
        if at == len(turn):
            continue
        saved = sum(int(cost[one]) for one in out) - int(least[at])
        if saved > 0 and (best is None or saved > best[0]):
            best = saved, at, out
    if best is None:
        return False
    _, at, out = best
    later = turn[at:]
    inside[list(out)] = False
    inside[later[np.argmin(cost[later])]] = True
    return True


# -- in the end ------------------------------------------------------------------------------------------------------


def _by_cost(state: State, claim: Claim, rows: Rows, cost: Int64s) -> list[int]:
    """Members that differ: the cheapest until they fit."""
    turn = ordered(state, rows, cost)
    low, high = 0, len(turn)
    while high - low > 1:
        middle = (low + high) // 2
        if _fits_without(state, claim, turn[:middle]):
            high = middle
        else:
            low = middle
    return [int(row) for row in turn[:high]]


def _spared(state: State, claim: Claim, victims: list[int], cost: dict[int, int]) -> list[int] | None:
    """Without those that are not needed, the dearest first; none if they are not enough."""
    free = _free_without(state, np.array(victims, np.intp))
    if not fits(state, claim, free):
        return None
    residents = state.residents
    kept = []
    for row in sorted(victims, key=lambda row: (-cost[row], state.uids[row], state.work_names[row])):
        rows = state.residents_of(row)
        nodes = residents.node[rows]
        free[:, nodes] -= residents.amount[:, rows]
        if not fits(state, claim, free):
            free[:, nodes] += residents.amount[:, rows]
            kept.append(row)
    return kept


def _fits_without(state: State, claim: Claim, gone: Rows) -> bool:
    return fits(state, claim, _free_without(state, gone))


def _free_without(state: State, gone: Rows) -> Int64s:
    free = state.nodes.free[:, : state.nodes.size].copy()
    rows = residents_of_all(state, gone)
    for column in range(len(free)):
        np.add.at(free[column], state.residents.node[rows], state.residents.amount[column, rows])
    return free
