"""Plans of YuniKorn's laws against a referee that tries every set of victims."""

from typing import Any

import pytest
from hypothesis import given

import cede
from cede.engine.verify import verify
from tests.properties.yunikorn_clusters import Document, yunikorn_clusters, yunikorn_daemons
from tests.properties.yunikorn_outcomes import complaints, outcomes, vectors
from tests.referees import yunikorn_laws
from tests.sampling import examples


def differences(document: Document) -> list[str]:
    """What breaks a law, what is superfluous, what is not the preferred set, and what the check of plans finds."""
    cluster = cede.load(document)
    plan = cede.plan(cluster)
    return [*yunikorn_laws.differences(document, plan), *verify(cluster, plan)]


@examples(500)
@given(yunikorn_clusters("laws"))
def test_no_law_is_broken_and_the_preferred_victims_are_found(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(yunikorn_daemons("laws"))
def test_who_must_run_on_a_node_makes_room_there_within_laws_3_and_6(document: Document) -> None:
    assert differences(document) == []


def test_the_drawn_clusters_are_not_trivial() -> None:
    found = outcomes(yunikorn_clusters("laws"), yunikorn_laws.plan, 200)

    assert found["preempt"] >= 0.15 * found["all"]
    assert min(found["start"], found["wait"]) >= 0.1 * found["all"]
    assert found["refuse"] >= 0.02 * found["all"]
    assert found["many"] >= 0.02 * found["all"]


@pytest.mark.parametrize("vector", vectors("laws", most=12), ids=lambda vector: vector["id"])
def test_the_referee_itself_decides_the_known_cases(vector: Any) -> None:
    assert complaints(vector, yunikorn_laws.plan) == []
