"""The exact solver against every subset of small clusters."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.exact import TOLERANCE, by_cost, solve
from cede.doctrines.parts.question import Question
from cede.state.state import State
from tests.unit.exact.small import best, cluster, question

SEEDS = range(8)
SHAPES: dict[str, dict[str, Any]] = {
    "any, shared nodes": {"placement": "any", "exclusive": False, "parts": False, "single": False},
    "any, whole nodes": {"placement": "any", "exclusive": True, "parts": False, "single": False},
    "tight, shared nodes": {"placement": "tight", "exclusive": False, "parts": False, "single": False},
    "tight, whole nodes": {"placement": "tight", "exclusive": True, "parts": False, "single": False},
    "spread, shared nodes": {"placement": "spread", "exclusive": False, "parts": False, "single": False},
    "spread, whole nodes": {"placement": "spread", "exclusive": True, "parts": False, "single": False},
    "one member": {"placement": "any", "exclusive": False, "parts": False, "single": True},
    "pod sets": {"placement": "any", "exclusive": False, "parts": True, "single": False},
    "pod sets, whole nodes": {"placement": "any", "exclusive": True, "parts": True, "single": False},
    "pod sets, tight": {"placement": "tight", "exclusive": False, "parts": True, "single": False},
    "pod sets, spread": {"placement": "spread", "exclusive": False, "parts": True, "single": False},
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "by weight": {},
    "with conditions": {"conditioned": True},
    "with large conditions": {"conditioned": True, "unit": float(2**40 + 1)},
    "by order": {"by_order": True},
    "by order, with conditions": {"by_order": True, "conditioned": True},
    "by order, with large conditions": {"by_order": True, "conditioned": True, "unit": float(2**40 + 1)},
    "on one node": {"one_node": True},
    "without nodes": {"places": False, "conditioned": True},
}


def _asked(shape: str, kind: str, seed: int) -> tuple[State, Question]:
    draw = random.Random(f"{shape} {kind} {seed}")
    state = cluster(draw, **SHAPES[shape])
    return state, question(state, draw, **QUESTIONS[kind])


PAIRS = [
    (shape, kind)
    for shape in SHAPES
    for kind in QUESTIONS
    if kind != "without nodes" and not ("whole nodes" in shape and kind == "on one node")
]


@pytest.mark.parametrize("tiny", [0, 32], ids=["narrowed first", "at once"])
@pytest.mark.parametrize(("shape", "kind"), PAIRS)
def test_the_answer_is_the_best_of_all_sets(shape: str, kind: str, tiny: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_cost, "TINY", tiny)
    solvable = 0
    for seed in SEEDS:
        state, asked = _asked(shape, kind, seed)
        truth = best(state, asked)
        found = solve(state, asked)
        assert found.proven, (seed, truth, found)
        if truth is None:
            assert found.rows is None, seed
            assert math.isinf(found.bound), seed
        else:
            solvable += 1
            assert found.value == truth == found.bound, seed
            assert found.rows is not None
            chosen = asked.weights[np.isin(asked.rows, found.rows)]
            assert truth == (max(chosen, default=0) if asked.by_order else chosen.sum()), seed
    assert solvable


@pytest.mark.parametrize("tiny", [0, 32], ids=["narrowed first", "at once"])
@pytest.mark.parametrize("shape", SHAPES)
def test_costs_may_be_very_different(shape: str, tiny: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of millionths of a minute a moment has few, and a week of many cards has so many that the few are lost."""
    monkeypatch.setattr(by_cost, "TINY", tiny)
    for seed in range(20):
        state, asked = _asked(shape, "by weight", seed)
        draw = random.Random(seed)
        weights = np.array([float(int(10 ** draw.uniform(0, 13))) for _ in asked.rows])
        asked = replace(asked, weights=weights)
        truth = best(state, asked)
        for found in (solve(state, asked), solve(state, asked, chosen=asked.rows)):
            assert found.proven, seed
            if truth is not None:
                assert found.value == pytest.approx(truth, rel=TOLERANCE), seed
                assert found.bound <= truth * (1 + TOLERANCE), seed


def test_quota_alone_is_answered_without_nodes() -> None:
    for seed in SEEDS:
        state, asked = _asked("one member", "without nodes", seed)
        values = [
            sum(asked.weights[at] for at in range(len(asked.rows)) if code >> at & 1)
            for code in range(1 << len(asked.rows))
            if _keeps(asked, [at for at in range(len(asked.rows)) if code >> at & 1])
        ]
        found = solve(state, asked)
        assert found.value == min(values, default=None), seed


