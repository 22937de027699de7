"""Nodes besides quotas: a plan satisfies both, and says which of the two was short."""

from typing import Any

import pytest

import cede
from tests.builders import (
    Entry,
    actions,
    decided,
    kueue,
    node,
    pending,
    preempting,
    queue,
    running,
    verdicts,
)

ALL = {"within": "LowerPriority", "reclaim": "Any"}
TWO = [{"resources": ["cpu"], "flavors": ["spot", "fast"]}]


def lawful(cluster: cede.Cluster) -> cede.Cluster:
    """The same cluster, whose plan and all that follows from it is lawful."""
    assert cede.verify(cluster, cede.plan(cluster)) == []
    cede.settle(cluster)
    return cluster


def flavored(spot: int = 9, fast: int = 9, **values: Any) -> Entry:
    return queue("q", guaranteed={"cpu@spot": spot, "cpu@fast": fast}, resource_groups=TWO, **values)


def parts(*sizes: int) -> list[dict[str, object]]:
    return [{"name": f"p{number}", "count": 1, "requests": {"cpu": size}} for number, size in enumerate(sizes)]


# -- both must be there ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quota", "room", "why"),
    [
        (4, 4, "it fits now: quota of q: cpu 2 asked, 4 available"),
        (1, 4, "quota is short (cpu 2 asked, 1 available), nodes are not; "),
        (4, 1, "nodes are short (closest is n1: cpu 2 asked, 1 free), quota is not; "),
        (1, 1, "quota is short (cpu 2 asked, 1 available) and so are nodes (closest is n1: cpu 2 asked, 1 free); "),
    ],
)
def test_the_sentence_says_whether_quota_or_nodes_were_short(quota: int, room: int, why: str) -> None:
    cluster = lawful(kueue(queue("q", cpu=4, within="LowerPriority"), queue("other", cpu=4), node("n1", cpu=4),
                           node("n2", cpu=4), running("a", "n2", queue="q", cpu=4 - quota),
                           running("b", "n1", queue="other", cpu=4 - room),
                           pending("in", queue="q", cpu=2, required_node="n1")))  # fmt: skip

    made = decided(cluster, "in")

    assert made.why.startswith(why)
    assert made.action == ("start" if (quota, room) == (4, 4) else "wait")


def test_quota_alone_is_not_enough_nor_are_nodes() -> None:
    cluster = lawful(kueue(queue("q", cpu=5), node("n1", cpu=4), node("n2", cpu=4), pending("a", cpu=3, submitted=-3),
                           pending("b", cpu=3, submitted=-2), pending("c", cpu=2, submitted=-1)))  # fmt: skip

    assert actions(cluster) == {"a": "start", "b": "wait", "c": "start"}


def test_one_who_loses_the_nodes_to_an_earlier_head_is_told_so() -> None:
    heads = (pending("first", queue="q", cpu=3, submitted=-1), pending("in", queue="r", cpu=3))
    cluster = lawful(kueue(queue("q", cpu=4), queue("r", cpu=4), node("n1", cpu=4), *heads))

    made = decided(cluster, "in")

    assert made.why == (
        "nodes are short (closest is n1: cpu 3 asked, 1 free), quota is not; it was free before those that come first "
        "in this cycle (takes: first)"
    )


