"""`cede.simulate`: the same replay from Python, with tables for a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cede
from cede.sim.traces.reading import read
from tests.sim.replays import EXAMPLE, TRAIN_ENDS_S, small
from tests.unit.cli.calls import called

Case = tuple[str, str]
SECOND = 10**6


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.chdir(tmp_path)
    return small(tmp_path)


def ends(result: cede.Result) -> list[float]:
    return [end / SECOND for end in result.jobs["ended"].to_list()]


def test_a_replay_is_tables(case: Case) -> None:
    result = cede.simulate(*case)
    used = result.timeline(by="queue", bins=10)

    assert ends(result) == [TRAIN_ENDS_S, 1630]
    assert result.attempts.sort("start")["how"].to_list() == ["preempted", "completed", "completed"]
    assert result.decisions["victims"].to_list() == [[0]]
    assert used["used"].to_list() == [4.0] * 10
    assert result.timeline("state", 1).filter(group="idle")["used"].to_list() == [0.0]
    assert result.measure().value("preemptions") == 1


def test_the_cluster_of_every_moment_gives_the_decision_that_was_made_then() -> None:
    files = (EXAMPLE / "jobs.sacct", EXAMPLE / "cluster.yaml")
    result = cede.simulate(*files, mapping=EXAMPLE / "mapping.yaml", load_factor=2, until="1d")
    names = result.jobs["name"].to_list()

    assert len(result.moments) > 10
    for decision in result.decisions.filter(pl.col("decision").is_in(list(result.moments))).iter_rows(named=True):
        made = cede.plan(cede.Cluster(result.moments[decision["decision"]]))
        first = next(one for one in made.decisions if one.victims)
        assert first.workload == names[decision["job"]]
        assert [victim.workload for victim in first.victims] == [names[job] for job in decision["victims"]]


def test_it_is_what_the_command_writes(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    called(capsys, "simulate", case[0], "--cluster", case[1], "--load-factor", "2", "--out", "out")
    result = cede.simulate(*case, load_factor=2)

    for name in ("jobs", "attempts", "victims", "holds", "outages"):
        assert_frame_equal(pl.read_parquet(f"out/{name}.parquet"), getattr(result, name))


GIVEN = {
    "paths": lambda trace, cluster: (Path(trace), Path(cluster)),
    "a trace that was read": lambda trace, cluster: (read(Path(trace)), cluster),
    "a cluster that was loaded": lambda trace, cluster: (trace, cede.load(cluster)),
    "plain data": lambda trace, cluster: (trace, cede.load(cluster).to_dict()),
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
def test_trace_and_cluster_may_be_files_or_what_was_read_from_them(given: Any, case: Case) -> None:
    assert ends(cede.simulate(*given(*case))) == ends(cede.simulate(*case))


CHOICES: dict[str, tuple[dict[str, Any], list[float | None]]] = {
    "another doctrine": (
        {"doctrine": "kueue", "set": ["queues[q].settings=null", "queues[q].guaranteed.gpu=4"]},
        [3600, 4200],
    ),
    "another value": ({"set": ["queues[q].settings.preemptible_priority=0"]}, [3600, 4200]),
    "denser arrivals": ({"load_factor": 10}, [TRAIN_ENDS_S, 100 + 30 + 600]),
    "fewer jobs": ({"take": 1}, [3600]),
    "a window": ({"window": "10m.."}, [1600]),
    "a mapping": ({"mapping": {"priority": 90}}, [3600, 4200]),
    "nobody saves": ({"checkpoint": "none"}, [1000 + 600 + 3600, 1600]),
    "everybody saves now and then": (
        {"checkpoint": "none", "mapping": {"checkpoint_interval": "5m", "restart_time": 60}},
        [1000 + 600 + 3600, 1600],
    ),
    "a slow start": ({"start_delay": "10s"}, [1640 + 10 + 60 + 3600 - 990, 1000 + 30 + 10 + 600]),
    "a slow end": ({"stop_time": "20s", "grace": "5s"}, [TRAIN_ENDS_S + 5, 1635]),
    "a fault": ({"faults": [{"at": 1700, "node": "n", "state": "down", "for": 300}]}, [2000 + 60 + 2600, 1630]),
    "a time to stop": ({"until": 1200}, [None, None]),
}


@pytest.mark.parametrize(("choices", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_every_choice_has_its_effect(choices: dict[str, Any], expected: list[float | None], case: Case) -> None:
    result = cede.simulate(*case, **choices)
    found = [None if end is None else end / SECOND for end in result.jobs["ended"].to_list()]

    assert found == expected


def test_one_that_saves_at_an_interval_loses_what_came_after_its_last_checkpoint(case: Case) -> None:
    mapping = {"checkpoint": "none", "checkpoint_interval": "5m"}
    result = cede.simulate(*case, mapping=mapping)
    first = result.attempts.sort("start").row(0, named=True)

    assert (first["useful"], first["lost"]) == (900 * SECOND, 100 * SECOND)
    assert ends(result) == [1600 + 60 + 2700, 1600]


def test_a_cluster_may_have_workloads_in_it(case: Case) -> None:
    there = {"name": "w", "queue": "q", "state": "running", "nodes": ["n"], "started": -100, "requests": {"gpu": 4}}
    cluster = cede.load(case[1]).to_dict() | {"workloads": [{**there, "walltime": 150, "priority": 95}]}

    assert ends(cede.simulate(case[0], cluster)) == [50, TRAIN_ENDS_S + 50, 1630]


def test_what_is_asked_for_is_told_beside_the_result(case: Case) -> None:
    result = cede.simulate(*case, checkpoint="auto", checkpoint_interval="10m", seed=3, take=1)

    assert result.settings == {
        "trace": "jobs.jsonl",
        "cluster": "cluster.yaml",
        "take": 1,
        "seed": 3,
        "checkpoint": "auto",
        "checkpoint_interval": "10m",
        "backfill": "off",
    }
    assert {
        "Checkpoint is assumed to be auto for 0 of 1 jobs.",
        "Checkpoint interval is assumed to be 10m for 1 of 1 jobs.",
    } <= set(result.notes)


def test_a_watch_may_stop_it(case: Case) -> None:
    lines = (f'{{"name": "j{number}", "submitted": {number}, "duration": 1}}' for number in range(1000))
    Path("many.jsonl").write_text("\n".join(lines))
    seen: list[tuple[int, int, int]] = []

    def watch(now: int, submitted: int, finished: int) -> bool:
        seen.append((now, submitted, finished))
        return False

    result = cede.simulate("many.jsonl", case[1], watch=watch)

    assert len(seen) == 1
    assert not result.complete
    assert result.notes[-1].startswith("The replay was interrupted")


WRONG = {
    "no trace": (3, "cluster.yaml", "3 is no file"),
    "no cluster": ("jobs.jsonl", 3, "3 is neither a file nor a document"),
    "a file that is not there": ("none.jsonl", "cluster.yaml", "none.jsonl"),
}


@pytest.mark.usefixtures("case")
@pytest.mark.parametrize(("trace", "cluster", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_used_is_an_input_error(trace: Any, cluster: Any, says: str) -> None:
    with pytest.raises(cede.InputError, match=says):
        cede.simulate(trace, cluster)
