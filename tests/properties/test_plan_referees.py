"""Plans against referees that follow the documents word for word, workload by workload, and try every placement."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import cede
from cede.doctrines.backendai import victims
from cede.doctrines.parts import cover
from tests.properties.documents import odd_clusters
from tests.referees import bep_1014, release_26_8
from tests.referees.small import Document, small_clusters
from tests.sampling import examples

REFEREES = {"bep-1014": bep_1014.differences, "26.8": release_26_8.differences}


def differences(document: Document) -> list[str]:
    """What the referee would decide otherwise. How many nodes a tenant's gang may take is left out: see the reading."""
    for tenant in document.get("tenants", []):
        tenant.pop("max_nodes", None)
    referee = REFEREES[document["doctrine"]["edition"]]
    return list(referee(document, cede.plan(cede.load(document), misses=False)))


@examples(250)
@given(small_clusters("bep-1014"))
def test_the_first_edition_takes_and_spares_as_its_text_says(document: Document) -> None:
    assert differences(document) == []


@examples(100)
@given(small_clusters("bep-1014"))
def test_looking_at_the_order_in_parts_changes_nothing(document: Document) -> None:
    """Large clusters are searched up to one bound after another; here small ones are, too."""
    with patch.object(cover, "SAMPLE", 2):
        assert differences(document) == []


@examples(250)
@given(small_clusters("26.8"))
def test_release_26_8_collects_agent_by_agent_as_its_page_says(document: Document) -> None:
    for workload in document["workloads"]:
        workload.pop("placement", None)  # of which the page knows nothing

    with patch.object(victims, "BATCH", 1):
        assert differences(document) == []


NUMBERS = st.sets(st.integers(0, 5), max_size=3)


@examples(100)
@given(small_clusters("26.8"), NUMBERS, NUMBERS, NUMBERS)
def test_release_26_8_books_beside_what_never_started_and_what_is_between(
    document: Document, unstarted: set[int], leaving: set[int], coming: set[int]
) -> None:
    for workload in document["workloads"]:
        workload.pop("placement", None)
    standing = [w for w in document["workloads"] if w.get("state", "pending") == "running"]
    for number, workload in enumerate(standing):
        workload["state"] = "preempting" if number in leaving else "reserved" if number in coming else "running"
        if number in unstarted:
            workload.pop("started", None)

    assert differences(document) == []


@examples(100)
@given(odd_clusters("bep-1014"))
def test_the_first_edition_on_odd_clusters(document: Document) -> None:
    assert differences(document) == []


@examples(100)
@given(odd_clusters("26.8"))
def test_release_26_8_on_odd_clusters(document: Document) -> None:
    for workload in document["workloads"]:
        workload.pop("placement", None)

    assert differences(document) == []
