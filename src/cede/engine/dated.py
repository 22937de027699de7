"""A cluster file with the clocks of its moment: since when queues and apps are below their share, what nodes tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from cede.model.cluster import App, ClusterFile, Node, Queue
from cede.model.quantities import LARGEST, NANO, format_quantity
from cede.model.times import Instant, format_time, parse_time

SINCE = "below_fair_share_since"
HISTORIC = "historic_usage_share"
VOLUME = "accumulated_resource_volume"
NODE_CLOCKS = ("reserved_since", "overcommitted_since", "last_preemptive_attempt")

Entry = TypeVar("Entry", Queue, App)
Told = Mapping[str, Any]
"""What is known of one app or queue: the clock in microseconds, none if it does not run; volumes in nano-units."""


def dated(document: ClusterFile, kept: Mapping[str, Any]) -> ClusterFile:
    """The document with what a doctrine kept, under the keys that a plan reads it from.

    Apps and queues that it does not list are listed for that. Operations of one app in several queues share an entry:
    it has the latest of their clocks, so that nobody starves before its time.
    """
    instant = isinstance(document.now, Instant)
    queues = {told["name"]: told for told in kept.get("queues", ())}
    changed: dict[str, Any] = {
        "apps": _listed(App, document.apps, _by_app(kept.get("apps", ())), instant),
        "queues": _listed(Queue, document.queues, queues, instant),
    }
    if kept.get("nodes"):
        changed["nodes"] = _nodes(document.nodes, kept["nodes"], instant)
    return document.model_copy(update={key: value for key, value in changed.items() if value})


def _by_app(told: Iterable[Told]) -> dict[str, Told]:
    found: dict[str, Told] = {}
    for one in told:
        other = found.get(one["name"])
        if other is None or _clock(one) > _clock(other):
            found[one["name"]] = one
    return found


def _clock(told: Told) -> tuple[bool, int]:
    at = told.get(SINCE)
    return at is not None, 0 if at is None else at


def _listed(kind: type[Entry], entries: list[Entry], told: Mapping[str, Told], instant: bool) -> list[Entry]:
    """The entries in the order of their names, each with what is told of it."""
    found = {entry.name: entry for entry in entries}
    for name, one in told.items():
        entry = found.get(name)
        settings = _settings({} if entry is None else entry.settings, one, instant)
        if entry is not None:
            found[name] = _with(entry, {"settings": settings})
        elif settings:
            own = {"name": name, "settings": settings}
            queue = one.get("queue")
            found[name] = kind.model_validate(own if queue is None else own | {"queue": queue})
    return [found[name] for name in sorted(found)]


def _settings(given: Mapping[str, Any], told: Told, instant: bool) -> dict[str, Any]:
    found = dict(given)
    if SINCE in told:
        found.pop(SINCE, None)
        if told[SINCE] is not None:
            found[SINCE] = format_time(told[SINCE], instant)
    if HISTORIC in told:
        found[HISTORIC] = told[HISTORIC]
    if VOLUME in told:
        found[VOLUME] = {name: _volume(nano) for name, nano in sorted(told[VOLUME].items())}
    return found


def _volume(nano: float) -> int | str:
    """As exact as a file can say it; what is beyond the largest quantity, to the whole."""
    return format_quantity(round(nano)) if nano < LARGEST else round(nano / NANO)


def _nodes(nodes: list[Node], told: Mapping[str, Any], instant: bool) -> list[Node]:
    clocks: dict[str, dict[str, int | None]] = {}
    for key, groups in told.items():
        for at, names in groups:
            for name in names:
                clocks.setdefault(name, {})[key] = at if at is None else Instant(at) if instant else at
    return [_with(node, clocks[node.name]) if node.name in clocks else node for node in nodes]


P = TypeVar("P", Queue, App, Node)


def _with(part: P, values: Mapping[str, Any]) -> P:
    """The part with these values; what is none, or empty, counts as not given."""
    made = part.model_copy(update=dict(values))
    for key, value in values.items():
        if value is None or value == {}:
            made.model_fields_set.discard(key)
    return made


def moved(document: ClusterFile, by: int, *, instant: bool) -> ClusterFile:
    """The file with the starvation clocks of its queues and apps moved by so much, as dates or as seconds."""
    return document.model_copy(
        update={
            "queues": [_moved(queue, by, instant) for queue in document.queues],
            "apps": [_moved(app, by, instant) for app in document.apps],
        }
    )


def _moved(entry: Entry, by: int, instant: bool) -> Entry:
    if SINCE not in entry.settings:
        return entry
    at = format_time(parse_time(entry.settings[SINCE]) + by, instant)
    return entry.model_copy(update={"settings": {**entry.settings, SINCE: at}})


def undated(document: ClusterFile) -> ClusterFile:
    """The file without the clocks that a server cannot go on with: those that are no dates."""
    if isinstance(document.now, Instant):
        return document
    return document.model_copy(
        update={
            "nodes": [_stopped(node) for node in document.nodes],
            "queues": [_forgets(queue) for queue in document.queues],
            "apps": [_forgets(app) for app in document.apps],
        }
    )


def _stopped(node: Node) -> Node:
    running = [clock for clock in NODE_CLOCKS if getattr(node, clock) is not None]
    return _with(node, dict.fromkeys(running)) if running else node


def _forgets(entry: Entry) -> Entry:
    if SINCE not in entry.settings:
        return entry
    return _with(entry, {"settings": {key: value for key, value in entry.settings.items() if key != SINCE}})
