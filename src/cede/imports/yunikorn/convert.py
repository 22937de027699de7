"""From YuniKorn's queue configuration and state dump to a cluster file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cede.imports.made import Source, check, in_order, refuse_unknown_edition
from cede.imports.report import Imported, Place, Report
from cede.imports.yunikorn.applications import FINISHED, Works, app_of, queue_of, works_of
from cede.imports.yunikorn.configuration import Partition, partition_of
from cede.imports.yunikorn.dump import Dump, clock_of, dump_of
from cede.imports.yunikorn.dynamic import Tree, tree_of
from cede.imports.yunikorn.nodes import node
from cede.imports.yunikorn.pods import pods_of
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
