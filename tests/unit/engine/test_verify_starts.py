"""A preemption in flavored quota is checked at the cost of what it touches, and no less strictly than as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import cede
from cede.doctrines.catalog import find
from cede.engine.cycle import plan_state
from cede.engine.verify import lawful_starts, verify_state
from cede.model.plan import Decision, Plan, Victim
from cede.state.state import State

Change = Callable[[Decision], Decision]


def preemption() -> tuple[State, Plan]:
    """`low` fills one node, `higher` the other, and an urgent one takes the room of the lower."""
    works = [
        {"name": "low", "priority": 1, "state": "running", "nodes": ["n1"]},
        {"name": "higher", "priority": 2, "state": "running", "nodes": ["n2"]},
        {"name": "urgent", "priority": 9},
    ]
    data = {
        "cede": 1,
        "doctrine": "kueue",
        "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
        "queues": [{"name": "q", "guaranteed": {"cpu": 8}, "settings": {"withinClusterQueue": "LowerPriority"}}],
        "workloads": [{"queue": "q", "requests": {"cpu": 4}} | work for work in works],
    }
    state = cede.load(data).state
    made = plan_state(state, find("kueue"), memory={})
    assert [victim.workload for victim in made.decisions[0].victims] == ["low"]
    return state, made


def test_a_lawful_preemption_is_found_lawful_by_what_it_touches() -> None:
    state, made = preemption()

    assert lawful_starts(state, made, whole=False)
    assert not lawful_starts(state, made, whole=True)  # whether the victim was needed is asked elsewhere
    assert verify_state(state, find("kueue"), made, whole=False) == []
    assert verify_state(state, find("kueue"), made) == []


CHANGES: dict[str, tuple[Change, str]] = {
    "it goes where the victim does not leave": (lambda made: replace(made, nodes=("n2",)), "oversubscribes cpu of n2"),
    "a victim is evicted twice": (
        lambda made: replace(made, victims=made.victims * 2),
        "low is evicted twice",
    ),
    "a victim is said to leave already": (
        lambda made: replace(made, victims=(replace(made.victims[0], leaving=True),)),
        "not leaving already",
    ),
    "a victim is nobody": (
        lambda made: replace(made, victims=(*made.victims, Victim("stranger", made.victims[0].reason))),
        "no workload is called stranger",
    ),
    "it is said to start": (lambda made: replace(made, action="start"), "start with 1 victims"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_wrong_is_told(what: str) -> None:
    state, made = preemption()
    change, words = CHANGES[what]
    wrong = replace(made, decisions=(change(made.decisions[0]), *made.decisions[1:]))

    assert not lawful_starts(state, wrong, whole=False)
    assert any(words in problem for problem in verify_state(state, find("kueue"), wrong, whole=False))
