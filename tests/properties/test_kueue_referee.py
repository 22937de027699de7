"""Kueue plans against a referee that follows its page word for word; and the referee against Kueue's own cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import cede
from tests.properties.kueue_clusters import Document, kueue_clusters, kueue_rushes
from tests.properties.kueue_duels import kueue_duels
from tests.properties.kueue_holds import kueue_holds
from tests.properties.kueue_numbers import kueue_fractions, kueue_last_bits, kueue_preferences
from tests.referees import kueue
from tests.sampling import examples

VECTORS = sorted((Path(__file__).parents[1] / "vectors" / "kueue").glob("*.json"))


def differences(document: Document) -> list[str]:
    cluster = cede.load(document)
    plan = cede.plan(cluster)
    return [*kueue.differences(document, plan.to_dict()), *cede.verify(cluster, plan)]


@examples(200)
@given(kueue_clusters(preemption="Classical"))
def test_classical_preemption_decides_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(kueue_clusters(preemption="FairSharing"))
def test_fair_sharing_decides_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(150)
@given(kueue_rushes())
def test_heads_that_want_the_same_victims_are_decided_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(150)
@given(kueue_duels(preemption="Classical"))
def test_classical_duels_end_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(150)
@given(kueue_duels(preemption="FairSharing"))
def test_fair_duels_end_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(kueue_holds(preemption="Classical"))
def test_who_leaves_and_who_comes_overlap_in_classical_preemption(document: Document) -> None:
    assert differences(document) == []


@examples(200)
@given(kueue_holds(preemption="FairSharing"))
def test_who_leaves_and_who_comes_overlap_in_fair_sharing(document: Document) -> None:
    assert differences(document) == []


@examples(100)
@given(kueue_fractions())
def test_what_is_finer_than_a_unit_is_rounded_up_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(100)
@given(kueue_last_bits())
def test_the_last_bit_of_a_share_decides_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@examples(100)
@given(kueue_preferences())
def test_queues_that_prefer_preemption_to_borrowing_decide_as_its_page_says(document: Document) -> None:
    assert differences(document) == []


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_referee_itself_decides_as_kueue_does(path: Path) -> None:
    vector: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    expect, answers = vector["expect"], kueue.plan(vector["cluster"])
    looked_at = [expect["for"]] if "for" in expect else list(answers)
    victims = {name: reason for one in looked_at for name, reason in answers[one].victims.items()}

    assert victims == expect.get("victims", victims)
    assert sorted(victims) in expect.get("victims_any_of", [sorted(victims)])
    assert victims.keys().isdisjoint(expect.get("not_victims", []))
    for name, wanted in expect["actions"].items():
        assert answers[name].action in (wanted if isinstance(wanted, list) else [wanted])
    for name, wanted in expect.get("flavors", {}).items():
        assert answers[name].flavors[""] == wanted
