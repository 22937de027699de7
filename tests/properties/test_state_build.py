"""However a cluster comes about, all at once or entry by entry in any order, its state is the same."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cede.doctrines.document import parse_document
from cede.engine.events import NodePut, QueuePut, Submitted, apply
from cede.model.cluster import ClusterFile
from cede.state.build import build
from cede.state.state import State
from tests.state_views import bits, unsound, view
from tests.strategies import Document, clusters


def empty(document: ClusterFile) -> State:
    return build(document.model_copy(update={"nodes": [], "queues": [], "workloads": []}))


@given(
    clusters(None, tidy=False) | clusters("backendai") | clusters("kueue", tidy=False),
    st.randoms(use_true_random=False),
)
def test_entry_by_entry_gives_the_state_that_the_whole_file_gives(document: Document, lots: Random) -> None:
    parsed = parse_document(document)
    state = empty(parsed)
    queues, nodes, workloads = list(parsed.queues), list(parsed.nodes), list(parsed.workloads)
    for entries in (queues, nodes, workloads):
        lots.shuffle(entries)
    for queue in queues:
        apply(state, QueuePut(queue))
    for node in nodes:
        apply(state, NodePut(node.model_copy(update={"reserved_for": None})))
    for workload in workloads:
        apply(state, Submitted(workload))
    for node in nodes:
        apply(state, NodePut(node))

    assert unsound(state) == []
    assert view(state) == view(build(parsed))


@given(clusters("backendai", tidy=False) | clusters("kueue", tidy=False), st.randoms(use_true_random=False))
def test_the_order_of_entries_does_not_change_a_bit(document: Document, lots: Random) -> None:
    shuffled = {key: list(value) if isinstance(value, list) else value for key, value in document.items()}
    for section in ("nodes", "queues", "workloads", "apps", "tenants", "policies"):
        lots.shuffle(shuffled.get(section, []))

    assert bits(build(parse_document(shuffled))) == bits(build(parse_document(document)))
