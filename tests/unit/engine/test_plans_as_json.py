"""A plan or a difference that went through JSON prints as it would have before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cede import load, plan
from cede.engine.diff import Difference, diff
from cede.engine.whatif import WhatIf, cluster_if
from cede.model.plan import Plan
from tests.unit.cli.calls import EXAMPLES

FILES = sorted(EXAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_plan_comes_back_as_it_went(path: Path) -> None:
    made: Plan = plan(load(path), explain=True, shares=True, certify=5.0)
    gone = json.loads(json.dumps(made.to_dict()))

    assert Plan.from_dict(gone).to_dict() == made.to_dict()


def test_a_difference_comes_back_as_it_went() -> None:
    cluster = load(EXAMPLES / "nearest-miss.yaml")
    what_if = WhatIf(set=("queues[default].settings.preemptible_priority=6",))
    found = diff(cluster, cluster_if(cluster.to_dict(), what_if))
    gone = json.loads(json.dumps(found.to_dict()))

    assert found.evicted
    assert Difference.from_dict(gone).to_dict() == found.to_dict()
