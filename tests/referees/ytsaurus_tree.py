"""A YTsaurus cluster file read the slow way: one pool tree for each partition, every sum made anew in exact fractions.

Only quantities, times and tag filters are parsed by the project's own code. What a referee concludes is its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from cede.model.quantities import parse_quantity
from cede.model.times import parse_duration, parse_time

Document = dict[str, Any]
Amounts = dict[str, Fraction]
Vector = tuple[Fraction, ...]
"""One number for each resource of the tree."""

ZERO, ONE = Fraction(0), Fraction(1)
USES = ("running", "checkpointing", "reserved")
WAITS = ("pending", "suspended")
RUNS = ("running", "checkpointing")


def amounts_of(entry: Mapping[str, Any] | None) -> Amounts:
    """Plain names with exact numbers; what differs only in its flavor is added up."""
    found: Amounts = {}
    for name, raw in (entry or {}).items():
        key = name.partition("@")[0]
        found[key] = found.get(key, ZERO) + Fraction(parse_quantity(raw), 10**9)
    return found


def exact(raw: Any) -> Fraction:
    return Fraction(str(raw))


def add(*vectors: Vector) -> Vector:
    return tuple(sum(column, ZERO) for column in zip(*vectors, strict=True))


def least(*vectors: Vector) -> Vector:
    return tuple(min(column) for column in zip(*vectors, strict=True))


def within(small: Vector, large: Vector) -> bool:
    return all(one <= other for one, other in zip(small, large, strict=True))


@dataclass(eq=False)
class Work:
    """One workload. `need` is what all its members take of a node, `usage` what counts for its operation."""

    entry: Document
    name: str
    uid: str
    state: str
    submitted: int
    need: Amounts
    usage: Amounts
    nodes: list[str]
    progress: int | None
    operation: Element
    order: int = 0
    """Above zero for what started in this cycle: it is the newest of its operation, in that order."""

    @property
    def gpus(self) -> Fraction:
        return sum((amount for name, amount in self.need.items() if name.endswith("gpu")), ZERO)

    @property
    def gap(self) -> bool:
        """Whether it uses less cpu than it may."""
        return self.usage.get("cpu", ZERO) < self.need.get("cpu", ZERO)


@dataclass(eq=False)
class Machine:
    name: str
    entry: Document
    room: Amounts
    """What is there for work: capacity less what is occupied."""

    @property
    def state(self) -> str:
        return str(self.entry.get("state", "ready"))


@dataclass(eq=False)
class Element:
    """The root, a pool or an operation, and what an update concludes about it."""

    name: str
    kind: str
    parent: Element | None
    entry: Document = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    started: int = 0
    running: bool = True
    accepted: bool = True
    schedulable: bool = False
    weight: Fraction = ONE
    usage: Vector = ()
    demand: Vector = ()
    limits: Vector = ()
    guarantee: Vector = ()
    integral: Vector = ()
    share: Vector = ()
    promised: Vector = ()
    status: str = "normal"
    since: int | None = None
    starvation: str = "non_starving"

    @property
    def settings(self) -> Document:
        return self.entry.get("settings") or {}

    @property
    def path(self) -> list[Element]:
        """The element and all above it, upwards, without the root."""
        return [] if self.kind == "root" else [self, *(self.parent.path if self.parent else [])]

    @property
    def pools(self) -> list[Element]:
        return [one for one in self.path if one.kind == "pool"]

    @property
    def below(self) -> Iterator[Element]:
        """The element and all below it, parents first, children in their order."""
        yield self
        for child in self.children:
            yield from child.below

    @property
    def limit(self) -> Amounts:
        """What it may use at most, of the resources that are limited."""
        given = self.settings.get("resource_limits")
        return amounts_of(self.entry.get("max") if given is None else given)

    @property
    def waiting(self) -> list[Work]:
        found = [work for work in self.works if work.state in WAITS]
        return sorted(found, key=lambda work: (work.submitted, work.uid, work.name))

    def used(self) -> Amounts:
        """What its work uses at this moment, whatever the update saw."""
        total: Amounts = {}
        for work in (work for one in self.below for work in one.works if work.state in USES):
            for name, amount in work.usage.items():
                total[name] = total.get(name, ZERO) + amount
        return total


@dataclass(eq=False)
class Tree:
    """One partition: its nodes, its work, its pools."""

    document: Document
    partition: str
    now: int
    resources: tuple[str, ...]
    machines: list[Machine]
    root: Element
    works: list[Work]
    total: Vector = ()

    def option(self, name: str, default: Any = None) -> Any:
        given = self.document["doctrine"].get(name) if isinstance(self.document["doctrine"], dict) else None
        return default if given is None else given

    def duration(self, name: str, default: Any) -> int:
        return parse_duration(self.option(name, default))

    @property
    def elements(self) -> list[Element]:
        return list(self.root.below)

    @property
    def pools(self) -> list[Element]:
        return [one for one in self.elements if one.kind == "pool"]

    @property
    def operations(self) -> list[Element]:
        return [one for one in self.elements if one.kind == "operation"]

    @property
    def counted(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.state in ("ready", "cordoned")]

    def vector(self, amounts: Mapping[str, Fraction]) -> Vector:
        return tuple(amounts.get(name, ZERO) for name in self.resources)

    def ratio(self, vector: Iterable[Fraction]) -> Vector:
        """The same as a part of the cluster; of what the cluster does not have, nothing."""
        return tuple(one / whole if whole else ZERO for one, whole in zip(vector, self.total, strict=True))

    def usage_share(self, element: Element) -> Vector:
        return self.ratio(self.vector(element.used()))


def trees(document: Document) -> list[Tree]:
    """The pool trees of the file, by the name of their partition."""
    queues = {entry["name"]: entry for entry in document.get("queues", [])}
    for name in [entry.get("parent") for entry in queues.values()] + [w.get("queue") for w in document["workloads"]]:
        if name is not None:
            queues.setdefault(name, {"name": name})
    found = {entry.get("partition", "default") for entry in [*document.get("nodes", []), *queues.values()]}
    return [_tree(document, queues, partition) for partition in sorted(found | {"default"})]


def top_of(queues: Mapping[str, Document], name: str) -> Document:
    parent = queues[name].get("parent")
    return queues[name] if parent is None else top_of(queues, parent)


def _tree(document: Document, queues: Mapping[str, Document], partition: str) -> Tree:
    root = Element("<Root>", "root", None)
    pools = {None: root} | {
        name: Element(name, "pool", None, entry)
        for name, entry in queues.items()
        if top_of(queues, name).get("partition", "default") == partition
    }
    for name, pool in pools.items():
        if name is not None:
            pool.parent = pools[pool.entry.get("parent")]
            pool.parent.children.append(pool)
    now = parse_time(document.get("now", 0))
    works = _works(document, pools, now, [name for name in pools if name is not None or partition == "default"])
    for element in root.below:
        element.children.sort(key=lambda child: (child.name, child.kind == "operation"))
    named = [document_part.get(key) or {} for document_part in document.get("nodes", []) for key in ("capacity",)]
    named += [entry.get("requests") or {} for entry in document["workloads"]]
    resources = tuple(sorted({name.partition("@")[0] for entry in named for name in entry}))
    machines = [
        _machine(entry) for entry in document.get("nodes", []) if entry.get("partition", "default") == partition
    ]
    tree = Tree(document, partition, now, resources, sorted(machines, key=lambda one: one.name), root, works)
    tree.total = tuple(sum((max(ZERO, one.room.get(name, ZERO)) for one in tree.counted), ZERO) for name in resources)
    return tree


def _machine(entry: Document) -> Machine:
    occupied = amounts_of(entry.get("occupied"))
    room = amounts_of(entry.get("capacity"))
    return Machine(
        entry["name"], entry, {name: room.get(name, ZERO) - occupied.get(name, ZERO) for name in room | occupied}
    )


def _works(
    document: Document, pools: Mapping[str | None, Element], now: int, mine: Collection[str | None]
) -> list[Work]:
    """All work of the tree, each under its operation; a listed operation needs no work, and what has no queue is of
    the default partition."""
    listed = {entry["name"]: entry for entry in document.get("apps", [])}
    operations: dict[tuple[str, str | None], Element] = {}

    def operation_of(app: str, queue: str | None) -> Element:
        if (app, queue) not in operations:
            made = Element(app, "operation", pools[queue], listed.get(app, {"name": app}), started=now)
            operations[app, queue] = made
            pools[queue].children.append(made)
        return operations[app, queue]

    works = []
    for entry in document["workloads"]:
        if entry.get("queue") in mine:
            operation = operation_of(entry.get("app", entry["name"]), entry.get("queue"))
            works.append(_work(entry, operation, now))
            operation.works.append(works[-1])
            operation.started = min(operation.started, works[-1].submitted)
    busy = {app for app, _ in operations}
    for app, entry in listed.items():
        if app not in busy and entry.get("queue") in mine:
            operation_of(app, entry.get("queue"))
    return works


def _work(entry: Document, operation: Element, now: int) -> Work:
    need = {name: amount * entry.get("members", 1) for name, amount in amounts_of(entry.get("requests")).items()}
    usage = need if entry.get("usage") is None else amounts_of(entry["usage"])
    times = [entry.get("started"), (entry.get("checkpoint") or {}).get("last")]
    progress = None if times[0] is None else max(parse_time(time) for time in times if time is not None)
    submitted = parse_time(entry["submitted"]) if "submitted" in entry else now
    uid = str(entry.get("uid", entry["name"]))
    state = entry.get("state", "pending")
    nodes = list(entry.get("nodes", []))
    return Work(entry, entry["name"], uid, state, submitted, need, usage, nodes, progress, operation)
