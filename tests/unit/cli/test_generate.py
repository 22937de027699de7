"""`cede generate` writes made-up traces, and tells what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cede.sim.recipes import NAMED, Recipe
from tests.unit.cli.calls import called, cede

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_same_seed_writes_the_same_bytes(kind: str, tmp_path: Path, capsys: Capture) -> None:
    for name in ("a", "b"):
        ran = called(capsys, "generate", "--jobs", "200", "--seed", "3", "--out", tmp_path / f"{name}.{kind}")
        assert ran.code == 0, ran.err

    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_processes_with_other_hash_seeds_write_the_same_bytes(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.jsonl"
        assert cede("generate", "--jobs", "50", "--out", out, PYTHONHASHSEED=seed).code == 0

    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_what_was_written_is_what_is_told(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "t.jsonl"
    made = called(capsys, "generate", "--recipe", "hpc-like", "--jobs", "300", "--out", out, "--json").data
    read = called(capsys, "trace", out, "--json").data

    assert made["jobs"] == 300
    assert made["notes"][0] == "Every job is made up: recipe hpc-like, seed 0."
    same = ("jobs", "span", "resource", "demand", "durations", "walltimes", "sizes", "queues", "priorities", "users")
    assert {key: read[key] for key in same} == {key: made[key] for key in same}


def test_every_number_of_a_recipe_can_be_given(capsys: Capture) -> None:
    asked = ("--set", "sizes={8: 1}", "--set", "median=1h", "--set", "queues=2")
    told = called(capsys, "generate", "--jobs", "100", *asked, "--json").data

    assert [band["up_to"] for band in told["sizes"]] == [8]
    assert {one["value"] for one in told["queues"]} == {"team-1", "team-2"}


def test_the_recipes_are_listed_with_all_their_numbers(capsys: Capture) -> None:
    listed = called(capsys, "generate", "--recipes", "--json").data
    table = called(capsys, "generate", "--recipes").out

    assert set(listed) == set(NAMED)
    assert set(listed["hpc-like"]) == set(Recipe.model_fields) - {"recipe", "seed"}
    assert listed["hpc-like"]["longest"] == "1d"
    assert all(key in table for key in listed["hpc-like"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--recipe", "hpc"), "error: recipe: there is no recipe 'hpc'"),
        (("--set", "medain=1h"), "error: medain: there is no key 'medain' (did you mean 'median'?)"),
        (("--set", "median"), "error: --set median: gives no value; write key=value"),
        (("--out", "jobs.txt"), "error: jobs.txt: ends in none of .jsonl, .csv, .parquet"),
        (
            ("--jobs", "10", "--out", "no/where.csv"),
            "error: no/where.csv: cannot be written: no such file or directory",
        ),
    ],
)
def test_what_is_wrong_is_told(
    arguments: tuple[str, ...], message: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = called(capsys, "generate", *arguments)

    assert ran.code == 2
    assert ran.err.startswith(message)