# -- what can never be placed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"cpu": 5},
        {"cpu": 1, "required_node": "n2", "gpu": 1},
        {"cpu": 3, "members": 3},
        {"cpu": 1, "members": 3, "exclusive": True},
        {"cpu": 1, "constraints": {"labels": {"zone": "b"}}},
        {"pod_sets": parts(4, 4, 1)},
        {"pod_sets": parts(5, 1)},
    ],
)
@pytest.mark.parametrize("used", [0, 8])
def test_what_fits_no_nodes_even_if_empty_is_refused_whether_there_is_quota_or_not(
    asked: dict[str, object], used: int
) -> None:
    entries = (running("old", ["n1", "n2"], members=2, cpu=used // 2),) if used else ()
    cluster = lawful(kueue(queue("q", cpu=9, gpu=9, within="LowerPriority"), node("n1", cpu=4, gpu=1),
                           node("n2", cpu=4), *entries, pending("in", priority=1, **asked)))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.rule) == ("refuse", "kueue.fits-no-node")


def test_a_cordoned_node_could_hold_it_some_day() -> None:
    cluster = lawful(kueue(queue("q", cpu=9), node("n1", cpu=8, state="cordoned"), node("n2", cpu=2),
                           pending("in", cpu=4)))  # fmt: skip

    assert decided(cluster, "in").action == "wait"


def test_what_may_shrink_to_fit_an_empty_node_is_not_refused() -> None:
    shrinks = [{"name": "p", "count": 4, "min_count": 2, "requests": {"cpu": 2}}]
    cluster = lawful(kueue(queue("q", cpu=9), node("n1", cpu=4), pending("in", pod_sets=shrinks)))

    made = decided(cluster, "in")

    assert (made.action, made.counts, made.nodes) == ("start", {"p": 2}, ("n1", "n1"))


# -- flavors on nodes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spot", "fast", "flavor", "where"), [(4, 4, "spot", "s"), (2, 4, "fast", "f"), (4, 2, "spot", "s")]
)
def test_a_flavor_with_quota_but_full_nodes_is_passed_over(spot: int, fast: int, flavor: str, where: str) -> None:
    cluster = lawful(kueue(flavored(), node("s", cpu=spot, flavor="spot"), node("f", cpu=fast, flavor="fast"),
                           pending("in", cpu=3)))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.flavors, made.nodes) == ("start", {"cpu": flavor}, (where,))


def test_a_flavor_with_nodes_but_no_quota_is_passed_over() -> None:
    cluster = lawful(kueue(flavored(spot=2), node("s", cpu=9, flavor="spot"), node("f", cpu=4, flavor="fast"),
                           pending("in", cpu=3)))  # fmt: skip

    assert decided(cluster, "in").nodes == ("f",)


def test_a_flavor_whose_victims_make_quota_but_whose_nodes_are_too_small_is_passed_over() -> None:
    cluster = lawful(kueue(flavored(4, 4, **ALL), node("s1", cpu=2, flavor="spot"), node("s2", cpu=2, flavor="spot"),
                           node("f", cpu=4, flavor="fast"), running("x", ["s1", "s2"], members=2, **{"cpu@spot": 2}),
                           running("y", "f", **{"cpu@fast": 4}), pending("in", cpu=4, priority=1)))  # fmt: skip

    made = decided(cluster, "in")

    assert ({victim.workload for victim in made.victims}, made.nodes) == ({"y"}, ("f",))


def test_two_pod_sets_stand_in_different_flavors_on_different_nodes() -> None:
    cluster = lawful(kueue(flavored(), node("s", cpu=4, flavor="spot"), node("f", cpu=4, flavor="fast"),
                           pending("in", pod_sets=parts(3, 3))))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.nodes) == ("start", ("s", "f"))
    assert made.flavors == {"p0": {"cpu": "spot"}, "p1": {"cpu": "fast"}}


def test_pod_sets_that_pin_their_flavors_make_room_in_both() -> None:
    pinned: list[dict[str, object]] = [{"name": "a", "count": 2, "requests": {"cpu@spot": 2}},
                                       {"name": "b", "count": 1, "requests": {"cpu@fast": 3}}]  # fmt: skip
    cluster = lawful(kueue(flavored(9, 9, **ALL), node("s", cpu=4, flavor="spot"), node("f", cpu=4, flavor="fast"),
                           running("x", "s", **{"cpu@spot": 1}), running("y", "f", **{"cpu@fast": 3}),
                           running("z", "f", **{"cpu@fast": 1}),
                           pending("in", priority=1, pod_sets=pinned)))  # fmt: skip

    made = decided(cluster, "in")

    assert ({victim.workload for victim in made.victims}, made.nodes) == ({"x", "y"}, ("s", "s", "f"))


