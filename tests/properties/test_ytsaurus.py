"""Shares and plans of YTsaurus against a referee in exact fractions, on small crowded clusters from fixed seeds."""

import json
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.properties.ytsaurus_clusters import cluster
from tests.properties.ytsaurus_hunt import EDITIONS, settle_differences, told
from tests.properties.ytsaurus_traits import TRAITS
from tests.referees.ytsaurus_heartbeat import plan
from tests.referees.ytsaurus_vectors import complaints, fact_complaints
from tests.sampling import many
from tests.unit.ytsaurus.fact_files import document as fact_document
from tests.unit.ytsaurus.fact_files import facts_of, named

HERE = Path(__file__).parents[1] / "vectors" / "ytsaurus"
PARTS = 5
"""Of each sample, so that several workers share it."""
TRIES = 200
"""How often a cluster that differs is made smaller before it is shown."""
VECTORS = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.json"))]


@pytest.mark.drawn
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("part", range(PARTS))
def test_shares_and_plans_are_those_of_the_referee(edition: str, part: int) -> None:
    for seed in range(part, many(250), PARTS):
        assert told(cluster(seed, edition), tries=TRIES) == "", seed


@pytest.mark.parametrize("trait", sorted(TRAITS))
def test_clusters_of_every_kind_are_decided_alike(trait: str) -> None:
    for seed, edition in enumerate(EDITIONS * 2, start=1000):
        assert told(cluster(seed, edition, [trait]), tries=TRIES) == "", seed


@pytest.mark.drawn
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("part", range(PARTS))
def test_several_cycles_end_where_those_of_the_referee_do(edition: str, part: int) -> None:
    for seed in range(2000 + part, 2000 + many(25), PARTS):
        assert told(cluster(seed, edition), settle_differences, tries=TRIES) == "", seed


def test_the_drawn_clusters_are_not_trivial() -> None:
    found: Counter[str] = Counter()
    for seed in range(120):
        answer = plan(cluster(seed, EDITIONS[seed % 2]))
        found.update({*answer.actions.values(), *answer.reasons.values()})
        found["victims"] += bool(answer.reasons)

    assert found["victims"] >= 60
    assert found["preempt"] >= 36
    assert min(found["start"], found["refuse"]) >= 12
    assert min(found["aggressive"], found["starving"], found["limits"]) >= 8
    assert min(found["overcommit"], found["graceful"], found["ssd"]) >= 2


def test_a_full_host_is_cleared_in_some_of_the_clusters_made_for_it() -> None:
    answers = [plan(cluster(seed, "25.4", ["full-host"])) for seed in range(40)]

    assert sum("full-host" in answer.reasons.values() for answer in answers) >= 2


@pytest.mark.parametrize("vector", [one for one in VECTORS if "settle" not in one["expect"]], ids=itemgetter("id"))
def test_the_referee_itself_decides_the_known_cases(vector: Any) -> None:
    assert complaints(vector) == []


@pytest.mark.slow
@pytest.mark.parametrize("vector", [one for one in VECTORS if "settle" in one["expect"]], ids=itemgetter("id"))
def test_the_referee_itself_ends_where_the_known_cases_do(vector: Any) -> None:
    assert complaints(vector) == []


@pytest.mark.parametrize("fact", facts_of("fair_share", "integral_volume", "weights"), ids=named)
def test_the_referee_itself_knows_the_facts(fact: Any) -> None:
    updates = range(1, 1 + len(fact.get("updates", (None,))))

    assert fact_complaints(fact, [fact_document(fact, update=number) for number in updates]) == []
