"""Flavors and counts of a decision are carried out and checked, and who is leaving already is evicted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from cede.doctrines.backendai.doctrine import DOCTRINE as BACKENDAI
from cede.doctrines.catalog import DIALECTS, find
from cede.doctrines.document import parse_document
from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.engine.cycle import plan_state
from cede.engine.settle import _Run, settle_state
from cede.engine.verify import verify_state
from cede.model.plan import Decision, Plan, Settled, Victim
from cede.state.build import build
from cede.state.state import State

RULE = "kueue.as-told"
NODES = [
    {"name": "s1", "flavor": "spot", "capacity": {"cpu": 4}},
    {"name": "d1", "capacity": {"cpu": 4}},
]
QUEUE = {"name": "q", "max": {"cpu@spot": 4, "cpu@default": 4}}
GANG = {"name": "in", "queue": "q", "pod_sets": [{"name": "p", "count": 4, "min_count": 2, "requests": {"cpu": 1}}]}
ONE = {"name": "in", "queue": "q", "requests": {"cpu": 3}}


def state_of(*workloads: dict[str, Any], nodes: list[dict[str, Any]] = NODES) -> State:
    document = {"cede": 1, "doctrine": "kueue", "nodes": nodes, "queues": [QUEUE], "workloads": list(workloads)}
    return build(parse_document(document))


def told(decide: Callable[[Cycle], Iterator[Decision]]) -> Doctrine:
    """A doctrine of somebody else's making."""
    return replace(BACKENDAI, dialect=DIALECTS["kueue"], decide=decide, audit=lambda *_: lambda _: (), traits=Traits())


def made(action: str = "start", **keys: Any) -> Decision:
    return Decision("in", action, RULE, "it was told so", **keys)


def complaints(state: State, decision: Decision) -> list[str]:
    doctrine = told(lambda _: iter((decision,)))
    return verify_state(state, doctrine, plan_state(state, doctrine))


def settled(state: State, *decisions: Decision) -> Settled:
    """These decisions in the first cycle, as far as they still wait, and nothing after."""
    told_once: list[Decision] = list(decisions)

    def decide(cycle: Cycle) -> Iterator[Decision]:
        waiting = {cycle.state.work_names[row] for row in cycle.state.pending}
        while told_once:
            yield told_once.pop(0)
            waiting -= {decision.workload for decision in decisions}
        yield from (Decision(name, "wait", RULE, "nothing is left to tell") for name in sorted(waiting))

    return settle_state(state, told(decide), cycles=5, step=1_000_000)


LAWFUL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all members in a flavor": (GANG, {"nodes": ("s1",) * 4, "flavors": {"cpu": "spot"}}),
    "fewer of them": (GANG, {"nodes": ("d1",) * 2, "flavors": {"cpu": "default"}, "counts": {"p": 2}}),
    "a flavor for its pod set": (GANG, {"nodes": ("s1",) * 4, "flavors": {"p": {"cpu": "spot"}}}),
}


@pytest.mark.parametrize("case", LAWFUL)
def test_a_decision_is_lawful_that_gives(case: str) -> None:
    entry, keys = LAWFUL[case]

    assert complaints(state_of(entry), made(**keys)) == []


UNLAWFUL: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a node for each member it asked for, but fewer members": (
        GANG,
        {"nodes": ("s1",) * 4, "flavors": {"cpu": "spot"}, "counts": {"p": 2}},
        "in: 4 nodes for 2 members",
    ),
    "nodes of another flavor": (ONE, {"nodes": ("d1",), "flavors": {"cpu": "spot"}}, "in may not use d1"),
    "fewer members than it may have": (
        GANG,
        {"nodes": ("s1",), "flavors": {"cpu": "spot"}, "counts": {"p": 1}},
        "in may not have 1 members of p",
    ),
    "more members than it asks for": (
        GANG,
        {"nodes": ("d1",) * 5, "counts": {"p": 5}},
        "in may not have 5 members of p",
    ),
    "members of a pod set it does not have": (GANG, {"nodes": ("d1",) * 4, "counts": {"x": 5}}, "in has no pod set x"),
    "a flavor nobody has": (ONE, {"nodes": ("d1",), "flavors": {"cpu": "new"}}, "in gets cpu@new, which nobody offers"),
    "more than a limit of that flavor": (
        ONE | {"requests": {"cpu": 5}},
        {"nodes": ("s1",), "flavors": {"cpu": "spot"}},
        "in exceeds max cpu@spot of q",
    ),
}


