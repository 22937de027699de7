"""Whom kube-scheduler's preemption takes, as its documentation says it and its release does it."""

from __future__ import annotations

from dataclasses import replace

import cede
from tests.builders import node, pending, preempting, queue, reserved, running
from tests.unit.kubernetes.small import allows, pods

N1, N2 = node("n1", cpu=4), node("n2", cpu=4)
IN = pending("in", cpu=4, priority=9)


def made(cluster: cede.Cluster, name: str = "in") -> cede.Decision:
    plan = cede.plan(cluster)
    assert cede.verify(cluster, plan) == []
    found = plan.of(name)
    assert found is not None
    return found


def victims(cluster: cede.Cluster, name: str = "in") -> list[str]:
    return [victim.workload for victim in made(cluster, name).victims]


def test_why_this_node_is_said_with_the_criterion_that_decided() -> None:
    two = pods(N1, N2, running("old", "n1", cpu=4, started=-9), running("new", "n2", cpu=4, started=-1), IN)

    assert made(two).why == (
        "on n2: cpu 4 asked, 0 free; it preempts new (its priority 0 is below the claimant's 9); of 2 nodes it is the "
        "one whose most important victims started last"
    )


def test_of_equal_nodes_it_is_the_first_by_name() -> None:
    two = pods(N1, N2, running("a", "n2", cpu=4, started=-9), running("b", "n1", cpu=4, started=-9), IN)

    assert made(two).nodes == ("n1",)
    assert made(two).why.endswith("of 2 nodes it is the first by name of equals")


def test_a_budget_is_used_up_by_the_more_important_of_those_that_could_go() -> None:
    """The first of them may be disrupted; the others would break the budget, and come back before it."""
    three = [running(name, cpu=1, priority=at, started=-9) for at, name in enumerate("abc")]

    assert victims(pods(node("n1", cpu=3), *three, pending("in", cpu=1, priority=9), budgets=allows(1, *"abc"))) == [
        "c"
    ]
    assert victims(pods(node("n1", cpu=3), *three, pending("in", cpu=1, priority=9))) == ["a"]


def test_a_pod_under_two_budgets_breaks_either() -> None:
    budgets = [*allows(5, "a", name="wide"), *allows(0, "a", name="tight")]
    found = made(pods(N1, running("a", cpu=4), IN, budgets=budgets))

    assert [one.why for one in found.warnings] == ["a is covered by the disruption budget tight, which allows 0 more"]


def test_a_budget_says_what_must_run_or_what_may_be_missing() -> None:
    entries = (N1, N2, running("a", "n1", app="web", cpu=4), running("b", "n2", app="web", cpu=4, priority=1))
    waits = pending("c", app="web", cpu=4, priority=-1)

    def warned(**says: int) -> int:
        budget = {"name": "web", "apps": ["web"], **says}
        return len(made(pods(*entries, waits, IN, budgets=[budget])).warnings)

    assert [warned(min_available=1), warned(min_available=2)] == [0, 1]
    assert [warned(max_unavailable=2), warned(max_unavailable=1)] == [0, 1]


def test_whoever_leaves_already_is_waited_for_with_those_that_must_go_too() -> None:
    cluster = pods(N1, preempting("goes", "n1", cpu=2), running("stays", "n1", cpu=2, started=-5), IN)
    found = made(cluster)

    assert [(victim.workload, victim.leaving) for victim in found.victims] == [("stays", False), ("goes", True)]


def test_room_of_this_cycles_victims_is_not_free_to_the_next() -> None:
    cluster = pods(N1, running("low", cpu=4), pending("in", cpu=1, priority=9), pending("next", cpu=1, priority=8))

    assert victims(cluster) == ["low"]
    assert made(cluster, "next").rule == "kubernetes.awaits-leaving"


def test_a_higher_priority_starts_where_a_lower_one_was_to_come() -> None:
    """As if nobody were: the emptier node is taken though the other would displace nobody."""
    cluster = pods(
        N1, N2, reserved("first", "n1", cpu=4, priority=5), running("x", "n2", cpu=2), pending("in", cpu=1, priority=9)
    )
    found = made(cluster)

    assert (found.nodes, [victim.workload for victim in found.victims]) == (("n1",), ["first"])


def test_who_never_preempts_takes_the_room_of_a_lower_nomination_all_the_same() -> None:
    shy = pending("in", cpu=4, priority=9, preempts=False)

    assert victims(pods(N1, reserved("first", "n1", cpu=4, priority=5), shy)) == ["first"]
    assert victims(pods(N1, preempting("goes", "n1", cpu=4), shy)) == []


def test_a_nomination_of_equal_priority_stays() -> None:
    cluster = pods(N1, reserved("first", "n1", cpu=4, priority=9), IN)

    assert made(cluster).rule == "kubernetes.no-room"


def test_several_members_start_whole_and_take_the_lowest_wherever_they_stand() -> None:
    entries = [running(name, on, cpu=2, priority=priority, started=-9) for name, on, priority in (
        ("a", "n1", 3), ("b", "n1", 1), ("c", "n2", 2), ("d", "n2", 4))]  # fmt: skip
    gang = pending("in", cpu=2, members=2, priority=9)

    assert sorted(victims(pods(N1, N2, *entries, gang))) == ["b", "c"]
    assert sorted(victims(pods(N1, N2, *entries, gang, budgets=allows(0, "b")))) == ["a", "c"]


def test_everything_comes_to_rest() -> None:
    cluster = pods(N1, running("low", cpu=4), pending("in", cpu=3, priority=9), pending("next", cpu=1, priority=8))
    settled = cede.settle(cluster)

    assert settled.settled
    assert sorted(settled.running) == ["in", "next"]


def test_a_victim_that_could_have_stayed_is_found() -> None:
    cluster = pods(
        N1, running("a", cpu=2, started=-9), running("b", cpu=2, started=-5), pending("in", cpu=2, priority=9)
    )
    plan = cede.plan(cluster)
    [first] = plan.decisions
    both = replace(first, victims=(*first.victims, replace(first.victims[0], workload="a")))

    assert cede.verify(cluster, replace(plan, decisions=(both,))) == [
        "in: b could have stayed on n1 beside in",
        "in: a could have stayed on n1 beside in",
    ]


def test_a_victim_on_another_node_or_of_equal_priority_is_found() -> None:
    cluster = pods(N1, N2, running("a", "n1", cpu=4), running("b", "n2", cpu=4, priority=9), IN)
    plan = cede.plan(cluster)
    [first] = plan.decisions
    other = replace(first, victims=(*first.victims, replace(first.victims[0], workload="b")))

    assert cede.verify(cluster, replace(plan, decisions=(other,))) == [
        "in: b does not stand on n1, which in gets",
        "in: b may not be taken: its priority 9 is not below the claimant's 9 (kubernetes.lower-priority-only)",
    ]


def test_nobody_goes_for_a_quota_whether_there_is_room_or_not() -> None:
    """Its queue is at its limit: kube-scheduler never sees such a pod, wherever those stand that use the quota up."""
    full = queue("q", max={"cpu": 4})
    low = running("low", "n1", cpu=4, queue="q")
    there = pods(N1, N2, full, low, pending("in", cpu=4, priority=9, queue="q"))
    nowhere = pods(N1, N2, full, low, running("other", "n2", cpu=4), pending("in", cpu=4, priority=9, queue="q"))

    for cluster in (there, nowhere):
        assert (made(cluster).action, made(cluster).rule, victims(cluster)) == ("wait", "kubernetes.quota", [])
        assert {miss.rule for miss in made(cluster).nearest_miss} <= {"kubernetes.quota"}
