"""Small pools of candidates from a seed, and the preferred set of each by trying all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

import cede
from cede.doctrines.lattice.victim_pool import Pool
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.fit import fits
from cede.state.columns import Int64s

COSTS = (0, 1, 5, 5, 5, 6, 10, 10, 11, 12, 20, 55)
SHAPES = ("whole", "shared", "mixed")
PLACEMENTS = ("any", "tight", "spread")
Score = tuple[int, int, list[int], list[tuple[str, str]]]


@cache
def pool(seed: int, shape: str, placement: str, *, members: int | None = None, parts: bool = False) -> Pool:
    """Up to nine candidates on up to six nodes in two groups; costs that tie, limits that bind all, some or nobody."""
    random = Random(f"{seed} {shape} {placement} {members} {parts}")
    state = cede.load(_document(random, shape, placement, members, parts)).state
    rows = np.array([row for name, row in state.work_index.items() if name != "in"], np.intp)
    cost: Int64s = np.array([random.choice(COSTS) for _ in rows], np.int64)
    share = random.choice((0.0, 0.5, 1.0, 1.0))
    counted = np.array([random.random() < share for _ in rows], np.bool_)
    most = random.choice((None, None, 0, 1, 2, 3, 3))
    value = random.choice((None, None, 5, 11, 16, 30))
    return Pool(state, claim_of(state, state.work_index["in"]), rows, cost, counted, most, value)


def _document(random: Random, shape: str, placement: str, members: int | None, parts: bool) -> dict[str, Any]:
    names = [f"n{at}" for at in range(random.randint(2, 6))]
    nodes: list[dict[str, Any]] = [
        {"name": name, "capacity": {"cpu": 4, "gpu": random.choice((2, 4))}, "labels": {"group": random.choice("gh")}}
        for name in names
    ]
    free = {node["name"]: dict(node["capacity"]) for node in nodes}
    works: list[dict[str, Any]] = []
    for at in range(9):
        whole = shape == "whole" or (shape == "mixed" and random.random() < 0.5)
        needs = {"cpu": random.randint(1, 4), "gpu": random.choice((0, 1, 2))}
        room = [
            name
            for name in names
            if all(free[name].get(key, 0) >= amount for key, amount in needs.items())
            and (not whole or free[name]["cpu"] == 4)
        ]
        on = random.sample(room, min(len(room), random.choice((1, 1, 2, 3))))
        if on:
            for name in on:
                free[name] = {} if whole else {key: free[name][key] - needs[key] for key in needs}
            entry: dict[str, Any] = {"name": f"w{at}", "uid": random.choice("xyz"), "state": "running", "nodes": on}
            entry |= {"exclusive": whole, "members": len(on), "requests": needs, "priority": random.randint(0, 3)}
            works.append(entry)
    claim: dict[str, Any] = {"name": "in", "priority": 9, "placement": placement, "state": "pending"}
    claim["exclusive"] = shape == "whole" or random.random() < 0.5
    if parts:
        sizes = [("a", 1, {"cpu": 4}), ("b", random.randint(1, 2), {"cpu": random.randint(1, 3)})]
        claim["pod_sets"] = [{"name": name, "count": count, "requests": needs} for name, count, needs in sizes]
    else:
        claim |= {"members": members or random.randint(1, 4), "requests": {"cpu": random.randint(1, 4)}}
    return {
        "cede": 1,
        "doctrine": "lattice",
        "topology": "group",
        "nodes": nodes,
        "queues": [],
        "workloads": [*works, claim],
    }


def fits_without(one: Pool, places: Iterable[int]) -> bool:
    """Whether the claimant fits when these, by places in the pool, are gone."""
    state = one.state
    free = state.nodes.free[:, : state.nodes.size].copy()
    for place in places:
        for at in state.residents_of(int(one.rows[place])):
            free[:, state.residents.node[at]] += state.residents.amount[:, at]
    return fits(state, one.claim, free)


def cost_of(one: Pool, places: Iterable[int]) -> int:
    return sum(int(one.cost[place]) for place in places)


def keeps_limits(one: Pool, places: Iterable[int]) -> bool:
    bound = [place for place in places if one.counted[place]]
    dear = one.value is not None and bool(bound) and cost_of(one, bound) >= one.value
    return not dear and (one.most is None or len(bound) <= one.most)


def enough(one: Pool) -> list[tuple[int, ...]]:
    """All sets that make room, whatever the limits."""
    key = (id(one.state), one.rows.tobytes())
    if key not in _ENOUGH:
        _ENOUGH[key] = _enough(one)
    return _ENOUGH[key]


_ENOUGH: dict[tuple[int, bytes], list[tuple[int, ...]]] = {}
"""Kept as long as the pools are, which are never let go."""


def _enough(one: Pool) -> list[tuple[int, ...]]:
    every = range(len(one.rows))
    return [
        found for size in range(1, len(every) + 1) for found in combinations(every, size) if fits_without(one, found)
    ]


def preferred(one: Pool) -> set[int] | None:
    """The rows that the policy prefers, by trying all: of those at most a tenth dearer than the cheapest the fewest."""
    allowed = [found for found in enough(one) if keeps_limits(one, found)]
    if not allowed:
        return None
    cheapest = min(cost_of(one, found) for found in allowed)
    near = [found for found in allowed if 10 * cost_of(one, found) <= 11 * cheapest]
    return {int(one.rows[place]) for place in min(near, key=lambda found: score(one, found))}


def score(one: Pool, places: tuple[int, ...]) -> Score:
    """Fewest victims, then least cost, then lower classes from the highest on, then uids and names."""
    state, rows = one.state, [int(one.rows[place]) for place in places]
    classes = sorted((int(state.work.priority[row]) for row in rows), reverse=True)
    return len(rows), cost_of(one, places), classes, sorted((state.uids[row], state.work_names[row]) for row in rows)
