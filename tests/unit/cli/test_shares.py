"""What `cede shares` prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cede.cli.shares_view import MOST_ENTRIES
from tests.unit.cli.calls import EXAMPLES, called

Capture = pytest.CaptureFixture[str]

SHARES = EXAMPLES / "ytsaurus" / "shares.yaml"
STARVING = EXAMPLES / "ytsaurus" / "starving.yaml"
SCORES = EXAMPLES / "lattice" / "score.yaml"
OTHERS = [EXAMPLES / "threshold.yaml", EXAMPLES / "kueue" / "team-a.cluster.yaml", EXAMPLES / "yunikorn" / "law-2.yaml"]
OTHERS += [SCORES]


def rows(out: str) -> dict[str, list[str]]:
    """The lines of all tables by their first word."""
    return {line.split()[0]: line.split()[1:] for line in out.splitlines() if line and not line.startswith(" ")}


def test_shares_are_percent_by_resource(capsys: Capture) -> None:
    ran = called(capsys, "shares", SHARES)
    found = rows(ran.out)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "ytsaurus docs, now 0"
    assert found["production"] == ["below", "no", "0", "cpu", "0%", "70%", "110%", "60%"]
    assert found["research"] == ["below", "no", "0", "cpu", "0%", "30%", "68%", "20%"]
    assert found["yearly"] == ["normal", "no", "infinite", "cpu", "0%", "0%", "20%"]


def test_a_resource_that_somebody_has_nothing_to_do_with_is_not_listed_for_it(capsys: Capture) -> None:
    lines = called(capsys, "shares", SHARES).out.splitlines()
    etl = next(at for at, line in enumerate(lines) if line.startswith("etl"))

    assert lines[etl + 1].startswith("production")
    assert lines[etl + 2].split()[0] == "memory"


def test_who_starves_and_what_may_go_is_told(capsys: Capture) -> None:
    found = rows(called(capsys, "shares", STARVING).out)

    assert found["urgent"][:3] == ["below", "yes", "0"]
    assert [found[f"train-{k}"] for k in (1, 2, 3, 4)] == [
        ["non_preemptible"],
        ["aggressively_preemptible"],
        ["preemptible"],
        ["preemptible"],
    ]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_tables_fit_the_terminal(width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = called(capsys, "shares", SHARES).out

    assert max(map(len, out.splitlines())) <= width
    assert out.count("fair share") == 2
    assert out.count("satisfied") == 2


def test_weights_are_shown_where_they_differ(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    plain = called(capsys, "shares", SHARES).out
    weighed = called(capsys, "shares", SHARES, "--set", "queues[research].weight=3").out

    assert "weight" not in plain
    assert rows(weighed)["research"][3] == "3"


def test_json_is_what_plan_has_without_decisions(capsys: Capture) -> None:
    planned = called(capsys, "plan", SHARES, "--shares", "--json").data
    found = called(capsys, "shares", SHARES, "--json").data

    assert found == {key: value for key, value in planned.items() if key != "decisions"}
    assert found["queues"]["production"]["fair_share"]["cpu"] == pytest.approx(0.7)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_it_works_for_every_doctrine(path: Path, capsys: Capture) -> None:
    planned = called(capsys, "plan", path, "--shares").out
    ran = called(capsys, "shares", path)

    assert ran.code == 0
    assert ran.out.splitlines()[0] == planned.splitlines()[0]
    assert ran.out.partition("\n\n")[2].strip() in planned


def test_scores_are_shown_with_what_they_are_made_of(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = called(capsys, "shares", SCORES).out
    found = called(capsys, "shares", SCORES, "--json").data["workloads"]
    tables = {part.split()[0]: rows(part) for part in out.strip().split("\n\n")}

    for name, one in found.items():
        if "factors" not in one:
            unsaved, cost, worth, due, now = tables["running"][name]
            assert [float(unsaved), float(cost), float(worth)] == [one["unsaved_s"], one["cost"], one["worth"]]
            assert [word == "yes" for word in (due, now)] == [one["due"], one["save_now"]]
            continue
        turn, score, *_ = tables["workloads"][name]
        assert int(turn) == one["turn"]
        assert float(score) == pytest.approx(one["score"], abs=5e-4)
        assert [float(word) for word in tables["factor"][name]] == pytest.approx([*one["factors"].values()], abs=5e-4)
    assert {"workloads", "factor", "running"} <= set(tables)


def test_factors_keep_their_numbers_whole_on_a_narrow_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    parts = called(capsys, "shares", SCORES).out.strip().split("\n\n")
    factors = [rows(part)["old"] for part in parts if part.startswith("factor")]

    assert factors == [["0.3", "1.946", "0.333", "0.5", "0.5"], ["1", "0.5", "0", "1"]]


def test_changes_count(capsys: Capture) -> None:
    changed = called(capsys, "shares", SHARES, "--set", "queues[research].guaranteed.cpu=40", "--json").data

    assert changed["queues"]["research"]["fair_share"]["cpu"] == pytest.approx(0.4)


def test_of_very_many_the_first_are_shown(capsys: Capture, tmp_path: Path) -> None:
    works = [{"name": f"w{k:04}", "requests": {"cpu": 1}} for k in range(MOST_ENTRIES + 3)]
    file = tmp_path / "many.json"
    nodes = [{"name": "n", "capacity": {"cpu": 4}}]
    file.write_text(json.dumps({"cede": 1, "doctrine": "ytsaurus", "nodes": nodes, "workloads": works}))
    out = called(capsys, "shares", file).out

    assert f"w{MOST_ENTRIES - 1:04}" in out
    assert f"w{MOST_ENTRIES:04}" not in out
    assert "3 more not shown: --json has them all" in out


WRONG = {
    "a file that is not there": (["nowhere.yaml"], "nowhere.yaml: cannot be read"),
    "a mistake in the file": ([SHARES, "--set", "queues[etl].wieght=2"], "queues[etl].wieght"),
    "a file without a doctrine": ([SHARES, "--set", "doctrine=null"], "doctrine: the file names no doctrine"),
    "a picture instead of a page": (
        [SHARES, "--plot", "s.svg"],
        "--plot: s.svg is no page (end it in .html",
    ),
    "a resource without a picture": ([SHARES, "--resource", "cpu"], "--resource: is about what is drawn (add --plot"),
    "force without a picture": ([SHARES, "--force"], "--force: is about what is drawn"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_with_its_place(arguments: list[str | Path], message: str, capsys: Capture) -> None:
    ran = called(capsys, "shares", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
