"""What must hold between the parts of a document, beyond the shape of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import ValidationError

from cede.model.cluster import ClusterFile
from cede.model.errors import Loc, path_of, shown
from cede.model.nodes import Node
from cede.model.queues import Queue
from cede.model.reports import Finding, Hints, findings_of
from cede.model.settings import QUEUE_SETTINGS
from cede.model.times import Instant, parse_time
from cede.model.workload_checks import INT32, Known, workload_findings

MOST_NODES = 1_000_000
MOST_SHOWN = 8
PRIORITIES = {"backendai": (0, 100), "lattice": (0, 10)}
TWICE = {"strong_guarantee_resources": "guaranteed", "min_share_resources": "guaranteed", "resource_limits": "max"}
"""YTsaurus settings that have a key of their own in a queue."""


@dataclass
class Draft:
    """A document as far as its shape is right, and what is known of the rest."""

    doc: ClusterFile
    places: dict[str, Sequence[int]] = field(default_factory=dict)
    """Where each entry of a section stands in the file, if some entries of that section had to be left out."""
    claimed: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)
    """Names, and counts of nodes, that the entries of such a section lay claim to."""
    unreadable: frozenset[str] = frozenset()
    """Keys of the document of which nothing could be read."""

    def loc(self, section: str, index: int, *rest: str | int) -> Loc:
        place = self.places.get(section)
        return (section, index if place is None else place[index], *rest)


def check(draft: Draft, hints: Hints) -> list[Finding]:
    """Everything that does not agree, in no particular order."""
    doc = draft.doc
    doctrine = None if doc.doctrine is None else doc.doctrine.name
    findings, nodes = _node_names(draft)
    queues = {queue.name for queue in doc.queues} | {queue.parent for queue in doc.queues if queue.parent is not None}
    queues |= {name for name, _ in draft.claimed.get("queues", [])}
    workloads = {workload.name for workload in doc.workloads} | {n for n, _ in draft.claimed.get("workloads", [])}
    known = Known(
        queues=None if "queues" in draft.unreadable else queues,
        nodes=nodes,
        workloads=None if "workloads" in draft.unreadable else workloads,
        instant=None if "now" in draft.unreadable else isinstance(doc.now, Instant),
        priorities=PRIORITIES.get(doctrine or "", INT32),
        doctrine=doctrine,
    )
    findings += _nodes(draft, known, hints)
    findings += _queues(draft, known, hints)
    findings += _apps(draft, known, hints)
    findings += _twice(draft, "tenants", [tenant.name for tenant in doc.tenants])
    findings += _policies(draft)
    findings += _twice(draft, "workloads", [workload.name for workload in doc.workloads])
    for index, workload in enumerate(doc.workloads):
        if found := workload_findings(workload, known, hints):
            prefix = draft.loc("workloads", index)
            findings += [Finding((*prefix, *one.loc), one.message, one.hint) for one in found]
    return findings


def counted_out(nodes: Iterable[Node]) -> list[Node]:
    """The nodes with every `count` replaced by that many nodes, NAME-0, NAME-1 and so on."""
    result: list[Node] = []
    for node in nodes:
        if node.count is None:
            result.append(node)
        else:
            result += _twins(node, node.count)
    return result


def _twins(node: Node, count: int) -> Iterable[Node]:
    """`count` nodes that differ in name only, and share the rest: a copy by pydantic takes twice as long."""
    given = node.model_fields_set - {"count"}
    for name in _names(node.name, count):
        twin = Node.__new__(Node)
        object.__setattr__(twin, "__dict__", {**node.__dict__, "name": name, "count": None})
        object.__setattr__(twin, "__pydantic_fields_set__", given)
        object.__setattr__(twin, "__pydantic_extra__", None)
        object.__setattr__(twin, "__pydantic_private__", None)
        yield twin


def _names(name: str, count: int | None) -> Iterable[str]:
    return (name,) if count is None else (f"{name}-{number}" for number in range(count))


def _node_names(draft: Draft) -> tuple[list[Finding], set[str] | None]:
    """What is wrong with the nodes' names; and all names, or None if they cannot be known."""
    nodes = draft.doc.nodes
    findings: list[Finding] = []
    total = 0
    for index, node in enumerate(nodes):
        total += node.count or 1
        if total > MOST_NODES:
            message = f"makes more than {MOST_NODES:,} nodes in all, which is the most"
            where = ("count",) if node.count is not None else ()
            return [Finding(draft.loc("nodes", index, *where), message)], None
    first: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in _names(node.name, node.count):
            if first.setdefault(name, index) != index:
                message = f"{shown(name)} is already the name of {path_of(draft.loc('nodes', first[name]))}"
                findings.append(Finding(draft.loc("nodes", index, "name"), message))
                break
    claimed = draft.claimed.get("nodes", [])
    if "nodes" in draft.unreadable or sum(count or 1 for _, count in claimed) > MOST_NODES:
        return findings, None
    return findings, set(first).union(*(_names(name, count) for name, count in claimed))


def _twice(draft: Draft, section: str, names: Sequence[str]) -> list[Finding]:
    if len(set(names)) == len(names):
        return []
    first: dict[str, int] = {}
    findings = []
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            message = f"{shown(name)} is already the name of {path_of(draft.loc(section, first[name]))}"
            findings.append(Finding(draft.loc(section, index, "name"), message))
    return findings


