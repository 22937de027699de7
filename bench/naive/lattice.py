"""Lattice's decision on one claimant as a competent person writes it first: plain objects, every workload looked at.

`cede bench lattice` runs it as the yardstick, on clusters where members are alike, have GPUs and stand on a node each,
and nobody asks for a placement. It knows nothing of the columns and shares no code with the doctrine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Entry = dict[str, Any]

MOST_VICTIMS, NEAR_END, MANUAL, AUTO = 3, 300, 600, 300
DAY = 86_400


@dataclass(slots=True)
class Work:
    """Who runs: where, of which class, and what its preemption costs, in millionths of a minute."""

    entry: Entry
    cost: int
    counted: bool = True
    """Whether the most victims and the claimant's value bind it."""
    bound: int = 0
    """So many members could at most find room because of it."""

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def rank(self) -> tuple[int, int, str]:
        return self.cost, int(self.entry["priority"]), self.name


@dataclass(slots=True)
class Node:
    """What is free, and who stands there."""

    name: str
    home: str | None
    free: dict[str, int]
    gpus: int
    people: dict[str, bool] = field(default_factory=dict)
    """By name, whether one has the node to itself."""


class World:
    """Nodes that the claimant may use, as somebody leaves and comes back; `total` members find room."""

    def __init__(self, nodes: dict[str, Node], claimant: Entry) -> None:
        self.claimant, self.members = claimant, int(claimant["members"])
        self.nodes = {
            name: Node(name, node.home, dict(node.free), node.gpus, dict(node.people)) for name, node in nodes.items()
        }
        self.room = {name: self._room(node) for name, node in self.nodes.items()}
        self.total = sum(self.room.values())

    def _room(self, node: Node) -> int:
        fits = min(node.free[kind] // amount for kind, amount in self.claimant["requests"].items())
        if self.claimant.get("exclusive"):
            return min(1, max(0, fits)) if not node.people else 0
        return 0 if any(node.people.values()) else max(0, min(fits, self.members))

    def move(self, work: Work, sign: int) -> None:
        """It leaves, or is back."""
        for name in work.entry["nodes"]:
            node = self.nodes.get(name)
            if node is None:
                continue
            for kind, amount in work.entry["requests"].items():
                node.free[kind] += sign * amount
            if sign > 0:
                del node.people[work.name]
            else:
                node.people[work.name] = bool(work.entry.get("exclusive"))
            room = self._room(node)
            self.total += room - self.room[name]
            self.room[name] = room


def decide(document: Entry, claimant: Entry) -> tuple[str, list[str]]:
    """What becomes of the claimant, whose turn it is, and the names of the victims in order."""
    nodes = _nodes(document)
    queues = {queue["name"]: queue.get("settings", {}) for queue in document["queues"]}
    claims = _sensitive(claimant, queues) and "nodes" in claimant.get("constraints", {})
    usable = {name: node for name, node in nodes.items() if _may_use(node, claimant, queues, claims)}
    world = World(usable, claimant)
    if world.total >= world.members:
        return "start", []
    works = [
        Work(entry, _cost(entry, nodes, document["now"]))
        for entry in document["workloads"]
        if entry.get("state") == "running" and any(name in usable for name in entry["nodes"])
    ]
    value = _value(claimant, nodes.values())
    found = Search(
        world, [work for work in works if _open(work, claimant, nodes, queues, document["now"], claims)], value
    )
    chosen = found.best()
    return ("wait", []) if chosen is None else ("preempt", sorted(work.name for work in chosen))


def _nodes(document: Entry) -> dict[str, Node]:
    found = {
        node["name"]: Node(node["name"], node.get("home"), dict(node["capacity"]), node["capacity"]["gpu"])
        for node in document["nodes"]
    }
    for entry in document["workloads"]:
        for name in entry.get("nodes", ()):
            for kind, amount in entry["requests"].items():
                found[name].free[kind] -= amount
            found[name].people[entry["name"]] = bool(entry.get("exclusive"))
    return found


def _sensitive(entry: Entry, queues: dict[str, Entry]) -> bool:
    return bool(entry.get("sensitive")) or entry["priority"] >= 10 or queues[entry["queue"]].get("type") == "sensitive"


def _may_use(node: Node, claimant: Entry, queues: dict[str, Entry], claims: bool) -> bool:
    named = claimant.get("constraints", {}).get("nodes")
    if named is not None and node.name not in named:
        return False
    if claims or node.home in (None, claimant["queue"]):
        return True
    own, home = queues[claimant["queue"]], queues[str(node.home)]
    if "sensitive" in (own.get("type"), home.get("type")):
        return False
    return bool(own.get("allow_borrowing", True) and home.get("allow_lending", True))


def _cost(entry: Entry, nodes: dict[str, Node], now: int) -> int:
    """Minutes to save, or of work that is lost for every GPU, and what its progress adds; in millionths."""
    mode, elapsed = entry["checkpoint"]["mode"], max(0, now - entry["started"])
    minutes = 0.0
    if mode == "auto":
        minutes = entry["checkpoint"].get("time", AUTO) / 60
    elif mode == "manual":
        minutes = MANUAL / 60
    else:
        minutes = elapsed / 60 * _gpus(entry, nodes)
    if "walltime" in entry:
        used = elapsed / entry["walltime"]
        minutes += 1000 if used >= 0.9 else 1 if used < 0.1 else 100 * used
    return round(minutes * 1_000_000)


def _gpus(entry: Entry, nodes: dict[str, Node]) -> int:
    if entry.get("exclusive"):
        return sum(nodes[name].gpus for name in entry["nodes"])
    return len(set(entry["nodes"])) * int(entry["requests"]["gpu"])


def _value(claimant: Entry, nodes: Iterable[Node]) -> int:
    named = claimant.get("constraints", {}).get("nodes")
    each = int(claimant["requests"]["gpu"])
    if claimant.get("exclusive"):
        each = min(node.gpus for node in nodes if named is None or node.name in named)
    minutes = float(claimant.get("walltime", DAY)) / 60
    share, members = float(claimant["priority"]) / 10, int(claimant["members"])
    return round(share * members * each * minutes * 1_000_000)


def _open(
    work: Work, claimant: Entry, nodes: dict[str, Node], queues: dict[str, Entry], now: int, claims: bool
) -> bool:
    """Whether it may go; marks those whom the limits do not bind."""
    entry = work.entry
    if _sensitive(entry, queues) or not entry.get("preemptible", True):
        return False
    if claims:
        work.counted = False
        return True
    if "walltime" in entry and entry["started"] + entry["walltime"] - now <= NEAR_END:
        return False
    homes = [nodes[name].home for name in entry["nodes"]]
    if entry["queue"] != claimant["queue"] and claimant["queue"] in homes:
        work.counted = False
        return True
    if entry["priority"] >= claimant["priority"]:
        return False
    if entry["checkpoint"]["mode"] == "none" and entry["priority"] >= 7:
        return False
    at_home = any(home is None or home == entry["queue"] for home in homes)
    return not (at_home and queues[entry["queue"]].get("type") == "service")


class Search:
    """All sets of those who may go, the cheapest first, as far as bounds do not rule them out."""

    def __init__(self, world: World, works: list[Work], value: int) -> None:
        self.world, self.value = world, value
        full = World({node.name: node for node in world.nodes.values()}, world.claimant)
        for work in works:
            full.move(work, 1)
        for work in works:
            named = [name for name in work.entry["nodes"] if name in world.nodes]
            work.bound = sum(full.room[name] - world.room[name] for name in named)
        self.works = sorted((work for work in works if work.bound > 0), key=lambda work: work.rank)
        self.hope = World({node.name: node for node in world.nodes.values()}, world.claimant)
        """The world without all who were not passed over yet."""
        for work in self.works:
            self.hope.move(work, 1)
        self.all_counted = all(work.counted for work in self.works)
        self.widest = [0] * (len(self.works) + 1)
        for at in range(len(self.works) - 1, -1, -1):
            self.widest[at] = max(self.works[at].bound, self.widest[at + 1])
        self.taken: list[Work] = []
        self.cheapest: int | None = None
        self.limit: int | None = None
        self.found: tuple[Any, list[Work]] | None = None

    def best(self) -> list[Work] | None:
        """The fewest, then cheapest, of the sets that cost at most a tenth more than the cheapest one."""
        for work in self.works:
            self.world.move(work, 1)
            enough = self.world.total >= self.world.members
            self.world.move(work, -1)
            if enough and self._lawful([work]):
                self.cheapest = work.cost
                break
        self._walk(0, 0)
        if self.cheapest is None:
            return None
        self.limit = 11 * self.cheapest // 10
        self._walk(0, 0)
        assert self.found is not None
        return self.found[1]

    def _lawful(self, works: list[Work]) -> bool:
        bound = [work for work in works if work.counted]
        return len(bound) <= MOST_VICTIMS and (not bound or sum(work.cost for work in bound) < self.value)

    def _too_dear(self, cost: int, count: int) -> bool:
        if self.limit is not None:
            return cost > self.limit or (self.found is not None and (count, cost) > self.found[0][:2])
        return self.cheapest is not None and cost >= self.cheapest

    def _walk(self, at: int, cost: int) -> None:
        """Sets that begin with those who are taken; first for the least cost, then, with a limit, for the best."""
        missing = self.world.members - self.world.total
        if missing <= 0:
            if self.limit is None:
                self.cheapest = cost
            else:
                classes = sorted((int(work.entry["priority"]) for work in self.taken), reverse=True)
                taste = (len(self.taken), cost, classes, sorted(work.name for work in self.taken))
                if self.found is None or taste < self.found[0]:
                    self.found = taste, list(self.taken)
            return
        passed = []
        for place in range(at, len(self.works)):
            work = self.works[place]
            left = len(self.works) - place
            if self.all_counted:
                left = min(left, MOST_VICTIMS - len(self.taken))
            if missing > left * self.widest[place] or self._too_dear(cost + work.cost, len(self.taken) + 1):
                break
            self.taken.append(work)
            if self._lawful(self.taken):
                self.world.move(work, 1)
                self._walk(place + 1, cost + work.cost)
                self.world.move(work, -1)
            self.taken.pop()
            self.hope.move(work, -1)
            passed.append(work)
            if self.hope.total < self.world.members:
                break
        for work in passed:
            self.hope.move(work, 1)
