"""`cede shares --plot`: the share curves that a doctrine computed, as a page that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cede.cli.shares_panels import resource_of
from cede.model.errors import InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from cede.model.plan import Plan
    from cede.state.state import State

KINDS = (".html", ".htm")


def draw(plot: str, resource: str | None, force: bool, source: str, state: State, made: Plan) -> None:
    """Write the page, as a whole or not at all."""
    from cede.cli.shares_page import page
    from cede.sim.files import files_draft

    curves = _curves(state, made)
    chosen = _chosen(curves, resource)
    path = Path(plot)
    with files_draft([path], force=force) as draft:
        (draft / path.name).write_text(page(curves, chosen, source, made), encoding="utf-8")


def _curves(state: State, made: Plan) -> dict[str, Any]:
    from cede.doctrines.catalog import find, usable

    drawn = find(made.doctrine).curves
    if drawn is None:
        known = [one.name for one in usable()[0] if one.curves is not None]
        message = f"only {' and '.join(known)} has share curves, and the file asks for {made.doctrine}"
        raise InputError([Problem("--plot", message, f"leave it out, or ask with --doctrine {known[0]}")])
    curves = drawn(state)
    if not curves["resources"]:
        raise InputError([Problem("nodes", "there are none that count, and without them there are no shares to draw")])
    if all(one["parent"] is None for one in curves["elements"]):
        raise InputError([Problem("queues", "there are neither pools nor operations, so there is nothing to draw")])
    return curves


def _chosen(curves: dict[str, Any], resource: str | None) -> str:
    if resource is None:
        return resource_of(curves)
    if resource not in curves["resources"]:
        known = curves["resources"]
        message = f"no node has any {resource!r}; there is {', '.join(known)}"
        raise InputError([Problem("--resource", message, did_you_mean(resource, known))])
    return resource
