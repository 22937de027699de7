"""Settings of YTsaurus that will not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cede.doctrines.ytsaurus.elements import Operations, Pools, read_pools
from cede.doctrines.ytsaurus.full_host import GPUS
from cede.doctrines.ytsaurus.lint_loops import SETTLE, loops
from cede.doctrines.ytsaurus.lint_pools import pool_findings
from cede.doctrines.ytsaurus.options import WITHOUT_EFFECT, OperationSettings
from cede.doctrines.ytsaurus.settings import Pool, operation_of
from cede.doctrines.ytsaurus.standing import Standing
from cede.model.lint import Finding
from cede.model.nodes import Node
from cede.model.quantities import NANO, show_quantity
from cede.model.tag_filters import TagFilter
from cede.model.times import show_duration
from cede.state.columns import DOWN
from cede.state.state import State

NAMED = 3
GONE = {
    "preemption_check_starvation": "pools that starve shield nobody any more",
    "preemption_check_satisfaction": "pools that have too little shield nobody any more",
    "enable_conditional_preemption": "nobody is preemptible for some only any more",
}
"""Options that YTsaurus itself does not read since September 2025, and what came of them."""


def lint(state: State, _edition: str) -> Iterator[Finding]:
    """Findings about the tree's options, then about every pool, then about every operation that is listed, by name."""
    pools = read_pools(state)
    operations = Standing(state).operations
    raw = {} if state.static.doctrine is None else dict(state.static.doctrine.settings)
    yield from _unread(raw)
    yield from loops(pools, operations, raw)
    yield from _times(pools, raw)
    yield from _nowhere(state, pools, raw)
    yield from _slots(state, pools)
    yield from _spare(state, pools)
    yield from pool_findings(state, pools)
    yield from _operations(state, pools, operations)


# -- options of the tree -----------------------------------------------------------------------------------------------


def _unread(raw: Mapping[str, Any]) -> Iterator[Finding]:
    for name in sorted(raw.keys() & WITHOUT_EFFECT):
        why = GONE.get(name)
        message = f"{name} has no effect since September 2025: {why}" if why else f"{name} changes no plan of Cede"
        yield Finding("ytsaurus.lint.without-effect", f"doctrine.{name}", message, "drop it")
    if raw.get("use_precommit_for_preemption") and not raw.get("enable_infinite_resource_limits_overcommit"):
        message = "use_precommit_for_preemption alone changes no plan: one heartbeat comes after the other here"
        path = "doctrine.use_precommit_for_preemption"
        yield Finding("ytsaurus.lint.without-effect", path, message, "drop it")


def _times(pools: Pools, raw: Mapping[str, Any]) -> Iterator[Finding]:
    tree = pools.tree
    if tree.timeout == 0:
        yield Finding(
            "ytsaurus.lint.starves-at-once",
            "doctrine.fair_share_starvation_timeout",
            "whoever is below its fair share may preempt with the next update, before what is free could reach it",
            "leave some seconds; the default is 30s",
        )
    if tree.backoff == 0:
        yield Finding(
            "ytsaurus.lint.no-backoff",
            "doctrine.preemptive_scheduling_backoff",
            "every node preempts at every heartbeat: what starts for one may go for the next at once",
            "leave some seconds; the default is 5s",
        )
    if tree.graceful_timeout < tree.preemption_timeout:
        graceful, plain = show_duration(tree.graceful_timeout), show_duration(tree.preemption_timeout)
        given = "allocation_graceful_preemption_timeout" in raw
        yield Finding(
            "ytsaurus.lint.graceful-in-a-hurry",
            f"doctrine.allocation{'_graceful' if given else ''}_preemption_timeout",
            f"who asks for graceful preemption has {graceful} to leave, everybody else {plain}",
            "make allocation_graceful_preemption_timeout the longer one",
        )