def _keeps(asked: Question, gone: list[int]) -> bool:
    def over(one: Any) -> float:
        return max(0.0, float(one.base + sum(one.adds[gone]) + sum(map(over, one.others))))

    return all(one.low <= sum(one.adds[gone]) + sum(map(over, one.over)) <= one.high for one in asked.conditions)


@pytest.mark.parametrize("shape", ["any, shared nodes", "spread, whole nodes", "pod sets", "tight, shared nodes"])
def test_a_bound_is_never_above_the_best_however_little_may_be_done(shape: str) -> None:
    for seed in SEEDS:
        state, asked = _asked(shape, "by weight", seed)
        truth = best(state, asked)
        for found in (
            solve(state, asked, nodes=0),
            solve(state, asked, seconds=1e-9),
            solve(state, asked, seconds=0.0),
        ):
            least = math.inf if truth is None else truth
            assert found.bound <= least, seed
            assert found.value is None or found.value >= least, seed
            if found.proven:
                assert found.value == truth, seed


def test_a_chosen_set_counts_and_what_is_better_is_found() -> None:
    state, asked = _asked("any, shared nodes", "by weight", 3)
    truth = best(state, asked)
    everybody = solve(state, asked, chosen=asked.rows)
    nothing = solve(state, asked, chosen=asked.rows, seconds=0.0)

    assert everybody.value == truth is not None
    assert everybody.proven
    assert nothing.value == asked.weights.sum()
    assert not nothing.proven


def test_the_order_of_candidates_changes_no_value() -> None:
    for seed in SEEDS:
        state, asked = _asked("any, shared nodes", "by weight", seed)
        turned = Question(asked.claim, asked.rows[::-1], asked.objective, asked.weights[::-1])

        assert solve(state, asked).value == solve(state, turned).value


def test_of_equally_good_sets_the_same_one_is_taken_whoever_was_entered_first() -> None:
    def chosen(names: list[str], nodes: list[str]) -> set[str]:
        document = {
            "cede": 1,
            "now": 0,
            "doctrine": {"name": "backendai", "edition": "bep-1014"},
            "queues": [{"name": "default"}],
            "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in nodes],
            "workloads": [
                *(
                    {"name": name, "state": "running", "requests": {"cpu": 4}, "nodes": [f"n{name[1:]}"], "started": 0}
                    for name in names
                ),
                {"name": "in", "members": 3, "requests": {"cpu": 4}, "priority": 9},
            ],
        }
        state = cede.load(document).state
        rows = np.array([state.work_index[name] for name in names])
        found = solve(state, Question(claim_of(state, state.work_index["in"]), rows, "weight", np.ones(len(rows))))
        assert found.rows is not None
        return {state.work_names[row] for row in found.rows.tolist()}

    names, nodes = [f"w{at}" for at in range(8)], [f"n{at}" for at in range(8)]
    draw = random.Random(1)
    ways = [chosen(draw.sample(names, 8), draw.sample(nodes, 8)) for _ in range(6)]

    assert ways == ways[:1] * 6


def test_what_a_node_has_less_than_nothing_of_binds_only_those_members_who_need_it() -> None:
    document = {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "backendai", "edition": "bep-1014"},
        "queues": [{"name": "default"}],
        "nodes": [
            {"name": "n1", "capacity": {"cpu": 4, "gpu": 1}},
            {"name": "n2", "capacity": {"cpu": 1, "gpu": 2}},
        ],
        "workloads": [
            {"name": "cores", "state": "running", "requests": {"cpu": 4}, "nodes": ["n1"], "started": 0},
            {"name": "cards", "state": "running", "requests": {"gpu": 2}, "nodes": ["n1"], "started": 0},
            {
                "name": "in",
                "priority": 9,
                "pod_sets": [
                    {"name": "a", "count": 1, "requests": {"cpu": 4}},
                    {"name": "b", "count": 1, "requests": {"cpu": 1, "gpu": 1}},
                ],
            },
        ],
    }
    state = cede.load(document).state
    rows = np.array([state.work_index["cores"], state.work_index["cards"]])
    found = solve(state, Question(claim_of(state, state.work_index["in"]), rows, "weight", np.ones(2)))

    assert (found.value, found.bound, found.proven) == (1, 1, True)
