"""What pools are guaranteed and limited to, as shares, and the weights that follow from it."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.pool_tree import Pools
from cede.doctrines.ytsaurus.settings import Amounts, Operation
from cede.state.columns import NONE, UNLIMITED, UNSET, Int64s


def shares_of(amounts: Floats, total: Floats) -> Floats:
    """Amounts as parts of the total; of what there is nothing, nothing."""
    shares: Floats = np.divide(amounts, total, out=np.zeros_like(amounts), where=total > 0)
    return shares


def counts_of(pools: Pools, amounts: Amounts, fill: float = 0.0) -> Floats:
    """Nano-units by name as counts in the order of the pools' resources."""
    units = pools.state.units
    counts = np.full(len(pools.columns), fill)
    for at, column in enumerate(pools.columns.tolist()):
        name = units.names[column]
        if name in amounts:
            counts[at] = amounts[name] / units.nano[column]
    return counts


def threshold_of(pools: Pools, threshold: Amounts) -> Floats | None:
    """The usage below which nothing is preempted, in counts; none where there is no such thing.

    What is not named has no bound; what is named and not counted at all is used 0, and that must be below it.
    """
    names = {pools.state.units.names[column] for column in pools.columns.tolist()}
    if not threshold or any(amount <= 0 for name, amount in threshold.items() if name not in names):
        return None
    return counts_of(pools, threshold, np.inf)


def limits_of(pools: Pools) -> Floats:
    """The share that each pool is limited to; 1 of what it is not limited in."""
    tree = pools.state.tree
    limits = np.ones((len(pools.settings), len(pools.columns)))
    for pool in range(len(pools.settings)):
        total = pools.total[pools.tree_of[pool]].astype(np.float64)
        if pool < pools.size:
            given = tree.max[pools.columns, pool]
            most = np.where(given == UNSET, total, np.minimum(given, total))
        else:
            most = total
        limits[pool] = shares_of(most, total)
    return limits


def limits_in_counts(pools: Pools) -> tuple[Int64s, Int64s]:
    """Limits of pools in counts, and by how much a preemptive start may exceed them."""
    tree = pools.state.tree
    limits = np.full((len(pools.settings), len(pools.columns)), UNLIMITED)
    given = tree.max[pools.columns, : pools.size].T
    limits[: pools.size] = np.where(given == UNSET, UNLIMITED, given)
    tolerated = np.zeros_like(limits)
    for pool in range(pools.size):
        if pools.settings[pool].overcommit:
            more = counted(counts_of(pools, pools.settings[pool].overcommit))
            tolerated[pool] = np.minimum(more, UNLIMITED - limits[pool])
    return limits, tolerated


def counted(limits: Floats) -> Int64s:
    """Limits as whole counts; what cannot be counted is unlimited."""
    return np.minimum(limits, float(UNLIMITED)).astype(np.int64)


def limits_of_operation(pools: Pools, partition: int, settings: Operation) -> Floats:
    """The share that an operation's own limits leave it."""
    total = pools.total[partition].astype(np.float64)
    if settings.limits is None:
        return shares_of(total, total)
    return shares_of(np.minimum(counts_of(pools, settings.limits, np.inf), total), total)


def inferred(pools: Pools) -> Floats:
    """Guaranteed amounts: what a pool does not name follows the main resource, within what its parent has left."""
    tree, names = pools.state.tree, pools.state.units.names
    main = next((at for at, column in enumerate(pools.columns) if names[column] == pools.tree.main_resource), None)
    guaranteed = np.zeros((len(pools.settings), len(pools.columns)))
    for root in range(pools.size, len(pools.settings)):
        guaranteed[root] = pools.total[pools.tree_of[root]]
    for parent in pools.down:
        children = pools.children[parent]
        if not children:
            continue
        given = tree.guaranteed[pools.columns][:, children].T
        named = given != UNSET
        amounts = np.where(named, given, 0).astype(np.float64)
        if main is not None:
            named[:, main] = True
            above = guaranteed[parent]
            part = amounts[:, main] / above[main] if above[main] > 0 else np.zeros(len(children))
            wanted = np.where(named, 0.0, above * part[:, None])
            if parent < pools.size:
                rest, asked = np.maximum(above - amounts.sum(axis=0), 0.0), wanted.sum(axis=0)
                wanted *= np.divide(rest, asked, out=np.ones_like(rest), where=asked > rest)
            amounts += wanted
        guaranteed[children] = amounts
    return guaranteed


def strong(pools: Pools, limits: Floats, burst: Floats) -> tuple[Floats, Floats]:
    """Guaranteed shares that fit: below limits, and children within their parents; and the factor of each tree by
    which burst guarantees shrink with them. `burst` is what burst pools of each tree are guaranteed in all.
    """
    amounts = inferred(pools)
    shares = np.zeros_like(amounts)
    for pool in range(pools.size):
        shares[pool] = shares_of(amounts[pool], pools.total[pools.tree_of[pool]].astype(np.float64))
    factors = np.ones(len(pools.total))
    for root in range(pools.size, len(pools.settings)):
        shares[root] = shares[pools.children[root]].sum(axis=0)
        partition = pools.tree_of[root]
        factors[partition] = _fitting(shares[root] + burst[partition], np.ones(len(pools.columns)))
        shares[root] *= factors[partition]
    for parent in pools.down:
        shares[parent] = np.minimum(shares[parent], limits[parent])
        children = pools.children[parent]
        if children:
            shares[children] *= _fitting(shares[children].sum(axis=0), shares[parent])
    return shares, factors


def _fitting(sums: Floats, most: Floats) -> float:
    """The largest factor up to 1 that brings the sums within the most."""
    over = sums > most + EPSILON
    return float((most[over] / sums[over]).min()) if over.any() else 1.0


def weights_of(pools: Pools, guarantees: Floats, flows: Floats) -> Floats:
    """The weight of each pool: its own, or what follows from guarantees where that is on, or 1.

    `flows` are the shares of resource flow of each pool with all below it.
    """
    weights = np.ones(len(pools.settings))
    multiplier = pools.tree.infer_weight
    promised = guarantees.max(axis=1, initial=0.0) + flows
    for pool in range(pools.size):
        own, parent = pools.settings[pool].weight, pools.parent[pool]
        if own is not None:
            weights[pool] = own
        elif multiplier is not None and parent != NONE and min(promised[pool], promised[parent]) > EPSILON:
            weights[pool] = multiplier * promised[pool] / promised[parent]
    return weights
