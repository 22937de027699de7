"""The naive YuniKorn searches decide small drawn clusters as the doctrine does, and `make bench NAME=yunikorn` runs."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.__main__ import app
from bench.naive import yunikorn, yunikorn_laws
from bench.naive.yunikorn_cluster import cluster
from bench.tenants import CAPACITY, tenants
from bench.yunikorn import Case, naively, print_report
from cede.cli.output import console
from cede.doctrines.catalog import find
from cede.doctrines.document import parse_document
from cede.engine.cycle import plan_state
from cede.model.errors import CedeError
from cede.model.plan import Decision
from cede.state.build import build

SEARCHES = {"1.9": yunikorn.attempt, "laws": yunikorn_laws.search}
KINDS = ("vcore", "memory", "disk")


def decision(document: dict[str, Any]) -> Decision:
    [made] = plan_state(build(parse_document(document)), find("yunikorn"), misses=False).decisions
    return made


def drawn(seed: int, edition: str) -> dict[str, Any]:
    """Two to four nodes, up to six leaves in two or three tenants, some with guarantees, maxima, fences and offsets."""
    draw = random.Random(seed)
    names = [f"n{at}" for at in range(draw.randint(2, 4))]
    nodes: list[dict[str, Any]] = [{"name": name, "capacity": dict.fromkeys(KINDS, 8)} for name in names]
    asking = "root.a.q0"
    queues: list[dict[str, Any]] = [{"name": "root"}]
    for tenant in "abc"[: draw.randint(2, 3)]:
        queues.append(_queue(f"root.{tenant}", "root", draw, 6, 20))
        queues += [_queue(f"root.{tenant}.q{at}", f"root.{tenant}", draw, 3, 12) for at in range(draw.randint(1, 2))]
    if draw.random() < 0.8:
        queues[2]["guaranteed"] = {kind: draw.randint(4, 14) for kind in KINDS[: draw.randint(1, 3)]}
    leaves = [queue["name"] for queue in queues if queue["name"].count(".") == 2]
    workloads: list[dict[str, Any]] = []
    ages = draw.sample(range(100, 1_000), 40)
    for node in nodes:
        free = dict(node["capacity"])
        while True:
            requests = {kind: draw.randint(1, 4) for kind in KINDS if draw.random() < 0.8} or {"vcore": 2}
            if any(amount > free[kind] for kind, amount in requests.items()):
                break
            free = {kind: amount - requests.get(kind, 0) for kind, amount in free.items()}
            queue = draw.choice(leaves if draw.random() < 0.3 else leaves[1:] or leaves)
            entry = {"name": f"w{len(workloads):02d}", "queue": queue, "app": f"{queue}-{draw.randrange(2)}"}
            entry |= {"state": "running", "nodes": [node["name"]], "requests": requests}
            entry |= {"submitted": -ages[len(workloads)], "priority": draw.choice((0, 0, 5, 9))}
            entry |= {"preemptible": draw.random() < 0.85, "originator": draw.random() < 0.1}
            workloads.append(entry)
    wanted = {kind: draw.randint(1, 6) for kind in KINDS[: draw.randint(1, 3)]}
    workloads.append({"name": "in", "queue": asking, "priority": 5, "requests": wanted, "submitted": -60})
    doctrine = {"name": "yunikorn", "edition": edition}
    return {"cede": 1, "now": 0, "doctrine": doctrine, "nodes": nodes, "queues": queues, "workloads": workloads}


def _queue(name: str, parent: str, draw: random.Random, promised: int, most: int) -> dict[str, Any]:
    queue: dict[str, Any] = {"name": name, "parent": parent, "settings": {}}
    if draw.random() < 0.4:
        queue["guaranteed"] = {kind: draw.randint(1, promised) for kind in KINDS[: draw.randint(1, 3)]}
    if draw.random() < 0.2:
        queue["max"] = {kind: draw.randint(most // 2, most) for kind in KINDS[: draw.randint(1, 3)]}
    if draw.random() < 0.2:
        queue["settings"]["preemption.policy"] = draw.choice(("fence", "disabled"))
    if draw.random() < 0.2:
        queue["settings"]["priority.offset"] = draw.choice((-5, 5))
    if draw.random() < 0.1:
        queue["settings"]["priority.policy"] = "fence"
    return queue


@pytest.mark.parametrize("edition", SEARCHES)
def test_the_naive_search_and_the_doctrine_take_the_same_victims_on_the_same_node(edition: str) -> None:
    preempted = waiting = 0
    for seed in range(250):
        document = drawn(seed, edition)
        made = decision(document)
        if made.action in ("start", "refuse"):
            continue
        found = SEARCHES[edition](cluster(document))
        decided = (made.nodes[0], {victim.workload for victim in made.victims}) if made.victims else None
        assert decided == (found and (found[0], set(found[1]))), f"seed {seed}: {made.why}"
        preempted, waiting = preempted + bool(made.victims), waiting + (not made.victims)

    assert preempted > 30
    assert waiting > 24


@pytest.mark.parametrize("quota", [False, True])
def test_the_drawn_tenants_fill_every_node_that_is_to_be_full(quota: bool) -> None:
    document = tenants(6, 3, "laws", quota=quota)
    free = [node.free for node in cluster(document).nodes]
    roomy = {kind: amount for kind, amount in CAPACITY.items() if kind != "pods"}
    full = dict.fromkeys(roomy, 0)

    assert [{kind: left[kind] for kind in roomy} for left in free] == [full, roomy if quota else full] * 3
    assert len(document["queues"]) == 400
    assert document == tenants(6, 3, "laws", quota=quota)


@pytest.mark.parametrize("edition", SEARCHES)
@pytest.mark.parametrize("victims", [1, 3, 8])
def test_an_ask_needs_as_many_victims_as_it_was_made_for(edition: str, victims: int) -> None:
    made = decision(tenants(60, victims, edition))

    assert made.action == "preempt"
    assert len(made.victims) == victims


def test_another_answer_than_the_naive_one_ends_the_bench() -> None:
    document = tenants(10, 1, "1.9")

    with pytest.raises(CedeError, match=r"1\.9, full, 1 victims: decided None, the naive attempt finds \('n"):
        naively(Case("1.9", 1), document, None)


@pytest.mark.slow
def test_the_bench_reports_every_case_with_its_figures() -> None:
    ran = CliRunner().invoke(app, ["yunikorn", "--sizes", "20,40", "--quick", "--json"])
    report = json.loads(ran.stdout)

    assert [report[key] for key in ("nodes", "running", "queues", "victim_queues", "rounds")] == [8, 80, 400, 50, 20]
    assert {row["case"] for row in report["decisions"]} == {"laws, full", "laws, quota", "1.9, full", "1.9, quota"}
    assert all(row["ratio"] == row["naive"] / row["p50"] > 0 for row in report["decisions"])
    assert [one["nodes"] for one in report["growth"][0]["sizes"]] == [4, 8]
    assert {row["bar"] for row in report["growth"]} == {2.0}


def row(p50: float, ratio: float, bar: int | None) -> dict[str, Any]:
    figures = {"p50": p50, "p99": p50 * 1.5, "naive": p50 * ratio, "ratio": ratio}
    return {"case": "1.9, quota", "victims": 8, **figures, "bar_ms": 10, "bar": bar}


ROWS = {
    "within both bars": (row(0.0095, 640, 50), "9.50 ms 14.2 ms 6.08 s 640× <10 ms ≥50×"),
    "too long": (row(0.0105, 640, 50), "10.5 ms 15.8 ms 6.72 s 640× missed <10 ms"),
    "not faster enough": (row(0.0095, 49, 50), "9.50 ms 14.2 ms 465 ms 49× missed ≥50×"),
    "without a ratio to keep": (row(0.0005, 3, None), "500 µs 750 µs 1.50 ms 3× <10 ms"),
}


@pytest.mark.parametrize(("figures", "shown"), ROWS.values(), ids=ROWS.keys())
def test_both_tables_fit_eighty_columns_and_say_which_bar_is_missed(
    figures: dict[str, Any], shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sizes = [{"nodes": nodes, "p50": 0.1234, "first": 0.5678} for nodes in (1_250, 2_500, 5_000)]
    growth = {"case": "1.9, quota", "victims": 8, "sizes": sizes, "growth": 4.1, "bar": 4.0}
    size = {"nodes": 5_000, "running": 50_000, "queues": 400, "victim_queues": 50, "rounds": 100, "between": "changed"}
    print_report(console(), {**size, "decisions": [figures], "growth": [growth]})
    lines = capsys.readouterr().out.splitlines()

    assert lines[2].split() == ["1.9,", "quota", "8", *shown.split()]
    assert " ".join(lines[-2].split()) == "1.9, quota, 8 123 ms 123 ms 123 ms 4.1× missed ≤4× 568 ms"
    assert "…" not in "".join(lines)
