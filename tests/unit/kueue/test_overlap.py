"""Who leaves makes way for whom room is held: the two overlap at every level of the quota tree, and count once."""

from collections.abc import Callable
from dataclasses import replace

import pytest

import cede
from cede.model.plan import Decision, Victim
from tests.builders import (
    Entry,
    actions,
    cohort,
    decided,
    fair,
    kueue,
    node,
    pending,
    preempting,
    queue,
    reserved,
    running,
)

ALL = {"within": "LowerPriority", "reclaim": "Any"}
MODES = (kueue, fair)
Mode = Callable[..., cede.Cluster]


def lawful(cluster: cede.Cluster) -> cede.Cluster:
    assert cede.verify(cluster, cede.plan(cluster)) == []
    return cluster


def usage(cluster: cede.Cluster, name: str) -> dict[str, object]:
    shares = cede.plan(cluster, shares=True).shares
    assert shares is not None
    found: dict[str, object] = shares["queues"][name]
    return found


# -- within one queue ------------------------------------------------------------------------------------------------

HELD = (running("stays", cpu=2, queue="q"), preempting("leaves", cpu=2, queue="q"),
        reserved("comes", cpu=2, queue="q", priority=5))  # fmt: skip
CROWDED = (queue("q", "pool", cpu=4), queue("b", "pool", cpu=2, **ALL), *HELD,
           running("other", cpu=2, queue="b", priority=9), pending("in", cpu=2, queue="b", priority=9))  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_a_queue_does_not_borrow_because_a_hold_and_its_victim_are_both_there(mode: Mode) -> None:
    cluster = mode(queue("q", "pool", cpu=4), queue("b", "pool", cpu=2, **ALL), *HELD,
                   pending("in", cpu=2, queue="b", priority=9))  # fmt: skip

    assert actions(lawful(cluster)) == {"in": "start"}
    assert usage(cluster, "q")["usage"] == {"cpu": 4}
    assert usage(cluster, "q")["borrowing"] is False


@pytest.mark.parametrize("mode", MODES)
def test_nobody_is_evicted_from_a_queue_that_seems_to_borrow_only_by_counting_twice(mode: Mode) -> None:
    cluster = mode(*CROWDED)

    assert actions(lawful(cluster)) == {"in": "wait"}


@pytest.mark.parametrize("mode", MODES)
def test_nobody_is_admitted_into_what_is_held(mode: Mode) -> None:
    cluster = mode(queue("q", cpu=4, within="LowerPriority"), *HELD, pending("in", cpu=1, queue="q"))

    made = decided(lawful(cluster), "in")
    assert made.rule == "kueue.no-victims"
    assert made.why.startswith("quota is short (cpu 1 asked, 0 available)")


@pytest.mark.parametrize("mode", MODES)
def test_the_room_that_a_leaving_one_makes_for_a_hold_is_not_waited_for_by_another(mode: Mode) -> None:
    cluster = mode(queue("q", cpu=4, within="LowerPriority"), *HELD, pending("in", cpu=2, queue="q", priority=3))

    made = decided(lawful(cluster), "in")
    assert (made.action, [victim.workload for victim in made.victims]) == ("preempt", ["stays"])


@pytest.mark.parametrize("mode", MODES)
def test_what_leaves_beyond_what_is_held_is_waited_for(mode: Mode) -> None:
    cluster = mode(queue("q", cpu=4, within="LowerPriority"), running("stays", cpu=1, queue="q", priority=5),
                   preempting("leaves", cpu=3, queue="q"), reserved("comes", cpu=2, queue="q", priority=5),
                   pending("in", cpu=1, queue="q", priority=3))  # fmt: skip

    assert decided(lawful(cluster), "in").rule == "kueue.awaits-victims"


@pytest.mark.parametrize("mode", MODES)
def test_who_takes_a_hold_needs_its_victim_gone_too(mode: Mode) -> None:
    cluster = mode(queue("q", cpu=4, within="LowerPriority"), running("stays", cpu=2, queue="q", priority=9),
                   preempting("leaves", cpu=2, queue="q"), reserved("comes", cpu=2, queue="q", priority=5),
                   pending("in", cpu=2, queue="q", priority=9))  # fmt: skip

    made = decided(lawful(cluster), "in")
    assert {victim.workload: victim.leaving for victim in made.victims} == {"leaves": True, "comes": False}


# -- across queues and cohorts ---------------------------------------------------------------------------------------


