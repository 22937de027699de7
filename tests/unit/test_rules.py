"""Every rule of every doctrine fires somewhere, and says why in one sentence with its numbers."""

import pytest

import cede
from cede.doctrines.catalog import BUILT, find
from tests.rule_case import Case, Order, explained
from tests.unit.backendai import rule_cases as backendai
from tests.unit.kubernetes import rule_cases as kubernetes
from tests.unit.kueue import rule_cases as kueue
from tests.unit.lattice import rule_cases as lattice
from tests.unit.ytsaurus import rule_cases as ytsaurus
from tests.unit.yunikorn import rule_cases as yunikorn

CASES: dict[str, dict[str, Case]] = {
    "backendai": backendai.CASES,
    "kubernetes": kubernetes.CASES,
    "kueue": kueue.CASES,
    "lattice": lattice.CASES,
    "yunikorn": yunikorn.CASES,
    "ytsaurus": ytsaurus.CASES,
}
ORDERS: dict[str, dict[str, Order]] = {
    "backendai": backendai.ORDERS,
    "kubernetes": kubernetes.ORDERS,
    "kueue": kueue.ORDERS,
    "lattice": lattice.ORDERS,
    "yunikorn": yunikorn.ORDERS,
    "ytsaurus": ytsaurus.ORDERS,
}
OF_VICTIMS = (
    *("victim-order", "victim-walk", "tournament", "cut-order", "victim-set", "cost-order"),
    *("node-score", "reprieve-order", "node-choice"),
)

cases = pytest.mark.parametrize(("doctrine", "name"), [(one, name) for one, all_ in CASES.items() for name in all_])
orders = pytest.mark.parametrize(("doctrine", "name"), [(one, name) for one, all_ in ORDERS.items() for name in all_])


def sentences(made: cede.Decision) -> set[tuple[str | None, str, str]]:
    """Whom each sentence of a decision is about, its rule, and the sentence."""
    found: set[tuple[str | None, str, str]] = {(None, made.rule, made.why)}
    found |= {(made.workload, warning.rule, warning.why) for warning in made.warnings}
    return found | {(one.workload, one.rule, one.why) for one in made.candidates or ()}


@cases
def test_the_rule_says_why_in_a_lawful_plan(doctrine: str, name: str) -> None:
    case = CASES[doctrine][name]
    plan = explained(case)

    [made] = [made for made in plan.decisions if made.workload == case.decided]

    assert (case.about, f"{doctrine}.{name}", case.said) in sentences(made)
    first = cede.plan(case.cluster) if case.second else plan
    assert cede.verify(case.cluster, first) == []


@orders
def test_things_are_in_order(doctrine: str, name: str) -> None:
    cluster, order = ORDERS[doctrine][name]
    decisions = cede.plan(cluster).decisions

    victims = [victim.workload for made in decisions for victim in made.victims]
    assert (victims if name in OF_VICTIMS else [made.workload for made in decisions]) == order


@pytest.mark.parametrize("doctrine", BUILT)
def test_every_rule_has_a_case(doctrine: str) -> None:
    assert {rule.name for rule in find(doctrine).rules} == set(CASES[doctrine]) | set(ORDERS[doctrine])


@pytest.mark.parametrize("doctrine", BUILT)
def test_a_rule_speaks_only_in_its_editions(doctrine: str) -> None:
    found = find(doctrine)
    clusters = {name: case.cluster for name, case in CASES[doctrine].items()}
    for name, cluster in (clusters | {name: case[0] for name, case in ORDERS[doctrine].items()}).items():
        choice = cluster.document.doctrine

        assert choice is not None
        assert choice.edition in (found.rules[name].editions or found.editions), name


@pytest.mark.parametrize("doctrine", BUILT)
def test_every_rule_can_be_told_without_a_case(doctrine: str) -> None:
    """In a list of rules the numbers are shown as placeholders."""
    for rule in find(doctrine).rules:
        assert rule.general()
        assert "{" not in rule.general()
