"""Which work may stand on which nodes: home nodes, nodes of no vCluster, and nodes that are lent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cede.doctrines.lattice.settings import HIGHEST, SENSITIVE, VClusters, vclusters_of
from cede.doctrines.parts.claim import Claim, claim_of, residents_of_all
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NONE, Bools, Int32s
from cede.state.state import State


def claim_within(state: State, row: int) -> Claim:
    """The claim of a pending workload on the nodes that it may use: its own, nobody's, and what is lent to it."""
    claim = claim_of(state, row)
    if claims_nodes(state, row):
        return claim
    return replace(claim, allowed=claim.allowed & open_to(state, row))


def open_to(state: State, row: int) -> Bools:
    """Nodes whose home lets this workload stand on them."""
    homes = state.nodes.home[: state.nodes.size]
    queue = int(state.work.queue[row])
    own: Bools = (homes == NONE) | (homes == queue)
    vclusters = vclusters_of(state)
    if own.all() or not vclusters.borrows[queue] or vclusters.type[queue] == SENSITIVE:
        return own
    nodes: Bools = own | lending(vclusters)[homes]
    return nodes


def lending(vclusters: VClusters) -> Bools:
    """Which vClusters lend their nodes; a sensitive one never does."""
    lends: Bools = vclusters.lends & (vclusters.type != SENSITIVE)
    return lends


def borrowed_by(state: State, queue: int) -> Bools | None:
    """Nodes that work of this queue would only borrow; none where no node has a home."""
    homes = state.nodes.home[: state.nodes.size]
    nodes: Bools = (homes != NONE) & (homes != queue)
    return nodes if nodes.any() else None


def is_sensitive(state: State) -> Bools:
    """Workloads that are never preempted: by their flag, their class or their vCluster."""
    work, size = state.work, state.work.size
    sensitive: Bools = work.sensitive[:size] | (work.priority[:size] >= HIGHEST)
    types = vclusters_of(state).type
    if (types == SENSITIVE).any():
        sensitive |= types[work.queue[:size]] == SENSITIVE
    return sensitive


def sensitive_work(state: State, row: int) -> bool:
    """Whether this one is, as `is_sensitive` has it."""
    work = state.work
    by_queue = vclusters_of(state).type[int(work.queue[row])] == SENSITIVE
    return bool(work.sensitive[row] or work.priority[row] >= HIGHEST or by_queue)


def claims_nodes(state: State, row: int) -> bool:
    """Whether it is a sensitive claim: sensitive work that names its nodes."""
    constraints = state.constraints.get(row)
    if state.work.required_node[row] == NONE and (constraints is None or not constraints.nodes):
        return False
    return sensitive_work(state, row)


def standing_at_home(state: State, queues: Int32s, rows: Rows | None = None) -> Bools:
    """Workloads, or those of these, that hold a node which they do not borrow, of the given queue of each."""
    residents = state.residents
    live = np.flatnonzero(residents.count[: residents.size]) if rows is None else residents_of_all(state, rows)
    works, homes = residents.work[live], state.nodes.home[residents.node[live]]
    at_home = np.zeros(state.work.size, np.bool_)
    at_home[works[(homes == NONE) | (homes == queues[works])]] = True
    return at_home
