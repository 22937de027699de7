"""The pool tree to take of those that a file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.ytsaurus.options import PoolSettings, TreeSettings
from cede.imports.fields import Fields
from cede.imports.report import Place, Report
from cede.imports.ytsaurus.cypress import POOLS, Element, attributes_of, element, opened, value_of
from cede.imports.ytsaurus.options import OF_POOLS, OF_TREES, SKIPPED, carried
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.tag_filters import parse_tag_filter

TREE = "pool tree"
TREES = "pool_trees"
HINT = "give what `yt get //sys/pool_trees/TREE` prints with attributes, or an object with `pools`"
OF_ALL = ("default_tree",)
OF_A_TREE = ("config", "nodes_filter")
KINDS = {"scheduler_pool_tree_map", "scheduler_pool_tree"}


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree that is taken, by its name if the file has one."""

    name: str
    root: Element
    plainly: bool
    """Whether pools have their attributes and `pools` side by side."""


def tree_of(source: str, data: object, wanted: str | None, report: Report) -> Tree:
    """The tree of that name, or the only one; the others are noted. An InputError says what is none."""
    raw = opened(data)
    value = value_of(raw)
    if not isinstance(value, dict):
        raise InputError([Problem(source, f"{shown(value)} is no pool tree", HINT)])
    plainly = raw is value and (POOLS in value or TREES in value)
    trees = value.get(TREES) if plainly else value if _holds_trees(raw, value, wanted) else None
    if TREES in value and plainly and not isinstance(trees, dict):
        raise InputError([Problem(f"{source}: {TREES}", f"{shown(trees)} is no object of pool trees")])
    if trees is None:
        if wanted is not None:
            raise InputError([Problem("--tree", "the file holds one pool tree, which has no name", "leave --tree out")])
        return Tree("", element(raw, Place(source, TREE), report, plainly=plainly), plainly)
    name = _chosen(source, trees, wanted)
    for other in trees:
        if other != name:
            report.note(Place(source, TREE, other), (), "a cluster file holds one pool tree; --tree takes another")
    return Tree(name, element(trees[name], Place(source, TREE, name), report, plainly=plainly), plainly)


def _holds_trees(raw: Any, value: Mapping[str, Any], wanted: str | None) -> bool:
    """Whether this is //sys/pool_trees, which has trees below it, and not one tree, which has pools."""
    own = attributes_of(raw)
    below = [attributes_of(item) for item in value.values()]
    if any(key in own for key in OF_ALL) or own.get("type") == "scheduler_pool_tree_map":
        return True
    if any(key in one for one in below for key in OF_A_TREE) or any(one.get("type") in KINDS for one in below):
        return True
    # Without any attributes trees and pools look alike; then the name of the tree that was asked for decides.
    return wanted in value and not any([own, *below])


def _chosen(source: str, trees: Mapping[str, Any], wanted: str | None) -> str:
    names = ", ".join(trees)
    if wanted is not None:
        if wanted in trees:
            return wanted
        message = f"no pool tree is called {shown(wanted)}; there are {names}"
        raise InputError([Problem("--tree", message, did_you_mean(wanted, trees))])
    if not trees:
        raise InputError([Problem(source, "there is no pool tree in it", HINT)])
    if len(trees) > 1:
        raise InputError([Problem("--tree", f"{source} holds several pool trees, of which one must be named: {names}")])
    return next(iter(trees))


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
        entry: dict[str, Any] = {"name": self.name}
        if self.parent is not None:
            entry["parent"] = self.parent.name
        entry |= {
            key: self.settings[name] for name, key in OWN_KEYS.items() if self.settings.get(name) not in (None, {})
        }
        if settings := {name: value for name, value in self.settings.items() if name not in OWN_KEYS}:
            entry["settings"] = settings
        return entry


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
    pools: dict[str, Pool] = {}
    _add(tree, tree.root.pools, None, pools)
    return pools


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


def _add(tree: Tree, raw: Mapping[str, Any], parent: Pool | None, pools: dict[str, Pool]) -> None:
    above = tree.root.fields
    for name, node in raw.items():
        place = Place(above.place.source, POOL, name)
        below = element(node, place, above.report, plainly=tree.plainly)
        if not name or name in pools:
            message = f"{shown(name)} is already the name of a pool in this tree" if name else "a pool has a name"
            above.report.wrong(place, (), message)
            continue
        pool = pools[name] = _pool(name, parent, below.fields)
        _add(tree, below.pools, pool, pools)


def _pool(name: str, parent: Pool | None, fields: Fields) -> Pool:
    settings = carried(fields, PoolSettings)
    if settings.get("mode") == "fifo" and fields.data.get(EPHEMERAL) is True:
        fields.wrong((EPHEMERAL,), "a pool of mode fifo makes no pools on the fly")
    leave_out(fields, OF_POOLS)
    return Pool(name, parent, fields, settings)
