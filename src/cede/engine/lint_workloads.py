"""Workloads that can never run, or stand where they cannot."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.fit import never_fits
from cede.doctrines.parts.shortage import shortage
from cede.engine.lint_rules import FITS_NOWHERE, ON_DOWN_NODE, OTHER_PARTITION, finding
from cede.model.lint import Finding
from cede.state.columns import DOWN, STATES
from cede.state.state import State


def workload_findings(state: State) -> Iterator[Finding]:
    """By workload name."""
    if state.nodes.size:
        yield from _misplaced(state)
        yield from _hopeless(state)


def _misplaced(state: State) -> Iterator[Finding]:
    residents, nodes = state.residents, state.nodes
    live = residents.count[: residents.size] > 0
    work, node = residents.work[: residents.size], residents.node[: residents.size]
    foreign = live & (state.work.partition[work] != nodes.partition[node])
    down = live & (nodes.state[node] == DOWN)
    found = np.flatnonzero(foreign | down).tolist()
    for row in sorted(found, key=lambda row: (state.work_names[work[row]], state.node_names[node[row]])):
        name, place = state.work_names[work[row]], state.node_names[node[row]]
        if foreign[row]:
            yield finding(
                OTHER_PARTITION,
                f"workloads[{name}].nodes",
                "correct its queue, its nodes, or their partition",
                workload=name,
                node=place,
                partition=state.partitions.names[state.work.partition[work[row]]],
                other=state.partitions.names[nodes.partition[node[row]]],
            )
        if down[row]:
            yield finding(
                ON_DOWN_NODE,
                f"workloads[{name}].nodes",
                "let it be pending, or correct the node's state",
                workload=name,
                state=STATES[state.work.state[work[row]]],
                node=place,
            )


def _hopeless(state: State) -> Iterator[Finding]:
    """Waiting work that no node could hold, each kind of request looked at once."""
    empty = state.nodes.capacity[:, : state.nodes.size] - state.nodes.occupied[:, : state.nodes.size]
    known: dict[Hashable, str | None] = {}
    for row in sorted(state.pending, key=state.work_names.__getitem__):
        kind = _kind(state, row)
        if kind not in known:
            claim = claim_of(state, row)
            claim = replace(claim, allowed=claim.matching)
            if not claim.matching.any():
                known[kind] = ": no node matches what it asks for"
            elif not never_fits(state, claim, empty):
                known[kind] = None
            else:
                known[kind] = f": {shortage(state, claim, empty)}"
        if known[kind] is not None:
            name = state.work_names[row]
            hint = "lower what it requests, or add a node that is large enough and matches"
            yield finding(FITS_NOWHERE, f"workloads[{name}]", hint, workload=name, more=known[kind])


def _kind(state: State, row: int) -> Hashable:
    """Equal for workloads that ask for the same."""
    work = state.work
    if row in state.parts or row in state.constraints:
        return row
    return (
        work.need[:, row].tobytes(),
        int(work.members[row]),
        int(work.placement[row]),
        int(work.partition[row]),
        int(work.required_node[row]),
    )