@pytest.mark.parametrize("case", UNLAWFUL)
def test_a_decision_is_unlawful_that_gives(case: str) -> None:
    entry, keys, complaint = UNLAWFUL[case]

    assert complaint in complaints(state_of(entry), made(**keys))


def test_what_starts_holds_its_flavors_and_its_members() -> None:
    state = state_of(GANG)

    ended = settled(state, made(nodes=("s1",) * 2, flavors={"cpu": "spot"}, counts={"p": 2}))
    assert ended.running == {"in": ["s1", "s1"]}
    assert state.units.amounts(state.tree.usage[:, 0].tolist()) == {"cpu@spot": 2 * 10**9}


def test_a_claimant_starts_with_the_members_that_fit() -> None:
    low = {"name": "low", "queue": "q", "requests": {"cpu": 3}, "state": "running", "nodes": ["s1"]}
    fits = made("preempt", victims=(Victim("low", RULE),), nodes=("s1",) * 4, flavors={"cpu": "spot"})

    assert settled(state_of(low, GANG), fits).running == {"in": ["s1"] * 4}


def test_states_that_differ_in_flavors_alone_are_no_loop() -> None:
    waiting = {"name": "b", "queue": "q", "requests": {"cpu": 4}}
    state = state_of({"name": "a", "queue": "q", "requests": {"cpu": 4}, "state": "running"}, waiting, nodes=[])
    flavors = ["spot", "spot", "default", "default", "spot"]

    def by_turns(cycle: Cycle) -> Iterator[Decision]:
        (row,) = cycle.state.pending
        (victim,) = set(cycle.state.work_index) - {name := cycle.state.work_names[row]}
        flavor = flavors.pop(0)
        yield Decision(name, "preempt", RULE, "its turn", (Victim(victim, RULE),), flavors={"cpu": flavor})

    ended = settle_state(state, told(by_turns), cycles=4, step=1_000_000)
    assert (ended.loop, len(ended.preemptions)) == (None, 4)


# -- who is leaving already -----------------------------------------------------------------------------------------

LEAVES = {"name": "low", "queue": "q", "requests": {"cpu": 3}, "state": "preempting", "nodes": ["s1"]}
AGAIN = made("preempt", victims=(Victim("low", RULE, leaving=True),), nodes=("s1",), flavors={"cpu": "spot"})


def test_who_leaves_already_makes_room() -> None:
    assert complaints(state_of(LEAVES, ONE), AGAIN) == []


def test_who_leaves_already_makes_no_room_that_is_held_for_another() -> None:
    comes = {"name": "next", "queue": "q", "requests": {"cpu": 3}, "state": "reserved", "nodes": ["s1"]}

    assert complaints(state_of(LEAVES, comes, ONE), AGAIN) == ["in oversubscribes cpu of s1"]


def test_who_runs_does_not_leave_already() -> None:
    state = state_of(LEAVES | {"state": "running"}, ONE)

    assert complaints(state, AGAIN) == ["low is running, not leaving already"]


def test_who_leaves_already_leaves_once_and_is_not_counted() -> None:
    state = state_of(LEAVES, ONE)
    run = _Run(state, 1_000_000, find("kueue"))

    assert run.apply(1, Plan("kueue", "0.20", 0, (AGAIN,)))
    assert (run.preemptions, state.nodes_of(state.work_index["in"])) == ([], ["s1"])
    assert int(state.work.preempted[state.work_index["low"]]) == 1
    run.apply(2, Plan("kueue", "0.20", 0, (replace(AGAIN, workload=None),)))
    assert int(state.work.preempted[state.work_index["low"]]) == 1


def test_a_victim_says_whether_it_leaves_already() -> None:
    assert "leaving" not in Victim("low", RULE).to_dict()
    assert Victim("low", RULE, leaving=True).to_dict()["leaving"] is True
