"""What `--shares` shows: shares per mille of what a cohort can lend, and what every queue can still take."""

from typing import Any

import pytest

import cede
from tests.builders import Entry, cohort, fair, kueue, pending, queue, running


def shares(*entries: Entry) -> dict[str, dict[str, Any]]:
    """By queue, of a cluster with fair sharing; without it they are the same."""
    found = [cede.plan(cluster, shares=True).to_dict()["queues"] for cluster in (fair(*entries), kueue(*entries))]
    assert found[0] == found[1]
    result: dict[str, dict[str, Any]] = found[0]
    return result


TREE = (
    cohort("root", cpu=4),
    cohort("left", "root", weight=2),
    queue("a", "left", cpu=2, weight=0.5),
    queue("b", "left", cpu=4),
    queue("c", "root", cpu=6, lending_limit={"cpu": 4}, borrowing_limit={"cpu": 2}),
    running("x", queue="a", cpu=5),
    running("y", queue="b", cpu=3),
    running("z", queue="c", cpu=1),
)
"""Root lends 4 of its own, 6 of left and 4 of c: 14."""


@pytest.mark.parametrize(
    ("name", "quota", "usage", "available", "potential", "share", "borrowing"),
    [
        # a holds 3 above its quota, of 14, by half the weight; left holds 2 above its 6, of 14, by twice the weight
        ("a", 2, 5, 6, 14, 3000 / 14 / 0.5, True),
        ("b", 4, 3, 6, 14, 0, False),
        ("left", 6, 8, 6, 14, 2000 / 14 / 2, True),
        # of c 2 are not lent; it holds 1 of these, and may borrow 2 above its 6
        ("c", 6, 1, 7, 8, 0, False),
        ("root", 14, 8, 6, 14, 0, False),
    ],
)
def test_every_queue_has_its_numbers(
    name: str, quota: int, usage: int, available: int, potential: int, share: float, borrowing: bool
) -> None:
    found = shares(*TREE)[name]

    assert [found[key]["cpu"] for key in ("quota", "usage", "available", "potential")] == [
        quota,
        usage,
        available,
        potential,
    ]
    assert found["dominant_share"] == pytest.approx(share)
    assert found["borrowing"] is borrowing
    assert found["dominant_resource"] == ("cpu" if share else None)


@pytest.mark.parametrize(("used", "share"), [(0, 0), (1, 1e9)])
def test_a_queue_of_weight_zero_has_an_infinite_share_as_soon_as_it_borrows(used: int, share: float) -> None:
    found = shares(cohort("pool", cpu=4), queue("a", "pool", cpu=0, weight=0), running("x", queue="a", cpu=used))

    assert (found["a"]["dominant_share"], found["a"]["borrowing"]) == (share, bool(used))


def test_the_resource_borrowed_most_of_is_dominant_and_equal_ones_go_by_name() -> None:
    pool = (cohort("pool", cpu=10, gpu=4), queue("a", "pool", cpu=0, gpu=0), queue("b", "pool", cpu=0, gpu=0))
    found = shares(*pool, running("x", queue="a", cpu=1, gpu=1), running("y", queue="b", cpu=5, gpu=2))

    assert (found["a"]["dominant_resource"], found["a"]["dominant_share"]) == ("gpu", 250)
    assert (found["b"]["dominant_resource"], found["b"]["dominant_share"]) == ("cpu", 500)


def test_flavors_of_one_resource_count_together() -> None:
    found = shares(cohort("pool", guaranteed={"cpu@x": 6, "cpu@y": 2}),
                   queue("a", "pool", guaranteed={"cpu@x": 0, "cpu@y": 0}),
                   running("w", queue="a", usage={"cpu@x": 1, "cpu@y": 1}))  # fmt: skip

    assert found["a"]["dominant_share"] == 250


def test_a_queue_alone_has_no_share_and_no_more_than_its_quota() -> None:
    found = shares(queue("a", cpu=2), running("x", queue="a", cpu=3))["a"]

    assert (found["dominant_share"], found["borrowing"]) == (0, False)
    assert (found["available"], found["potential"]) == ({"cpu": 0}, {"cpu": 2})


def test_shares_are_those_of_the_file_before_any_decision() -> None:
    found = shares(queue("a", cpu=4), pending("in", queue="a", cpu=3))["a"]

    assert (found["usage"], found["available"]) == ({"cpu": 0}, {"cpu": 4})


def test_what_is_leaving_still_counts() -> None:
    found = shares(queue("a", cpu=4), running("x", queue="a", cpu=3, state="preempting"))["a"]

    assert (found["usage"], found["available"]) == ({"cpu": 3}, {"cpu": 1})
