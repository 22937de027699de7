"""`cede simulate`: what it prints and writes, how it refuses, and how it is interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.sim.replays import EXAMPLE, TRAIN_ENDS_S, contents, long, small, watched
from tests.unit.cli.calls import Ran, called, cede

Capture = pytest.CaptureFixture[str]
Case = tuple[str, str]

TABLES = ("jobs", "attempts", "decisions", "victims", "holds", "outages", "timeline")


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return small(tmp_path)


def simulated(capsys: Capture, case: Case, *more: str) -> Ran:
    return called(capsys, "simulate", case[0], "--cluster", case[1], *more)


def values(found: dict[str, Any], by: str = "all", group: str = "all") -> dict[str, Any]:
    [own] = [one["values"] for one in found["groups"] if (one["by"], one["group"]) == (by, group)]
    assert isinstance(own, dict)
    return own


def test_a_job_that_gave_way_saves_comes_back_and_does_the_rest(case: Case, capsys: Capture) -> None:
    found = simulated(capsys, case, "--json").data

    assert (found["doctrine"], found["edition"], found["complete"]) == ("backendai", "bep-1014", True)
    assert found["states"] == {"completed": 2}
    assert values(found)["makespan"] == TRAIN_ENDS_S
    assert values(found)["preemptions"] == 1
    assert values(found)["lost_hours"] == 0
    assert values(found)["overhead_hours"] == pytest.approx(4 * (30 + 60) / 3600)
    assert values(found, "priority", "90")["wait_mean"] == 30
    assert found["settings"] == {"trace": "jobs.jsonl", "cluster": "cluster.yaml", "seed": 0, "backfill": "off"}


def test_the_numbers_are_printed_with_what_must_stand_beside_them(case: Case, capsys: Capture) -> None:
    page = simulated(capsys, case, "--take", "1").out

    for part in ("backendai bep-1014", "completion time", "goodput", "Checked: work, loss, overhead and idle"):
        assert part in page
    for sentence in ("Only the first 1 of 2 jobs are in it.", "Hours, shares and sizes are of gpu: 4 in all."):
        assert f"- {sentence}" in page


def test_late_starts_and_cost_are_told_by_priority_where_targets_and_prices_are_given(
    case: Case, capsys: Capture
) -> None:
    """`train` waits for nobody, and `urgent` the 30 s that it takes to save."""
    plain = simulated(capsys, case, "--no-progress").out
    asked = simulated(capsys, case, "--no-progress", "--target", "90=20s", "--price", "gpu=2").out
    lines = asked.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("priority"))
    head, ninety = lines[at], lines[at + 2]

    assert "too late" not in plain
    assert head.split()[-3:] == ["too", "late", "cost"]
    assert ninety.split()[0] == "90"
    assert ninety.split()[-3:] == ["100.0", "%", "1.33"]


def test_everything_is_written_to_a_folder(case: Case, capsys: Capture) -> None:
    ran = simulated(capsys, case, "--out", "out", "--set", "queues[q].settings.preemptible_priority=40")
    out = Path("out")
    tables = {name: pl.read_parquet(out / f"{name}.parquet") for name in TABLES}
    again = json.loads((out / "replay.json").read_text())

    assert "Written: out, with 1 moment for `cede plan --explain`" in ran.out
    assert tables["jobs"]["ended"].to_list() == [TRAIN_ENDS_S * 10**6, 1630 * 10**6]
    assert tables["attempts"].height == 3
    assert tables["timeline"]["by"].unique(maintain_order=True).to_list() == ["state", "queue", "priority"]
    assert json.loads((out / "summary.json").read_text())["states"] == {"completed": 2}
    assert again["command"] == (
        "cede simulate jobs.jsonl --cluster cluster.yaml --set 'queues[q].settings.preemptible_priority=40' --seed 0"
    )
    assert "preemptible_priority: 40" in (out / "cluster.yaml").read_text()
    assert sorted(contents(out)) == sorted(
        [*(f"{name}.parquet" for name in TABLES), "summary.json", "replay.json", "cluster.yaml",
         *(tables["decisions"]["moment"].drop_nulls().to_list())]
    )  # fmt: skip


def test_the_cluster_of_a_moment_is_one_that_can_be_planned_and_explained(case: Case, capsys: Capture) -> None:
    simulated(capsys, case, "--out", "out")
    [moment] = pl.read_parquet("out/decisions.parquet")["moment"]
    explained = cede("plan", Path("out") / moment, "--explain")

    assert explained.code == 0, explained.err
    assert "urgent" in explained.out
    assert "evicts train (requeued)" in explained.out


def test_tables_can_be_csv(case: Case, capsys: Capture) -> None:
    simulated(capsys, case, "--out", "out", "--tables", "csv")
    decisions = pl.read_csv("out/decisions.csv")

    assert not list(Path("out").glob("*.parquet"))
    assert decisions["victims"].to_list() == [0]
    assert pl.read_csv("out/jobs.csv")["name"].to_list() == ["train", "urgent"]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        ran = cede(
            *("simulate", EXAMPLE / "jobs.sacct", "--cluster", EXAMPLE / "cluster.yaml", "--no-progress"),
            *("--mapping", EXAMPLE / "mapping.yaml", "--faults", EXAMPLE / "faults.yaml", "--stop-time", "5s"),
            *("--out", tmp_path / seed / "out", "--report", tmp_path / seed / "report.html"),
            PYTHONHASHSEED=seed,
        )
        assert ran.code == 0, ran.err

    first, second = (contents(tmp_path / seed) for seed in ("1", "2"))
    assert len(first) > 20
    assert first == second


def test_the_command_that_is_written_down_gives_the_same_again(case: Case, capsys: Capture) -> None:
    simulated(capsys, case, "--out", "one", "--load-factor", "2", "--grace", "1m", "--until", "1h")
    command = json.loads(Path("one/replay.json").read_text())["command"].split()
    assert called(capsys, *command[1:], "--out", "two").code == 0

    assert contents(Path("one")) == contents(Path("two"))


def test_a_report_links_to_its_moments(case: Case, capsys: Capture) -> None:
    simulated(capsys, case, "--report", "look.html")
    [moment] = Path("look-moments").iterdir()

    assert f'href="look-moments/{moment.name}"' in Path("look.html").read_text()
    assert json.loads(Path("look.json").read_text())["runs"][0]["doctrine"] == "backendai"


def test_a_folder_that_is_not_empty_is_refused_and_by_force_only_our_own_files_are_replaced(
    case: Case, capsys: Capture
) -> None:
    simulated(capsys, case, "--out", "out", "--tables", "csv")
    Path("out/mine.txt").write_text("stays")
    before = contents(Path("out"))
    refused = simulated(capsys, case, "--out", "out")

    assert refused.code == 2
    assert "out: is there, and is not empty" in refused.err
    assert contents(Path("out")) == before
    assert simulated(capsys, case, "--out", "out", "--take", "1", "--force").code == 0
    assert Path("out/mine.txt").read_text() == "stays"
    assert not list(Path("out").glob("*.csv"))
    assert not list(Path("out/moments").iterdir())


WRONG = {
    "a key that is not there": (
        ["--set", "queues[q].settings.threshold=3"],
        "queues[q].settings.threshold: there is no",
    ),
    "a doctrine without such settings": (
        ["--doctrine", "kueue", "--set", "queues[q].settings.preemptible_priority=3"],
        "there is no key 'preemptible_priority'",
    ),
    "a queue that is not there": (["--queue", "r"], "'r'"),
    "a time that is none": (["--until", "soon"], "until: 'soon' is no length of time"),
    "a date where the trace has none": (["--until", "2026-03-01T00:00:00Z"], "until: "),
    "a word that is none": (["--backfill", "easier"], "did you mean 'easy'?"),
    "a mode that is none": (["--checkpoint", "maybe"], "checkpoint: 'maybe' is none of auto, manual, none"),
    "an interval without checkpoints": (["--checkpoint", "none", "--checkpoint-interval", "1h"], "and none shall"),
    "half of how nodes fail": (["--mtbf", "5d"], "mttr: is missing"),
    "a fault file that is not there": (["--faults", "none.yaml"], "none.yaml: cannot be read"),
    "a share above all": (["--warm-up", "1.5"], "--warm-up: 1.5 is no share of the jobs that leaves any"),
    "a table of another kind": (["--tables", "xlsx"], "--tables: xlsx is neither parquet nor csv"),
    "a report that is no page": (["--report", "report.pdf"], "ends in .html"),
    "a load that is none": (["--load-factor", "0"], "load factor: 0.0 is no factor"),
    "a folder in a folder that is not there": (["--out", "no/out"], "no/out: cannot be written: no such file"),
}


@pytest.mark.parametrize(("more", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_used_is_named_and_nothing_is_written(
    more: list[str], says: str, case: Case, capsys: Capture
) -> None:
    before = sorted(Path().iterdir())
    ran = simulated(capsys, case, *([] if "--out" in more else ["--out", "out"]), *more)

    assert ran.code == 2
    assert says in ran.err
    assert sorted(Path().iterdir()) == before


def test_the_workloads_of_the_cluster_file_are_there_when_the_replay_begins(case: Case, capsys: Capture) -> None:
    runs = (
        "{name: w, queue: q, state: running, nodes: [n], started: -60, walltime: 5m, requests: {gpu: 4}, priority: 95}"
    )
    with Path(case[1]).open("a") as file:
        file.write(f"workloads:\n  - {runs}\n")
    found = simulated(capsys, case, "--out", "out", "--json").data
    jobs = pl.read_parquet("out/jobs.parquet")

    assert dict(zip(jobs["name"], jobs["first_start"], strict=True))["train"] == 240 * 10**6
    assert found["states"] == {"completed": 3}
    assert any("The cluster file has 1 running" in sentence for sentence in found["stated"])


def test_a_workload_of_the_file_that_never_ends_is_refused_by_name(case: Case, capsys: Capture) -> None:
    with Path(case[1]).open("a") as file:
        file.write("workloads:\n  - {name: w, queue: q, requests: {gpu: 1}}\n")
    ran = simulated(capsys, case)

    assert ran.code == 2
    assert "workloads[w].walltime: is missing: nobody knows when w ends" in ran.err


def test_a_replay_can_be_stopped_at_a_time(case: Case, capsys: Capture) -> None:
    found = simulated(capsys, case, "--until", "20m", "--json").data

    assert (found["complete"], found["end_us"]) == (False, 1200 * 10**6)
    assert found["states"] == {"requeued": 1, "running": 1}


def test_faults_are_drawn_with_the_seed(case: Case, capsys: Capture) -> None:
    drawn = [simulated(capsys, case, "--mtbf", "20m", "--mttr", "1m", "--seed", seed, "--json").data for seed in "112"]

    assert drawn[0] == drawn[1]
    assert drawn[0]["end_us"] != drawn[2]["end_us"]
    assert any("drawn with seed 1: each is well for 20m" in sentence for sentence in drawn[0]["stated"])


@pytest.mark.slow
def test_ctrl_c_writes_and_prints_what_there_is(tmp_path: Path) -> None:
    trace, cluster = long(tmp_path)
    with watched("simulate", trace, "--cluster", cluster, "--out", tmp_path / "out") as command:
        command.wait_for(r" [1-9][0-9,]* of 30,000 .*jobs/s .*left")
        command.interrupt()
        code, page = command.end()
    found = json.loads((tmp_path / "out" / "summary.json").read_text())

    assert code == 130
    assert found["complete"] is False
    assert found["stated"][-1] == "The replay was interrupted: nothing is known of what comes after."
    assert "The replay was interrupted" in page
    assert 0 < found["states"]["completed"] < 30_000
    assert pl.read_parquet(tmp_path / "out" / "jobs.parquet").height == 30_000


@pytest.mark.slow
def test_no_bar_is_shown_where_none_is_wanted(tmp_path: Path) -> None:
    trace, cluster = long(tmp_path, 3000)
    with watched("simulate", trace, "--cluster", cluster, "--no-progress") as command:
        code, _ = command.end()

    assert (code, command.seen) == (0, "")
