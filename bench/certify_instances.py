"""Seeded clusters on which one claimant must choose among many victims, each of another cost."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from cede.doctrines.document import parse_document
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.cost import costs_of
from cede.doctrines.parts.orders import Rows
from cede.state.build import build
from cede.state.columns import RUNNING, Int64s
from cede.state.state import State

GPUS = 8
HOURS = 12
CLAIMANT = "claims"
WHOLE, SHARED = "whole nodes", "shared nodes"
DOCTRINE = {"name": "lattice", "edition": "policy", "max_victims": 100_000, "value_rule": False}
"""Without the limits on number and cost that would leave out the large sets this is about."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A full cluster, its claimant and everybody who may go for it, with what each costs."""

    state: State
    claim: Claim
    rows: Rows
    cost: Int64s


def pool(candidates: int, kind: str, seed: int) -> Instance:
    """So many candidates that hold whole nodes, up to eight each, or share nodes with others; of the claimant's members
    as many find no room as a twentieth to a fifth of the nodes."""
    draw = random.Random(f"{kind} {candidates} {seed}")
    if kind == WHOLE:
        nodes, workloads = _whole(draw, candidates)
        return _instance(nodes, workloads, {"members": _wanted(draw, nodes), "exclusive": True})
    nodes, workloads, free = _shared(draw, candidates)
    size = draw.choice((4, 6, 8))
    fit = sum(left // size for left in free)
    return _instance(nodes, workloads, {"members": fit + _wanted(draw, nodes), "requests": {"gpu": size}})


def _wanted(draw: random.Random, nodes: list[str]) -> int:
    return max(2, round(len(nodes) * draw.uniform(0.05, 0.2)))


def gang(members: int, nodes: int, seed: int) -> Instance:
    """A gang that takes whole nodes of a cluster held by gangs of one to sixteen nodes, one node in fifty idle.

    On half of the nodes two gangs stand that take half of each, side by side on some and apart on others.
    """
    draw = random.Random(f"gang {members} {nodes} {seed}")
    names = [f"n{at:05d}" for at in range(nodes)]
    held = names[nodes // 50 :]
    draw.shuffle(held)
    alone, shared = held[: len(held) // 2], held[len(held) // 2 :]
    workloads: list[dict[str, Any]] = []
    half: dict[str, Any] = {"requests": {"gpu": GPUS // 2}}
    for layer, asks in ((alone, {"exclusive": True}), (shared, half), (shared, half)):
        left = draw.sample(layer, len(layer))
        while left:
            span = min(len(left), draw.choice((1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16)))
            own, left = left[:span], left[span:]
            workloads.append({**_work(draw, len(workloads)), "members": span, "nodes": own, **asks})
    return _instance(names, workloads, {"members": members, "exclusive": True})


def _whole(draw: random.Random, candidates: int) -> tuple[list[str], list[dict[str, Any]]]:
    names: list[str] = []
    workloads = []
    for at in range(candidates):
        own = [f"n{len(names) + one:05d}" for one in range(draw.randint(1, 8))]
        names += own
        workloads.append({**_work(draw, at), "members": len(own), "exclusive": True, "nodes": own})
    return names, workloads


def _shared(draw: random.Random, candidates: int) -> tuple[list[str], list[dict[str, Any]], list[int]]:
    """Members of one to four GPUs, up to four each, one after another on the first node that has room, so that nodes
    are nearly full and victims span them; and what is free on each."""
    free: list[int] = []
    workloads = []
    for at in range(candidates):
        size, members = draw.choice((1, 2, 2, 4)), draw.choice((1, 1, 2, 3, 4))
        own: list[int] = []
        for _ in range(members):
            node = next((one for one, left in enumerate(free) if left >= size and one not in own), len(free))
            if node == len(free):
                free.append(GPUS)
            free[node] -= size
            own.append(node)
        nodes = [f"n{node:05d}" for node in own]
        workloads.append({**_work(draw, at), "members": members, "requests": {"gpu": size}, "nodes": nodes})
    return [f"n{node:05d}" for node in range(len(free))], workloads, free


def _work(draw: random.Random, at: int) -> dict[str, Any]:
    mode = draw.choice(("auto", "auto", "manual", "none"))
    checkpoint = {"mode": mode, **({"time": draw.randrange(30, 1800)} if mode == "auto" else {})}
    started = -draw.randrange(60, HOURS * 3600)
    return {
        "name": f"w{at:05d}",
        "queue": "lab",
        "state": "running",
        "priority": draw.randrange(7),
        "submitted": started - draw.randrange(3600),
        "started": started,
        "walltime": draw.randrange(2 * HOURS * 3600, 8 * HOURS * 3600),
        "checkpoint": checkpoint,
    }


def _instance(nodes: list[str], workloads: list[dict[str, Any]], asks: dict[str, Any]) -> Instance:
    claimant = {"name": CLAIMANT, "queue": "lab", "priority": 9, "walltime": 86_400, **asks}
    document = {
        "cede": 1,
        "now": 0,
        "doctrine": DOCTRINE,
        "queues": [{"name": "lab"}],
        "nodes": [{"name": name, "capacity": {"gpu": GPUS}} for name in nodes],
        "workloads": [*workloads, claimant],
    }
    state = build(parse_document(document))
    rows = np.flatnonzero(state.work.state[: state.work.size] == RUNNING)
    return Instance(state, claim_of(state, state.work_index[CLAIMANT]), rows, costs_of(state, rows).total)
