"""Small crowded Lattice clusters: gangs over lent nodes, work near every threshold, one to three that want in.

`cluster` makes one from a seed. What does not fit where it was drawn is left out, so that every document is one that a
scheduler could have brought about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Document = dict[str, Any]

TYPES = ("hpc_batch", "hpc_batch", "ml_training", "service", "service", "sensitive", "interactive", None)
SPANS = ("600s", "1h", "1h", "2h", "2h", "10h", "26h", None)
LEFT = (299, 300, 301, 60, 0, -60, 900)
USED = (0.05, 0.0999, 0.1, 0.1001, 0.3, 0.5, 0.75, 0.8999, 0.9, 0.95)
CLOSE = (300, 300, 300, 285, 315, 330, 330, 331, 270)
"""Seconds to save what runs on one node, where large victims cost about as much as several small ones."""
SAVING = ("30s", "1m", "5m", "5m", "330s", "6m", "10m", "11m", "12m", None)
STATES = ("running",) * 14 + ("reserved", "preempting", "checkpointing")
TRAITS = ("homes", "duel", "close", "quota", "line", "claims", "mixed", "even", "idle")
"""What a cluster may be about; each is left to chance where it is not asked for."""


def lattice_clusters(edition: str = "policy", *traits: str) -> SearchStrategy[Document]:
    """The same for Hypothesis."""
    return st.integers(0, 2**32 - 1).map(lambda seed: cluster(seed, edition, traits))


def cluster(seed: int, edition: str = "policy", traits: Sequence[str] = ()) -> Document:
    """The cluster of this seed."""
    return Draft(Random(f"lattice {seed}"), edition, traits).document()


class Draft:
    """One document in the making; `free` and `whole` say what is left on each node."""

    def __init__(self, random: Random, edition: str, traits: Sequence[str]) -> None:
        self.random = random
        self.edition = edition
        self.traits = set(traits) or self.one((set(), {"close"}, {"line"})) or set(self.random.sample(TRAITS, 2))
        self.traits |= {"duel"} if "close" in self.traits else set()
        self.calm = bool(self.traits & {"close", "line"}) and not self.rarely(5)
        """Whether little stands in the way beside what the cluster is about."""
        self.gpus = self.rarely(2) or "mixed" in self.traits
        self.wide = self.rarely(3)
        self.queues = [self.queue(name) for name in ("qa", "qb", "qc")[: self.one((1, 2, 2, 3))]]
        sizes = (4, 5, 5, 6) if "close" in self.traits else (2, 3, 3, 4, 4, 5, 6)
        self.nodes = [self.node(f"n{number}") for number in range(self.one(sizes))]
        self.free = {node["name"]: _left(node) for node in self.nodes}
        self.whole: dict[str, bool] = {}

    def one(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)

    def rarely(self, chances: int) -> bool:
        return self.random.randrange(chances) == 0

    # -- the parts -----------------------------------------------------------------------------------------------------

    def queue(self, name: str) -> Document:
        kind = self.one((None, "hpc_batch", "ml_training", "interactive") if "duel" in self.traits else TYPES)
        settings = _given({"type": kind})
        for switch in ("allow_borrowing", "allow_lending"):
            if self.rarely(4):
                settings[switch] = self.one((True, False))
        entry: Document = {"name": name, "settings": settings}
        if not self.calm and self.rarely(2 if "quota" in self.traits else 9):
            entry["max"] = {"cpu": self.one((0, 2, 4, 6, 8, 8, 12))}
        return entry

    def node(self, name: str) -> Document:
        capacity = {"cpu": self.one((2, 4, 4, 4))}
        if self.gpus:
            capacity |= _given({"gpu": self.one((None, 1, 2, 4, 4) if "mixed" in self.traits else (2, 4, 4))})
        labels = {"group": self.one(("g1", "g2", "g2", "g3") if self.wide else ("g1", "g2"))} | _given(
            {"zone": self.one((None, "a", "b"))}
        )
        if self.rarely(2 if "even" in self.traits else 8):
            labels["fingerprint"] = self.one("xyy")
        entry: Document = {"name": name, "capacity": capacity, "labels": labels}
        homes = [queue["name"] for queue in self.queues]
        if not self.rarely(4 if "homes" in self.traits else 2):
            entry["home"] = self.one(homes)
        if self.calm:
            entry["capacity"]["cpu"] = 4
            entry.pop("home" if self.rarely(2) else "", None)
            return entry
        if self.rarely(15):
            entry["state"] = self.one(("cordoned", "cordoned", "down"))
        if self.rarely(15):
            entry["occupied"] = {"cpu": 1}
        return entry

    def workload(self, name: str) -> Document:
        """What all have in common."""
        exclusive = not self.rarely(9 if "close" in self.traits else 3)
        entry: Document = {"name": name, "uid": f"{self.one('012')}-{name}", "exclusive": exclusive}
        entry["requests"] = {"cpu": self.one((1, 2, 2)) if not exclusive else self.one((1, 1, 2, 2, 2, 3))}
        if self.gpus and self.rarely(3):
            entry["requests"]["gpu"] = self.one((1, 1, 2))
        if not self.rarely(10):
            entry["queue"] = self.one(self.queues)["name"]
        members = self.one((1, 1, 1, 2, 2, 3) if exclusive else (1, 1, 2, 3))
        if "close" in self.traits:
            members = self.one((1, 1, 1, 2, 2))
        entry |= {"members": members} if members > 1 else {}
        if self.rarely(2):
            entry["tenant"] = self.one(("t1", "t2", "unlisted"))
        return entry

    def checkpoint(self) -> Document:
        mode = self.one(("auto", "auto", "manual", "none", "none"))
        last = self.one((None, None, -60, -600, 5))
        return {"mode": mode} | _given({"time": self.one(SAVING) if mode == "auto" else None, "last": last})

    def running(self, name: str) -> Document:
        entry = self.workload(name) | {"checkpoint": self.checkpoint()}
        entry["priority"] = self.one((0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10))
        if self.rarely(12):
            entry["sensitive"] = True
        if self.rarely(12):
            entry["preemptible"] = False
        entry["state"] = self.one(STATES)
        entry |= self.times()
        if "duel" in self.traits:
            entry |= {"priority": self.one((0, 1, 1, 2, 3)), "state": "running"}
            entry |= {"preemptible": True, "sensitive": False}
        if "close" in self.traits:
            entry["checkpoint"] = {"mode": "auto", "time": self.one(CLOSE) * entry.get("members", 1)}
            entry.pop("walltime", None)
        return entry

    def times(self) -> Document:
        """When it began and how long it runs, so that it is near a threshold."""
        walltime = self.one(SPANS)
        if walltime is None or self.rarely(8):
            return _given({"walltime": walltime, "started": self.one((None, -30, -600, -5400))})
        seconds = _seconds(walltime)
        left = self.one(LEFT) if self.rarely(5) else round(seconds * (1 - self.one(USED)), 3)
        return {"walltime": walltime, "started": round(left - seconds, 3)}

    def pending(self, name: str) -> Document:
        entry = self.workload(name) | {"checkpoint": self.checkpoint(), "state": "pending"}
        entry |= {
            "priority": self.one((0, 2, 4, 5, 6, 7, 8, 8, 9, 9, 10)),
            "submitted": -self.one((0, 0, 60, 1800, 7200)),
        }
        entry |= _given({"walltime": self.one((None, "1m", "5m", "20m", "1h", "1h", "10h"))})
        entry |= _given({"placement": self.one((None,) * 4 + ("tight", "tight", "spread"))})
        if self.rarely(12):
            entry["preempts"] = False
        if self.rarely(10):
            entry["state"] = "suspended"
        if "duel" in self.traits:
            entry |= {"priority": self.one((4, 6, 8, 9)), "members": self.one((1, 2, 2, 3, 4))}
        if "line" in self.traits:
            entry |= {"members": self.one((1, 1, 2, 4)), "priority": self.one((0, 2, 9)), "preempts": self.rarely(2)}
        if not self.rarely(15):
            entry["members"] = min(entry.get("members", 1), max(1, len(self.nodes) - self.one((0, 1))))
        if "placement" in entry and not self.rarely(5):
            entry["members"] = min(entry.get("members", 1), 2)
        if "claims" in self.traits or not (self.calm or self.rarely(4)):
            self.wish(entry)
        return entry

    def wish(self, entry: Document) -> None:
        """Where it wants to stand, and whether it is a sensitive claim."""
        names = [node["name"] for node in self.nodes]
        wish = self.random.randrange(15)
        if "claims" in self.traits and self.rarely(2):
            wish = self.one((0, 0, 0, 1))
            entry |= self.one(({"sensitive": True}, {"priority": 10}))
        if wish == 0:
            least = min(len(names), entry.get("members", 1))
            entry["constraints"] = {"nodes": self.random.sample(names, min(len(names), least + self.one((0, 0, 1))))}
        elif wish == 1:
            entry["required_node"] = self.one(names)
        elif wish == 2:
            entry["constraints"] = {"labels": {"zone": self.one("ab")}}
        elif wish == 3:
            entry["constraints"] = {"labels": {"group": self.one(("g1", "g2", "g3"))}}
        if "required_node" in entry and entry["exclusive"]:
            entry.pop("members", None)
        if self.rarely(10):
            entry["user"] = "ann"

    def stand(self, entry: Document) -> bool:
        """Put it on nodes with room, if there are any."""
        members, exclusive = int(entry.get("members", 1)), bool(entry["exclusive"])
        names = self.random.sample(list(self.free), len(self.free))
        placed: list[str] = []
        left = {name: Counter(room) for name, room in self.free.items()}
        for name in names * (1 if exclusive else members):
            alone = name not in self.whole if exclusive else not self.whole.get(name, False)
            fits = all(left[name][key] >= amount for key, amount in entry["requests"].items())
            if alone and fits and len(placed) < members:
                placed.append(name)
                left[name].subtract(entry["requests"])
        if len(placed) < members:
            return False
        self.free = left
        self.whole |= dict.fromkeys(placed, exclusive)
        entry["nodes"] = placed
        return True

    # -- the whole -----------------------------------------------------------------------------------------------------

    def document(self) -> Document:
        most = self.one((6, 5, 4, 3, 2) if "line" in self.traits else (8, 8, 7, 6, 5, 3))
        if "idle" in self.traits:
            most = self.one((0, 1, 2, 3))
        drawn = [self.running(f"r{number}") for number in range(most + 3)]
        workloads = [entry for entry in drawn if self.stand(entry)][:most]
        leaving = [entry for entry in workloads if entry["state"] == "preempting"]
        if leaving and self.rarely(3):
            workloads.append({**leaving[0], "name": "next", "uid": "next", "state": "reserved", "priority": 9})
            workloads[-1]["checkpoint"] = dict(leaving[0]["checkpoint"])
            workloads[-1].pop("started", None)
        waiting = self.one((2, 3, 3) if "line" in self.traits else (1, 1, 1, 2, 3))
        claimants = [self.pending(f"p{number}") for number in range(waiting)]
        if waiting == 1 and self.rarely(3 if "idle" in self.traits else 8):
            self.differ(claimants[0])
        found: Document = {"cede": 1, "doctrine": self.doctrine(), "nodes": self.nodes, "queues": self.queues}
        found["workloads"] = workloads + claimants
        if self.rarely(2) or "quota" in self.traits:
            found["tenants"] = [self.tenant(name) for name in ("t1", "t2")]
        if self.rarely(4):
            found["policies"] = [{"user": "ann", "default_priority": 2, "max_priority": 6}]
        if self.rarely(10):
            self.one(self.nodes)["reserved_for"] = self.one(claimants)["name"]
        return _later(found, 5000) if self.rarely(8) else found

    def doctrine(self) -> Document:
        return {"name": "lattice", "edition": self.edition} | _given(
            {
                "max_victims": self.one((None, None, None, 1, 2, 4, 9)) if not self.calm else self.one((None, 9)),
                "near_completion_threshold": self.one((None,) * 4 + ("0s", "30m")),
                "manual_checkpoint_time": self.one((None, None, None, "1m")),
                "value_rule": False if self.calm else self.one((None, None, True, False)),
                "patience": self.one((None,) * 5 + (None if self.calm else "5m", "1h", "20h")),
            }
        )

    def tenant(self, name: str) -> Document:
        hard = "quota" in self.traits
        limits = {"max_nodes": (None, 1, 2, 3, 5), "max_workloads": (None, 0, 1, 2, 4)}
        found = {key: self.one(options) if hard or self.rarely(4) else None for key, options in limits.items()}
        found |= {"share": self.one((None, 0, 0.2, 0.5)), "used": self.one((None, 0.5, 0.9, 1.1, 1.5))}
        bursts = (None, 0, 0.5) if self.edition == "core" else (None, 0.5)
        return {"name": name} | _given(found | {"burst": self.one(bursts)})

    def differ(self, entry: Document) -> None:
        """Members of different size instead of equal ones."""
        requests = entry.pop("requests")
        entry.pop("members", None)
        parts = [("driver", 1, requests | {"cpu": self.one((1, 2, 4))}), ("worker", self.one((1, 2, 3)), requests)]
        entry["pod_sets"] = [{"name": name, "count": count, "requests": asked} for name, count, asked in parts]
        if entry["exclusive"] and "required_node" in entry:
            del entry["required_node"]


def _given(values: Document) -> Document:
    return {key: value for key, value in values.items() if value is not None}


def _later(document: Document, seconds: int) -> Document:
    """The same at another time of the file's clock."""
    for workload in document["workloads"]:
        for entry, key in ((workload, "started"), (workload, "submitted"), (workload["checkpoint"], "last")):
            if key in entry:
                entry[key] = round(entry[key] + seconds, 3)
    return {**document, "now": seconds}


def _left(node: Document) -> Counter[str]:
    left = Counter[str](node["capacity"])
    left.subtract(node.get("occupied", {}))
    return left


def _seconds(span: str) -> int:
    return int(span[:-1]) * {"s": 1, "m": 60, "h": 3600}[span[-1]]
