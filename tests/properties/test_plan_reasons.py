"""Every decision says why, and what it says is true: verdicts, sentences and the nearest miss."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.doctrines.backendai.rules import RULES
from cede.doctrines.parts import misses
from cede.model.plan import VERDICTS
from tests.properties.documents import EDITIONS, alone, documents, without

pytestmark = pytest.mark.parametrize("edition", EDITIONS)
FEW = settings(max_examples=80)
RULE_IDS = {rule.id: rule for rule in RULES}


def sentences(plan: cede.Plan) -> Iterator[tuple[str | None, str]]:
    """Every rule that a plan names, with its sentence."""
    for made in plan.decisions:
        yield made.rule, made.why
        yield from ((warning.rule, warning.why) for warning in made.warnings)
        yield from ((miss.rule, miss.why) for miss in made.nearest_miss)
        yield from ((candidate.rule, candidate.why) for candidate in made.candidates or ())


@FEW
@given(data=st.data())
def test_every_sentence_is_filled_in_and_every_rule_is_one_of_the_editions(edition: str, data: DataObject) -> None:
    plan = cede.plan(cede.load(data.draw(documents(edition))), explain=True)

    for rule, why in sentences(plan):
        assert why
        assert not set("‹›{}") & set(why)
        assert rule is None or edition in (RULE_IDS[rule].editions or EDITIONS)
    for made in plan.decisions:
        assert not made.warnings or (edition == "26.8" and made.action == "preempt")
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


@FEW
@given(data=st.data())
def test_what_waits_has_a_rule_and_a_nearest_miss_that_makes_room(edition: str, data: DataObject) -> None:
    document = data.draw(documents(edition))
    running = {w["name"] for w in document["workloads"] if w.get("state") in ("running", "checkpointing")}

    for made in cede.plan(cede.load(document)).decisions:
        if made.action != "wait" or (found := alone(document, str(made.workload))).action != "wait":
            continue
        missing = {miss.workload for miss in found.nearest_miss}
        assert RULE_IDS[found.rule].kind == "waits"
        assert missing <= running
        if missing:
            assert alone(without(document, missing), str(made.workload)).action == "start"
        elif not any(node.get("reserved_for") in running for node in document["nodes"]):
            assert alone(without(document, running), str(made.workload)).action != "start"


@settings(max_examples=60)
@given(data=st.data())
def test_a_nearest_miss_on_a_crowded_node_makes_room_too(edition: str, data: DataObject) -> None:
    """Where a node has too many residents to try every set, the largest are taken first; here that are two."""
    document = data.draw(documents(edition))

    with patch.object(misses, "SMALL", 1), patch.object(misses, "LOOKED", 1):
        for made in cede.plan(cede.load(document)).decisions:
            found = alone(document, str(made.workload))
            missing = {miss.workload for miss in found.nearest_miss}
            if missing:
                assert alone(without(document, missing), str(made.workload)).action == "start"


@FEW
@given(data=st.data())
def test_a_nearest_miss_names_nobody_who_could_stay(edition: str, data: DataObject) -> None:
    """Members of different size apart, whose fit is not judged one removal at a time in release 26.8."""
    document = data.draw(documents(edition))
    whole = {w["name"] for w in document["workloads"] if "pod_sets" not in w}

    for made in cede.plan(cede.load(document)).decisions:
        if made.workload not in whole or not made.nearest_miss:
            continue
        missing = {miss.workload for miss in alone(document, str(made.workload)).nearest_miss}
        for name in missing:
            assert alone(without(document, missing - {name}), str(made.workload)).action != "start"