def _nowhere(state: State, pools: Pools, raw: Mapping[str, Any]) -> Iterator[Finding]:
    """Options about nodes of which there is none."""
    tree, units = pools.tree, state.units
    if not state.nodes.size:
        return
    if tree.main_resource not in {units.names[column] for column in np.flatnonzero(_offered(state) > 0)}:
        yield Finding(
            "ytsaurus.lint.main-resource-nowhere",
            "doctrine.main_resource",
            f"no node has any {tree.main_resource}, the main resource: what a guarantee does not list is not "
            "guaranteed",
            "name the resource that guarantees are given in",
        )
    if tree.ssd.enable and not (tree.ssd.media and any(_has(state, tree.ssd.filter))):
        text = raw["ssd_priority_preemption"]["node_tag_filter"]
        why = f"no node has the tags {text}" if tree.ssd.media else "medium_names is empty"
        yield Finding(
            "ytsaurus.lint.ssd-nowhere",
            "doctrine.ssd_priority_preemption",
            f"ssd_priority_preemption is enabled, but {why}: no operation gets its stages",
            "tags are keys of labels of nodes; media are those that disk_request of operations names",
        )
    elif tree.ssd.enable:
        yield Finding(
            "ytsaurus.lint.ssd-loop",
            "doctrine.ssd_priority_preemption",
            "SSD work that starves takes from ordinary work even what is non_preemptible; that starves in its turn and "
            "takes what SSD work has beyond its own share: they can take turns for ever",
            f"guarantee SSD work what it needs; {SETTLE}",
        )
    gpus = [column for column in units.plain if units.names[column].endswith("gpu")]
    most = state.nodes.capacity[gpus, : state.nodes.size].sum(axis=0).max(initial=0) if gpus else 0
    if tree.full_host.enable and (not gpus or most < GPUS * NANO // units.nano[gpus[0]]):
        yield Finding(
            "ytsaurus.lint.full-host-nowhere",
            "doctrine.default_gpu_full_host_preemption",
            f"the stage for whole GPU hosts is enabled, but no node has {GPUS} GPUs",
            "drop it",
        )


def _slots(state: State, pools: Pools) -> Iterator[Finding]:
    """Nodes that keep nobody and take everybody."""
    if pools.tree.min_spare.get("user_slots"):
        return
    for name in sorted(state.node_names[node] for node, one in state.odd_nodes.items() if _slotless(one)):
        yield Finding(
            "ytsaurus.lint.slotless-loop",
            f"nodes[{name}].capacity.user_slots",
            f"{name} has no user slots: all that runs there goes at once, and starts there again, as "
            "min_spare_allocation_resources_on_node asks for none",
            f"cordon {name}, or ask for a user slot in min_spare_allocation_resources_on_node",
        )


def _slotless(entry: Node) -> bool:
    return entry.capacity.get("user_slots") == 0


def _spare(state: State, pools: Pools) -> Iterator[Finding]:
    """Nodes that have less, empty, than a node must have free to be looked at."""
    usable = np.maximum(state.nodes.capacity - state.nodes.occupied, 0)[:, : state.nodes.size]
    wanted = state.work.need[:, : state.work.size].any(axis=1) | (_offered(state) > 0)
    bare: dict[str, list[str]] = {}
    for name, nano in sorted(pools.tree.min_spare.items()):
        column = state.units.index.get(name)
        if column is not None and wanted[column]:
            short = np.flatnonzero(usable[column] < -(-nano // state.units.nano[column])).tolist()
            if short:
                bare[f"{show_quantity(name, nano)} {name}"] = sorted(state.node_names[node] for node in short)
    for least, names in bare.items():
        shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        where = "nothing ever starts" if len(names) == state.nodes.size else f"nothing ever starts on {shown}"
        yield Finding(
            "ytsaurus.lint.nothing-to-spare",
            "doctrine.min_spare_allocation_resources_on_node",
            f"a node needs {least} free to be looked at, and {shown} has less when it is empty: {where}",
            "lower it; or are the amounts of nodes in another unit than they seem to be?",
        )


# -- operations --------------------------------------------------------------------------------------------------------


def _operations(state: State, pools: Pools, operations: Operations) -> Iterator[Finding]:
    for entry in sorted(state.static.apps, key=lambda app: app.name):
        path = f"apps[{entry.name}].settings"
        own = OperationSettings.model_validate(entry.settings)
        for name in sorted(entry.settings.keys() & WITHOUT_EFFECT):
            message = f"{name} changes no plan of Cede"
            yield Finding("ytsaurus.lint.without-effect", f"{path}.{name}", message, "drop it")
        for number in (at for at, name in enumerate(operations.names) if name == entry.name):
            yield from _ignored(own, pools.settings[operations.pool[number]], path)
        tree = pools.tree
        if own.is_gang and not (tree.step_for_gangs or tree.gangs_only_in_fifo or not tree.aggressive_for_gangs):
            yield Finding(
                "ytsaurus.lint.gang-like-any-other",
                f"{path}.is_gang",
                "is_gang changes nothing here: allocations of a gang start and go one by one",
                "set enable_step_function_for_gang_operations, so that its fair share is all or nothing",
            )
        counts = operation_of(entry, pools.settings[-1], tree)
        if counts.tag_filter is not None and state.nodes.size and not any(_has(state, counts.tag_filter)):
            yield Finding(
                "ytsaurus.lint.tag-filter-nowhere",
                f"{path}.scheduling_tag_filter",
                f"no node has the tags {own.scheduling_tag_filter}: nothing of {entry.name} starts",
                "tags are keys of labels of nodes",
            )


def _ignored(own: OperationSettings, pool: Pool, path: str) -> Iterator[Finding]:
    """What an operation says and its pool overrules."""
    timeout, tolerance = own.starvation_timeout, own.fair_share_starvation_tolerance
    if timeout is not None and timeout < pool.timeout:
        yield Finding(
            "ytsaurus.lint.overruled",
            f"{path}.fair_share_starvation_timeout",
            f"{show_duration(timeout)} is shorter than the {show_duration(pool.timeout)} of its pool, which count: an "
            "operation may only starve later",
            "set it on the pool",
        )
    if tolerance is not None and tolerance > pool.tolerance:
        yield Finding(
            "ytsaurus.lint.overruled",
            f"{path}.fair_share_starvation_tolerance",
            f"{tolerance:g} is above the {pool.tolerance:g} of its pool, which count: an operation may only tolerate "
            "more",
            "set it on the pool",
        )
    for name, nano in sorted(own.non_preemptible_resource_usage_threshold.items()):
        if nano > pool.threshold.get(name, nano):
            least = show_quantity(name, pool.threshold[name])
            yield Finding(
                "ytsaurus.lint.overruled",
                f"{path}.non_preemptible_resource_usage_threshold.{name}",
                f"{show_quantity(name, nano)} is above the {least} of its pool, which count: an operation may only be "
                "protected less",
                "set it on the pool",
            )


# -- nodes -------------------------------------------------------------------------------------------------------------


def _offered(state: State) -> np.ndarray[Any, np.dtype[np.int64]]:
    """What nodes that are not down have of each column."""
    up = state.nodes.state[: state.nodes.size] != DOWN
    found: np.ndarray[Any, np.dtype[np.int64]] = state.nodes.capacity[:, : state.nodes.size][:, up].sum(axis=1)
    return found


def _has(state: State, wanted: TagFilter) -> Iterator[bool]:
    for node in range(state.nodes.size):
        yield wanted.matches(frozenset(state.labels.sets[int(state.nodes.labels[node])]))
