"""The doctrine of the guide: under eighty lines, and everything that any doctrine can do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines import plugins
from cede.doctrines.catalog import find
from cede.engine import doctrine_files
from cede.engine.cycle import plan as decide
from cede.engine.lint import lint
from cede.engine.load import read_source
from tests.live.serving import HASTY, Live, serving
from tests.unit.cli.calls import cede as command

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "doctrines" / "short_first.py"
CLUSTER = ROOT / "examples" / "doctrines" / "cluster.yaml"
GUIDE = ROOT / "docs" / "guides" / "write-your-own-doctrine.md"
REPLAY = ROOT / "examples" / "replay"
MOST_LINES = 80


@pytest.fixture(autouse=True)
def _loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_offered", {})
    monkeypatch.setattr(doctrine_files, "_loaded", {})
    cede.load_doctrine(SOURCE)


@pytest.fixture
def cluster() -> cede.Cluster:
    return cede.load(document())


def document(**changes: Any) -> dict[str, Any]:
    data = read_source(CLUSTER)
    assert isinstance(data, dict)
    return {**data, "doctrine": {"name": "short-first", **changes}}


def test_it_has_fewer_lines_than_the_guide_promises_and_stands_there_whole() -> None:
    source = SOURCE.read_text(encoding="utf-8")

    assert len(source.splitlines()) < MOST_LINES
    assert f"```python\n{source}```" in GUIDE.read_text(encoding="utf-8")


def test_it_decides_by_its_own_rules(cluster: cede.Cluster) -> None:
    plan = cede.plan(cluster)

    actions = {made.workload: (made.action, made.rule) for made in plan.decisions}
    assert actions == {
        "quick": ("preempt", "short-first.longer"),
        "other": ("start", "short-first.fits"),
        "forever": ("wait", "short-first.endless"),
    }
    assert plan.victims == {"month"}


def test_it_explains_everybody_it_looked_at(cluster: cede.Cluster) -> None:
    made = cede.plan(cluster, explain=True).of("quick")

    assert made is not None
    assert {one.workload: (one.verdict, one.why) for one in made.candidates or ()} == {
        "month": ("victim", "it asked for 30d, and the claimant for no more than 30m"),
        "late": ("protected", "it has worked for 4d 2h of 4d 4h, which is most of it"),
        "day": ("not-needed", "it may be preempted, but the claimant fits without that"),
    }


def test_its_setting_is_read_and_a_wrong_one_refused() -> None:
    strict = cede.load(document(times=50))

    assert cede.plan(strict).victims == {"month"}
    assert cede.plan(cede.load(document(times=2000))).victims == set()
    with pytest.raises(cede.InputError, match="1 is too small; the least is 2"):
        cede.load(document(times=1))


def test_whoever_waits_is_told_of_the_nearest_miss(cluster: cede.Cluster) -> None:
    made = cede.plan(cluster, explain=True).of("forever")

    assert made is not None
    assert [(miss.workload, miss.rule) for miss in made.nearest_miss] == [
        ("day", "short-first.not-much-longer"),
        ("late", "short-first.not-much-longer"),
    ]
    assert [one.kind for one in made.until] == ["room"]


def test_its_plans_are_checked_by_its_rules(cluster: cede.Cluster) -> None:
    plan = cede.plan(cluster)
    [first, *others] = plan.decisions
    wrong = replace(first, victims=(replace(first.victims[0], workload="late"),), nodes=("gpu-1",))

    assert cede.verify(cluster, plan) == []
    assert cede.verify(cluster, replace(plan, decisions=(wrong, *others)))[0] == (
        "quick: late may not be taken: it has worked for 4d 2h of 4d 4h, which is most of it "
        "(short-first.past-the-middle)"
    )


def test_no_victim_is_superfluous(cluster: cede.Cluster) -> None:
    plan = cede.plan(cluster)
    [first, *others] = plan.decisions
    more = replace(first, victims=(*first.victims, replace(first.victims[0], workload="day")))

    found = cede.verify(cluster, replace(plan, decisions=(more, *others)))

    assert "quick would fit without the eviction of day" in found


def test_it_settles(cluster: cede.Cluster) -> None:
    settled = cede.settle(cluster)

    assert (settled.settled, settled.loop) == (True, None)
    assert [(one.victim, one.claimant) for one in settled.preemptions] == [("month", "quick")]
    assert sorted(settled.running) == ["day", "late", "other", "quick"]


def test_its_lint_speaks(cluster: cede.Cluster) -> None:
    assert [one.rule for one in lint(cluster)] == ["short-first.lint.endless"]


def test_its_victims_get_a_certificate_by_cost(cluster: cede.Cluster) -> None:
    made = decide(cluster, certify=20.0).of("quick")

    assert made is not None
    assert made.certificate is not None
    assert (made.certificate.objective, made.certificate.better) == ("cost", ("day",))


def test_the_cheapest_lawful_set_is_taken_if_the_file_says_so() -> None:
    best = cede.load({**document(), "selection": "optimal"})

    made = cede.plan(best).of("quick")

    assert made is not None
    assert [victim.workload for victim in made.victims] == ["day"]
    assert cede.verify(best, cede.plan(best)) == []


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.yaml"
    gpus = "{name: gpu, count: 6, capacity: {gpu: 8, cpu: 64, memory: 512Gi}}"
    path.write_text(f"{{cede: 1, doctrine: backendai, nodes: [{gpus}]}}", encoding="utf-8")
    return path


def test_it_replays_a_trace(nodes: Path) -> None:
    result = cede.simulate(REPLAY / "jobs.sacct", nodes, doctrine="short-first", take=80, load_factor=4)

    assert (result.doctrine, result.complete) == ("short-first", True)
    assert result.jobs["state"].unique().to_list() == ["completed"]
    assert len(result.victims) > 0


@pytest.mark.slow
def test_it_is_compared_with_others_in_processes_of_their_own(nodes: Path) -> None:
    ran = command(
        *("compare", REPLAY / "jobs.sacct", "--cluster", nodes, "--take", "40", "--json", "--no-progress"),
        *("--doctrines", f"backendai,{SOURCE}"),
    )

    assert ran.code == 0, ran.err
    assert "short-first" in json.dumps(ran.data)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    cluster = {
        "cede": 1,
        "now": "2026-01-01T00:00:00Z",
        "doctrine": "short-first",
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "queues": [{"name": "default"}],
    }
    with serving(tmp_path, cluster, times=HASTY) as live:
        yield live


@pytest.mark.slow
def test_it_runs_a_live_server(live: Live) -> None:
    live.runs("long", "echo ready; exec sleep 300", walltime="10h")

    live.submit("short", "true", walltime="10m")

    assert live.completed("short")
    assert "short-first.longer" in live.rules("short")
    assert "live.requeued" in live.rules("long")


def test_it_tells_its_settings_and_rules() -> None:
    doctrine = find("short-first")

    assert [one.name for one in doctrine.settings] == ["times"]
    assert {"longer", "not-much-longer", "past-the-middle", "endless", "fits"} <= {one.name for one in doctrine.rules}
