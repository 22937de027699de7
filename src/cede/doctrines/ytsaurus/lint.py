"""Settings of single pools that will not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cede.doctrines.ytsaurus.guarantees import inferred
from cede.doctrines.ytsaurus.heartbeat import GPUS
from cede.doctrines.ytsaurus.integral_guarantees import Integrals
from cede.doctrines.ytsaurus.operation_usage import OperationUsage
from cede.doctrines.ytsaurus.options import WITHOUT_EFFECT, OperationSettings
from cede.doctrines.ytsaurus.pool_tree import Operations, Pools, read_pools
from cede.doctrines.ytsaurus.settings import NO_INTEGRAL, Pool, operation_of
from cede.doctrines.ytsaurus.wording import percent
from cede.model.lint import Finding
from cede.model.nodes import Node
from cede.model.quantities import NANO, show_quantity
from cede.model.tag_filters import TagFilter
from cede.model.times import show_duration
from cede.state.columns import DOWN, UNSET
from cede.state.state import State

SLACK = 1e-9


def pool_findings(state: State, pools: Pools) -> Iterator[Finding]:
    """Findings about every pool that is listed, by name."""
    yield from _burst(pools)
    void = _void(pools)
    for pool in sorted(range(pools.size), key=pools.name):
        if state.tree.listed[pool]:
            if pool in void:
                yield void[pool]
            yield from _of_pool(state, pools, pool)


def _void(pools: Pools) -> dict[int, Finding]:
    """Pools with a guarantee below one that is guaranteed nothing: theirs is nothing too."""
    tree, amounts = pools.state.tree, inferred(pools)
    void: dict[int, Finding] = {}
    for pool in range(pools.size):
        named = tree.guaranteed[:, pool]
        if not ((named != UNSET) & (named > 0)).any():
            continue
        above = [one for one in pools.paths[pool][1:] if one < pools.size]
        empty = next((one for one in above if not amounts[one].any()), None)
        if empty is not None:
            name, parent = pools.name(pool), pools.name(empty)
            void[pool] = Finding(
                "ytsaurus.lint.void-guarantee",
                f"queues[{name}].guaranteed",
                f"{parent}, which {name} is below, is guaranteed nothing, so that {name} is neither",
                f"guarantee {parent} at least as much",
            )
    return void


def _burst(pools: Pools) -> Iterator[Finding]:
    """Burst guarantees that leave the strong ones less than they say; strong ones alone are checked elsewhere."""
    integrals = Integrals(pools)
    strong = inferred(pools)
    for partition, burst in enumerate(integrals.burst_of_trees()):
        total = pools.total[partition]
        if not burst.any() or not (total > 0).all():
            continue
        promised = strong[pools.children[pools.size + partition]].sum(axis=0) / total
        if (promised <= 1 + SLACK).all() and (promised + burst > 1 + SLACK).any():
            factor = float((1 / (promised + burst)).min())
            first = min(pools.name(pool) for pool in integrals.burst if pools.tree_of[pool] == partition)
            yield Finding(
                "ytsaurus.lint.burst-above-cluster",
                f"queues[{first}].settings.integral_guarantees.burst_guarantee_resources",
                "strong and burst guarantees together are more than the cluster has: all of them count as "
                f"{percent(factor)} of what they say",
                "lower some of them",
            )


def _of_pool(state: State, pools: Pools, pool: int) -> Iterator[Finding]:
    name, own, raw = pools.name(pool), pools.settings[pool], state.tree.settings(pool)
    path = f"queues[{name}].settings"
    if own.timeout == 0 and pools.tree.timeout > 0 and "fair_share_starvation_timeout" in raw:
        yield Finding(
            "ytsaurus.lint.starves-at-once",
            f"{path}.fair_share_starvation_timeout",
            f"{name} and all below it may preempt with the next update, before what is free could reach them",
            "leave some seconds; the default is 30s",
        )
    if own.tolerance == 0 and "fair_share_starvation_tolerance" in raw:
        yield Finding(
            "ytsaurus.lint.never-starves",
            f"{path}.fair_share_starvation_tolerance",
            f"with a tolerance of 0 {name} never starves, and its operations only while their fair share is all that "
            "they ask for",
            "the tolerance is the part of the fair share that must be used so as not to be below it; the default is "
            "0.8",
        )
    if "fifo_sort_parameters" in raw and not own.fifo:
        yield Finding(
            "ytsaurus.lint.not-fifo",
            f"{path}.fifo_sort_parameters",
            f"{name} is of mode fair_share: its operations share, and are in no order",
            "set mode: fifo",
        )
    limits = state.tree.max[:, pool]
    for resource in sorted(own.overcommit):
        column = state.units.index.get(resource)
        if column is None or limits[column] == UNSET:
            yield Finding(
                "ytsaurus.lint.tolerance-without-limit",
                f"{path}.resource_limits_overcommit_tolerance.{resource}",
                f"{name} has no limit of {resource} that could be exceeded",
                f"give it a max of {resource}, or drop this",
            )
    if own.promised and not any(_guaranteed(pools, one) for one in pools.paths[pool]):
        yield Finding(
            "ytsaurus.lint.promises-nothing",
            f"{path}.compute_promised_guarantee_fair_share",
            f"{name} is guaranteed nothing, so that there is nothing to promise to its operations",
            "give it a guarantee, or drop this",
        )
    yield from _integral(pools, pool, path)


def _guaranteed(pools: Pools, pool: int) -> bool:
    if pool >= pools.size:
        return False
    named = pools.state.tree.guaranteed[:, pool]
    return bool(((named != UNSET) & (named > 0)).any()) or pools.settings[pool].integral.kind != NO_INTEGRAL


def _integral(pools: Pools, pool: int, path: str) -> Iterator[Finding]:
    own = pools.settings[pool].integral
    given = f"{path}.integral_guarantees"
    if own.kind == NO_INTEGRAL and (any(own.flow.values()) or any(own.burst.values())) and not pools.children[pool]:
        yield Finding(
            "ytsaurus.lint.integral-of-type-none",
            f"{given}.guarantee_type",
            f"{pools.name(pool)} has a flow or a burst guarantee, but guarantee_type is none: neither counts",
            "set guarantee_type: burst or relaxed",
        )
    elif own.kind != NO_INTEGRAL and not any(own.flow.values()) and not any(pools.settings[pool].volume.values()):
        yield Finding(
            "ytsaurus.lint.integral-without-flow",
            f"{given}.resource_flow",
            f"{pools.name(pool)} is of guarantee_type {own.kind}, but nothing flows: it never has any volume to spend",
            "give it a resource_flow",
        )


NAMED = 3
SETTLE = "`cede settle` shows whether this file loops"
AGGRESSIVE_ONLY = ("fair_share_aggressive_starvation_timeout", "aggressive_preemption_satisfaction_threshold")


def loops(pools: Pools, operations: Operations, raw: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings about starvation and what it lets operations take."""
    yield from _lent(pools, operations)
    tree = pools.tree
    if tree.bound_is_preemptible and _tolerance(pools) > 0:
        yield Finding(
            "ytsaurus.lint.crossing-allocation-loop",
            "doctrine.consider_allocation_on_fair_share_bound_preemptible",
            "the allocation that crosses the fair share is preemptible, and without it its operation may be below "
            f"{percent(_tolerance(pools))} of its share and starve in its turn: two can take turns for ever",
            f"leave it off, or lower fair_share_starvation_tolerance; {SETTLE}",
        )
    yield from _aggressive(pools, raw)


