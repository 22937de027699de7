"""The fast path: a set that makes room, nobody of it superfluous, and seldom much dearer than the cheapest."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import numpy as np
import pytest

from cede.doctrines.lattice.settings import EXACT
from cede.doctrines.lattice.victim_choice import choose
from cede.doctrines.lattice.victim_pool import Pool
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.greedy_cover import cheapest_cover, cover
from tests.unit.lattice.pools import PLACEMENTS, SHAPES, cost_of, enough, fits_without, pool
from tests.unit.lattice.small import node, part, policy, vcluster, wants

every_kind = pytest.mark.parametrize(
    ("shape", "placement"), [(shape, placement) for shape in SHAPES for placement in PLACEMENTS]
)


@every_kind
def test_the_set_makes_room_and_nobody_of_it_is_superfluous(shape: str, placement: str) -> None:
    ratios = []
    for seed in range(40):
        one = pool(seed, shape, placement)
        if fits_without(one, ()):
            continue
        found = cheapest_cover(one.state, one.claim, one.rows, one.cost)
        sets = enough(one)

        assert (found is None) is (not sets)
        if found is None:
            continue
        places = [one.rows.tolist().index(row) for row in found]
        assert fits_without(one, places)
        assert not [place for place in places if fits_without(one, set(places) - {place})]
        cheapest = min(cost_of(one, each) for each in sets)
        ratios.append((cost_of(one, places) + 1) / (cheapest + 1))
    assert mean(ratios) < 1.15


def test_gains_that_add_up_are_covered_at_little_cost() -> None:
    cost = np.array([10, 4, 4, 4, 30], np.int64)
    gain = np.array([3, 1, 1, 1, 9], np.int64)

    assert cover(cost, gain, 3) == [0]
    assert cover(cost, gain, 2) == [1, 2]
    assert cover(cost, gain, 9) == [4]
    assert cover(cost, gain, 16) is None
    assert cover(cost, np.array([0, 0, 0, 0, 3], np.int64), 3) == [4]


def test_two_give_way_to_one_that_is_cheaper_in_the_end() -> None:
    """By cost for each that is gained 0 and 1 would go first; 2 alone costs less than both."""
    assert cover(np.array([10, 11, 20], np.int64), np.array([2, 2, 3], np.int64), 3) == [2]


def large(members: int) -> Pool:
    """Pairs of gangs that share each two nodes; twice as many of them as are searched exactly, at costs alike."""
    names = [f"n{at:03}" for at in range(EXACT)]
    works = [
        part(f"w{at:03}-{half}", f"{name} {names[at - 1]}", priority=at % 4, gpu=1)
        for at, name in enumerate(names)
        for half in range(2)
    ]
    state = policy(vcluster("a"), *map(node, names), *works, wants("in", members, priority=9)).state
    rows = np.array([row for name, row in state.work_index.items() if name != "in"], np.intp)
    cost = 300 + np.arange(len(rows)) % 7
    bound = np.zeros(len(rows), np.bool_)
    return Pool(state, claim_of(state, state.work_index["in"]), rows, cost, bound, None, None)


def test_above_the_exact_limit_a_good_set_is_taken_and_said_to_be_that() -> None:
    one = large(3)
    found = choose(one)

    assert not found.exact
    assert found.rows is not None
    places = [one.rows.tolist().index(row) for row in found.rows]
    assert fits_without(one, places)
    assert not [place for place in places if fits_without(one, set(places) - {place})]
    assert len(places) <= 12, "no more than must leave any three nodes"


def test_one_that_is_bound_by_limits_is_found_within_them() -> None:
    one = replace(large(2), counted=np.ones(2 * EXACT, np.bool_), most=6)
    found = choose(one)

    assert found.rows is not None
    assert len(found.rows) == 6
    assert choose(replace(one, most=5)).rows is None
