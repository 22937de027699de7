"""Settings of a resource group that will not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED, settings_of
from cede.model.lint import Finding
from cede.state.columns import GONE, KINDS, Bools, Int32s
from cede.state.state import State


def lint(state: State, edition: str) -> Iterator[Finding]:
    """Findings about every group, by queue name."""
    yield from _shared_partitions(state)
    for name, queue in sorted(_groups(state)):
        yield from _of_queue(state, edition, name, queue)


def _groups(state: State) -> Iterator[tuple[str, int]]:
    """The resource groups: listed queues that have none below them, for there is no tree of groups."""
    tree = state.tree
    above = set(tree.parent[: tree.size].tolist())
    return ((name, queue) for name, queue in tree.index.items() if tree.listed[queue] and queue not in above)


def _of_queue(state: State, edition: str, name: str, queue: int) -> Iterator[Finding]:
    raw = state.tree.settings(queue)
    settings = settings_of(raw, edition)
    path = f"queues[{name}].settings"
    work, size = state.work, state.work.size
    live = (work.partition[:size] == state.tree.partition[queue]) & (work.state[:size] != GONE)
    if edition == DOCUMENT:
        yield from _threshold(path, settings.threshold, raw, work.priority[:size][live])
    if edition == SHIPPED:
        if "preemptible_priority" in raw:
            yield Finding(
                "backendai.lint.dead-threshold",
                f"{path}.preemptible_priority",
                f"release 26.8 stores preemptible_priority {settings.threshold} and never reads it",
                "set job_priority on the workloads, or plan with edition bep-1014",
            )
        others = sorted(set(raw) & {"preemption_order", "preemption_mode", "preemption_min_runtime", "victim_scope"})
        if others and not settings.enabled:
            yield Finding(
                "backendai.lint.preemption-off",
                f"{path}.{others[0]}",
                f"{', '.join(others)} can never fire: the group does not preempt (enabled is false, the default)",
                "set enabled: true, or drop the settings",
            )
        if settings.scheduler == "fair-share":
            yield Finding(
                "backendai.lint.no-factors",
                f"{path}.scheduler",
                "fair-share orders by factors that a cluster file does not carry; the queue is ordered as fifo",
                "use drf or fifo to see the order that will be used",
            )
        if settings.enabled and live.any() and len(set(work.job_priority[:size][live].tolist())) == 1:
            yield Finding(
                "backendai.lint.equal-job-priorities",
                f"{path}.enabled",
                f"all {int(live.sum())} workloads of the group have job_priority "
                f"{int(work.job_priority[:size][live][0])}: no priority is below another, so nothing is ever preempted",
                "give the urgent ones a higher job_priority",
            )
    if settings.enabled and (work.queue[:size] == queue).any():
        within = live & (work.priority[:size] <= settings.threshold) if edition == DOCUMENT else live
        yield from _interactive(state, name, path, settings.mode, within)


def _threshold(path: str, threshold: int, raw: dict[str, object], priorities: Int32s) -> Iterator[Finding]:
    if len(priorities) and int(priorities.min()) > threshold:
        yield Finding(
            "backendai.lint.threshold-below-all",
            f"{path}.preemptible_priority",
            f"the threshold {threshold}{'' if 'preemptible_priority' in raw else ' (the default)'} is below every "
            f"priority in the group (lowest {int(priorities.min())}): nothing can ever be preempted",
            f"raise preemptible_priority to at least {int(priorities.min())}",
        )
    if threshold >= 100 and "preemptible_priority" in raw:
        yield Finding(
            "backendai.lint.threshold-protects-nobody",
            f"{path}.preemptible_priority",
            "a threshold of 100 protects no priority: only the claimant's own priority limits what it may take",
            "lower the threshold to the highest priority that may be preempted",
        )


def _interactive(state: State, name: str, path: str, mode: str, within: Bools) -> Iterator[Finding]:
    work, size = state.work, state.work.size
    kinds = within & (work.kind[:size] == KINDS.index("interactive")) & work.preemptible[:size]
    if kinds.any():
        names = sorted(state.work_names[row] for row in np.flatnonzero(kinds).tolist())
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Finding(
            "backendai.lint.interactive-may-be-preempted",
            f"{path}.preemption_mode",
            f"{shown}: interactive work cannot be suspended and resumed, and {name} may preempt it (mode {mode})",
            "set preemptible: false on it, or move it to a group that does not preempt",
        )


def _shared_partitions(state: State) -> Iterator[Finding]:
    groups: dict[int, list[str]] = {}
    for name, queue in _groups(state):
        groups.setdefault(int(state.tree.partition[queue]), []).append(name)
    for partition, names in sorted(groups.items(), key=lambda item: state.partitions.names[item[0]]):
        settings = [state.tree.settings(state.tree.index[name]) for name in sorted(names)]
        if len(names) > 1 and any(other != settings[0] for other in settings):
            yield Finding(
                "backendai.lint.one-queue-a-group",
                f"queues[{sorted(names)[1]}].partition",
                f"{', '.join(sorted(names))} share the nodes of {state.partitions.names[partition]} "
                "with different settings; a resource group has one block of settings",
                "give each queue a partition of its own, or the same settings",
            )
