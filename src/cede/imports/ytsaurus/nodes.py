"""Nodes as those of a cluster file: listed as such, or as Cypress or the scheduler has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Amounts, Fields
from cede.imports.report import Place, Report
from cede.imports.ytsaurus.cypress import attributes_of, fields_of, opened, value_of
from cede.imports.ytsaurus.options import RESOURCES, amounts, written
from cede.model.errors import InputError, Problem, shown
from cede.model.tag_filters import parse_tag_filter

NODE = "node"
NODES = "nodes"
LIMITS, USAGE = "resource_limits", "resource_usage"
ONLINE = "online"
SET = "true"
"""The value of a label that stands for a tag."""
HINT = "give what `yt list //sys/cluster_nodes` prints with attributes, or a list of nodes as in a cluster file"
ELSEWHERE = "its tags do not fit the nodes_filter of the tree; it is left out"
NO_WORK = "it runs no operations, by its flavors; it is left out"
NOT_CARRIED = {
    "decommissioned": "that its data is moved away means nothing to a plan",
    "scheduling_segment": "scheduling segments are not planned here",
    "overridden_scheduling_segment": "scheduling segments are not planned here",
}


@dataclass(slots=True)
class Nodes:
    """The nodes of the file to be, where each comes from, and how much is used on those that say so."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    used: dict[str, tuple[Fields, Amounts]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(str(entry.get("name")) for entry in self.entries)


def nodes_of(source: str, data: object, nodes_filter: str, report: Report) -> Nodes:
    """Those nodes that the filter lets into the tree; nodes listed as in a cluster file are all taken."""
    raw = opened(data)
    value = value_of(raw)
    nodes = Nodes()
    if isinstance(value, dict) and isinstance(value.get(NODES), list):
        value = value[NODES]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            name = item.get("name")
            nodes.entries.append(item)
            nodes.places.append(Place(source, NODE, name if isinstance(name, str) else str(index)))
        return nodes
    for name, attributes in _named(source, value):
        fields = fields_of(attributes, Place(source, NODE, name), report)
        if (entry := _node(fields, nodes_filter)) is not None:
            nodes.entries.append(entry)
            nodes.places.append(fields.place)
            nodes.used[name] = fields, _amounts(fields, USAGE)
        for key, why in NOT_CARRIED.items():
            fields.note(why, key)
    return nodes


def _named(source: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and attributes: of a list of names, of a map from names to nodes, or of what the scheduler says of them."""
    items: Iterable[tuple[Any, Any]]
    if isinstance(value, list):
        items = [(value_of(item), item) for item in value]
    elif isinstance(value, dict):
        items = value.items()
    else:
        raise InputError([Problem(source, f"{shown(value)} is no list of nodes", HINT)])
    for name, item in items:
        if not isinstance(name, str):
            raise InputError([Problem(source, f"{shown(name)} is no name of a node", HINT)])
        inside = value_of(item) if isinstance(value, dict) else None
        yield name, attributes_of(item) or (inside if isinstance(inside, dict) else {})


def _node(fields: Fields, nodes_filter: str) -> dict[str, Any] | None:
    """The node; None if it is not one of the tree's, which is noted."""
    tags = sorted({*fields.texts("tags"), *fields.texts("user_tags")})
    flavors = fields.texts("flavors")
    if flavors and "exec" not in flavors:
        fields.remark(NO_WORK, "flavors")
        return None
    if not parse_tag_filter(nodes_filter).matches(tags):
        fields.remark(ELSEWHERE, "tags")
        return None
    if not fields.has(LIMITS):
        fields.wrong((LIMITS,), "this attribute is required and missing", f"add --attribute {LIMITS}")
    entry: dict[str, Any] = {"name": fields.place.name, "capacity": written(_amounts(fields, LIMITS))}
    if tags:
        entry["labels"] = dict.fromkeys(tags, SET)
    state = _state(fields)
    if state != "ready":
        entry["state"] = state
    return entry


def _state(fields: Fields) -> str:
    if fields.truth("banned") or (fields.text("state") or ONLINE) != ONLINE:
        return "down"
    return "cordoned" if fields.truth("disable_scheduler_jobs") else "ready"


def _amounts(fields: Fields, key: str) -> Amounts:
    """Amounts of a node; Cypress divides memory into that of users, which pools share, and that of the system."""
    given = fields.part(key)
    given.skip_rest()
    renamed = {"memory": given.data.get("memory", given.data.get("user_memory"))}
    shared = {name: given.data.get(name, renamed.get(name)) for name in RESOURCES}
    kept = {name: amount for name, amount in shared.items() if amount is not None}
    return amounts(Fields({key: kept}, fields.place, fields.report), key)
