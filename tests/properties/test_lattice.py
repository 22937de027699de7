"""Plans of Lattice against referees that try every set of victims, and where its plans lead."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cede
from cede.engine.verify import verify
from tests.properties.lattice_clusters import Document, cluster, lattice_clusters
from tests.referees import lattice_core, lattice_core_places, lattice_policy
from tests.referees.lattice_reading import read
from tests.sampling import examples
from tests.strategies import clusters

EDITIONS = ("policy", "core")
REFEREES = {"policy": lattice_policy.differences, "core": lattice_core.differences}
VECTORS = sorted((Path(__file__).parents[1] / "vectors" / "lattice").glob("*.json"))


def differences(document: Document) -> list[str]:
    """What is unlawful, superfluous or not the preferred set, and what the check of plans finds."""
    loaded = cede.load(document)
    plan = cede.plan(loaded)
    return [*REFEREES[document["doctrine"]["edition"]](document, plan), *verify(loaded, plan)]


def drawn(edition: str) -> st.SearchStrategy[Document]:
    """Crowded clusters, and odd ones with a bit of everything that a file may say."""
    odd = clusters("lattice", edition).map(lambda document: {**document, "selection": "doctrine"})
    return st.one_of(lattice_clusters(edition), odd)


@examples(120)
@given(lattice_clusters())
def test_the_preferred_victims_are_found_and_nobody_else_is_touched(document: Document) -> None:
    assert differences(document) == []


@pytest.mark.parametrize("trait", ["close", "homes", "line", "claims", "quota", "even", "idle"])
def test_a_few_clusters_of_every_kind_are_decided_by_the_policy(trait: str) -> None:
    for seed in range(50):
        assert differences(cluster(seed, "policy", [trait])) == [], f"seed {seed}"


@examples(80)
@given(lattice_clusters("core"))
def test_the_shipped_code_takes_the_cheapest_one_by_one(document: Document) -> None:
    assert differences(document) == []


def test_a_few_clusters_are_decided_as_the_shipped_code_would() -> None:
    for seed in range(100):
        assert differences(cluster(seed, "core")) == [], f"seed {seed}"


@pytest.mark.parametrize("edition", EDITIONS)
@examples(40)
@given(st.data())
def test_a_run_settles_or_shows_its_loop_and_accounts_for_everybody(edition: str, data: st.DataObject) -> None:
    """Every plan on the way is checked by `settle` itself. Who reclaims a node from a higher class can be preempted
    there again, so that some runs come back to where they were; those say so."""
    document = data.draw(drawn(edition))

    end = cede.settle(cede.load(document), interval=600, cycles=300)

    assert end.settled or end.loop
    assert Counter([*end.running, *end.pending]) == Counter(workload["name"] for workload in document["workloads"])


# -- the referee itself ------------------------------------------------------------------------------------------------


def test_the_drawn_clusters_draw_every_rule() -> None:
    """In how many of so many clusters each answer, reason and protection occurs."""
    many = 500
    found = Counter[str]()
    for seed in range(many):
        document = cluster(seed)
        answers = lattice_policy.plan(document).values()
        found.update({f"{answer.action}: {answer.why}" for answer in answers})
        found.update({reason for answer in answers for reason in answer.victims.values()})
        found["several victims"] += any(len(answer.victims) > 1 for answer in answers)
        found["dearer, but fewer"] += any(answer.cost > answer.least for answer in answers)
        site = read(document)
        for work in lattice_policy.in_order(site):
            found.update({f"protected: {word}" for word in lattice_policy.verdicts(site, work).values()})

    often = {"preempt: preempt": 150, "start: fits": 60, "wait: no room": 100, "wait: patience": 20}
    often |= {"priority": 100, "reclaim": 25, "sensitive": 10, "several victims": 50}
    seldom = {f"refuse: {word}" for word in ("policy", "limit", "tenant quota", "no match", "too big")}
    seldom |= {f"wait: {word}" for word in ("preempts false", "queue max", "reservation", "value", "max victims")}
    seldom |= {f"start: fits {word}" for word in ("beside", "in time")} | {"dearer, but fewer"}
    words = ("not running", "asks not to be", "is sensitive", "near completion", "class", "no checkpoint")
    seldom |= {f"protected: {word}" for word in (*words, "service at home")}
    assert {rule: found[rule] for rule, least in often.items() if found[rule] < least} == {}
    assert [rule for rule in sorted(seldom) if found[rule] < 3] == []


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_referee_itself_decides_the_known_cases(path: Path) -> None:
    vector: Any = json.loads(path.read_text(encoding="utf-8"))
    document, expect = vector["cluster"], vector["expect"]
    edition = document["doctrine"]["edition"]
    answers = lattice_core.plan(document) if edition == "core" else lattice_policy.plan(document)
    taken = {name for answer in answers.values() for name in answer.victims}

    assert taken == set(expect.get("victims", taken))
    assert sorted(taken) in [sorted(names) for names in expect.get("victims_any_of", [sorted(taken)])]
    for name, wanted in expect.get("actions", {}).items():
        assert answers[name].action in ([wanted] if isinstance(wanted, str) else wanted)
    for name, nodes in expect.get("nodes", {}).items() if edition == "core" else ():
        site = read(document)
        assert lattice_core_places.place(site, site.works[name]) == nodes
