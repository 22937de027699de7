"""`cede compare`: runs side by side, in processes and in one order; what it writes, refuses, and does on Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sim.replays import EXAMPLE, contents, long, small, watched
from tests.unit.cli.calls import Ran, called, cede

Capture = pytest.CaptureFixture[str]
Case = tuple[str, str]

KUEUE = ("--vary", "kueue:@kueue.yaml")
GENTLE = ("--vary", "gentle:queues[q].settings.preemptible_priority=0")


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return small(tmp_path)


def compared(capsys: Capture, case: Case, *more: str) -> Ran:
    """All in this process, which is faster for so few jobs."""
    return called(capsys, "compare", case[0], "--cluster", case[1], "--jobs", "1", *more)


def test_runs_stand_side_by_side(case: Case, capsys: Capture) -> None:
    found = compared(capsys, case, "--doctrines", "backendai", *GENTLE, *KUEUE, "--json").data
    rows = {(row["by"], row["group"], row["measure"]): row["cells"] for row in found["rows"]}

    assert [(run["label"], run["doctrine"], run["seeds"]) for run in found["runs"]] == [
        ("backendai", "backendai", [0]),
        ("gentle", "backendai", [0]),
        ("kueue", "kueue", [0]),
    ]
    assert [cell["value"] for cell in rows["all", "all", "preemptions"]] == [1, 0, 1]
    assert [cell["value"] for cell in rows["priority", "90", "wait_mean"]] == [30, 2600, 30]
    assert not any(cell["best"] for cells in rows.values() for cell in cells)
    assert found["judgement"]["verdicts"][0]["not_for"][0].startswith("a ranking")
    assert found["runs"][1]["settings"]["set"] == ["queues[q].settings.preemptible_priority=0"]
    assert found["runs"][2]["settings"]["cluster"] == "kueue.yaml"


def test_lost_gpu_hours_are_in_the_table_the_json_and_the_report(case: Case, capsys: Capture) -> None:
    """`train` holds four GPUs while it saves for half a minute; it is asked to leave once, or never."""
    ran = compared(capsys, case, "--doctrines", "backendai", *GENTLE, "--out", "look.html")
    page, found = Path("look.html").read_text(), json.loads(Path("look.json").read_text())
    (row,) = [row for row in found["rows"] if (row["by"], row["measure"]) == ("all", "lost_gpu_hours")]

    assert [cell["value"] for cell in row["cells"]] == [pytest.approx(4 * 30 / 3600), 0]
    assert "lost to preemption [h]" in ran.out
    assert 'data-measure="lost_gpu_hours"' in page


def test_each_run_begins_with_the_workloads_of_its_own_file(case: Case, capsys: Capture) -> None:
    with Path(case[1]).open("a") as file:
        file.write("workloads:\n  - {name: w, queue: q, walltime: 5m, requests: {gpu: 4}, priority: 95}\n")
    found = compared(capsys, case, *GENTLE, *KUEUE, "--json").data
    (jobs,) = [row["cells"] for row in found["rows"] if (row["by"], row["measure"]) == ("all", "jobs")]
    wrong = compared(capsys, case, "--vary", "endless:workloads[w].walltime=null")

    assert [cell["value"] for cell in jobs] == [3, 3, 2]
    assert wrong.code == 2
    assert "endless: workloads[w].walltime: is missing: nobody knows when w ends" in wrong.err


def test_one_command_compares_all_doctrines_on_one_file(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace makes the file; every doctrine preempts on it, and none of its settings is another's."""
    monkeypatch.chdir(tmp_path)
    mapping = ("--mapping", str(EXAMPLE / "mapping.yaml"), "--take", "60", "--load-factor", "2")
    nodes = ("--nodes", "4", "--gpus", "8", "--cpus", "64", "--memory", "512Gi")
    made = called(capsys, "trace", str(EXAMPLE / "jobs.sacct"), *mapping, "--cluster-out", "c.yaml", *nodes)
    asked = ("--cluster", "c.yaml", "--doctrines", "all", "--jobs", "1", "--json")
    found = called(capsys, "compare", str(EXAMPLE / "jobs.sacct"), *mapping, *asked).data
    [preemptions] = [row for row in found["rows"] if (row["by"], row["measure"]) == ("all", "preemptions")]
    groups = {row["group"] for row in found["rows"] if row["by"] == "priority"}

    assert made.code == 0
    assert [run["label"] for run in found["runs"]] == ["backendai", "kueue", "lattice", "yunikorn", "ytsaurus"]
    assert all(cell["value"] > 0 for cell in preemptions["cells"])
    assert groups == {"90", "50", "10"}, "classes are the trace's own, though Lattice has others"


