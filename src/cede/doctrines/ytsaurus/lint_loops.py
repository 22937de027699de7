"""Settings with which operations can take allocations from each other for ever, and aggressive ones that take nothing.

An operation that loses what it has beyond its fair share does not starve by that, and so does not take it back. There
are three ways around this: a pool that starves lends its right to operations that have their share; aggressive
preemption takes from within the share; and so does the option that leaves the crossing allocation unprotected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cede.doctrines.ytsaurus.elements import Operations, Pools
from cede.doctrines.ytsaurus.words import percent
from cede.model.lint import Finding
from cede.model.times import show_duration

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
    """The part of its fair share that somebody must use so as not to be below it: the largest there is."""
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
                    f"{name} is never read: nobody starves aggressively",
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
            "allow it on the pools that may give way",
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
    """Where it is said that somebody may starve aggressively: for the tree, or for the first pool by name."""
    name = "enable_aggressive_starvation"
    if pools.tree.aggressive_starvation:
        return f"doctrine.{name}"
    found = sorted(pools.name(pool) for pool in range(pools.size) if pools.settings[pool].aggressive_starvation)
    return f"queues[{found[0]}].settings.{name}" if found else None


def _leaves(pools: Pools) -> Iterator[Any]:
    """Pools that operations stand in; of a file without pools, the root."""
    found = [pool for pool in range(pools.size) if not pools.children[pool]]
    yield from (pools.settings[pool] for pool in found or range(pools.size, len(pools.settings)))
