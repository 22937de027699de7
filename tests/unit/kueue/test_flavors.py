"""Which flavor a workload gets: the order of flavors, when the search for one ends, and what is better than what."""

import pytest

import cede
from tests.builders import Entry, cohort, decided, kueue, pending, queue, running

ALL = {"within": "LowerPriority", "reclaim": "Any"}
BORROW_NEXT = {"whenCanBorrow": "TryNextFlavor"}
PREEMPT_STOP = {"whenCanPreempt": "MayStopSearch"}
BORROW_FIRST, PREEMPT_FIRST = (
    {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor", "preference": preference}
    for preference in ("BorrowingOverPreemption", "PreemptionOverBorrowing")
)


def standing(flavor: str, how: str) -> list[Entry]:
    """Who holds what so that 4 of this flavor fit, are borrowed, need victims or find none."""
    held = {f"cpu@{flavor}": 4}
    return {
        "fit": [],
        "borrow": [],
        "preempt": [running(f"low-{flavor}", queue="q", **held)],
        "reclaim": [running(f"other-{flavor}", queue="c", **held)],
        "none": [running(f"high-{flavor}", queue="q", priority=9, **held)],
    }[how]


def two(first: str, second: str, fungibility: dict[str, str] | None = None) -> cede.Cluster:
    """A queue with flavors x and y, in this order, in which things stand so."""
    how = {"x": first, "y": second}
    own = {f"cpu@{flavor}": 0 if what == "borrow" else 4 for flavor, what in how.items()}
    lent = {f"cpu@{flavor}": 4 for flavor, what in how.items() if what == "borrow"}
    groups = [{"resources": ["cpu"], "flavors": ["x", "y"]}]
    settings = {} if fungibility is None else {"fungibility": fungibility}
    return kueue(cohort("pool", guaranteed=lent), queue("q", "pool", guaranteed=own, resource_groups=groups, **ALL,
                                                        **settings),
                 queue("c", "pool", guaranteed={"cpu@x": 0, "cpu@y": 0}), *standing("x", first), *standing("y", second),
                 pending("in", queue="q", cpu=4, priority=5))  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "fungibility", "flavor", "action"),
    [
        ("fit", "fit", None, "x", "start"),
        ("none", "fit", None, "y", "start"),
        ("borrow", "fit", None, "x", "start"),
        ("borrow", "fit", BORROW_NEXT, "y", "start"),
        ("borrow", "none", BORROW_NEXT, "x", "start"),
        ("borrow", "preempt", BORROW_NEXT, "x", "start"),
        ("borrow", "preempt", BORROW_FIRST, "x", "start"),
        ("borrow", "preempt", PREEMPT_FIRST, "y", "preempt"),
        ("borrow", "none", PREEMPT_FIRST, "x", "start"),
        ("preempt", "fit", None, "y", "start"),
        ("preempt", "fit", PREEMPT_STOP, "x", "preempt"),
        ("preempt", "borrow", None, "y", "start"),
        ("preempt", "borrow", BORROW_FIRST, "y", "start"),
        ("preempt", "borrow", PREEMPT_FIRST, "x", "preempt"),
        ("preempt", "reclaim", None, "y", "preempt"),
        ("preempt", "reclaim", PREEMPT_STOP, "x", "preempt"),
        ("reclaim", "preempt", None, "x", "preempt"),
        ("preempt", "preempt", None, "x", "preempt"),
        ("preempt", "none", None, "x", "preempt"),
        ("none", "preempt", PREEMPT_STOP, "y", "preempt"),
        ("none", "borrow", PREEMPT_FIRST, "y", "start"),
    ],
)
def test_the_first_flavor_that_is_good_enough_is_taken_else_the_best(
    first: str, second: str, fungibility: dict[str, str] | None, flavor: str, action: str
) -> None:
    cluster = two(first, second, fungibility)

    made = decided(cluster, "in")

    assert (made.action, made.flavors) == (action, {"cpu": flavor})
    assert {victim.workload.rpartition("-")[2] for victim in made.victims} <= {flavor}
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_without_a_flavor_that_helps_it_waits() -> None:
    assert decided(two("none", "none"), "in").action == "wait"


