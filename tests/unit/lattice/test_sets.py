"""The preferred victim set, found in three ways, each against trying all sets of small pools."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cede.doctrines.lattice.victim_choice import Hindrance, choose, hindrance, solved
from cede.doctrines.lattice.victim_pool import Pool, cost_ceiling, in_turn, shortlist_of
from cede.doctrines.lattice.victim_search import Additive, Search, Sites, additive, kept_of
from tests.unit.lattice.pools import PLACEMENTS, SHAPES, cost_of, enough, fits_without, keeps_limits, pool, preferred

every_kind = pytest.mark.parametrize(
    ("shape", "placement"), [(shape, placement) for shape in SHAPES for placement in PLACEMENTS]
)
SEEDS = range(60)


def rows_of(one: Pool, places: list[int] | None) -> set[int] | None:
    return None if places is None else set(one.victims(places))


def crowded(one: Pool) -> bool:
    """Whether the claimant does not fit already; only then a set is looked for."""
    return not fits_without(one, ())


@every_kind
def test_the_set_chosen_is_the_one_that_the_policy_prefers(shape: str, placement: str) -> None:
    found = Counter[bool]()
    for seed in SEEDS:
        one = pool(seed, shape, placement)
        if not crowded(one):
            continue
        chosen = choose(one)
        wanted = preferred(one)

        assert (None if chosen.rows is None else set(chosen.rows)) == wanted, f"seed {seed}"
        assert chosen.exact
        found[wanted is None] += 1
    assert min(found[True], found[False]) >= 5


@every_kind
def test_the_general_search_finds_it_too(shape: str, placement: str) -> None:
    for seed in SEEDS:
        one = in_turn(pool(seed, shape, placement))
        if crowded(one):
            places, certain = Search(one).best()
            assert (rows_of(one, places), certain) == (preferred(one), True), f"seed {seed}"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_search_for_one_member_finds_it_too(shape: str) -> None:
    for seed in range(2 * len(SEEDS)):
        one = in_turn(pool(seed, shape, "any", members=1))
        if crowded(one):
            places, certain = Sites(one).best()
            assert (rows_of(one, places), certain) == (preferred(one), True), f"seed {seed}"


@pytest.mark.parametrize("placement", ["any", "tight"])
def test_where_what_they_free_adds_up_the_table_finds_it_too(placement: str) -> None:
    found = 0
    for seed in range(2 * len(SEEDS)):
        one = in_turn(pool(seed, "whole", placement))
        adding = additive(one)
        if crowded(one) and adding is not None and adding.feasible():
            assert adding.small
            assert rows_of(one, adding.best()) == preferred(one), f"seed {seed}"
            assert adding.fewest() == min(map(len, enough(one)))
            found += 1
    assert found > 20


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_members_that_differ_are_searched_for_too(placement: str) -> None:
    for seed in range(30):
        one = pool(seed, "mixed", placement, parts=True)
        if crowded(one):
            chosen = choose(one)
            assert (None if chosen.rows is None else set(chosen.rows)) == preferred(one), f"seed {seed}"


@every_kind
def test_the_order_of_the_candidates_changes_nothing(shape: str, placement: str) -> None:
    for seed in range(20):
        one = pool(seed, shape, placement)
        turn = np.arange(len(one.rows))[::-1]
        if crowded(one):
            assert choose(one) == choose(one.only(turn))


@every_kind
def test_nobody_of_the_preferred_set_is_left_out_when_a_pool_is_narrowed(shape: str, placement: str) -> None:
    smaller = 0
    for seed in SEEDS:
        one = pool(seed, shape, placement)
        few = shortlist_of(one).pool

        if crowded(one):
            assert preferred(few) == preferred(one), f"seed {seed}"
        smaller += len(few.rows) < len(one.rows)
    assert smaller > 10


@every_kind
def test_the_solver_prefers_the_same_but_for_ties(shape: str, placement: str) -> None:
    for seed in range(12):
        one = pool(seed, shape, placement)
        if not crowded(one) or not len(one.rows):
            continue
        rows, certain = solved(one, 500)
        wanted = preferred(one)

        assert certain
        assert (rows is None) is (wanted is None), f"seed {seed}"
        if rows is not None and wanted is not None:
            assert judged(one, set(rows)) == judged(one, wanted), f"seed {seed}"


def judged(one: Pool, rows: set[int]) -> tuple[int, int]:
    """How many they are, and what they cost; of a set that makes room and keeps the limits."""
    places = [at for at, row in enumerate(one.rows.tolist()) if row in rows]
    assert fits_without(one, places)
    assert keeps_limits(one, places)
    return len(places), cost_of(one, places)


# -- what stands in the way --------------------------------------------------------------------------------------------


@every_kind
def test_where_there_is_no_set_the_reason_is_the_right_one(shape: str, placement: str) -> None:
    found = Counter[str]()
    for seed in SEEDS:
        one = pool(seed, shape, placement)
        if not crowded(one) or preferred(one) is not None:
            continue
        told = hindrance(one)
        sets = enough(one)
        few = [places for places in sets if keeps_limits(replace(one, value=None), places)]
        if not sets:
            assert told == Hindrance()
            found["no room"] += 1
        elif one.value is not None and few:
            taken = preferred(replace(one, value=None))
            assert taken is not None
            counted = [at for at, row in enumerate(one.rows.tolist()) if row in taken and one.counted[at]]
            assert told == Hindrance(cheapest=cost_of(one, counted))
            assert one.value <= cost_of(one, counted)
            found["value"] += 1
        else:
            fewest = min(sum(bool(one.counted[place]) for place in places) for places in sets)
            assert one.most is not None
            assert fewest > one.most
            assert told in (Hindrance(many=str(fewest)), Hindrance(many=f"more than {one.most}"))
            found["most"] += 1
    assert found["most"]


# -- parts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cost", "limit"), [(0, 0), (1, 1), (9, 9), (10, 11), (11, 12), (20, 22), (100, 110)])
def test_a_tenth_more_is_counted_in_whole_numbers(cost: int, limit: int) -> None:
    assert cost_ceiling(cost) == limit
    assert 10 * limit <= 11 * cost < 10 * (limit + 1)


def test_of_many_that_free_alike_only_so_many_are_kept_as_could_be_needed() -> None:
    gain = np.array([1, 1, 2, 1, 2, 0, 7, 1, 9], np.int64)

    assert kept_of(gain, 2, None).tolist() == [0, 1, 2]
    assert kept_of(gain, 4, None).tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert kept_of(gain, 4, 1).tolist() == [0, 2, 6]


def test_a_pool_whose_limits_bind_only_some_is_not_added_up() -> None:
    """Sums over a whole set would not tell what the limits bind."""
    for seed in SEEDS:
        one = pool(seed, "whole", "any")
        mixed = one.limited and one.counted.any() and not one.counted.all()
        assert (additive(one) is None) is bool(mixed)
        assert isinstance(additive(replace(one, most=None, value=None)), Additive)
