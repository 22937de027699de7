"""Where the release does what nobody would expect: nothing asked for, last bits, stuck heads, parts of a unit."""

from typing import Any

import pytest

import cede
from tests.builders import Entry, actions, cohort, decided, fair, kueue, node, pending, queue, running
from tests.unit.kueue.rule_cases import LAST_BIT, NEXT, STUCK

BOTH = [{"resources": ["cpu", "gpu"], "flavors": ["x", "y"]}]
EQUAL_HEADS = (cohort("pool", cpu=17), queue("a", "pool", cpu=0), queue("b", "pool", cpu=0, weight=10),
               pending("ones", queue="a", cpu=1), pending("tens", queue="b", cpu=10, priority=1))  # fmt: skip
FINAL = {"strategies": ["LessThanOrEqualToFinalShare"]}


def warned(made: cede.Decision) -> set[str]:
    return {warning.rule for warning in made.warnings}


# -- requests for nothing --------------------------------------------------------------------------------------------

BORROWED = (
    queue("a", "pool", cpu=0, gpu=1, reclaim="Any", resource_groups=[BOTH[0] | {"flavors": ["default"]}]),
    queue("b", "pool", cpu=1, gpu=0),
    running("mine", queue="a", cpu=1),
    running("theirs", queue="b", gpu=1),
)
"""Of CPU a borrows; of GPU it does not, and b does."""


@pytest.mark.parametrize("requests", [{"gpu": 1}, {"gpu": 1, "cpu": 0}, {"gpu": 1, "fpga": 0}])
def test_a_request_for_nothing_does_not_make_a_borrower(requests: dict[str, int]) -> None:
    made = decided(kueue(*BORROWED, pending("in", queue="a", **requests)), "in")

    assert [(victim.workload, victim.reason) for victim in made.victims] == [("theirs", "InCohortReclamation")]


@pytest.mark.parametrize(
    ("requests", "flavors"),
    [
        ({"cpu": 2, "gpu": 0}, {"cpu": "y", "gpu": "y"}),
        ({"cpu": 0, "gpu": 1}, {"cpu": "x", "gpu": "x"}),
        ({"cpu": 0, "gpu": 0}, {"cpu": "x", "gpu": "x"}),
        ({"cpu": 2, "gpu@x": 0}, {"cpu": "y", "gpu": "x"}),
        ({"cpu": 2, "fpga": 0}, {"cpu": "y"}),
    ],
)
def test_nothing_has_the_flavor_of_its_group_or_the_first_one(
    requests: dict[str, int], flavors: dict[str, str]
) -> None:
    quota = {"cpu@x": 1, "cpu@y": 2, "gpu@x": 1, "gpu@y": 0}

    made = decided(kueue(queue("a", guaranteed=quota, resource_groups=BOTH), pending("in", **requests)), "in")

    assert (made.action, made.flavors) == ("start", flavors)


def test_nothing_has_no_flavor_that_the_resource_is_not_known_in() -> None:
    """The group lists x alone; y is known of CPU only, so that nothing of GPU is in x."""
    groups = [{"resources": ["cpu", "gpu"], "flavors": ["x"]}]
    cluster = kueue(queue("a", guaranteed={"cpu@x": 0, "cpu@y": 2}, max={"cpu": 5}, resource_groups=groups),
                    pending("in", cpu=2, gpu=0))  # fmt: skip

    assert decided(cluster, "in").flavors == {"cpu": "y", "gpu": "x"}
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_a_request_for_nothing_asks_no_node_for_the_resource() -> None:
    groups = [{"resources": ["cpu", "gpu"], "flavors": ["default"]}]
    quota = {"cpu@default": 2, "gpu@default": 1}
    cluster = kueue(node("n1", cpu=2), queue("a", guaranteed=quota, resource_groups=groups),
                    pending("in", cpu=2, gpu=0))  # fmt: skip

    assert decided(cluster, "in").nodes == ("n1",)
    assert cede.verify(cluster, cede.plan(cluster)) == []


# -- the last bit ----------------------------------------------------------------------------------------------------


def test_equal_shares_that_are_not_equal_as_doubles_are_not_equal() -> None:
    made = decided(fair(*LAST_BIT, **FINAL), "in")

    assert (made.action, warned(made)) == ("wait", {"kueue.rounding-decides"})


def test_the_recheck_of_the_final_set_compares_exact_fractions() -> None:
    made = decided(fair(*LAST_BIT, **FINAL, recheck_final_set=True), "in")

    assert ([victim.workload for victim in made.victims], made.warnings) == (["large"], ())


def test_shares_that_differ_clearly_are_no_matter_of_rounding() -> None:
    less = [entry for entry in LAST_BIT if entry.values["name"] != "mine"]
    made = decided(fair(*less, running("mine", queue="a", cpu=7), running("more", queue="b", cpu=1), **FINAL), "in")

    assert (made.action, made.warnings) == ("preempt", ())


