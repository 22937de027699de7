"""Operations as apps, their allocations and what they still need as workloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.doctrines.ytsaurus.options import OperationSettings
from cede.imports.fields import Amounts, Fields, total
from cede.imports.report import Place, Report
from cede.imports.ytsaurus.cypress import fields_of, opened, value_of
from cede.imports.ytsaurus.options import amounts, carried, written
from cede.model.errors import InputError, Problem, shown
from cede.model.times import format_time

OPERATION = "operation"
OPERATIONS = "operations"
ALLOCATION = "allocation"
NEEDED = "grouped_needed_resources"
SINCE = "below_fair_share_since"
OWN = {"weight": "weight", "specified_resource_limits": "resource_limits", SINCE: SINCE}
"""What the scheduler says of an operation, and what it is called in its spec."""
MOST_PENDING = 200_000
"""The most pending workloads that are written out, for all operations together."""
HINT = "give an object from ids to operations, or a list of operations with ids"
SUSPENDED = "it is suspended: what it still needs is left out, for a plan would start it"
STARVES = (
    "since when it is below its fair share is not said; `below_fair_share_since` says it, else the clock starts now"
)
NO_NODE = "its node is not among the nodes, so it takes room on none"


@dataclass(slots=True)
class Work:
    """The operations of the file to be: apps and workloads, with where each comes from."""

    apps: list[dict[str, Any]] = field(default_factory=list)
    app_places: list[Place] = field(default_factory=list)
    workloads: list[dict[str, Any]] = field(default_factory=list)
    workload_places: list[Place] = field(default_factory=list)
    held: dict[str, list[Amounts]] = field(default_factory=dict)
    """By node the amounts of the allocations there."""
    left_out: set[Place] = field(default_factory=set)
    latest: int | None = None
    """The latest time that any of them knows of."""
    pending: int = 0
    names: set[str] = field(default_factory=set)

    def add(self, entry: dict[str, Any], place: Place) -> None:
        self.workloads.append(entry)
        self.workload_places.append(place)

    def saw(self, moment: int | None) -> None:
        if moment is not None and (self.latest is None or moment > self.latest):
            self.latest = moment


def operations_of(source: str, data: object, tree: str, nodes: frozenset[str], report: Report, work: Work) -> None:
    """Put the operations of a file to the others; `tree` is the name of the tree, if it is known."""
    for name, raw in _named(source, opened(data)):
        place = Place(source, OPERATION, name)
        if not isinstance(raw, dict):
            report.wrong(place, (), f"{shown(raw)} is no operation")
        elif name in work.names:
            report.wrong(place, (), "it is given twice")
        else:
            work.names.add(name)
            _operation(fields_of(raw, place, report), tree, nodes, work)


def queue_names(work: Work) -> dict[str, Place]:
    """The pools that operations are in, each with one of them."""
    places: dict[str, Place] = {}
    for app, place in zip(work.apps, work.app_places, strict=True):
        if "queue" in app:
            places.setdefault(app["queue"], place)
    return places


def _named(source: str, raw: Any) -> Iterator[tuple[str, Any]]:
    value = value_of(raw)
    if isinstance(value, dict) and isinstance(value_of(value.get(OPERATIONS)), dict | list):
        value = value_of(value[OPERATIONS])
    if isinstance(value, dict):
        for name, item in value.items():
            yield name, value_of(item)
        return
    if not isinstance(value, list):
        raise InputError([Problem(source, f"{shown(value)} is no set of operations", HINT)])
    for index, item in enumerate(map(value_of, value)):
        name = value_of(item.get("id")) if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            raise InputError([Problem(f"{source}: [{index}]", "this has no id", HINT)])
        yield name, item


def _operation(fields: Fields, tree: str, nodes: frozenset[str], work: Work) -> None:
    name, pool, begun = fields.place.name, fields.text("pool"), fields.time("start_time")
    work.saw(begun)
    common: dict[str, Any] = {"app": name} if pool is None else {"queue": pool, "app": name}
    submitted = {} if begun is None else {"submitted": format_time(begun, instant=True)}
    running = [_allocation(one, key, common, submitted, nodes, work) for key, one in _allocations(fields)]
    _note_usage(fields, running)
    settings = _settings(fields, tree)
    weight = settings.pop("weight", None)
    app = {"name": name, "queue": pool, "weight": weight, "user": _user(fields), "settings": settings}
    work.apps.append({key: value for key, value in app.items() if value not in (None, {})})
    work.app_places.append(fields.place)
    if fields.truth("suspended"):
        if fields.data.get(NEEDED):
            fields.remark(SUSPENDED, NEEDED)
            work.left_out.add(fields.place)
        return
    _pending(fields, common, submitted, work)


def _allocations(fields: Fields) -> Iterator[tuple[str, Fields]]:
    """Those that run, from a list or an object by id."""
    key = "allocations" if fields.has("allocations") else "running_allocations"
    below = fields.part(key) if isinstance(fields.raw(key), dict) else None
    allocations = fields.parts(key) if below is None else [below.part(name) for name in below.data]
    names = [one.need("id") for one in allocations] if below is None else list(below.data)
    for name, one in zip(names, allocations, strict=True):
        yield name, Fields(one.data, Place(fields.place.source, ALLOCATION, name), fields.report)


def _allocation(
    one: Fields, name: str, common: Mapping[str, Any], submitted: Mapping[str, Any], nodes: frozenset[str], work: Work
) -> Amounts:
    """Put the allocation to the workloads; what it holds."""
    given = next((key for key in ("resource_usage", "resources", "resource_limits") if one.has(key)), "resource_usage")
    held = amounts(one, given)
    if not held:
        one.wrong((given,), "this key is required and missing")
    begun = one.time("start_time")
    work.saw(begun)
    entry: dict[str, Any] = {"name": name, **common, "state": "running", "requests": written(held)}
    node = one.text("node") or one.text("address")
    if node in nodes and node is not None:
        entry["nodes"] = [node]
        work.held.setdefault(node, []).append(held)
    else:
        one.remark(NO_NODE, "node")
    entry |= submitted
    if begun is not None:
        entry["started"] = format_time(begun, instant=True)
    work.add(entry, one.place)
    return held


def _pending(fields: Fields, common: Mapping[str, Any], submitted: Mapping[str, Any], work: Work) -> None:
    """Put what the operation still needs to the workloads, one for each allocation."""
    groups = fields.part(NEEDED)
    for group in groups.data:
        part = groups.part(group)
        count = part.whole("allocation_count") or 0
        needed = amounts(part, "min_needed_resources")
        if count < 0:
            part.wrong(("allocation_count",), f"{count} is negative")
        elif count and not needed:
            part.wrong(("min_needed_resources",), "this key is required and missing")
        work.pending += max(count, 0)
        if work.pending > MOST_PENDING:
            message = f"that is more than {MOST_PENDING:,} allocations that wait, which is the most"
            raise InputError([fields.place.problem((NEEDED, group, "allocation_count"), message)])
        requests = written(needed)
        for number in range(count):
            name = f"{fields.place.name}/{group}-{number}"
            work.add({"name": name, **common, "requests": requests, **submitted}, fields.place)


def _settings(fields: Fields, tree: str) -> dict[str, Any]:
    """The options of the operation that a cluster file has: those of its spec, and what the scheduler says of it."""
    spec = fields.part("spec")
    of_tree = spec.part("scheduling_options_per_pool_tree").part(tree)
    own = {name: fields.raw(key) for key, name in OWN.items() if fields.data.get(key) not in (None, {})}
    parts = (spec, of_tree, Fields(own, fields.place, fields.report))
    settings = {name: value for part in parts for name, value in carried(part, OperationSettings).items()}
    if fields.text("starvation_status") not in (None, "non_starving") and SINCE not in settings:
        fields.remark(STARVES, "starvation_status")
    return settings


def _user(fields: Fields) -> str | None:
    return fields.text("user") or fields.text("authenticated_user")


def _note_usage(fields: Fields, running: list[Amounts]) -> None:
    """Say what the operation uses beyond its allocations: what is not listed is not in the file."""
    held = total(running)
    for name, nano in amounts(fields, "resource_usage").items():
        if nano > held.get(name, 0):
            fields.remark(
                "it uses more than the allocations that are listed hold; the rest is not in the file", "resource_usage"
            )
            return
