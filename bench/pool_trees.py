"""Seeded pool trees over full nodes: pools in pools, operations of all sizes, some of them starving."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

SEED = 566743
GI = 2**30
EACH = 20
TOP = 24
DEEPEST = 4
NODES = (("small", 40, 0), ("large", 60, 0), ("gpu", 80, 8))
"""Kinds of node: cores, of which each allocation has a few, and GPUs, of which some have one each."""
SETTINGS: dict[str, Any] = {
    "name": "ytsaurus",
    "edition": "25.4",
    "enable_step_function_for_gang_operations": True,
    "max_running_operation_count": 20_000,
    "max_running_operation_count_per_pool": 20_000,
    "max_operation_count_per_pool": 20_000,
}


@dataclass(frozen=True, slots=True)
class Size:
    """How many pools and operations there are on how many nodes; about twenty allocations run on each."""

    pools: int
    operations: int
    nodes: int

    def part(self, factor: float) -> Size:
        """The same tree smaller, or larger."""
        return Size(*(max(1, round(count * factor)) for count in (self.pools, self.operations, self.nodes)))


PRODUCTION = Size(pools=566, operations=743, nodes=744)
"""As many pools and operations as a tree had that the release is tested with."""
LARGE = Size(pools=1_000, operations=5_000, nodes=10_000)


@dataclass(slots=True)
class _Pool:
    name: str
    parent: int
    depth: int
    gpu: bool
    inner: bool
    fifo: bool
    promised: float = 0.0


@dataclass(frozen=True, slots=True)
class _Operation:
    name: str
    pool: int
    gpu: bool
    size: float
    """By which nodes draw whose allocations they hold."""
    gi_a_core: int
    network: int


def pool_tree(size: Size, seed: int = SEED) -> dict[str, Any]:
    """A cluster file. Every node but one in a hundred is full; a third of the operations wait for more, most of them
    for long enough to preempt if they are below their share. Those in pools for GPUs may starve aggressively.
    """
    draw = random.Random(seed)
    pools = _pools(size.pools, draw)
    operations = _operations(size.operations, pools, draw)
    kinds = [NODES[min(2, int(draw.random() * 2.25))] for _ in range(size.nodes)]
    running = _running(kinds, operations, draw)
    cores = sum(cpu for _, cpu, _ in kinds)
    held = dict.fromkeys((one.name for one in operations), 0)
    for entry in running:
        held[entry["app"]] += 1
    waiting, hungry = _waiting(operations, held, draw)
    return {
        "cede": 1,
        "now": 0,
        "doctrine": SETTINGS,
        "nodes": [
            {"name": f"n{at:05d}", "capacity": _capacity(cpu, gpu), "labels": {kind: "true"}}
            for at, (kind, cpu, gpu) in enumerate(kinds)
        ],
        "queues": _queues(pools, running, cores, draw),
        "apps": _apps(operations, held, hungry, draw),
        "workloads": [*running, *waiting],
    }


def _capacity(cpu: int, gpu: int) -> dict[str, int]:
    found = {"user_slots": 32, "cpu": cpu, "memory": 4 * cpu * GI, "network": 100}
    return found | ({"gpu": gpu} if gpu else {})


def _pools(count: int, draw: random.Random) -> list[_Pool]:
    """Up to four pools deep; every fourth one may have pools below it, and every eighth of the others is FIFO."""
    found: list[_Pool] = []
    inner: list[int] = []
    for at in range(count):
        parent = -1 if at < min(TOP, max(2, count // 4)) else draw.choice(inner)
        above = found[parent] if parent >= 0 else None
        depth = above.depth + 1 if above else 1
        opens = above is None or (depth < DEEPEST and draw.random() < 0.25)
        fifo = not opens and draw.random() < 0.125
        found.append(_Pool(f"p{at:04d}", parent, depth, above.gpu if above else at % 6 == 1, opens, fifo))
        if opens:
            inner.append(at)
    return found


def _operations(count: int, pools: list[_Pool], draw: random.Random) -> list[_Operation]:
    """Mostly in pools without others below; of very different sizes, one in ten with nothing yet."""
    leaves = [at for at, pool in enumerate(pools) if not pool.inner] or list(range(len(pools)))
    found = []
    for number in range(count):
        pool = draw.choice(leaves) if draw.random() < 0.9 else draw.randrange(len(pools))
        size = 0.0 if number and draw.random() < 0.1 else draw.lognormvariate(0.0, 1.0)
        found.append(
            _Operation(
                f"o{number:05d}", pool, pools[pool].gpu, size, draw.choice((1, 2, 3, 4)), draw.choice((0, 0, 1, 2))
            )
        )
    return found


def _running(
    kinds: list[tuple[str, int, int]], operations: list[_Operation], draw: random.Random
) -> list[dict[str, Any]]:
    """Twenty on each node, that share its cores; on one node in a hundred one is missing."""
    gpus = [one for one in operations if one.gpu and one.size]
    plain = [one for one in operations if not one.gpu and one.size] or gpus
    plain_sums, gpu_sums = ([*accumulate(one.size for one in among)] for among in (plain, gpus))
    found: list[dict[str, Any]] = []
    for node, (_, cores, most) in enumerate(kinds):
        gpu = most if gpus else 0
        owners = draw.choices(gpus, cum_weights=gpu_sums, k=gpu) if gpu else []
        owners += draw.choices(plain, cum_weights=plain_sums, k=EACH - gpu)
        parts = _parts(cores, draw)
        if node % 100 == 50:
            owners, parts = owners[:-1], parts[:-1]
        for at, (owner, cpu) in enumerate(zip(owners, parts, strict=True)):
            found.append(
                _entry(f"a{len(found):06d}", owner, cpu, gpu=at < gpu)
                | {"state": "running", "nodes": [f"n{node:05d}"], "started": -draw.randrange(60, 200_000)}
            )
    return found


def _parts(cores: int, draw: random.Random) -> list[int]:
    """Twenty numbers around their middle with this sum."""
    middle = cores // EACH
    half = [draw.randrange(1, 2 * middle) for _ in range(EACH // 2)]
    found = half + [2 * middle - part for part in half]
    draw.shuffle(found)
    return found


def _entry(name: str, owner: _Operation, cpu: int, *, gpu: bool) -> dict[str, Any]:
    requests = {"user_slots": 1, "cpu": cpu, "memory": cpu * owner.gi_a_core * GI}
    if gpu:
        requests["gpu"] = 1
    if owner.network:
        requests["network"] = owner.network
    found = {"name": name, "queue": f"p{owner.pool:04d}", "app": owner.name, "requests": requests}
    return found | {"submitted": -200_000 - int(owner.name[1:])}


def _waiting(
    operations: list[_Operation], held: dict[str, int], draw: random.Random
) -> tuple[list[dict[str, Any]], set[str]]:
    """Every third operation waits for more, of one or two shapes; everybody who has nothing does."""
    found: list[dict[str, Any]] = []
    hungry: set[str] = set()
    for owner in operations:
        if held[owner.name] and draw.random() < 0.7:
            continue
        hungry.add(owner.name)
        shapes = [draw.choice((1, 2, 2, 3, 4)) for _ in range(draw.choice((1, 2)))]
        for _ in range(draw.randrange(1, 40) if draw.random() < 0.5 else draw.randrange(1, 6)):
            found.append(_entry(f"w{len(found):06d}", owner, draw.choice(shapes), gpu=owner.gpu))
    return found, hungry


def _queues(pools: list[_Pool], running: list[dict[str, Any]], cores: int, draw: random.Random) -> list[dict[str, Any]]:
    """Weights, guarantees that fit into those above, and limits a little above what is used."""
    used = dict.fromkeys(range(len(pools)), 0)
    for one in running:
        at = int(one["queue"][1:])
        while at >= 0:
            used[at] += one["requests"]["cpu"]
            at = pools[at].parent
    _promise(pools, draw)
    found = []
    for at, pool in enumerate(pools):
        entry: dict[str, Any] = {"name": pool.name}
        settings: dict[str, Any] = {}
        if pool.parent >= 0:
            entry["parent"] = pools[pool.parent].name
        elif pool.gpu:
            settings["enable_aggressive_starvation"] = True
        if pool.fifo:
            settings["mode"] = "fifo"
        if draw.random() < 0.2:
            settings["below_fair_share_since"] = -draw.randrange(10, 100)
        if draw.random() < 0.3:
            entry["weight"] = draw.choice((0.5, 2, 3, 5, 10))
        promised = int(pool.promised * cores)
        if promised:
            entry["guaranteed"] = {"cpu": promised} | ({"memory": promised * 2 * GI} if at % 3 == 0 else {})
        if draw.random() < 0.15:
            entry["max"] = {"cpu": max(20, used[at] + draw.randrange(1, 40))}
        found.append(entry | ({"settings": settings} if settings else {}))
    return found


def _promise(pools: list[_Pool], draw: random.Random) -> None:
    """Two thirds of the cores are guaranteed at the top; below, most of it to half of the children."""
    below: dict[int, list[int]] = {}
    for at, pool in enumerate(pools):
        below.setdefault(pool.parent, []).append(at)
    for parent, children in below.items():
        whole = 0.66 if parent < 0 else 0.8 * pools[parent].promised
        chosen = [at for at in children if draw.random() < 0.5]
        lots = [draw.random() for _ in chosen]
        for at, lot in zip(chosen, lots, strict=True):
            pools[at].promised = whole * lot / sum(lots)


def _apps(
    operations: list[_Operation], held: dict[str, int], hungry: set[str], draw: random.Random
) -> list[dict[str, Any]]:
    """Some weigh more, some are gangs, some have limits of their own; most of those that wait have done so for long."""
    found = []
    for one in operations:
        entry: dict[str, Any] = {"name": one.name, "queue": f"p{one.pool:04d}"}
        settings: dict[str, Any] = {}
        if draw.random() < 0.2:
            entry["weight"] = draw.choice((2, 5))
        if draw.random() < 0.05:
            settings["is_gang"] = True
        if draw.random() < 0.05:
            settings["resource_limits"] = {"user_slots": held[one.name] + draw.randrange(1, 20)}
        if one.name in hungry and draw.random() < 0.7:
            settings["below_fair_share_since"] = -draw.randrange(10, 600)
        found.append(entry | ({"settings": settings} if settings else {}))
    return found