def _nodes(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    findings = []
    for index, node in enumerate(draft.doc.nodes):
        found = [
            *known.no_queue(node.home, ("home",), hints),
            *known.no_workload(node.reserved_for, ("reserved_for",), hints),
            *known.other_clock(node.overcommitted_since, ("overcommitted_since",)),
            *known.other_clock(node.last_preemptive_attempt, ("last_preemptive_attempt",)),
        ]
        findings += [Finding(draft.loc("nodes", index, *one.loc), one.message, one.hint) for one in found]
    return findings


def _queues(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    queues = draft.doc.queues
    findings = _twice(draft, "queues", [queue.name for queue in queues])
    findings += _circles(draft, queues)
    for index, queue in enumerate(queues):
        loc = draft.loc("queues", index)
        clock = known.other_clock(queue.over_limit_since, ("over_limit_since",))
        findings += [Finding((*loc, *one.loc), one.message) for one in clock]
        findings += _settings(draft, (*loc, "settings"), queue, known, hints)
        if known.doctrine == "yunikorn" and queue.name == "root" and queue.max is not None:
            message = "under yunikorn the root's limit is the sum of its nodes; it has no max of its own"
            findings.append(Finding((*loc, "max"), message))
    return findings


def _circles(draft: Draft, queues: Sequence[Queue]) -> list[Finding]:
    """Each circle of parents once, at its first queue in the file."""
    place = {queue.name: index for index, queue in reversed(list(enumerate(queues)))}
    parent = {name: queues[index].parent for name, index in place.items()}
    findings = []
    done: set[str] = set()
    for queue in queues:
        path: dict[str, None] = {}
        at: str | None = queue.name
        while at is not None and at not in path and at not in done:
            path[at] = None
            at = parent.get(at)
        if at is not None and at in path:
            names = list(path)
            circle = names[names.index(at) :]
            first = min(circle, key=place.__getitem__)
            turned = circle[circle.index(first) :] + circle[: circle.index(first)]
            shown_names = [shown(name) for name in turned[:MOST_SHOWN]] + ["..."] * (len(turned) > MOST_SHOWN)
            message = f"the parents go in a circle: {' -> '.join([*shown_names, shown(first)])}"
            findings.append(Finding(draft.loc("queues", place[first], "parent"), message))
        done.update(path)
    return findings


def _settings(draft: Draft, loc: Loc, queue: Queue, known: Known, hints: Hints) -> list[Finding]:
    choice = draft.doc.doctrine
    if choice is None or not queue.settings:
        return []
    model = QUEUE_SETTINGS[choice.name][choice.edition]
    try:
        model.model_validate(queue.settings)
    except ValidationError as error:
        return findings_of(error, model, hints, loc)
    if choice.name != "ytsaurus":
        return []
    findings = _ytsaurus_clock(queue.settings, loc, known)
    for setting, key in (*TWICE.items(), ("weight", "weight")):
        if setting in queue.settings and getattr(queue, key) is not None:
            findings.append(Finding((*loc, setting), f"is the same as the queue's key '{key}'; give one of them"))
    return findings


def _ytsaurus_clock(settings: dict[str, object], loc: Loc, known: Known) -> list[Finding]:
    since = "below_fair_share_since"
    if since not in settings:
        return []
    try:
        time = parse_time(settings[since])
    except ValueError as error:
        return [Finding((*loc, since), str(error))]
    return [Finding((*loc, *one.loc), one.message) for one in known.other_clock(time, (since,))]


def _apps(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    apps = draft.doc.apps
    findings = _twice(draft, "apps", [app.name for app in apps])
    for index, app in enumerate(apps):
        loc = draft.loc("apps", index)
        queue = known.no_queue(app.queue, ("queue",), hints)
        findings += [Finding((*loc, *one.loc), one.message, one.hint) for one in queue]
        if known.doctrine == "ytsaurus":
            findings += _ytsaurus_clock(app.settings, (*loc, "settings"), known)
            if app.weight is not None and "weight" in app.settings:
                message = "is the same as the app's key 'weight'; give one of them"
                findings.append(Finding((*loc, "settings", "weight"), message))
    return findings


def _policies(draft: Draft) -> list[Finding]:
    findings = []
    low, high = PRIORITIES["backendai"] if draft.doc.doctrine and draft.doc.doctrine.name == "backendai" else INT32
    first: dict[tuple[str, str | None], int] = {}
    for index, policy in enumerate(draft.doc.policies):
        loc = draft.loc("policies", index)
        if (policy.user is None) == (policy.project is None):
            wrong = "names neither a user nor a project" if policy.user is None else "names both a user and a project"
            findings.append(Finding(loc, f"{wrong}; a policy is for one of them"))
        else:
            whose = "user" if policy.user is not None else "project"
            owner = (whose, getattr(policy, whose))
            if first.setdefault(owner, index) != index:
                there = path_of(draft.loc("policies", first[owner]))
                message = f"{shown(owner[1])} already has a policy, {there}"
                findings.append(Finding((*loc, whose), message))
        order = ("min_priority", "default_priority", "max_priority")
        given = [(key, value) for key in order if (value := getattr(policy, key)) is not None]
        outside = [(key, value) for key, value in given if not low <= value <= high]
        findings += [
            Finding((*loc, k), f"{shown(v)} is out of range; priorities go from {low} to {high}") for k, v in outside
        ]
        for (lower, less), (upper, more) in pairwise(given):
            if less > more and not outside:
                message = f"{lower} {less} is above {upper} {more}"
                findings.append(Finding((*loc, upper if lower == "min_priority" else lower), message))
    return findings
