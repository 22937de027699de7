"""Plans that break one promise each, made from a right one by other victims or words: each is objected to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cede
from cede.model.plan import ENDED, Victim
from tests.builders import Entry, pending, preempting, running
from tests.unit.ytsaurus.small import docs, node, op, pool, shipped, starving

WORKS: tuple[Entry, ...] = (
    *(running(f"b{at}", "n1", queue="b", app="b", cpu=1, started=at - 100) for at in range(4)),
    running("shy", "n1", queue="b", cpu=1, preemptible=False),
    running("gentle", "n1", queue="b", cpu=1),
    preempting("gone", "n1", queue="b", cpu=1),
    running("far", "n2", queue="b", app="b", cpu=1, started=-1),
)
ENTRIES = (
    *(node("n1", cpu=7), node("n2", cpu=1), starving("a", cpu=4), pool("b", cpu=4)),
    *(op("gentle", preemption_mode="graceful"), *WORKS),
    *(pending("in", queue="a", app="in", cpu=1, submitted=-1), pending("next", queue="a", app="in", cpu=3)),
)
DOCS, SHIPPED = docs(*ENTRIES), shipped(*ENTRIES)


def edited(cluster: cede.Cluster, victims: str = "", **changes: Any) -> list[str]:
    """What is wrong with the decision about `in` alone, after the change."""
    plan = cede.plan(cluster, only="in")
    [right] = plan.decisions
    if victims:
        changes["victims"] = tuple(replace(right.victims[0], workload=name) for name in victims.split())
    if "victim" in changes:
        changes["victims"] = (replace(right.victims[0], **changes.pop("victim")),)
    return cede.verify(cluster, replace(plan, decisions=(replace(right, **changes),)))


@pytest.mark.parametrize("cluster", [DOCS, SHIPPED], ids=["docs", "25.4"])
def test_the_right_plan_passes(cluster: cede.Cluster) -> None:
    plan = cede.plan(cluster)

    assert cede.plan(cluster, only="in").victims == {"b3"}
    assert cede.verify(cluster, plan) == []
    assert edited(cluster) == []


@pytest.mark.parametrize(
    ("victim", "objection"),
    [
        ("b0", "in: b0 is within the part of its operation's fair share that is protected"),
        ("b1", "in: b1 is within the part of its operation's fair share that is protected"),
        ("shy", "in: shy asks not to be preempted"),
        ("gentle", "in: gentle is of a graceful operation"),
        ("gone", "in: gone is preempting, not running"),
        ("far", "in: far does not stand on n1"),
    ],
)
def test_another_victim_is_objected_to(victim: str, objection: str) -> None:
    assert objection in edited(DOCS, victim)


def test_a_victim_that_is_not_needed_breaks_the_document_and_not_the_release() -> None:
    objections = ["in: would fit without the eviction of b3", "in: would fit without the eviction of b2"]

    assert edited(DOCS, "b3 b2") == objections
    assert not set(objections) & set(edited(SHIPPED, "b3 b2"))


def test_the_words_of_a_preemption_belong_to_its_kind() -> None:
    assert edited(DOCS, victim={"reason": "limits"}) == ["in: limits is no reason here"]
    assert "in: b3 does not queue again" in edited(DOCS, victim={"fate": ENDED})


def test_a_node_preempts_once_in_a_heartbeat() -> None:
    plan = cede.plan(DOCS)
    [first] = [made for made in plan.decisions if made.workload == "in"]
    again = replace(first, workload="next", victims=(Victim("b2", "starving", rule=first.rule),))
    others = tuple(made for made in plan.decisions if made.workload != "next")

    found = cede.verify(DOCS, replace(plan, decisions=(*others, again)))

    assert "next: n1 preempts twice in one heartbeat" in found


def test_members_stand_on_one_node() -> None:
    held = [running(f"b{at}", "n1", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]
    gang = (pending("in", queue="a", app="in", cpu=1, members=2), pending("next", queue="a", app="in", cpu=3))
    cluster = docs(node("n1", cpu=4), node("n2", cpu=1), starving("a", cpu=5), pool("b"), *held, *gang)

    assert cede.plan(cluster, only="in").victims == {"b3", "b2"}
    assert edited(cluster) == []
    assert "in: 2 nodes in one heartbeat" in edited(cluster, nodes=("n1", "n2"))


def test_a_limit_may_be_exceeded_by_its_tolerance_and_no_more() -> None:
    """`x` has the 2 cpu of its pool; `in` wants 1, then 2 more."""
    held = [running(f"x{at}", queue="a", app="x", cpu=1, started=at - 9) for at in range(2)]

    def objections(cpu: int, **settings: Any) -> list[str]:
        one = pool("a", max={"cpu": 2}, **settings)
        cluster = docs(node("n1", cpu=9), one, op("in", below_fair_share_since=-99), *held, pending("in", cpu=cpu))
        plan = cede.plan(cluster)
        [made] = [made for made in plan.decisions if made.workload == "in"]
        started = replace(made, action="start", nodes=("n1",), nearest_miss=())
        return cede.verify(cluster, replace(plan, decisions=(started,)))

    tolerant = {"resource_limits_overcommit_tolerance": {"cpu": 1}}
    assert objections(1, **tolerant) == []
    assert objections(2, **tolerant) == ["in exceeds max cpu of a"]
    assert objections(1) == ["in exceeds max cpu of a"]