def _lent(pools: Pools, operations: Operations) -> Iterator[Finding]:
    """Pools of several operations that may starve, and lend their right to preempt to all of them."""
    tree = pools.tree
    if tree.scope_only_operation or not tree.pool_starvation:
        return
    counts = [0] * len(pools.settings)
    for pool in operations.pool:
        for above in pools.paths[pool]:
            counts[above] += 1
    names = sorted(
        pools.name(pool) for pool in range(pools.size) if counts[pool] > 1 and pools.settings[pool].tolerance
    )
    if names:
        shown = names[0] if len(names) == 1 else f"one of {', '.join(names[:NAMED])}"
        shown += f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield Finding(
            "ytsaurus.lint.pool-starvation-loop",
            "doctrine.scheduling_preemption_priority_scope",
            f"while {shown} starves, each of its operations may preempt, also one that has its fair share: as long as "
            "the pool starves for something that fits nowhere, two of them can take the same allocation, beyond "
            f"{percent(tree.satisfaction)} of a share, from each other for ever",
            f"set scheduling_preemption_priority_scope: operation_only, or enable_pool_starvation: false; {SETTLE}",
        )


def _tolerance(pools: Pools) -> float:
    """The part of the fair share that must be used so as not to be below it: the largest there is."""
    return max(pool.tolerance for pool in pools.settings)


