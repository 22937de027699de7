"""From Kueue's objects to a cluster file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cede.imports.document import check
from cede.imports.kueue.configuration import configuration_of
from cede.imports.kueue.flavors import flavors_of
from cede.imports.kueue.nodes import hosts_of, node, offered
from cede.imports.kueue.objects import CONFIG, QUEUES, READ, Object, latest, objects_of
from cede.imports.kueue.placements import nodes_of, placements_of, pods_of
from cede.imports.kueue.queues import Tree, tree_of
from cede.imports.kueue.workloads import FINISHED, Work, workload
from cede.imports.kueue.world import World, local_queues, namespaces, owners_of, priority_classes
from cede.imports.report import Imported, Note, Report
from cede.model.cluster import FORMAT
from cede.model.errors import InputError, Loc, Problem
from cede.model.garbage import collecting_no_garbage
from cede.model.times import Instant, format_time, parse_time

BESIDE = {"": ("Node", "Pod", "Namespace"), "scheduling.k8s.io": ("PriorityClass",), CONFIG: ("Configuration",)}
"""The kinds that are read beside Kueue's own, by group."""
Origins = dict[str, list[Object]]


def from_kueue(
    sources: Sequence[tuple[str, object]], *, now: str | None = None, fair_sharing: bool = False, nodes: bool = False
) -> Imported:
    """The cluster file that the objects of all sources describe, each source with its name.

    `now` is the file's clock, else the latest time in the objects. `fair_sharing` says that the manager is configured
    so. `nodes` puts the nodes in even if it is not known where every workload stands. An InputError lists all that is
    wrong, with file, object and path.
    """
    with collecting_no_garbage():
        report = Report()
        return converted(objects_of(sources, report), report, now, fair_sharing, nodes)


def converted(
    objects: Sequence[Object], report: Report, now: str | None, fair_sharing: bool = False, nodes: bool = False
) -> Imported:
    """The cluster file that the objects describe; an InputError lists what the report has and all that is added."""
    kinds = _by_kind(objects)
    clock = _clock(now, objects)
    world = _world(kinds, objects)
    if not world.configuration.is_given and not fair_sharing:
        _note_weights(world.tree)
    works = [made for one in kinds.get("Workload", []) if (made := workload(one, world, clock)) is not None]
    node_entries, node_origins = _nodes(kinds, world, works, nodes)
    document: dict[str, Any] = {"cede": FORMAT}
    if clock is not None:
        document["now"] = format_time(clock, instant=True)
    document["doctrine"] = world.configuration.doctrine(fair_sharing)
    document |= {"nodes": node_entries} if node_entries else {}
    document["queues"] = world.tree.entries
    document["workloads"] = [work.finished() for work in works]
    origins = {
        "nodes": node_origins,
        "queues": [queue.object for queue in world.tree.queues],
        "workloads": [work.object for work in works],
        "doctrine": kinds.get("Configuration", []),
    }
    if not report.problems:
        _check(document, origins, report)
    if report.problems:
        raise InputError(report.problems)
    finished = frozenset(note.place for note in report.notes if note.why == FINISHED)
    left_out = {one.place for one in kinds.get("Workload", [])} - finished - {work.object.place for work in works}
    return Imported(document, tuple(report.notes), frozenset(left_out), finished)


def _by_kind(objects: Sequence[Object]) -> dict[str, list[Object]]:
    """The objects that are read, by kind; of the others it is noted."""
    kinds: dict[str, list[Object]] = {}
    for one in objects:
        if one.kind in (READ if one.group == QUEUES else BESIDE.get(one.group, ())):
            kinds.setdefault(one.kind, []).append(one)
        else:
            one.fields.remark("objects of this kind have no place in a cluster file")
    return kinds


def _clock(now: str | None, objects: Sequence[Object]) -> int | None:
    if now is None:
        return latest(objects)
    try:
        return Instant(parse_time(now))
    except ValueError as error:
        raise InputError([Problem("--now", str(error))]) from None


