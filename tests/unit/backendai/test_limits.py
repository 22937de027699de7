"""Limits above the nodes: a queue's max on every level, and what a tenant may hold."""

import pytest

import cede
from tests.builders import Entry, actions, cluster_of, decided, group, node, pending, running, tenant, verdicts

EDITIONS = ("bep-1014", "26.8")
NODE = node("n1", cpu=16)
LIMITED = group("rg", partition="default", max={"cpu": 8})


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("entries", "action"),
    [
        ((running("x", cpu=4, priority=50), pending("in", cpu=4)), "start"),
        ((running("x", cpu=4, priority=50), pending("in", cpu=5)), "wait"),
        ((running("x", cpu=4, priority=50), pending("in", cpu=2, members=3)), "wait"),
        ((pending("in", cpu=9),), "refuse"),
        ((pending("in", cpu=8),), "start"),
        ((running("x", cpu=4, state="reserved"), pending("in", cpu=5)), "wait"),
        ((running("x", cpu=4, state="preempting"), pending("in", cpu=5)), "wait"),
        ((running("x", cpu=4, priority=50, usage={"cpu": 8}), pending("in", cpu=1)), "wait"),
    ],
)
def test_a_queue_holds_no_more_than_its_max(edition: str, entries: tuple[Entry, ...], action: str) -> None:
    assert decided(cluster_of(LIMITED, NODE, *entries, edition=edition), "in").action == action


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_limits_of_all_queues_above_bind(edition: str) -> None:
    queues = (group("root", partition="default", max={"cpu": 8}), group("a", partition="default", parent="root"),
              group("b", partition="default", parent="root"))  # fmt: skip
    cluster = cluster_of(*queues, NODE, running("x", cpu=6, priority=50, queue="a"), pending("in", cpu=3, queue="b"),
                         edition=edition)  # fmt: skip

    assert decided(cluster, "in").why == "queue root holds 6 of at most 8 cpu, and it asks for 3"


@pytest.mark.parametrize("edition", EDITIONS)
def test_what_starts_in_this_cycle_counts(edition: str) -> None:
    cluster = cluster_of(LIMITED, NODE, pending("a", cpu=5, submitted=-2), pending("b", cpu=5), edition=edition)

    assert actions(cluster) == {"a": "start", "b": "wait"}


def test_the_first_edition_credits_the_claimants_own_victims() -> None:
    cluster = cluster_of(LIMITED, NODE, running("x", cpu=8, priority=1), pending("in", cpu=4, priority=9))

    assert actions(cluster) == {"in": "preempt"}
    assert decided(cluster, "in").why == (
        "queue rg holds 8 of at most 8 cpu, and it asks for 4; it has priority 9 and preempts x (priority 1)"
    )


def test_release_26_8_does_not() -> None:
    limited = group("rg", partition="default", max={"cpu": 8}, enabled=True)
    cluster = cluster_of(limited, NODE, running("x", cpu=8), pending("in", cpu=4, job_priority=9), edition="26.8")

    made = decided(cluster, "in", explain=True)

    assert (made.action, made.rule) == ("wait", "backendai.quota")
    assert verdicts(made) == {"x": ("protected", "quota")}


def test_a_victim_of_another_queue_gives_no_quota_back() -> None:
    queues = (LIMITED, group("other", partition="default"))
    cluster = cluster_of(
        *queues, NODE, running("theirs", cpu=8, priority=1, queue="other"),
        running("mine", cpu=8, priority=2, queue="rg"), pending("in", cpu=8, priority=9, queue="rg"),
    )  # fmt: skip

    assert cede.plan(cluster).victims == {"mine"}


def test_nodes_and_quota_may_both_be_short() -> None:
    queues = (LIMITED, group("other", partition="default"))
    cluster = cluster_of(
        *queues, node("n1", cpu=12), running("a", cpu=4, priority=1, queue="other"),
        running("b", cpu=2, priority=2, queue="rg"), running("c", cpu=6, priority=3, queue="rg"),
        pending("in", cpu=8, priority=9, queue="rg"),
    )  # fmt: skip

    assert cede.plan(cluster).victims == {"b", "c"}


def test_victims_for_the_quota_stand_on_nodes_the_claimant_may_use() -> None:
    cluster = cluster_of(LIMITED, node("n1", cpu=8), node("n2", cpu=8), running("x", "n2", cpu=8, priority=1),
                         pending("in", cpu=4, priority=9, constraints={"nodes": ["n1"]}))  # fmt: skip

    made = decided(cluster, "in", explain=True)

    assert (made.action, made.rule) == ("wait", "backendai.quota")
    assert verdicts(made) == {"x": ("not-eligible", "usable-nodes")}
    assert [miss.workload for miss in made.nearest_miss] == ["x"]


