"""A plan remembers what it is told that its doctrine kept, and nothing that another did."""

from typing import Any

import pytest

from cede.engine.cluster import Cluster
from cede.engine.cycle import plan
from cede.engine.diff import diff
from cede.model.document import parse_document

KEPT = {"lattice": {"sent_home": {"guest": ["physics"]}}}


def cluster() -> Cluster:
    """The guest could preempt who is at home on the only node, by its class."""
    return Cluster(
        parse_document(
            {
                "cede": 1,
                "now": 100,
                "doctrine": {"name": "lattice", "value_rule": False},
                "nodes": [{"name": "n1", "capacity": {"cpu": 4}, "home": "physics"}],
                "queues": [{"name": name, "settings": {"type": "hpc_batch"}} for name in ("physics", "vision")],
                "workloads": [
                    {"name": "home", "queue": "physics", "state": "running", "nodes": ["n1"], "started": 0}
                    | {"requests": {"cpu": 4}, "priority": 1, "walltime": 9000},
                    {"name": "guest", "queue": "vision", "requests": {"cpu": 4}, "priority": 6, "walltime": 9000},
                ],
            }
        )
    )


@pytest.mark.parametrize(
    ("kept", "action"), [(None, "preempt"), ({}, "preempt"), ({"kueue": KEPT["lattice"]}, "preempt"), (KEPT, "wait")]
)
@pytest.mark.parametrize("certify", [None, 2.0])
def test_what_was_kept_counts_under_the_name_of_the_doctrine(
    kept: dict[str, Any] | None, action: str, certify: float | None
) -> None:
    (made,) = plan(cluster(), only="guest", kept=kept, certify=certify).decisions
    found = diff(cluster(), cluster(), kept=kept)

    assert made.action == action
    assert found.after.victims == ({"home"} if action == "preempt" else set())
    assert KEPT == {"lattice": {"sent_home": {"guest": ["physics"]}}}, "asking changes nothing"
