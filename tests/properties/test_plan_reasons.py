"""Every decision says why, and what it says is true: verdicts, sentences and the nearest miss."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.doctrines.backendai.rules import ROLLED_BACK, RULES
from cede.doctrines.parts import nearest_miss
from cede.model.plan import VERDICTS
from tests.properties.documents import EDITIONS, Document, at_its_turn, decision, documents, sentences, without
from tests.sampling import examples

pytestmark = pytest.mark.parametrize("edition", EDITIONS)
FEW = examples(80)
RULE_IDS = {rule.id: rule for rule in RULES}


@FEW
@given(data=st.data())
def test_every_sentence_is_filled_in_and_every_rule_is_one_of_the_editions(edition: str, data: DataObject) -> None:
    plan = cede.plan(cede.load(data.draw(documents(edition))), explain=True)

    for rule, why in sentences(plan):
        assert why
        assert not set("‹›{}") & set(why)
        assert rule is None or edition in (RULE_IDS[rule].editions or EDITIONS)
    for made in plan.decisions:
        assert not made.warnings or (edition == "26.8" and made.action in ("preempt", "wait"))
        assert all(RULE_IDS[warning.rule].kind == "warns" for warning in made.warnings)


@FEW
@given(data=st.data())
def test_verdicts_agree_with_the_decision(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))
    states = {workload["name"]: workload.get("state", "pending") for workload in document["workloads"]}
    plan = cede.plan(cede.load(document), explain=True)
    booked: set[str | None] = set()

    for made in plan.decisions:
        assert made.candidates is not None
        verdicts = {one.workload: one.verdict for one in made.candidates}
        assert len(verdicts) == len(made.candidates)
        assert {name for name, verdict in verdicts.items() if verdict == "victim"} == {v.workload for v in made.victims}
        assert set(verdicts.values()) <= set(VERDICTS)
        for name in verdicts:
            assert states[name] not in ("pending", "suspended") or name in booked, "looked at, but holds nothing"
        if made.action == "preempt":
            assert "not-enough" not in {one.rule.partition(".")[2] for one in made.candidates}
        if made.action == "wait":
            assert "not-needed" not in {one.rule.partition(".")[2] for one in made.candidates}
        if made.action in ("start", "preempt"):
            booked.add(made.workload)


def judged(edition: str, document: Document, plan: cede.Plan) -> Iterator[tuple[cede.Decision, Document]]:
    """What waits, with the cluster at its turn. In 26.8 members of different size fit or not by what came before, and
    a plan does not show what was rolled back at the end."""
    if any(made.rule == ROLLED_BACK.id for made in plan.decisions):
        return
    parts = {workload["name"] for workload in document["workloads"] if "pod_sets" in workload}
    for made in plan.decisions:
        if made.action == "wait" and not (edition == "26.8" and made.workload in parts):
            yield made, at_its_turn(document, plan, str(made.workload))


@FEW
@given(data=st.data())
def test_what_waits_has_a_rule_and_a_nearest_miss_that_makes_room(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))

    for made, found in judged(edition, document, cede.plan(cede.load(document))):
        name, missing = str(made.workload), {miss.workload for miss in made.nearest_miss}
        running = {w["name"] for w in found["workloads"] if w.get("state") in ("running", "checkpointing")}
        here = running & {w["name"] for w in document["workloads"] if w.get("state") in ("running", "checkpointing")}
        kept = any(node.get("reserved_for") in here for node in found["nodes"])
        assert RULE_IDS[made.rule].kind == "waits"
        assert missing <= here
        if missing:
            assert decision(without(found, missing), name).action == "start"
        elif made.rule != "backendai.blocked-by-head" and not kept:
            assert decision(without(found, here), name).action != "start"


@examples(60)
@given(data=st.data())
def test_a_nearest_miss_on_a_crowded_node_makes_room_too(edition: str, data: DataObject) -> None:
    """Where a node has too many residents to try every set, the largest are taken first; here that are two."""
    document = data.draw(documents(edition))

    with patch.object(nearest_miss, "SMALL", 1), patch.object(nearest_miss, "LOOKED", 1):
        plan = cede.plan(cede.load(document))
    for made, found in judged(edition, document, plan):
        missing = {miss.workload for miss in made.nearest_miss}
        if missing:
            assert decision(without(found, missing), str(made.workload)).action == "start"


@FEW
@given(data=st.data())
def test_a_nearest_miss_names_nobody_who_could_stay(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))

    for made, found in judged(edition, document, cede.plan(cede.load(document))):
        missing = {miss.workload for miss in made.nearest_miss}
        for name in missing:
            assert decision(without(found, missing - {name}), str(made.workload)).action != "start"
