"""What `cede shares --plot` draws."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.cli.shares_panels import Panel, height_at, panels, percent, resource_of
from cede.doctrines.ytsaurus.shares import share_curves
from tests.builders import pending
from tests.properties.ytsaurus_clusters import cluster
from tests.unit.cli.calls import EXAMPLES, called
from tests.unit.ytsaurus.small import docs, node, op, pool

Capture = pytest.CaptureFixture[str]

SHARES = EXAMPLES / "ytsaurus" / "shares.yaml"


def drawn(cluster: cede.Cluster, resource: str = "cpu") -> dict[str, Panel]:
    return {panel.title: panel for panel in panels(share_curves(cluster.state), resource)}


def written(capsys: Capture, tmp_path: Path, name: str, *arguments: str | Path) -> str:
    ran = called(capsys, "shares", *arguments, "--plot", tmp_path / name)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == f"Drawn: {tmp_path / name}"
    return (tmp_path / name).read_text(encoding="utf-8")


# -- what is drawn of curves ----------------------------------------------------------------------------------------


def test_a_heavier_child_goes_up_faster() -> None:
    works = (pending("w1", queue="a", cpu=8), pending("w2", queue="b", cpu=8))
    root = drawn(docs(node(cpu=10), pool("a", weight=3), pool("b"), *works))["The root"]
    heavy, light = root.lines

    assert (height_at(heavy.x, heavy.y, 0.1), height_at(light.x, light.y, 0.1)) == pytest.approx((0.3, 0.1))
    assert root.offer == pytest.approx(0.25)
    assert root.along == "suggestion to a child of weight 1 (above its guarantee)"
    assert root.offered == "suggestion 25%"


def test_the_sum_meets_what_the_pool_gets_where_the_offer_stands() -> None:
    for panel in drawn(cede.load(SHARES)).values():
        assert height_at(*panel.sum, panel.offer) == pytest.approx(panel.share)
        assert sum(line.share for line in panel.lines) == pytest.approx(panel.share)
        for line in panel.lines:
            assert height_at(line.x, line.y, panel.offer) == pytest.approx(line.share)


@pytest.mark.parametrize("seed", range(40))
def test_every_offer_and_every_share_is_on_the_plot(seed: int) -> None:
    curves = share_curves(cede.load(cluster(seed, "docs")).state)
    for resource in curves["resources"]:
        for panel in panels(curves, resource):
            assert 0 < panel.end <= max(1.0, len(panel.lines))
            assert panel.offer <= panel.end or panel.served
            assert max(panel.share, *(line.share for line in panel.lines)) <= panel.top
            assert all(line.x[0] == 0 and list(line.x) == sorted(line.x) for line in panel.lines)


def test_a_fifo_pool_says_whom_it_serves() -> None:
    panel = drawn(cede.load(SHARES))["FIFO pool production / reports"]

    assert [line.name for line in panel.lines] == ["daily", "weekly", "yearly"]
    assert panel.offered == "weekly is served, 2 of 3"
    assert (panel.end, panel.along) == (3, "operations served, one after the other")


def test_who_has_all_is_told_so() -> None:
    root = drawn(docs(node(cpu=10), pending("w1", cpu=2), pending("w2", cpu=3)))["The root"]

    assert root.offered == "all have all they can get"
    assert root.end == pytest.approx(0.3 * 1.15)


def test_of_many_children_those_with_the_largest_shares_come_first() -> None:
    works = [pending(f"w{k}", cpu=1 + k) for k in range(12)]
    root = drawn(docs(node(cpu=200), *works))["The root"]

    assert [line.name for line in root.lines][:3] == ["w11", "w10", "w9"]


def test_the_resource_most_in_demand_is_drawn_and_of_equals_the_main_one() -> None:
    def chosen(**asked: int) -> str:
        return resource_of(share_curves(docs(node(cpu=10, memory=10), pending("w", **asked)).state))

    assert [chosen(cpu=2, memory=1), chosen(cpu=1, memory=2), chosen(cpu=2, memory=2)] == ["cpu", "memory", "cpu"]


def test_trees_are_told_apart() -> None:
    found = drawn(
        docs(
            node("n1", cpu=4),
            node("n2", cpu=4, partition="p"),
            pool("a", partition="p"),
            pool("b"),
            pending("w", queue="a", cpu=1),
            pending("v", queue="b", cpu=1),
        )
    )

    assert {"The root of default", "The root of p"} <= set(found)


def test_numbers_are_told_as_exactly_as_a_plot_can() -> None:
    assert [percent(share) for share in (0, 1, 1 / 3, 0.00125, 0.000001, 0.05)] == [
        *("0%", "100%", "33.33%"),
        *("0.12%", "0.0001%", "5%"),
    ]


# -- the page -------------------------------------------------------------------------------------------------------


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="shares">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def test_the_page_holds_every_curve_of_every_resource(capsys: Capture, tmp_path: Path) -> None:
    page = written(capsys, tmp_path, "s.html", SHARES)
    data = data_of(page)

    assert list(data["panels"]) == ["cpu", "memory"]
    assert [panel["title"] for panel in data["panels"]["cpu"]] == [
        *("The root", "Pool production", "Pool production / etl"),
        *("FIFO pool production / reports", "Pool research"),
    ]
    assert len(data["elements"]) == 11
    assert page.count("plotly.js v") >= 1
    assert "<script src" not in page


def test_names_cannot_become_markup(capsys: Capture, tmp_path: Path) -> None:
    bad = "<b>&\"'</b>"
    works = [{"name": f"{bad}{k}", "queue": bad, "requests": {"cpu": 1}} for k in "12"]
    document = {
        "cede": 1,
        "doctrine": "ytsaurus",
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "queues": [{"name": bad}],
        "workloads": works,
    }
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(document))
    page = written(capsys, tmp_path, "s.html", file)

    assert bad in [one["name"] for one in data_of(page)["elements"]]
    assert bad not in page


def test_the_page_is_the_same_every_time(capsys: Capture, tmp_path: Path) -> None:
    assert written(capsys, tmp_path, "1.html", SHARES) == written(capsys, tmp_path, "2.html", SHARES)


# -- what cannot be drawn -------------------------------------------------------------------------------------------

NO_NODES = "{cede: 1, doctrine: ytsaurus, queues: [{name: a}]}"
NOBODY = "{cede: 1, doctrine: ytsaurus, nodes: [{name: n, capacity: {cpu: 1}}]}"
OTHER = "{cede: 1, doctrine: kueue, queues: [{name: a}]}"
UNDRAWN = {
    "without nodes": (NO_NODES, [], "nodes: there are none that count"),
    "without pools and operations": (NOBODY, [], "queues: there are neither pools nor operations"),
    "of another doctrine": (OTHER, [], "--plot: only ytsaurus has share curves, and the file asks for kueue"),
    "of a resource that is not there": (
        NOBODY.replace("nodes:", "queues: [{name: a}], nodes:"),
        ["--resource", "cpus"],
        "--resource: no node has any 'cpus'; there is cpu (did you mean 'cpu'?)",
    ),
}


@pytest.mark.parametrize(("document", "more", "message"), UNDRAWN.values(), ids=UNDRAWN.keys())
def test_what_has_no_curves_is_told(
    document: str, more: list[str], message: str, capsys: Capture, tmp_path: Path
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(document)
    ran = called(capsys, "shares", file, "--plot", tmp_path / "s.html", *more)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not (tmp_path / "s.html").exists()


def test_what_is_there_is_replaced_only_by_force(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "s.html"
    target.write_text("mine")
    refused = called(capsys, "shares", SHARES, "--plot", target)
    kept = target.read_text()
    forced = called(capsys, "shares", SHARES, "--plot", target, "--force")

    assert (refused.code, kept, forced.code) == (2, "mine", 0)
    assert "is there already" in refused.err
    assert target.read_text().lower().startswith("<!doctype html")


def test_a_place_that_cannot_be_written_is_told(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "shares", SHARES, "--plot", tmp_path / "nowhere" / "s.html")

    assert ran.code == 2
    assert "cannot be written: no such file or directory" in ran.err


def test_a_gang_is_drawn_as_a_step() -> None:
    gang = op("g", is_gang=True)
    works = (pending("g-1", app="g", cpu=4), pending("w", cpu=2))
    root = drawn(docs(node(cpu=10), gang, *works, enable_step_function_for_gang_operations=True))["The root"]
    line = root.lines[0]

    assert (line.x[:3], line.y[:3]) == ((0.0, 0.4, 0.4), (0.0, 0.0, 0.4))
