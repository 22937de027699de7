"""A cluster file of a moment has its clocks, so that planning it decides what was decided."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.dated import dated, moved, undated
from cede.engine.drive.facts import Checkpointed, SetNode
from cede.model.document import dump_document
from tests.drive_world import World, as_planned
from tests.unit.drive.ytsaurus_worlds import claimed, clocks, filled, pools

SINCE = "below_fair_share_since"


def assert_decides_the_same(world: World) -> int:
    """How many decisions with victims were made, each of which the file of its moment makes once more."""
    made = [one for step in world.steps for one in step.decisions if one.decision.victims]
    for one in made:
        assert one.cluster is not None
        again = cede.plan(cede.load(dump_document(one.cluster)), misses=False)
        first = next(decision for decision in again.decisions if decision.victims)
        assert first == as_planned(one.decision)
    return len(made)


@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_the_moment_of_a_decision_decides_the_same(edition: str) -> None:
    options = {"edition": edition, "disable_scheduling_on_node_with_waiting_allocations": False}
    world = filled(pools(options=options, nodes=2), cpu=2)
    for name in ("old-1", "old-2"):
        world.feed(Checkpointed(name, 1), after=1)
    for number in range(4):
        world.submit(f"new-{number}", queue="b", app="claims", cpu=2, after=1)
    for _ in range(6):
        world.wait(3)

    assert assert_decides_the_same(world) == 4
    assert sum(len(step.decisions) > 1 for step in world.steps) > 0  # two nodes at one moment


def test_a_snapshot_shows_the_clocks_that_run_and_lists_whom_the_file_does_not() -> None:
    world = claimed()

    assert clocks(world, at=1003) == {
        "apps new": {SINCE: "1970-01-01T00:16:40.002000Z"},
        "queues b": {SINCE: "1970-01-01T00:16:40.002000Z"},
        "nodes n1": {"last_preemptive_attempt": "1970-01-01T00:16:40Z"},
    }


def test_a_clock_of_the_file_that_runs_no_more_is_left_out() -> None:
    since = {"settings": {SINCE: "1970-01-01T00:10:00Z"}}
    node = {"name": "n1", "capacity": {"cpu": 8}, "overcommitted_since": "1970-01-01T00:10:00Z"}
    queues = [{"name": "a", **since}, {"name": "b", **since}]
    world = pools(now="1970-01-01T00:16:00Z", nodes=0, queues=queues, apps=[{"name": "exp", **since}])
    world = World(cede.load(dump_document(world.document) | {"nodes": [node]}).document)

    filled(world, cpu=8)
    world.feed(SetNode("n1", "ready"), after=1)
    tried = {"nodes n1": {"last_preemptive_attempt": "1970-01-01T00:16:40Z"}}
    assert clocks(world) == tried
    assert world.kept["ytsaurus"]["apps"] == [{"name": "exp", "queue": "a", SINCE: None}]
    world.restart()
    assert clocks(world) == tried


def test_planning_a_snapshot_between_two_steps_finds_who_starves_by_then() -> None:
    world = claimed()

    soon = cede.plan(cede.Cluster(world.driver.snapshot(1009 * 10**6)))
    later = cede.plan(cede.Cluster(world.driver.snapshot(1011 * 10**6)))

    assert [made.action for made in soon.decisions] == ["wait"]
    assert [made.action for made in later.decisions] == ["preempt"]


# -- the file alone ----------------------------------------------------------------------------------------------------

FILE: dict[str, Any] = {
    "cede": 1,
    "now": 100,
    "doctrine": "ytsaurus",
    "nodes": [{"name": "n1", "capacity": {"cpu": 1}, "overcommitted_since": 5}, {"name": "n2", "capacity": {"cpu": 1}}],
    "queues": [{"name": "a", "settings": {SINCE: 1, "mode": "fifo"}}, {"name": "b", "settings": {SINCE: 2}}],
    "apps": [{"name": "x", "weight": 3}],
}


def changed(**kept: Any) -> dict[str, Any]:
    document = dated(cede.load(FILE).document, kept)
    return dump_document(cede.load(dump_document(document)).document)


def test_only_what_is_told_changes() -> None:
    assert changed() == dump_document(cede.load(FILE).document)


def test_clocks_of_queues_start_stop_and_go_on() -> None:
    told = [{"name": "a", SINCE: 3_500_000}, {"name": "b", SINCE: None}, {"name": "c", SINCE: -1_000_000}]

    assert changed(queues=told)["queues"] == [
        {"name": "a", "settings": {"mode": "fifo", SINCE: 3.5}},
        {"name": "b"},
        {"name": "c", "settings": {SINCE: -1}},
    ]


def test_an_app_of_several_queues_has_the_latest_of_its_clocks() -> None:
    told = [
        {"name": "x", "queue": "a", SINCE: -9_000_000},
        {"name": "x", "queue": "b", SINCE: -5_000_000},
        {"name": "x"},
        {"name": "y", "queue": "b", SINCE: 7_000_000, "historic_usage_share": 0.25},
    ]

    assert changed(apps=told)["apps"] == [
        {"name": "x", "weight": 3, "settings": {SINCE: -5}},
        {"name": "y", "queue": "b", "settings": {SINCE: 7, "historic_usage_share": 0.25}},
    ]


def test_clocks_of_nodes_come_in_groups() -> None:
    told = {"last_preemptive_attempt": [[9_000_000, ["n1", "n2", "gone"]]], "overcommitted_since": [[None, ["n1"]]]}

    assert changed(nodes=told)["nodes"] == [
        {"name": "n1", "capacity": {"cpu": 1}, "last_preemptive_attempt": 9},
        {"name": "n2", "capacity": {"cpu": 1}, "last_preemptive_attempt": 9},
    ]


def test_volumes_are_as_exact_as_a_file_can_say() -> None:
    told = [{"name": "a", "accumulated_resource_volume": {"cpu": 1.25e9, "memory": 3.00000000049e28, "gpu": 0.0}}]

    [pool, _] = changed(queues=told)["queues"]

    assert pool["settings"]["accumulated_resource_volume"] == {
        "cpu": "1250m",
        "gpu": 0,
        "memory": round(3.00000000049e28 / 1e9),
    }


def test_a_file_can_be_put_on_another_clock() -> None:
    document = moved(cede.load(FILE).document, 10_000_000, instant=True)

    assert [queue.settings[SINCE] for queue in document.queues] == ["1970-01-01T00:00:11Z", "1970-01-01T00:00:12Z"]


def test_a_server_goes_on_with_dates_alone() -> None:
    document = cede.load(FILE).document
    assert dump_document(undated(document))["queues"] == [{"name": "a", "settings": {"mode": "fifo"}}, {"name": "b"}]
    assert all("overcommitted_since" not in node for node in dump_document(undated(document))["nodes"])  # type: ignore[attr-defined]
    with_dates = cede.load({"cede": 1, "now": "2026-01-01T00:00:00Z", "doctrine": "ytsaurus"}).document
    assert undated(with_dates) is with_dates
