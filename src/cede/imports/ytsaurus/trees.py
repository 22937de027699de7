"""The pool tree to take of those that a file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cede.imports.report import Place, Report
from cede.imports.ytsaurus.cypress import POOLS, Element, attributes_of, element, opened, value_of
from cede.model.errors import InputError, Problem, did_you_mean, shown

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
    # Without any attributes trees and pools look alike; then who asks for a tree by its name knows.
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