def test_what_a_run_refuses_is_not_counted_in_its_favour(case: Case, capsys: Capture) -> None:
    """Without the small queue's limit all jobs run; with it `train`, which is most of the work, is refused."""
    strict = ("--vary", "strict:queues[q].max={gpu: 1}")
    found = compared(capsys, case, "--doctrines", "backendai", *strict, "--json").data
    rows = {row["measure"]: [cell["value"] for cell in row["cells"]] for row in found["rows"] if row["by"] == "all"}
    [free, limited] = found["runs"]

    assert [free["judged"], limited["judged"]] == [True, False]
    assert rows["refused"][0] == 0
    assert rows["refused"][1] > 0
    assert rows["refused_share"][1] == pytest.approx(limited["undone"]) != 0
    assert rows["compared"][0] == rows["jobs"][0], "who is not judged narrows nobody's jobs"
    assert "Not judged: it refused" in found["judgement"]["verdicts"][1]["sentence"]


def test_without_contention_nothing_is_ranked(case: Case, capsys: Capture) -> None:
    roomy = ("--set", "nodes[n].capacity.gpu=64")
    ran = compared(capsys, case, *GENTLE, *roomy)
    found = compared(capsys, case, *GENTLE, *roomy, "--json").data["judgement"]

    assert "No contention: no job waited 1 s or longer, nobody was preempted" in ran.out
    assert found["no_contention"] is not None
    assert found["goals"] == []


def test_targets_and_prices_are_measured(case: Case, capsys: Capture) -> None:
    asked = ("--target", "90=10s", "--price", "gpu=2")
    found = compared(capsys, case, "--doctrines", "backendai", *GENTLE, *asked, "--json").data
    rows = {(row["by"], row["group"], row["measure"]): row["cells"] for row in found["rows"]}

    assert [cell["value"] for cell in rows["priority", "90", "target_misses"]] == [1, 1]
    [cost] = {cell["value"] for cell in rows["all", "all", "cost"][1:]}
    parts = [cells[1]["value"] for (by, _, key), cells in rows.items() if (by, key) == ("priority", "cost")]
    assert sum(parts) == pytest.approx(cost) != 0


def test_without_doctrines_the_file_as_it_is_comes_first(case: Case, capsys: Capture) -> None:
    found = compared(capsys, case, *GENTLE, "--json").data

    assert [run["label"] for run in found["runs"]] == ["as it is", "gentle"]


def test_a_doctrine_has_an_edition_after_a_slash_or_a_colon(case: Case, capsys: Capture) -> None:
    plain = ("--set", "queues[q].settings=null", "--json")
    found = compared(capsys, case, "--doctrines", "backendai/bep-1014,backendai:26.8", *plain).data

    assert [(run["label"], run["edition"]) for run in found["runs"]] == [
        ("backendai/bep-1014", "bep-1014"),
        ("backendai/26.8", "26.8"),
    ]