def test_a_sentence_about_a_limit_names_the_limits_owner_also_for_candidates() -> None:
    cluster = cluster_of(LIMITED, NODE, running("x", cpu=8, user="ann"),
                         pending("in", cpu=4, user="ann", job_priority=1), edition="26.8")  # fmt: skip

    [candidate] = decided(cluster, "in", explain=True).candidates or ()

    assert candidate.why.endswith("may not take it: queue rg holds 8 of at most 8 cpu, and it asks for 4")


# -- tenants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_tenant_holds_no_more_workloads_than_it_may(edition: str) -> None:
    cluster = cluster_of(tenant("t", max_workloads=2), NODE, running("x", cpu=1, tenant="t"),
                         pending("a", cpu=1, tenant="t", submitted=-2), pending("b", cpu=1, tenant="t"),
                         pending("c", cpu=1, tenant="other"), edition=edition)  # fmt: skip

    assert actions(cluster) == {"a": "start", "b": "wait", "c": "start"}
    assert decided(cluster, "b").why == "tenant t holds 2 of at most 2 workloads, and it asks for 1"


def test_a_tenant_may_swap_its_own_work_in_the_first_edition() -> None:
    cluster = cluster_of(tenant("t", max_workloads=1), NODE, running("x", cpu=1, tenant="t", priority=1),
                         running("y", cpu=1, priority=0), pending("in", cpu=1, tenant="t", priority=9))  # fmt: skip

    assert cede.plan(cluster).victims == {"x"}
    assert cede.verify(cluster, cede.plan(cluster)) == []
    assert cede.settle(cluster).running == {"in": ["n1"], "y": ["n1"]}


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_tenant_that_may_hold_nothing_is_refused(edition: str) -> None:
    cluster = cluster_of(tenant("t", max_workloads=0), NODE, pending("in", cpu=1, tenant="t"), edition=edition)

    assert decided(cluster, "in").why == "it asks for 1 workloads, and tenant t may never hold more than 0"


@pytest.mark.parametrize("edition", EDITIONS)
def test_whole_nodes_are_counted_also_those_taken_in_this_cycle(edition: str) -> None:
    nodes = [node(f"n{number}", cpu=1) for number in range(6)]
    gangs = [
        pending(f"g{number}", cpu=1, members=2, exclusive=True, tenant="t", submitted=number) for number in range(2)
    ]
    cluster = cluster_of(tenant("t", max_nodes=3), *nodes, *gangs, edition=edition)

    assert actions(cluster) == {"g0": "start", "g1": "wait"}
    assert decided(cluster, "g1").why == "tenant t holds 2 of at most 3 nodes, and it asks for 2"


@pytest.mark.parametrize("edition", EDITIONS)
def test_members_that_share_no_node_count_with_the_nodes_they_take(edition: str) -> None:
    gang, limited = pending("in", cpu=2, members=2, tenant="t"), tenant("t", max_nodes=1)
    small = cluster_of(limited, node("n1", cpu=2), node("n2", cpu=2), gang, edition=edition)
    busy = cluster_of(limited, node("n1", cpu=4), node("n2", cpu=4), running("x", "n1", cpu=2, priority=50),
                      running("y", "n2", cpu=2, priority=50), gang, edition=edition)  # fmt: skip

    assert decided(small, "in").why == "it asks for 2 nodes, and tenant t may never hold more than 1"
    assert decided(busy, "in").why == "tenant t holds 0 of at most 1 nodes, and it asks for 2"


def test_who_leaves_and_who_comes_in_his_place_share_their_quota() -> None:
    entries = (LIMITED, NODE, running("leaving", cpu=6, state="preempting"), running("coming", cpu=5, state="reserved"))

    assert actions(cluster_of(*entries, pending("in", cpu=2))) == {"in": "start"}
    assert actions(cluster_of(*entries, pending("in", cpu=3))) == {"in": "wait"}


def test_in_release_26_8_both_count() -> None:
    entries = (LIMITED, NODE, running("leaving", cpu=4, state="preempting"), running("coming", cpu=2, state="reserved"))

    assert actions(cluster_of(*entries, pending("in", cpu=2), edition="26.8")) == {"in": "start"}
    assert actions(cluster_of(*entries, pending("in", cpu=3), edition="26.8")) == {"in": "wait"}


# -- a file without nodes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_nodes_only_quota_is_decided(edition: str) -> None:
    cluster = cluster_of(LIMITED, running("x", cpu=4, priority=50), pending("a", cpu=4, submitted=-2),
                         pending("b", cpu=1), edition=edition)  # fmt: skip

    assert actions(cluster) == {"a": "start", "b": "wait"}
    assert decided(cluster, "a").nodes == ()
    assert decided(cluster, "a").why == "it fits now on its quota (the file has no nodes)"


def test_without_nodes_the_first_edition_preempts_for_quota() -> None:
    cluster = cluster_of(LIMITED, running("x", cpu=4, priority=2), running("y", cpu=4, priority=1),
                         pending("in", cpu=4, priority=9))  # fmt: skip

    assert cede.plan(cluster).victims == {"y"}
    assert cede.verify(cluster, cede.plan(cluster)) == []
