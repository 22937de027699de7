"""A generated trace on the cluster file generated beside it: under every edition somebody has to give way."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

import cede
from cede.doctrines.catalog import BUILT, find
from cede.sim.options import ReplayOptions
from cede.sim.result import Result
from cede.sim.simulate import replay
from cede.sim.traces.reading import read
from tests.unit.cli.calls import called

Capture = pytest.CaptureFixture[str]

EDITIONS = [f"{name}/{edition}" for name in BUILT for edition in find(name).editions]
SIZES = "{1: 0.85, 2: 0.05, 4: 0.05, 8: 0.04, 16: 0.01}"
JOBS = 300


def generated(capsys: Capture, folder: Path, doctrine: str) -> Result:
    """Three teams, three classes, and a third more work than eight nodes can do meanwhile."""
    trace, cluster = folder / "jobs.jsonl", folder / "cluster.yaml"
    numbers = ("queues=3", "per_hour=30", "longest=12h", f"sizes={SIZES}", "priorities={10: 0.5, 50: 0.3, 90: 0.2}")
    sets = [part for number in numbers for part in ("--set", number)]
    nodes = ("--nodes", "8", "--gpus", "8", "--cpus", "64", "--memory", "1Ti")
    files = ("--out", str(trace), "--cluster-out", str(cluster), "--doctrine", doctrine)
    ran = called(capsys, "generate", "--jobs", str(JOBS), "--seed", "3", *sets, *nodes, *files)
    assert ran.code == 0, ran.err
    return replay(read(trace), cede.load(str(cluster)), ReplayOptions(backfill="off", moments=0))


@pytest.mark.slow
@pytest.mark.parametrize("doctrine", EDITIONS)
def test_the_file_to_start_from_makes_room_for_those_it_should(doctrine: str, capsys: Capture, tmp_path: Path) -> None:
    result = generated(capsys, tmp_path, doctrine)

    assert f"{result.doctrine}/{result.edition}" == doctrine
    assert len(result.victims) > 0.05 * JOBS
    assert result.jobs.filter(pl.col("state") == "completed").height > 0.98 * JOBS


@pytest.mark.parametrize("doctrine", EDITIONS)
def test_the_file_to_start_from_gives_rise_to_no_warning(doctrine: str, capsys: Capture, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    nodes = ("--nodes", "8", "--gpus", "8", "--cpus", "64")
    called(capsys, "generate", "--jobs", "50", "--cluster-out", str(cluster), *nodes, "--doctrine", doctrine)

    assert called(capsys, "lint", str(cluster), "--strict").out == "No findings.\n"


@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_operations_without_a_share_do_not_take_turns_under_ytsaurus(
    edition: str, capsys: Capture, tmp_path: Path
) -> None:
    """Pool `p` starves for `whole`, which fits nowhere as long as `q` has something on both nodes. Of `first` and
    `second`, behind it, one has room, and neither a share."""
    jobs, cluster = tmp_path / "jobs.jsonl", tmp_path / "cluster.yaml"
    asked = [("q1", "q", 2), ("q2", "q", 8), ("whole", "p", 8), ("first", "p", 4), ("second", "p", 4)]
    lines = [
        {"name": name, "queue": queue, "submitted": at, "duration": 3600, "requests": {"gpu": gpus}}
        for at, (name, queue, gpus) in enumerate(asked)
    ]
    jobs.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    files = ("--cluster-out", str(cluster), "--nodes", "2", "--gpus", "8", "--doctrine", f"ytsaurus/{edition}")
    assert called(capsys, "trace", str(jobs), *files).code == 0

    result = replay(read(jobs), cede.load(str(cluster)), ReplayOptions(backfill="off", moments=0))

    assert (result.loops, len(result.victims)) == ((), 0)
    assert result.jobs["state"].unique().to_list() == ["completed"]


SAVING = {"queue": "q", "duration": 3600, "requests": {"gpu": 4}, "checkpoint": "auto"}


@pytest.mark.parametrize(
    ("save", "ytsaurus", "lattice"), [(0, None, None), (60, "90s", None), (1000, "1030s", "1000s")]
)
def test_victims_have_the_time_that_the_slowest_of_the_trace_takes_to_save(
    save: int, ytsaurus: str | None, lattice: str | None, capsys: Capture, tmp_path: Path
) -> None:
    jobs, cluster = tmp_path / "jobs.jsonl", tmp_path / "cluster.yaml"
    lines = [{**SAVING, "name": "a", "submitted": 0, "checkpoint_time": save}, {**SAVING, "name": "b", "submitted": 1}]
    jobs.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    files = ("--cluster-out", str(cluster), "--nodes", "2", "--gpus", "8")
    assert called(capsys, "trace", str(jobs), *files).code == 0
    settings = yaml.safe_load(cluster.read_text(encoding="utf-8"))["doctrine"]["settings"]

    assert settings["ytsaurus"].get("allocation_preemption_timeout") == ytsaurus
    assert settings.get("lattice", {}).get("checkpoint_timeout") == lattice


def test_a_cluster_file_is_asked_for_with_its_nodes(capsys: Capture) -> None:
    ran = called(capsys, "generate", "--jobs", "5", "--nodes", "3")

    assert (ran.code, ran.err) == (2, "error: --nodes: is for a cluster file (add --cluster-out FILE)\n")
