"""Gangs over several nodes: started, preempted and ended as one."""

from typing import Any

import pytest

from tests.live.scenarios.scripts import SAVES, SAVING, SLEEPS, answering
from tests.live.serving import Live, cluster_of, until

pytestmark = pytest.mark.slow

NODES = ("n1", "n2", "n3", "n4")
REST = "trap 'exit 0' TERM; sleep 300 & echo ready; wait"


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return cluster_of(*NODES)


def members_said(live: Live, name: str, text: str, **which: Any) -> list[str]:
    """What each of its four members wrote."""
    return [live.said(name, text, member=member, **which) for member in range(4)]


def test_each_member_knows_its_rank_and_where_the_others_are(live: Live) -> None:
    names = [
        "CEDE_RANK",
        "CEDE_SIZE",
        "CEDE_NODE",
        "CEDE_NODES",
        "CEDE_ADDRESSES",
        "RANK",
        "WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
    ]
    script = "; ".join(f'echo "{name}=${name}"' for name in names)
    live.shell("ranks", f"{script}; echo that is all", members=4)

    said = members_said(live, "ranks", "that is all")
    environments = [dict(line.split("=") for line in log.splitlines() if "=" in line) for log in said]
    placed = live.end("ranks")["nodes"]
    assert sorted(placed) == list(NODES)
    assert [one["CEDE_RANK"] for one in environments] == [one["RANK"] for one in environments] == ["0", "1", "2", "3"]
    assert [one["CEDE_NODE"] for one in environments] == placed
    for one in environments:
        assert (one["CEDE_SIZE"], one["WORLD_SIZE"], one["CEDE_NODES"]) == ("4", "4", ",".join(placed))
        assert len(one["CEDE_ADDRESSES"].split(",")) == 4
        assert one["MASTER_ADDR"] == one["CEDE_ADDRESSES"].split(",")[0]
    assert len({one["MASTER_PORT"] for one in environments}) == 1
    assert int(environments[0]["MASTER_PORT"]) > 1023


def test_a_gang_gives_way_to_a_gang_as_one(live: Live) -> None:
    live.shell("whole", SAVING, members=4, checkpoint=SAVES)
    members_said(live, "whole", "ready")
    live.wait("whole", "running")
    live.preempt("whole", "echo here; exec sleep 300", members=4)

    members_said(live, "whole-urgent", "here")
    left = live.client.job("whole")
    assert (left["state"], left["preempted"], left["nodes"]) == ("suspended", 1, [])
    assert live.signals("whole").count("hint") == 1
    decision = next(one for one in live.client.decisions(workload="whole-urgent") if one["victims"])
    assert decision["victims"] == ["whole"]
    live.client.cancel("whole-urgent")
    assert [log.splitlines()[0] for log in members_said(live, "whole", "ready", attempt=2)] == ["ready 2 1"] * 4


def test_a_gang_is_suspended_only_when_every_member_has_saved(live: Live) -> None:
    one_silent = f"if [ $CEDE_RANK = 2 ]; then trap '' USR1; {SLEEPS}; else {SAVING}; fi"
    live.shell("partly", one_silent, members=4, checkpoint=SAVES, requeue="never", times={"checkpoint_timeout": 1})
    members_said(live, "partly", "ready")
    live.wait("partly", "running")
    live.preempt("partly")

    ended = live.end("partly")
    assert (ended["state"], ended["rule"]) == ("failed", "live.unresponsive")


def test_a_gang_of_which_one_member_cannot_save_has_failed_to(live: Live) -> None:
    fails = answering('put failed "$hint no room"')
    one_fails = f"if [ $CEDE_RANK = 1 ]; then {fails}; else {SAVING}; fi"
    live.shell("one-cannot", one_fails, members=4, checkpoint=SAVES, requeue="never")
    members_said(live, "one-cannot", "ready")
    live.wait("one-cannot", "running")
    live.preempt("one-cannot")

    ended = live.end("one-cannot")
    assert (ended["state"], ended["rule"]) == ("failed", "live.checkpoint-failed")
    assert "no room" in ended["why"]


def test_a_member_that_fails_ends_the_whole_gang(live: Live) -> None:
    live.shell("weakest", f"if [ $CEDE_RANK = 3 ]; then exit 9; fi; {REST}", members=4)

    ended = live.end("weakest")
    assert (ended["state"], ended["rule"], ended["exit_code"]) == ("failed", "live.exit-code", 9)
    assert all(node["workloads"] == [] for node in live.client.nodes())


def test_a_gang_whose_members_end_one_after_the_other_completes_with_the_last(live: Live) -> None:
    live.shell("relay", "echo ready; sleep 0.$CEDE_RANK", members=4)

    ended = live.end("relay")
    assert (ended["state"], ended["exit_code"]) == ("completed", 0)


def test_a_gang_waits_until_all_its_members_have_room(live: Live) -> None:
    live.runs("in-the-way", SLEEPS, priority=9)
    live.shell("patient", "true", members=4)

    assert live.client.job("patient")["state"] == "pending"
    live.client.cancel("in-the-way")
    live.completed("patient")


def test_several_members_may_share_a_node(live: Live) -> None:
    live.shell("packed", "echo $CEDE_NODE $CEDE_RANK; sleep 0.1", members=8, cpu=2)

    ended = live.end("packed")
    assert (ended["state"], ended["members"]) == ("completed", 8)
    said = [live.log("packed", member=member).split() for member in range(8)]
    assert [node for node, _ in said] == ended["nodes"]
    assert [rank for _, rank in said] == [str(rank) for rank in range(8)]
    assert sorted(ended["nodes"]) == sorted(NODES * 2)


def test_a_gang_evicts_only_as_many_as_it_needs(live: Live) -> None:
    for number in range(4):
        live.runs(f"one-{number}", SLEEPS)
    live.preempt("one-0", members=2)

    live.wait("one-0-urgent", "running")
    states = [live.client.job(f"one-{number}")["state"] for number in range(4)]
    assert sorted(states) == ["pending", "pending", "running", "running"]
    until(lambda: sum(node["used"] != {} for node in live.client.nodes()) == 4)
