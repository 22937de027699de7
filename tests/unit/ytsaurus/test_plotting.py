"""Share curves as plain data: what is read off them is what the doctrine gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

import cede
from cede.cli.shares_panels import height_at
from cede.doctrines.ytsaurus.shares import MOST_POINTS, share_curves, shares
from tests.builders import pending
from tests.properties.ytsaurus_clusters import cluster
from tests.unit.ytsaurus.small import docs, node, op, pool

SEEDS = range(60)
NEAR = 1e-9


def elements(found: cede.Cluster) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in share_curves(found.state)["elements"]}


def points(one: dict[str, Any], curve: str = "curve", along: str = "suggestion") -> list[tuple[float, float]]:
    return list(zip(one[curve][along], one[curve]["share"]["cpu"], strict=True))


def test_a_guarantee_is_where_a_curve_begins_and_a_limit_where_it_ends() -> None:
    found = elements(docs(node(cpu=10), pool("a", cpu=3, max={"cpu": 6}), pool("b"), pending("w", queue="a", cpu=8)))[
        "a"
    ]

    assert points(found) == [(0.0, 0.3), (0.3, 0.6), (1.0, 0.6)]
    assert (found["guarantee"], found["limit"]) == ({"cpu": 0.3}, {"cpu": 0.6})
    assert found["parts"] == {"strong": {"cpu": 0.3}, "integral": {"cpu": 0.0}, "weight": {"cpu": 0.3}}


def test_a_gang_is_a_step() -> None:
    found = elements(
        docs(
            node(cpu=10),
            op("g", is_gang=True),
            pending("g-1", app="g", cpu=4),
            enable_step_function_for_gang_operations=True,
        )
    )["g"]

    assert points(found) == [(0.0, 0.0), (0.4, 0.0), (0.4, 0.4), (1.0, 0.4)]


def test_a_fifo_pool_serves_one_after_the_other_in_its_order() -> None:
    found = share_curves(
        docs(
            node(cpu=10),
            pool("a", max={"cpu": 5}, mode="fifo"),
            pending("late", queue="a", cpu=4, submitted=-1),
            pending("early", queue="a", cpu=4, submitted=-9),
        ).state
    )["elements"]
    fifo = found[1]

    assert [(one["name"], one["parent"], one["depth"]) for one in found] == [
        ("<Root>", None, 0),
        ("a", 0, 1),
        ("early", 1, 2),
        ("late", 1, 2),
    ]
    assert points(fifo, "sum", "offer") == [(0.0, 0.0), (0.4, 0.4), (1.0, 0.4), (1.4, 0.8), (2.0, 0.8)]
    assert fifo["offer"] == pytest.approx(1.1)


def test_resources_that_no_node_has_are_left_out() -> None:
    found = share_curves(docs(node(cpu=10), pending("w", cpu=1, gpu=1)).state)

    assert found["resources"] == ["cpu"]
    assert found["trees"] == [{"name": "default", "total": {"cpu": "10"}}]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_read_off_the_curves_is_what_everybody_gets(seed: int) -> None:
    state = cede.load(cluster(seed, "docs")).state
    improved = bool(cluster(seed, "docs")["doctrine"].get("enable_improved_fair_share_by_fit_factor_computation"))
    found = share_curves(state)

    for one in found["elements"]:
        if one["kind"] == "root" or improved:
            continue  # a root has the sum of its children; improved, children at a jump have either value
        for name, share in one["fair_share"].items():
            curve = one["curve"]
            read = height_at(curve["suggestion"], curve["share"][name], one["suggestion"])
            assert read == pytest.approx(share, abs=NEAR), one["name"]
            if "sum" in one:
                sums = one["sum"]
                assert height_at(sums["offer"], sums["share"][name], one["offer"]) == pytest.approx(share, abs=NEAR)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numbers_are_those_of_shares_and_parts_add_up(seed: int) -> None:
    state = cede.load(cluster(seed, "docs")).state
    listed = shares(state, "docs")
    for one in share_curves(state)["elements"]:
        if one["kind"] == "pool":
            told = listed["queues"][one["name"]]
            for key in ("status", "starvation", "satisfaction"):
                assert one[key] == told[key]
            for name, share in one["fair_share"].items():
                assert share == pytest.approx(told["fair_share"][name], abs=NEAR)
        for name, share in one["fair_share"].items():
            assert sum(part[name] for part in one["parts"].values()) == pytest.approx(share, abs=NEAR)
            assert one["curve"]["share"][name] == sorted(one["curve"]["share"][name])


def test_a_long_curve_is_thinned_and_stays_where_it_was() -> None:
    works = [pending(f"w{k}", app=f"o{k}", cpu=1 + k / 8, submitted=-k) for k in range(300)]
    state = docs(node(cpu=10_000), *works).state
    root = share_curves(state)["elements"][0]
    x, y = root["sum"]["offer"], root["sum"]["share"]["cpu"]
    exact = sum(min(0.002, (1 + k / 8) / 10_000) for k in range(300))

    assert len(x) <= MOST_POINTS
    assert height_at(x, y, 0.002) == pytest.approx(exact, abs=0.005)


def test_it_is_plain_data_and_always_the_same() -> None:
    first, second = (json.dumps(share_curves(cede.load(cluster(7, "docs")).state)) for _ in range(2))

    assert first == second
