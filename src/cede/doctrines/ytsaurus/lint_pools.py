"""Settings of single pools that will not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.ytsaurus.elements import Pools
from cede.doctrines.ytsaurus.guarantees import inferred
from cede.doctrines.ytsaurus.integral import Integrals
from cede.doctrines.ytsaurus.settings import NO_INTEGRAL
from cede.doctrines.ytsaurus.words import percent
from cede.model.lint import Finding
from cede.state.columns import UNSET
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
    found: dict[int, Finding] = {}
    for pool in range(pools.size):
        named = tree.guaranteed[:, pool]
        if not ((named != UNSET) & (named > 0)).any():
            continue
        above = [one for one in pools.paths[pool][1:] if one < pools.size]
        empty = next((one for one in above if not amounts[one].any()), None)
        if empty is not None:
            name, parent = pools.name(pool), pools.name(empty)
            found[pool] = Finding(
                "ytsaurus.lint.void-guarantee",
                f"queues[{name}].guaranteed",
                f"{parent}, which {name} is below, is guaranteed nothing, so that {name} is neither",
                f"guarantee {parent} at least as much",
            )
    return found


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
