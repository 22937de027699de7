"""A plan that is carried out is checked in plain numbers: what is wrong with it is found there as by a whole check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import find
from cede.engine.cycle import plan_state
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Submit
from cede.engine.drive.options import DriverOptions
from cede.engine.verify import lawful_moves, verify_state
from cede.model.cluster import Workload
from cede.model.plan import Decision, Plan, Victim
from cede.state.state import State

Change = Callable[[Decision], Decision]


BACKENDAI = {
    "doctrine": "backendai",
    "queues": [{"name": "q", "settings": {"preemptible_priority": 5, "preemption_mode": "suspend"}}],
}
LIBRARY = {"doctrine": {"name": "lattice", "edition": "core"}, "queues": [{"name": "q"}]}


def state_of(*running: dict[str, Any], waiting: dict[str, Any], under: dict[str, Any] = BACKENDAI) -> State:
    """Two nodes with four cpus; of all workloads the state has a record."""
    nodes = [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")]
    data = {"cede": 1, "nodes": nodes, **under}
    driver = Driver(cede.load(data).document, 0, DriverOptions(at_once=True, walltimes=False, keeps=False))
    for number, keys in enumerate(running):
        driver.feed(number, [Submit(entry(**keys))])
    state = driver.state
    state.submit(entry(**waiting))
    assert len(state.records) == len(state.work_index)
    return state


def entry(name: str, cpu: int, priority: int, **keys: Any) -> Workload:
    given: dict[str, Any] = {"name": name, "uid": name, "queue": "q", "priority": priority, "submitted": 0}
    return Workload.model_construct(**given | {"requests": {"cpu": cpu * 10**9}} | keys)


def preemption() -> tuple[State, Plan]:
    """`low` fills one node, `higher` the other, and an urgent one takes the room of the lower."""
    state = state_of(
        {"name": "low", "cpu": 4, "priority": 1},
        {"name": "higher", "cpu": 4, "priority": 2},
        waiting={"name": "urgent", "cpu": 4, "priority": 9},
    )
    made = plan_state(state, find("backendai"), memory={})
    assert [victim.workload for victim in made.decisions[0].victims] == ["low"]
    return state, made


def test_a_lawful_preemption_is_found_lawful_without_the_columns() -> None:
    state, made = preemption()

    assert lawful_moves(state, made, whole=False, exact=True)
    assert verify_state(state, find("backendai"), made, whole=False) == []
    assert verify_state(state, find("backendai"), made) == []


@pytest.mark.parametrize(
    ("taken", "complaint"),
    [
        (("low", "higher"), "urgent would fit without the eviction of higher"),
        (("higher",), ""),
        (("small",), "urgent would fit without any eviction"),
    ],
)
def test_whoever_is_preempted_is_needed(taken: tuple[str, ...], complaint: str) -> None:
    """Seen in plain numbers where nobody is superfluous, and said by the whole check where somebody is."""
    name, cpu = ("small", 1) if taken == ("small",) else ("higher", 4)
    state = state_of(
        {"name": "low", "cpu": 4, "priority": 1},
        {"name": name, "cpu": cpu, "priority": 2},
        waiting={"name": "urgent", "cpu": 3, "priority": 9},
    )
    node = "n1" if taken[0] == "low" else "n2"
    victims = tuple(Victim(name, "backendai.lower-priority", "requeued") for name in taken)
    decision = Decision("urgent", "preempt", "backendai.lower-priority", "for a test", victims, (node,))
    made = Plan("backendai", "bep-1014", 0, (decision,), state.version)

    assert lawful_moves(state, made, whole=True, exact=True) == (not complaint)
    assert complaint in [*verify_state(state, find("backendai"), made), ""]
    assert lawful_moves(state, made, whole=False, exact=True)


CHANGES: dict[str, tuple[Change, str]] = {
    "it goes where the victim does not leave": (
        lambda made: replace(made, nodes=("n2",)),
        "urgent oversubscribes cpu of n2",
    ),
    "nobody leaves": (
        lambda made: replace(made, action="start", victims=()),
        "urgent oversubscribes cpu of n1",
    ),
    "the victim is not said to be one": (
        lambda made: replace(made, action="start"),
        "urgent: start with 1 victims",
    ),
    "the same one leaves twice": (
        lambda made: replace(made, victims=made.victims * 2),
        "low is evicted twice",
    ),
    "it is counted as one that leaves already": (
        lambda made: replace(made, victims=tuple(replace(victim, leaving=True) for victim in made.victims)),
        "low is running, not leaving already",
    ),
    "the victim is to end": (
        lambda made: replace(made, victims=tuple(replace(victim, fate="ended") for victim in made.victims)),
        "urgent: low would be ended, against the mode suspend",
    ),
    "it stands nowhere": (
        lambda made: replace(made, nodes=()),
        "urgent: 0 nodes for 1 members",
    ),
    "nobody is called so": (
        lambda made: replace(made, victims=(Victim("nobody", "for a test"),)),
        "no workload is called nobody",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_wrong_with_a_preemption_is_said(case: str, whole: bool) -> None:
    change, complaint = CHANGES[case]
    state, made = preemption()
    wrong = replace(made, decisions=(change(made.decisions[0]),))

    assert complaint in verify_state(state, find("backendai"), wrong, whole=whole)


def test_a_victim_above_the_bar_is_named() -> None:
    state = state_of({"name": "proud", "cpu": 4, "priority": 8}, waiting={"name": "urgent", "cpu": 4, "priority": 9})
    victims = (Victim("proud", "backendai.lower-priority"),)
    decision = Decision("urgent", "preempt", "backendai.lower-priority", "for a test", victims, ("n1",))
    made = Plan("backendai", "bep-1014", 0, (decision,), state.version)

    complaints = verify_state(state, find("backendai"), made, whole=False)
    assert "urgent: proud has priority 8, above the threshold 5" in complaints


def test_two_starts_that_do_not_fit_together_are_found() -> None:
    state = state_of({"name": "old", "cpu": 1, "priority": 1}, waiting={"name": "a", "cpu": 3, "priority": 1})
    state.submit(entry("b", 3, 1))
    both = tuple(Decision(name, "start", "backendai.fits", "for a test", nodes=("n1",)) for name in ("a", "b"))
    made = Plan("backendai", "bep-1014", 0, both, state.version)

    for whole in (False, True):
        assert "b oversubscribes cpu of n1" in verify_state(state, find("backendai"), made, whole=whole)


def falling_short() -> tuple[State, Plan]:
    """`wide` wants a whole node, and `low`, which leaves one, is not alone there."""
    state = state_of(
        {"name": "low", "cpu": 2, "priority": 1},
        {"name": "high", "cpu": 2, "priority": 9},
        {"name": "other", "cpu": 3, "priority": 9},
        waiting={"name": "wide", "cpu": 4, "priority": 5},
        under=LIBRARY,
    )
    made = plan_state(state, find("lattice"), memory={})
    (decision,) = made.decisions
    assert [victim.workload for victim in decision.victims] == ["low"]
    assert [warning.rule for warning in decision.warnings] == ["lattice.falls-short"]
    return state, made


def test_who_falls_short_by_the_library_needs_no_room() -> None:
    state, made = falling_short()

    assert lawful_moves(state, made, whole=False, exact=False, falls_short="lattice.falls-short")
    assert not lawful_moves(state, made, whole=False, exact=False)
    for whole in (False, True):
        assert verify_state(state, find("lattice"), made, whole=whole) == []


SHORT_CHANGES: dict[str, tuple[Change, str]] = {
    "without the warning": (lambda made: replace(made, warnings=()), "wide oversubscribes cpu of n1"),
    "the same one leaves twice": (lambda made: replace(made, victims=made.victims * 2), "low is evicted twice"),
    "it runs": (lambda made: replace(made, workload="high"), "high is running, not waiting"),
    "no node is called so": (lambda made: replace(made, nodes=("n3",)), "no node is called n3"),
    "the victim is no lower": (
        lambda made: replace(made, victims=(replace(made.victims[0], workload="high"),)),
        "wide: high has class 9, not below 5",
    ),
}


@pytest.mark.parametrize("case", SHORT_CHANGES)
@pytest.mark.parametrize("whole", [False, True])
def test_what_else_is_wrong_with_it_is_said(case: str, whole: bool) -> None:
    change, complaint = SHORT_CHANGES[case]
    state, made = falling_short()
    wrong = replace(made, decisions=(change(made.decisions[0]),))

    assert complaint in verify_state(state, find("lattice"), wrong, whole=whole)
