"""What must hold of a workload beyond its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cede.model.dialect import INT32, Dialect
from cede.model.errors import Loc, shown
from cede.model.reports import Finding, Hints
from cede.model.times import Instant
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
