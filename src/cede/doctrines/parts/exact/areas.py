"""Sets of nodes of which the claimant stands on one, the most promising first, each with a bound that costs little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.exact.space import Space
from cede.doctrines.parts.orders import Rows, nodes_by
from cede.doctrines.parts.question import Floats
from cede.state.columns import TIGHT, Bools

FEW = 64
"""Where something else than room is asked for too, a member's nodes are looked at one by one only if so few."""


@dataclass(frozen=True, slots=True)
class Area:
    """Nodes, and what no set that makes room there can cost less than."""

    nodes: Rows
    bound: float


def areas_of(space: Space) -> list[Area]:
    """Each node if one node must hold all members, each group if the members are tight, else all nodes together."""
    claim, size = space.question.claim, space.state.nodes.size
    useful = nodes_by(space.state, np.flatnonzero(claim.allowed & (space.most > 0)))
    if not space.question.places or not size:
        return [Area(useful, 0.0)]
    apart = claim.single and (not space.question.conditions or len(useful) <= FEW)
    if space.question.one_node or apart:
        bounds = _on_one_node(space)[useful]
        turn = np.argsort(bounds, kind="stable")
        return [Area(useful[at : at + 1], float(bounds[at])) for at in turn if np.isfinite(bounds[at])]
    if claim.placement != TIGHT:
        return [Area(useful, 0.0)]
    groups = space.state.nodes.group[useful]
    names = space.state.groups.names
    by_name = [useful[groups == group] for group in sorted(set(groups.tolist()), key=names.__getitem__)]
    areas = [Area(nodes, _in_group(space, nodes)) for nodes in by_name]
    return sorted((area for area in areas if np.isfinite(area.bound)), key=lambda area: area.bound)


def candidates_on(space: Space, area: Area) -> Bools:
    """What may go for the claimant to stand there: on one node only what stands on it."""
    open_ = np.ones(len(space.weights), np.bool_)
    if space.question.one_node and space.question.places and space.state.nodes.size:
        open_[:] = False
        open_[space.who[space.on == area.nodes[0]]] = True
    return open_


def _on_one_node(space: Space) -> Floats:
    """By node: of each resource what is short must go, and the cheapest share of it costs so much; endless if there is
    not enough."""
    size = space.state.nodes.size
    bounds = np.zeros(size)
    costs = space.weights[space.who]
    for at in range(len(space.free)):
        asked = sum(kind.need[at] * kind.count for kind in space.kinds)
        if not asked:
            continue
        short = (asked - space.free[at]).astype(np.float64)
        held = space.held[at].astype(np.float64)
        here = held > 0
        on, amount, cost = space.on[here], held[here], costs[here]
        turn = np.lexsort((cost / amount, on))
        on, amount, cost = on[turn], amount[turn], cost[turn]
        missing = np.maximum(short[on] - _running(on, amount), 0)
        part = np.minimum(missing / amount, 1.0)
        covered = np.bincount(on, np.minimum(amount, missing), size)
        paid = np.bincount(on, part * cost, size)
        lacks = covered < np.maximum(short, 0) * (1 - 1e-9)
        bounds = np.maximum(bounds, np.where(lacks, np.inf, paid * (1 - 1e-12)))
    return bounds


def _running(on: Rows, amount: Floats) -> Floats:
    """The sum of what comes before on the same node; `on` is sorted."""
    before = np.cumsum(amount) - amount
    first = np.flatnonzero(np.concatenate(([True], on[1:] != on[:-1]))) if len(on) else np.zeros(0, np.intp)
    counts = np.diff(np.concatenate((first, [len(on)])))
    sums: Floats = before - np.repeat(before[first], counts)
    return np.maximum(sums, 0.0)


def _in_group(space: Space, nodes: Rows) -> float:
    """The cheapest nodes that are as many as needed, if each who must leave one is paid by share of its nodes there."""
    if int(space.most[nodes].sum()) < space.members and len(space.kinds) == 1:
        return np.inf
    if not space.whole or len(space.kinds) > 1:
        return 0.0
    inside = np.zeros(space.state.nodes.size, np.bool_)
    inside[nodes] = True
    here = inside[space.on]
    on, who = space.on[here], space.who[here]
    shares = space.weights[who] / np.bincount(who, minlength=len(space.weights))[who]
    prices = np.bincount(on, shares, space.state.nodes.size)[nodes]
    return float(np.sort(prices[space.most[nodes] > 0])[: space.members].sum()) * (1 - 1e-9)