def test_the_report_its_json_and_its_moments_are_written_beside_each_other(case: Case, capsys: Capture) -> None:
    ran = compared(capsys, case, "--doctrines", "backendai", *KUEUE, "--out", "look.html")
    page = Path("look.html").read_text()
    moments = sorted(path.name for path in Path("look-moments").iterdir())

    assert "Report: look.html" in ran.out
    assert "2 of 2 variants" not in ran.out
    assert "All 2 variants can be compared" in ran.out
    assert [name.rpartition("-")[0] for name in moments] == ["backendai", "kueue"]
    assert all(f'href="look-moments/{name}"' in page for name in moments)
    assert len(json.loads(Path("look.json").read_text())["runs"]) == 2
    for name in moments:
        assert called(capsys, "plan", f"look-moments/{name}", "--explain").code == 0


def test_a_report_that_is_there_is_replaced_by_force_only(case: Case, capsys: Capture) -> None:
    asked = ("--doctrines", "backendai", *KUEUE, "--out", "look.html")
    compared(capsys, case, *asked)
    before = contents(Path())

    assert "look.html: is there already" in compared(capsys, case, *asked).err
    assert contents(Path()) == before
    assert compared(capsys, case, *GENTLE, "--out", "look.html", "--force").code == 0
    assert [path.name.rpartition("-")[0] for path in Path("look-moments").iterdir()] == ["as-it-is"]


def test_with_shake_every_run_has_several_seeds_and_noise_is_told(case: Case, capsys: Capture) -> None:
    found = compared(capsys, case, *GENTLE, "--shake", "--repeat", "3", "--seed", "7", "--json").data
    [wait] = [row for row in found["rows"] if (row["by"], row["measure"]) == ("all", "wait_mean")]

    assert found["repeats"] == 3
    assert [run["seeds"] for run in found["runs"]] == [[7, 8, 9], [7, 8, 9]]
    assert [len(set(cell["repeats"])) for cell in wait["cells"]][1] == 3
    assert any("Arrivals were moved by up to 1m" in sentence for sentence in found["stated"])


WRONG = {
    "nothing to compare": ([], "--doctrines: is missing"),
    "a doctrine that is none": (["--doctrines", "backendai,bakendai"], "did you mean 'backendai'?"),
    "an edition that is none": (["--doctrines", "backendai,backendai/1"], "backendai/1: doctrine"),
    "settings that a doctrine does not know": (
        ["--doctrines", "backendai,kueue", "--set", "queues[q].settings.preemptible_priority=3"],
        "kueue: --set queues[q].settings.preemptible_priority: there is no key 'preemptible_priority'",
    ),
    "the same twice": (["--doctrines", "backendai,backendai"], "'backendai' stands for two runs"),
    "an empty name": (["--doctrines", "backendai,"], "one of the names is empty"),
    "a variation without a label": (["--vary", "queues[q].settings.x=1"], "has no label"),
    "a variation of nothing": (["--vary", "same:"], "same:: changes nothing"),
    "a file that is not there": (["--vary", "other:@none.yaml"], "none.yaml: cannot be read"),
    "repeats of the same": ([*GENTLE, "--repeat", "3"], "would replay the same again"),
    "a target without a time": ([*GENTLE, "--target", "90"], "--target 90: is no PRIORITY=TIME"),
    "a target of nobody": (
        [*GENTLE, "--target", "91=1m"],
        "--target 91: no job has this priority (there are 10, 90)",
    ),
    "a price of what there is not": (
        [*GENTLE, "--price", "gpus=2"],
        "--price gpus: no node has it, and no job asks for it (did you mean 'gpu'?)",
    ),
    "a price that is none": ([*GENTLE, "--price", "gpu=much"], "--price gpu=much: is no RESOURCE=PRICE"),
    "backfill where there is no line": (
        ["--doctrines", "backendai,ytsaurus", "--set", "queues[q].max=null", "--backfill", "easy"],
        "ytsaurus: backfill: easy means nothing under ytsaurus: fair shares say",
    ),
    "a page that is none": ([*GENTLE, "--out", "look.json"], "ends in .html"),
}


