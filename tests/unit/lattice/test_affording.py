"""What victims cost on a node at least, in plain numbers: the same as what plans tell, and as trying all sets."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.lattice.candidates import candidates, near_end
from cede.doctrines.lattice.policy import pool_for, value_of
from cede.doctrines.lattice.settings import settings_of
from cede.doctrines.lattice.victim_costs import BEYOND, Offer, claimant_value, least_cost
from cede.doctrines.lattice.waiting_line import Lines
from cede.doctrines.parts.cost import total_costs
from cede.model.times import SECOND


def cluster(dice: Random) -> dict[str, Any]:
    nodes = [{"name": f"n{at}", "capacity": {"gpu": 8, "cpu": 8}} for at in range(6)]
    works: list[dict[str, Any]] = []
    for at, place in enumerate(nodes):
        for number in range(dice.randint(1, 3)):
            whole = not number and dice.random() < 0.2
            mode = dice.choice(["none", "none", "auto", "manual"])
            saves: dict[str, Any] = {"mode": mode}
            if dice.random() < 0.5:
                saves |= {"time": f"{dice.randint(1, 900)}s"} if mode != "none" else {"last": -dice.randint(0, 5000)}
            one = {
                "name": f"w{at}-{number}",
                "priority": dice.choice([0, 3, 8]),
                "state": "running",
                "nodes": [place["name"]],
                "requests": {"gpu": dice.choice([0, 1, 2])} if not whole else {},
                "exclusive": whole,
                "started": -dice.randint(0, 9000),
                "walltime": dice.choice([None, 1, dice.randint(100, 20_000)]),
                "checkpoint": saves,
            }
            works.append({key: value for key, value in one.items() if value is not None})
            if whole:
                break
    works.append(
        {"name": "in", "priority": dice.choice([1, 5, 9]), "requests": {"gpu": 3}, "walltime": dice.randint(1, 9999)}
    )
    return {"cede": 1, "doctrine": "lattice", "nodes": nodes, "queues": [{"name": "q"}], "workloads": works}


@pytest.mark.parametrize("seed", range(40))
def test_what_one_costs_is_what_every_plan_tells_also_as_time_goes_on(seed: int) -> None:
    dice = Random(seed)
    state = cede.load(cluster(dice)).state
    settings = settings_of(state)
    lines = Lines(state, "policy", {})
    held = dict(lines.running.rows)

    for later in (0, 1, 59_999_999, 4000 * SECOND):
        state.now += later
        for row, one in held.items():
            assert one.price is not None
            assert one.price.at(state.now) == int(total_costs(state, np.array([row]), settings.assumed)[0])
            assert one.price.ends_within(settings.near_end, state.now) == bool(near_end(state, settings)[row])
    row = state.work_index["in"]
    assert lines.kind_of(row).value == value_of(state, row)


@pytest.mark.parametrize("seed", range(40))
def test_who_may_go_is_kept_as_every_plan_finds_it(seed: int) -> None:
    dice = Random(seed)
    state = cede.load(cluster(dice)).state
    settings = settings_of(state)
    lines = Lines(state, "policy", {})
    claim = lines.claim(state.work_index["in"])

    for later in (0, 59_999_999, 4000 * SECOND):
        state.now += later
        kept = lines.running.pool(claim, lines.kind_of(claim.row))
        found, _ = pool_for(state, claim, settings, candidates(state, claim, settings))
        assert kept is not None
        assert kept.rows.tolist() == found.rows.tolist()
        assert kept.cost.tolist() == found.cost.tolist()
        assert kept.counted.tolist() == found.counted.tolist()
        assert (kept.most, kept.value) == (found.most, found.value)


def test_what_one_is_worth_grows_with_class_size_and_walltime() -> None:
    minute = 60 * SECOND

    assert claimant_value(5, 4.0, 120 * minute) == 240 * 10**6


@pytest.mark.parametrize("seed", range(300))
def test_the_cheapest_set_of_a_node_is_the_one_that_trying_all_finds(seed: int) -> None:
    dice = Random(seed)
    kinds = dice.choice([1, 2])
    offers = [
        (dice.choice([0, 1, 5, 5, 9, 20]), tuple(dice.randint(0, 3) for _ in range(kinds)))
        for _ in range(dice.randint(0, 6))
    ]
    short = tuple(dice.randint(0, 5) for _ in range(kinds))
    most, below = dice.choice([0, 1, 2, 3, 10**9]), dice.choice([1, 6, 11, BEYOND])
    found = [
        cost
        for count in range(min(most, len(offers)) + 1)
        for some in combinations(offers, count)
        if (cost := sum(one[0] for one in some)) < below
        and all(sum(one[1][at] for one in some) >= short[at] for at in range(kinds))
    ]

    assert least_cost(short, list(offers), most, below) == min(found, default=None)


def test_of_more_sets_than_can_be_tried_nobody_is_told_that_it_cannot_pay() -> None:
    offers: list[Offer] = [(10 + at, (2,)) for at in range(60)]

    assert least_cost((61,), offers, 10**9, BEYOND) == 0
