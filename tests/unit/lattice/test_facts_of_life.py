"""Facts about the life of a workload, on a driver under Lattice: walltimes, requeues, races, nodes, checkpoints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import cede
from cede.doctrines.lattice import periodic_checkpoints
from cede.doctrines.lattice.settings import LatticeSettings
from cede.engine.drive.facts import Began, Exited, SetNode
from cede.engine.drive.terms import Requeue, Terms
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.lattice_worlds import lattice
from tests.unit.drive.worlds import terms
from tests.unit.lattice.fact_files import Fact, fact, facts_of, named
from tests.unit.lattice.small import node, policy, vcluster, wants, whole

KINDS = ("walltime", "requeue", "race", "checkpoint_policy", "checkpoint_decision")


# -- checkpoints that nobody asked for ---------------------------------------------------------------------------------

WORTH = [one for one in facts_of("checkpoint_decision") if "checkpoint" in one["expect"]]
RHYTHMS = [one for one in facts_of("checkpoint_policy") if "last_s_ago" in one["given"]]


def array(number: float) -> periodic_checkpoints.Floats:
    return np.array([number], np.float64)


@pytest.mark.parametrize("one", WORTH, ids=named)
def test_a_checkpoint_is_written_if_it_is_worth_more_than_it_costs(one: Fact) -> None:
    given, expect = one["given"], one["expect"]
    storage = periodic_checkpoints.Storage(
        given["gpu_mem_gib_per_node"], given["write_bw_gib_s"], given["cost_per_gib"]
    )
    nodes, gpus = array(given["nodes"]), array(given["nodes"] * given["gpus_per_node"])
    gib = periodic_checkpoints.size_gib(nodes, storage)
    cost = periodic_checkpoints.cost(periodic_checkpoints.write_seconds(gib, storage), gpus, gib, storage)
    class_, higher, fails = array(given["class"]), array(given["waiting_higher_jobs"]), given["failure_probability"]
    value = periodic_checkpoints.value(array(given["elapsed_s"]), gpus, nodes, class_, higher, given["backlog"], fails)

    assert cost == pytest.approx(float(expect["cost"]))
    assert value == pytest.approx(expect["value"])
    assert bool(value > cost) is expect["checkpoint"]


def test_how_large_a_checkpoint_is_and_how_long_it_takes() -> None:
    large, long = fact("lattice-172"), fact("lattice-173")
    sizes = periodic_checkpoints.size_gib(np.array(large["given"]["nodes"], np.float64))
    storage = periodic_checkpoints.Storage(gib_a_second=long["given"]["write_bw_gib_s"])

    assert sizes.tolist() == large["expect"]["size_gib"]
    assert periodic_checkpoints.write_seconds(array(long["given"]["size_gib"]), storage).tolist() == [
        long["expect"]["write_s"]
    ]


@pytest.mark.parametrize("one", RHYTHMS, ids=named)
def test_how_old_a_checkpoint_must_be_before_the_next_one_and_may_be(one: Fact) -> None:
    given, expect = one["given"], one["expect"]
    age = array(float("inf") if given["last_s_ago"] is None else given["last_s_ago"])
    rhythm = periodic_checkpoints.Rhythm(given.get("min_interval_s", 0), given.get("max_interval_s", 0))

    for name, told in (("due", periodic_checkpoints.due), ("allowed", periodic_checkpoints.allowed)):
        assert name not in expect or bool(told(age, rhythm)) is expect[name]


def test_how_often_those_are_asked_who_save_when_asked() -> None:
    for number, rhythm in (
        ("lattice-174", periodic_checkpoints.AUTO_RHYTHM),
        ("lattice-175", periodic_checkpoints.SENSITIVE_AUTO),
    ):
        expect = fact(number)["expect"]
        assert (rhythm.least_s, rhythm.most_s) == (expect["min_interval_s"], expect["max_interval_s"])


# -- walltime ----------------------------------------------------------------------------------------------------------


def phase_at(walltime: int, seconds: list[int], grace: int = 30) -> list[str | None]:
    """What one that runs has last been ordered to do, at each of these times after it began."""
    world = lattice(None)
    world.run("w", cpu=1, queue="a", walltime=walltime, terms=terms(grace_period=grace))
    found: list[str | None] = []
    for before, at in zip([0, *seconds], seconds, strict=False):
        world.wait(at - before)
        last = world.orders("w")[-1]
        found.append(None if last == "Launch" else last.lower())
    return found


@pytest.mark.parametrize("one", [fact("lattice-220"), fact("lattice-222")], ids=named)
def test_walltime_ends_in_a_signal_and_after_the_grace_in_another(one: Fact) -> None:
    given = one["given"]

    assert phase_at(given["walltime_s"], given["checks_s"], given.get("grace_s", 30)) == one["expect"]["phases"]


def test_who_is_gone_has_no_walltime() -> None:
    given = fact("lattice-221")["given"]
    world = lattice(None)
    world.run("w", cpu=1, queue="a", walltime=given["walltime_s"])
    world.exit("w")
    step = world.wait(given["at_s"])

    assert (step.orders, step.wakes_at) == ([], None)


def test_two_walltimes_are_told_apart() -> None:
    one = fact("lattice-223")
    world = lattice(None)
    for name, walltime in one["given"]["jobs"].items():
        world.run(name, cpu=1, queue="a", walltime=walltime)
    world.wait(one["given"]["at_s"])

    last = {name: world.orders(name)[-1].lower() for name in one["given"]["jobs"]}
    assert {name: None if word == "launch" else word for name, word in last.items()} == one["expect"]["phases"]


# -- requeue -----------------------------------------------------------------------------------------------------------


def failed(policy: Requeue, *, lost: bool = False, most: int = 3, times: int = 1) -> World:
    """One that failed so often: with its node, or by itself."""
    world = lattice(None)
    world.run("w", cpu=1, queue="a", terms=terms(requeue=policy, max_requeues=most))
    for attempt in range(times):
        if attempt:
            world.begin("w")
        world.exit("w", None if lost else 1, lost=lost)
        if world.phase("w") == "pending":
            world.retry("w")
    return world


REQUEUES: dict[str, Callable[[Fact], tuple[World, bool]]] = {
    "lattice-302": lambda given: (failed(given["policy"], lost=True), True),
    "lattice-303": lambda given: (failed(given["policy"]), True),
    "lattice-304": lambda given: (failed(given["policy"], most=given["max_requeue"], times=given["count"] + 1), False),
    "lattice-305": lambda given: (failed(given["policy"]), True),
    "lattice-308": lambda given: (failed("always", most=given["max_requeue"]), False),
    "lattice-310": lambda given: (failed(given["policy"], lost=True, most=given["max_requeue"]), True),
}
"""World after the failure, and whether it runs again. Of 305 Cede does what the document says, for batch work too."""


@pytest.mark.parametrize("number", REQUEUES)
def test_who_failed_queues_again_by_its_policy(number: str) -> None:
    one = fact(number)
    world, again = REQUEUES[number](one["given"])

    assert (world.phase("w") == "starting") is again
    assert (world.phase("w") == "failed") is not again
    if "requeued" in one["expect"]:
        assert again is one["expect"]["requeued"]
    if "count_delta" in one["expect"]:
        assert world.job("w").requeues == one["expect"]["count_delta"]


def test_a_requeue_forgets_where_it_was_and_keeps_when_it_came() -> None:
    """How it ended is known until it starts again."""
    world = lattice(None)
    world.run("w", cpu=4, queue="a", priority=1, terms=terms(requeue="always"))
    submitted = world.job("w").workload.submitted
    world.feed(SetNode("n1", "cordoned", "ann"), after=60)
    world.exit("w", 1, after=60)

    job = world.job("w")
    assert (job.phase, job.nodes, job.workload.submitted, job.requeues) == ("pending", (), submitted, 1)
    world.feed(SetNode("n1", "ready", "ann"))
    world.retry("w")
    job = world.job("w")
    assert (job.phase, job.workload.submitted, job.requeues) == ("starting", submitted, 1)
    assert (job.began, job.exit_code) == (None, None)
    assert {"assigned_nodes", "started_at", "exit_code"} <= set(fact("lattice-307")["expect"]["cleared"])


def test_who_queues_again_is_looked_at_in_the_next_cycle() -> None:
    """There is room for it beside the claimant already in the first one."""
    cluster = policy(vcluster("a"), node("n1", gpu=8), node("n2"), whole("old", "n1"), wants("in", gpu=8, priority=8))
    end = cede.settle(cluster, interval=60)

    assert [made.workload for made in cede.plan(cluster).decisions] == ["in"]
    assert (end.running, [one.at for one in end.preemptions]) == ({"in": ["n1"], "old": ["n2"]}, [1])
    assert fact("lattice-306")["expect"]["in_pending_set"] is False


# -- races -------------------------------------------------------------------------------------------------------------


def test_of_two_for_one_node_the_second_is_not_promised_it() -> None:
    world = lattice(None)
    world.submit("first", cpu=4, queue="a", priority=1)
    step = world.submit("second", cpu=4, queue="b", priority=1)

    assert world.job("first").nodes == ("n1",)
    assert (world.phase("second"), step.orders) == ("pending", [])
    assert fact("lattice-289")["expect"]["reproposes"] is False


def test_an_end_of_an_earlier_attempt_requeues_nobody() -> None:
    world = failed("always")
    world.begin("w")
    before = world.job("w").requeues
    step = world.feed(Exited("w", 1, 1, None))

    assert (step.transitions, world.job("w").requeues, world.phase("w")) == ([], before, "running")
    assert fact("lattice-291")["expect"]["accepted"] is False


def test_a_start_that_fails_is_tried_again_so_often() -> None:
    """As often as the library does; it counts as a failure of the node."""
    most = fact("lattice-315")["expect"]["code"]["max_dispatch_retries"]
    world = lattice(None)
    world.submit("w", cpu=1, queue="a")
    for attempt in range(1, most + 2):
        assert (world.phase("w"), world.process("w").attempt) == ("starting", attempt)
        world.exit("w", None, lost=True)
        if world.phase("w") == "pending":
            world.retry("w")

    assert world.phase("w") == "failed"


def test_the_same_report_twice_changes_nothing() -> None:
    world = lattice(None)
    world.run("w", cpu=1, queue="a")
    step = world.feed(Began("w", 1))

    assert (step.transitions, dict(step.changed), step.orders) == ([], {}, [])
    assert fact("lattice-294")["expect"] == {"accepted": True, "changed": False}


# -- nodes and checkpoints ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "word"), [("lattice-238", "cordoned"), ("lattice-239", "down")])
def test_a_node_that_is_ready_again_takes_work_again(number: str, word: str) -> None:
    world = lattice(None)
    world.feed(SetNode("n1", word, "ann"))
    world.submit("w", cpu=1, queue="a")
    assert world.phase("w") == "pending"

    world.feed(SetNode("n1", "ready", "ann"))

    assert (world.phase("w") == "starting") is fact(number)["expect"]["allowed"]


@pytest.mark.parametrize("number", ["lattice-174", "lattice-176"])
def test_how_long_a_checkpoint_may_take_and_be_put_off(number: str) -> None:
    """For both modes the same; of intervals and of a number of deferrals there are none."""
    expect, default = fact(number)["expect"], Terms()

    for key, seconds in (("checkpoint_timeout", expect["timeout_s"]), ("max_deferral", expect["max_deferral_s"])):
        assert getattr(default, key) == seconds * SECOND
        assert getattr(LatticeSettings(), key) == seconds * SECOND


def test_who_writes_no_checkpoints_is_not_asked_for_one() -> None:
    assert fact("lattice-177")["expect"]["enabled"] is False
    world = lattice(None)
    world.run("old", cpu=4, queue="a", priority=1, checkpoint={"mode": "none"})
    world.submit("new", cpu=4, queue="a", priority=8)

    assert world.orders("old") == ["Launch", "Terminate"]


def test_every_fact_about_life_is_one_of_these() -> None:
    assert {one["id"] for one in facts_of("walltime")} == {f"lattice-{number}" for number in (220, 221, 222, 223)}
    assert {one["id"] for one in facts_of("requeue")} == {*REQUEUES, "lattice-306", "lattice-307"}
    assert {one["id"] for one in facts_of("race")} == {f"lattice-{number}" for number in (289, 291, 294, 315)}
    rhythms = {one["id"] for one in RHYTHMS}
    assert {one["id"] for one in facts_of("checkpoint_policy")} == rhythms | {f"lattice-{n}" for n in (174, 176, 177)}
    nodes = {one["id"] for one in facts_of("state_transition") if one["given"]["machine"] == "node"}
    assert nodes == {"lattice-238", "lattice-239"}
