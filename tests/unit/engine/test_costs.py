"""Every victim of every doctrine says what its going costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.engine.costs import prices
from cede.model.costs import amount, cost_of, in_words
from cede.model.plan import Decision, Plan, Victim
from tests.builders import group, node, pending, shipped

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))
HOUR = 3600
QUEUES: dict[str, list[dict[str, Any]]] = {
    "backendai": [{"name": "rich", "settings": {"preemptible_priority": 5}}],
    "kueue": [{"name": "rich", "guaranteed": {"gpu": 8}, "settings": {"withinClusterQueue": "LowerPriority"}}],
    "yunikorn": [
        {"name": "root.rich", "parent": "root", "guaranteed": {"gpu": 8}, "settings": {"preemption.delay": "1s"}},
        {"name": "root.poor", "parent": "root"},
    ],
    "lattice": [{"name": "rich"}, {"name": "poor"}],
}


def document(doctrine: str, **victim: Any) -> dict[str, Any]:
    """One node of eight GPUs, all held since an hour by one that has to make way."""
    queues = QUEUES[doctrine]
    low = {"name": "low", "queue": queues[-1]["name"], "priority": 1, "requests": {"gpu": 8}, "nodes": ["n1"]}
    high = {"name": "in", "queue": queues[0]["name"], "priority": 9, "requests": {"gpu": 8}, "submitted": HOUR - 60}
    return {
        "cede": 1,
        "now": HOUR,
        "doctrine": doctrine,
        "nodes": [{"name": "n1", "capacity": {"gpu": 8}}],
        "queues": queues,
        "workloads": [{**low, "state": "running", "started": 0, **victim}, {**high, "walltime": "24h"}],
    }


@pytest.mark.parametrize("doctrine", sorted(QUEUES))
def test_a_victim_of_any_doctrine_says_what_its_going_costs(doctrine: str) -> None:
    saves = {"checkpoint": {"mode": "auto", "time": "15m"}, "walltime": "2h"}
    plan = cede.plan(cede.load(document(doctrine, **saves))).to_dict()
    (decision,) = plan["decisions"]
    (victim,) = decision["victims"]

    assert (victim["workload"], victim["cost"], victim["lost_gpu_hours"]) == ("low", 65.0, 2.0)
    assert plan["lost_gpu_hours"] == 2.0


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_so_does_every_victim_of_every_scenario(path: Path) -> None:
    plan = cede.plan(cede.load(path))
    victims = [one for decision in plan.decisions for one in decision.victims]

    assert [one.workload for one in victims if one.cost is None or one.lost_gpu_hours is None] == []
    assert (plan.lost_gpu_hours is None) == (victims == [])


def test_who_cannot_save_loses_what_it_worked() -> None:
    (decision,) = cede.plan(cede.load(document("kueue"))).decisions

    assert [(one.cost, one.lost_gpu_hours) for one in decision.victims] == [(60 * 8, 8)]


def test_how_long_a_checkpoint_by_hand_takes_is_the_doctrines_to_say() -> None:
    by_hand = document("lattice", checkpoint={"mode": "manual"})
    by_hand["doctrine"] = {"name": "lattice", "manual_checkpoint_time": "3m"}
    state = cede.load(by_hand).state

    assert [price.cost for price in prices(state, ["low", "nobody"]).values()] == [3]


def test_a_plan_without_victims_says_nothing_of_costs() -> None:
    plan = cede.plan(shipped(group(enabled=True), node("n1", cpu=4), pending("in", cpu=4)))

    assert plan.lost_gpu_hours is None
    assert "lost_gpu_hours" not in plan.to_dict()


def test_who_is_leaving_already_costs_nothing_more() -> None:
    entries = [
        {"name": "gone", "state": "preempting", "requests": {"gpu": 4}, "started": 0, "nodes": ["n1"], "queue": "q"},
        {"name": "low", "state": "running", "requests": {"gpu": 4}, "started": 0, "nodes": ["n1"], "queue": "q"},
        {"name": "in", "requests": {"gpu": 8}, "priority": 9, "queue": "q"},
    ]
    cluster = {
        **document("kueue"),
        "queues": [{"name": "q", "guaranteed": {"gpu": 8}, "settings": {"withinClusterQueue": "LowerPriority"}}],
        "workloads": entries,
    }
    plan = cede.plan(cede.load(cluster))
    found = {one.workload: one for decision in plan.decisions for one in decision.victims}

    assert found["gone"].leaving
    assert (found["gone"].cost, found["gone"].lost_gpu_hours) == (0, 0)
    assert (found["low"].cost, found["low"].lost_gpu_hours, plan.lost_gpu_hours) == (240, 4, 4)


def test_a_plan_is_the_same_byte_for_byte_whatever_the_order_of_entries() -> None:
    whole = document("kueue", requests={"gpu": "7900m"})
    turned = {**whole, "workloads": whole["workloads"][::-1]}

    one, other = (json.dumps(cede.plan(cede.load(each)).to_dict()) for each in (whole, turned))
    assert one == other


WORDS: dict[str, tuple[float, str]] = {
    "whole": (375.0, "375"),
    "large": (12345.678, "12,345.68"),
    "halves": (1.5, "1.5"),
    "small": (0.0123456, "0.0123"),
    "hundred": (100.0, "100"),
    "nothing": (0.0, "0"),
}


@pytest.mark.parametrize(("value", "wanted"), WORDS.values(), ids=WORDS)
def test_amounts_are_short(value: float, wanted: str) -> None:
    assert amount(value) == wanted


def test_costs_in_words_leave_out_gpus_where_there_are_none() -> None:
    assert in_words(6, 0) == "6 min"
    assert in_words(6, 1) == "6 min, 1 GPU-hour"
    assert in_words(6.5, 2.25) == "6.5 min, 2.25 GPU-hours"


def test_costs_of_several_victims_are_told_together_without_those_that_leave_already() -> None:
    known = Victim("a", "r", cost=1.0, lost_gpu_hours=0.5), Victim("b", "r", cost=2.0, lost_gpu_hours=0.5)

    assert cost_of(known) == "3 min, 1 GPU-hour"
    assert cost_of([*known, Victim("c", "r", leaving=True, cost=0.0, lost_gpu_hours=0.0)]) == "3 min, 1 GPU-hour"
    assert cost_of([Victim("a", "r")]) == ""


def test_a_plan_that_nobody_priced_says_nothing_of_costs() -> None:
    plan = Plan("kueue", "0.20", 0, (Decision("in", "preempt", "r", "why", (Victim("a", "r"),)),))

    assert "cost" not in plan.to_dict()["decisions"][0]["victims"][0]
    assert "lost_gpu_hours" not in plan.to_dict()
