"""What a preemption costs as the library computes it: whole minutes, no GPUs, half for who is above its share.

In doubles and in the library's order of operations, for it compares them as they come out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.lattice.node_facts import all_identical, fingerprints
from cede.doctrines.lattice.score import actual_share
from cede.doctrines.lattice.settings import HIGHEST, INTERACTIVE, SENSITIVE, SERVICE, vclusters_of
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.cost import AUTO, MANUAL, MINUTE, Floats, elapsed_of, nodes_of, progress_of
from cede.doctrines.parts.fit import feasible, members_that_fit, place
from cede.doctrines.parts.orders import Rows, nodes_by, order_of
from cede.state.columns import ANY, NEVER, SPREAD, TIGHT, Bools, Int64s
from cede.state.state import State

AUTO_MINUTES, MANUAL_MINUTES = 5, 10
BURST = 0.5


def core_costs(state: State, rows: Rows) -> Floats:
    """In minutes."""
    elapsed, walltime = elapsed_of(state, rows)
    ran = elapsed // MINUTE
    lasts = np.where((walltime == NEVER) | (walltime < MINUTE), NEVER, walltime // MINUTE)  # no whole minute is none
    mode = state.work.checkpoint[rows]
    saving = np.where(mode == AUTO, AUTO_MINUTES, MANUAL_MINUTES)
    checkpoint = np.where((mode == AUTO) | (mode == MANUAL), saving, nodes_of(state, rows) * ran)
    minutes: Floats = (checkpoint + progress_of(ran, lasts)) * _burst(state, rows)
    return minutes


def saving_minutes(mode: int) -> float:
    """What one that saves its work costs but for its progress."""
    return AUTO_MINUTES if mode == AUTO else MANUAL_MINUTES


@dataclass(frozen=True, slots=True)
class Ranked:
    """Workloads, the cheapest first: rows, what each costs, and how many nodes they hold up to each."""

    rows: Rows
    costs: Floats
    freed: Int64s


def ranked_of(state: State, rows: Rows) -> Ranked:
    """These by cost, then uid."""
    costs = core_costs(state, rows)
    turn = order_of(state, rows, costs)
    return Ranked(rows[turn], costs[turn], np.cumsum(nodes_of(state, rows[turn])))


def _burst(state: State, rows: Rows) -> Floats:
    """Half for the work of a tenant that has a burst allowance, be it 0, and holds more than its target share."""
    if not state.static.tenants:
        return np.ones(len(rows))
    codes, places = np.unique(state.work.tenant[rows], return_inverse=True)
    return np.array([_of_tenant(state, code) for code in codes.tolist()], np.float64)[places]


def _of_tenant(state: State, code: int) -> float:
    tenant = state.static.tenants.get(state.tenants.name(code) or "")
    if tenant is None or tenant.burst is None or tenant.share is None:
        return 1.0
    return BURST if actual_share(state, code, policy=False) > tenant.share else 1.0


PLAIN = (SERVICE, INTERACTIVE)
"""Types of vClusters whose schedulers look neither at fingerprints nor at the wish for a placement."""


def wish_of(state: State, row: int) -> Claim:
    """The claim of a workload; how it wants to be placed is a wish, which `placed` knows of, and no condition."""
    return replace(claim_of(state, row), placement=ANY)


def spelled_out(state: State, claim: Claim) -> Claim:
    """The claim with a wish that can keep it from starting: to be spread, where the scheduler looks at that."""
    return replace(claim, placement=SPREAD) if splits(state, claim.row) else claim


def splits(state: State, row: int) -> bool:
    """Whether its members must be spread: with more groups to be spread over, more room may be too little."""
    spread = state.work.placement[row] == SPREAD and not one_kind(state, row)
    return bool(spread) and _type_of(state, row) not in PLAIN


def placed(state: State, claim: Claim) -> list[int] | None:
    """A node for each member, by the scheduler of its vCluster; none if that finds no room.

    Interactive work takes nodes by name, a service by how much was put into their group; neither looks at what is
    identical. All others take the largest set of identical nodes, by name; only where none is large enough does a
    wish count, and sensitive work then waits."""
    if not state.nodes.size:
        return []
    claim = replace(claim, placement=ANY)
    kind = _type_of(state, claim.row)
    if kind in PLAIN:
        return place(state, claim, last=_by_density(state, claim) if kind == SERVICE else _by_name(state))
    nodes = _on_one_kind(state, claim)
    if nodes is not None or one_kind(state, claim.row):
        return nodes
    wish = state.work.placement[claim.row]
    if wish == ANY:
        return place(state, claim, last=_by_name(state))
    return _in_large_groups(state, claim) if wish == TIGHT else _spread(state, claim)


# -- identical nodes ---------------------------------------------------------------------------------------------------


def one_kind(state: State, row: int) -> bool:
    """Whether it takes nodes of one fingerprint only, as sensitive work does; outside of sensitive vClusters unknown
    ones are one too."""
    kind, work = _type_of(state, row), state.work
    sensitive = bool(work.sensitive[row]) or bool(work.priority[row] >= HIGHEST)
    return kind == SENSITIVE or (sensitive and kind not in PLAIN)


def _on_one_kind(state: State, claim: Claim) -> list[int] | None:
    """By name on the largest set of identical nodes that holds it; of sets that are as large, on the one whose first
    node comes first."""
    room = _kinds_room(state, claim)
    if claim.need is not None and int(room.sum()) < claim.members:
        return None
    kinds, rank = fingerprints(state), state.node_rank()
    if all_identical(state):
        return _place_on(state, claim, room > 0)
    first = {int(kind): int(rank[(kinds == kind) & (room > 0)].min()) for kind in np.unique(kinds[room > 0])}
    sizes = np.bincount(kinds, room).astype(np.int64)
    for kind in sorted(first, key=lambda kind: (-sizes[kind], first[kind])):
        if claim.need is not None and sizes[kind] < claim.members:
            return None
        nodes = _place_on(state, claim, kinds == kind)
        if nodes is not None:
            return nodes
    return None


def largest_kind(state: State, claim: Claim) -> int:
    """How many members find room on nodes of one fingerprint."""
    return int(np.bincount(fingerprints(state), _kinds_room(state, claim), 1).max())


def _kinds_room(state: State, claim: Claim) -> Int64s:
    """`_room` where the fingerprint is known, if its scheduler wants that."""
    known = _type_of(state, claim.row) != SENSITIVE
    return np.where(fingerprints(state).astype(np.bool_) | known, _room(state, claim), 0)


# -- groups ------------------------------------------------------------------------------------------------------------


def _in_large_groups(state: State, claim: Claim) -> list[int] | None:
    """In the largest group if it holds all; else filling one after another, the largest first."""
    sizes, names = _groups_room(state, claim), state.groups.names
    groups = state.nodes.group[: state.nodes.size]
    order = sorted(np.flatnonzero(sizes).tolist(), key=lambda group: (-sizes[group], names[group]))
    for group in order if claim.need is None else order[:1]:
        together = _place_on(state, claim, groups == group)
        if together is not None:
            return together
    turn = np.full(len(names), len(order))
    turn[order] = np.arange(len(order))
    return place(state, claim, last=_positions(state, turn[groups]))


def _spread(state: State, claim: Claim) -> list[int] | None:
    """Group by group in the order of names, an even share in each that has a free node, until all are placed: the last
    groups may stay empty. None if that is not enough."""
    if claim.need is None:
        free = claim.allowed & (_room(state, claim) > 0)
        return place(state, replace(claim, placement=SPREAD, allowed=free))
    sizes, room, groups = _groups_room(state, claim), _room(state, claim), state.nodes.group[: state.nodes.size]
    order = sorted(np.flatnonzero(sizes).tolist(), key=state.groups.names.__getitem__)
    share = -(-claim.members // max(1, len(order)))
    placed: list[int] = []
    for group in order:
        nodes = nodes_by(state, np.flatnonzero((groups == group) & (room > 0)))
        placed += np.repeat(nodes, room[nodes])[:share].tolist()
    return placed[: claim.members] if len(placed) >= claim.members else None


def _groups_room(state: State, claim: Claim) -> Int64s:
    groups = state.nodes.group[: state.nodes.size]
    return np.bincount(groups, _room(state, claim), len(state.groups.names)).astype(np.int64)


def _by_density(state: State, claim: Claim) -> Int64s:
    """First the group where most was put of its vCluster in this cycle, then by the names of groups and nodes."""
    queue = state.work.queue[claim.row]
    groups, names = state.nodes.group[: state.nodes.size], state.groups.names
    own = [node for row, on in state.booked_on.items() if state.work.queue[row] == queue for node in set(on)]
    by_name = np.argsort(np.argsort(np.array(names)))
    return _positions(state, -np.bincount(groups[own], minlength=len(names))[groups], by_name[groups])


# -- nodes -------------------------------------------------------------------------------------------------------------


def _type_of(state: State, row: int) -> int:
    return int(vclusters_of(state).type[int(state.work.queue[row])])


def _room(state: State, claim: Claim) -> Int64s:
    """How many members find room on each node; where they differ, one if the smallest does."""
    free = state.nodes.free[:, : state.nodes.size]
    if claim.need is not None:
        return members_that_fit(claim, free)
    return feasible(claim, np.min(claim.vectors, axis=0), free).astype(np.int64)


def _place_on(state: State, claim: Claim, nodes: Bools) -> list[int] | None:
    """By name on these nodes."""
    if claim.single and claim.need is not None:
        open_nodes = np.flatnonzero(feasible(claim, claim.need, state.nodes.free[:, : state.nodes.size]) & nodes)
        return [int(open_nodes[state.node_rank()[open_nodes].argmin()])] if len(open_nodes) else None
    return place(state, replace(claim, allowed=claim.allowed & nodes), last=_by_name(state))


def _by_name(state: State) -> Int64s:
    return state.node_rank()


def _positions(state: State, *keys: Int64s) -> Int64s:
    """The turn of each node by these keys, then by name."""
    turn: Rows = nodes_by(state, np.arange(state.nodes.size), *keys)
    positions: Int64s = np.empty(state.nodes.size, np.int64)
    positions[turn] = np.arange(state.nodes.size)
    return positions
