"""From a pool tree of YTsaurus, its nodes and its operations to a cluster file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cede.imports.document import Source, check, in_order, refuse_unknown_edition
from cede.imports.fields import total
from cede.imports.report import Imported, Place, Report
from cede.imports.ytsaurus.nodes import USAGE, Nodes, nodes_of
from cede.imports.ytsaurus.operations import Work, operations_of, queue_names
from cede.imports.ytsaurus.pools import FILTER, OWN_KEYS, Pool, Tree, options_of, pools_of, tree_of
from cede.model.cluster import FORMAT
from cede.model.errors import InputError, Loc, Problem
from cede.model.garbage import collecting_no_garbage
from cede.model.times import Instant, format_time, parse_time

EDITION = "25.4"
NO_NODES = "there are no nodes in the file, without which nothing can start; give them with --nodes"
NOT_FILTERED = "it says which nodes are the tree's; it is applied to what --nodes gives, which is nothing"
UNKNOWN_POOL = "its pool {} is not in the tree, so it is put below {}"
NOT_EMPTY = "it uses more than the operations in the file hold there; here the rest counts as free"


def from_ytsaurus(
    pools: Source,
    nodes: Source | None = None,
    operations: Sequence[Source] = (),
    *,
    tree: str | None = None,
    edition: str = EDITION,
    now: str | None = None,
) -> Imported:
    """The cluster file that the pool tree describes, with the nodes and operations if given.

    `tree` is the name of the tree to take if the file holds several. `now` is the file's clock, else the latest time
    of the operations. An InputError lists all that is wrong, with file, object and path.
    """
    refuse_unknown_edition("ytsaurus", edition)
    if now is not None and nodes is None and not operations:
        raise InputError([Problem("--now", "means the state of a cluster", "add --operations")])
    with collecting_no_garbage():
        report = Report()
        taken = tree_of(*pools, tree, report)
        options, all_pools = options_of(taken), pools_of(taken)
        machines = Nodes() if nodes is None else nodes_of(*nodes, options.nodes_filter, report)
        work = Work()
        for source, data in operations:
            operations_of(source, data, taken.name, machines.names, report, work)
        document: dict[str, Any] = {
            "cede": FORMAT,
            "doctrine": {"name": "ytsaurus", "edition": edition, **options.settings},
            "nodes": machines.entries,
            "queues": [pool.entry() for pool in all_pools.values()] + _ephemeral(all_pools, work, report),
            "apps": work.apps,
            "workloads": work.workloads,
        }
        if (clock := _clock(now, work.latest)) is not None:
            document["now"] = format_time(clock, instant=True)
        _note_nodes(taken, options.nodes_filter, machines, work)
        if not report.problems:

            def tell(section: str, place: Place, steps: Loc, problem: Problem) -> None:
                report.wrong(place, _given(section, steps), problem.message, problem.hint)

            check(in_order(document), _places(taken, all_pools, machines, work), report, tell)
        if report.problems:
            raise InputError(report.problems)
        return Imported(in_order(document), tuple(report.notes), frozenset(work.left_out))


def _clock(now: str | None, latest: int | None) -> int | None:
    if now is None:
        return latest
    try:
        return Instant(parse_time(now))
    except ValueError as error:
        raise InputError([Problem("--now", str(error))]) from None


def _ephemeral(pools: Mapping[str, Pool], work: Work, report: Report) -> list[dict[str, Any]]:
    """Queues for the pools that operations name and the tree does not have: YTsaurus makes such on the fly."""
    made = []
    for name, place in queue_names(work).items():
        if name not in pools:
            above = name.partition("$")[0]
            parent = {"parent": above} if above in pools else {}
            made.append({"name": name, **parent})
            report.note(place, ("pool",), UNKNOWN_POOL.format(name, above if parent else "the root"))
    return made


def _note_nodes(tree: Tree, nodes_filter: str, machines: Nodes, work: Work) -> None:
    """Say what is not known of nodes: that there are any, and what else is used on them."""
    if not machines.entries:
        tree.root.fields.remark(NO_NODES)
        if nodes_filter:
            tree.root.fields.remark(NOT_FILTERED, FILTER)
    for name, (fields, used) in machines.used.items():
        held = total(work.held.get(name, ()))
        if any(nano > held.get(resource, 0) for resource, nano in used.items()):
            fields.remark(NOT_EMPTY, USAGE)


def _places(tree: Tree, pools: Mapping[str, Pool], machines: Nodes, work: Work) -> dict[str, list[Place]]:
    """Where each entry of each section comes from."""
    return {
        "doctrine": [tree.root.fields.place],
        "nodes": machines.places,
        "queues": [pool.fields.place for pool in pools.values()],
        "apps": work.app_places,
        "workloads": work.workload_places,
    }


def _given(section: str, steps: Loc) -> Loc:
    """Where that stands in what was given, by the names of YTsaurus."""
    if section == "queues" and steps:
        names = {key: name for name, key in OWN_KEYS.items()}
        return steps[1:] if steps[0] == "settings" else (names.get(str(steps[0]), steps[0]), *steps[1:])
    if section == "apps" and steps and steps[0] == "settings":
        return ("spec", *steps[1:])
    return steps
