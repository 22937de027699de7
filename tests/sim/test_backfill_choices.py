"""Who may pass a head that waits, under every edition; and jobs that run beyond their walltime."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cede
from cede.doctrines.catalog import BUILT, find
from cede.model.errors import InputError

EDITIONS = [f"{name}/{edition}" for name in BUILT for edition in find(name).editions]
CLUSTER = {
    "cede": 1,
    "doctrine": {"name": "backendai", "settings": {"ytsaurus": {"main_resource": "gpu"}}},
    "nodes": [{"name": "n", "capacity": {"gpu": 8}}],
    "queues": [{"name": "q", "guaranteed": {"gpu": 8}}],
}


def starts(folder: Path, doctrine: str, *, short: int = 50, **choices: str) -> dict[str, int]:
    """When each of four jobs starts: `big` cannot until `a` has ended, and `long` and `short` would fit before."""
    jobs = [("a", 100, 100, 6), ("big", 100, 100, 8), ("long", 500, 500, 2), ("short", short, 50, 2)]
    lines = [
        json.dumps(
            {"name": name, "submitted": at, "duration": duration, "walltime": walltime, "requests": {"gpu": size}}
        )
        for at, (name, duration, walltime, size) in enumerate(jobs)
    ]
    (folder / "jobs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = cede.simulate(folder / "jobs.jsonl", CLUSTER, doctrine=doctrine, queue="q", **choices)  # type: ignore[arg-type]
    started = zip(result.jobs["name"], result.jobs["first_start"], strict=True)
    return {name: at // 10**6 for name, at in started} | {"notes": sum("run beyond it" in one for one in result.notes)}


@pytest.mark.parametrize("doctrine", EDITIONS)
def test_backfill_does_what_it_says_or_is_refused(doctrine: str, tmp_path: Path) -> None:
    if find(doctrine.partition("/")[0]).traits.no_line:
        for how in ("easy", "strict"):
            with pytest.raises(InputError, match=f"backfill: {how} means nothing under ytsaurus: fair shares say"):
                starts(tmp_path, doctrine, backfill=how)
        assert starts(tmp_path, doctrine)["long"] == 2
        return
    easy, strict = (starts(tmp_path, doctrine, backfill=how) for how in ("easy", "strict"))

    assert (easy["big"], easy["short"], easy["long"]) == (100, 3, 200)
    assert (strict["big"], strict["short"]) == (100, 200)
    assert starts(tmp_path, doctrine) == easy, "auto is easy where jobs have walltimes"


def test_who_runs_beyond_its_walltime_is_told_and_may_be_given_a_longer_one(tmp_path: Path) -> None:
    """`short` runs for 200 s on a word of 50: it passes the head and delays it, unless its walltime is right."""
    kept = starts(tmp_path, "backendai", short=200)
    extended = starts(tmp_path, "backendai", short=200, overrun="extend")

    assert (kept["short"], kept["big"], kept["notes"]) == (3, 203, 1)
    assert (extended["short"], extended["big"], extended["notes"]) == (200, 100, 0)
    with pytest.raises(InputError, match="overrun: 'kill' is none of keep, extend"):
        starts(tmp_path, "backendai", overrun="kill")


def test_a_trace_finds_its_queues_by_the_ends_of_their_paths(tmp_path: Path) -> None:
    job = {"name": "a", "submitted": 0, "duration": 1, "queue": "red", "requests": {"gpu": 1}}
    (tmp_path / "jobs.jsonl").write_text(json.dumps(job) + "\n", encoding="utf-8")
    queues = [{"name": "root"}, {"name": "root.red", "parent": "root"}, {"name": "root.blue", "parent": "root"}]
    result = cede.simulate(tmp_path / "jobs.jsonl", {**CLUSTER, "queues": queues})

    assert result.jobs["queue"].to_list() == ["root.red"]
    twice = [*queues, {"name": "root.blue.red", "parent": "root.blue"}]
    with pytest.raises(InputError, match="the cluster has no queue 'red'"):
        cede.simulate(tmp_path / "jobs.jsonl", {**CLUSTER, "queues": twice})
