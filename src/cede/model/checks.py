"""What must hold between the parts of a document, beyond the shape of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pydantic import ValidationError

from cede.model.errors import Loc, path_of, shown
from cede.model.nodes import Node
from cede.model.queues import Queue
from cede.model.reports import Finding, Hints, findings_of
from cede.model.salvage import LOST, WHOLE, Draft
from cede.model.times import Instant
from cede.model.values import Part
from cede.model.workload_checks import Known, workload_findings

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
    findings += _nodes(draft, known, hints)
    findings += _queues(draft, known, hints)
    findings += _apps(draft, known, hints)
    if dialect.findings is not None:
        findings += dialect.findings(draft, known)
    findings += _twice("tenants", draft.names("tenants"))
    findings += _policies(draft)
    findings += _twice("workloads", workloads)
    broken = draft.broken.get("workloads", {})
    for index, workload in enumerate(doc.workloads):
        if found := workload_findings(workload, known, hints, broken.get(index, WHOLE)):
            findings += [Finding(("workloads", index, *one.loc), one.message, one.hint) for one in found]
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


def _nodes(draft: Draft, known: Known, hints: Hints) -> list[Finding]:
    findings = []
    for index, node in enumerate(draft.doc.nodes):
        found = [
            *known.no_queue(node.home, ("home",), hints),
            *known.no_workload(node.reserved_for, ("reserved_for",), hints),
            *known.other_clock(node.reserved_since, ("reserved_since",)),
            *known.other_clock(node.overcommitted_since, ("overcommitted_since",)),
            *known.other_clock(node.last_preemptive_attempt, ("last_preemptive_attempt",)),
        ]
        findings += [Finding(("nodes", index, *one.loc), one.message, one.hint) for one in found]
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
            found = known.dialect.queue_findings(queue, {} if of_settings else queue.settings, broken)
            findings += [Finding((*loc, *one.loc), one.message, one.hint) for one in found]
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