def across(*more: Entry) -> list[Entry]:
    """Of a cohort with a quota of six, b lent two to `leaves` and takes them back for `comes`."""
    return [queue("a", "pool", cpu=2, **ALL), queue("b", "pool", cpu=2, **ALL), queue("c", "pool", cpu=2, **ALL),
            running("a1", cpu=2, queue="a", priority=9), preempting("leaves", cpu=2, queue="a"),
            reserved("comes", cpu=2, queue="b", priority=5), *more]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_a_hold_in_one_queue_and_its_victim_in_another_count_once_in_their_cohort(mode: Mode) -> None:
    cluster = mode(*across(pending("in", cpu=2, queue="c")))

    assert actions(lawful(cluster)) == {"in": "start"}
    assert usage(cluster, "pool")["usage"] == {"cpu": 4}
    assert usage(cluster, "a")["usage"] == {"cpu": 4}


@pytest.mark.parametrize("mode", MODES)
def test_a_second_claimant_does_not_get_the_room_that_is_made_for_the_first(mode: Mode) -> None:
    cluster = mode(*across(running("c1", cpu=2, queue="c", priority=9), pending("in", cpu=1, queue="c", priority=9)))

    assert decided(lawful(cluster), "in").rule == "kueue.no-victims"


@pytest.mark.parametrize("mode", MODES)
def test_they_overlap_further_up_too(mode: Mode) -> None:
    cluster = mode(cohort("left", "root"), cohort("right", "root"), queue("a", "left", cpu=2),
                   queue("b", "right", cpu=2), queue("c", "right", cpu=2, **ALL), running("a1", cpu=2, queue="a"),
                   preempting("leaves", cpu=2, queue="a"), reserved("comes", cpu=2, queue="b"),
                   pending("in", cpu=2, queue="c"))  # fmt: skip

    assert actions(lawful(cluster)) == {"in": "start"}
    assert [usage(cluster, name)["usage"] for name in ("left", "right", "root")] == [{"cpu": 4}, {"cpu": 2}, {"cpu": 4}]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("asked", "action"), [(2, "start"), (3, "wait")])
def test_what_a_leaving_one_had_of_its_queue_s_own_part_makes_no_room_for_a_hold(
    mode: Mode, asked: int, action: str
) -> None:
    cluster = mode(queue("a", "pool", cpu=4, lending_limit={"cpu": 1}), queue("b", "pool", cpu=4, **ALL),
                   preempting("leaves", cpu=3, queue="a"), reserved("comes", cpu=3, queue="b"),
                   pending("in", cpu=asked, queue="b"))  # fmt: skip

    assert actions(lawful(cluster)) == {"in": action}
    assert usage(cluster, "pool")["usage"] == {"cpu": 3}


# -- limits, nodes, and the audit ------------------------------------------------------------------------------------


def test_a_queue_s_max_counts_them_once() -> None:
    cluster = kueue(queue("q", cpu=9, max={"cpu": 5}), *HELD, pending("in", cpu=1, queue="q"))

    assert actions(lawful(cluster)) == {"in": "start"}


def test_on_nodes_and_in_quota_the_same_room_is_held() -> None:
    cluster = kueue(node("n1", cpu=5), queue("q", cpu=5), *HELD, pending("in", cpu=1, queue="q"),
                    pending("more", cpu=1, queue="q"))  # fmt: skip

    assert actions(lawful(cluster)) == {"in": "start", "more": "wait"}


def test_the_audit_objects_to_a_start_in_held_quota() -> None:
    cluster = kueue(queue("q", cpu=4), *HELD, pending("in", cpu=1, queue="q"))
    start = Decision("in", "start", "kueue.fits", "it fits", flavors={"cpu": "default"})
    made = replace(cede.plan(cluster), decisions=(start,))

    assert cede.verify(cluster, made) == ["in: q has not 1000000000 nano-units of cpu@default for it"]


def test_the_audit_objects_to_a_victim_of_a_queue_that_does_not_borrow() -> None:
    cluster = kueue(*CROWDED)
    taken = Victim("stays", "InCohortReclamation")
    made = Decision("in", "preempt", "kueue.reclaim-within-cohort", "no room", (taken,), flavors={"cpu": "default"})

    complaints = cede.verify(cluster, replace(cede.plan(cluster), decisions=(made,)))
    assert "in: stays is of q, which is within its quota" in complaints
