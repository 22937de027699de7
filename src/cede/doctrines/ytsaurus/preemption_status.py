"""Which allocations of an operation are protected: its list in the order of progress, cut at two parts of its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, across
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.operation_usage import NO_ROWS
from cede.doctrines.ytsaurus.satisfaction import dominates
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import Bools, Int8s, Int64s, Rows

NON_PREEMPTIBLE, AGGRESSIVELY, PREEMPTIBLE = range(3)
GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")


@dataclass(frozen=True, slots=True)
class GroupedAllocations:
    """Allocations in the order of their operations' lists, with the sum that comes before each and its group."""

    rows: Rows
    operation: Rows
    before: Int64s
    group: Int8s


def group_allocations(
    update: Update, lists: Sequence[Rows], operations: Sequence[int], amount: Int64s
) -> GroupedAllocations:
    """The groups of all allocations of these operations, each with its list in order; `amount` is by workload row."""
    rows = np.concatenate([*lists, NO_ROWS])
    lengths = [len(one) for one in lists]
    operation: Rows = np.repeat(np.array(operations, np.intp), lengths)
    own = amount[rows]
    before = np.cumsum(own, axis=0) - own
    if len(rows):
        starts = np.cumsum(lengths) - lengths
        filled = np.flatnonzero(lengths)
        before = before - np.repeat(before[starts[filled]], np.array(lengths)[filled], axis=0)
    group = groups_of(update, operation, before, before + own)
    if update.pools.tree.bound_is_preemptible and len(rows):
        group = _from_first(group, lengths)
    return GroupedAllocations(rows, operation, before, group)


def _from_first(group: Int8s, lengths: Sequence[int]) -> Int8s:
    """With each list cut only once: behind the first that is not protected none is, wherever the sums land."""
    apart = np.repeat(np.arange(len(lengths)) * len(GROUPS), lengths)
    groups: Int8s = (np.maximum.accumulate(group + apart) - apart).astype(np.int8)
    return groups


def groups_of(update: Update, operation: Rows, before: Int64s, after: Int64s) -> Int8s:
    """The groups of allocations of these operations: what each one uses before it, and with it; the latter counts only
    where the allocation on the bound is preemptible, and there a list is cut as a whole.
    """
    tree = update.pools.tree
    counted = after if tree.bound_is_preemptible else before
    total = update.totals[operation]
    fair, demand = update.fair_and_demand(operation)
    share = shares_of(counted.astype(np.float64), total)
    small: Bools = np.all(across(counted < update.op_threshold[operation]), axis=0) & update.with_threshold[operation]
    groups = np.full(len(operation), PREEMPTIBLE, np.int8)
    whole = across(np.abs(fair - demand) <= EPSILON).all(axis=0) & across(demand > EPSILON).any(axis=0)
    for group, part in ((AGGRESSIVELY, tree.satisfaction), (NON_PREEMPTIBLE, tree.aggressive_satisfaction)):
        bound = part * fair
        inside = small | dominates(bound, share, fair, demand)
        if tree.bound_is_preemptible:
            inside |= (np.abs(bound - share) <= EPSILON).all(axis=1)
        if group == AGGRESSIVELY:
            inside |= whole
        groups[inside] = group
    return groups