# -- groups and order ------------------------------------------------------------------------------------------------


def test_resources_of_one_group_take_one_flavor_together() -> None:
    groups = [{"resources": ["cpu", "memory"], "flavors": ["x", "y"]}]
    quota = {"cpu@x": 4, "memory@x": "1Gi", "cpu@y": 4, "memory@y": "4Gi"}
    cluster = kueue(queue("q", guaranteed=quota, resource_groups=groups), pending("in", cpu=2, memory="2Gi"))

    assert decided(cluster, "in").flavors == {"cpu": "y", "memory": "y"}


def test_every_group_has_its_own_flavors() -> None:
    groups = [{"resources": ["cpu"], "flavors": ["x", "y"]}, {"resources": ["gpu"], "flavors": ["big", "small"]}]
    quota = {"cpu@x": 1, "cpu@y": 4, "gpu@big": 1, "gpu@small": 1}
    cluster = kueue(queue("q", guaranteed=quota, resource_groups=groups), pending("in", cpu=2, gpu=1))

    assert decided(cluster, "in").flavors == {"cpu": "y", "gpu": "big"}


def test_pod_sets_fill_one_flavor_before_the_next() -> None:
    parts = [{"name": name, "count": 1, "requests": {"cpu": 2}} for name in ("a", "b", "c")]
    groups = [{"resources": ["cpu"], "flavors": ["x", "y"]}]
    cluster = kueue(queue("q", guaranteed={"cpu@x": 4, "cpu@y": 4}, resource_groups=groups),
                    pending("in", pod_sets=parts))  # fmt: skip

    assert decided(cluster, "in").flavors == {"a": {"cpu": "x"}, "b": {"cpu": "x"}, "c": {"cpu": "y"}}


@pytest.mark.parametrize(
    ("listed", "taken"), [(None, ["a", "b", "z"]), (["z"], ["z", "a", "b"]), (["b", "a", "z"], ["b", "a", "z"])]
)
def test_flavors_that_no_group_lists_come_after_in_the_order_of_their_names(
    listed: list[str] | None, taken: list[str]
) -> None:
    groups = {} if listed is None else {"resource_groups": [{"resources": ["cpu"], "flavors": listed}]}
    quota = {"cpu@b": 1, "cpu@z": 1, "cpu@a": 1}
    three = [pending(f"p{at}", cpu=1, submitted=at) for at in range(3)]

    plan = cede.plan(kueue(queue("q", guaranteed=quota, **groups), *three))

    assert [made.flavors["cpu"] for made in plan.decisions] == taken


def test_a_flavor_that_only_one_resource_of_a_group_has_quota_in_counts_as_none_of_the_other() -> None:
    groups = [{"resources": ["cpu", "memory"], "flavors": ["x"]}]
    quota = {"cpu@x": 1, "memory@x": "1Gi", "cpu@y": 4}
    cluster = kueue(queue("q", guaranteed=quota, resource_groups=groups), pending("in", cpu=2, memory="1Gi"),
                    pending("cpus", cpu=2))  # fmt: skip

    assert decided(cluster, "in").action == "refuse"
    assert decided(cluster, "cpus").flavors == {"cpu": "y"}


# -- flavors that are named ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flavor", ["x", "y"])
def test_a_flavor_that_is_named_is_the_only_one_tried(flavor: str) -> None:
    quota = {"cpu@x": 4, "cpu@y": 4}
    cluster = kueue(queue("q", guaranteed=quota, **ALL), running("low", **{f"cpu@{flavor}": 4}),
                    pending("in", priority=5, **{f"cpu@{flavor}": 2}))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.flavors) == ("preempt", {"cpu": flavor})