def _aggressive(pools: Pools, raw: Mapping[str, Any]) -> Iterator[Finding]:
    tree = pools.tree
    where = _enabled(pools)
    if where is None:
        for name in AGGRESSIVE_ONLY:
            if name in raw:
                yield Finding(
                    "ytsaurus.lint.aggressive-nobody",
                    f"doctrine.{name}",
                    f"{name} is never read: nothing starves aggressively",
                    "set enable_aggressive_starvation on the tree or on a pool",
                )
        return
    if tree.aggressive_satisfaction == tree.satisfaction:
        both = percent(tree.satisfaction)
        yield Finding(
            "ytsaurus.lint.aggressive-takes-no-more",
            "doctrine.aggressive_preemption_satisfaction_threshold",
            f"aggressive preemption takes what lies beyond {both} of a fair share, and so does the normal one",
            "lower aggressive_preemption_satisfaction_threshold",
        )
    elif not any(pool.aggressive_allowed for pool in _leaves(pools)):
        yield Finding(
            "ytsaurus.lint.aggressive-from-nobody",
            where,
            "enable_aggressive_starvation is on, but allow_aggressive_preemption is off for every pool: it takes "
            "nothing more than the normal one",
            "allow it on the pools that may lose allocations",
        )
    elif tree.aggressive_satisfaction < _tolerance(pools):
        low, high = percent(tree.aggressive_satisfaction), percent(_tolerance(pools))
        yield Finding(
            "ytsaurus.lint.aggressive-loop",
            where,
            f"aggressive preemption leaves an operation as little as {low} of its fair share, and below {high} it "
            f"starves itself, aggressively after {show_duration(tree.aggressive_timeout)}: two can take turns for ever",
            f"raise aggressive_preemption_satisfaction_threshold to fair_share_starvation_tolerance; {SETTLE}",
        )


def _enabled(pools: Pools) -> str | None:
    """Where aggressive starvation is enabled: for the tree, or for the first pool by name."""
    name = "enable_aggressive_starvation"
    if pools.tree.aggressive_starvation:
        return f"doctrine.{name}"
    enabled = sorted(pools.name(pool) for pool in range(pools.size) if pools.settings[pool].aggressive_starvation)
    return f"queues[{enabled[0]}].settings.{name}" if enabled else None


def _leaves(pools: Pools) -> Iterator[Any]:
    """Pools that operations stand in; of a file without pools, the root."""
    leaves = [pool for pool in range(pools.size) if not pools.children[pool]]
    yield from (pools.settings[pool] for pool in leaves or range(pools.size, len(pools.settings)))


GONE = {
    "preemption_check_starvation": "a pool that starves no longer shields its allocations",
    "preemption_check_satisfaction": "a pool that is not satisfied no longer shields its allocations",
    "enable_conditional_preemption": "an allocation is preemptible for all or for none",
}
"""Options that YTsaurus itself does not read since September 2025, and what came of them."""


def lint(state: State, _edition: str) -> Iterator[Finding]:
    """Findings about the tree's options, then about every pool, then about every operation that is listed, by name."""
    pools = read_pools(state)
    operations = OperationUsage(state).operations
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
            "an operation below its fair share may preempt with the next update, before what is free could reach it",
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
            f"with graceful preemption an allocation has {graceful} to leave, otherwise {plain}",
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
    """Nodes without user slots that still take what starts."""
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
    offered: np.ndarray[Any, np.dtype[np.int64]] = state.nodes.capacity[:, : state.nodes.size][:, up].sum(axis=1)
    return offered


def _has(state: State, wanted: TagFilter) -> Iterator[bool]:
    for node in range(state.nodes.size):
        yield wanted.matches(frozenset(state.labels.sets[int(state.nodes.labels[node])]))
