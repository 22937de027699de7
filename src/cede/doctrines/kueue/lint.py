"""Settings of queues and cohorts that will not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.kueue.quota import DEFAULT, Quotas, quotas_of
from cede.doctrines.kueue.settings import NEVER, mode_of
from cede.doctrines.kueue.wording import INTERACTIVE, preemptive
from cede.model.lint import Finding
from cede.model.resources import split_flavor
from cede.state.columns import GONE, NONE
from cede.state.state import State


def lint(state: State, _edition: str) -> Iterator[Finding]:
    """Findings about the cluster's settings, then about every queue, by name."""
    quotas = quotas_of(state)
    choice = state.static.doctrine
    mode = mode_of({} if choice is None else choice.settings)
    queues = [queue for queue in sorted(range(quotas.size), key=quotas.names.__getitem__) if state.tree.listed[queue]]
    if mode.fair and not mode.recheck:
        yield from _can_loop(quotas, queues)
    for queue in queues:
        yield from _interactive(state, quotas, queue)
        if quotas.is_cohort(queue):
            yield from _cohort(state, quotas, queue)
        else:
            yield from _queue(state, quotas, queue, fair=mode.fair)


def _can_loop(quotas: Quotas, queues: list[int]) -> Iterator[Finding]:
    """Two queues of one tree that reclaim from each other, one of which also preempts within itself."""
    takers: dict[int, list[int]] = {}
    for queue in queues:
        if not quotas.is_cohort(queue) and quotas.settings(queue).reclaim != NEVER:
            takers.setdefault(quotas.root[queue], []).append(queue)
    names = sorted(
        quotas.names[queue]
        for tree in takers.values()
        if len(tree) > 1
        for queue in tree
        if quotas.settings(queue).within != NEVER
    )
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Finding(
            "kueue.lint.fair-sharing-loop",
            "doctrine.recheck_final_set",
            f"work of {shown} may take its own queue's work, then another queue's because its share is smaller without "
            "that, and then spare its own; as shipped the shares are not checked again, and two workloads can evict "
            "each other for ever (kueue issue 14543)",
            "set recheck_final_set: true, or withinClusterQueue: Never; `cede settle` shows whether this file loops",
        )


def _interactive(state: State, quotas: Quotas, queue: int) -> Iterator[Finding]:
    work, size = state.work, state.work.size
    here = (work.queue[:size] == queue) & (work.state[:size] != GONE)
    rows = np.flatnonzero(here & (work.kind[:size] == INTERACTIVE) & work.preemptible[:size]).tolist()
    settings = preemptive(quotas, queue) if rows else ""
    if settings:
        names = sorted(state.work_names[row] for row in rows)
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Finding(
            "kueue.lint.interactive-may-be-preempted",
            f"queues[{quotas.names[queue]}].settings",
            f"{shown}: interactive work cannot be suspended and resumed, and may be preempted here: {settings}",
            "move it to a queue whose preemption settings are all Never and from which no queue reclaims, or set "
            "preemptible: false on it",
        )


def _cohort(state: State, quotas: Quotas, queue: int) -> Iterator[Finding]:
    raw = state.tree.settings(queue)
    path = f"queues[{quotas.names[queue]}]"
    if raw:
        yield Finding(
            "kueue.lint.cohort-settings",
            f"{path}.settings",
            f"{quotas.names[queue]} has queues below it, so it is a cohort, and {', '.join(sorted(raw))} of a cohort "
            "are never read",
            "give them to the queues below it",
        )


def _queue(state: State, quotas: Quotas, queue: int, *, fair: bool) -> Iterator[Finding]:
    settings, name = quotas.settings(queue), quotas.names[queue]
    path = f"queues[{name}]"
    if quotas.parent[queue] == NONE and settings.reclaim != NEVER:
        yield Finding(
            "kueue.lint.no-cohort",
            f"{path}.settings.reclaimWithinCohort",
            f"reclaimWithinCohort {settings.reclaim} can never fire: {name} is in no cohort",
            "give it a parent, or drop the setting",
        )
    if fair and settings.borrow:
        yield Finding(
            "kueue.lint.borrow-ignored",
            f"{path}.settings.borrowWithinCohort",
            "under FairSharing borrowWithinCohort chooses no victims, and maxPriorityThreshold is never read",
            "drop it, or use Classical preemption",
        )
    if fair and settings.reclaim == NEVER and settings.within != NEVER and quotas.parent[queue] != NONE:
        yield Finding(
            "kueue.lint.no-own-preemption-above-quota",
            f"{path}.settings.reclaimWithinCohort",
            f"under FairSharing with reclaimWithinCohort Never, a request above the quota of {name} cannot preempt "
            "even within its own queue",
            "set reclaimWithinCohort: LowerPriority, if such requests are wanted",
        )
    if settings.preempt_first and settings.preempts:
        yield from _stuck_heads(quotas, queue, path)
    yield from _flavors_without_nodes(state, quotas, queue, path)


def _stuck_heads(quotas: Quotas, queue: int, path: str) -> Iterator[Finding]:
    """A flavor in which one resource may be borrowed while another needs preemption."""
    for group in quotas.groups(queue):
        for flavor in group.flavors:
            pairs = [pair for name in group.resources if (pair := quotas.index[name, flavor]) in quotas.declared[queue]]
            borrowed = [pair for pair in pairs if quotas.potential[pair][queue] > quotas.subtree[pair][queue]]
            if len(pairs) > 1 and borrowed:
                others = [quotas.name(pair) for pair in pairs if pair != borrowed[0]]
                yield Finding(
                    "kueue.lint.stuck-by-preference",
                    f"{path}.settings.flavorFungibility.preference",
                    f"a head that fits {quotas.name(borrowed[0])} by borrowing and needs preemption for "
                    f"{' or '.join(others)} counts as fitting with PreemptionOverBorrowing, and then never fits: "
                    "nothing is preempted for it, and its queue waits behind it",
                    "set preference: BorrowingOverPreemption, or leave it out",
                )
                return


def _flavors_without_nodes(state: State, quotas: Quotas, queue: int, path: str) -> Iterator[Finding]:
    """Quota in a flavor that no node of the file offers."""
    if not state.nodes.size:
        return
    nodes, size = state.nodes, state.nodes.size
    offered = {
        (resource, flavor or DEFAULT)
        for column, (resource, flavor) in enumerate(map(split_flavor, state.units.names))
        if flavor is not None and (nodes.capacity[column, :size] > 0).any()
    }
    missing = [
        quotas.name(pair)
        for pair in quotas.declared[queue]
        if quotas.subtree[pair][queue] and quotas.pairs[pair] not in offered
    ]
    if missing:
        yield Finding(
            "kueue.lint.flavor-without-nodes",
            f"{path}.guaranteed",
            f"no node of the file offers {', '.join(missing)}, so nothing in that flavor can be placed",
            "give a node that flavor, or leave out the nodes to plan with quota alone",
        )
