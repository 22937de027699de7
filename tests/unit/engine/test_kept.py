"""A plan remembers what it is told that its doctrine kept, and nothing that another did."""

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan
from cede.engine.diff import diff
from cede.model.document import dump_document

KEPT = {"lattice": {"sent_home": {"guest": ["physics"]}}}

DEAR: dict[str, Any] = {"name": "dear", "queue": "vision", "state": "running", "nodes": ["n2"], "started": 0}


def cluster(*more: dict[str, Any]) -> Cluster:
    """The guest could preempt who is at home on the only node, by its class."""
    nodes = [{"name": "n1", "home": "physics"}, *({"name": one["nodes"][0]} for one in more)]
    return Cluster(
        parse_document(
            {
                "cede": 1,
                "now": 100,
                "doctrine": {"name": "lattice", "value_rule": False},
                "nodes": [node | {"capacity": {"cpu": 4}} for node in nodes],
                "queues": [{"name": name, "settings": {"type": "hpc_batch"}} for name in ("physics", "vision")],
                "workloads": [
                    {"name": "home", "queue": "physics", "state": "running", "nodes": ["n1"], "started": 0}
                    | {"requests": {"cpu": 4}, "priority": 1, "walltime": 9000},
                    {"name": "guest", "queue": "vision", "requests": {"cpu": 4}, "priority": 6, "walltime": 9000},
                    *more,
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


@pytest.mark.parametrize("edition", ["policy", "core"])
def test_a_certificate_knows_nothing_better_than_what_memory_lets_go(edition: str) -> None:
    both = cluster(DEAR | {"requests": {"cpu": 4}, "priority": 2, "checkpoint": {"mode": "manual"}})
    choice = {"name": "lattice", "edition": edition}
    told = Cluster(parse_document(dump_document(both.document) | {"doctrine": choice}))
    kept = {"lattice": {"sent_home": {"guest": ["physics"]}, "fell_short": {"guest": ["home"]}}}

    (free,) = plan(told, certify=2.0).decisions
    (bound,) = plan(told, kept=kept, certify=2.0).decisions

    assert [[one.workload for one in made.victims] for made in (free, bound)] == [["home"], ["dear"]]
    assert free.certificate is not None
    assert bound.certificate is not None
    assert (free.certificate.optimal, bound.certificate.optimal) == (True, True)
