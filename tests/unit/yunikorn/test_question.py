"""What either edition asks of the exact solver about one of its decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.parts.question import Question
from cede.doctrines.yunikorn.question import question
from tests.builders import Entry, asking, laws, node, path, release, running

ROOT, MINE, THEIRS = path("root"), path("root.mine", cpu=2), path("root.theirs")


def asked(cluster: cede.Cluster, workload: str = "in") -> Question | None:
    plan = cede.plan(cluster)
    made = plan.of(workload)
    assert made is not None
    return question(cluster.state, plan.edition, made)


def theirs(name: str, on: str = "n1", cpu: int = 2, queue: str = "root.theirs", **values: Any) -> Entry:
    return running(name, on, queue=queue, cpu=cpu, submitted=-60, **values)


def weights(cluster: cede.Cluster, found: Question) -> dict[str, float]:
    names = [cluster.state.work_names[row] for row in found.rows.tolist()]
    return dict(zip(names, found.weights.tolist(), strict=True))


def test_one_that_opted_out_outweighs_all_originators_of_a_node_and_one_of_those_all_others() -> None:
    kinds: dict[str, dict[str, bool]] = {"plain": {}, "first": {"originator": True}, "out": {"preemptible": False}}
    both = {"both": {"originator": True, "preemptible": False}}
    work = [running(name, queue="root.theirs", cpu=1, submitted=-60, **flags) for name, flags in (kinds | both).items()]
    cluster = laws(node("n1", cpu=4), ROOT, MINE, THEIRS, *work, asking("in", "root.mine", cpu=1))
    found = asked(cluster)
    assert found is not None

    assert weights(cluster, found) == {"plain": 1, "first": 6, "out": 26, "both": 31}
    assert (found.one_node, found.places, found.by_order, found.relaxed) == (True, True, False, ())


def test_a_queue_that_could_fall_below_its_guarantee_is_a_condition_of_the_whole_set() -> None:
    kept = path("root.theirs", cpu=3)
    work = [theirs(name, cpu=2) for name in ("a", "b", "c")]
    found = asked(laws(node("n1", cpu=6), ROOT, MINE, kept, *work, asking("in", "root.mine", cpu=2)))
    assert found is not None

    [condition] = found.conditions

    assert condition.what == "law 2: root.theirs keeps its guaranteed cpu"
    assert (condition.adds.tolist(), condition.low, condition.high) == ([2, 2, 2], -np.inf, 3)


def test_where_only_a_limit_is_short_no_room_is_asked_for_and_the_one_node_is_left_out() -> None:
    queues = (ROOT, path("root.top", max={"cpu": 4}), path("root.top.mine", cpu=2), path("root.top.theirs"))
    work = (theirs("a", queue="root.top.theirs"), theirs("b", queue="root.top.theirs"))
    found = asked(laws(node("n1", cpu=4), node("n2", cpu=4), *queues, *work, asking("in", "root.top.mine", cpu=2)))
    assert found is not None

    [condition] = found.conditions

    assert (condition.what, condition.low) == ("the cpu of queue root.top", 2)
    assert not found.places
    assert found.relaxed


def test_release_1_9_goes_by_its_order_and_says_what_is_left_out() -> None:
    work = [running(name, "n1", queue="root.theirs", cpu=2, submitted=at) for name, at in (("old", -90), ("new", -60))]
    cluster = release(node("n1", cpu=4), ROOT, MINE, THEIRS, *work, asking("in", "root.mine", cpu=2))
    found = asked(cluster)
    assert found is not None

    assert (found.by_order, weights(cluster, found), len(found.relaxed)) == (True, {"new": 1, "old": 2}, 2)


@pytest.mark.parametrize("cluster", [laws, release])
def test_nothing_is_asked_about_who_starts(cluster: Callable[..., cede.Cluster]) -> None:
    assert asked(cluster(node("n1", cpu=4), ROOT, MINE, asking("in", "root.mine", cpu=2))) is None
