"""Small victims of large claimants and the other way round: a plan sees room that is not there until they left."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Began, Submit
from cede.engine.drive.options import Backfill, DriverOptions
from cede.engine.drive.step import Step
from cede.engine.drive.terms import Terms
from cede.model.cluster import Workload
from cede.model.times import SECOND

BACKENDAI: dict[str, Any] = {
    "doctrine": "backendai",
    "queues": [{"name": "q", "settings": {"preemptible_priority": 5, "preemption_mode": "suspend"}}],
}
LATTICE: dict[str, Any] = {
    "doctrine": {"name": "lattice", "value_rule": False},
    "queues": [{"name": "q", "guaranteed": {"cpu": 1}}],
}


class Cluster:
    """A driver over nodes of so many cpus, second by second."""

    def __init__(self, rules: dict[str, Any], *sizes: int, backfill: Backfill = "off") -> None:
        nodes = [{"name": f"n{at}", "capacity": {"cpu": size}} for at, size in enumerate(sizes, 1)]
        document = parse_document({"cede": 1, "nodes": nodes, **rules})
        self.driver, self.now = Driver(document, 0, DriverOptions(backfill=backfill)), 0

    def feed(self, *facts: Any) -> Step:
        self.now += 1
        step = self.driver.feed(self.now * SECOND, facts)
        assert not step.problems
        return step

    def submit(self, name: str, cpu: int, priority: int, **values: Any) -> Step:
        entry = {"name": name, "queue": "q", "requests": {"cpu": cpu}, "priority": priority, **values}
        return self.feed(Submit(Workload.model_validate(entry), Terms()))

    def cross(self) -> None:
        """Of six processors one is left for three that are held, and three for one: a plan counts four of each once."""
        self.run("small", 1, 1)
        self.run("large", 3, 2)
        self.submit("first", 3, 9, constraints={"nodes": ["n1"]})
        self.submit("second", 1, 8, constraints={"nodes": ["n1"]})
        assert (self.phase("small"), self.phase("large")) == ("preempting", "preempting")
        assert (self.phase("first"), self.phase("second")) == ("held", "held")

    def run(self, name: str, cpu: int, priority: int) -> None:
        self.submit(name, cpu, priority, checkpoint={"mode": "auto"}, walltime=3600)
        self.feed(Began(name, self.driver.jobs[name].attempt))
        assert self.phase(name) == "running"

    def phase(self, name: str) -> str:
        return self.driver.jobs[name].phase


@pytest.mark.parametrize("backfill", ["off", "strict", "easy"])
def test_a_start_whose_room_is_still_left_by_others_waits_and_is_not_planned_for_ever(backfill: Backfill) -> None:
    cluster = Cluster(BACKENDAI, 6, backfill=backfill)
    cluster.cross()

    cluster.submit("third", 2, 7)
    assert cluster.phase("third") == "pending"
    step = cluster.submit("fourth", 6, 6)

    assert (cluster.phase("third"), cluster.phase("fourth")) == ("pending", "pending")
    assert step.plans <= 2
    assert step.wakes_at is None or step.wakes_at > cluster.now * SECOND


def test_what_a_vcluster_is_guaranteed_is_no_limit_while_others_leave() -> None:
    cluster = Cluster(LATTICE, 6, 6)
    cluster.cross()

    cluster.submit("beside", 2, 1, constraints={"nodes": ["n2"]})
    assert cluster.phase("beside") == "starting"
