"""The naive YTsaurus gives drawn pool trees the doctrine's shares and heartbeats; `make bench NAME=ytsaurus` runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.__main__ import app
from bench.naive.ytsaurus import Scheduler
from bench.naive.ytsaurus_lines import Offer, offer_of, one_after_another, operation_line, side_by_side
from bench.naive.ytsaurus_tree import Forest
from bench.pool_trees import Size, pool_tree
from bench.ytsaurus import BARS_MS, KINDS, STARTS, Standing, measured, naively
from bench.ytsaurus_accuracy import agree, same
from bench.ytsaurus_tables import print_report
from cede.cli.output import console
from cede.doctrines.document import parse_document
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.ytsaurus.heartbeat import Heartbeats
from cede.doctrines.ytsaurus.starvation import Memory
from cede.doctrines.ytsaurus.update import Update
from cede.model.errors import CedeError
from cede.state.build import build
from cede.state.trial import Trial

SMALL = Size(pools=16, operations=40, nodes=12)


@pytest.mark.parametrize("seed", range(12))
def test_the_naive_update_gives_the_doctrines_shares_and_priorities(seed: int) -> None:
    document = pool_tree(SMALL, seed)
    update, plain = Update(build(parse_document(document)), Memory()), Scheduler(document)
    plain.update()

    assert agree(update, plain.forest) < 1e-12
    elements = [plain.forest.elements[name] for name in update.operations.names]
    assert [plain.priority[one] for one in elements] == update.op_priority.tolist()
    for pool in range(update.pools.size):
        right = [float(one) for one in plain.forest.elements[update.pools.name(pool)].guarantee]
        assert update.strong[pool].tolist() == pytest.approx(right, abs=1e-12)


def test_the_naive_heartbeat_starts_and_takes_whom_the_doctrine_does() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(6):
        document = pool_tree(replace(SMALL, nodes=60), seed)
        state = build(parse_document(document))
        update, plain = Update(state, Memory()), Scheduler(document)
        plain.update()
        with Trial(state) as trial:
            for node, name in enumerate(state.node_names):
                beats = Heartbeats(Cycle(state, trial, "25.4", misses=False), update)
                found = list(beats.beat(node, preemptive=True))
                did = [
                    (state.work_names[one.row], [state.work_names[int(one.here.rows[at])] for at in one.victims])
                    if one.here is not None
                    else (state.work_names[one.row], [])
                    for one in found
                ]
                trial.undo()
                assert plain.heartbeat(name) == did, f"seed {seed}, {name}"
                kinds.update([one.rule.id for one in found if one.rule is not None] or ["nothing"])

    assert kinds["nothing"] > 20
    assert kinds["ytsaurus.starving"] > 100
    assert kinds["ytsaurus.aggressive"] > 20
    assert kinds["ytsaurus.starts"] > 5


def test_a_naive_heartbeat_leaves_the_cluster_as_it_is() -> None:
    plain = Scheduler(pool_tree(SMALL))
    plain.update()
    before = [list(one.usage) for one in plain.forest.root.below()]
    acts = [name for name in plain.nodes if plain.heartbeat(name)]

    assert acts
    assert [list(one.usage) for one in plain.forest.root.below()] == before


def test_fractions_and_floats_give_the_same_shares() -> None:
    document = pool_tree(Size(pools=8, operations=8, nodes=4))
    rounded, exact = Forest(document), Forest(document, exact=True)
    rounded.update()
    exact.update()
    of_exact = [one for element in exact.root.below() for one in element.share]

    assert all(isinstance(one, Fraction | int) for one in of_exact)
    of_rounded = [float(one) for element in rounded.root.below() for one in element.share]
    assert of_rounded == pytest.approx([float(one) for one in of_exact], abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2, 32])
def test_weights_as_different_as_they_may_be_cost_no_exactness(seed: int) -> None:
    document, draw = pool_tree(Size(pools=6, operations=10, nodes=4), seed), random.Random(seed)
    for entry in document["queues"] + document["apps"]:
        if draw.random() < 0.8:
            entry["weight"] = 2.0 ** draw.uniform(-26, 26)
    exact = Forest(document, exact=True)
    exact.update()

    assert agree(Update(build(parse_document(document)), Memory()), exact) < 1e-12


def offer(usage: list[float], demand: list[float], *, step: bool = False) -> Offer:
    return offer_of(operation_line(list(usage), list(demand), step=step), [0.0, 0.0], [1.0, 1.0], 1e-12)


def test_an_operation_has_its_usage_evenly_first_and_then_its_demand() -> None:
    found = offer([0.2, 0.1], [0.6, 0.1])

    assert found.at(0.1)[1] == [0.1, 0.1]
    assert found.at(0.2)[1] == pytest.approx([0.2, 0.1])
    assert found.at(0.4)[0] == pytest.approx(1.5)
    assert found.at(0.4)[1] == pytest.approx([0.4, 0.1])
    assert found.at(1)[1] == [0.6, 0.1]


def test_a_gang_has_nothing_until_all_of_it_is_due() -> None:
    found = offer([0.2, 0.1], [0.6, 0.1], step=True)

    assert found.at(0.6)[1] == [0, 0]
    assert found.beyond(0.6) == [0.6, 0.1]
    assert found.at(0.7)[1] == [0.6, 0.1]


def test_children_share_by_weight_side_by_side_and_in_turn_in_a_fifo_pool() -> None:
    one, other = offer([0, 0], [0.5, 0]), offer([0, 0], [0, 0.5])
    beside = dict(side_by_side([(1, one), (2, other)], 2))
    in_turn = dict(one_after_another([one, other], 2))

    assert beside[0.25] == [0.25, 0.5]
    assert beside[1] == [0.5, 0.5]
    assert in_turn[0.5] == in_turn[1] == [0.5, 0]
    assert in_turn[1.5] == in_turn[2] == [0.5, 0.5]


# -- the drawn trees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_tree_is_full_and_its_guarantees_and_limits_fit(seed: int) -> None:
    document = pool_tree(Size(pools=40, operations=80, nodes=120), seed)
    queues = {entry["name"]: entry for entry in document["queues"]}
    forest = Forest(document)
    free = build(parse_document(document)).nodes
    cores = forest.names.index("cpu")

    roomy = np.flatnonzero(
        free.free[:, :120].T[:, 1:].min(axis=1, where=free.capacity[:, :120].T[:, 1:] > 0, initial=99)
    )
    assert roomy.tolist() == [50]
    for name, entry in queues.items():
        below = [child for child in queues.values() if child.get("parent") == name]
        promised = sum(child.get("guaranteed", {}).get("cpu", 0) for child in below)
        assert promised <= entry.get("guaranteed", {}).get("cpu", 0)
        assert forest.elements[name].usage[cores] <= entry.get("max", {}).get("cpu", forest.total[cores])
        assert not (below and entry.get("settings", {}).get("mode") == "fifo")
    depths = {len([*forest.elements[name].path()]) for name in queues}
    assert max(depths) in (4, 5)
    assert document == pool_tree(Size(pools=40, operations=80, nodes=120), seed)


def test_a_drawn_tree_has_all_that_makes_a_tree_slow() -> None:
    document = pool_tree(Size(pools=100, operations=500, nodes=200))
    pools, operations = document["queues"], document["apps"]

    for key in ("weight", "guaranteed", "max"):
        assert sum(key in entry for entry in pools) > 8, key
    assert sum(entry.get("settings", {}).get("mode") == "fifo" for entry in pools) > 3
    for key in ("is_gang", "resource_limits", "below_fair_share_since"):
        assert sum(key in entry.get("settings", {}) for entry in operations) > 10, key
    assert len({entry["app"] for entry in document["workloads"] if "nodes" in entry}) > 400
    assert len(document["workloads"]) > 200 * 20


# -- the bench ---------------------------------------------------------------------------------------------------------


def test_another_heartbeat_than_the_naive_one_ends_the_bench() -> None:
    ours = Standing(SMALL)
    beats, _ = ours.beats(12)
    [first, *_] = [beat for beat in beats if beat.did]

    with pytest.raises(CedeError, match=f"heartbeat of {first.node}: \\[\\], the naive one \\[\\('w"):
        naively(ours, [replace(first, did=[])], 1)


def test_other_shares_than_the_naive_ones_end_the_bench() -> None:
    document = pool_tree(SMALL)
    update, forest = Update(build(parse_document(document)), Memory()), Forest(document)
    forest.update()
    update.op_fair[3, 0] += 2e-6

    with pytest.raises(CedeError, match=f"the share of {update.operations.names[3]} is"):
        agree(update, forest)
    with pytest.raises(CedeError, match=f"the share of {update.operations.names[3]} is"):
        same(update, Update(update.state, Memory()))


def test_updates_after_events_are_those_of_everything() -> None:
    found = Standing(SMALL).events(5)

    assert list(found) == ["an allocation ends", "a workload comes", "a workload starts"]
    assert {len(samples) for samples in found.values()} == {5}


@pytest.mark.slow
def test_the_bench_reports_every_measure_with_its_figures() -> None:
    ran = CliRunner().invoke(app, ["ytsaurus", "--sizes", "100,400", "--quick", "--json"])
    report = json.loads(ran.stdout)
    first, last = report["trees"]

    assert [first[key] for key in ("pools", "operations", "nodes")] == [113, 149, 149]
    assert [last[key] for key in ("pools", "operations", "nodes")] == [16, 80, 160]
    for tree in report["trees"]:
        assert tree["heartbeats"].keys() == tree["naive"]["heartbeats"].keys() <= set(KINDS)
        assert 0 < tree["update"]["p50"] <= tree["update"]["p99"]
        assert max(tree["accuracy"][key] for key in ("naive", "exact", "sums")) < 1e-9
        assert tree["accuracy"]["pools"] > 0
    assert STARTS in last["heartbeats"]
    assert last["plan"]["decisions"] >= last["plan"]["preempt"] > 0
    assert [[one["operations"] for one in row["sizes"]] for row in report["growth"]] == [[20, 80]] * 3
    assert {row["bar"] for row in report["growth"]} == {4.0}


def test_one_size_is_measured_too() -> None:
    report = measured([10], quick=True, tell=lambda _: None)

    assert [row["growth"] for row in report["growth"]] == [1.0] * 3


def timing(p50: float) -> dict[str, Any]:
    return {"rounds": 60, "p50": p50, "p99": p50 * 1.5, "victims": 1}


def report(update: float, event: float, beat: float) -> dict[str, Any]:
    counts = {"pools": 1_000, "operations": 5_000, "nodes": 10_000, "running": 199_900, "waiting": 20_988}
    tree = {
        **counts,
        "update": timing(update),
        "events": {"an allocation ends": timing(event)},
        "start": timing(0.0456),
        "heartbeats": {"aggressive": timing(beat)},
        "naive": {"update": 7.5, "heartbeats": {"aggressive": 0.123}},
        "accuracy": {"naive": 3e-15, "exact": 4e-16, "sums": 8e-16, "pools": 60},
        "plan": {"seconds": 12.3, "decisions": 20_988, "start": 100, "preempt": 7_000},
    }
    sizes = [{"operations": count, "p50": 0.1234} for count in (1_250, 2_500, 5_000)]
    growth = [{"what": what, "sizes": sizes, "growth": 4.1, "bar": 4.0} for what in ("update", "event", "heartbeat")]
    return {"updates": 15, "rounds": 60, "bars_ms": BARS_MS, "trees": [tree], "growth": growth}


SHOWN = {
    "within all bars": (
        report(0.75, 0.0125, 0.00125),
        "full update 750 ms 1.12 s 7.50 s 10× <1 s",
        "an allocation ends 12.5 ms 18.8 ms 7.50 s 600× <20 ms",
        "heartbeat: aggressive 1.25 ms 1.88 ms 123 ms 98× <2 ms",
    ),
    "too slow": (
        report(1.0, 0.125, 0.0125),
        "full update 1.00 s 1.50 s 7.50 s 8× missed <1 s",
        "an allocation ends 125 ms 188 ms 7.50 s 60× missed <20 ms",
        "heartbeat: aggressive 12.5 ms 18.8 ms 123 ms 10× missed <2 ms",
    ),
}


@pytest.mark.parametrize(("figures", "update", "event", "beat"), SHOWN.values(), ids=SHOWN.keys())
def test_the_tables_fit_eighty_columns_and_say_which_bar_is_missed(
    figures: dict[str, Any],
    update: str,
    event: str,
    beat: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_report(console(), figures)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    assert [lines[2], lines[3], lines[5]] == [update, event, beat]
    assert lines[4] == "a cycle begins 45.6 ms 68.4 ms"
    assert "a whole plan: 12.3 s, 100 start and 7,000 preempt of 20,988" in lines
    assert "heartbeat 123 ms 123 ms 123 ms 4.1× missed ≤4×" in lines
    assert "…" not in "".join(lines)