def test_who_comes_first_may_be_a_matter_of_the_last_bit() -> None:
    [first, second] = cede.plan(fair(*EQUAL_HEADS)).decisions

    assert [first.workload, second.workload] == ["ones", "tens"]
    assert "tens would come before it" in first.warnings[0].why
    assert second.warnings == ()


def test_the_recheck_of_the_final_set_orders_heads_by_exact_fractions() -> None:
    decisions = cede.plan(fair(*EQUAL_HEADS, recheck_final_set=True)).decisions

    assert [(made.workload, made.warnings) for made in decisions] == [("tens", ()), ("ones", ())]


# -- heads that are stuck --------------------------------------------------------------------------------------------


def test_a_head_that_counts_as_fitting_and_does_not_keeps_its_queue_waiting() -> None:
    behind = pending("small", queue="a", cpu=1)

    assert actions(kueue(*STUCK, behind)) == {"in": "wait", "small": "wait"}
    assert decided(kueue(*STUCK, behind), "small").rule == "kueue.behind-head"


def test_with_the_other_preference_it_preempts() -> None:
    other = NEXT | {"preference": "BorrowingOverPreemption"}
    changed = [Entry(e.section, _with(e.values, other)) for e in STUCK]

    assert [victim.workload for victim in decided(kueue(*changed), "in").victims] == ["low"]


def _with(values: dict[str, Any], fungibility: dict[str, str]) -> dict[str, Any]:
    settings = values.get("settings")
    return values if settings is None else values | {"settings": settings | {"flavorFungibility": fungibility}}


def test_a_pod_set_that_needs_preemption_by_itself_frees_the_other_one() -> None:
    """The status of one pod set is lost; the other one's is not, and then all that is short is contested."""
    parts = [
        {"name": "one", "count": 1, "requests": {"cpu": 2, "gpu": 1}},
        {"name": "two", "count": 1, "requests": {"gpu": 1}},
    ]
    held = [entry for entry in STUCK if entry.section == "workloads" and entry.values["name"] == "low"]
    groups = [{"resources": ["cpu", "gpu"], "flavors": ["default"]}]
    own = queue("a", "pool", cpu=1, gpu=2, within="LowerPriority", fungibility=NEXT, resource_groups=groups)
    made = decided(kueue(cohort("pool", cpu=1), own, *held, running("too", queue="a", gpu=1),
                         pending("in", queue="a", pod_sets=parts, priority=1)), "in")  # fmt: skip

    assert {victim.workload for victim in made.victims} == {"low", "too"}


# -- pod sets before the one that fails ------------------------------------------------------------------------------


def test_pod_sets_before_the_one_that_fails_count_in_the_order_of_heads() -> None:
    parts = [
        {"name": "one", "count": 1, "requests": {"cpu": 5}},
        {"name": "two", "count": 1, "requests": {"cpu": 100}},
    ]
    heads = fair(
        cohort("root", cpu=13), cohort("left", "root"), queue("a", "left", cpu=0), queue("b", "left", cpu=0),
        queue("d", "root", cpu=0), running("old", queue="b", cpu=5), pending("fails", queue="a", pod_sets=parts),
        pending("small", queue="b", cpu=1), pending("large", queue="d", cpu=8),
    )  # fmt: skip

    assert actions(heads) == {"large": "start", "fails": "refuse", "small": "wait"}


# -- parts of a unit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "quota", "held", "asked", "action"),
    [
        ("memory", 2, "1500m", "500m", "preempt"),
        ("memory", 3, "1500m", "500m", "start"),
        ("memory", "1500m", 1, 1, "start"),
        ("cpu", 2, "1500m", "500m", "start"),
        ("cpu", 2, "1500100u", "499900u", "preempt"),
        ("cpu", "1999100u", "1500m", "500m", "start"),
    ],
)
def test_amounts_are_rounded_up(resource: str, quota: Any, held: Any, asked: Any, action: str) -> None:
    cluster = kueue(queue("a", within="LowerPriority", **{resource: quota}), running("old", usage={resource: held}),
                    pending("in", priority=1, **{resource: asked}))  # fmt: skip

    assert decided(cluster, "in").action == action
    assert cede.verify(cluster, cede.plan(cluster)) == []


@pytest.mark.parametrize(("members", "action"), [(2, "start"), (3, "preempt")])
def test_each_member_is_rounded_up_by_itself(members: int, action: str) -> None:
    cluster = kueue(queue("a", within="LowerPriority", memory=4), running("old", members=2, memory="300m"),
                    pending("in", members=members, memory="500m", priority=1))  # fmt: skip

    assert decided(cluster, "in").action == action
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_a_hard_limit_of_a_queue_is_exact() -> None:
    limited = queue("a", memory=9, max={"memory": "1500m"})

    assert actions(kueue(limited, pending("in", memory="1500m"))) == {"in": "start"}
    assert actions(kueue(limited, pending("in", memory="1501m"))) == {"in": "refuse"}
