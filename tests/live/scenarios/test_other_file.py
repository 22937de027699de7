"""Another cluster file is served while work is under way: it has a place for that, or the server does not start."""

from pathlib import Path
from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan
from cede.model.errors import CedeError
from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SLEEPS
from tests.live.serving import cluster_of, serving

pytestmark = pytest.mark.slow

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "a class that there is not": (
        lattice_of("n1"),
        "runs is running with priority 50, and under lattice priorities go from 0 to 10",
    ),
    "no such queue": (
        lattice_of("n1", queues=("other",)),
        "runs is running in the queue default, which the cluster file does not have",
    ),
    "no such node": (cluster_of("n2"), "runs is running on n1, which the cluster file does not have"),
}


@pytest.mark.parametrize(("other", "why"), CASES.values(), ids=CASES.keys())
def test_a_file_without_a_place_for_what_is_under_way_is_refused_and_the_former_goes_on(
    tmp_path: Path, other: dict[str, Any], why: str
) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        live.runs("runs", SLEEPS, priority=50)
        live.shell("waits", SLEEPS, priority=9)
        live.stop()
        live.cluster = other
        with pytest.raises(CedeError) as refused:
            live.start()
        live.cluster = None
        live.start()

        assert str(refused.value) == f"{why}; serve the former file until it has ended"
        assert [job["state"] for job in live.client.jobs()] == ["pending", "running"]


def test_what_is_under_way_goes_on_by_another_doctrine_that_has_its_priority(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        live.runs("runs", SLEEPS, priority=3)
        live.shell("waits", SLEEPS, priority=2, constraints={"nodes": ["n1"]})
        live.stop()
        live.cluster = lattice_of("n1", "n2")
        live.start()

        now = Cluster(parse_document(live.client.snapshot()))
        assert [(one.workload, one.action) for one in plan(now).decisions] == [("waits", "wait")]
