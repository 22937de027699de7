"""A YuniKorn cluster file read the slow way: plain numbers and names, every sum made anew from who stands where.

Only quantities and times are parsed by the project's own code. What a referee concludes from this is its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.model.quantities import parse_quantity
from cede.model.times import parse_duration, parse_time

Document = dict[str, Any]
Amounts = dict[str, int]

HOLDS = ("reserved", "running", "checkpointing", "preempting")
STAYS = ("reserved", "running", "checkpointing")
NOWHERE = ""
"""The one node of unlimited room on which everything stands if a file has no nodes."""


@dataclass(eq=False)
class Work:
    """One workload; `need` is what one member takes, in every type that it really asks for."""

    entry: Document
    name: str
    uid: str
    queue: str
    app: str
    state: str
    priority: int
    submitted: int
    members: int
    need: Amounts
    nodes: list[str]

    @property
    def required(self) -> str | None:
        found: str | None = self.entry.get("required_node")
        return found

    @property
    def preemptible(self) -> bool:
        return bool(self.entry.get("preemptible", True))

    @property
    def preempts(self) -> bool:
        return bool(self.entry.get("preempts", True))

    @property
    def originator(self) -> bool:
        return bool(self.entry.get("originator", False))

    @property
    def whole(self) -> Amounts:
        return {key: amount * self.members for key, amount in self.need.items()}


@dataclass(eq=False)
class Machine:
    name: str
    entry: Document
    capacity: Amounts
    occupied: Amounts
    reserved_for: str | None

    @property
    def ready(self) -> bool:
        return bool(self.entry.get("state", "ready") == "ready")

    @property
    def down(self) -> bool:
        return bool(self.entry.get("state") == "down")


@dataclass
class Board:
    """Who stands where. `gone` have left, `placed` have come since the file was written."""

    document: Document
    now: int
    machines: dict[str, Machine]
    works: dict[str, Work]
    queues: dict[str, Document]
    gone: set[str] = field(default_factory=set)
    placed: dict[str, list[str]] = field(default_factory=dict)
    paths: dict[str, list[str]] = field(default_factory=dict)

    # -- queues ------------------------------------------------------------------------------------------------------

    def path(self, queue: str) -> list[str]:
        """The queue and all above it, upwards."""
        if queue not in self.paths:
            parent = self.queues.get(queue, {}).get("parent")
            self.paths[queue] = [queue, *([] if parent is None else self.path(parent))]
        return self.paths[queue]

    def children(self, queue: str) -> list[str]:
        return sorted(name for name, entry in self.queues.items() if entry.get("parent") == queue)

    def setting(self, queue: str, key: str) -> Any:
        return self.queues.get(queue, {}).get("settings", {}).get(key)

    def inherited(self, queue: str, key: str) -> Any:
        """The value of the nearest queue that has one, upwards."""
        given = (self.setting(name, key) for name in self.path(queue))
        return next((value for value in given if value is not None), None)

    def disabled(self, queue: str) -> bool:
        return bool(self.inherited(queue, "preemption.policy") == "disabled")

    def delay(self, queue: str) -> int:
        given = self.inherited(queue, "preemption.delay")
        return parse_duration("30s" if given is None else given)

    def guaranteed(self, queue: str) -> Amounts:
        return self._limit(queue, "guaranteed")

    def maximum(self, queue: str) -> Amounts:
        """What the queue itself may use at most; a root has no limit but its nodes."""
        return self._limit(queue, "max") if len(self.path(queue)) > 1 else {}

    def _limit(self, queue: str, key: str) -> Amounts:
        given = _amounts(self.queues.get(queue, {}).get(key) or {})
        return given if any(given.values()) else {}

    def usage(self, queue: str, without: Collection[str] = (), *, states: Collection[str] = HOLDS) -> Amounts:
        """What all that stand in or below the queue hold; of who leaves and who waits for that, the larger counts."""
        held: dict[str, Counter[str]] = {state: Counter() for state in ("reserved", "preempting", "running")}
        for work in self.holders(without):
            state = "running" if work.name in self.placed else work.state
            if state in states and queue in self.path(work.queue):
                held.get(state, held["running"]).update(work.whole)
        return dict(held["running"] + (held["reserved"] | held["preempting"]))

    def under_every_max(self, work: Work, without: Collection[str] = (), *, alone: bool = False) -> bool:
        """Whether no max on its path is exceeded with it; `alone`: if nothing else ran."""
        for queue in self.path(work.queue):
            used = {} if alone else self.usage(queue, without)
            for key, limit in self.maximum(queue).items():
                asked = work.whole.get(key, 0)
                if asked and used.get(key, 0) + asked > limit:
                    return False
        return True

    # -- nodes -------------------------------------------------------------------------------------------------------

    def holders(self, without: Collection[str] = ()) -> list[Work]:
        """All that hold room now, also those that were given it since."""
        out = self.gone | set(without)
        return [w for w in self.works.values() if (w.state in HOLDS or w.name in self.placed) and w.name not in out]

    def standing(self, work: Work) -> list[str]:
        if not self.document.get("nodes"):
            return [NOWHERE] * work.members
        return self.placed.get(work.name, work.nodes)

    def residents(self, node: str) -> list[Work]:
        return [work for work in self.holders() if node in self.standing(work)]

    def free(self, machine: Machine, without: Collection[str] = ()) -> Amounts:
        """What is left of a node: of who leaves and who waits for that, the larger counts."""
        left = Counter(machine.capacity)
        left.subtract(machine.occupied)
        leaving, held = Counter[str](), Counter[str]()
        for work in self.holders(without):
            for name in self.standing(work):
                if name == machine.name:
                    state = "running" if work.name in self.placed else work.state
                    bucket = {"reserved": held, "preempting": leaving}.get(state)
                    if bucket is None:
                        left.subtract(work.need)
                    else:
                        bucket.update(work.need)
        return {key: left[key] - max(leaving[key], held[key]) for key in {**left, **leaving, **held}}

    def matching(self, work: Work) -> list[Machine]:
        """Nodes of the right labels and names, whatever their state."""
        limits: Mapping[str, Any] = work.entry.get("constraints") or {}
        return [
            machine
            for machine in self.machines.values()
            if work.required in (None, machine.name)
            and (not limits.get("nodes") or machine.name in limits["nodes"])
            and all(
                machine.entry.get("labels", {}).get(key) == value for key, value in limits.get("labels", {}).items()
            )
        ]

    def reserved_for_long(self, machine: Machine) -> bool:
        """Whether its reservation is older than an hour; who does not say when made it two seconds after it came."""
        assert machine.reserved_for is not None
        since = parse_time(machine.entry["reserved_since"]) if "reserved_since" in machine.entry else None
        if since is None:
            since = self.works[machine.reserved_for].submitted + parse_duration("2s")
        return self.now - since > parse_duration("60m")

    def usable(self, work: Work) -> list[Machine]:
        return [one for one in self.matching(work) if one.ready and one.reserved_for in (None, work.name)]

    def fits(self, work: Work, machine: Machine, without: Collection[str] = ()) -> bool:
        """Whether one member fits this node."""
        return self.takes(machine, self.free(machine, without), work) > 0

    def fits_somewhere(self, work: Work) -> bool:
        """Whether all members fit the nodes that it may use, as they are."""
        room = sum(self.takes(machine, self.free(machine), work) for machine in self.usable(work))
        return room >= work.members

    def fits_empty(self, work: Work) -> bool:
        """Whether all members would fit the nodes that match it if they were empty, whatever their state."""
        room = 0
        for machine in self.matching(work):
            left = Counter(machine.capacity)
            left.subtract(machine.occupied)
            room += self.takes(machine, dict(left), work)
        return room >= work.members

    def never(self, work: Work) -> bool:
        """Whether no change of the cluster's work could ever let it in."""
        return not self.fits_empty(work) or not self.under_every_max(work, alone=True)

    def takes(self, machine: Machine, free: Amounts, work: Work) -> int:
        """How many members the free room takes."""
        if machine.name == NOWHERE:
            return work.members
        return min((max(0, free.get(key, 0)) // need for key, need in work.need.items()), default=work.members)

    def seat(self, work: Work, nodes: Iterable[str]) -> None:
        self.placed[work.name] = list(nodes)

    def can_stand(self, work: Work, nodes: list[str], among: Iterable[Machine]) -> bool:
        """Whether these are nodes that it may use, with room for as many members as stand there."""
        if not self.document.get("nodes"):
            return not nodes
        usable = {machine.name: machine for machine in among}
        return len(nodes) == work.members and all(
            name in usable and self.takes(usable[name], self.free(usable[name]), work) >= nodes.count(name)
            for name in nodes
        )


def read(document: Document) -> Board:
    """The board that a document describes."""
    now = parse_time(document.get("now", 0))
    queues = {queue["name"]: queue for queue in document.get("queues", [])}
    for queue in list(queues.values()):
        if "parent" in queue:
            queues.setdefault(queue["parent"], {"name": queue["parent"]})
    machines = {entry["name"]: _machine(entry) for entry in document.get("nodes", [])}
    if not machines:
        machines = {NOWHERE: Machine(NOWHERE, {}, {}, {}, None)}
    works = {entry["name"]: _work(entry, now) for entry in document.get("workloads", [])}
    return Board(document, now, machines, works, queues)


def _machine(entry: Document) -> Machine:
    return Machine(
        entry["name"],
        entry,
        _amounts(entry["capacity"]),
        _amounts(entry.get("occupied", {})),
        entry.get("reserved_for"),
    )


def _work(entry: Document, now: int) -> Work:
    app, submitted = entry.get("app"), entry.get("submitted")
    need = _amounts(entry.get("requests", {}))
    return Work(
        entry,
        entry["name"],
        str(entry.get("uid", entry["name"])),
        entry["queue"],
        str(app or entry["name"]),
        entry.get("state", "pending"),
        entry.get("priority", 0),
        now if submitted is None else parse_time(submitted),
        entry.get("members", 1),
        {key: amount for key, amount in need.items() if amount},
        list(entry.get("nodes", [])),
    )


def _amounts(raw: Mapping[str, Any]) -> Amounts:
    return {key: parse_quantity(value) for key, value in raw.items()}
