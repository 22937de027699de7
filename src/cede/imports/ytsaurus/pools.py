"""The options of the tree as those of the doctrine, and its pools as queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.ytsaurus.options import PoolSettings, TreeSettings
from cede.imports.fields import Fields
from cede.imports.report import Place
from cede.imports.ytsaurus.cypress import element
from cede.imports.ytsaurus.names import OF_POOLS, OF_TREES, SKIPPED
from cede.imports.ytsaurus.options import carried
from cede.imports.ytsaurus.trees import Tree
from cede.model.errors import shown
from cede.model.tag_filters import parse_tag_filter

CONFIG = ("config", "tree")
"""Where the options of a tree stand, if not beside the other attributes; the second is for files written by hand."""
EPHEMERAL = "create_ephemeral_subpools"
FILTER = "nodes_filter"
POOL = "pool"
OWN_KEYS = {"strong_guarantee_resources": "guaranteed", "resource_limits": "max", "weight": "weight"}
"""Options of a pool that have a key of their own in a queue."""
OVERRULED = "config says otherwise, and counts"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the tree that a cluster file has, and which nodes are its."""

    settings: dict[str, Any]
    nodes_filter: str


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool, with its options as settings of a cluster file."""

    name: str
    parent: Pool | None
    fields: Fields
    settings: dict[str, Any]

    def entry(self) -> dict[str, Any]:
        """The queue of a cluster file."""
        found: dict[str, Any] = {"name": self.name}
        if self.parent is not None:
            found["parent"] = self.parent.name
        found |= {
            key: self.settings[name] for name, key in OWN_KEYS.items() if self.settings.get(name) not in (None, {})
        }
        if settings := {name: value for name, value in self.settings.items() if name not in OWN_KEYS}:
            found["settings"] = settings
        return found


def options_of(tree: Tree) -> Options:
    """The options of the tree; what of it a cluster file does not have is noted."""
    fields = tree.root.fields
    settings: dict[str, Any] = {}
    filters: list[str] = []
    keys = CONFIG if tree.plainly else CONFIG[:1]
    for part in (*(fields.part(key) for key in keys if fields.has(key)), fields):
        for name, value in carried(part, TreeSettings).items():
            if settings.setdefault(name, value) != value:
                part.remark(OVERRULED, name)
        filters.append(_filter(part))
        leave_out(part, OF_TREES)
    return Options(settings, next(filter(None, filters), ""))


def pools_of(tree: Tree) -> dict[str, Pool]:
    """Every pool by its name, those above before those below."""
    found: dict[str, Pool] = {}
    _add(tree, tree.root.pools, None, found)
    return found


def leave_out(fields: Fields, reasons: Mapping[str, str]) -> None:
    """Name what was not taken, with the reason if there is one to name."""
    fields.skip(*SKIPPED)
    for key in fields.data:
        if key in reasons:
            fields.note(reasons[key], key)
    fields.close()


def _filter(fields: Fields) -> str:
    """The formula over tags that a node of the tree fits; what is none is reported."""
    text = fields.text(FILTER) or ""
    try:
        parse_tag_filter(text)
    except ValueError as error:
        fields.wrong((FILTER,), str(error))
        return ""
    return text


def _add(tree: Tree, raw: Mapping[str, Any], parent: Pool | None, found: dict[str, Pool]) -> None:
    above = tree.root.fields
    for name, node in raw.items():
        place = Place(above.place.source, POOL, name)
        below = element(node, place, above.report, plainly=tree.plainly)
        if not name or name in found:
            message = f"{shown(name)} is already the name of a pool in this tree" if name else "a pool has a name"
            above.report.wrong(place, (), message)
            continue
        pool = found[name] = _pool(name, parent, below.fields)
        _add(tree, below.pools, pool, found)


def _pool(name: str, parent: Pool | None, fields: Fields) -> Pool:
    settings = carried(fields, PoolSettings)
    if settings.get("mode") == "fifo" and fields.data.get(EPHEMERAL) is True:
        fields.wrong((EPHEMERAL,), "a pool of mode fifo makes no pools on the fly")
    leave_out(fields, OF_POOLS)
    return Pool(name, parent, fields, settings)
