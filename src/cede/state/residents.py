"""Where members stand: resident rows, with the sums of nodes and queues that follow them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cede.state.cluster_columns import ClusterColumns
from cede.state.columns import NONE, PREEMPTING, RESERVED, Int64s

OVERLAPPING = (RESERVED, PREEMPTING)


def settle_in(state: ClusterColumns, row: int, nodes: Sequence[int], code: int) -> None:
    """A workload takes its room in this state, one node a member."""
    state.work.state[row] = code
    state.between += code in OVERLAPPING
    for queue in state.tree.path(int(state.work.queue[row])):
        state.tree.usage[:, queue] += state.work.usage[:, row]
    if len(nodes) == 1:
        _stand(state, row, nodes[0], 1, state.members_of(row)[0], code)
    elif nodes:
        taken: dict[int, Int64s] = {}
        counts: dict[int, int] = {}
        for node, vector in zip(nodes, state.members_of(row), strict=False):
            taken[node] = taken[node] + vector if node in taken else vector.copy()
            counts[node] = counts.get(node, 0) + 1
        for node, amount in taken.items():
            _stand(state, row, node, counts[node], amount, code)
    if row in state.parts and nodes:
        state.placed[row] = tuple(nodes)


def _stand(state: ClusterColumns, row: int, node: int, count: int, amount: Int64s, code: int) -> None:
    residents = state.residents
    resident = residents.add()
    residents.work[resident] = row
    residents.node[resident] = node
    residents.count[resident] = count
    residents.amount[:, resident] = amount
    residents.sibling[resident] = state.work.resident[row]
    state.work.resident[row] = resident
    state.node_residents[node].append(resident)
    book(state, resident, code, 1)


def move_out(state: ClusterColumns, row: int) -> None:
    """A workload gives its room back."""
    state.between -= int(state.work.state[row]) in OVERLAPPING
    for queue in state.tree.path(int(state.work.queue[row])):
        state.tree.usage[:, queue] -= state.work.usage[:, row]
    for resident in state.residents_of(row):
        book(state, resident, int(state.work.state[row]), -1)
        state.node_residents[int(state.residents.node[resident])].remove(resident)
        state.residents.drop(resident)
    state.work.resident[row] = NONE
    state.placed.pop(row, None)


def book(state: ClusterColumns, resident: int, code: int, sign: int) -> None:
    """Add or take away a resident's amount in the bucket that its workload's state stands for."""
    node = int(state.residents.node[resident])
    amount = state.residents.amount[:, resident]
    nodes = state.nodes
    if code in OVERLAPPING:
        bucket = nodes.held if code == RESERVED else nodes.leaving
        bucket[:, node] += sign * amount
        refresh(state, node)
    else:
        nodes.used[:, node] += sign * amount
        nodes.free[:, node] -= sign * amount


def refresh(state: ClusterColumns, node: int) -> None:
    """What is free on the node, from everything that is not."""
    nodes = state.nodes
    taken = nodes.occupied[:, node] + nodes.used[:, node] + nodes.booked[:, node]
    overlap = np.maximum(nodes.leaving[:, node], nodes.held[:, node])
    nodes.free[:, node] = nodes.capacity[:, node] - taken - overlap
