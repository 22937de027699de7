"""Small random clusters, and the best set of each by trying every one: written without the parts that search."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

import cede
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.question import Linear, Over, Question
from cede.state.columns import PLACEMENTS
from cede.state.state import State

CLAIMANT = "in"


def cluster(draw: random.Random, *, placement: str, exclusive: bool, parts: bool, single: bool) -> State:
    """Three to six nodes in up to three racks, up to eight that run on them, and one that waits."""
    racks = draw.randint(1, 3)
    names = [f"n{at}" for at in range(draw.randint(3, 6))]
    free = {name: {"cpu": draw.choice((4, 6, 8)), "gpu": draw.choice((2, 4))} for name in names}
    nodes = [
        {"name": name, "capacity": dict(free[name]), "labels": {"rack": f"r{draw.randrange(racks)}"}} for name in names
    ]
    running: list[dict[str, Any]] = []
    for at in range(draw.randint(3, 8)):
        asks = {"cpu": draw.randint(1, 3), "gpu": draw.randint(0, 2)}
        fitting = [name for name in names if all(free[name][key] >= asks[key] for key in asks)]
        own = draw.sample(fitting, min(len(fitting), draw.randint(1, 3)))
        for name in own:
            for key, amount in asks.items():
                free[name][key] -= amount
        if own:
            requests = {key: amount for key, amount in asks.items() if amount}
            work = {"name": f"v{at}", "state": "running", "members": len(own), "nodes": own, "requests": requests}
            running.append({**work, "started": -draw.randint(1, 9)})
    claimant: dict[str, Any] = {"name": CLAIMANT, "placement": placement, "exclusive": exclusive, "priority": 9}
    if parts:
        claimant["pod_sets"] = [
            {"name": "a", "count": draw.randint(1, 2), "requests": {"cpu": draw.randint(2, 4)}},
            {"name": "b", "count": draw.randint(1, 2), "requests": {"cpu": 1, "gpu": draw.randint(1, 2)}},
        ]
    else:
        claimant["members"] = 1 if single else draw.randint(2, 4)
        claimant["requests"] = {"cpu": draw.randint(1, 4), "gpu": draw.randint(1, 2)}
    document = {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "backendai", "edition": "bep-1014"},
        "queues": [{"name": "default"}],
        "topology": "rack",
        "nodes": nodes,
        "workloads": [*running, claimant],
    }
    return cede.load(document).state


def question(state: State, draw: random.Random, **more: Any) -> Question:
    """By random weights, whole numbers; who runs may go."""
    rows = np.array([row for name, row in sorted(state.work_index.items()) if name != CLAIMANT], np.intp)
    weights = np.array([float(draw.randint(1, 20)) for _ in rows])
    if more.get("by_order"):
        weights = np.array(draw.sample(range(1, len(rows) + 1), len(rows)), np.float64)
    unit = more.pop("unit", 1.0)
    if more.pop("conditioned", False):
        more["conditions"] = tuple(_in_units(one, unit) for one in _conditions(draw, len(rows)))
    return Question(claim_of(state, state.work_index[CLAIMANT]), rows, "weight", weights, **more)


def _conditions(draw: random.Random, count: int) -> Iterator[Linear]:
    adds = np.array([float(draw.randint(0, 3)) for _ in range(count)])
    yield Linear("at least", adds, low=float(draw.randint(1, 4)))
    yield Linear("at most", np.ones(count), high=float(draw.randint(2, 5)))
    inside = Over(float(draw.randint(0, 4)), -np.array([float(draw.randint(0, 2)) for _ in range(count)]))
    nested = Over(-1.0, -np.array([float(draw.randint(0, 1)) for _ in range(count)]), (inside,))
    yield Linear("over", -np.array([float(draw.randint(0, 1)) for _ in range(count)]), high=1.0, over=(nested, inside))


def _in_units(one: Linear, unit: float) -> Linear:
    def over(one: Over) -> Over:
        return Over(one.base * unit, one.adds * unit, tuple(map(over, one.others)))

    return Linear(one.what, one.adds * unit, one.low * unit, one.high * unit, tuple(map(over, one.over)))


def best(state: State, asked: Question) -> float | None:
    """The least value of any set that will do; None if none does."""
    values = [_value(asked, gone) for gone in _subsets(len(asked.rows)) if _will_do(state, asked, gone)]
    return min(values, default=None)


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(count), size) for size in range(count + 1))


def _value(asked: Question, gone: Sequence[int]) -> float:
    weights = [float(asked.weights[at]) for at in gone]
    return max(weights, default=0.0) if asked.by_order else sum(weights)


def _will_do(state: State, asked: Question, gone: Sequence[int]) -> bool:
    for condition in asked.conditions:
        total = sum(condition.adds[list(gone)]) + sum(_over(over, gone) for over in condition.over)
        if not condition.low <= total <= condition.high:
            return False
    rows = {int(asked.rows[at]) for at in gone}
    claim, residents = asked.claim, state.residents
    free = {node: state.nodes.free[:, node].copy() for node in np.flatnonzero(claim.allowed).tolist()}
    for resident in range(residents.size):
        node = int(residents.node[resident])
        if residents.count[resident] and int(residents.work[resident]) in rows and node in free:
            free[node] += residents.amount[:, resident]
    if asked.one_node:
        stands = [{int(residents.node[one]) for one in state.residents_of(row)} for row in rows]
        return any(
            all(node in own for own in stands) and _packs(claim.vectors, {node: free[node]}, {node: 0}, None)
            for node in free
        )
    groups = {node: int(state.nodes.group[node]) for node in free}
    placement = PLACEMENTS[claim.placement]
    if placement == "tight":
        return any(
            _packs(claim.vectors, {n: free[n] for n in free if groups[n] == group}, groups, None)
            for group in set(groups.values())
        )
    share = math.ceil(claim.members / len(set(groups.values()))) if placement == "spread" else None
    return _packs(claim.vectors, free, groups, share)


def _over(over: Over, gone: Sequence[int]) -> float:
    inside = over.base + sum(over.adds[list(gone)]) + sum(_over(other, gone) for other in over.others)
    return max(0.0, float(inside))


def _packs(needs: Sequence[Any], free: dict[int, Any], groups: dict[int, int], share: int | None) -> bool:
    """Whether all members find a node, by trying everything."""

    def place(at: int, room: dict[int, Any], held: Counter[int]) -> bool:
        if at == len(needs):
            return True
        for node, have in room.items():
            fits = (have >= needs[at])[needs[at] > 0].all() and (share is None or held[groups[node]] < share)
            if fits and place(at + 1, {**room, node: have - needs[at]}, held + Counter([groups[node]])):
                return True
        return False

    return place(0, free, Counter())
