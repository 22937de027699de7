"""Every rule of the doctrine fires somewhere, and says why in one sentence with its numbers."""

import pytest

import cede
from cede.doctrines.kueue.rules import RULES
from tests.unit.kueue.rule_cases import CASES, ORDERS

RULE_NAMES = [rule.name for rule in RULES]


def sentences(made: cede.Decision) -> set[tuple[str | None, str, str]]:
    """Whom each sentence of a decision is about, its rule, and the sentence."""
    found: set[tuple[str | None, str, str]] = {(None, made.rule, made.why)}
    found |= {(made.workload, warning.rule, warning.why) for warning in made.warnings}
    return found | {(one.workload, one.rule, one.why) for one in made.candidates or ()}


@pytest.mark.parametrize("name", CASES)
def test_the_rule_says_why(name: str) -> None:
    case = CASES[name]

    made = cede.plan(case.cluster, explain=True).of(case.decided)

    assert made is not None
    assert (case.about, f"kueue.{name}", case.said) in sentences(made)


@pytest.mark.parametrize("name", ["queue-order", "entry-order", "fair-order"])
def test_the_queue_is_in_order(name: str) -> None:
    cluster, order = ORDERS[name]

    assert [made.workload for made in cede.plan(cluster).decisions] == order


@pytest.mark.parametrize("name", ["victim-order", "tournament"])
def test_victims_are_taken_in_order(name: str) -> None:
    cluster, order = ORDERS[name]

    [made] = cede.plan(cluster).decisions

    assert [victim.workload for victim in made.victims] == order


def test_every_rule_has_a_case() -> None:
    assert set(RULE_NAMES) == set(CASES) | set(ORDERS)


@pytest.mark.parametrize("name", CASES)
def test_a_lawful_plan_makes_the_case(name: str) -> None:
    cluster = CASES[name].cluster

    assert cede.verify(cluster, cede.plan(cluster)) == []


@pytest.mark.parametrize("name", RULE_NAMES)
def test_the_rule_can_be_told_without_a_case(name: str) -> None:
    """In a list of rules the numbers are shown as placeholders."""
    text = RULES[name].general()

    assert text
    assert "{" not in text
