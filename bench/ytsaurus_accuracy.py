"""How exact the shares of a large tree are: among themselves, beside a naive update, and beside exact fractions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from bench.naive.ytsaurus_tree import TINY, Element, Forest
from bench.pool_trees import SEED
from cede.doctrines.ytsaurus.update import Update
from cede.model.errors import CedeError

WORST = 1e-6
FEW = 8
"""So many operations below a pool can be worked out in fractions while somebody waits."""


def agree(update: Update, forest: Forest) -> float:
    """By how much shares differ at the most from those of a naive update; too much is an error."""
    naive = {name: [float(one) for one in element.share] for name, element in forest.elements.items()}
    return _worst(dict(_shares(update)), naive, "the naive one")


def same(update: Update, other: Update) -> float:
    """The same beside another update, of everything."""
    return _worst(dict(_shares(update)), dict(_shares(other)), "of a full update")


def _worst(shares: Mapping[str, list[float]], others: Mapping[str, list[float]], what: str) -> float:
    worst = 0.0
    for name, share in shares.items():
        found = max(abs(a - b) for a, b in zip(share, others[name], strict=True))
        if found > WORST:
            raise CedeError(f"the share of {name} is {share}, {what} {others[name]}")
        worst = max(worst, found)
    return worst


def accuracy(update: Update, document: dict[str, Any], samples: int) -> dict[str, Any]:
    """The worst gap between a pool's share and its children's, and from the exact shares of some small pools."""
    exact = Forest(document, exact=True)
    exact.promise()
    shares = dict(_shares(update))
    rows = {update.pools.name(pool): pool for pool in range(update.pools.size)}
    small = [exact.elements[name] for name in rows if 0 < _operations(exact.elements[name]) <= FEW]
    chosen = random.Random(SEED).sample(small, min(samples, len(small)))
    worst = 0.0
    for pool in chosen:
        exact.offer(pool)
        exact.give(pool, Fraction(float(update.fair.suggestion[rows[pool.name]])))
        for element in pool.below():
            right = [Fraction(0 if one < TINY else one) for one in element.share]
            gaps = [abs(Fraction(a) - b) for a, b in zip(shares[element.name], right, strict=True)]
            worst = max(worst, float(max(gaps)))
    return {"sums": _sums(update), "exact": worst, "pools": len(chosen)}


def _shares(update: Update) -> list[tuple[str, list[float]]]:
    pools = [(update.pools.name(pool), update.pool_fair[pool].tolist()) for pool in range(update.pools.size)]
    return [*pools, *zip(update.operations.names, update.op_fair.tolist(), strict=True)]


def _operations(element: Element) -> int:
    return sum(not one.is_pool for one in element.below())


def _sums(update: Update) -> float:
    """By how much the share of a pool differs at the most from the sum of its children's."""
    sums = np.zeros_like(update.pool_fair)
    np.add.at(sums, update.operations.above, update.op_fair)
    for pools, parents in update.pools.levels:
        np.add.at(sums, parents, update.pool_fair[pools])
    return float(np.abs(sums - update.pool_fair)[: update.pools.size].max(initial=0.0))