def test_after_settling_each_stands_in_the_flavor_it_was_given() -> None:
    cluster = kueue(flavored(4, 4), node("s", cpu=4, flavor="spot"), node("f", cpu=4, flavor="fast"),
                    pending("a", cpu=4, priority=3), pending("b", cpu=4, priority=2), pending("c", cpu=1))  # fmt: skip

    end = cede.settle(cluster)

    assert (end.running, set(end.pending)) == ({"a": ["s"], "b": ["f"]}, {"c"})


# -- victims on nodes ------------------------------------------------------------------------------------------------


def test_with_quota_to_spare_victims_are_taken_where_the_claimant_must_stand() -> None:
    cluster = lawful(kueue(queue("q", cpu=20, **ALL), node("n1", cpu=4), node("n2", cpu=4),
                           running("a", "n1", cpu=4), running("b", "n2", cpu=4),
                           pending("in", cpu=4, priority=1, required_node="n2")))  # fmt: skip

    made = decided(cluster, "in", explain=True)

    assert {victim.workload for victim in made.victims} == {"b"}
    assert verdicts(made)["a"] == ("not-needed", "not-needed")


@pytest.mark.parametrize(
    ("settings", "queue_of_it", "priority", "goes"),
    [
        ({"within": "LowerPriority"}, "q", 0, True),
        ({"within": "LowerPriority"}, "q", 1, False),
        ({"reclaim": "Any"}, "q", 0, False),
        ({}, "q", 0, False),
        ({"reclaim": "Any"}, "over", 9, True),
        ({"reclaim": "LowerPriority"}, "over", 9, False),
        ({"within": "LowerPriority"}, "over", 0, False),
        ({"reclaim": "Any"}, "within", 0, False),
    ],
)
def test_who_stands_in_the_way_goes_only_where_policies_allow_it(
    settings: dict[str, str], queue_of_it: str, priority: int, goes: bool
) -> None:
    cluster = lawful(kueue(queue("q", "pool", cpu=9, **settings), queue("over", "pool", cpu=0),
                           queue("within", "pool", cpu=9), node("n1", cpu=4),
                           running("x", queue=queue_of_it, cpu=4, priority=priority),
                           pending("in", queue="q", cpu=4, priority=1)))  # fmt: skip

    assert cede.plan(cluster).victims == ({"x"} if goes else set())


def test_one_who_asks_not_to_be_preempted_keeps_its_node() -> None:
    cluster = lawful(kueue(queue("q", cpu=9, **ALL), node("n1", cpu=4), running("x", cpu=4, preemptible=False),
                           pending("in", cpu=4, priority=1)))  # fmt: skip

    assert actions(cluster) == {"in": "wait"}


@pytest.mark.parametrize(("quota", "go"), [(8, {"a", "b"}), (9, {"a", "b"}), (10, {"b"}), (20, {"b"})])
def test_victims_are_spared_only_if_quota_and_nodes_allow_it(quota: int, go: set[str]) -> None:
    """On nodes b is enough; from 10 on, quota is enough with b alone as well."""
    cluster = lawful(kueue(queue("q", cpu=quota, **ALL), node("n1", cpu=4), node("n2", cpu=8),
                           running("a", "n1", cpu=4, started=-1), running("b", "n2", cpu=3, started=-2),
                           running("c", "n2", cpu=1, started=-3), pending("in", cpu=5, priority=1)))  # fmt: skip

    assert cede.plan(cluster).victims == go


def test_a_gang_takes_room_on_several_nodes_or_none() -> None:
    nodes = (node("n1", cpu=4), node("n2", cpu=4))
    low = (running("a", "n1", cpu=2, started=-1), running("b", "n2", cpu=4, started=-2))
    cluster = lawful(kueue(queue("q", cpu=20, **ALL), *nodes, *low, pending("in", members=3, cpu=2, priority=1)))

    made = decided(cluster, "in")

    assert ({victim.workload for victim in made.victims}, made.nodes) == ({"b"}, ("n1", "n2", "n2"))
    assert made.why.startswith("nodes are short (room for 1 of 3 members), quota is not; ")


