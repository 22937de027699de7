"""From YuniKorn's queue configuration and state dump to a cluster file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cede.imports.document import Source, check, in_order, refuse_unknown_edition
from cede.imports.fields import Fields, total
from cede.imports.report import Imported, Place, Report
from cede.imports.yunikorn.applications import FINISHED, Works, app_of, queue_of, works_of
from cede.imports.yunikorn.configuration import Partition, partition_of
from cede.imports.yunikorn.dump import Dump, clock_of, dump_of
from cede.imports.yunikorn.dynamic import Tree, tree_of
from cede.imports.yunikorn.pods import pods_of
from cede.imports.yunikorn.quantities import counted, written
from cede.imports.yunikorn.queues import note_overuse, queues_of
from cede.model.cluster import FORMAT
from cede.model.errors import InputError, Loc, Problem, path_of
from cede.model.garbage import collecting_no_garbage
from cede.model.times import format_time

EDITION = "1.9"
NO_PODS = (
    "a dump does not say which pods asked not to be preempted, and which may not preempt; all count as ordinary"
    "; give Pods and PriorityClasses with --objects"
)


def from_yunikorn(
    configuration: Source,
    state: Source | None = None,
    objects: Sequence[Source] = (),
    *,
    partition: str | None = None,
    edition: str = EDITION,
    now: str | None = None,
) -> Imported:
    """The cluster file that the configuration describes, with the nodes and workloads of the state dump if given.

    `objects` are Pods and PriorityClasses. `partition` is `default`, or the only one, if not named. `now` is the
    file's clock, else the time of the dump. An InputError lists all that is wrong, with file, object and path.
    """
    refuse_unknown_edition("yunikorn", edition)
    with collecting_no_garbage():
        report = Report()
        taken = partition_of(*configuration, partition, report)
        configured = queues_of(taken)
        if report.problems:
            raise InputError(report.problems)
        dump = None if state is None else dump_of(*state, taken.name, report)
        tree = tree_of(configured, [] if dump is None else dump.queues)
        document = _head(taken, edition)
        places: dict[str, list[Place]] = {"doctrine": [taken.fields.place]}
        works = Works()
        if dump is not None:
            pods = pods_of(objects, report)
            works = works_of(dump.applications, frozenset(one.place.name for one in dump.nodes), pods)
            if works.works and not pods.given:
                dump.fields.remark(NO_PODS)
            _add_state(document, places, tree, dump, works, now)
            note_overuse(taken, configured, works.works)
        elif objects or now is not None:
            option = "--objects" if objects else "--now"
            raise InputError([Problem(option, "means the state of a cluster", "add --state")])
        document["queues"], places["queues"] = tree.entries(), tree.places()
        tree.note_unused()
        if not report.problems:

            def tell(_: str, place: Place, steps: Loc, problem: Problem) -> None:
                made = f"in the cluster file, {path_of(steps)}: " if steps else ""
                report.wrong(place, (), f"{made}{problem.message}", problem.hint)

            check(in_order(document), places, report, tell)
        if report.problems:
            raise InputError(report.problems)
        finished = frozenset(note.place for note in report.notes if note.why == FINISHED)
        return Imported(in_order(document), tuple(report.notes), frozenset(works.left_out), finished)


def _head(partition: Partition, edition: str) -> dict[str, Any]:
    doctrine: dict[str, Any] = {"name": "yunikorn", "edition": edition}
    return {"cede": FORMAT, "doctrine": doctrine | partition.switches}


def _add_state(
    document: dict[str, Any], places: dict[str, list[Place]], tree: Tree, dump: Dump, all_works: Works, now: str | None
) -> None:
    """Put what the dump has into the document."""
    works, owners = all_works.works, all_works.owners.values()
    for fields in owners:
        if not tree.has(queue_of(fields)):
            tree.add(queue_of(fields), None, True, fields.place)
    if (clock := clock_of(dump, now)) is not None:
        document["now"] = format_time(clock, instant=True)
    running = {work.key for work in works if work.holds}
    pending = {work.key: work.name for work in works if not work.holds}
    document["nodes"] = [node(one, running, pending) for one in dump.nodes]
    document["apps"] = [app_of(fields) for fields in owners]
    document["workloads"] = [work.entry for work in works]
    places["nodes"] = [one.place for one in dump.nodes]
    places["apps"] = [fields.place for fields in owners]
    places["workloads"] = [Place(dump.fields.place.source, "allocation", work.name) for work in works]


OF_YUNIKORN = ("si.io/", "si/")
"""How the attributes begin that YuniKorn sets itself; the others are the labels of the node."""
NO_LABELS = ("ready",)
STRAY = "it belongs to no application of the dump; its room counts as occupied"


def node(fields: Fields, running: Collection[str], pending: Mapping[str, str]) -> dict[str, Any]:
    """What the dump says of a node; `running` and `pending` are the allocation keys of the workloads there are."""
    entry: dict[str, Any] = {"name": fields.place.name, "capacity": written(counted(fields, "capacity"))}
    strays = [one for one in fields.parts("allocations") if one.text("allocationKey") not in running]
    for one in strays:
        one.remark(STRAY)
    occupied = total([counted(fields, "occupied"), *(counted(one, "resource") for one in strays)])
    if any(occupied.values()):
        entry["occupied"] = written(occupied)
    labels = {
        name: value
        for name, value in fields.labels("attributes").items()
        if not name.startswith(OF_YUNIKORN) and name not in NO_LABELS
    }
    if labels:
        entry["labels"] = labels
    if fields.truth("schedulable") is False:
        entry["state"] = "cordoned"
    if (holder := _holder(fields, pending)) is not None:
        entry["reserved_for"] = holder
    return entry


def _holder(fields: Fields, pending: Mapping[str, str]) -> str | None:
    """The pending workload for which the node is reserved; a reservation is APPLICATION|ALLOCATION."""
    key = "reservations" if fields.has("reservations") else "Reservations"
    held = fields.texts(key)
    if not held:
        return None
    names = {pending[ask] for one in held if (ask := one.rpartition("|")[2]) in pending}
    if len(held) == 1 and len(names) == 1:
        return names.pop()
    why = (
        "it is reserved more than once"
        if len(held) > 1
        else "nothing that waits is called like what it is reserved for"
    )
    fields.remark(f"{why}; the reservation is not carried over", key)
    return None
