"""Plans made by hand that no doctrine may make: each is caught, with a sentence that says what is wrong."""

from dataclasses import replace

import pytest

import cede
from cede.doctrines.catalog import find
from cede.engine.verify import verify_state
from cede.model.plan import Decision, Plan, Victim
from tests.builders import cluster_of, group, node, pending, policy, preempting, running, shipped, tenant

CLUSTER = cluster_of(
    group("rg", partition="default", preemptible_priority=5, max={"cpu": 12}), group("blue"),
    tenant("t", max_workloads=1), policy(user="ann", max_priority=9),
    node("n1", cpu=4, labels={"group": "g1"}), node("n2", cpu=4, labels={"group": "g2"}),
    node("n3", cpu=4, state="cordoned"), node("b1", cpu=4, partition="blue"),
    running("low", "n1", cpu=2, priority=1, queue="rg"), running("mid", "n1", cpu=2, priority=3, queue="rg"),
    running("high", "n2", cpu=4, priority=8, queue="rg"), running("shy", "n3", cpu=1, priority=1, queue="rg",
                                                                    preemptible=False),
    running("sys", "n3", cpu=1, priority=1, queue="rg", kind="system"), running("far", "b1", cpu=4, priority=1,
                                                                              queue="blue"),
    preempting("leaving", "n3", cpu=1, priority=1, queue="rg"),
    running("tenant", "n3", cpu=1, priority=1, queue="rg", tenant="t"),
    pending("in", cpu=2, priority=9, queue="rg"), pending("gang", cpu=2, members=2, priority=9, queue="rg"),
    pending("tight", cpu=2, members=2, priority=9, queue="rg", placement="tight"),
    pending("spread", cpu=2, members=2, priority=9, queue="rg", placement="spread"),
    pending("meek", cpu=2, priority=9, queue="rg", preempts=False), pending("peer", cpu=2, priority=3, queue="rg"),
    pending("second", cpu=1, priority=9, queue="rg", tenant="t"),
    pending("picky", cpu=1, priority=9, queue="rg", constraints={"nodes": ["n1"]}),
)  # fmt: skip


def plan_of(*decisions: Decision, cluster: cede.Cluster = CLUSTER, edition: str = "bep-1014") -> Plan:
    return Plan("backendai", edition, 0, decisions, cluster.state.version)


def start(name: str, *nodes: str) -> Decision:
    return Decision(name, "start", "backendai.fits", "it fits", nodes=nodes)


def preempt(name: str, victims: str, *nodes: str, fate: str = "ended") -> Decision:
    lost = tuple(Victim(victim, "backendai.lower-priority", fate) for victim in victims.split())
    return Decision(name, "preempt", "backendai.lower-priority", "no room", lost, nodes)


LAWFUL = plan_of(preempt("in", "low", "n1"))


def test_the_lawful_plan_passes() -> None:
    assert cede.verify(CLUSTER, LAWFUL) == []