def _world(kinds: Mapping[str, list[Object]], objects: Sequence[Object]) -> World:
    flavors = flavors_of(kinds.get("ResourceFlavor", []))
    queues = [one for one in objects if one.group == QUEUES and one.kind in ("ClusterQueue", "Cohort")]
    tree = tree_of(queues)
    for queue in tree.queues:
        missing = [name for _, names in queue.groups for name in names if name not in flavors]
        if not queue.is_cohort and missing:
            why = f"the ResourceFlavor {', '.join(missing)} was not given, so any pod and node is taken to fit it"
            queue.object.fields.remark(why, "spec", "resourceGroups")
    owners = {uid: direct for one in objects if (uid := one.meta.text("uid")) and (direct := owners_of(one))}
    return World(
        tree=tree,
        flavors=flavors,
        configuration=configuration_of(kinds.get("Configuration", [])),
        local_queues=local_queues(kinds.get("LocalQueue", [])),
        priorities=priority_classes([*kinds.get("WorkloadPriorityClass", []), *kinds.get("PriorityClass", [])]),
        namespaces=namespaces(kinds.get("Namespace", [])),
        owners=owners,
    )


def _note_weights(tree: Tree) -> None:
    for queue in tree.queues:
        if "weight" in queue.entry:
            why = "it counts under fair sharing only; give Kueue's Configuration, or --fair-sharing"
            queue.object.fields.remark(why, "spec", "fairSharing", "weight")


def _nodes(
    kinds: Mapping[str, list[Object]], world: World, works: Sequence[Work], forced: bool
) -> tuple[list[dict[str, Any]], list[Object]]:
    """The nodes, if there are any and it is known, or must not matter, where every workload stands."""
    given = kinds.get("Node", [])
    if not given:
        return [], []
    hosts = hosts_of(given)
    placements = placements_of(works, pods_of(kinds.get("Pod", []), world), world)
    for work in works:
        work.nodes = nodes_of(work, placements, hosts) if work.holds else None
    homeless = [work for work in works if work.holds and work.nodes is None]
    if homeless and not forced:
        for work in works:
            work.nodes = None
        first = homeless[0].entry["name"]
        more = f" and {len(homeless) - 1} more" if len(homeless) > 1 else ""
        why = f"left out: without its Pods it is not known where {first}{more} runs; give them too, or --nodes"
        for one in given:
            one.fields.remark(why)
        return [], []
    for work in homeless:
        work.object.fields.remark("it is not known where it runs, so it takes room on no node")
    for work in works:
        _constrain(work)
    offers = offered(world.tree.queues)
    entries = [node(one, offers, world.flavors, placements.others) for one in given]
    return entries, given


def _constrain(work: Work) -> None:
    """The labels that its nodes must have, where all pods agree."""
    wanted = [dict(one.node_labels) for one in work.pod_sets if one.count]
    if any(one != wanted[0] for one in wanted) or any(one.selection.any_of for one in work.pod_sets):
        work.object.fields.remark("on which nodes its pods may stand is carried over for quota only", "spec", "podSets")
    elif wanted[0]:
        work.entry["constraints"] = {"labels": wanted[0]}


def _check(document: Mapping[str, Any], origins: Origins, report: Report) -> None:
    """What is wrong with the file that was made, in the words of Kubernetes."""

    def tell(_: str, one: Object, steps: Loc, problem: Problem) -> None:
        hint = None if problem.hint is None else kubernetes_words(problem.hint)
        report.wrong(one.place, kubernetes_loc(one, steps), kubernetes_words(problem.message), hint)

    check(document, origins, report, tell)


PLACED = ("Node", "Pod")
TIMES = ("submitted", "started")
SHORT = "{name: NAME, queue: QUEUE, priority: 0, requests: {cpu: 1}}"
"""What may be written instead of a Workload."""


def workloads_beside(base: object, before: Imported, source: str, added: object) -> Imported:
    """The document that the base describes with the added Workloads for its own, and notes on nothing but those.

    `before` is what the base became. An InputError says what is no Workload, and which takes no part.
    """
    with collecting_no_garbage():
        report = Report()
        new = objects_of([(source, added)], report)
        if others := [one for one in new if not _is_workload(one)]:
            raise InputError(_no_workload(source, one) for one in others)
        made = converted([*_around(base, before), *new], report, before.document.get("now"))
    fresh = tuple(note for note in made.notes if note not in before.notes)
    absent = made.left_out | made.finished
    if absent:
        reasons = {note.place: note for note in fresh if note.place in absent}
        raise InputError(_takes_no_part(note) for note in reasons.values())
    if "now" not in before.document:
        # Without a clock there are no times: what is added is added now.
        for entry in made.document["workloads"]:
            for key in TIMES:
                entry.pop(key, None)
    return Imported(made.document, fresh)


