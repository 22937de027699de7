"""Seeded clusters of vClusters for Lattice: gangs on whole nodes, more of them on shared ones, some on lent ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

Entry = dict[str, Any]

SEED = 2010
GI = 2**30
HOUR = 3_600
CAPACITY = {"cpu": 128, "memory": 1_024 * GI, "gpu": 8}
RACK = 32
TENANTS, WAITING = 40, 100
PARTS = (2, 1, 1, 1, 1, 1, 1)
"""The GPUs of those who share a node: all of them together take it whole."""
WHOLE = (1, 1, 2, 2, 2, 3, 4, 4, 6, 8)
SHARED = (1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 6)
"""On how many nodes those stand who have theirs to themselves, and those who share them."""

HOMES: tuple[tuple[str | None, int], ...] = (
    ("batch", 25),
    ("training", 25),
    ("web", 10),
    ("desks", 5),
    ("vault", 5),
    ("apart", 5),
    (None, 25),
)
"""Whose the nodes are, in hundredths."""
QUEUES: dict[str, Entry] = {
    "batch": {"type": "hpc_batch"},
    "training": {"type": "ml_training"},
    "web": {"type": "service"},
    "desks": {"type": "interactive"},
    "vault": {"type": "sensitive"},
    "apart": {"type": "hpc_batch", "allow_lending": False},
    "guests": {},
}
BORROWERS = ("batch", "training", "web", "desks", "guests", "guests")
TO_ITSELF = ("vault", "apart")


def vclusters(nodes: int) -> Entry:
    """A cluster file. All nodes are taken but one in five of `apart`, which lends none; a hundred wait since just now.

    Of three nodes one holds members of gangs that want it whole, the others seven members each of those who share.
    """
    draw = random.Random(SEED)
    entries = [_node(at, home) for at, home in enumerate(_homes(nodes))]
    running = list(_running(entries, draw))
    return {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "lattice", "edition": "policy"},
        "topology": "rack",
        "nodes": entries,
        "queues": [{"name": name, "settings": dict(settings)} for name, settings in QUEUES.items()],
        "tenants": [_tenant(at, nodes, draw) for at in range(TENANTS)],
        "workloads": [*running, *(_waiting(at, draw) for at in range(WAITING))],
    }


def _homes(nodes: int) -> list[str | None]:
    """The home of each node."""
    shares = [home for home, share in HOMES for _ in range(share)]
    return [shares[at * len(shares) // nodes] for at in range(nodes)]


def _node(at: int, home: str | None) -> Entry:
    labels = {"rack": f"r{at // RACK:04d}", "fingerprint": f"f{at * 7 % 4}", "use": "shared" if at % 3 else "whole"}
    entry = {"name": f"n{at:05d}", "capacity": dict(CAPACITY), "labels": labels}
    return entry if home is None else {**entry, "home": home}


def _tenant(at: int, nodes: int, draw: random.Random) -> Entry:
    """Three in four have a share, two in three a limit far off; the first one has both, and all of its budget."""
    entry: Entry = {"name": f"t{at:02d}"}
    if at % 4 != 3:
        entry |= {"share": 1 / TENANTS, "burst": draw.choice((0, 0.5, 1))}
    if at % 3 != 2:
        entry |= {"max_nodes": 10 * nodes, "max_workloads": 10 * nodes}
    return entry | ({"used": draw.choice((0.5, 0.9, 1.1))} if at % 5 == 4 else {})


def _running(nodes: list[Entry], draw: random.Random) -> Iterator[Entry]:
    """Whoever runs; about two for each node."""
    sections: dict[tuple[str | None, bool], list[str]] = {}
    for at, node in enumerate(nodes):
        if node.get("home") != "apart" or at % 5:
            sections.setdefault((node.get("home"), at % 3 == 0), []).append(node["name"])
    number = 0
    for (home, whole), names in sections.items():
        for gpus in (CAPACITY["gpu"],) if whole else PARTS:
            draw.shuffle(names)
            at = 0
            while at < len(names):
                members = min(draw.choice(WHOLE if whole else SHARED), len(names) - at)
                entry = fresh(f"a{number:06d}", draw, home=home) | shape(members, gpus, whole=whole)
                yield entry | {"nodes": sorted(names[at : at + members])}
                at += members
                number += 1


def shape(members: int, gpus: int, *, whole: bool = False) -> Entry:
    """What one asks for; memory and cores in proportion to GPUs."""
    share = {kind: amount * gpus // CAPACITY["gpu"] for kind, amount in CAPACITY.items()}
    return {"members": members, "requests": share} | ({"exclusive": True} if whole else {})


def fresh(name: str, draw: random.Random, *, home: str | None, now: int = 0) -> Entry:
    """One that runs on nodes of this home, of whichever class; it began at some time of its walltime, or just now."""
    queue = home if home in TO_ITSELF or (home and draw.random() < 0.7) else draw.choice(BORROWERS)
    walltime = draw.randrange(HOUR, 48 * HOUR)
    entry: Entry = {
        "name": name,
        "queue": queue,
        "tenant": f"t{draw.randrange(TENANTS):02d}",
        "state": "running",
        "priority": draw.choice((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8)),
        "submitted": now - 60 * HOUR,
        "started": now or -draw.randrange(60, walltime),
        "checkpoint": _checkpoint(draw),
    }
    return entry | ({"walltime": walltime} if draw.random() < 0.9 else {})


def _checkpoint(draw: random.Random) -> Entry:
    mode = draw.choice(("auto", "auto", "auto", "manual", "none", "none"))
    return {"mode": mode} | ({"time": draw.randrange(30, 1_200)} if mode == "auto" else {})


def _waiting(at: int, draw: random.Random) -> Entry:
    """One of those who came just now and whose turn is late."""
    whole = draw.random() < 0.4
    entry = {
        "name": f"w{at:03d}",
        "queue": draw.choice(BORROWERS),
        "tenant": f"t{draw.randrange(TENANTS):02d}",
        "priority": 0,
        "submitted": -draw.randrange(1, 60),
        "walltime": draw.randrange(HOUR, 24 * HOUR),
        "checkpoint": _checkpoint(draw),
    }
    return entry | shape(draw.choice(WHOLE), 8 if whole else draw.choice((1, 2)), whole=whole)
