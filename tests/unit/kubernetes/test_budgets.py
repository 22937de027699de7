"""Disruption budgets in a cluster file: what is refused, and what lint says of them."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.lint import lint
from tests.builders import node, running
from tests.unit.kubernetes.small import allows, pods

WRONG = {
    "nothing that it allows": ({"apps": ["a"]}, "one of allowed, min_available, max_unavailable is required"),
    "two things that it allows": (
        {"apps": ["a"], "allowed": 1, "min_available": 1},
        "one of allowed, min_available, max_unavailable is required",
    ),
    "nobody whom it covers": ({"allowed": 1}, "at least one of apps, queues, workloads is required"),
    "less than nothing": ({"apps": ["a"], "allowed": -1}, "-1 is too small; the least is 0"),
    "an unknown key": ({"apps": ["a"], "allowed": 1, "selector": {}}, "there is no key 'selector'"),
}


@pytest.mark.parametrize(("budget", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_budget_is_refused_with_its_place(budget: dict[str, Any], said: str) -> None:
    with pytest.raises(cede.InputError) as refused:
        pods(node("n1", cpu=1), budgets=[{"name": "b", **budget}])

    [problem] = refused.value.problems
    assert said in problem.message
    assert problem.path.startswith("doctrine.disruption_budgets[0]")


def test_lint_finds_budgets_that_cannot_be_meant() -> None:
    budgets = [*allows(1, "nobody", name="none"), *allows(0, "a", name="shut"), *allows(1, "a", name="twice") * 2]
    found = lint(pods(node("n1", cpu=4), running("a", cpu=1), budgets=budgets))

    assert [(one.rule.rpartition(".")[2], one.path) for one in found] == [
        ("budget-of-nobody", "doctrine.disruption_budgets[none]"),
        ("budget-used-up", "doctrine.disruption_budgets[shut]"),
        ("budget-twice", "doctrine.disruption_budgets[twice]"),
        ("budget-twice", "doctrine.disruption_budgets[twice]"),
    ]


def test_lint_is_silent_about_good_ones() -> None:
    assert lint(pods(node("n1", cpu=4), running("a", cpu=1), budgets=allows(1, "a"))) == []
