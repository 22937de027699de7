"""How many of the drawn clusters end in what, and what the referees of YuniKorn say to the cases of its own project."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

Document = dict[str, Any]


class Answer(Protocol):
    @property
    def action(self) -> str: ...

    @property
    def victims(self) -> frozenset[str]: ...

    @property
    def node(self) -> str | None: ...


Referee = Callable[[Document, str | None], Mapping[str, Answer]]


def vectors(edition: str, most: int = 100) -> list[Any]:
    """The cases of one edition that ask for a plan and have at most so many workloads that run."""
    here = Path(__file__).parents[1] / "vectors" / "yunikorn"
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(here.glob("*.json"))]
    return [
        vector
        for vector in found
        if "settle" not in vector["expect"]
        and vector["cluster"]["doctrine"]["edition"] == edition
        and sum(workload["state"] == "running" for workload in vector["cluster"]["workloads"]) <= most
    ]


def outcomes(strategy: SearchStrategy[Document], referee: Referee, examples: int) -> Counter[str]:
    """In how many of so many clusters each action occurs; `many` if some claimant takes two victims or more."""
    counted = Counter[str]()

    @settings(max_examples=examples)
    @given(strategy)
    def count(document: Document) -> None:
        answers = referee(document, None)
        counted.update({answer.action for name, answer in answers.items() if name})
        counted["many"] += any(len(answer.victims) > 1 for answer in answers.values())
        counted["all"] += 1

    count()
    return counted


def complaints(vector: Document, referee: Referee) -> list[str]:
    """What a referee decides otherwise than the case expects."""
    expect = vector["expect"]
    answers = referee(vector["cluster"], expect.get("for"))
    victims = sorted(name for answer in answers.values() for name in answer.victims)
    found = []
    if victims != sorted(expect.get("victims", victims)):
        found.append(f"victims {victims}")
    if victims not in [sorted(names) for names in expect.get("victims_any_of", [victims])]:
        found.append(f"victims {victims}")
    if set(victims) & set(expect.get("not_victims", [])):
        found.append(f"victims {victims}")
    for name, wanted in expect.get("actions", {}).items():
        if answers[name].action not in ([wanted] if isinstance(wanted, str) else wanted):
            found.append(f"{name}: {answers[name].action}")
    for name, nodes in expect.get("nodes", {}).items():
        if [answers[name].node] != nodes:
            found.append(f"{name} on {answers[name].node}")
    return found
