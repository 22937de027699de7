"""What the table of `cede diff` says of two sides."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from cede.cli.diff import print_difference
from cede.cli.output import console
from cede.engine.diff import Change, Difference
from cede.model.plan import ENDED, Decision, Plan, Victim
from tests.unit.cli.calls import called

Capture = pytest.CaptureFixture[str]

FLAVORS = {
    "cede": 1,
    "doctrine": "kueue",
    "queues": [
        {
            "name": "q",
            "guaranteed": {"gpu@a": 2, "gpu@b": 4},
            "resource_groups": [{"resources": ["gpu"], "flavors": ["a", "b"]}],
        }
    ],
    "workloads": [{"name": "w", "queue": "q", "requests": {"gpu": 2}}],
}
LEAVING = {
    "cede": 1,
    "doctrine": "kueue",
    "queues": [{"name": "q", "guaranteed": {"cpu": 4}, "settings": {"withinClusterQueue": "LowerPriority"}}],
    "workloads": [
        {"name": "gone", "queue": "q", "state": "preempting", "requests": {"cpu": 2}},
        {"name": "low", "queue": "q", "state": "running", "requests": {"cpu": 2}},
        {"name": "in", "queue": "q", "priority": 5, "requests": {"cpu": 4}},
    ],
}


def start(*nodes: str, **values: Any) -> Decision:
    return Decision("w", "start", "d.fits", "it fits", nodes=nodes, **values)


def preempt(*victims: Victim, **values: Any) -> Decision:
    return Decision("w", "preempt", "d.rule", "it preempts", victims, **values)


def sides(capsys: Capture, monkeypatch: pytest.MonkeyPatch, before: Decision, after: Decision) -> tuple[str, str]:
    """The cells of the two sides, each put together again from its lines."""
    monkeypatch.setenv("COLUMNS", "160")
    plan = Plan("d", "1", 0, ())
    print_difference(console(), Difference(plan, plan, (), (), (), (Change("w", before, after),), 0))
    _, _, head, _, *rows = capsys.readouterr().out.splitlines()[:-2]
    ends = [head.index("is "), head.index("would be"), head.index("why")]
    cells = [" ".join(row[one:two].strip() for row in rows) for one, two in pairwise(ends)]
    return cells[0].strip(), cells[1].strip()


def written(tmp_path: Path, data: dict[str, Any]) -> Path:
    path = tmp_path / "file.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_another_flavor_is_shown(capsys: Capture, tmp_path: Path) -> None:
    out = called(capsys, "diff", written(tmp_path, FLAVORS), "--set", "queues[q].guaranteed.gpu@a=1").out

    assert "w          start on a   start on b   it fits now" in out


PLACES = {
    "the default flavor beside another": (
        start(flavors={"cpu": "a"}),
        start(flavors={"cpu": "default"}),
        ("start on a", "start on default"),
    ),
    "fewer members": (
        start(flavors={"cpu": "a"}, counts={"main": 3}),
        start(flavors={"cpu": "a"}, counts={"main": 2}),
        ("start on a; main ×3", "start on a; main ×2"),
    ),
    "nodes of one that preempts": (
        preempt(Victim("v", "r"), nodes=("n1", "n1")),
        preempt(Victim("v", "r"), nodes=("n1", "n2")),
        ("preempt v on n1 ×2", "preempt v on n1, n2"),
    ),
    "a node among very many": (
        start(*"abcdefg"),
        start(*"abcdefh"),
        ("start on g, a, b, c, d, e, and 1 more", "start on h, a, b, c, d, e, and 1 more"),
    ),
    "what becomes of a victim": (
        preempt(Victim("v", "r")),
        preempt(Victim("v", "r", ENDED)),
        ("preempt v (requeued)", "preempt v (ended)"),
    ),
    "a victim that is leaving already": (
        preempt(Victim("own", "r"), Victim("bor", "r")),
        preempt(Victim("own", "r"), Victim("bor", "r", leaving=True)),
        ("preempt own, bor", "preempt own; bor (leaving already)"),
    ),
    "a place that is the same is not said of one that preempts": (
        preempt(Victim("v", "r"), nodes=("n1",)),
        preempt(Victim("x", "r"), nodes=("n1",)),
        ("preempt v", "preempt x"),
    ),
}


@pytest.mark.parametrize(("before", "after", "shown"), PLACES.values(), ids=PLACES.keys())
def test_both_sides_say_what_differs(
    before: Decision, after: Decision, shown: tuple[str, str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sides(capsys, monkeypatch, before, after) == shown


def test_who_is_leaving_already_is_not_evicted_again(capsys: Capture, tmp_path: Path) -> None:
    path = written(tmp_path, LEAVING)
    planned = called(capsys, "plan", path).out
    compared = called(capsys, "diff", path, "--set", "workloads[in].requests.cpu=2", "--set", "now=1").out

    assert "low (requeued); gone" in planned
    assert "(leaving already)" in planned
    assert planned.splitlines()[-1] == "0 start, 1 preempt evicting 1, 0 wait, 0 refuse"
    assert compared.splitlines()[1] == "Evicted before, and no longer: low"
    assert "low; gone" in compared
