"""Replays under YTsaurus: clocks of the file and of the moments, checkpoints that nobody asked for, its timeouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cede
from cede.sim.result import Result
from tests.sim.replays import EXAMPLE

EXAMPLE_FILES = (EXAMPLE / "jobs.sacct", EXAMPLE / "ytsaurus.yaml")


def example(edition: str) -> Result:
    choices: dict[str, Any] = {"mapping": EXAMPLE / "mapping.yaml", "take": 60, "load_factor": 2, "moments": 100}
    return cede.simulate(*EXAMPLE_FILES, doctrine=f"ytsaurus/{edition}", **choices)


@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_every_moment_of_the_example_gives_the_decision_that_was_made_then(edition: str) -> None:
    result = example(edition)
    names = result.jobs["name"].to_list()

    assert result.decisions.height == len(result.moments) > 3
    for decision in result.decisions.iter_rows(named=True):
        moment: dict[str, Any] = cede.Cluster(result.moments[decision["decision"]]).to_dict()
        made = cede.plan(cede.load(json.loads(json.dumps(moment))))
        first = next(one for one in made.decisions if one.victims)
        job = {entry["name"]: entry.get("app", entry["name"]) for entry in moment["workloads"]}
        assert first.workload == decision["workload"]
        assert job[first.workload] == names[decision["job"]]
        assert [job[victim.workload] for victim in first.victims] == [names[job] for job in decision["victims"]]
        saved = [str(entry.get("checkpoint", {}).get("last", "2026")) for entry in moment["workloads"]]
        assert {time[:4] for time in saved} == {"2026"}


def test_the_example_gives_the_same_twice() -> None:
    one, other = example("docs"), example("docs")

    for table in ("jobs", "attempts", "decisions", "victims", "holds"):
        assert_frame_equal(getattr(one, table), getattr(other, table))


def replay(folder: Path, *workloads: dict[str, Any], **keys: Any) -> Result:
    """From second 1000 on, which is the file's 100: one node of 8 cpus and what the file has."""
    later = {"name": "later", "submitted": 1000, "duration": 1, "queue": "c", "requests": {"cpu": 1}}
    (folder / "jobs.jsonl").write_text(json.dumps(later) + "\n", encoding="utf-8")
    file = {
        "cede": 1,
        "now": 100,
        "doctrine": "ytsaurus",
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "queues": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "workloads": list(workloads),
        **keys,
    }
    saving: dict[str, Any] = {"checkpoint": "auto", "checkpoint_interval": "40s", "checkpoint_time": "10s"}
    return cede.simulate(folder / "jobs.jsonl", file, until="2h", **saving)


def running(name: str, started: int, **keys: Any) -> dict[str, Any]:
    more = {"state": "running", "nodes": ["n"], "started": started, "submitted": started, "walltime": 1000}
    return {"name": name, "queue": "a", "app": "exp", "requests": {"cpu": 4}, **more, **keys}


CLAIM = {"name": "claim", "queue": "b", "requests": {"cpu": 4}, "submitted": 80, "walltime": 50}


def first_preemption(result: Result) -> tuple[float, list[str]]:
    """When, and who."""
    names = result.jobs["name"].to_list()
    row = result.decisions.row(0, named=True)
    return row["at"] / 1e6, [names[job] for job in row["victims"]]


def test_a_clock_of_the_file_goes_on_in_the_replay(tmp_path: Path) -> None:
    since = [{"name": "b", "settings": {"below_fair_share_since": 80}}]
    queues = [{"name": "a"}, *since, {"name": "c"}]
    known = replay(tmp_path, running("one", 10), running("two", 20), CLAIM, queues=queues)
    unknown = replay(tmp_path, running("one", 10), running("two", 20), CLAIM)

    assert first_preemption(known)[0] == pytest.approx(1010, abs=0.001)
    assert first_preemption(unknown)[0] == pytest.approx(1030, abs=0.001)


def test_who_saved_last_by_itself_goes_first(tmp_path: Path) -> None:
    """`one` saves 40, 80, 120 s after its start at 998, `two` after its start at 910."""
    result = replay(tmp_path, running("one", 98), running("two", 10), CLAIM)
    at, victims = first_preemption(result)
    (moment,) = (result.moments[number] for number in result.decisions["decision"][:1])
    saved = {entry.name: None if entry.checkpoint is None else entry.checkpoint.last for entry in moment.workloads}

    assert at == pytest.approx(1030, abs=0.001)
    assert (saved["one"], saved["two"]) == (None, 1030 * 10**6)
    assert victims == ["two"]


def test_who_needs_longer_to_save_than_the_timeout_allows_loses_its_work(tmp_path: Path) -> None:
    def lost(app: dict[str, Any] | None = None, **options: Any) -> float:
        doctrine = {"name": "ytsaurus", **options}
        apps = [{"name": "exp", "settings": app or {}}]
        queues = [{"name": "a"}, {"name": "b", "settings": {"below_fair_share_since": 80}}, {"name": "c"}]
        slow = {"checkpoint": {"mode": "auto", "time": 20}}
        workloads = running("one", 10, **slow), running("two", 20, **slow), CLAIM
        result = replay(tmp_path, *workloads, doctrine=doctrine, queues=queues, apps=apps)
        return float(result.victims.filter(pl.col("decision") == result.decisions["decision"][0])["lost"].sum())

    assert lost() == 0
    assert lost(allocation_preemption_timeout=19) > 0
    assert lost({"allocation_preemption_timeout": 20}, allocation_preemption_timeout=19) == 0
