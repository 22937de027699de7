"""What is told afterwards: why, by which rule, with which numbers, and made from what."""

import json
import re
from typing import Any

import pytest

import cede
from tests.live.scenarios.scripts import SAVES, SAVING, SILENT, SLEEPS
from tests.live.serving import Live, cluster_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return cluster_of("n1", "n2")


def lines(live: Live, name: str) -> list[str]:
    """Its story."""
    return [told["sentence"] for told in live.client.why(name)["story"]]


def test_the_stories_of_a_victim_and_of_its_claimant_name_each_other(live: Live) -> None:
    live.runs("giver", SAVING, checkpoint=SAVES, members=2)
    live.preempt("giver", members=2)
    live.wait("giver-urgent", "running")

    (decision,) = (one for one in live.client.decisions(workload="giver") if one["victims"])
    number, numbers = decision["number"], "it has priority 9 and preempts giver (priority 1)"
    assert (decision["workload"], decision["victims"]) == ("giver-urgent", ["giver"])
    given = lines(live, "giver")
    way = rf"decision {number}: it gives way to giver-urgent at the cost of [^:]+: on n1: cpu 4 asked, 0 free; "
    assert any(re.fullmatch(way + re.escape(numbers), line) for line in given)
    assert any("told to go (giver-urgent takes its room)" in line for line in given)
    taken = lines(live, "giver-urgent")
    way = rf"decision {number}: preempt evicting giver at the cost of [^:]+ on n1, n2: on n1: cpu 4 asked, 0 free; "
    assert any(re.fullmatch(way + re.escape(numbers), line) for line in taken)
    for name in ("giver", "giver-urgent"):
        told = next(one for one in live.client.why(name)["story"] if one["decision"] and one["decision"]["victims"])
        assert told["rule"] == decision["rule"] == "backendai.lower-priority"
    hinted = next(event for event in live.events("giver") if event["signal"] == "hint")
    assert (hinted["claimant"], hinted["decision"]) == ("giver-urgent", number)


def test_the_story_of_one_that_waits_says_what_stands_in_its_way(live: Live) -> None:
    live.runs("above", SLEEPS, members=2, priority=40)
    live.shell("below", SLEEPS, members=2)

    why = live.client.why("below")
    assert why["stands_in_its_way"] is not None
    assert why["stands_in_its_way"]["action"] == "wait"
    assert why["workload"]["rule"] == why["stands_in_its_way"]["rule"]
    live.client.suspend("below")
    assert live.client.why("below")["not_asked"] == "parked"


def test_a_decision_is_made_again_from_the_cluster_it_was_made_from(live: Live) -> None:
    live.runs("old-1", SLEEPS, cpu=2)
    live.runs("old-2", SLEEPS, cpu=2, priority=2)
    live.runs("old-3", SLEEPS, cpu=2, priority=3)
    live.runs("old-4", SLEEPS, cpu=2, priority=4)
    live.preempt("old-1", cpu=4)
    live.wait("old-1-urgent", "running")

    decision = next(one for one in live.client.decisions(workload="old-1-urgent") if one["victims"])
    assert len(decision["settings_hash"]) == len(decision["cluster_hash"]) == 64
    again = cede.plan(cede.load(live.client.decision_cluster(decision["number"]))).of("old-1-urgent")
    assert again is not None
    assert [victim.workload for victim in again.victims] == decision["victims"] != []
    assert (again.action, list(again.nodes), again.rule) == ("preempt", decision["decision"]["nodes"], decision["rule"])
    assert live.client.decision(decision["number"])["victims"] == decision["victims"]


def test_decisions_under_the_same_settings_have_the_same_settings_hash(live: Live) -> None:
    live.shell("one", "true")
    live.shell("two", "true")
    live.end("one")
    live.end("two")

    assert len({one["settings_hash"] for one in live.client.decisions()}) == 1


def test_a_snapshot_is_a_cluster_file_that_plans_the_same(live: Live) -> None:
    live.runs("leaver", SILENT, checkpoint=SAVES, times={"checkpoint_timeout": 600})
    live.runs("stays", SLEEPS, priority=30)
    live.preempt("leaver")
    live.wait("leaver-urgent", "held")
    live.shell("waits", SLEEPS, priority=2)
    live.shell("waits-too", SLEEPS, priority=9, members=2)

    snapshot = live.client.snapshot()
    states = {one["name"]: one.get("state", "pending") for one in snapshot["workloads"]}
    assert states == {
        "leaver": "preempting",
        "leaver-urgent": "reserved",
        "stays": "running",
        "waits": "pending",
        "waits-too": "pending",
    }
    cluster = cede.load(snapshot)
    offline = json.loads(json.dumps(cede.plan(cluster).to_dict()))
    live_plan = live.client.plan()
    assert offline["decisions"] == live_plan["decisions"] != []
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_asking_what_if_leaves_no_trace(live: Live) -> None:
    live.runs("here", SLEEPS, members=2)
    live.shell("later", SLEEPS, members=2)
    before = live.client.server()["state_version"], len(live.events()), live.client.snapshot()["workloads"]

    added = {"name": "asked", "queue": "default", "priority": 9, "members": 2, "requests": {"cpu": 4}}
    made = live.client.plan(add=[added], explain=True)
    assert any(one["workload"] == "asked" and one["victims"] for one in made["decisions"])
    assert live.client.diff(set=["workloads[later].priority=9"])["evicted"] != []
    live.client.plan(without=["here"])
    live.client.why("later")
    after = live.client.server()["state_version"], len(live.events()), live.client.snapshot()["workloads"]
    assert after == before
    assert live.client.job("here")["state"] == "running"
