"""Partial admission: fewer members, where a pod set says how few will do."""

import pytest

import cede
from tests.builders import decided, kueue, node, pending, queue, running

LOWER = {"within": "LowerPriority"}


def part(name: str, count: int, least: int | None = None, cpu: int = 1) -> dict[str, object]:
    found: dict[str, object] = {"name": name, "count": count, "requests": {"cpu": cpu}}
    return found if least is None else found | {"min_count": least}


@pytest.mark.parametrize(
    ("quota", "parts", "counts"),
    [
        (6, [part("a", 6, 2)], {}),
        (5, [part("a", 6, 2)], {"a": 5}),
        (2, [part("a", 6, 2)], {"a": 2}),
        (7, [part("a", 6, 2, cpu=2)], {"a": 3}),
        (6, [part("a", 6, 2), part("b", 2)], {"a": 4}),
        (10, [part("a", 10, 2), part("b", 6, 2)], {"a": 6, "b": 4}),
        (12, [part("a", 10, 2), part("b", 6, 2)], {"a": 7, "b": 5}),
        (11, [part("a", 10, 2), part("b", 6, 2)], {"a": 6, "b": 4}),
        (8, [part("a", 8, 1), part("b", 4, 4)], {"a": 4}),
    ],
)
def test_pod_sets_that_may_shrink_do_so_by_the_same_part_as_little_as_works(
    quota: int, parts: list[dict[str, object]], counts: dict[str, int]
) -> None:
    cluster = kueue(queue("q", cpu=quota), pending("in", pod_sets=parts))

    made = decided(cluster, "in")

    assert (made.action, made.counts) == ("start", counts)
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_a_start_with_fewer_members_says_so() -> None:
    made = decided(kueue(queue("q", cpu=5), pending("in", pod_sets=[part("a", 6, 2)])), "in")

    assert made.why == "it fits now: quota of q: cpu 5 asked, 5 available; with fewer members: a 5"


@pytest.mark.parametrize(("quota", "action"), [(2, "start"), (1, "refuse")])
def test_only_what_is_too_large_at_its_least_is_refused(quota: int, action: str) -> None:
    cluster = kueue(queue("q", cpu=quota), pending("in", pod_sets=[part("a", 6, 2)]))

    assert decided(cluster, "in").action == action


def test_below_the_least_it_waits() -> None:
    cluster = kueue(queue("q", cpu=4), running("old", cpu=3), pending("in", pod_sets=[part("a", 6, 2)]))

    assert decided(cluster, "in").action == "wait"


def test_full_size_by_preemption_is_preferred_to_fewer_members_without() -> None:
    cluster = kueue(queue("q", cpu=6, **LOWER), running("low", cpu=3),
                    pending("in", priority=1, pod_sets=[part("a", 6, 2)]))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.counts, cede.plan(cluster).victims) == ("preempt", {}, {"low"})


def test_the_largest_size_that_finds_victims_is_taken_not_the_largest_that_fits() -> None:
    cluster = kueue(queue("q", cpu=6, **LOWER), running("low", cpu=2), running("high", cpu=2, priority=9),
                    pending("in", priority=1, pod_sets=[part("a", 6, 2)]))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.counts, cede.plan(cluster).victims) == ("preempt", {"a": 4}, {"low"})
    assert cede.verify(cluster, cede.plan(cluster)) == []


def test_fewer_members_need_fewer_nodes() -> None:
    cluster = kueue(queue("q", cpu=20), node("n1", cpu=2), node("n2", cpu=2), running("old", "n2", cpu=1),
                    pending("in", pod_sets=[part("a", 6, 2)]))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.counts, sorted(made.nodes)) == ("start", {"a": 3}, ["n1", "n1", "n2"])


def test_after_settling_it_runs_with_fewer_members_and_the_rest_is_free() -> None:
    cluster = kueue(queue("q", cpu=5, **LOWER), node("n1", cpu=9), running("low", cpu=2),
                    running("high", cpu=2, priority=9), pending("in", priority=1, pod_sets=[part("a", 3, 1, cpu=2)]),
                    pending("last", cpu=1))  # fmt: skip

    end = cede.settle(cluster)

    assert end.running == {"high": ["n1"], "in": ["n1"], "last": ["n1"]}
    assert [(one.victim, one.claimant) for one in end.preemptions] == [("low", "in")]


def test_one_that_was_admitted_with_fewer_is_charged_for_these_only() -> None:
    cluster = kueue(queue("q", cpu=5), pending("in", pod_sets=[part("a", 4, 1, cpu=2)], priority=1),
                    pending("last", cpu=1), pending("more", cpu=1))  # fmt: skip

    end = cede.settle(cluster)

    assert (set(end.running), set(end.pending)) == ({"in", "last"}, {"more"})


def test_a_preempted_one_asks_for_all_its_members_again() -> None:
    """`in` is admitted with 2 of 4, loses its place to `top`, and waits for as many as there are."""
    cluster = kueue(queue("q", cpu=4, **LOWER), queue("r", cpu=2), running("in", usage={"cpu": 2},
                    pod_sets=[part("a", 4, 3)], queue="q"), pending("top", cpu=4, priority=5, queue="q"))  # fmt: skip

    end = cede.settle(cluster)

    assert (set(end.running), end.pending) == ({"top"}, {"in": "kueue.no-victims"})
