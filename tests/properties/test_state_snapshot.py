"""A state can be saved at any moment, and what was saved is the same cluster."""

from hypothesis import given
from hypothesis import strategies as st

from cede.doctrines.catalog import DIALECTS, find
from cede.doctrines.document import parse_document
from cede.engine.cycle import plan_state
from cede.engine.events import Marked, Started, apply
from cede.model.document import dump_document
from cede.state.build import build
from cede.state.snapshot import snapshot
from tests.state_views import meaning, unsound, view
from tests.strategies import Document, clusters

EDITIONS = {name: dialect.editions for name, dialect in DIALECTS.items()}
DOCTRINES = [(None, None), *((name, edition) for name, editions in EDITIONS.items() for edition in (None, *editions))]


@st.composite
def any_clusters(draw: st.DrawFn) -> Document:
    doctrine, edition = draw(st.sampled_from(DOCTRINES))
    return draw(clusters(doctrine, edition, tidy=draw(st.booleans())))


@given(any_clusters())
def test_a_snapshot_means_what_the_document_means(document: Document) -> None:
    parsed = parse_document(document)

    assert meaning(snapshot(build(parsed))) == meaning(parsed)


@given(any_clusters())
def test_a_snapshot_parses_and_builds_the_same_state(document: Document) -> None:
    state = build(parse_document(document))
    saved = dump_document(snapshot(state))
    again = build(parse_document(saved))

    assert unsound(state) == []
    assert view(again) == view(state)
    assert view(build(snapshot(state))) == view(state)
    assert dump_document(snapshot(again)) == saved


@given(clusters("kueue"))
def test_what_was_admitted_is_planned_like_its_file(document: Document) -> None:
    kueue = find("kueue")
    state = build(parse_document({**document, "selection": "doctrine"}))
    for made in plan_state(state, kueue).decisions:
        if made.action == "start" and made.workload is not None:
            apply(state, Started(made.workload, made.nodes, made.flavors, made.counts))
        for victim in made.victims:
            apply(state, Marked(victim.workload, "preempting"))

    again = build(parse_document(dump_document(snapshot(state))))
    assert plan_state(again, kueue).to_dict() == plan_state(state, kueue).to_dict()
