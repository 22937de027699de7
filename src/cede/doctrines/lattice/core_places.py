"""Where the library puts work: identical nodes first, by name; services by density, sensitive work on one kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cede.doctrines.lattice.kept import fingerprints
from cede.doctrines.lattice.settings import INTERACTIVE, SENSITIVE, SERVICE, vclusters_of
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.fit import feasible, place
from cede.state.columns import ANY, SPREAD, TIGHT, Bools, Int64s
from cede.state.state import State


def wish_of(state: State, row: int) -> Claim:
    """The claim of a workload; one group is a wish, which `placed` knows of, and no condition."""
    claim = claim_of(state, row)
    return replace(claim, placement=ANY) if claim.placement == TIGHT else claim


def placed(state: State, claim: Claim) -> list[int] | None:
    """On the largest set of identical nodes that has room; if none has, on any, but for sensitive work.

    Services and interactive work do not look at what is identical."""
    if not state.nodes.size:
        return []
    kinds = fingerprints(state)
    free = state.nodes.free[:, : state.nodes.size]
    alone = one_kind(state, claim.row)
    plain = vclusters_of(state).type[int(state.work.queue[claim.row])] in (SERVICE, INTERACTIVE)
    for kind in _by_size(state, claim) if alone or not plain else ():
        nodes = _among(state, claim, np.where(kinds == kind, free, 0))
        if nodes is not None:
            return nodes
    return None if alone else _among(state, claim, free)


def _among(state: State, claim: Claim, free: Int64s) -> list[int] | None:
    """In one group if it asks for that and one has room; else, as far as they go, in the largest groups."""
    if state.work.placement[claim.row] == TIGHT:
        together = place(state, replace(claim, placement=TIGHT), free)
        if together is not None:
            return together
    return place(state, claim, free, _turn(state, claim, free))


def _turn(state: State, claim: Claim, free: Int64s) -> Int64s | None:
    """In which order nodes are taken: by name. First by group where one is asked for: the one with most room; and for a
    service: the one where its vCluster placed most in this cycle. None where members are spread."""
    if claim.placement == SPREAD:
        return None
    keys: list[Int64s] = [state.node_rank()[: state.nodes.size]]
    queue = int(state.work.queue[claim.row])
    groups, names = state.nodes.group[: state.nodes.size], state.groups.names
    by_name = np.argsort(np.argsort(np.array(names)))
    if state.work.placement[claim.row] == TIGHT:
        room = np.bincount(groups, _holds(claim, free), len(names)).astype(np.int64)
        keys += [by_name[groups], -room[groups]]
    elif vclusters_of(state).type[queue] == SERVICE:
        own = [node for row, on in state.booked_on.items() if state.work.queue[row] == queue for node in set(on)]
        placed_there = np.bincount(groups[own], minlength=len(names))
        keys += [by_name[groups], -placed_there[groups]]
    found: Int64s = np.empty(state.nodes.size, np.int64)
    found[np.lexsort(keys)] = np.arange(state.nodes.size)
    return found


def one_kind(state: State, row: int) -> bool:
    """Whether it takes nodes of one fingerprint only: sensitive work; outside of sensitive vClusters unknown ones are
    one too."""
    return _serves_sensitive(state, row) or (bool(state.work.sensitive[row]) and bool(fingerprints(state).any()))


def _serves_sensitive(state: State, row: int) -> bool:
    """Whether it is of a sensitive vCluster, whose scheduler takes only nodes with a known fingerprint."""
    return bool(vclusters_of(state).type[int(state.work.queue[row])] == SENSITIVE)


def _by_size(state: State, claim: Claim) -> list[int]:
    """Fingerprints by the number of nodes with room for a member, the most first."""
    sizes = _room_by_kind(state, claim)
    first = 1 if _serves_sensitive(state, claim.row) else 0
    return sorted(range(first, len(sizes)), key=lambda kind: (-sizes[kind], kind))


def largest_kind(state: State, claim: Claim) -> int:
    sizes = _room_by_kind(state, claim)
    return max(sizes[1:] if _serves_sensitive(state, claim.row) else sizes, default=0)


def _room_by_kind(state: State, claim: Claim) -> list[int]:
    room = _holds(claim, state.nodes.free[:, : state.nodes.size])
    found: list[int] = np.bincount(fingerprints(state), room, 1).astype(np.int64).tolist()
    return found


def _holds(claim: Claim, free: Int64s) -> Bools:
    """Nodes with room for a member."""
    return feasible(claim, np.min(claim.vectors, axis=0), free)
