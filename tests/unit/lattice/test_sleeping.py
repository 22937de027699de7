"""Who sleeps though something moved: no room is cheap enough yet, or too few nodes could be freed."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.catalog import find
from cede.doctrines.lattice.waiting_line import LINES, Lines
from cede.engine.cycle import plan_acts, wordless
from cede.model.times import SECOND
from cede.state.trial import Trial
from tests.builders import Entry
from tests.unit.lattice.small import NONE, core, node, nodes, part, policy, shares, vcluster, wants, whole

A = vcluster("a", "hpc_batch")
LONG_AGO = {"checkpoint": NONE, "started": -36_000}


def acting(cluster: cede.Cluster, memory: dict[str, Any]) -> list[str]:
    """Who acts, as it is decided without words."""
    cycle = wordless(Trial(cluster.state), find("lattice"), memory)
    assert cycle is not None
    made = plan_acts(cycle, find("lattice"))
    return [] if made is None else [decision.workload or "" for decision in made.decisions]


def saved(cluster: cede.Cluster, name: str, at: int) -> None:
    """This one wrote a checkpoint then."""
    state = cluster.state
    row = state.work_index[name]
    state.work.checkpoint_last[row] = at * SECOND
    state.journal.move(row)


def test_a_claimant_wakes_when_a_victim_became_cheap_enough_and_not_before() -> None:
    old = part("old", "n1", gpu=4, priority=1, **LONG_AGO)
    cluster = policy(node("n1"), A, old, shares("in", gpu=4, priority=5, walltime="1h"))
    memory: dict[str, Any] = {}
    assert acting(cluster, memory) == []
    lines: Lines = memory[LINES]

    saved(cluster, "old", -18_000)  # what it would lose is still worth more than the claimant
    lines.follow()
    assert not lines.awake
    assert acting(cluster, memory) == []

    saved(cluster, "old", -60)
    lines.follow()
    assert [kind.form.priority for kind in lines.awake] == [5]
    assert acting(cluster, memory) == ["in"]


def test_a_claimant_that_would_pay_more_wakes_earlier() -> None:
    old = part("old", "n1", gpu=4, priority=1, **LONG_AGO)
    waiting = [shares(f"in-{hours}", gpu=4, priority=5, walltime=f"{hours}h") for hours in (1, 9)]
    cluster = policy(node("n1"), A, old, *waiting)
    memory: dict[str, Any] = {}
    assert acting(cluster, memory) == []

    saved(cluster, "old", -7_200)
    memory[LINES].follow()

    assert [kind.walltime // SECOND for kind in memory[LINES].awake] == [9 * 3600]
    assert acting(cluster, memory) == ["in-9"]


@pytest.mark.parametrize(("most", "awake"), [(3, False), (4, True)])
def test_the_library_looks_at_nobody_for_whom_as_many_as_may_go_hold_too_few_nodes(most: int, awake: bool) -> None:
    works = tuple(whole(f"w{at}", f"n{at}") for at in range(1, 5))
    cluster = core(*nodes("n1 n2 n3 n4"), A, *works, wants("in", 4, priority=8), max_victims=most)
    lines = Lines(cluster.state, "core", {})

    assert lines.running.victims(lines.kind_of(cluster.state.work_index["in"])) == awake


def test_who_was_taken_in_vain_frees_nothing_any_more() -> None:
    works = (whole("wide", "n1 n2", priority=2), whole("narrow", "n3", priority=2))
    cluster = core(*nodes("n1 n2 n3"), A, *works, wants("in", 2, priority=8))
    for taken, awake in (({"narrow"}, True), ({"wide"}, False)):
        lines = Lines(cluster.state, "core", {"fell_short": {"in": taken}})

        assert lines.running.victims(lines.kind_of(cluster.state.work_index["in"])) == awake


def test_who_took_all_in_vain_has_a_victim_again_when_one_more_runs() -> None:
    late, claimant = shares("late", gpu=1, priority=2), shares("in", gpu=4, priority=8)
    cluster = core(*nodes("n1 n2"), A, part("old", "n1", gpu=4, priority=2), late, claimant)
    state = cluster.state
    lines = Lines(state, "core", {"fell_short": {"in": {"old"}}})
    kind = lines.kind_of(state.work_index["in"])
    assert not lines.running.victims(kind)

    state.start(state.work_index["late"], [state.node_index["n2"]])
    lines.follow()

    assert lines.running.victims(kind)


@pytest.mark.parametrize(
    ("other", "home", "forms"),
    [
        (vcluster("b", "hpc_batch"), None, 1),
        (vcluster("b", "interactive"), None, 2),
        (vcluster("b", "hpc_batch", max={"gpu": 4}), None, 2),
        (vcluster("b", "hpc_batch"), "a", 2),
    ],
    ids=["alike", "of another type", "with a limit", "where nodes have homes"],
)
def test_the_policy_tells_work_apart_by_its_vcluster_only_where_that_decides(
    other: Entry, home: str | None, forms: int
) -> None:
    waiting = [shares(f"in-{name}", gpu=1, priority=5, queue=name) for name in "ab"]
    lines = Lines(policy(node("n1", home), A, other, *waiting).state, "policy", {})

    assert len(lines.live) == forms
