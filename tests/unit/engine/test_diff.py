"""What changes between two plans."""

from __future__ import annotations

from typing import Any

import cede
from cede.engine.diff import Difference, diff, evictions
from cede.model.plan import Decision, Victim
from tests.builders import Entry, cluster_of, document_of, group, kueue, node, pending, preempting, queue, running

FULL = (
    group(preemptible_priority=5),
    node("n1", partition="default", cpu=8),
    running("low", cpu=4, priority=2),
    running("mid", cpu=4, priority=6),
    pending("in", cpu=4, priority=9),
    pending("next", cpu=4, priority=1),
)


def difference(*after: Entry, **keys: Any) -> Difference:
    return diff(cluster_of(*FULL), cluster_of(*after, **keys))


def sides(found: Difference) -> dict[str | None, tuple[str, str]]:
    return {
        change.workload: (
            change.before if isinstance(change.before, str) else change.before.action,
            change.after if isinstance(change.after, str) else change.after.action,
        )
        for change in found.changes
    }


def test_the_same_cluster_has_no_difference() -> None:
    found = difference(*FULL)

    assert (found.evicted, found.spared, found.displaced, found.changes) == ((), (), (), ())
    assert found.unchanged == 2


def test_another_entry_order_is_no_difference() -> None:
    assert difference(*reversed(FULL)).changes == ()


def test_a_workload_that_gives_way_only_now_is_evicted_and_the_one_before_is_spared() -> None:
    found = difference(*FULL[:2], running("low", cpu=4, priority=2, preemptible=False), *FULL[3:], edition="bep-1014")
    raised = diff(
        cluster_of(*FULL), cluster_of(group(preemptible_priority=6), *FULL[1:2], running("low", cpu=2), *FULL[3:])
    )

    assert [gone.workload for gone in found.spared] == ["low"]
    assert found.evicted == ()
    assert [(gone.workload, gone.claimant, gone.fate) for gone in raised.evicted] == [("mid", "in", "ended")]


def test_a_workload_that_is_left_out_is_neither_evicted_nor_spared() -> None:
    found = difference(*FULL[:2], *FULL[3:])

    assert (found.evicted, found.spared, found.displaced) == ((), (), ())
    assert sides(found) == {"in": ("preempt", "start"), "next": ("wait", "wait")}


def test_a_workload_that_is_added_was_absent() -> None:
    found = difference(*FULL, pending("extra", cpu=1, priority=50))

    assert sides(found)["extra"] == ("absent", "preempt")


def test_a_workload_that_lost_its_place_and_waits_is_displaced() -> None:
    found = difference(*FULL[:2], pending("low", cpu=4, priority=2), *FULL[3:])

    assert found.displaced == ("low",)
    assert sides(found)["low"] == ("running", "wait")


def test_other_numbers_in_the_sentence_are_no_change() -> None:
    found = difference(*FULL[:4], pending("in", cpu=4, priority=10), *FULL[5:])

    assert found.changes == ()
    assert found.unchanged == 2


LEAVING = (
    queue("q", cpu=4, within="LowerPriority"),
    preempting("gone", cpu=2),
    running("low", cpu=2),
    pending("in", cpu=4, priority=5),
)


def test_who_is_leaving_already_is_neither_evicted_nor_spared() -> None:
    alone = kueue(*LEAVING[:3])
    claimed = kueue(*LEAVING)
    there, back = diff(alone, claimed), diff(claimed, alone)

    assert cede.plan(claimed).victims == {"gone", "low"}
    assert [gone.workload for gone in there.evicted] == ["low"]
    assert [gone.workload for gone in back.spared] == ["low"]


def test_a_victim_that_is_leaving_already_in_one_plan_only_is_a_change() -> None:
    running_still = kueue(LEAVING[0], running("gone", cpu=2), *LEAVING[2:])
    found = diff(running_still, kueue(*LEAVING))

    assert sides(found) == {"in": ("preempt", "preempt")}
    assert (found.evicted, found.spared) == ((), ())


def test_an_eviction_has_the_victims_own_rule() -> None:
    own, same = Victim("a", "", rule="d.own"), Victim("b", "")
    made = Decision("in", "preempt", "d.rule", "", (own, same))

    assert [gone.rule for gone in evictions(made)] == ["d.own", "d.rule"]


def test_the_record_has_both_sides() -> None:
    found = difference(*FULL[:2], *FULL[3:]).to_dict()

    assert list(found) == ["before", "after", "evicted", "spared", "displaced", "changes", "unchanged"]
    assert found["before"] == {"doctrine": "backendai", "edition": "bep-1014", "now": 0}
    assert found["changes"][0]["before"]["action"] == "preempt"


def test_neither_cluster_is_changed() -> None:
    cluster = cede.load(document_of(*FULL))
    before = cluster.to_dict()
    diff(cluster, cluster)

    assert cluster.to_dict() == before
