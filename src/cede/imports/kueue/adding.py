"""Workloads that are not in the cluster yet, read beside the objects they refer to."""

from __future__ import annotations

from collections.abc import Sequence

from cede.imports.kueue.convert import BESIDE, converted
from cede.imports.kueue.objects import QUEUES, Object, objects_of
from cede.imports.report import Imported, Note, Report
from cede.model.errors import InputError, Problem
from cede.model.garbage import collecting_no_garbage

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
