"""What must hold of a workload beyond its shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import ValidationError

from cede.model.dialect import INT32, Dialect
from cede.model.errors import Loc, path_of, shown
from cede.model.nodes import Node
from cede.model.queues import Queue
from cede.model.reports import Finding, Hints, findings_of
from cede.model.salvage import LOST, WHOLE, Draft
from cede.model.times import Instant
from cede.model.values import Part
from cede.model.workloads import Workload

MOST_MEMBERS = 1_000_000
RARE = frozenset({"pod_sets", "constraints", "required_node", "checkpoint", "job_priority", "preempted"})


@dataclass(frozen=True)
class Known:
    """What names and times may refer to; None where the file leaves it unclear."""

    queues: set[str] | None
    nodes: set[str] | None
    workloads: set[str] | None
    instant: bool | None
    dialect: Dialect
    uncounted: frozenset[str] = frozenset()
    """Names of nodes whose `count` is unclear: there may be NAME, NAME-0 and so on."""

    def no_queue(self, name: str | None, loc: Loc, hints: Hints) -> list[Finding]:
        return _unknown("queue", name, self.queues, loc, hints)

    def no_node(self, name: str | None, loc: Loc, hints: Hints) -> list[Finding]:
        if name is not None and self.uncounted and not self.uncounted.isdisjoint((name, name.rpartition("-")[0])):
            return []
        return _unknown("node", name, self.nodes, loc, hints)

    def no_workload(self, name: str | None, loc: Loc, hints: Hints) -> list[Finding]:
        return _unknown("workload", name, self.workloads, loc, hints)

    def other_clock(self, time: int | None, loc: Loc) -> list[Finding]:
        if time is None or self.instant is None or isinstance(time, Instant) is self.instant:
            return []
        if self.instant:
            return [Finding(loc, "is a number of seconds, but `now` is RFC 3339; times are all of one kind")]
        return [Finding(loc, "is RFC 3339, but `now` is a number of seconds; times are all of one kind")]


def _unknown(kind: str, name: str | None, known: set[str] | None, loc: Loc, hints: Hints) -> list[Finding]:
    if name is None or known is None or name in known:
        return []
    return [Finding(loc, f"no {kind} is called {shown(name)}", hints.near(name, known, kind))]


def workload_findings(workload: Workload, known: Known, hints: Hints, broken: frozenset[Loc]) -> list[Finding]:
    """Everything that is wrong with the workload beside what is `broken` in it; places are relative to it."""
    if not broken and _plainly_right(workload, known):
        return []
    findings = [
        *known.no_queue(workload.queue, ("queue",), hints),
        *_priorities(workload, known),
        *_size(workload, broken),
        *_nodes(workload, known, hints, broken),
        *known.other_clock(workload.submitted, ("submitted",)),
        *known.other_clock(workload.started, ("started",)),
    ]
    if workload.checkpoint is not None:
        findings += known.other_clock(workload.checkpoint.last, ("checkpoint", "last"))
    return findings


def _plainly_right(workload: Workload, known: Known) -> bool:
    """Whether nothing can be wrong, decided fast: files have 100,000 workloads, and most are like this."""
    low, high = known.dialect.priorities
    priority, nodes = workload.priority, workload.nodes
    return (
        RARE.isdisjoint(workload.model_fields_set)
        and workload.members <= MOST_MEMBERS
        and (priority is None or low <= priority <= high)
        and (workload.queue is None or (known.queues is not None and workload.queue in known.queues))
        and (
            nodes is None
            or (len(nodes) == workload.members and known.nodes is not None and known.nodes.issuperset(nodes))
        )
        and (workload.submitted is None or isinstance(workload.submitted, Instant) is known.instant)
        and (workload.started is None or isinstance(workload.started, Instant) is known.instant)
    )


def _priorities(workload: Workload, known: Known) -> list[Finding]:
    findings = []
    dialect = known.dialect
    low, high = dialect.priorities
    under = f"under {dialect.name} " if dialect.priorities != INT32 else ""
    if workload.priority is not None and not low <= workload.priority <= high:
        message = f"{shown(workload.priority)} is out of range; {under}{dialect.priority_words} go from {low} to {high}"
        findings.append(Finding(("priority",), message))
    if workload.job_priority is not None and not INT32[0] <= workload.job_priority <= INT32[1]:
        message = f"{shown(workload.job_priority)} is out of range; priorities go from {INT32[0]} to {INT32[1]}"
        findings.append(Finding(("job_priority",), message))
    if workload.preempted > INT32[1]:
        message = f"{shown(workload.preempted)} is out of range; it counts up to {INT32[1]}"
        findings.append(Finding(("preempted",), message))
    return findings


def _size(workload: Workload, broken: frozenset[Loc]) -> list[Finding]:
    if workload.pod_sets is None and ("pod_sets",) not in broken:
        return _too_many(workload.members, ("members",))
    findings = [
        Finding((key,), f"stands beside pod_sets, which says the same; leave '{key}' out")
        for key in ("members", "requests")
        if key in workload.model_fields_set or (key,) in broken
    ]
    names: set[str] = set()
    for index, pod_set in enumerate(workload.pod_sets or ()):
        loc = ("pod_sets", index)
        if loc in broken:
            continue
        findings += _too_many(pod_set.count, (*loc, "count"))
        if (*loc, "name") in broken:
            pass
        elif pod_set.name in names:
            findings.append(
                Finding((*loc, "name"), f"{shown(pod_set.name)} is already the name of a pod set of this workload")
            )
        else:
            names.add(pod_set.name)
        counted = (*loc, "count") not in broken
        if counted and pod_set.min_count is not None and pod_set.min_count > pod_set.count:
            message = f"{shown(pod_set.min_count)} is above the count, {shown(pod_set.count)}"
            findings.append(Finding((*loc, "min_count"), message))
    if not findings and workload.size > MOST_MEMBERS:
        findings += _too_many(workload.size, ("pod_sets",))
    return findings


def _too_many(count: int, loc: Loc) -> list[Finding]:
    if count <= MOST_MEMBERS:
        return []
    return [Finding(loc, f"{shown(count)} members are too many; the most is {MOST_MEMBERS:,}")]


def _nodes(workload: Workload, known: Known, hints: Hints, broken: frozenset[Loc]) -> list[Finding]:
    findings = []
    if workload.nodes is not None:
        findings += _each(workload.nodes, ("nodes",), known, hints, broken)
        if len(workload.nodes) != workload.size and not _size_is_unclear(workload, broken):
            entries = "entry" if len(workload.nodes) == 1 else "entries"
            members = "member" if workload.size == 1 else "members"
            message = f"has {len(workload.nodes)} {entries} for {shown(workload.size)} {members}; each member has one"
            findings.append(Finding(("nodes",), message))
    if workload.constraints is not None and workload.constraints.nodes is not None:
        findings += _each(workload.constraints.nodes, ("constraints", "nodes"), known, hints, broken)
    findings += known.no_node(workload.required_node, ("required_node",), hints)
    return findings


def _size_is_unclear(workload: Workload, broken: frozenset[Loc]) -> bool:
    if workload.pod_sets is None:
        return ("members",) in broken or ("pod_sets",) in broken
    return any(loc[:1] == ("pod_sets",) and (len(loc) < 3 or loc[2] == "count") for loc in broken)


def _each(names: Sequence[str], loc: Loc, known: Known, hints: Hints, broken: frozenset[Loc]) -> list[Finding]:
    if known.nodes is None or known.nodes.issuperset(names):
        return []
    places = ((name, (*loc, index)) for index, name in enumerate(names))
    return [one for name, place in places if place not in broken for one in known.no_node(name, place, hints)]


MOST_NODES = 1_000_000
MOST_SHOWN = 8


def check(draft: Draft, hints: Hints) -> list[Finding]:
    """Everything that does not agree, in no particular order."""
    doc = draft.doc
    dialect = doc.dialect
    findings, nodes = _node_names(draft)
    workloads = draft.names("workloads")
    known = Known(
        queues=_queue_names(draft),
        nodes=nodes,
        workloads=_all_known(draft, "workloads", workloads),
        instant=None if "now" in draft.unreadable else isinstance(doc.now, Instant),
        dialect=dialect,
        uncounted=frozenset(doc.nodes[index].name for index in _uncounted(draft)),
    )
    findings += _node_references(draft, known, hints)
    findings += _queues(draft, known, hints)
    findings += _apps(draft, known, hints)
    if dialect.findings is not None:
        findings += dialect.findings(draft, known)
    findings += _twice("tenants", draft.names("tenants"))
    findings += _policies(draft)
    findings += _twice("workloads", workloads)
    broken = draft.broken.get("workloads", {})
    for index, workload in enumerate(doc.workloads):
        if of_workload := workload_findings(workload, known, hints, broken.get(index, WHOLE)):
            findings += [Finding(("workloads", index, *one.loc), one.message, one.hint) for one in of_workload]
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
    given = draft.names("nodes")
    uncounted = _uncounted(draft)
    findings: list[Finding] = []
    total = 0
    for index, node in enumerate(nodes):
        total += node.count or 1
        if total > MOST_NODES:
            message = f"makes more than {MOST_NODES:,} nodes in all, which is the most"
            where = ("count",) if node.count is not None else ()
            return [Finding(("nodes", index, *where), message)], None
    first: dict[str, int] = {}
    for index, (stem, node) in enumerate(zip(given, nodes, strict=True)):
        # However many nodes a count that cannot be read should make, one of them is NAME-0.
        for name in () if stem is None else _names(stem, 1 if index in uncounted else node.count):
            if first.setdefault(name, index) != index:
                message = f"{shown(name)} is already the name of {path_of(('nodes', first[name]))}"
                findings.append(Finding(("nodes", index, "name"), message))
                break
    return findings, None if "nodes" in draft.unreadable or None in given else set(first)


def _uncounted(draft: Draft) -> set[int]:
    """The nodes whose `count` could not be read."""
    return {index for index, locs in draft.broken.get("nodes", {}).items() if ("count",) in locs}


def _queue_names(draft: Draft) -> set[str] | None:
    """The queues that there are, for a parent exists by being named; None if that cannot be known."""
    if any(("parent",) in locs for locs in draft.broken.get("queues", {}).values()):
        return None
    names = _all_known(draft, "queues", draft.names("queues"))
    return None if names is None else names.union(q.parent for q in draft.doc.queues if q.parent is not None)


def _all_known(draft: Draft, section: str, names: Iterable[str | None]) -> set[str] | None:
    """The names; None if one could not be read, for then it may be any."""
    known = set(names)
    return None if section in draft.unreadable or None in known else {name for name in known if name is not None}


def _twice(section: str, names: Sequence[str | None]) -> list[Finding]:
    if len(set(names)) == len(names):
        return []
    first: dict[str, int] = {}
    findings = []
    for index, name in enumerate(names):
        if name is not None and first.setdefault(name, index) != index:
            message = f"{shown(name)} is already the name of {path_of((section, first[name]))}"
            findings.append(Finding((section, index, "name"), message))
    return findings


def _node_references(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    findings = []
    for index, node in enumerate(draft.doc.nodes):
        of_node = [
            *known.no_queue(node.home, ("home",), hints),
            *known.no_workload(node.reserved_for, ("reserved_for",), hints),
            *known.other_clock(node.reserved_since, ("reserved_since",)),
            *known.other_clock(node.overcommitted_since, ("overcommitted_since",)),
            *known.other_clock(node.last_preemptive_attempt, ("last_preemptive_attempt",)),
        ]
        findings += [Finding(("nodes", index, *one.loc), one.message, one.hint) for one in of_node]
    return findings


def _queues(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    queues = draft.doc.queues
    names = draft.names("queues")
    findings = _twice("queues", names)
    findings += _circles(queues, names)
    for index, queue in enumerate(queues):
        loc, broken = ("queues", index), draft.broken_in("queues", index)
        clock = known.other_clock(queue.over_limit_since, ("over_limit_since",))
        findings += [Finding((*loc, *one.loc), one.message) for one in clock]
        of_settings = _settings(draft, index, hints)
        findings += of_settings
        if known.dialect.queue_findings is not None:
            of_dialect = known.dialect.queue_findings(queue, {} if of_settings else queue.settings, broken)
            findings += [Finding((*loc, *one.loc), one.message, one.hint) for one in of_dialect]
    return findings


def _circles(queues: Sequence[Queue], names: Sequence[str | None]) -> list[Finding]:
    """Each circle of parents once, at its first queue in the file."""
    place = {name: index for index, name in reversed(list(enumerate(names))) if name is not None}
    parent = {name: queues[index].parent for name, index in place.items()}
    findings = []
    done: set[str] = set()
    for name in names:
        path: dict[str, None] = {}
        at = name
        while at is not None and at not in path and at not in done:
            path[at] = None
            at = parent.get(at)
        if at is not None and at in path:
            walked = list(path)
            circle = walked[walked.index(at) :]
            first = min(circle, key=place.__getitem__)
            turned = circle[circle.index(first) :] + circle[: circle.index(first)]
            shown_names = [shown(name) for name in turned[:MOST_SHOWN]] + ["..."] * (len(turned) > MOST_SHOWN)
            message = f"the parents go in a circle: {' -> '.join([*shown_names, shown(first)])}"
            findings.append(Finding(("queues", place[first], "parent"), message))
        done.update(path)
    return findings


def _settings(draft: Draft, index: int, hints: Hints) -> list[Finding]:
    queue = draft.doc.queues[index]
    choice = draft.doc.doctrine
    if choice is None or "edition" in draft.unreadable or not queue.settings:
        return []
    return _against(choice.dialect.queues[choice.edition], queue.settings, ("queues", index, "settings"), hints)


def _against(model: type[Part], settings: dict[str, object], loc: Loc, hints: Hints) -> list[Finding]:
    """What is wrong with settings that should be those of the model."""
    try:
        model.model_validate(settings)
    except ValidationError as error:
        return findings_of(error, model, hints, loc)
    return []


def _apps(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    findings = _twice("apps", draft.names("apps"))
    model = known.dialect.apps
    for index, app in enumerate(draft.doc.apps):
        queue = known.no_queue(app.queue, ("queue",), hints)
        findings += [Finding(("apps", index, *one.loc), one.message, one.hint) for one in queue]
        if model is not None and app.settings:
            findings += _against(model, app.settings, ("apps", index, "settings"), hints)
    return findings


def _policies(draft: Draft) -> list[Finding]:
    findings = []
    low, high = draft.doc.dialect.priorities
    first: dict[tuple[str, str], int] = {}
    for index, policy in enumerate(draft.doc.policies):
        loc, broken = ("policies", index), draft.broken_in("policies", index)
        whose = [key for key in ("user", "project") if getattr(policy, key) is not None or (key,) in broken]
        if broken == LOST:
            continue
        if len(whose) != 1:
            wrong = "names both a user and a project" if whose else "names neither a user nor a project"
            findings.append(Finding(loc, f"{wrong}; a policy is for one of them"))
        elif (name := getattr(policy, whose[0])) is not None and first.setdefault((whose[0], name), index) != index:
            message = f"{shown(name)} already has a policy, {path_of(('policies', first[whose[0], name]))}"
            findings.append(Finding((*loc, whose[0]), message))
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
