"""A pending workload as a search sees it: what each member needs, and which nodes it may use at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cede.doctrines.parts.orders import Rows
from cede.model.workloads import PodSet
from cede.state.columns import NONE, READY, Bools, Int64s
from cede.state.state import State


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """One claimant, equal to itself alone.

    `need` is one member's, or None where the members differ; `columns` are those it needs.
    """

    row: int
    name: str
    members: int
    placement: int
    need: Int64s | None
    vectors: list[Int64s]
    columns: list[int]
    matching: Bools
    allowed: Bools

    @property
    def single(self) -> bool:
        return self.members == 1


def claim_of(state: State, row: int, parts: tuple[PodSet, ...] | None = None) -> Claim:
    """The claim of a pending workload on the nodes of its partition; with `parts` as if it were admitted so."""
    if parts is None:
        uniform = row not in state.parts or sum(part.count for part in state.parts[row]) == 1
        vectors = state.members_of(row)
    else:
        uniform = len(parts) == 1 or sum(part.count for part in parts) == 1
        vectors = state.vectors_of(parts, bool(state.work.exclusive[row]))
    total = vectors[0] if uniform else np.sum(vectors, axis=0)
    matching = matching_nodes(state, row, parts)
    nodes, size = state.nodes, state.nodes.size
    kept = nodes.reserved_for[:size]
    return Claim(
        row=row,
        name=state.work_names[row],
        members=len(vectors),
        placement=int(state.work.placement[row]),
        need=vectors[0] if uniform else None,
        vectors=vectors,
        columns=np.flatnonzero(total).tolist(),
        matching=matching,
        allowed=matching & (nodes.state[:size] == READY) & ((kept == NONE) | (kept == row)),
    )


def detached(claim: Claim) -> Claim:
    """The claim with needs of its own: a claim's are those of a row, which may be given to another workload."""
    if claim.need is None:
        return replace(claim, vectors=[vector.copy() for vector in claim.vectors])
    need = claim.need.copy()
    return replace(claim, vectors=[need] * claim.members, need=need)


def pinned_by(state: State, row: int, parts: tuple[PodSet, ...] | None = None) -> set[tuple[str, ...]]:
    """The flavors that each kind of member names, as names of columns; a request for nothing pins nothing."""
    own = state.parts.get(row) if parts is None else parts
    requests = [state.odd_requests.get(row, {})] if own is None else [part.requests for part in own]
    return {tuple(sorted(name for name, nano in asked.items() if nano and "@" in name)) for asked in requests}


def matching_nodes(state: State, row: int, parts: tuple[PodSet, ...] | None = None) -> Bools:
    """Nodes the workload may stand on by partition, flavor, labels and names, whatever their state.

    Of flavors a node must offer all that one of its members names.
    """
    nodes, size = state.nodes, state.nodes.size
    mask: Bools = nodes.partition[:size] == state.work.partition[row]
    if state.units.flavored:
        offers = np.zeros(size, np.bool_)
        for names in pinned_by(state, row, parts):
            columns = [state.units.index[name] for name in names]
            offers |= (nodes.capacity[columns, :size] > 0).all(axis=0)
        mask &= offers
    required = int(state.work.required_node[row])
    if required != NONE:
        only = np.zeros(size, np.bool_)
        only[required] = True
        mask &= only
    constraints = state.constraints.get(row)
    if constraints is not None:
        if constraints.labels:
            mask &= state.labels.having(constraints.labels)[nodes.labels[:size]]
        if constraints.nodes:
            named = np.zeros(size, np.bool_)
            named[[state.node_index[name] for name in constraints.nodes]] = True
            mask &= named
    return mask


def standing_on(state: State, nodes: Rows) -> Rows:
    """Resident rows on these nodes."""
    return np.array(list(chain.from_iterable(map(state.node_residents.__getitem__, nodes.tolist()))), np.intp)


def residents_of_all(state: State, works: Rows) -> Rows:
    """Resident rows of these workloads, on whatever node."""
    rows: Rows = state.work.resident[works]
    levels = []
    while len(rows := rows[rows != NONE]):
        levels.append(rows)
        rows = state.residents.sibling[rows]
    return np.concatenate(levels) if levels else rows
