"""Every decision under Lattice says why: sentences without gaps, rules of the edition, verdicts that agree with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.doctrines.lattice.candidates import REASONS
from cede.doctrines.lattice.rules import RULES
from cede.model.plan import VERDICTS
from tests.properties.documents import LATTICE, documents, sentences
from tests.sampling import examples

pytestmark = pytest.mark.parametrize("edition", LATTICE)
FEW = examples(40)
RULE_IDS = {rule.id: rule for rule in RULES}
KINDS = {"start": "admits", "preempt": "admits", "wait": "waits", "refuse": "refuses"}
OF_RULE = {rule.id: reason for rule, reason in REASONS.items()}


@FEW
@given(data=st.data())
def test_every_sentence_is_filled_in_and_every_rule_is_one_of_the_edition(edition: str, data: DataObject) -> None:
    plan = cede.plan(cede.load(data.draw(documents(edition))), explain=True)

    for rule, why in sentences(plan):
        assert why
        assert not set("‹›{}") & set(why)
        assert rule is None or edition in (RULE_IDS[rule].editions or LATTICE)
    for made in plan.decisions:
        assert RULE_IDS[made.rule].kind == KINDS[made.action]
        assert not made.warnings or (edition == "core" and made.action == "preempt")
        assert all(RULE_IDS[warning.rule].kind == "warns" for warning in made.warnings)


@FEW
@given(data=st.data())
def test_verdicts_agree_with_the_decision(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))
    holds = {w["name"] for w in document["workloads"] if w.get("state", "pending") not in ("pending", "suspended")}
    gone: set[str] = set()
    booked: set[str | None] = set()

    for made in cede.plan(cede.load(document), explain=True).decisions:
        names = [victim.workload for victim in made.victims]
        verdicts = {one.workload: one.verdict for one in made.candidates or ()}
        assert {name for name, verdict in verdicts.items() if verdict == "victim"} == set(names)
        assert set(verdicts.values()) <= set(VERDICTS)
        assert verdicts.keys() <= (holds | booked) - gone, "looked at, but holds nothing"
        assert len(names) == len(set(names))
        gone |= set(names)
        if made.action in ("start", "preempt"):
            booked.add(made.workload)


@FEW
@given(data=st.data())
def test_the_reason_of_a_victim_is_the_word_for_its_rule(edition: str, data: DataObject) -> None:
    for made in cede.plan(cede.load(data.draw(documents(edition)))).decisions:
        for victim in made.victims:
            assert victim.rule is not None
            assert victim.reason == OF_RULE[victim.rule]
            assert victim.fate == "requeued"
        assert not made.victims or made.rule in {victim.rule for victim in made.victims}


@FEW
@given(data=st.data())
def test_the_account_says_what_the_victims_cost(edition: str, data: DataObject) -> None:
    for made in cede.plan(cede.load(data.draw(documents(edition))), explain=True).decisions:
        assert (made.account is not None) is (made.action == "preempt")
        if made.account is not None:
            assert "cost" in made.account
