"""What the benchmark `certify` measures and prints, on instances of a size that takes no time."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bench.certify import CHEAPEST, DOCTRINE, FAST, NEWEST, gang_case, measured, pool_case, print_report
from bench.certify_instances import SHARED, WHOLE, Instance, gang, pool
from cede.cli.output import console
from cede.doctrines.parts.fit import fits

KINDS = {
    "whole nodes": lambda seed: pool(20, WHOLE, seed),
    "shared nodes": lambda seed: pool(20, SHARED, seed),
    "a gang": lambda seed: gang(4, 40, seed),
}


@pytest.mark.parametrize("draw", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("seed", range(5))
def test_an_instance_asks_for_somebody_to_go_and_no_node_holds_too_much(draw: Any, seed: int) -> None:
    instance: Instance = draw(seed)

    assert not fits(instance.state, instance.claim)
    assert (instance.state.nodes.free[:, : instance.state.nodes.size] >= 0).all()
    assert (instance.cost > 0).all()


@pytest.mark.parametrize("draw", KINDS.values(), ids=KINDS.keys())
def test_a_seed_draws_the_same_instance_again(draw: Any) -> None:
    one, again, other = draw(1), draw(1), draw(2)

    assert np.array_equal(one.cost, again.cost)
    assert not np.array_equal(one.cost, other.cost)


def test_no_way_beats_what_is_proven() -> None:
    cases = [pool_case(12, WHOLE), pool_case(12, SHARED), gang_case(4, 40)]
    told: list[str] = []
    report = measured(cases, instances=3, seed=2, seconds=30, tell=told.append)

    assert len(told) == 9
    assert [row["case"] for row in report["cases"]] == [case.name for case in cases]
    for row in report["cases"]:
        assert (row["proven"], row["gap"]) == (3, 0)
        assert {*row["ways"]} == {CHEAPEST, NEWEST, DOCTRINE, FAST}
        for figures in row["ways"].values():
            assert 1 <= figures["mean"] <= figures["max"]
            assert figures["p95"] <= figures["max"]
        assert row["ways"][DOCTRINE]["max"] <= 1.1


def row(**about: Any) -> dict[str, Any]:
    other = {"mean": 1.5, "p95": 123.4, "max": 200, "p50_s": 0.01234, "max_s": 1}
    ways = dict.fromkeys((CHEAPEST, NEWEST, DOCTRINE), other)
    fast = {"mean": about.pop("mean", 1.02), "p95": 1.04, "max": 1.1, "p50_s": about.pop("fast", 0.004), "max_s": 1}
    solve = {"p50_s": 0.2, "max_s": about.pop("longest", 1.5)}
    gap = about.pop("gap", 0.0)
    return {**about, "case": "", "ways": {**ways, FAST: fast}, "solve": solve, "proven": 3, "gap": gap, "instances": 3}


POOL, GANG = {"candidates": 1_000, "kind": SHARED}, {"members": 64, "nodes": 2_048}
BARS = {
    "a pool that keeps both": (row(**POOL), "≤1.05", "<10 ms"),
    "a pool that is too dear": (row(**POOL, mean=1.06), "≤1.05 missed", "<10 ms"),
    "a pool that is too slow": (row(**POOL, fast=0.011), "≤1.05", "<10 ms missed"),
    "the gang that has a bar": (row(**GANG), "fast", "proof <2 s"),
    "the gang, too slow": (row(**GANG, longest=2.5), "fast", "proof <2 s missed"),
    "the gang, not proven": (row(**GANG, gap=0.01), "fast", "proof <2 s missed"),
}


@pytest.mark.parametrize(("figures", "mean", "time"), BARS.values(), ids=BARS.keys())
def test_the_tables_fit_eighty_columns_and_say_which_bars_are_missed(
    figures: dict[str, Any], mean: str, time: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_report(console(), {"seed": 1, "instances": 3, "seconds": 30, "cases": [figures]})
    shown = capsys.readouterr().out
    lines = [line.rstrip() for line in shown.splitlines()]

    assert "…" not in shown
    assert lines[2].endswith(mean if mean != "fast" else "1.02 1.04")
    assert lines[5].endswith(time)


def test_the_command_says_all_of_it_as_json() -> None:
    """In a process of its own, where nothing but the report may come out, whatever the solver prints."""
    asked = ("certify", "--quick", "--instances", "1", "--seed", "5", "--json")
    done = subprocess.run([sys.executable, "-m", "bench", *asked], capture_output=True, check=True)
    report = json.loads(done.stdout)

    assert {row["proven"] for row in report["cases"]} == {1}
    assert [row.get("kind") for row in report["cases"]] == [WHOLE, SHARED, WHOLE, SHARED, None, None]
