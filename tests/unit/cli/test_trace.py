"""`cede trace` tells what is in a trace, converts it, and makes a cluster file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import DIALECTS
from cede.sim.traces.reading import read
from tests.unit.cli.calls import called

Capture = pytest.CaptureFixture[str]

LINES = [
    '{"name": "a", "submitted": 0, "duration": 7200, "user": "ann", "requests": {"gpu": 4}}',
    '{"name": "b", "submitted": 3600, "duration": 3600, "user": "bob", "requests": {"gpu": 8, "cpu": 2}}',
    '{"name": "c", "submitted": 7200, "duration": 1800, "user": "ann", "requests": {"gpu": 1}}',
]
MAPPING = """\
queue: {from: user, table: {ann: prod}, default: dev}
priority: {from: gpus, bands: [{up_to: 1, value: 9}, {value: 1}]}
"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("jobs.jsonl").write_text("\n".join(LINES) + "\n")
    Path("map.yaml").write_text(MAPPING)
    return "jobs.jsonl"


def told(capsys: Capture, *arguments: str) -> Any:
    return called(capsys, "trace", *arguments, "--json").data


def test_demand_is_told_as_if_nobody_had_to_wait(jobs: str, capsys: Capture) -> None:
    found = told(capsys, jobs)

    assert (found["jobs"], found["span"], found["resource"]) == (3, 7200, "gpu")
    gpu = found["demand"]["gpu"]
    assert gpu["offered"] == pytest.approx((4 * 2 + 8 * 1 + 0.5) / 2)
    assert gpu["mean"] <= gpu["peak"]
    assert gpu["peak"] == 12
    assert gpu["capacity"] is None
    assert [(band["up_to"], band["jobs"]) for band in found["sizes"]] == [(1, 1), (4, 1), (8, 1)]
    assert found["users"] == 2
    assert any("no priorities" in note for note in found["notes"])


def test_the_page_has_the_numbers_too(jobs: str, capsys: Capture) -> None:
    page = called(capsys, "trace", jobs, "--mapping", "map.yaml").out

    assert page.startswith("3 jobs over 2h")
    for part in ("gpu", "run time", "size (gpu)", "5 to 8", "prod", "dev", "note: The mapping set queue for all jobs"):
        assert part in page


def test_what_is_written_is_mapped_and_cut(jobs: str, capsys: Capture) -> None:
    arguments = ("--mapping", "map.yaml", "--window", "1h..", "--load-factor", "2", "--out", "out.csv")
    found = told(capsys, jobs, *arguments)
    again = read(Path("out.csv"))

    assert found["jobs"] == 2
    assert found["span"] == 1800
    assert again.jobs["name"].to_list() == ["b", "c"]
    assert again.jobs["queue"].to_list() == ["dev", "prod"]
    assert again.jobs["priority"].to_list() == [1, 9]
    assert again.notes[-1] == "Jobs arrive 2 times as dense as in the trace (load factor 2)."


def test_a_cluster_file_to_start_from_has_the_queues_and_can_be_loaded(jobs: str, capsys: Capture) -> None:
    arguments = ("--mapping", "map.yaml", "--cluster-out", "c.yaml", "--nodes", "2", "--gpus", "8", "--memory", "64Gi")
    told(capsys, jobs, *arguments)
    document: Any = cede.load("c.yaml").to_dict()

    assert document["doctrine"]["name"] == "backendai"
    assert [node["name"] for node in document["nodes"]] == ["node-0", "node-1"]
    assert [queue["name"] for queue in document["queues"]] == ["root", "root.dev", "root.prod"]
    for queue in document["queues"][1:]:
        own = {key: value for key, value in queue["settings"].items() if key not in DIALECTS}
        assert own == {"preemptible_priority": 1, "preemption_mode": "suspend"}
        assert {"kueue", "yunikorn", "ytsaurus"} <= set(queue["settings"])
    assert called(capsys, "lint", "c.yaml", "--strict").code == 0


def test_queues_of_a_kueue_cluster_share_it_evenly(jobs: str, capsys: Capture) -> None:
    arguments = (
        "--mapping",
        "map.yaml",
        "--cluster-out",
        "c.yaml",
        "--nodes",
        "3",
        "--gpus",
        "3",
        "--doctrine",
        "kueue",
    )
    told(capsys, jobs, *arguments)
    queues: Any = cede.load("c.yaml").to_dict()["queues"]

    assert [queue["name"] for queue in queues] == ["root", "root.dev", "root.prod"]
    assert [queue["guaranteed"] for queue in queues[1:]] == [{"gpu": 5}, {"gpu": 4}]
    assert {queue["parent"] for queue in queues[1:]} == {"root"}


def test_the_nodes_a_trace_names_are_those_of_the_cluster(capsys: Capture, tmp_path: Path) -> None:
    trace, cluster = tmp_path / "t.jsonl", tmp_path / "c.yaml"
    nodes = '{"name": "x", "capacity": {"gpu": 8}}, {"name": "y", "capacity": {"gpu": 8}}'
    trace.write_text(f'{{"trace": {{"version": 1, "nodes": [{nodes}]}}}}\n{LINES[0]}\n{LINES[1]}\n')

    found = told(capsys, str(trace), "--cluster-out", str(cluster))

    assert (found["nodes"], found["demand"]["gpu"]["load"]) == (2, 1)
    assert "{name: node-a, count: 2, capacity: {gpu: 8}}" in cluster.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster-out", "c.yaml"), "--cluster-out: this trace does not name its nodes"),
        (("--cluster-out", "c.yaml", "--nodes", "3"), "--nodes: says nothing of their size"),
        (("--cluster-out", "c.yaml", "--gpus", "3"), "--nodes: is missing"),
        (("--cluster-out", "c.yaml", "--nodes", "3", "--gpus", "x"), "--gpus: 'x' is no quantity"),
        (("--nodes", "3"), "--nodes: is for a cluster file (add --cluster-out FILE)"),
        (("--window", "3h"), "window: '3h' is no window; write BEGIN..END"),
        (("--load-factor", "0"), "load factor: 0.0 is no factor"),
        (("--mapping", "nowhere.yaml"), "nowhere.yaml: cannot be read: no such file or directory"),
        (("--format", "swv"), "format: 'swv' is none of"),
        (("--option", "x"), "--option x: gives no value; write NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_told(arguments: tuple[str, ...], message: str, jobs: str, capsys: Capture) -> None:
    ran = called(capsys, "trace", jobs, *arguments)

    assert ran.code == 2
    assert ran.err.startswith(f"error: {message}")


def test_a_mapping_that_is_wrong_is_told_with_its_place(jobs: str, capsys: Capture) -> None:
    Path("wrong.yaml").write_text("queue: {form: user}\npriority: high\n")

    ran = called(capsys, "trace", jobs, "--mapping", "wrong.yaml")

    assert ran.code == 2
    assert "  wrong.yaml: queue.form: there is no key 'form' (did you mean 'from'?)" in ran.err
    assert "  wrong.yaml: priority: 'high' is no whole number" in ran.err
