"""Every cluster file here gives the plan beside it; where there is a `.settled.json`, it also ends as that says.

`python -m tests.scenarios.test_scenarios` writes the expectations anew. Read the difference before you keep it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import cede

HERE = Path(__file__).parent
SCENARIOS = sorted(HERE.glob("*.yaml"))
SETTLED = [path for path in SCENARIOS if path.with_suffix(".settled.json").exists()]


def planned(path: Path) -> dict[str, Any]:
    return cede.plan(cede.load(path), explain=True).to_dict()


def settled(path: Path) -> dict[str, Any]:
    return cede.settle(cede.load(path)).to_dict()


def expected(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_plan_is_the_one_beside_it_and_lawful(path: Path) -> None:
    cluster = cede.load(path)
    plan = cede.plan(cluster, explain=True)

    assert plan.to_dict() == expected(path.with_suffix(".plan.json"))
    assert cede.verify(cluster, plan) == []


@pytest.mark.parametrize("path", SETTLED, ids=lambda path: path.stem)
def test_the_run_ends_as_it_says(path: Path) -> None:
    assert settled(path) == expected(path.with_suffix(".settled.json"))


def test_every_scenario_begins_by_saying_what_it_shows() -> None:
    assert [path.stem for path in SCENARIOS if not path.read_text(encoding="utf-8").startswith("# ")] == []


def test_every_expectation_belongs_to_a_scenario() -> None:
    stems = {path.name.removesuffix(".settled.json").removesuffix(".plan.json") for path in HERE.glob("*.json")}

    assert stems == {path.stem for path in SCENARIOS}


def write() -> None:
    """Take what comes out for what is expected."""
    for path in SCENARIOS:
        path.with_suffix(".plan.json").write_text(json.dumps(planned(path), indent=1) + "\n", encoding="utf-8")
    for path in SETTLED:
        path.with_suffix(".settled.json").write_text(json.dumps(settled(path), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
