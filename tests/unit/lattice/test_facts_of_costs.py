"""Facts about what a preemption costs and what a score is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.lattice import score as lattice_score
from cede.doctrines.lattice.core_library import core_costs
from cede.doctrines.lattice.score import Scores
from cede.doctrines.lattice.settings import settings_of
from cede.doctrines.parts.cost import costs_of
from tests.unit.lattice.fact_files import Fact, fact, facts_of, named
from tests.unit.lattice.small import core, node, policy, tenant, vcluster, wants, whole

KINDS = ("preemption_cost", "score_factor")
TOLERANCE = 1e-9
A = vcluster("a", "hpc_batch")


def cluster(one: Fact, edition: Any = core, **capacity: int) -> cede.Cluster:
    """The job of a fact on nodes of its own; as many nodes beside it as make its tenant's share what the fact says."""
    job, usage = one["given"]["job"], one["given"].get("config", {}).get("tenant_usage", {})
    more = {"walltime": f"{job['walltime_min']}m"} if job["walltime_min"] is not None else {}
    more |= {} if job["elapsed_min"] is None else {"started": -60 * job["elapsed_min"]}
    entries = [node(name, **capacity) for name in job["nodes"]]
    for name, limits in usage.items():
        entries.append(tenant(name, share=limits["target"], burst=limits["burst_allowance"]))
        count = round(10 * limits["actual"]) - len(job["nodes"])
        others = [f"o{at}" for at in range(count)]
        entries += [node(other) for other in others] + [whole("others", " ".join(others), tenant=name)]
        entries += [node(f"free{at}") for at in range(10 - count - len(job["nodes"]))]
    common = {"priority": job["class"], "checkpoint": {"mode": job["checkpoint"]}, "tenant": job["tenant"]}
    loaded: cede.Cluster = edition(A, *entries, whole(job["name"], " ".join(job["nodes"]), **common, **more))
    return loaded


@pytest.mark.parametrize("one", [one for one in facts_of("preemption_cost") if "cost" in one["expect"]], ids=named)
def test_the_library_counts_the_cost_of_the_fact(one: Fact) -> None:
    state = cluster(one).state
    row = np.array([state.work_index[one["given"]["job"]["name"]]])

    assert core_costs(state, row) == pytest.approx(one["expect"]["cost"], abs=TOLERANCE)


def test_lost_work_counts_gpus_in_the_document_and_nodes_in_the_library() -> None:
    one = fact("lattice-059")
    state = cluster(one, policy, gpu=one["given"]["gpus_per_node"]).state
    row = np.array([state.work_index["j"]])
    expect = one["expect"]

    costs = costs_of(state, row, settings_of(state).assumed)
    assert costs.lost[0] / 60 == pytest.approx(expect["doc_recompute_gpu_hours"], abs=TOLERANCE)
    progress = float(costs.progress[0])
    assert core_costs(state, row)[0] - progress == pytest.approx(expect["code_recompute_node_minutes"])


# -- score -------------------------------------------------------------------------------------------------------------


def of_factor(given: Fact) -> float:
    """What the doctrine makes of the numbers of a fact."""
    match given["factor"]:
        case "f1":
            return lattice_score.of_class(float(given["class"]))
        case "f2":
            return float(lattice_score.of_wait(float(given["wait_s"]), given["reference_s"]))
        case "f3":
            return lattice_score.of_share(given["target"], given["actual"], given["burst"], given["utilization"])
        case "f4":
            assert lattice_score.of_groups(1, given["max_groups"]) == 0.5
            return lattice_score.of_topology(given["nodes"], given["max_groups"])
        case "f6":
            return lattice_score.of_backlog(given["queued_gpu_h"], given["running_gpu_h"])
        case "f8":
            return pending_factors({"checkpoint": {"mode": given["checkpoint"]}})["checkpoint"]
        case "f9":
            return lattice_score.of_conformance(max(given["groups"].values()), given["requested"], capped=False)
        case "budget":
            return lattice_score.of_budget(given["fraction_used"])
    raise AssertionError(f"no factor {given['factor']}")


def pending_factors(values: dict[str, Any], edition: Any = core) -> dict[str, float]:
    """The factors that are shown of one that waits."""
    plan = cede.plan(edition(A, node(), wants("in", **values)), shares=True)
    found: dict[str, float] = plan.to_dict()["workloads"]["in"]["factors"]
    return found


@pytest.mark.parametrize("one", [one for one in facts_of("score_factor") if "value" in one["expect"]], ids=named)
def test_a_factor_has_the_value_of_the_fact(one: Fact) -> None:
    assert of_factor(one["given"]) == pytest.approx(one["expect"]["value"], abs=TOLERANCE)


def test_what_no_file_says_counts_half() -> None:
    shown = pending_factors({})

    assert (shown["data"], shown["energy"]) == (0.5, 0.5)


def test_the_policy_caps_what_the_library_does_not() -> None:
    """The document takes the sameness of nodes as a share; more nodes than asked for are no bonus."""
    given = fact("lattice-094")["given"]

    assert lattice_score.of_conformance(max(given["groups"].values()), given["requested"], capped=True) == 1.0


def score(given: Fact, weights: dict[str, float]) -> float:
    """The score of one that waits, by these weights alone."""
    owner = tenant("t", used=given["fraction_used"]) if "fraction_used" in given else tenant("t")
    state = core(A, owner, node(), wants("in", priority=given["class"], tenant="t")).state
    scores = Scores(state, settings_of(state), policy=False)
    known = {"class": weights.get("priority", 0.0)}
    scores.weights = np.tile([known.get(name, 0.0) for name in lattice_score.NAMES], (len(scores.weights), 1))
    return float(scores.of(np.array([state.work_index["in"]]))[0])


@pytest.mark.parametrize("number", ["lattice-103", "lattice-104"])
def test_a_score_is_the_weighted_sum_times_the_budgets_multiplier(number: str) -> None:
    one = fact(number)

    assert score(one["given"], one["given"]["weights"]) == pytest.approx(one["expect"]["score"], abs=TOLERANCE)


def test_a_higher_weight_adds_its_share_of_the_factor() -> None:
    one = fact("lattice-105")
    low, high = (score(one["given"], {"priority": one["given"][key]}) for key in ("weight_from", "weight_to"))

    assert high - low == pytest.approx(one["expect"]["score_difference"], abs=TOLERANCE)


def test_every_fact_about_scores_is_one_of_these() -> None:
    scores = {"lattice-103", "lattice-104", "lattice-105"}

    assert {one["id"] for one in facts_of("score_factor") if "value" not in one["expect"]} == scores
    assert {one["id"] for one in facts_of("preemption_cost") if "cost" not in one["expect"]} == {"lattice-059"}


def test_weights_of_the_policy_sum_to_one_and_those_of_the_library_are_as_written() -> None:
    for normalized in (True, False):
        assert lattice_score.weights(normalized=normalized).sum(axis=1) == pytest.approx(1.0)
    ml = [lattice_score.weights(normalized=normalized)[1] for normalized in (True, False)]
    assert ml[0] * 1.05 == pytest.approx([*ml[1][:7], 0.15, ml[1][8]])