@pytest.mark.parametrize("asked", [{"cpu@z": 1}, {"cpu@x": 1, "memory@y": 1}])
def test_a_flavor_that_is_named_but_cannot_be_had_is_refused(asked: dict[str, object]) -> None:
    groups = [{"resources": ["cpu", "memory"], "flavors": ["x", "y"]}]
    quota = {"cpu@x": 4, "cpu@y": 4, "memory@x": 4, "memory@y": 4}
    cluster = kueue(queue("q", guaranteed=quota, resource_groups=groups), pending("in", **asked))

    made = decided(cluster, "in")

    assert (made.action, made.rule) == ("refuse", "kueue.exceeds-max-quota")
    assert "no flavor of cpu" in made.why


# -- nothing of something --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gpus", "action"), [(0, "start"), (1, "refuse")])
def test_a_resource_without_quota_may_be_asked_for_nothing_of(gpus: int, action: str) -> None:
    cluster = kueue(queue("q", cpu=4), pending("in", cpu=1, gpu=gpus))

    made = decided(cluster, "in")

    assert made.action == action
    assert made.flavors.get("gpu") is None


@pytest.mark.parametrize("explain", [False, True])
def test_of_nothing_there_is_enough_even_where_too_much_is_taken(explain: bool) -> None:
    """Available is never below zero: a request for no gpu fits, though 3 of 1 are in use."""
    cluster = kueue(queue("q", cpu=4, gpu=1, **ALL), running("low", cpu=4), running("gpus", gpu=3, priority=9),
                    pending("in", cpu=4, gpu=0, priority=5))  # fmt: skip

    assert cede.plan(cluster, explain=explain).victims == {"low"}


def test_a_workload_that_asks_for_nothing_starts() -> None:
    assert decided(kueue(queue("q", cpu=0), pending("in", cpu=0)), "in").action == "start"


# -- from cycle to cycle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fungibility", "action"), [({}, "start"), (PREEMPT_STOP, "wait")])
def test_a_run_goes_on_after_the_flavor_last_tried(fungibility: dict[str, str], action: str) -> None:
    """In flavor x cpu could be reclaimed, so that the search for a flavor stops there; but gpus would be borrowed, and
    then nobody may be preempted. The next cycle goes on with y."""
    groups = [{"resources": ["cpu", "gpu"], "flavors": ["x", "y"]}]
    quota = {"cpu@x": 4, "gpu@x": 0, "cpu@y": 4, "gpu@y": 1}
    cluster = kueue(cohort("pool", guaranteed={"gpu@x": 1}),
                    queue("q", "pool", guaranteed=quota, resource_groups=groups, fungibility=fungibility, **ALL),
                    queue("c", "pool", guaranteed={"cpu@x": 0}), running("old", queue="c", **{"cpu@x": 4}),
                    pending("in", queue="q", cpu=4, gpu=1, priority=5))  # fmt: skip

    end = cede.settle(cluster)

    assert decided(cluster, "in").action == action
    assert (end.settled, set(end.running), end.preemptions) == (True, {"old", "in"}, ())


def test_a_run_ends_though_one_is_refused_that_has_flavors_left_to_try() -> None:
    """Of 11 members each pod set stops at another flavor, so that there is always one left to try."""
    parts = [{"name": name, "count": count, "requests": {"cpu": cpu, "gpu": gpu}}
             for name, count, cpu, gpu in (("a", 4, 1, 1), ("b", 2, 1, 2), ("c", 5, 2, 1))]  # fmt: skip

    cluster = kueue(cohort("root", guaranteed={"gpu@y": 6}), cohort("left", "root", guaranteed={"cpu@x": 3}),
                    queue("l", "left", guaranteed={"cpu@y": 6}),
                    queue("q", "root", guaranteed={"cpu@x": 7, "cpu@y": 0, "gpu@y": 2}),
                    pending("in", queue="q", pod_sets=parts))  # fmt: skip
    end = cede.settle(cluster, cycles=20)

    assert (end.settled, end.pending) == (True, {"in": "kueue.exceeds-max-quota"})


def test_a_run_ends_though_a_head_has_tried_all_its_flavors_in_vain() -> None:
    cluster = two("none", "none", PREEMPT_STOP)

    end = cede.settle(cluster)

    assert (end.settled, end.pending) == (True, {"in": "kueue.no-victims"})
