"""One cycle of the policy: whose turn it is, what is tried before victims, and what is kept for who waits."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, actions, decided
from tests.unit.lattice.small import FREE, NONE, node, nodes, part, policy, shares, tenant, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
N1, N2 = node("n1"), node("n2")


def outcome(cluster: cede.Cluster, name: str = "in") -> tuple[str, str]:
    made = decided(cluster, name)
    return made.action, made.rule.partition(".")[2]


# -- patience ----------------------------------------------------------------------------------------------------------

SOON = whole("old", "n1", priority=1, started=-3000, walltime="1h")
"""It ends in ten minutes."""


@pytest.mark.parametrize(
    ("patience", "waits"), [("0s", False), ("599s", False), ("600s", True), ("1h", True), ("48h", True)]
)
def test_who_is_patient_waits_for_a_natural_end_within_that_time(patience: str, waits: bool) -> None:
    cluster = policy(N1, A, SOON, wants("in", priority=8), patience=patience)

    assert outcome(cluster) == (("wait", "patience") if waits else ("preempt", "priority"))
    assert cede.plan(cluster).wakes_at == (600_000_000 if waits else None)


@pytest.mark.parametrize("times", [{}, {"walltime": "1h"}, {"started": -3000}, {"started": -3601, "walltime": "1h"}])
def test_work_without_a_known_end_and_overdue_work_is_not_waited_for(times: dict[str, Any]) -> None:
    cluster = policy(
        N1, A, whole("old", "n1", priority=1, **times), wants("in", priority=8), patience="2h",
        near_completion_threshold="0s",
    )  # fmt: skip
    overdue = times.get("started") == -3601

    assert outcome(cluster) == (("wait", "no-room") if overdue else ("preempt", "priority"))


def test_one_end_that_is_not_enough_is_not_waited_for() -> None:
    other = whole("other", "n2", priority=1)

    assert outcome(policy(N1, N2, A, SOON, other, wants("in", 2, priority=8), patience="1h"))[0] == "preempt"
    assert outcome(policy(N1, N2, A, SOON, other, wants("in", 1, priority=8), patience="1h"))[1] == "patience"


def test_a_sensitive_claim_is_not_patient() -> None:
    claim = wants("in", priority=1, sensitive=True, required_node="n1")

    assert outcome(policy(N1, A, SOON, claim, patience="1h")) == ("preempt", "sensitive-claim")


def test_who_takes_its_node_back_is_patient_too() -> None:
    entries = (node("n1", "a"), A, B, whole("old", "n1", queue="b", started=-3000, walltime="1h"))

    assert outcome(policy(*entries, wants("in", queue="a"), patience="1h")) == ("wait", "patience")
    assert outcome(policy(*entries, wants("in", queue="a"))) == ("preempt", "reclaim")


# -- reservation -------------------------------------------------------------------------------------------------------

BUSY = whole("run", "n1", priority=9, started=-1800, walltime="1h")
"""It ends in half an hour."""
HEAD = wants("head", 2, priority=8)


@pytest.mark.parametrize(("walltime", "starts"), [("30m", True), ("29m", True), ("1801s", False), (None, False)])
def test_who_ends_in_time_may_pass_the_head(walltime: str | None, starts: bool) -> None:
    more = {} if walltime is None else {"walltime": walltime}
    found = outcome(policy(N1, N2, A, BUSY, HEAD, wants("in", **more)))

    assert found == (("start", "fits") if starts else ("wait", "reservation"))


IN_Z: dict[str, Any] = {"constraints": {"labels": {"zone": "z"}}}


def test_who_takes_what_is_left_beside_the_head_may_pass_it() -> None:
    entries = (*nodes("n1 n2", zone="z"), node("n3"), A, BUSY, wants("head", 2, priority=8, **IN_Z))
    cluster = policy(*entries, wants("in"), wants("late", submitted=0))

    assert actions(cluster) == {"head": "wait", "in": "start", "late": "wait"}
    assert (decided(cluster, "in").nodes, decided(cluster, "late").rule) == (("n3",), "lattice.reservation")


@pytest.mark.parametrize("idle", ["m1", "n3"])
def test_who_leaves_the_head_enough_of_what_ends_may_pass_it_whatever_its_node_is_called(idle: str) -> None:
    """In half an hour `head` has two nodes without the idle one, and not three."""
    both = whole("run", "n1 n2", priority=9, started=-1800, walltime="1h")
    entries = (*nodes("n1 n2"), node(idle), A, both)

    assert outcome(policy(*entries, HEAD, wants("in"))) == ("start", "fits")
    assert outcome(policy(*entries, wants("head", 3, priority=8), wants("in"))) == ("wait", "reservation")
    two = policy(*entries, node("n4"), HEAD, wants("in"), wants("late", submitted=0), wants("last", submitted=0))
    assert actions(two) == {"head": "start", "in": "wait", "last": "wait", "late": "wait"}
    three = policy(*entries, node("n4"), wants("head", 3, priority=8), wants("in"), wants("late", submitted=0))
    assert actions(three) == {"head": "wait", "in": "start", "late": "wait"}


def test_who_passes_the_head_takes_first_what_is_of_no_use_to_it() -> None:
    """`head` may have z1 to z4 only, and three of them are enough: one of the two that are idle can be spared."""
    both = whole("run", "z3 z4", priority=9, started=-1800, walltime="1h")
    entries = (*nodes("z1 z2 z3 z4", zone="z"), node("z5"), A, both, wants("head", 3, priority=8, **IN_Z))

    assert decided(policy(*entries, wants("in", 2)), "in").nodes == ("z5", "z1")
    assert outcome(policy(*entries, wants("in", 3))) == ("wait", "reservation")


def test_who_passes_the_head_elsewhere_keeps_its_quota_of_nodes() -> None:
    """Beside `head` there is room for its members on two nodes only, and its tenant may have one."""
    entries = (node("n1", gpu=4), node("n2", gpu=4, cpu=8), node("n3", gpu=4, cpu=8), A,
               part("ends", "n1", gpu=2, priority=9, started=-1800, walltime="1h"),
               part("stays", "n2 n3", gpu=3, priority=9), shares("head", gpu=4, priority=8))  # fmt: skip
    member = shares("in", 2, gpu=1, tenant="t")

    assert decided(policy(*entries, member), "in").nodes == ("n2", "n3")
    assert outcome(policy(*entries, member, tenant("t", max_nodes=1))) == ("refuse", "tenant-quota")


def test_only_the_first_that_waits_has_a_reservation() -> None:
    """`next` would have its two nodes in half an hour too; what is kept is for the head alone."""
    entries = (*nodes("n1 n2", zone="z"), *nodes("y1 y2", zone="y"), A, BUSY)
    works = (whole("run2", "y1", priority=9, started=-1800, walltime="1h"), wants("head", 2, priority=8, **IN_Z))
    cluster = policy(*entries, *works, wants("next", 2, priority=7, constraints={"labels": {"zone": "y"}}), wants("in"))

    assert actions(cluster) == {"head": "wait", "next": "wait", "in": "start"}
    assert decided(cluster, "in").nodes == ("y2",)


def test_an_end_beyond_a_day_keeps_nothing() -> None:
    days = whole("run", "n1", priority=9, started=-1800, walltime="25h")

    assert outcome(policy(N1, N2, A, days, HEAD, wants("in"))) == ("start", "fits")


def test_who_waits_for_a_limit_keeps_nothing() -> None:
    full = vcluster("b", "hpc_batch", max={"gpu": 4})
    entries = (N1, N2, A, full, whole("run", "n1", queue="b", priority=9, started=-1800, walltime="1h"))

    assert outcome(policy(*entries, wants("head", queue="b", priority=8), wants("in", queue="a"))) == ("start", "fits")


def test_a_reservation_does_not_bind_who_preempts_nor_a_sensitive_claim() -> None:
    low = whole("low", "n3", priority=0, started=-1800, walltime="1h")
    head = wants("head", 3, priority=2, preempts=False, submitted=-9999)
    entries = (*nodes("n1 n2 n3"), A, BUSY, low, head)

    assert actions(policy(*entries, wants("in", 2, priority=1))) == {"head": "wait", "in": "preempt"}
    claim = wants("in", priority=0, sensitive=True, constraints={"nodes": ["n2"]}, submitted=0)
    assert actions(policy(*entries, claim)) == {"head": "wait", "in": "start"}
    assert outcome(policy(*entries, wants("in", priority=0, submitted=0))) == ("wait", "reservation")


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [{"max_nodes": 1}, {"max_workloads": 1}])
def test_a_full_tenant_is_refused_and_nobody_is_preempted_not_even_its_own(limit: dict[str, float]) -> None:
    old = whole("old", "n1", tenant="t", priority=0)
    cluster = policy(N1, A, tenant("t", **limit), old, wants("in", tenant="t", priority=9))

    assert outcome(cluster) == ("refuse", "tenant-quota")
    assert outcome(policy(N1, A, tenant("t", **limit), old, wants("in", tenant="other", priority=9)))[0] == "preempt"


def test_quota_binds_a_sensitive_claim_and_who_takes_its_nodes_back() -> None:
    limits = tenant("t", max_workloads=1)
    mine = whole("mine", "n2", queue="a", tenant="t")
    claim = wants("in", queue="a", tenant="t", sensitive=True, required_node="n1")
    lent = (node("n1", "a"), N2, A, B, limits, mine, whole("old", "n1", queue="b"))

    assert outcome(policy(*lent, claim)) == ("refuse", "tenant-quota")
    assert outcome(policy(*lent, wants("in", queue="a", tenant="t"))) == ("refuse", "tenant-quota")


def test_the_second_of_a_tenant_is_refused_in_the_same_cycle() -> None:
    cluster = policy(N1, N2, A, tenant("t", max_nodes=1), wants("x", tenant="t"), wants("y", tenant="t"))

    assert actions(cluster) == {"x": "start", "y": "refuse"}


def test_a_full_queue_waits_and_nobody_is_preempted() -> None:
    full = vcluster("a", "hpc_batch", max={"gpu": 4})

    assert outcome(policy(N1, full, whole("old", "n1"), wants("in", priority=9))) == ("wait", "queue-limit")


# -- sets --------------------------------------------------------------------------------------------------------------


def saving(name: str, on: str, minutes: float, **values: Any) -> Entry:
    return whole(name, on, checkpoint={"mode": "auto", "time": f"{minutes * 60}s"}, priority=1, **values)


@pytest.mark.parametrize(("large", "victims"), [(11, {"large"}), (11.001, {"one", "two"}), (9, {"large"})])
def test_one_larger_victim_is_preferred_if_it_costs_at_most_a_tenth_more(large: float, victims: set[str]) -> None:
    entries = (saving("one", "n1", 5), saving("two", "n2", 5), saving("large", "n3 n4", large))
    cluster = policy(*nodes("n1 n2 n3 n4"), A, *entries, wants("in", 2, priority=8), **FREE)

    assert cede.plan(cluster).victims == victims


def test_equal_cost_is_decided_by_class_and_then_by_uid() -> None:
    three = nodes("n1 n2 n3")
    by_class = (whole("x", "n1", priority=2), whole("y", "n2", priority=1), whole("z", "n3", priority=1))
    by_uid = (whole("x", "n1", uid="3"), whole("y", "n2", uid="1"), whole("z", "n3", uid="2"))

    assert cede.plan(policy(*three, A, *by_class, wants("in", priority=8))).victims == {"y"}
    assert cede.plan(policy(*three, A, *by_uid, wants("in", priority=8))).victims == {"y"}


def test_the_value_must_be_above_the_cost_and_not_equal() -> None:
    """Worth 8/10 x 1 node x 4 GPUs x minutes of walltime."""
    for walltime, goes in ((93.76, True), (93.75, False), (90, False)):
        cluster = policy(N1, A, saving("old", "n1", 5), wants("in", priority=8, walltime=walltime))
        assert outcome(cluster) == (("preempt", "priority") if goes else ("wait", "value")), walltime
    assert (
        outcome(policy(N1, A, saving("old", "n1", 5), wants("in", priority=8, walltime="1s"), **FREE))[0] == "preempt"
    )


def test_of_all_victims_only_those_by_class_count_against_the_limits() -> None:
    lent = (node("n1", "a"), node("n2", "a"), node("n3"), A, B)
    works = (saving("x", "n1", 99, queue="b"), saving("y", "n2", 99, queue="b"), saving("z", "n3", 5, queue="b"))
    claimant = wants("in", 3, queue="a", priority=8, walltime="1m")

    assert cede.plan(policy(*lent, *works, claimant, max_victims=1)).victims == {"x", "y", "z"}
    assert outcome(policy(*lent, *works, claimant, max_victims=0)) == ("wait", "max-victims")


@pytest.mark.parametrize("digits", [1, 7, 18, 400])
def test_a_limit_far_above_all_candidates_is_none(digits: int) -> None:
    large = nodes("n1 n2", memory="2Ti")
    halves = [part(name, on, priority=1, memory="1Ti") for name, on in [("a1", "n1"), ("a2", "n1"), ("a3", "n2")]]

    others = part("b", "n2", priority=9, memory="1Ti"), shares("in", priority=8, memory="2Ti")
    cluster = policy(*large, A, *halves, *others, max_victims=int("9" * digits), **FREE)

    assert {victim.workload for victim in decided(cluster, "in").victims} == {"a1", "a2"}


def test_what_is_freed_counts_with_what_is_idle() -> None:
    entries = (*nodes("n1 n2 n3"), A, whole("x", "n1", priority=1), whole("y", "n2", priority=1))

    assert len(cede.plan(policy(*entries, wants("in", 2, priority=8))).victims) == 1


def test_a_victim_set_must_suit_the_topology() -> None:
    """The cheap ones stand in two groups."""
    entries = (*nodes("g1 g2", group="g"), *nodes("h1 h2", group="h"), A, saving("a1", "g1", 1), saving("a2", "h1", 1))
    works = (saving("b1", "g2", 9), saving("b2", "h2", 8))
    cluster = policy(*entries, *works, wants("in", 2, priority=8, placement="tight"), topology="group", **FREE)

    assert cede.plan(cluster).victims == {"a2", "b2"}
    loose = policy(*entries, *works, wants("in", 2, priority=8), topology="group", **FREE)
    assert cede.plan(loose).victims == {"a1", "a2"}


def test_work_that_lost_nothing_yet_is_the_cheapest_victim() -> None:
    fresh = whole("fresh", "n1", priority=1, checkpoint=NONE, started=0, walltime="1h")
    cluster = policy(
        N1, N2, A, fresh, whole("saves", "n2", priority=1, started=0, walltime="1h"), wants("in", priority=8)
    )

    assert cede.plan(cluster).victims == {"fresh"}


# -- turns -------------------------------------------------------------------------------------------------------------


def test_room_that_a_claimant_holds_is_not_given_to_the_next() -> None:
    entries = (N1, A, whole("old", "n1", priority=1), wants("first", priority=9), wants("in", priority=8))

    assert actions(policy(*entries)) == {"first": "preempt", "in": "wait"}


def test_parts_of_nodes_are_shared_and_freed_in_parts() -> None:
    four = [part(f"w{at}", "n1", priority=at) for at in range(4)]
    plan = cede.plan(policy(N1, A, *four, shares("in", gpu=2, priority=8)))

    assert plan.victims == {"w0", "w1"}


def test_a_suspended_workload_queues_like_a_pending_one() -> None:
    assert actions(policy(N1, A, wants("in", state="suspended"))) == {"in": "start"}


def test_a_file_without_nodes_has_room_for_everybody() -> None:
    assert actions(policy(A, shares("in"))) == {"in": "start"}


def test_a_node_kept_for_another_is_not_used() -> None:
    cluster = policy(node("n1", reserved_for="keeps"), A, wants("in", priority=9), wants("keeps", priority=1))

    assert actions(cluster) == {"in": "wait", "keeps": "start"}
