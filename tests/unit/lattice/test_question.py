"""What either edition asks of the exact solver about one of its decisions, and what the solver answers."""

from __future__ import annotations

import pytest

import cede
from cede.doctrines.lattice.question import question
from cede.doctrines.parts.cost import PARTS
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.question import Question
from tests.properties.lattice_clusters import cluster as drawn
from tests.unit.lattice.small import FREE, NONE, core, node, nodes, policy, vcluster, wants, whole

A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
TWO = (whole("one", "n1"), whole("two", "n2"), whole("both", "n3 n4", checkpoint={"mode": "auto", "time": "11m"}))
LARGE = (*nodes("n1 n2 n3 n4"), A, *TWO, wants("in", 2, priority=8, walltime="1h"))


def asked(cluster: cede.Cluster, workload: str = "in") -> Question | None:
    plan = cede.plan(cluster)
    made = plan.of(workload)
    assert made is not None
    return question(cluster.state, plan.edition, made)


def weights(cluster: cede.Cluster, found: Question) -> dict[str, float]:
    names = [cluster.state.work_names[row] for row in found.rows.tolist()]
    return {name: weight / found.scale for name, weight in zip(names, found.weights.tolist(), strict=True)}


def test_the_policy_asks_for_the_least_cost_within_its_limits() -> None:
    cluster = policy(*LARGE)
    found = asked(cluster)
    assert found is not None

    assert weights(cluster, found) == {"one": 5, "two": 5, "both": 11}
    assert (found.objective, found.unit, found.places, found.by_order, found.relaxed) == (
        "cost",
        "min",
        True,
        False,
        (),
    )
    limits = {condition.what: condition.high for condition in found.conditions}
    assert limits == {"max_victims": 3, "the claimant's value": 8 / 10 * 2 * 4 * 60 * PARTS - 1}


def test_limits_that_bind_nobody_are_not_asked_about() -> None:
    lent = (*nodes("n1 n2", "a"), A, B, whole("x", "n1 n2", queue="b"), wants("in", 2, queue="a", priority=8))
    found = asked(policy(*lent))

    assert found is not None
    assert found.conditions == ()
    free = asked(policy(*LARGE, **FREE))
    assert free is not None
    assert [condition.what for condition in free.conditions] == ["max_victims"]


def test_the_library_asks_for_freed_nodes_whether_or_not_the_claimant_fits_there() -> None:
    cluster = core(*LARGE)
    found = asked(cluster)
    assert found is not None

    assert weights(cluster, found) == {"one": 5, "two": 5, "both": 5}
    assert not found.places
    freed, most = found.conditions
    assert (freed.what, freed.low, sorted(freed.adds.tolist())) == ("nodes freed", 2, [1, 1, 2])
    assert (most.what, most.high) == ("max_victims", 3)


def test_who_preempts_nobody_is_not_asked_about() -> None:
    assert asked(policy(node(), A, wants("in"))) is None
    assert asked(policy(node(), A, whole("old", "n1", priority=7, checkpoint=NONE), wants("in", priority=8))) is None


def test_the_solver_finds_what_is_cheaper_than_the_set_that_is_preferred() -> None:
    """The policy takes one victim for 11 min; two would cost 10."""
    cluster = policy(*LARGE)
    found = asked(cluster)
    assert found is not None
    answer = solve(cluster.state, found)

    assert (answer.value, answer.bound, answer.proven) == (10 * PARTS, 10 * PARTS, True)
    assert cede.plan(cluster).victims == {"both"}


def test_a_plan_never_costs_more_than_a_tenth_above_what_is_proven() -> None:
    """Asked about the first that preempts, which finds the cluster as the file has it."""
    seen = 0
    for seed in range(60):
        loaded = cede.load(drawn(seed, "policy", ["close"]))
        plan = cede.plan(loaded)
        made = next((made for made in plan.decisions if made.action != "wait"), None)
        if made is None or made.action != "preempt" or plan.decisions[0] != made:
            continue
        found = question(loaded.state, plan.edition, made)
        assert found is not None
        answer = solve(loaded.state, found)
        cost = sum(weights(loaded, found)[victim.workload] for victim in made.victims) * PARTS
        assert answer.proven
        assert answer.bound <= cost + 0.5
        assert 10 * cost <= 11 * answer.bound + 10
        seen += 1
    assert seen >= 15


def test_a_certificate_names_the_cheaper_set_and_the_gap() -> None:
    """Fewer victims within a tenth are preferred, so that a plan of the policy may have a gap of up to 1/11."""
    [preferred] = cede.plan(policy(*LARGE), certify=10).decisions
    [cheapest] = cede.plan(core(*LARGE), certify=10).decisions
    assert preferred.certificate is not None
    assert cheapest.certificate is not None

    found = preferred.certificate.to_dict()
    assert (found["value"], found["bound"], found["optimal"], found["better"]) == (11, 10, False, ["one", "two"])
    assert found["gap"] == pytest.approx(1 / 11, abs=1e-6)
    assert cheapest.certificate.to_dict()["optimal"] is True


def test_the_librarys_own_cost_is_not_taken_for_the_cost_that_plans_tell() -> None:
    """An hour on four GPUs is 60 minutes to the library, and 240 in the plan."""
    unsaved = whole("old", "n1", started=-3600, checkpoint=NONE)
    [made] = cede.plan(core(node(), A, unsaved, wants("in", priority=8)), certify=10).decisions
    own = made.certificate
    assert own is not None
    assert own.cost is not None

    assert (own.objective, own.value, own.optimal) == ("cost by the library", 60, True)
    assert (own.cost.objective, own.cost.value, own.cost.optimal) == ("cost", 240, True)
    assert [victim.cost for victim in made.victims] == [240]
