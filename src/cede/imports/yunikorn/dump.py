"""The state dump: the parts of it that belong to one partition, wherever a release puts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Fields
from cede.imports.report import Place, Report
from cede.model.errors import InputError, Problem, shown
from cede.model.times import LIMIT_S, SECOND, Instant, parse_time

KIND = "state dump"
SECTIONS = ("nodes", "applications", "queues")
SKIPPED = (
    *("partitions", "appHistory", "containerHistory", "clusterInfo", "rmDiagnostics", "logLevel", "config"),
    *("placementRules", "eventStreams", "timestamp", "nodesUtilization", "clusterUtilization", "schedulerHealth"),
)
NS = 1000
"""Nanoseconds in a microsecond."""
LATEST = LIMIT_S * SECOND * NS

_CLUSTER = re.compile(r"\[[^\]]*\]")


@dataclass(slots=True)
class Dump:
    """What of a state dump belongs to the partition."""

    fields: Fields
    nodes: list[Fields] = field(default_factory=list)
    applications: list[Fields] = field(default_factory=list)
    queues: list[Fields] = field(default_factory=list)
    """The roots of the queue trees, which is one."""


def dump_of(source: str, data: object, partition: str, report: Report) -> Dump:
    """The nodes, applications and queues of the partition; an InputError if this is no state dump."""
    if isinstance(data, dict):
        # Releases before 1.5 begin the names of the sections with capitals.
        data = {f"{key[:1].lower()}{key[1:]}": value for key, value in data.items()}
    if not isinstance(data, dict) or not any(key in data for key in SECTIONS):
        hint = "give what /ws/v1/fullstatedump answers"
        raise InputError([Problem(source, f"{shown(data)} is no state dump", hint)])
    top = Fields(data, Place(source, KIND), report)
    dump = Dump(top)
    dump.nodes = [
        _named(node, "node", node.need("nodeID"))
        for group in _groups(top, "nodes", partition)
        for node in (group.parts("nodesInfo") if group.has("nodesInfo") else [group])
        if group.has("nodesInfo") or node.has("nodeID")
    ]
    dump.applications = [
        _named(one, "application", one.need("applicationID")) for one in _groups(top, "applications", partition)
    ]
    dump.queues = list(_groups(top, "queues", partition))
    top.skip(*SKIPPED)
    return dump


def time_of(fields: Fields, key: str) -> int | None:
    """A time in nanoseconds since 1970; none where it is 0 or not given."""
    value = fields.raw(key)
    if value is None or value == 0:
        return None
    if type(value) is not int or not 0 < value < LATEST:
        fields.wrong((key,), f"{shown(value)} is no time in nanoseconds since 1970")
        return None
    return Instant(value // NS)


def clock_of(dump: Dump, now: str | None) -> int | None:
    """The clock of the file: what was asked for, else when the dump was made, else the latest time in it."""
    if now is not None:
        try:
            return Instant(parse_time(now))
        except ValueError as error:
            raise InputError([Problem("--now", str(error))]) from None
    if isinstance(dump.fields.data.get("timestamp"), str):
        dump.fields.remark("it is a text, and the clock is the latest time in the dump instead", "timestamp")
    elif (at := time_of(dump.fields, "timestamp")) is not None:
        return at
    times = [time for one in dump.applications for time in _times(one.data)]
    return Instant(max(times) // NS) if times else None


def _times(application: Mapping[str, Any]) -> Iterator[int]:
    for key in ("allocations", "requests"):
        items = application.get(key)
        for item in items if isinstance(items, list) else ():
            for name in ("requestTime", "allocationTime"):
                time = item.get(name) if isinstance(item, dict) else None
                if type(time) is int and 0 < time < LATEST:
                    yield time


def _groups(top: Fields, key: str, partition: str) -> Iterator[Fields]:
    """The objects of a section that belong to the partition: those of a list that say so, or what it maps to."""
    raw = top.raw(key)
    if isinstance(raw, dict) and not any(name in raw for name in ("queuename", "partitionName")):
        for name, value in raw.items():
            if _same(name, partition):
                part = Fields({name: value if isinstance(value, list) else [value]}, top.place, top.report, (key,))
                yield from part.parts(name)
        return
    listed = top if isinstance(raw, list) else Fields({key: [] if raw is None else [raw]}, top.place, top.report)
    for one in listed.parts(key):
        name = one.data.get("partition") or one.data.get("partitionName")
        if name is None or _same(name, partition):
            yield one


def _same(name: object, partition: str) -> bool:
    """Whether this is the partition; some releases put the cluster in front, as in `[mycluster]default`."""
    return isinstance(name, str) and _CLUSTER.sub("", name).lower() == partition.lower()


def _named(fields: Fields, kind: str, name: str) -> Fields:
    return Fields(fields.data, Place(fields.place.source, kind, name), fields.report)
