"""Moments at which the short ways once went astray; every step is compared with whole plans."""

from __future__ import annotations

from typing import Any

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Cancel, Exited, Fact, SetNode, Submit
from cede.engine.drive.options import Backfill, DriverOptions
from cede.engine.drive.terms import Terms
from tests.properties.twins import Twins, cluster, entry


def twins(*nodes: tuple[int, int], backfill: Backfill = "off", **keys: Any) -> Twins:
    return Twins(cluster(list(nodes), **keys), DriverOptions(at_once=True, walltimes=False, backfill=backfill))


def job(name: str, gpu: float | str = 1, terms: Terms | None = None, **keys: Any) -> Fact:
    made = {"queue": "b", "priority": 5, "requests": {"gpu": gpu}, **keys}
    return Submit(entry(name, made), terms or Terms())


def running(pair: Twins) -> list[str]:
    pair.look()
    return sorted(pair.world.running)


def test_a_name_that_is_used_again_is_somebody_else() -> None:
    pair = twins((1, 1))
    pair.feed(1, job("x", priority=20))
    pair.feed(1, job("y", priority=10), Exited("x", 1, 1), job("x", priority=0, exclusive=True))
    assert running(pair) == ["y"]


def test_a_name_that_is_used_again_by_one_that_is_alike_is_somebody_else_too() -> None:
    pair = twins((2, 1))
    pair.feed(1, job("x"), job("y"))
    pair.look()
    pair.feed(1, Exited("x", 1, 0), job("x", priority=7, uid="later"))
    assert running(pair) == ["x", "y"]


def test_one_that_is_lost_before_anybody_looked_queues_again() -> None:
    pair = twins((3, 1))
    pair.feed(1, job("x"))
    pair.feed(1, job("y"))
    pair.feed(1, Exited("y", 1, lost=True))
    assert running(pair) == ["x", "y"]


def test_drivers_that_are_made_again_have_everybody_in_place_once() -> None:
    pair = twins((4, 1))
    pair.feed(1, job("x"), job("y"))
    pair.restore()
    pair.look()
    pair.feed(1, job("z", 3))
    assert running(pair) == ["x", "y"]


def test_when_the_head_goes_those_behind_it_may_pass() -> None:
    pair = twins((4, 1), backfill="strict")
    pair.feed(1, job("x", 3))
    pair.feed(1, job("head", 4))
    pair.feed(1, job("y"))
    pair.feed(1, job("z"))
    assert sorted(pair.world.running) == ["x"]
    pair.feed(1, Cancel("head"))
    assert running(pair) == ["x", "y"]


def test_when_the_head_goes_the_next_may_preempt() -> None:
    pair = twins((4, 1))
    pair.feed(1, job("x", 3))
    pair.feed(1, job("head", 4, priority=9, preempts=False))
    pair.feed(1, job("y", 4, priority=8))
    pair.feed(1, Cancel("head"))
    assert sorted(pair.world.leaving) == ["x"]


def test_who_starts_ahead_of_the_head_gives_those_behind_it_more_time() -> None:
    pair = twins((4, 1), backfill="easy")
    pair.feed(1, job("x", 2, walltime=10, preemptible=False))
    pair.feed(1, job("head", 4, priority=6, walltime=10))
    pair.feed(1, job("y", 1, walltime=30))
    pair.feed(1, job("z", 1, walltime=200))
    assert sorted(pair.world.running) == ["x"]
    pair.feed(1, job("urgent", 1, priority=9, walltime=100))
    assert running(pair) == ["urgent", "x", "y"]


def test_jobs_that_start_with_the_head_in_sight_count_when_it_is_told_its_time() -> None:
    pair = twins((4, 4), (4, 4), backfill="easy")
    pair.feed(1, job("a", 4, walltime=5), job("b", 3, walltime=5), job("head", 4, members=2), job("y"))
    assert running(pair) == ["a", "b"]
    pair.feed(1, job("z", walltime=2))
    assert running(pair) == ["a", "b", "z"]


def test_one_that_waits_for_quota_is_no_head() -> None:
    pair = twins((4, 4), limit=1, backfill="easy")
    pair.feed(1, job("x", 1, queue="a", walltime=5, preemptible=False))
    pair.feed(1, job("quota", 1, queue="a", priority=9), job("head", 4), job("y", 1, walltime=20))
    assert running(pair) == ["x"]
    pair.feed(1, job("z", 1, walltime=2))
    assert running(pair) == ["x", "z"]


def test_who_would_delay_the_head_where_the_doctrine_puts_it_waits_and_takes_nothing() -> None:
    pair = twins((3, 6), (4, 8), backfill="easy")
    pair.feed(1, job("x", 3, walltime=20), job("y", 1, walltime=20, preemptible=False))
    pair.feed(1, job("head", 4), job("long", 1), job("short", 3, walltime=3))
    assert running(pair) == ["short", "x", "y"]


def test_ends_on_a_node_that_is_drained_make_no_room_elsewhere() -> None:
    pair = twins((2, 2), (2, 2), backfill="easy")
    pair.feed(1, job("x", 2, walltime=5), job("y", 1, walltime=50))
    gone = next(each.nodes[0] for each in pair.quick.jobs.values() if each.name == "x")
    pair.feed(1, SetNode(gone, "cordoned"))
    pair.feed(1, job("head", 2, walltime=5), job("z", 1, walltime=40))
    assert running(pair) == ["x", "y", "z"]


def test_a_finer_unit_changes_nothing_for_those_that_are_there() -> None:
    pair = twins((4, 4), (2, 2))
    pair.feed(1, job("x", 2), job("y", 2))
    pair.feed(1, job("z", "0.5"))
    pair.feed(1, job("v", 2))
    assert running(pair) == ["x", "y", "z"]


def test_room_of_one_that_may_not_be_preempted_is_asked_about_again_when_it_is_free() -> None:
    pair = twins((2, 2), (3, 3), (3, 3))
    for name, keys in (("a1", {"preemptible": False}), ("b1", {"preemptible": False}), ("c1", {"priority": 1})):
        pair.feed(1, job(name, 2, **keys))
    pair.feed(1, job("other", 2, members=2, priority=9), Cancel("other"))
    pair.feed(1, job("head", 2, members=2, priority=9))
    pair.feed(1, Exited("a1", 1, 0))
    assert sorted(pair.world.leaving) == ["c1"]


def test_members_that_differ_are_no_problem_beside_plain_ones() -> None:
    pair = twins((4, 4))
    parts = [{"name": "p", "count": 2, "requests": {"gpu": 1}}, {"name": "q", "count": 1, "requests": {"gpu": 2}}]
    pair.feed(1, Submit(entry("x", {"queue": "b", "pod_sets": parts})))
    assert running(pair) == ["x"]


def test_where_nobody_waits_no_plan_is_made() -> None:
    driver = Driver(cluster([(1, 2)]), 0, DriverOptions(at_once=True, walltimes=False))

    assert driver.feed(1, [job("x")]).plans == 1
    assert driver.feed(2, [Exited("x", 1, 0)]).plans == 0
    assert driver.feed(3, [job("y")]).plans == 1
    assert driver.jobs["y"].nodes
