"""What is remembered from cycle to cycle: attempts to preempt, and sums that are kept up to date."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import find
from cede.doctrines.ytsaurus.memory import CycleMemory
from cede.engine.cycle import plan_state
from cede.engine.events import Requeued, Started, Ticked, apply
from cede.model.times import SECOND
from cede.state.build import build
from cede.state.columns import NEVER
from cede.state.state import State
from tests.builders import Entry, pending, running
from tests.properties.ytsaurus_clusters import cluster
from tests.unit.ytsaurus.small import docs, node, pool, starving

YTSAURUS = find("ytsaurus")
HELD = [running(f"b{at}", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]
ASKS = [pending(f"in{at}", queue="a", app="in", cpu=1, submitted=at) for at in range(2)]


def begun(*entries: Entry, **tree: Any) -> tuple[State, dict[str, Any]]:
    """A state, and nothing remembered of it."""
    given = docs(node("n1", cpu=4), starving("a", cpu=4), pool("b"), *HELD, *(entries or ASKS), **tree)
    return build(given.document), {}


def planned(state: State, memory: dict[str, Any]) -> dict[str | None, str]:
    """What is decided, by workload: the rule."""
    plan = plan_state(state, YTSAURUS, memory=memory)
    return {made.workload: made.rule.partition(".")[2] for made in plan.decisions}


def carry_out(state: State, memory: dict[str, Any]) -> None:
    """Victims go and claimants start, at once."""
    for made in plan_state(state, YTSAURUS, memory=memory).decisions:
        for victim in made.victims:
            apply(state, Requeued(victim.workload))
        if made.action in ("start", "preempt") and made.workload is not None:
            apply(state, Started(made.workload, made.nodes))


def test_a_plan_that_nobody_carried_out_may_be_made_again_at_the_same_moment() -> None:
    state, memory = begun()

    first = planned(state, memory)

    assert first == {"in0": "starving", "in1": "one-per-heartbeat"}
    assert planned(state, memory) == planned(state, memory) == first


def test_a_plan_that_was_not_carried_out_was_no_attempt() -> None:
    state, memory = begun()
    planned(state, memory)

    apply(state, Ticked(state.now + SECOND))

    assert planned(state, memory)["in0"] == "starving"


def test_a_vain_attempt_counts_once_time_has_gone_on() -> None:
    """With a threshold of 2 nobody is preemptible: the node tries at 0 s and finds nobody. At the same moment it may be
    asked again."""
    state, memory = begun(pending("in", queue="a", cpu=2), preemption_satisfaction_threshold=2)

    assert planned(state, memory) == planned(state, memory) == {"in": "no-room"}
    tried, _ = memory["ytsaurus"].nodes.settled(state, state.now)
    assert tried.tolist() == [NEVER]
    tried, _ = memory["ytsaurus"].nodes.settled(state, state.now + 1)
    assert tried.tolist() == [0]


def test_a_plan_that_was_carried_out_counts_at_once() -> None:
    state, memory = begun()

    carry_out(state, memory)

    assert planned(state, memory)["in1"] == "backoff"


@pytest.mark.parametrize(("carried_out", "tried"), [(True, [NEVER, 0]), (False, [NEVER, NEVER])])
def test_nodes_behind_the_first_preemption_have_tried_only_where_all_is_carried_out(
    carried_out: bool, tried: list[int]
) -> None:
    """On n2, which comes later, nobody may be preempted."""
    stays = running("stays", "n2", queue="b", app="b", cpu=4, started=-9, preemptible=False)
    held = [running(f"b{at}", "n1", queue="b", app="b", cpu=1, started=at - 9) for at in range(4)]
    given = docs(node("n1", cpu=4), node("n2", cpu=4), starving("a", cpu=4), pool("b"), *held, *ASKS, stays)
    state, memory = build(given.document), dict[str, Any]()

    plan = plan_state(state, YTSAURUS, memory=memory, carried_out=carried_out)

    assert [made.workload for made in plan.decisions if made.victims] == ["in0"]
    found, _ = memory["ytsaurus"].nodes.settled(state, state.now + 1)
    assert found.tolist() == tried


def test_a_question_about_one_workload_leaves_no_trace() -> None:
    """An answer to `--for`, or to what would be without some of those who wait, is no attempt."""
    state, memory = begun()
    planned(state, memory)
    apply(state, Ticked(state.now + 6 * SECOND))
    before = planned(copy.deepcopy(state), copy.deepcopy(memory))

    plan_state(state, YTSAURUS, memory=memory, whole=False)
    apply(state, Ticked(state.now + SECOND))

    assert planned(state, memory) == before


def fresh(memory: dict[str, Any]) -> dict[str, Any]:
    """The same clocks, with nothing else kept."""
    if "ytsaurus" not in memory:
        return {}
    kept: CycleMemory = memory["ytsaurus"].copy()
    kept.update, kept.following = None, False
    kept.nodes = copy.deepcopy(kept.nodes)
    return {"ytsaurus": kept}


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_what_is_kept_up_to_date_decides_like_what_is_made_anew(seed: int) -> None:
    """Fifteen cycles of 7 s, each of them planned both ways."""
    state, memory = build(cede.load(cluster(seed, "25.4" if seed % 2 else "docs")).document), dict[str, Any]()
    for _ in range(15):
        anew = plan_state(state, YTSAURUS, memory=fresh(memory), explain=True)
        followed = plan_state(state, YTSAURUS, memory=memory, explain=True)
        assert followed.to_dict() == anew.to_dict()
        assert followed.wakes_at == anew.wakes_at
        for made in followed.decisions:
            for victim in made.victims:
                apply(state, Requeued(victim.workload))
            if made.action in ("start", "preempt") and made.workload is not None:
                apply(state, Started(made.workload, made.nodes, made.flavors))
        apply(state, Ticked(state.now + 7 * SECOND))
