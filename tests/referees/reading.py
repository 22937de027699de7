"""A cluster file read the slow way: plain numbers and names, every sum made anew, nothing shared with the columns.

Only quantities and times are parsed by the project's own code. What a referee concludes from this is its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.model.quantities import parse_quantity
from cede.model.times import parse_time

Document = dict[str, Any]
Amounts = dict[str, int]
HOLDS = ("reserved", "running", "checkpointing", "preempting")


@dataclass(eq=False)
class Work:
    """One workload; `needs` is what each member takes of a node, `quota` what all of it takes of its queues."""

    entry: Document
    name: str
    uid: str
    state: str
    partition: str
    priority: int
    job_priority: int
    submitted: int
    started: int | None
    needs: list[Amounts]
    quota: Amounts
    pins: list[str | None]
    """The flavor that each member names, if it asks for any of it."""
    nodes: list[str]

    def asks(self, key: str, default: Any = None) -> Any:
        return self.entry.get(key, default)

    @property
    def kind(self) -> str:
        return str(self.asks("kind", "batch"))

    @property
    def exclusive(self) -> bool:
        return bool(self.asks("exclusive", False))

    @property
    def last_key(self) -> tuple[str, str]:
        return self.uid, self.name


@dataclass(eq=False)
class Machine:
    name: str
    entry: Document
    capacity: Amounts
    occupied: Amounts

    @property
    def partition(self) -> str:
        return str(self.entry.get("partition", "default"))

    @property
    def flavor(self) -> str | None:
        named: str | None = self.entry.get("flavor")
        return named or _flavor(self.entry["capacity"])

    @property
    def ready(self) -> bool:
        return bool(self.entry.get("state", "ready") == "ready")


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

    def group_of(self, machine: Machine) -> str:
        labels: Mapping[str, str] = machine.entry.get("labels", {})
        return labels.get(self.document.get("topology", "group"), "")

    def path(self, queue: str | None) -> Iterator[str]:
        while queue is not None:
            yield queue
            queue = self.queues.get(queue, {}).get("parent")

    def settings(self, queue: str | None) -> Document:
        found: Document = self.queues.get(queue or "", {}).get("settings", {})
        return found

    def holders(self, without: Iterable[str] = ()) -> list[Work]:
        """All that hold room now, also those that were given it since."""
        out = self.gone | set(without)
        standing = [w for w in self.works.values() if w.state in HOLDS and w.name not in out]
        return standing + [self.works[name] for name in self.placed]

    def standing(self, work: Work) -> list[str]:
        return self.placed.get(work.name, work.nodes)

    def free(self, machine: Machine, without: Iterable[str] = ()) -> Amounts:
        """What is left: who leaves and who waits for that share their room."""
        free = Counter(machine.capacity)
        free.subtract(machine.occupied)
        leaving, held = Counter[str](), Counter[str]()
        for work in self.holders(without):
            for name, need in zip(self.standing(work), work.needs, strict=False):
                if name == machine.name:
                    bucket = {"reserved": held, "preempting": leaving}.get(work.state)
                    if bucket is None:
                        free.subtract(need)
                    else:
                        bucket.update(need)
        return {key: free[key] - max(leaving[key], held[key]) for key in free | leaving | held}

    def people(self, machine: Machine, without: Iterable[str] = ()) -> list[Work]:
        return [work for work in self.holders(without) if machine.name in self.standing(work)]

    # -- where a workload may go ---------------------------------------------------------------------------------

    def matching(self, work: Work) -> list[Machine]:
        """Nodes of the right partition, flavor, labels and names, whatever their state."""
        limits: Mapping[str, Any] = work.asks("constraints") or {}
        return [
            machine
            for machine in self.machines.values()
            if machine.partition == work.partition
            and any(pin in (None, machine.flavor) for pin in work.pins)
            and work.asks("required_node", machine.name) == machine.name
            and (not limits.get("nodes") or machine.name in limits["nodes"])
            and all(
                machine.entry.get("labels", {}).get(key) == value for key, value in limits.get("labels", {}).items()
            )
        ]

    def usable(self, work: Work) -> list[Machine]:
        return [
            machine
            for machine in self.matching(work)
            if machine.ready and machine.entry.get("reserved_for", work.name) == work.name
        ]

    def fits(self, work: Work, without: Iterable[str] = ()) -> bool:
        """Whether some placement of all members exists; every one is tried."""
        if not self.machines:
            return True
        usable = self.usable(work)
        free = {machine.name: self.free(machine, without) for machine in usable}
        people = {machine.name: self.people(machine, without) for machine in usable}
        return self._exists(work, usable, free, people)

    def fits_empty(self, work: Work, *, bare: bool = False) -> bool:
        """Whether it would fit the nodes that match it if they were empty, whatever their state."""
        machines = self.matching(work)
        free = {
            m.name: {key: total - (0 if bare else m.occupied.get(key, 0)) for key, total in m.capacity.items()}
            for m in machines
        }
        return not self.machines or self._exists(work, machines, free, {m.name: [] for m in machines})

    def most_in_a_group(self, work: Work, among: Sequence[Machine]) -> int:
        return -(-len(work.needs) // max(1, len({self.group_of(machine) for machine in among})))

    def _exists(
        self, work: Work, among: Sequence[Machine], free: dict[str, Amounts], people: dict[str, list[Work]]
    ) -> bool:
        placement, most = work.asks("placement", "any"), self.most_in_a_group(work, among)
        left = {name: dict(amounts) for name, amounts in free.items()}
        chosen: list[Machine] = []

        def go(member: int) -> bool:
            if member == len(work.needs):
                return True
            need = work.needs[member]
            for machine in among:
                if work.pins[member] not in (None, machine.flavor):
                    continue
                groups = [self.group_of(other) for other in chosen]
                mine = self.group_of(machine)
                if placement == "tight" and groups and groups[0] != mine:
                    continue
                if placement == "spread" and groups.count(mine) >= most:
                    continue
                others = people[machine.name]
                if any(other.exclusive for other in others) or (work.exclusive and (others or machine in chosen)):
                    continue
                room = left[machine.name]
                if any(room.get(key, 0) < amount for key, amount in need.items() if amount):
                    continue
                for key, amount in need.items():
                    room[key] = room.get(key, 0) - amount
                chosen.append(machine)
                if go(member + 1):
                    return True
                chosen.pop()
                for key, amount in need.items():
                    room[key] += amount
            return False

        return go(0)

    # -- limits above the nodes --------------------------------------------------------------------------------------

    def over_limits(self, work: Work, without: Iterable[str] = (), *, alone: bool = False, apart: bool = False) -> bool:
        """Whether a queue's max or its tenant's number of workloads would be exceeded; `alone`: if nothing else ran.

        `apart`: who leaves and who waits for that count both. How many nodes a tenant's gang takes is a matter of its
        placement, which is not judged here.
        """
        holders = [] if alone else self.holders(without)
        for queue in self.path(work.asks("queue")):
            inside = [other for other in holders if queue in self.path(other.asks("queue"))]
            for key, limit in self.queues.get(queue, {}).get("max", {}).items():
                asked = work.quota.get(key, 0)
                used = {"reserved": 0, "preempting": 0, "other": 0}
                for other in inside:
                    used[other.state if other.state in used else "other"] += other.quota.get(key, 0)
                between = used["reserved"], used["preempting"]
                total = used["other"] + (sum(between) if apart else max(between))
                if asked and total + asked > parse_quantity(limit):
                    return True
        for tenant in self.document.get("tenants", []):
            if tenant["name"] == work.asks("tenant"):
                mine = [w for w in holders if w.asks("tenant") == tenant["name"]]
                if len(mine) + 1 > tenant.get("max_workloads", len(mine) + 1):
                    return True
        return False

    def refused_by_policy(self, work: Work) -> bool:
        for policy in _policies(self.document, work.entry):
            if policy.get("may_change") is False:
                if work.priority != default_priority(self.document, work.entry):
                    return True
            elif not policy.get("min_priority", 0) <= work.priority <= policy.get("max_priority", 100):
                return True
        return False


def _policies(document: Document, entry: Document) -> list[Document]:
    """The policies of a workload's user and project, the user's first."""
    return [
        policy
        for key in ("user", "project")
        for policy in document.get("policies", [])
        if key in policy and policy[key] == entry.get(key)
    ]


def default_priority(document: Document, entry: Document) -> int:
    """The priority of a workload that names none: its user's default, else its project's, else 10."""
    given = (policy.get("default_priority") for policy in _policies(document, entry))
    return next((number for number in given if number is not None), 10)


def read(document: Document) -> Board:
    """The board that a document describes."""
    now = parse_time(document.get("now", 0))
    queues = {queue["name"]: queue for queue in document.get("queues", [])}
    machines: dict[str, Machine] = {}
    for entry in document.get("nodes", []):
        count = entry.get("count")
        for name in [entry["name"]] if count is None else [f"{entry['name']}-{n}" for n in range(count)]:
            machines[name] = Machine(name, entry, _plain(entry["capacity"]), _plain(entry.get("occupied", {})))
    works = {entry["name"]: _work(document, entry, now, queues) for entry in document.get("workloads", [])}
    return Board(document, now, machines, works, queues)


def _work(document: Document, entry: Document, now: int, queues: Mapping[str, Document]) -> Work:
    parts = entry.get("pod_sets") or [{"count": entry.get("members", 1), "requests": entry.get("requests", {})}]
    needs = [_plain(part["requests"]) for part in parts for _ in range(part["count"])]
    asked = Counter[str]()
    for part in parts:
        asked.update({key: nano * part["count"] for key, nano in _amounts(part["requests"]).items()})
    priority = entry.get("priority")
    started, submitted = entry.get("started"), entry.get("submitted")
    return Work(
        entry,
        entry["name"],
        str(entry.get("uid", entry["name"])),
        str(entry.get("state", "pending")),
        queues.get(entry.get("queue", ""), {}).get("partition", "default"),
        default_priority(document, entry) if priority is None else priority,
        entry.get("job_priority", 0),
        now if submitted is None else parse_time(submitted),
        None if started is None else parse_time(started),
        needs,
        _amounts(entry["usage"]) if "usage" in entry else dict(asked),
        [_pin(part["requests"]) for part in parts for _ in range(part["count"])],
        list(entry.get("nodes", [])),
    )


def _amounts(raw: Mapping[str, Any]) -> Amounts:
    return {key: parse_quantity(value) for key, value in raw.items()}


def _pin(requests: Mapping[str, Any]) -> str | None:
    """The flavor that a member names; a request for nothing names none."""
    return _flavor([key for key, nano in _amounts(requests).items() if nano])


def _flavor(names: Iterable[str]) -> str | None:
    """The flavor that these names pin; the least, should they pin several."""
    return min((name.partition("@")[2] for name in names if "@" in name), default=None)


def _plain(raw: Mapping[str, Any]) -> Amounts:
    total = Counter[str]()
    for key, nano in _amounts(raw).items():
        total[key.partition("@")[0]] += nano
    return dict(total)
