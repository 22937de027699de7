"""What a doctrine works out of queue entries is forgotten when an entry changes, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import Event, NodePut, QueuePut, Requeued, Started, Submitted, Ticked, apply
from cede.model.cluster import Node, Queue, Workload
from cede.state.build import build


def submitted(**keys: Any) -> Submitted:
    return Submitted(Workload.model_validate({"name": "new", **keys}))


FORGOTTEN: dict[str, Event] = {
    "a queue joins": QueuePut(Queue.model_validate({"name": "new"})),
    "an entry changes": QueuePut(Queue.model_validate({"name": "q", "parent": "root", "weight": 2})),
    "a resource is new": submitted(requests={"tpu": 1}),
    "an amount is finer": submitted(requests={"cpu": "500m"}),
    "a node brings a flavor": NodePut(Node.model_validate({"name": "n2", "flavor": "spot", "capacity": {"cpu": 1}})),
}
KEPT: dict[str, Event] = {
    "a workload comes": submitted(requests={"cpu": 1}),
    "a workload starts": Started("w"),
    "a workload is requeued": Requeued("r"),
    "a node joins": NodePut(Node.model_validate({"name": "n2", "capacity": {"cpu": 1}})),
    "time goes on": Ticked(5),
}


@pytest.mark.parametrize("what", [*FORGOTTEN, *KEPT])
def test_what_was_worked_out_is_forgotten_or_kept_when(what: str) -> None:
    document: dict[str, Any] = {
        "cede": 1,
        "queues": [{"name": "q", "parent": "root", "max": {"cpu": 4}}],
        "workloads": [
            {"name": "w", "queue": "q", "requests": {"cpu": 1}},
            {"name": "r", "queue": "q", "requests": {"cpu": 1}, "state": "running"},
        ],
    }
    state = build(parse_document(document))
    state.tree.derived["shares"] = 1

    apply(state, (FORGOTTEN | KEPT)[what])

    assert state.tree.derived == ({} if what in FORGOTTEN else {"shares": 1})
