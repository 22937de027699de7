"""The naive Lattice takes the doctrine's victims in drawn clusters, and `make bench NAME=lattice` runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.__main__ import app
from bench.lattice import CASES, CLAIMANT, Case, Standing, naively, print_report
from bench.naive import lattice as naive
from bench.vclusters import CAPACITY, vclusters
from cede.cli.output import console
from cede.model.errors import CedeError

NODES = 500


@pytest.fixture(scope="module")
def standing() -> Standing:
    return Standing.of(NODES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_naive_decision_and_the_doctrine_take_the_same_victims(case: Case, standing: Standing) -> None:
    victims = 0
    for _ in range(3):
        standing.change()
        claimant = standing.claimant(case)
        _, made = standing.decide(case, claimant)

        assert naive.decide(standing.document, claimant) == (made.action, sorted(one.workload for one in made.victims))
        victims += len(made.victims)
    assert (victims > 0) == (case.action == "preempt")


def test_the_doctrine_says_itself_that_no_other_victims_are_preferred(standing: Standing) -> None:
    standing.change()

    assert standing.exact(standing.claimant(CASES[0]))


def test_every_node_is_full_but_some_that_are_not_lent_and_most_work_stands_on_several() -> None:
    document = vclusters(NODES)
    free = {node["name"]: dict(node["capacity"]) for node in document["nodes"]}
    running = [entry for entry in document["workloads"] if entry.get("state") == "running"]
    for entry in running:
        for name in entry["nodes"]:
            free[name] = {kind: left - entry["requests"][kind] for kind, left in free[name].items()}
    homes = {node["name"]: node.get("home") for node in document["nodes"]}
    idle = [name for name, left in free.items() if left == CAPACITY]

    assert all(left == dict.fromkeys(CAPACITY, 0) for name, left in free.items() if name not in idle)
    assert len(idle) == NODES // 100
    assert {homes[name] for name in idle} == {"apart"}
    assert sum(len(entry["nodes"]) > 1 for entry in running) > 0.7 * len(running)
    assert 1.9 * NODES < len(running) < 2.2 * NODES
    assert document == vclusters(NODES)


def test_a_change_leaves_the_file_and_the_state_the_same(standing: Standing) -> None:
    standing.change()
    state = standing.state

    assert sorted(entry["name"] for entry in standing.document["workloads"]) == sorted(state.work_index)
    for entry in standing.running:
        assert sorted(entry["nodes"]) == state.nodes_of(state.work_index[entry["name"]])
    assert CLAIMANT not in state.work_index


def test_another_answer_than_the_naive_one_ends_the_bench(standing: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naive, "decide", lambda *_: ("wait", ["nobody"]))

    with pytest.raises(CedeError, match=r"reclaim: decided \('preempt', \['.*the naive decision is \('wait'"):
        naively(standing, next(case for case in CASES if case.name == "reclaim"))


@pytest.mark.slow
def test_the_bench_reports_every_kind_with_its_figures() -> None:
    ran = CliRunner().invoke(app, ["lattice", "--sizes", "1250,2500", "--quick", "--json"])
    report = json.loads(ran.stdout)
    names = [case.name for case in CASES]

    assert [report[key] for key in ("nodes", "waiting", "rounds")] == [500, 100, 20]
    assert [row["case"] for row in report["decisions"]] == names == [row["case"] for row in report["growth"]]
    assert all(row["same"] for row in report["decisions"])
    assert all(0 < row["p50"] <= row["p95"] <= row["p99"] for row in report["decisions"])
    assert all(row["ratio"] == row["naive"] / row["p50"] > 0 for row in report["decisions"])
    assert [one["nodes"] for one in report["growth"][0]["sizes"]] == [250, 500]
    assert {row["bar"] for row in report["growth"]} == {2.0}


def row(p50: float, bar_ms: int | None = 10, *, same: bool = True) -> dict[str, Any]:
    figures = {"p50": p50, "p95": p50 * 1.2, "p99": p50 * 1.5, "naive": p50 * 64, "ratio": 64.0}
    return {"case": "gang, shared", "victims": 28, **figures, "same": same, "bar_ms": bar_ms}


ROWS = {
    "below its bar": (row(0.0095), "9.50 ms 11.4 ms 14.2 ms 608 ms 64× <10 ms", "both take the same victims"),
    "not below its bar": (row(0.0105), "10.5 ms 12.6 ms 15.8 ms 672 ms 64× missed", "both take the same victims"),
    "without a bar": (row(0.0105, None), "10.5 ms 12.6 ms 15.8 ms 672 ms 64×", "both take the same victims"),
    "other victims": (
        row(0.0095, same=False),
        "9.50 ms 11.4 ms 14.2 ms 608 ms 64× <10 ms",
        "same victims: gang, shared",
    ),
}


@pytest.mark.parametrize(("figures", "shown", "told"), ROWS.values(), ids=ROWS.keys())
def test_both_tables_fit_eighty_columns_and_say_what_is_missed(
    figures: dict[str, Any],
    shown: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sizes = [{"nodes": nodes, "p50": 0.1234} for nodes in (1_250, 2_500, 5_000, 10_000)]
    growth = {"case": "gang, shared", "sizes": sizes, "growth": 8.1, "bar": 8.0}
    size = {"nodes": 10_000, "running": 20_469, "on_several_nodes": 0.79, "waiting": 100, "rounds": 100}
    print_report(console(), {**size, "between": "changed", "decisions": [figures], "growth": [growth]})
    out = capsys.readouterr().out
    lines = out.splitlines()

    assert lines[2].split() == ["gang,", "shared", "28", *shown.split()]
    assert told in " ".join(out.split())
    assert " ".join(lines[-2].split()) == "gang, shared 123 ms 123 ms 123 ms 123 ms 8.1× missed ≤8×"
    assert "…" not in out
