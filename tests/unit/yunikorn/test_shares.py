"""What `--shares` shows: usage, guarantees and what remains of them, headroom under limits, and whose turn it is."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, asking, laws, node, path, preempting, release
from tests.unit.yunikorn.claims import B, work

N9 = node("n1", cpu=9)


def shares(cluster: cede.Cluster) -> dict[str, Any]:
    return cede.plan(cluster, shares=True).to_dict()


TREE: tuple[Entry, ...] = (
    N9,
    path("root.p", cpu=4, max={"cpu": 6}),
    path("root.p.a", cpu=3),
    path("root.p.b", max={"cpu": 3}),
    path("root.c"),
    work("a", "root.p.a", cpu=1),
    work("b", "root.p.b", cpu=2),
    work("c", "root.c", cpu=2),
)


@pytest.mark.parametrize("edition", [laws, release])
def test_every_queue_has_its_numbers(edition: Any) -> None:
    """A leaf without a guarantee has what remains above it; headroom is the least on the path, at the root that of the
    nodes.
    """
    assert shares(edition(*TREE))["queues"] == {
        "root": {"usage": {"cpu": 5}, "headroom": {"cpu": 4}},
        "root.c": {"usage": {"cpu": 2}, "headroom": {"cpu": 4}},
        "root.p": {
            "usage": {"cpu": 3},
            "guaranteed": {"cpu": 4},
            "remaining_guarantee": {"cpu": 1},
            "headroom": {"cpu": 3},
        },
        "root.p.a": {
            "usage": {"cpu": 1},
            "guaranteed": {"cpu": 3},
            "remaining_guarantee": {"cpu": 2},
            "headroom": {"cpu": 3},
        },
        "root.p.b": {"usage": {"cpu": 2}, "remaining_guarantee": {"cpu": 1}, "headroom": {"cpu": 1}},
    }


def test_what_is_leaving_is_used_but_counts_no_more_against_the_guarantee() -> None:
    found = shares(laws(N9, path("root.a", cpu=3), preempting("gone", queue="root.a", cpu=2)))["queues"]["root.a"]

    assert (found["usage"], found["headroom"]) == ({"cpu": 2}, {"cpu": 7})
    assert (found["guaranteed"], found["remaining_guarantee"]) == ({"cpu": 3}, {"cpu": 3})


def test_amounts_are_exact() -> None:
    found = shares(laws(N9, path("root.a", cpu="100m", memory="1Gi"), work("a", "root.a", cpu="30m")))["queues"]

    assert found["root.a"]["remaining_guarantee"] == {"cpu": "70m", "memory": 1 << 30}


def test_the_turn_is_that_of_the_edition() -> None:
    """By the laws the older of two equals is first, in the release the queue that holds less of its guarantee."""
    both = (asking("old", "root.a", cpu=1, submitted=-99), asking("new", "root.b", cpu=1))
    entries = (N9, path("root.a", cpu=4), path("root.b", cpu=4), work("mine", "root.a"), *both)

    assert shares(laws(*entries))["workloads"] == {"old": {"turn": 1}, "new": {"turn": 2}}
    assert shares(release(*entries))["workloads"] == {"new": {"turn": 1}, "old": {"turn": 2}}


def test_shares_are_of_the_file_before_anything_is_decided() -> None:
    entries = (node("n1", cpu=2), path("root.a", cpu=4), B, work("old", "root.b"), asking("in", "root.a", cpu=2))
    found = shares(laws(*entries))

    assert found["decisions"][0]["action"] == "preempt"
    assert found["queues"]["root.a"]["usage"] == {}
    assert found["queues"]["root.b"]["usage"] == {"cpu": 2}
