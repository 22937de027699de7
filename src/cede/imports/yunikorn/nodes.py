"""Nodes as those of a cluster file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cede.imports.fields import Fields, total
from cede.imports.yunikorn.quantities import counted, written

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
