"""Costs and amounts that lie so near to each other, or so far apart, that a solver in floating point gets lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cede
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.exact import Solution, solve
from cede.doctrines.parts.question import Linear
from cede.doctrines.parts.selection import cover_of
from tests.builders import cluster_of, group, node, pending, running


def solved(
    amounts: list[int],
    weights: list[float],
    need: int,
    *limits: Linear,
    members: int = 1,
    free: int = 0,
    known: tuple[int, ...] = (),
) -> Solution:
    """Of workloads that hold so much of a node the cheapest, for members that need so much each.

    `known` are places of a set that will do.
    """
    entries = [running(f"v{at}", memory=amount, priority=1) for at, amount in enumerate(amounts)]
    wants = pending("in", priority=9, members=members, memory=need)
    state = cluster_of(node("n1", memory=sum(amounts) + free), group(), *entries, wants).state
    rows = np.array([state.work_index[f"v{at}"] for at in range(len(amounts))], np.intp)
    question = cover_of(state, claim_of(state, state.work_index["in"]), rows)
    question = replace(question, weights=np.array(weights), conditions=limits)
    return solve(state, question, chosen=rows[list(known)] if known else None)


def test_a_far_cheaper_set_than_the_known_one_is_found() -> None:
    amounts = [1_333_333_332, 1_333_333_332, 1_998_000_000, 1_332_000_000]
    costs = [38_016_667.0, 1_396_700_000.0, 43_201_000_000.0, 9_366_667.0]

    found = solved(amounts, costs, 5_500_000_000, free=2_003_333_336, known=(0, 2, 3))

    assert (found.value, found.bound, found.proven) == (1_444_083_334, 1_444_083_334, True)


def test_one_who_is_a_byte_short_of_enough_changes_nothing() -> None:
    amounts = [777_777_777, 666_666_665, 333_333_330, 333_333_333, 333_333_335, 999_999_998]
    costs = [1001.0, 999_999.0, 1e12 + 2, 1e12 + 3, 1000.0, 999_999.0]

    found = solved(amounts, costs, 333_333_333, members=2, known=(5,))

    assert (found.value, found.bound, found.proven) == (1001, 1001, True)


@pytest.mark.parametrize("spare", [0, 1])
def test_a_limit_that_is_just_kept_is_kept(spare: int) -> None:
    """Two of three must go, and only two of them are within the limit together."""
    held = np.array([999_999_997.0, 1_000_000_000.0, 2_333_333_333.0])
    limit = Linear("at most", held, high=1_999_999_997.0 + spare)

    found = solved([1_000] * 3, [0.0] * 3, 2_000, limit)

    assert (found.value, found.proven) == (0, True)


def test_a_plan_that_is_far_too_dear_is_not_called_optimal() -> None:
    cluster = cluster_of(
        *(node("n0", cpu=7, gpu=4), node("n1", cpu=9), group(preemptible_priority=5)),
        running("old", "n0", cpu=4, exclusive=True, priority=2, started=-18_000_000_000, walltime=0),
        running("late", ["n1"] * 3, members=3, cpu=3, priority=4, walltime=0),
        pending("in", cpu=1, members=4, priority=9),
    )
    made = cede.plan(cluster, certify=10).of("in")
    assert made is not None
    assert made.certificate is not None
    cost = made.certificate.cost
    assert cost is not None

    assert (cost.value, cost.bound, cost.optimal, cost.better) == (1_200_001_000, 1000, False, ("late",))
