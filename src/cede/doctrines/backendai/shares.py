"""What the doctrine computes before it decides: what each group uses, and whose turn it is."""

from __future__ import annotations

from typing import Any

from cede.doctrines.backendai.facts import groups_with_work
from cede.doctrines.backendai.proposal import queue_of
from cede.doctrines.backendai.sequence import dominant_shares, sequence
from cede.doctrines.backendai.settings import DOCUMENT
from cede.doctrines.backendai.shipped import group_settings
from cede.model.quantities import format_quantity
from cede.state.columns import Int64s
from cede.state.state import State


def shares(state: State, edition: str) -> dict[str, dict[str, Any]]:
    """Queues: usage and the capacity of the group's nodes. Pending workloads: their turn, the owner's share."""
    queues: dict[str, Any] = {}
    for name in sorted(state.tree.index):
        row = state.tree.index[name]
        here = state.nodes.partition[: state.nodes.size] == max(int(state.tree.partition[row]), 0)
        capacity = _amounts(state, state.nodes.capacity[:, : state.nodes.size][:, here].sum(axis=1))
        queues[name] = {
            "usage": _amounts(state, state.tree.usage[:, row]),
            "capacity": {name: amount for name, amount in capacity.items() if "@" not in name},
        }
    workloads: dict[str, Any] = {}
    for partition in groups_with_work(state):
        if edition == DOCUMENT:
            for turn, row in enumerate(queue_of(state, partition).tolist(), 1):
                workloads[state.work_names[row]] = {"turn": turn}
            continue
        rows = sequence(state, partition, group_settings(state, partition))
        owners = state.work.user[rows].tolist()
        dominant = dominant_shares(state, partition, owners)
        for turn, (row, owner) in enumerate(zip(rows.tolist(), owners, strict=True), 1):
            workloads[state.work_names[row]] = {"turn": turn, "dominant_share": float(dominant[owner])}
    return {"queues": queues, "apps": {}, "workloads": workloads}


def _amounts(state: State, row: Int64s) -> dict[str, int | str]:
    amounts = state.units.amounts(row.tolist())
    return {name: format_quantity(amounts[name]) for name in sorted(amounts)}