def test_exclusive_members_clear_whole_nodes_and_are_charged_what_they_ask_for() -> None:
    cluster = lawful(kueue(queue("q", cpu=4, **ALL), node("n1", cpu=4), node("n2", cpu=4), running("a", "n1", cpu=1),
                           running("b", "n1", cpu=1), running("high", "n2", cpu=1, priority=9),
                           pending("in", cpu=1, exclusive=True, priority=1)))  # fmt: skip

    made = decided(cluster, "in")

    assert ({victim.workload for victim in made.victims}, made.nodes) == ({"a", "b"}, ("n1",))


def test_placement_counts_in_the_search_too() -> None:
    zones = tuple(node(f"{zone}{at}", cpu=4, labels={"group": zone}) for zone in ("g1", "g2") for at in (1, 2))
    cluster = lawful(kueue(queue("q", cpu=99, **ALL), *zones, running("a", "g11", cpu=4, started=-1),
                           running("b", "g21", cpu=4, started=-2), running("c", "g22", cpu=4, priority=9),
                           pending("in", members=2, cpu=4, placement="tight", priority=1)))  # fmt: skip

    made = decided(cluster, "in")

    assert ({victim.workload for victim in made.victims}, set(made.nodes)) == ({"a"}, {"g11", "g12"})


# -- several claimants -----------------------------------------------------------------------------------------------


def test_the_room_of_earlier_claimants_is_theirs() -> None:
    """The first one's victim leaves more than it needs; the second may have the rest, the third nothing."""
    cluster = lawful(kueue(queue("q", "pool", cpu=9, **ALL), queue("r", "pool", cpu=9), queue("s", "pool", cpu=9),
                           node("n1", cpu=4), running("x", queue="q", cpu=4),
                           pending("first", queue="q", cpu=3, priority=3), pending("second", queue="r", cpu=1,
                                                                                   submitted=-1),
                           pending("third", queue="s", cpu=1)))  # fmt: skip

    assert cede.plan(cluster).victims == {"x"}
    end = cede.settle(cluster)
    assert end.running == {"first": ["n1"], "second": ["n1"]}


def test_a_node_victim_is_not_taken_twice() -> None:
    cluster = lawful(kueue(queue("q", "pool", cpu=4, **ALL), queue("r", "pool", cpu=4, **ALL),
                           queue("c", "pool", cpu=0), node("n1", cpu=8), running("x", queue="c", cpu=4),
                           running("y", queue="c", cpu=4, priority=1), pending("a", queue="q", cpu=4, priority=5),
                           pending("b", queue="r", cpu=4, priority=4)))  # fmt: skip

    plan = cede.plan(cluster)

    assert [[victim.workload for victim in made.victims] for made in plan.decisions] == [["x"], ["y"]]


def test_a_victim_of_a_flavor_is_gone_from_that_flavor_for_the_next_claimant() -> None:
    one = {"resource_groups": [{"resources": ["cpu"], "flavors": ["spot"]}]}
    names = ("q", "r", "c")
    queues = [queue(name, "pool", guaranteed={"cpu@spot": 0 if name == "c" else 4}, **one, **ALL) for name in names]
    held = {"cpu": 4, "usage": {"cpu@spot": 4}}
    cluster = lawful(kueue(*queues, node("n1", cpu=8, flavor="spot"), running("x", queue="c", **held),
                           running("y", queue="c", priority=1, **held), pending("a", queue="q", cpu=4, priority=5),
                           pending("b", queue="r", cpu=4, priority=4)))  # fmt: skip

    assert cede.plan(cluster).victims == {"x", "y"}
    assert set(cede.settle(cluster).running) == {"a", "b"}


def test_what_is_leaving_a_node_already_is_waited_for() -> None:
    cluster = lawful(kueue(queue("q", cpu=9, **ALL), node("n1", cpu=4), preempting("x", cpu=4),
                           pending("in", cpu=4, priority=1), pending("next", cpu=4)))  # fmt: skip

    assert [made.rule for made in cede.plan(cluster).decisions] == ["kueue.awaits-victims", "kueue.behind-head"]
    assert cede.settle(cluster).running == {"in": ["n1"]}