@pytest.mark.parametrize(("more", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_compared_is_named_before_anything_runs(
    more: list[str], says: str, case: Case, capsys: Capture
) -> None:
    before = contents(Path())
    ran = compared(capsys, case, *([] if "--out" in more else ["--out", "report.html"]), *more)

    assert ran.code == 2
    assert says in ran.err
    assert contents(Path()) == before


def test_a_target_of_nobody_is_named_for_jobs_without_priorities_too(case: Case, capsys: Capture) -> None:
    """Who names none is counted as 0."""
    rows = [json.loads(line) for line in Path(case[0]).read_text().splitlines()]
    for row in rows:
        row.pop("priority", None)
    Path("plain.jsonl").write_text("\n".join(map(json.dumps, rows)))
    plain = ("plain.jsonl", case[1])

    assert (
        "--target 90: no job has this priority (there are 0)"
        in compared(capsys, plain, *GENTLE, "--target", "90=1m").err
    )
    assert compared(capsys, plain, *GENTLE, "--target", "0=1m").code == 0


def test_commas_in_brackets_belong_to_a_value(case: Case, capsys: Capture) -> None:
    vary = "mild:queues[q].settings={preemptible_priority: 0, preemption_mode: suspend},nodes[n].labels.kind=a"
    found = compared(capsys, case, "--vary", vary, "--json").data

    assert found["runs"][1]["settings"]["set"] == [
        "queues[q].settings={preemptible_priority: 0, preemption_mode: suspend}",
        "nodes[n].labels.kind=a",
    ]


@pytest.mark.slow
def test_as_many_processes_as_one_likes_give_the_same_bytes(tmp_path: Path) -> None:
    for jobs, seed in (("1", "1"), ("2", "2")):
        (tmp_path / jobs).mkdir()
        ran = cede(
            *("compare", EXAMPLE / "jobs.sacct", "--cluster", EXAMPLE / "cluster.yaml", "--take", "60"),
            *("--mapping", EXAMPLE / "mapping.yaml", "--doctrines", "backendai", "--vary"),
            *(f"kueue:@{EXAMPLE / 'kueue.yaml'}", "--shake", "--repeat", "2", "--jobs", jobs),
            *("--load-factor", "2", "--out", tmp_path / jobs / "report.html"),
            PYTHONHASHSEED=seed,
        )
        assert ran.code == 0, ran.err

    first, second = (contents(tmp_path / jobs) for jobs in ("1", "2"))
    assert len(first) > 4
    assert first == second


@pytest.mark.slow
def test_ctrl_c_writes_what_is_complete(tmp_path: Path) -> None:
    trace, cluster = long(tmp_path, 20_000)
    more = ("--vary", "gentle:queues[team-1].settings.preemptible_priority=0", "--jobs", "1")
    with watched("compare", trace, "--cluster", cluster, *more, "--out", tmp_path / "report.html") as command:
        command.wait_for(r"1 of 2 replays done")
        command.interrupt()
        code, page = command.end()
    found = json.loads((tmp_path / "report.json").read_text())

    assert code == 130
    assert [run["label"] for run in found["runs"]] == ["as it is"]
    assert "The comparison was interrupted: 1 of 2 replays were done" in page
    assert "1 of 2 replays were done" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_ctrl_c_before_anything_is_complete_leaves_nothing(tmp_path: Path) -> None:
    trace, cluster = long(tmp_path)
    before = sorted(tmp_path.iterdir())
    more = ("--vary", "gentle:queues[team-1].settings.preemptible_priority=0", "--jobs", "2")
    with watched("compare", trace, "--cluster", cluster, *more, "--out", tmp_path / "report.html") as command:
        command.wait_for(r"0 of 2 replays done  [1-9][0-9,]* jobs/s")
        command.interrupt()
        code, page = command.end()

    assert (code, page) == (130, "")
    assert sorted(tmp_path.iterdir()) == before