@pytest.mark.parametrize(
    ("decisions", "complaint"),
    [
        ([preempt("in", "high", "n2")], "in: high has priority 8, above the threshold 5"),
        ([preempt("peer", "mid", "n1")], "peer: mid has priority 3, not below 3"),
        ([preempt("in", "shy", "n1")], "in: shy asks not to be preempted"),
        ([preempt("in", "sys", "n1")], "in: sys is system work"),
        ([preempt("in", "leaving", "n1")], "in: leaving is preempting"),
        ([preempt("in", "far", "n1")], "in: far is of another group"),
        ([preempt("in", "gang", "n1")], "in: gang is pending"),
        ([preempt("meek", "low", "n1")], "meek: meek never preempts, yet it has victims"),
        ([preempt("in", "low", "n1", fate="requeued")], "in: low would be requeued, against the mode terminate"),
        ([preempt("in", "low", "n1"), preempt("gang", "low mid", "n1", "n1")], "low is evicted twice"),
        ([preempt("in", "low mid", "n1")], "in would fit without the eviction of mid"),
        ([preempt("in", "low", "n1"), start("in", "n1")], "in is decided twice"),
        ([start("in", "n1")], "in oversubscribes cpu of n1"),
        ([preempt("in", "low", "n2")], "in oversubscribes cpu of n2"),
        ([preempt("in", "low", "n1"), start("peer", "n1")], "peer oversubscribes cpu of n1"),
        ([preempt("gang", "low mid", "n1")], "gang: 1 nodes for 2 members"),
        ([preempt("in", "low", "n1", "n1")], "in: 2 nodes for 1 members"),
        ([preempt("in", "low", "n3")], "in may not use n3"),
        ([preempt("in", "low", "b1")], "in may not use b1"),
        ([start("picky", "n2")], "picky may not use n2"),
        ([preempt("tight", "low mid", "n1", "n2")], "tight asks for one group and is in 2"),
        ([preempt("spread", "low mid", "n1", "n1")], "spread asks to be spread and has 2 members in one group"),
        ([preempt("gang", "low mid", "n1", "n1"), start("in", "n1")], "in exceeds max cpu of rg"),
        ([start("second", "n1")], "second makes 2 workloads of its tenant, which may have 1"),
        ([start("low", "n1")], "low is running, not waiting"),
        ([Decision("in", "start", "backendai.fits", "x", (Victim("low", "y"),), ("n1",))], "in: start with 1 victims"),
        ([Decision("in", "preempt", "backendai.lower-priority", "x", (), ("n1",))], "in: preempt with 0 victims"),
        ([Decision("in", "wait", "backendai.no-room", "x", (Victim("low", "y"),))], "in: victims, but no preemption"),
        ([Decision("in", "dance", "backendai.no-room", "x")], "in: 'dance' is no action"),
        ([Decision("in", "wait", "backendai.no-room", "")], "in: the decision has no rule or no reason"),
        ([Decision("in", "wait", "kueue.no-room", "x")], "in: the decision has no rule or no reason"),
        ([start("nobody", "n1")], "no workload is called nobody"),
        ([preempt("in", "nobody", "n1")], "no workload is called nobody"),
        ([start("in", "n9")], "no node is called n9"),
    ],
)
def test_an_unlawful_plan_is_caught(decisions: list[Decision], complaint: str) -> None:
    assert complaint in cede.verify(CLUSTER, plan_of(*decisions))
    # At the cost of what the plan touches all is caught but victims that only a search through the cluster can tell.
    quick = verify_state(CLUSTER.state, find("backendai"), plan_of(*decisions), whole=False)
    assert (complaint in quick) != ("would fit without" in complaint)


def test_a_plan_made_from_another_version_is_stale() -> None:
    complaints = cede.verify(CLUSTER, replace(LAWFUL, version=7))

    assert complaints == [f"the plan was made from version 7, the state is at {CLUSTER.state.version}"]


def test_a_plan_of_another_edition_is_not_judged_by_this_one() -> None:
    assert "the plan is of backendai 26.8, the state of backendai bep-1014" in cede.verify(
        CLUSTER, replace(LAWFUL, edition="26.8")
    )


def test_victims_that_are_not_needed_at_all_are_caught() -> None:
    cluster = cluster_of(node("n1", cpu=4), running("low", cpu=2, priority=1), pending("in", cpu=2, priority=9))

    complaints = cede.verify(cluster, plan_of(preempt("in", "low", "n1"), cluster=cluster))

    assert "in would fit without any eviction" in complaints


# -- what only release 26.8 promises ---------------------------------------------------------------------------------


def shipped_with(**settings: object) -> cede.Cluster:
    return shipped(
        group(**{"enabled": True, "victim_scope": "resource-group"} | settings), node("n1", cpu=6),
        running("low", cpu=2, started=-60, user="ann"), running("peer", cpu=2, job_priority=5, started=-60),
        running("mine", cpu=2, started=-60, user="eve"), pending("in", cpu=2, job_priority=5, user="bob"),
        pending("sftp", cpu=2, job_priority=5, kind="system", user="eve"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "made", "complaint"),
    [
        ({}, preempt("in", "low", "n1"), None),
        ({}, preempt("in", "peer", "n1"), "in: peer has job priority 5, not below 5"),
        ({"enabled": False}, preempt("in", "low", "n1"), "in: the group of in does not preempt"),
        ({}, preempt("sftp", "low", "n1"), None),
        ({"victim_scope": "user"}, preempt("sftp", "mine", "n1"),
         "sftp: sftp is system work and waits alone, yet it has victims"),
        ({"victim_scope": "user"}, preempt("in", "low", "n1"), "in: low is not of the claimant's user"),
        ({"preemption_min_runtime": 61}, preempt("in", "low", "n1"), "in: low ran 60000000 of 61000000 microseconds"),
        ({"preemption_mode": "reschedule"}, preempt("in", "low", "n1"),
         "in: low would be ended, against the mode reschedule"),
    ],
)  # fmt: skip
def test_the_promises_of_the_shipped_edition(
    settings: dict[str, object], made: Decision, complaint: str | None
) -> None:
    cluster = shipped_with(**settings)

    complaints = cede.verify(cluster, plan_of(made, cluster=cluster, edition="26.8"))

    assert complaints == ([] if complaint is None else [complaint])
