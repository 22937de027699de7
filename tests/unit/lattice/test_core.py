"""Edition `core`: what the library computes, with a warning wherever the policy promises something else."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, actions, decided, verdicts
from tests.unit.lattice.small import FREE, NONE, core, node, nodes, part, policy, shares, tenant, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
N1, N2 = node("n1"), node("n2")
HALF = {"started": -1800, "walltime": "1h"}


def warned(cluster: cede.Cluster, name: str = "in") -> list[str]:
    return [warning.rule.partition(".")[2] for warning in decided(cluster, name).warnings]


# -- victims -----------------------------------------------------------------------------------------------------------


def test_the_cheapest_go_until_as_many_nodes_are_freed_as_are_wanted() -> None:
    works = (whole("x", "n1", **HALF), whole("y", "n2"), whole("z", "n3 n4"))
    made = decided(core(*nodes("n1 n2 n3 n4"), A, *works, wants("in", 3, priority=8)), "in")

    assert [victim.workload for victim in made.victims] == ["y", "z"]
    assert made.warnings == ()


def test_idle_nodes_are_not_counted() -> None:
    cluster = core(*nodes("n1 n2 n3"), A, whole("x", "n1"), whole("y", "n2"), wants("in", 2, priority=8))

    assert [victim.workload for victim in decided(cluster, "in").victims] == ["x", "y"]
    assert warned(cluster) == ["needless-victim"]


def test_no_more_than_max_victims_go_and_if_they_are_too_few_nobody_does() -> None:
    works = tuple(whole(f"w{at}", f"n{at}") for at in range(1, 5))
    entries = (*nodes("n1 n2 n3 n4"), A, *works, wants("in", 4, priority=8))

    assert decided(core(*entries), "in").rule == "lattice.max-victims"
    assert len(decided(core(*entries, max_victims=4), "in").victims) == 4


def test_class_and_sensitivity_are_all_that_protects() -> None:
    works = (whole("higher", "n1", priority=8), whole("flag", "n2", sensitive=True), whole("ten", "n3", priority=10),
             whole("shy", "n4", preemptible=False), whole("leaves", "n5", state="preempting"),
             whole("near", "n6", priority=7, checkpoint=NONE, started=-3590, walltime="1h"))  # fmt: skip
    made = decided(core(*nodes("n1 n2 n3 n4 n5 n6"), A, *works, wants("in", priority=8)), "in", explain=True)

    assert verdicts(made) == {
        "higher": ("protected", "lower-class-only"),
        "flag": ("protected", "sensitive"),
        "ten": ("protected", "sensitive"),
        "shy": ("protected", "opt-out"),
        "leaves": ("not-eligible", "running-only"),
        "near": ("victim", "priority"),
    }


def test_work_of_a_sensitive_vcluster_is_not_protected_by_that() -> None:
    quiet = vcluster("quiet", "sensitive")
    entries = (N1, A, quiet, whole("old", "n1", queue="quiet"), wants("in", queue="a", priority=8))

    assert cede.plan(core(*entries)).victims == {"old"}
    assert cede.plan(policy(*entries)).victims == set()


def test_there_is_neither_reclaim_nor_a_sensitive_claim() -> None:
    lent = (node("n1", "a"), A, B, whole("old", "n1", queue="b", priority=9))

    assert actions(core(*lent, wants("in", queue="a", priority=0))) == {"in": "wait"}
    claim = wants("in", queue="a", priority=0, sensitive=True, required_node="n1")
    assert actions(core(*lent, claim)) == {"in": "wait"}


def test_costs_are_whole_minutes() -> None:
    """Of two that lost 59 s and nothing the first by uid goes; in the policy the one that lost less."""
    works = (whole("a1", "n1", checkpoint=NONE, started=-59), whole("b1", "n2", checkpoint=NONE, started=0))
    entries = (N1, N2, A, *works, wants("in", priority=8))

    assert cede.plan(core(*entries)).victims == {"a1"}
    assert cede.plan(policy(*entries)).victims == {"b1"}


def test_a_walltime_of_less_than_a_minute_is_none() -> None:
    """Its checkpoint is all that `short` costs: 5, and `long` 6; one minute that is over costs 1005."""
    works = (whole("long", "n1", started=0, walltime="1h"), whole("short", "n2", started=-90, walltime="59s"))
    entries = (N1, N2, A, works[0], wants("in", priority=8))

    assert cede.plan(core(*entries, works[1])).victims == {"short"}
    assert cede.plan(core(*entries, whole("short", "n2", started=-90, walltime="1m"))).victims == {"long"}


def test_work_of_a_tenant_above_its_share_costs_half_if_it_has_a_burst_allowance() -> None:
    works = (whole("a1", "n1", tenant="t"), whole("b1", "n2", tenant="u"), whole("c1", "n3", tenant="u"))
    three = (*nodes("n1 n2 n3"), A, *works, wants("in", priority=8))

    def victims(**u: float) -> set[str]:
        return cede.plan(core(*three, tenant("t", share=0.1), tenant("u", **u))).victims

    assert victims(share=0.1, burst=0.5) == {"b1"}
    assert victims(share=0.7, burst=0.5) == {"a1"}
    assert victims(share=0.1) == {"a1"}
    assert victims(share=0.1, burst=0) == {"b1"}


# -- warnings ----------------------------------------------------------------------------------------------------------


def old(**values: Any) -> tuple[Entry, ...]:
    return N1, A, whole("old", "n1", **{"priority": 1, **values}), wants("in", priority=8)


@pytest.mark.parametrize(
    ("entries", "settings", "rules"),
    [
        (old(), {}, []),
        (old(started=-3300, walltime="1h"), {}, ["breaks-near-completion"]),
        (old(started=-3300, walltime="1h"), {"near_completion_threshold": "4m"}, []),
        (old(priority=7, checkpoint=NONE), {}, ["breaks-no-checkpoint"]),
        (old(priority=6, checkpoint=NONE), {}, []),
        ((node("n1", "s"), vcluster("s", "service"), A, whole("old", "n1", queue="s"),
          wants("in", queue="a", priority=8)), {}, ["breaks-service-at-home"]),
        ((node("n1", "a"), vcluster("s", "service"), A, whole("old", "n1", queue="s"),
          wants("in", queue="a", priority=8)), {}, []),
        ((N1, vcluster("s", "sensitive"), A, whole("old", "n1", queue="s"), wants("in", queue="a", priority=8)),
         {}, ["breaks-sensitive"]),
        ((*old()[:3], wants("in", priority=8, walltime="1m")), {}, ["breaks-value"]),
        ((*old()[:3], wants("in", priority=8, walltime="1m")), FREE, []),
        ((node("n1", zone="z"), N2, A, whole("old", "n2"), whole("high", "n1", priority=9),
          wants("in", priority=8, constraints={"labels": {"zone": "z"}})), {}, ["falls-short"]),
    ],
)  # fmt: skip
def test_a_promise_of_the_policy_that_is_broken_is_warned_of(
    entries: tuple[Entry, ...], settings: dict[str, Any], rules: list[str]
) -> None:
    cluster = core(*entries, **settings)

    assert decided(cluster, "in").action == "preempt"
    assert warned(cluster) == rules
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_parts_of_nodes_fall_short_where_others_stay() -> None:
    """One freed node is one wanted node to the library, though another still stands on it."""
    entries = (node("n1", gpu=4), A, part("low", "n1", gpu=1), part("high", "n1", gpu=3, priority=9))

    assert warned(core(*entries, shares("in", gpu=3, priority=8))) == ["falls-short"]
    assert actions(policy(*entries, shares("in", gpu=3, priority=8))) == {"in": "wait"}


# -- order -------------------------------------------------------------------------------------------------------------


def test_vclusters_are_served_in_the_order_of_their_names() -> None:
    entries = (N1, A, B, wants("low", queue="a", priority=1), wants("high", queue="b", priority=9), wants("none"))

    assert list(actions(core(*entries))) == ["none", "low", "high"]
    assert list(actions(policy(*entries))) == ["high", "low", "none"]


@pytest.mark.parametrize("kind", ["interactive", "sensitive"])
def test_interactive_and_sensitive_vclusters_go_by_submission(kind: str) -> None:
    works = (wants("x", priority=9, submitted=-10), wants("y", priority=1, submitted=-20))

    assert list(actions(core(N1, vcluster("a", kind), *works))) == ["y", "x"]
    assert list(actions(core(N1, vcluster("a", "hpc_batch"), *works))) == ["x", "y"]


def test_an_interactive_vcluster_stops_at_its_first_misfit_and_others_do_not() -> None:
    works = (whole("old", "n1", priority=9), wants("large", 2, submitted=-20), wants("small", submitted=-10))

    assert actions(core(N1, N2, vcluster("a", "interactive"), *works)) == {"large": "wait", "small": "wait"}
    assert actions(core(N1, N2, A, *works)) == {"large": "wait", "small": "start"}


@pytest.mark.parametrize("wish", [{"members": 10}, {"constraints": {"labels": {"zone": "z"}}}], ids=["size", "label"])
def test_one_that_could_never_fit_is_refused_and_still_stops_an_interactive_vcluster(wish: dict[str, Any]) -> None:
    works = (wants("never", submitted=-20, **wish), wants("small", submitted=-10))

    made = cede.plan(core(N1, N2, vcluster("a", "interactive"), *works))
    assert [(one.action, one.rule) for one in made.decisions][1] == ("wait", "lattice.behind-misfit")
    assert actions(core(N1, N2, vcluster("a", "interactive"), *works)) == {"never": "refuse", "small": "wait"}
    assert actions(core(N1, N2, A, *works)) == {"never": "refuse", "small": "start"}


def test_a_used_up_quota_stops_nobody_else_of_an_interactive_vcluster() -> None:
    poor = tenant("t", max_nodes=0)
    works = (wants("poor", submitted=-20, tenant="t"), wants("next", submitted=-10))

    assert actions(core(N1, poor, vcluster("a", "interactive"), *works)) == {"poor": "refuse", "next": "start"}


def test_nothing_is_reserved() -> None:
    """In half an hour `head` could have both nodes; an endless one takes its second one all the same."""
    entries = (N1, N2, A, whole("run", "n1", priority=9, **HALF), wants("head", 2, priority=8), wants("in"))

    assert actions(core(*entries)) == {"head": "wait", "in": "start"}
    assert actions(policy(*entries)) == {"head": "wait", "in": "wait"}


# -- placement ---------------------------------------------------------------------------------------------------------


def test_identical_nodes_are_preferred_and_the_largest_set_of_them_first() -> None:
    entries = (*nodes("n1 n2", fingerprint="x"), *nodes("n3 n4 n5", fingerprint="y"), node("n6"), A)

    assert set(decided(core(*entries, wants("in", 2)), "in").nodes) <= {"n3", "n4", "n5"}
    assert len(decided(core(*entries, wants("in", 4)), "in").nodes) == 4
    assert actions(core(*entries, wants("in", 4, sensitive=True))) == {"in": "wait"}


def test_a_sensitive_vcluster_takes_no_node_of_which_the_fingerprint_is_not_known() -> None:
    """Sensitive work of another vCluster takes nodes of one fingerprint too, and unknown ones count as one."""
    entries, quiet = (*nodes("n1 n2 n3"), node("n4", fingerprint="x")), vcluster("a", "sensitive")

    assert decided(core(*entries, quiet, wants("in")), "in").nodes == ("n4",)
    assert actions(core(*entries, quiet, wants("in", 2))) == {"in": "wait"}
    assert set(decided(core(*entries, A, wants("in", 3, sensitive=True)), "in").nodes) == {"n1", "n2", "n3"}
    assert actions(core(*entries, A, wants("in", 4, sensitive=True))) == {"in": "wait"}
    assert decided(core(*nodes("n1 n2 n3"), quiet, wants("in")), "in").rule == "lattice.one-fingerprint"
    assert actions(core(*nodes("n1 n2 n3"), A, wants("in", 2, sensitive=True))) == {"in": "start"}


def test_nodes_are_taken_by_name_and_not_by_what_would_be_left_on_them() -> None:
    entries = (node("n1", gpu=8), node("n2", gpu=4), node("n3", gpu=4), A)

    assert decided(core(*entries, wants("in")), "in").nodes == ("n1",)
    assert decided(core(*entries, wants("in", 2)), "in").nodes == ("n1", "n2")
    assert decided(policy(*entries, wants("in")), "in").nodes == ("n2",)


def test_services_fill_the_group_where_most_of_them_were_placed_then_the_next() -> None:
    """Whatever is identical, and whatever the nodes are called."""
    there = (*nodes("n1 n3", group="y", fingerprint="f"), *nodes("n2 n4", group="x"), *nodes("n5 n6", group="z"))
    works = (wants("one", submitted=-30), wants("two", submitted=-20), wants("three", submitted=-10))

    def placed(kind: str, *works: Entry) -> list[str]:
        plan = cede.plan(core(*there, vcluster("a", kind), *works, topology="group"))
        return [node for made in plan.decisions for node in made.nodes]

    assert placed("service", *works) == ["n2", "n4", "n1"]
    busiest = (wants("zone", submitted=-40, constraints={"nodes": ["n5"]}), works[0], works[1])
    assert placed("service", *busiest) == ["n5", "n6", "n2"]
    assert placed("interactive", *works) == ["n1", "n2", "n3"]
    assert placed("hpc_batch", *works) == ["n2", "n4", "n1"]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_quota_is_refused_and_a_full_queue_waits_as_in_the_policy() -> None:
    full = (N1, A, tenant("t", max_nodes=1), whole("old", "n1", tenant="t"))
    assert decided(core(*full, wants("in", tenant="t", priority=9)), "in").rule == "lattice.tenant-quota"

    limited = (N1, vcluster("a", "hpc_batch", max={"gpu": 4}), whole("old", "n1"))
    assert decided(core(*limited, wants("in", priority=9)), "in").rule == "lattice.queue-limit"


def test_who_never_preempts_does_not() -> None:
    assert decided(core(N1, A, whole("old", "n1"), wants("in", priority=9, preempts=False)), "in").rule == (
        "lattice.may-not-preempt"
    )


def mixed(*names: str) -> list[Entry]:
    """Nodes of which no two are identical, each in the group of its first letter."""
    return [node(name, group=name[0], fingerprint=name) for name in names]


def test_a_tight_gang_has_the_largest_group_if_that_has_room_and_else_the_largest_ones() -> None:
    groups = mixed("a1", "b1", "b2", "b3", "c1", "c2")
    small = core(*groups, wants("in", 2, placement="tight"), topology="group")
    large = core(*groups, wants("in", 5, placement="tight"), topology="group")

    assert decided(small, "in").nodes == ("b1", "b2")
    made = decided(large, "in")
    assert (made.action, set(made.nodes)) == ("start", {"b1", "b2", "b3", "c1", "c2"})
    assert cede.verify(large, cede.plan(large)) == []
    assert decided(policy(*groups, wants("in", 5, placement="tight"), topology="group"), "in").action == "refuse"


def test_one_that_is_spread_unevenly_starts_on_identical_nodes_and_else_waits_and_is_told_why() -> None:
    four = wants("in", 4, placement="spread")
    alike = core(node("a1", group="a"), *nodes("b1 b2 b3", group="b"), four, topology="group")
    others = core(*mixed("a1", "b1", "b2", "b3"), four, topology="group")

    assert decided(alike, "in").action == "start"
    assert cede.verify(alike, cede.plan(alike)) == []
    made = decided(others, "in")
    assert (made.action, made.rule) == ("wait", "lattice.no-room")
    assert "room for 4 of 4 members, but not with placement spread" in made.why


def test_victims_that_leave_no_even_shares_fall_short() -> None:
    """Four nodes are freed and wanted, three of them in one group."""
    works = (whole("old", "a1 b1 b2 b3"), wants("in", 4, placement="spread", priority=8))

    assert warned(core(*mixed("a1", "b1", "b2", "b3"), *works, topology="group")) == ["falls-short"]


def test_members_of_different_size_are_placed_by_the_same_order() -> None:
    parts = [{"name": name, "count": 1, "requests": {"gpu": gpus}} for name, gpus in (("small", 1), ("large", 4))]
    gang = wants("in", pod_sets=parts)
    there = mixed("a1", "b1", "b2", "c1", "c2", "c3")

    def placed(**wish: str) -> set[str]:
        entry = Entry(gang.section, gang.values | wish)
        return set(decided(core(*there, entry, topology="group"), "in").nodes)

    assert placed() == {"a1", "b1"}
    assert placed(placement="tight") == {"c1", "c2"}
    assert len({name[0] for name in placed(placement="spread")}) == 2
