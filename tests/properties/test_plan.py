"""What holds for the plan of every cluster, in every edition, as far as the edition promises it."""

import json
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.model.plan import ACTIONS
from tests.properties.documents import (
    EDITIONS,
    EVERY,
    at_its_turn,
    decision,
    documents,
    fingerprint,
    shuffled,
    without,
)
from tests.referees.reading import read
from tests.sampling import examples

backendai = pytest.mark.parametrize("edition", EDITIONS)
every_doctrine = pytest.mark.parametrize("edition", EVERY)
FEW = examples(80)


@every_doctrine
@FEW
@given(data=st.data())
def test_the_plan_is_lawful_and_decides_once_about_all_that_wait_and_nobody_else(
    edition: str, data: DataObject
) -> None:
    document = data.draw(documents(edition))
    cluster = cede.load(document)

    plan = cede.plan(cluster)

    assert cede.verify(cluster, plan) == []
    waiting = Counter(w["name"] for w in document["workloads"] if w.get("state", "pending") in ("pending", "suspended"))
    assert Counter(made.workload for made in plan.decisions if made.workload is not None) == waiting
    assert {made.action for made in plan.decisions} <= set(ACTIONS)


@backendai
@FEW
@given(data=st.data())
def test_no_node_is_oversubscribed(edition: str, data: DataObject) -> None:
    """Summed anew from the document: nobody is placed where the sum of all that stand there exceeds the node."""
    document = data.draw(documents(edition))
    plan = cede.plan(cede.load(document))

    board = read(document)
    board.gone |= plan.victims
    board.placed |= {str(made.workload): list(made.nodes) for made in plan.decisions if made.nodes}

    for name, nodes in board.placed.items():
        assert len(nodes) == len(board.works[name].needs), "a gang is placed whole"
        for machine in (board.machines[node] for node in nodes):
            asked = {key for need in board.works[name].needs for key, amount in need.items() if amount}
            assert all(board.free(machine).get(key, 0) >= 0 for key in asked)
            others = [other for other in board.people(machine) if other.name != name]
            assert not any(other.exclusive for other in others)
            assert not (board.works[name].exclusive and others)


@backendai
@FEW
@given(data=st.data())
def test_victims_are_allowed(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))
    plan = cede.plan(cede.load(document))

    board = read(document)
    everyone = [victim.workload for made in plan.decisions for victim in made.victims]
    assert len(everyone) == len(set(everyone)), "nobody is evicted twice"
    for made in plan.decisions:
        for victim in (board.works[one.workload] for one in made.victims):
            claimant = board.works[str(made.workload)]
            assert (victim.state, victim.partition) == ("running", claimant.partition)
            assert victim.kind != "system"
            assert victim.asks("preemptible", True)
            if edition == "bep-1014":
                assert victim.priority < claimant.priority
            else:
                assert victim.job_priority < claimant.job_priority


@backendai
@FEW
@given(data=st.data())
def test_no_victim_is_superfluous_or_a_warning_says_which_one_is(edition: str, data: DataObject) -> None:
    """Release 26.8 spares nobody. Members of different size apart: which of them fit depends on their order there."""
    document = data.draw(documents(edition))
    whole = {w["name"] for w in document["workloads"] if edition == "bep-1014" or "pod_sets" not in w}
    plan = cede.plan(cede.load(document))

    for made in plan.decisions:
        if not made.victims or made.workload not in whole:
            continue
        name, victims = str(made.workload), {victim.workload for victim in made.victims}
        warned = {warning.why.split()[0] for warning in made.warnings if warning.rule.endswith(".needless-victim")}
        for victim in victims:
            rest = without(at_its_turn(document, plan, name), victims - {victim})
            assert (decision(rest, name).action == "start") is (victim in warned)
        assert not (warned and edition == "bep-1014")


@every_doctrine
@FEW
@given(data=st.data())
def test_the_order_of_entries_changes_nothing(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))
    mixed = shuffled(document, Random(data.draw(st.integers(0, 99))))

    plans = [cede.plan(cede.load(one), explain=True, shares=True).to_dict() for one in (document, mixed)]

    assert json.dumps(plans[0]) == json.dumps(plans[1])


@every_doctrine
@FEW
@given(data=st.data())
def test_deciding_changes_nothing_and_deciding_again_decides_the_same_whatever_is_shown(
    edition: str, data: DataObject
) -> None:
    """What is shown besides is plain JSON and changes no decision."""
    cluster = cede.load(data.draw(documents(edition)))
    before = fingerprint(cluster.state)

    plain = cede.plan(cluster)
    first, second = (cede.plan(cluster, explain=True, shares=True) for _ in range(2))

    assert first == second
    assert fingerprint(cluster.state) == before
    without_words = tuple(replace(made, candidates=None, account=None, until=()) for made in first.decisions)
    assert without_words == plain.decisions
    shown = first.to_dict()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


@every_doctrine
@FEW
@given(data=st.data())
def test_asked_for_alone_a_workload_is_decided_as_among_all(edition: str, data: DataObject) -> None:
    """Release 26.8 answers for one that is held up what would become of it if it were its turn."""
    document = data.draw(documents(edition))
    cluster = cede.load(document)

    for made in cede.plan(cluster, explain=True).decisions:
        if made.workload is None:
            continue
        [alone] = cede.plan(cluster, only=made.workload, explain=True).decisions
        assert alone == made or made.rule == "backendai.blocked-by-head"
        assert alone.rule != "backendai.blocked-by-head"
