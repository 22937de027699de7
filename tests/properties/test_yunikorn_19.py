"""Plans of YuniKorn 1.9 against a second implementation that follows its page word for word."""

from typing import Any

import pytest
from hypothesis import given

import cede
from cede.engine.verify import verify
from tests.properties.yunikorn_clusters import (
    Document,
    yunikorn_clusters,
    yunikorn_contests,
    yunikorn_daemons,
    yunikorn_quotas,
    yunikorn_reserved,
    yunikorn_rushes,
)
from tests.properties.yunikorn_outcomes import complaints, outcomes, vectors
from tests.referees import yunikorn_19
from tests.sampling import examples


def differences(document: Document) -> list[str]:
    cluster = cede.load(document)
    plan = cede.plan(cluster)
    return [*yunikorn_19.differences(document, plan), *verify(cluster, plan)]


@examples(500)
@given(yunikorn_clusters("1.9"))
def test_release_1_9_takes_whom_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(yunikorn_daemons("1.9"))
def test_release_1_9_makes_room_on_a_required_node_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(yunikorn_quotas())
def test_release_1_9_enforces_quotas_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(100)
@given(yunikorn_rushes())
def test_release_1_9_counts_its_attempts_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(yunikorn_reserved())
def test_release_1_9_cancels_reservations_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(yunikorn_contests())
def test_release_1_9_comes_to_the_asks_of_many_queues_in_the_order_of_its_page(document: Document) -> None:
    assert differences(document) == []


def test_the_drawn_clusters_are_not_trivial() -> None:
    found = outcomes(yunikorn_clusters("1.9"), yunikorn_19.plan, 200)

    assert found["preempt"] >= 0.15 * found["all"]
    assert min(found["start"], found["wait"]) >= 0.1 * found["all"]
    assert found["refuse"] >= 0.02 * found["all"]


def test_many_a_drawn_queue_is_above_its_quota_for_too_long() -> None:
    found = outcomes(yunikorn_quotas(), lambda document, _: {"q": yunikorn_19.plan(document)[""]}, 200)

    assert found["many"] >= 0.05 * found["all"]


@pytest.mark.parametrize("vector", vectors("1.9"), ids=lambda vector: vector["id"])
def test_the_referee_itself_decides_the_known_cases(vector: Any) -> None:
    assert complaints(vector, yunikorn_19.plan) == []
