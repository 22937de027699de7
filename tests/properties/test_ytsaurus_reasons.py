"""Every decision under YTsaurus says why: sentences without gaps, rules of the edition, verdicts that agree with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.doctrines.ytsaurus.rules import RULES
from cede.model.plan import VERDICTS
from tests.properties.documents import YTSAURUS, Document, documents, sentences
from tests.properties.ytsaurus_clusters import cluster
from tests.sampling import examples

pytestmark = pytest.mark.parametrize("edition", YTSAURUS)
FEW = examples(80)
RULE_IDS = {rule.id: rule for rule in RULES}
KINDS = {"start": "admits", "preempt": "admits", "wait": "waits", "refuse": "refuses"}
SEVERAL_FROM_ONE_LOOK = (4, 39, 49, 991)
"""Clusters where limits take somebody right after a start, an overcommitted node or another limit did."""


@FEW
@given(data=st.data())
def test_every_sentence_is_filled_in_and_every_rule_is_one_of_the_edition(edition: str, data: DataObject) -> None:
    plan = cede.plan(cede.load(data.draw(documents(edition))), explain=True)

    for rule, why in sentences(plan):
        assert why
        assert not set("‹›{}") & set(why)
        assert rule is None or edition in (RULE_IDS[rule].editions or YTSAURUS)
    for made in plan.decisions:
        assert RULE_IDS[made.rule].kind == KINDS[made.action]
        assert not made.warnings or (edition == "25.4" and made.action == "preempt")
        assert all(RULE_IDS[warning.rule].kind == "warns" for warning in made.warnings)


@FEW
@given(data=st.data())
def test_verdicts_agree_with_the_decision(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))
    holds = {w["name"] for w in document["workloads"] if w.get("state", "pending") not in ("pending", "suspended")}
    plan = cede.plan(cede.load(document), explain=True)
    booked: set[str | None] = set()

    for made in plan.decisions:
        assert made.candidates is not None
        verdicts = {one.workload: one.verdict for one in made.candidates}
        assert len(verdicts) == len(made.candidates)
        assert {name for name, verdict in verdicts.items() if verdict == "victim"} == {v.workload for v in made.victims}
        assert set(verdicts.values()) <= set(VERDICTS)
        assert verdicts.keys() <= holds | booked, "looked at, but holds nothing"
        if made.action in ("start", "preempt"):
            booked.add(made.workload)


@FEW
@given(data=st.data())
def test_nobody_goes_twice_and_nobody_goes_who_was_gone(edition: str, data: DataObject) -> None:
    nobody_goes_twice(data.draw(documents(edition)))


@pytest.mark.parametrize("seed", SEVERAL_FROM_ONE_LOOK)
def test_nobody_goes_twice_where_one_look_at_a_node_gives_several_decisions(edition: str, seed: int) -> None:
    nobody_goes_twice(cluster(seed, edition))


def nobody_goes_twice(document: Document) -> None:
    plan = cede.plan(cede.load(document), explain=True)
    gone: set[str] = set()

    for made in plan.decisions:
        names = [victim.workload for victim in made.victims]
        assert len(names) == len(set(names))
        assert not gone & set(names)
        if made.action == "preempt":
            assert not gone & {one.workload for one in made.candidates or ()}, "told of, but gone before"
        gone |= set(names)
