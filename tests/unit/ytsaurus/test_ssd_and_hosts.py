"""The stages of SSD work, and the one for whole GPU hosts."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, decided, pending, running, verdicts
from tests.unit.ytsaurus.small import LONG_AGO, docs, hungry, node, op, pool, starving

ON: dict[str, Any] = {
    "ssd_priority_preemption": {"enable": True, "node_tag_filter": "ssd", "medium_names": ["nvme", "fast"]}
}
OFF: dict[str, Any] = {"ssd_priority_preemption": {"enable": False, "node_tag_filter": "ssd", "medium_names": ["nvme"]}}
DISK = {"disk_request": {"medium_name": "nvme"}}
FURTHER: dict[str, Any] = {"enable_aggressive_starvation": True}


def cluster(*entries: Entry, labels: dict[str, str] | None = None, tree: Any = ON, **claimant: Any) -> cede.Cluster:
    """Four of 1 cpu on a node with an SSD, two of `plain` and two of `disk`, which all have what they are owed; `in`
    asks for the SSD too. Of each operation the first is non_preemptible, the second aggressively_preemptible."""
    works = [
        running(f"{app}{at}", queue=app, app=app, cpu=1, started=at - 100) for app in ("plain", "disk") for at in (0, 1)
    ]
    return docs(
        node("n1", cpu=4, labels={"ssd": "yes"} if labels is None else labels),
        *(starving("a", cpu=4, **claimant), pool("plain", cpu=4), pool("disk", cpu=4), op("disk", **DISK)),
        *(*works, *(entries or (op("in", **DISK), pending("in", queue="a", cpu=1)))),
        **tree,
        preemption_satisfaction_threshold=2,
    )


def judged(found: cede.Cluster) -> dict[str, str]:
    """Of each allocation: victim, or what protects it."""
    made = decided(found, "in", explain=True)
    return {name: verdict if verdict == "victim" else rule for name, (verdict, rule) in verdicts(made).items()}


def test_ssd_work_that_starves_takes_anything_that_holds_no_ssd() -> None:
    """3 cpu: of ordinary work even what is non-preemptible is open to it, but that are 2."""
    ask = (op("in", **DISK), pending("in", queue="a", cpu=2))
    found = judged(cluster(*ask))

    assert found == {"plain0": "victim", "plain1": "victim", "disk0": "ssd-shield", "disk1": "ssd-shield"}
    assert {one.reason for one in decided(cluster(*ask), "in").victims} == {"ssd"}


def test_ssd_work_that_starves_aggressively_takes_from_ssd_work_too() -> None:
    """What holds an SSD and is aggressively preemptible goes to it; what is non-preemptible stays."""
    ask = (op("in", **DISK), pending("in", queue="a", cpu=3))

    assert judged(cluster(*ask, **FURTHER)) == {
        "plain0": "victim",
        "plain1": "victim",
        "disk0": "ssd-shield",
        "disk1": "victim",
    }


def test_ordinary_work_on_an_ssd_node_takes_nothing_from_ssd_work() -> None:
    """It starves aggressively and wants 2: `disk1` would be aggressively preemptible but for its SSD."""
    found = judged(cluster(pending("in", queue="a", cpu=2), **FURTHER))

    assert found["disk1"] == "ssd-shield"
    assert found["plain1"] == "too-little"


@pytest.mark.parametrize(("labels", "tree"), [({}, ON), ({"old": "yes"}, ON), ({"ssd": "yes"}, OFF)])
def test_on_other_nodes_and_with_the_option_off_ssd_work_is_like_any_other(labels: Any, tree: Any) -> None:
    found = judged(cluster(labels=labels, tree=tree))

    assert set(found.values()) == {"non-preemptible", "aggressively-preemptible"}


def test_another_medium_is_no_ssd() -> None:
    hdd = op("in", disk_request={"medium_name": "hdd"})

    assert decided(cluster(hdd, pending("in", queue="a", cpu=1)), "in").rule == "ytsaurus.no-room"


def test_plainly_preemptible_work_that_holds_an_ssd_goes_to_anybody() -> None:
    """`disk` is owed nothing: its SSD does not help."""
    works = [running(f"disk{at}", queue="b", app="disk", cpu=1, started=at - 9) for at in range(4)]
    tags = node("n1", cpu=4, labels={"ssd": "yes"})
    found = docs(
        tags, starving("a", cpu=4), pool("b"), op("disk", **DISK), *works, pending("in", queue="a", cpu=2), **ON
    )

    assert [one.reason for one in decided(found, "in").victims] == ["starving", "starving"]


def test_the_ssd_stages_come_before_the_others() -> None:
    """`early` comes first by name and starves aggressively; `in` asks for the SSD and only starves."""
    works = [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]
    found = docs(
        *(node("n1", cpu=4, labels={"ssd": "yes"}), starving("a", cpu=2, **FURTHER), starving("z", cpu=2), pool("b")),
        *(op("in", **DISK), *works, pending("early", queue="a", cpu=1), pending("in", queue="z", cpu=1)),
        **ON,
    )

    assert decided(found, "in").rule == "ytsaurus.ssd"
    assert decided(found, "early").rule == "ytsaurus.one-per-heartbeat"


# -- whole hosts -------------------------------------------------------------------------------------------------------


def hosts(*works: Entry, ask: Entry | None = None, since: float = LONG_AGO, **option: Any) -> cede.Cluster:
    """Two hosts of 8 GPUs. `in` is owed one of them; what stands on n1 is owed the other, n2 is cordoned."""
    stage = {"enable": True, "max_preemption_penalty": 1000, **option}
    return docs(
        *(node("n1", gpu=8), node("n2", gpu=8, state="cordoned"), pool("a", gpu=8), pool("b", gpu=8)),
        *(op("in", below_fair_share_since=since), *works),
        pending("in", queue="a", gpu=8) if ask is None else ask,
        main_resource="gpu",
        default_gpu_full_host_preemption=stage,
    )


def pieces(count: int, gpu: int, started: float = -100) -> list[Entry]:
    """Allocations of operations of their own, each within its share."""
    return [running(f"b{at}", "n1", queue="b", gpu=gpu, started=started) for at in range(count)]


def test_a_whole_host_is_cleared_of_all_groups_within_the_penalty() -> None:
    """Four of 2 GPUs ran for 100 s: 800 GPU-seconds are lost, 1000 are allowed. All are non-preemptible."""
    made = decided(hosts(*pieces(4, 2)), "in")

    assert {(one.workload, one.reason) for one in made.victims} == {(f"b{at}", "full-host") for at in range(4)}


@pytest.mark.parametrize(("most", "action"), [(799, "wait"), (800, "preempt")])
def test_what_is_lost_may_be_as_much_as_the_penalty(most: int, action: str) -> None:
    assert decided(hosts(*pieces(4, 2), max_preemption_penalty=most), "in").action == action


def test_a_saved_checkpoint_lowers_what_is_lost_and_an_unknown_start_loses_nothing() -> None:
    saved = running("b0", "n1", queue="b", gpu=8, started=-100, checkpoint={"mode": "auto", "last": -1})
    half = [running(f"b{at}", "n1", queue="b", gpu=4) for at in range(2)]

    assert decided(hosts(*half, max_preemption_penalty=0), "in").action == "preempt"
    two = [
        running(f"b{at}", "n1", queue="b", gpu=4, started=-100, checkpoint=saved.values["checkpoint"]) for at in (0, 1)
    ]
    assert decided(hosts(*two, max_preemption_penalty=8), "in").action == "preempt"


def test_one_host_that_one_operation_has_alone_is_left_to_it() -> None:
    assert decided(hosts(*pieces(1, 8, started=-1)), "in").rule == "ytsaurus.no-room"


@pytest.mark.parametrize(("since", "action"), [(-120, "wait"), (-121, "preempt")])
def test_the_stage_has_a_timeout_of_its_own(since: float, action: str) -> None:
    assert decided(hosts(*pieces(4, 2), since=since), "in").action == action


@pytest.mark.parametrize(("gpus", "action"), [(7, "wait"), (8, "preempt")])
def test_the_stage_is_for_exactly_eight_gpus(gpus: int, action: str) -> None:
    assert decided(hosts(*pieces(4, 2), ask=pending("in", queue="a", gpu=gpus)), "in").action == action


def test_two_members_of_four_gpus_are_eight() -> None:
    assert decided(hosts(*pieces(4, 2), ask=pending("in", queue="a", gpu=4, members=2)), "in").action == "preempt"


def test_the_new_one_must_fit_the_share_of_its_operation() -> None:
    """`a` is owed one host, of which a second operation has half."""
    other = pending("other", queue="a", gpu=8)

    assert decided(hosts(*pieces(4, 2), other), "in").rule == "ytsaurus.no-room"


def test_the_stage_is_off_unless_it_is_enabled() -> None:
    assert decided(hosts(*pieces(4, 2), enable=False), "in").rule == "ytsaurus.no-room"


def test_graceful_and_starving_operations_are_shielded_from_it_too() -> None:
    """Three of 2 GPUs stand there; `b0` wants more, is owed 4 and starves."""
    more = pending("b0-more", queue="b", app="b0", gpu=8)

    assert decided(hosts(*pieces(3, 2), more), "in").action == "preempt"
    assert decided(hosts(*pieces(3, 2), more, hungry("b0")), "in").rule == "ytsaurus.no-room"
    gentle = op("b0", preemption_mode="graceful")
    assert decided(hosts(*pieces(3, 2), gentle), "in").rule == "ytsaurus.no-room"