def _around(base: object, before: Imported) -> Sequence[Object]:
    """What of the base a workload may refer to."""
    left = ("Workload",) if "nodes" in before.document else ("Workload", *PLACED)
    return [one for one in objects_of([("", base)], Report()) if one.kind not in left]


def _is_workload(one: Object) -> bool:
    return one.group == QUEUES and one.kind == "Workload"


def _no_workload(source: str, one: Object) -> Problem:
    if one.kind != "Pod" and (one.group == QUEUES or one.kind in BESIDE.get(one.group, ())):
        hint = "put it into the file of the cluster's objects"
    else:
        hint = f"give the Workload that Kueue makes of it, or write {SHORT}"
    return Problem(source, f"{one.place.label} is no Workload, and only Workloads can be added", hint)


def _takes_no_part(note: Note) -> Problem:
    return note.place.problem((), f"{note.path}: {note.why}" if note.path else note.why)


_IN_QUEUES: dict[str, Loc] = {
    "name": ("metadata", "name"),
    "guaranteed": ("spec", "resourceGroups"),
    "borrowing_limit": ("spec", "resourceGroups"),
    "lending_limit": ("spec", "resourceGroups"),
    "resource_groups": ("spec", "resourceGroups"),
    "weight": ("spec", "fairSharing", "weight"),
}
_IN_SETTINGS: dict[str, Loc] = {
    "withinClusterQueue": ("spec", "preemption"),
    "reclaimWithinCohort": ("spec", "preemption"),
    "borrowWithinCohort": ("spec", "preemption"),
    "flavorFungibility": ("spec",),
    "queueingStrategy": ("spec",),
}
_IN_WORKLOADS: dict[str, Loc] = {
    "name": ("metadata", "name"),
    "uid": ("metadata", "uid"),
    "priority": ("spec", "priority"),
    "members": ("spec", "podSets"),
    "requests": ("spec", "podSets"),
    "pod_sets": ("spec", "podSets"),
    "constraints": ("spec", "podSets"),
    "walltime": ("spec", "maximumExecutionTimeSeconds"),
    "usage": ("status", "admission"),
}
_IN_NODES: dict[str, Loc] = {
    "name": ("metadata", "name"),
    "labels": ("metadata", "labels"),
    "capacity": ("status", "allocatable"),
}
_IN_CONFIGURATION: dict[str, Loc] = {"strategies": ("fairSharing", "preemptionStrategies")}
_KINDS = {
    "ClusterQueue": _IN_QUEUES,
    "Cohort": _IN_QUEUES,
    "Workload": _IN_WORKLOADS,
    "Node": _IN_NODES,
    "Configuration": _IN_CONFIGURATION,
}
_PARENTS = {
    ("ClusterQueue", True): "cohort",
    ("ClusterQueue", False): "cohortName",
    ("Cohort", True): "parent",
    ("Cohort", False): "parentName",
}
_WORDS = {
    "borrowing_limit": "borrowingLimit",
    "lending_limit": "lendingLimit",
    "resource_groups": "resourceGroups",
    "add a parent": "add a cohort",
}


def kubernetes_loc(one: Object, steps: Loc) -> Loc:
    """The path in the object of what an entry has below these steps; the steps themselves where that is not known."""
    if not steps:
        return ()
    key, rest = str(steps[0]), steps[1:]
    if key == "settings" and rest:
        return (*_IN_SETTINGS[str(rest[0])], *rest) if rest[0] in _IN_SETTINGS else steps
    if key == "parent" and (one.kind, one.is_old) in _PARENTS:
        return "spec", _PARENTS[one.kind, one.is_old]
    path = _KINDS.get(one.kind, {}).get(key)
    if path is None:
        return steps
    if key == "resource_groups":
        return (*path, *("coveredResources" if step == "resources" else step for step in rest))
    return path


def kubernetes_words(text: str) -> str:
    """The text with the keys of a cluster file as Kubernetes calls them."""
    for ours, theirs in _WORDS.items():
        text = text.replace(ours, theirs)
    return text
