"""Nodes that hold what they cannot hold, or are kept for nobody."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.engine.lint_rules import NOT_ALONE, OVER_CAPACITY, STALE_HOLD, finding
from cede.model.lint import Finding
from cede.model.quantities import show_quantity
from cede.state.columns import CHECKPOINTING, NONE, PREEMPTING, RUNNING, STATES
from cede.state.state import State
from cede.state.units import FULL, WHOLE


def node_findings(state: State) -> Iterator[Finding]:
    """By node name. A reserved workload and those that make way for it overlap, and that is no overcommit."""
    nodes, size = state.nodes, state.nodes.size
    crowded = (nodes.free[:, :size] < 0).any(axis=0)
    stale = np.isin(_states_kept_for(state), (RUNNING, CHECKPOINTING, PREEMPTING))
    for node in sorted(np.flatnonzero(crowded | stale).tolist(), key=state.node_names.__getitem__):
        yield from _crowded(state, node)
        if stale[node]:
            kept_for = int(nodes.reserved_for[node])
            yield finding(
                STALE_HOLD,
                f"nodes[{state.node_names[node]}].reserved_for",
                "drop reserved_for",
                node=state.node_names[node],
                workload=state.work_names[kept_for],
                state=STATES[state.work.state[kept_for]],
            )


def _states_kept_for(state: State) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    kept = state.nodes.reserved_for[: state.nodes.size]
    return np.where(kept == NONE, NONE, state.work.state[np.maximum(kept, 0)])


def _crowded(state: State, node: int) -> Iterator[Finding]:
    nodes, name = state.nodes, state.node_names[node]
    for column in np.flatnonzero(nodes.free[:, node] < 0).tolist():
        if column == WHOLE:
            yield _not_alone(state, node)
            continue
        what = state.units.names[column]
        free, capacity = int(nodes.free[column, node]), int(nodes.capacity[column, node])
        used, full, over = (
            show_quantity(what, count * state.units.nano[column]) for count in (capacity - free, capacity, -free)
        )
        yield finding(
            OVER_CAPACITY,
            f"nodes[{name}].capacity",
            "correct capacity or occupied, or take a workload off the node",
            node=name,
            what=what,
            used=used,
            capacity=full,
            over=over,
        )


def _not_alone(state: State, node: int) -> Finding:
    residents = state.residents
    standing = sorted(state.node_residents[node], key=lambda row: state.work_names[residents.work[row]])
    names = [state.work_names[residents.work[row]] for row in standing]
    alone = next(n for n, row in zip(names, standing, strict=True) if residents.amount[WHOLE, row] >= FULL)
    others = [other for other in names if other != alone]
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    node_name = state.node_names[node]
    return finding(
        NOT_ALONE,
        f"workloads[{alone}].exclusive",
        f"take the others off {node_name}, or drop exclusive",
        alone=alone,
        node=node_name,
        others=", ".join(others[:3]) + more if others else "another member of it",
    )
