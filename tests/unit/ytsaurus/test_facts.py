"""The facts of YTsaurus's own tests, each worked out by the doctrine on an equal cluster.

Facts about settings are in test_settings, those about what is accepted in test_validation.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import cede
from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.preemption_status import GROUPS, group_allocations
from cede.doctrines.ytsaurus.satisfaction import satisfaction
from cede.doctrines.ytsaurus.starvation import Memory
from cede.doctrines.ytsaurus.update import Update
from tests.unit.ytsaurus.fact_files import (
    FACTS,
    Fact,
    by_name,
    document,
    element,
    facts_of,
    named,
    operation_row,
    pool_row,
    updated,
)

TOLERANCE = 2e-7
ELSEWHERE = {"effective_settings", "config_validation"}
HERE = {
    *("fair_share", "integral_volume", "satisfaction", "allocation_groups", "weights", "scheduling_order"),
    *("scheduling_priority", "snapshot"),
}
SHARES = ("demand_share", "fair_share", "promised_guarantee_fair_share", "parts")


def test_every_kind_of_fact_has_a_test() -> None:
    assert {fact["kind"] for fact in FACTS} == HERE | ELSEWHERE
    assert {key for fact in facts_of("fair_share") for key in fact["expect"]} == set(SHARES)


def same(found: Mapping[str, float], wanted: Mapping[str, float], fact: Fact, scale: float = 1.0) -> bool:
    """Whether two vectors are equal where the fact compares them; what it does not name is 0."""
    names = fact.get("compare_resources", found)
    return all(abs(found[name] - wanted.get(name, 0)) <= TOLERANCE * scale for name in names)


@pytest.mark.parametrize("fact", facts_of("fair_share"), ids=named)
def test_shares_are_those_of_the_fact(fact: Fact) -> None:
    update, expect = updated(fact), fact["expect"]

    for name, share in expect.get("fair_share", {}).items():
        assert same(element(update, name, update.pool_fair, update.op_fair), share, fact), name
    for name, share in expect.get("demand_share", {}).items():
        assert same(element(update, name, update.pool_demand, update.op_demand), share, fact), name
    for name, parts in expect.get("parts", {}).items():
        found = parts_of(update, name)
        assert all(same(found[part], parts[part], fact) for part in parts), (name, found)
    for name, share in expect.get("promised_guarantee_fair_share", {}).items():
        if name != "<Root>":
            assert same(element(update, name, promised_to_pools(update), update.op_promised), share, fact), name


def parts_of(update: Update, name: str) -> dict[str, dict[str, float]]:
    """What of a pool's share is guaranteed strongly, what integrally, and what came by weight."""
    row = pool_row(update, name)
    share = update.pool_fair[row]
    strong = np.minimum(share, update.strong[row])
    integral = np.minimum(share - strong, update.integral[row])
    parts = {"strong": strong, "integral": integral, "weight": share - strong - integral}
    return {part: by_name(update, vector) for part, vector in parts.items()}


def promised_to_pools(update: Update) -> Floats:
    """Of a pool: the sum of what is promised below it."""
    found = np.zeros_like(update.pool_fair)
    for operation, pool in enumerate(update.operations.pool):
        found[update.pools.paths[pool]] += update.op_promised[operation]
    return found


@pytest.mark.parametrize("fact", facts_of("integral_volume"), ids=named)
def test_volumes_are_those_of_the_fact(fact: Fact) -> None:
    memory = Memory()
    update = updated(fact, memory)

    for name, volume in fact["expect"]["volume"].items():
        found = by_name(update, np.array(memory.volumes[name]))
        assert same(found, volume, fact, scale=max(volume.values())), name


@pytest.mark.parametrize("fact", facts_of("weights"), ids=named)
def test_weights_are_those_of_the_fact(fact: Fact) -> None:
    update = updated(fact)

    found = {name: float(update.fair.weights[pool_row(update, name)]) for name in fact["expect"]["weight"]}

    assert found == pytest.approx(fact["expect"]["weight"], abs=TOLERANCE)


@pytest.mark.parametrize("fact", facts_of("satisfaction"), ids=named)
def test_satisfaction_follows_usage_after_the_update(fact: Fact) -> None:
    update = updated(fact)
    later = np.zeros_like(update.op_usage)
    names = [update.state.units.names[column] for column in update.pools.columns]
    for name, usage in fact["usage_after_update"].items():
        row = operation_row(update, name)
        later[row] = shares_of(np.array([usage.get(one, 0) for one in names], float), _total(fact, names))
    pools = np.zeros_like(update.pool_usage)
    for operation, pool in enumerate(update.operations.pool):
        pools[update.pools.paths[pool]] += later[operation]

    of_operations = satisfaction(later, update.op_fair, update.op_demand)[:, None]
    of_pools = satisfaction(pools, update.pool_fair, update.pool_demand)[:, None]

    for name, wanted in fact["expect"]["local_satisfaction"].items():
        is_pool = name in update.state.tree.index
        found = of_pools[pool_row(update, name)] if is_pool else of_operations[operation_row(update, name)]
        assert found[0] == pytest.approx(wanted, abs=TOLERANCE), name


def _total(fact: Fact, names: list[str]) -> Floats:
    return np.array([fact["total"].get(name, 0) for name in names], float)


@pytest.mark.parametrize("fact", facts_of("allocation_groups"), ids=named)
def test_groups_are_cut_as_the_fact_says(fact: Fact) -> None:
    running = [{"id": f"w{at}", "node": "n1", "start": at} for at in range(fact["running_count"])]
    alone = {"id": "op", "pool": None, "allocation": fact["allocation"], "pending": fact["pending_count"]}
    update = updated({**fact, "operations": [{**alone, "running": running}]})
    amount, units = update.operation_usage.amount.copy(), update.state.units
    for number, usage in fact["usage_after_update"].items():
        row = update.state.work_index[f"w{number}"]
        for at, column in enumerate(update.pools.columns):
            amount[row, at] = usage.get(units.names[column], 0) * 10**9 // units.nano[column]

    found = group_allocations(update, update.operation_usage.lists_of([0]), [0], amount)

    assert [update.state.work_names[row] for row in found.rows] == [one["id"] for one in running]
    for group, (begin, end) in fact["expect"]["ranges"].items():
        assert [at for at, code in enumerate(found.group) if GROUPS[code] == group] == list(range(begin, end))


@pytest.mark.parametrize("fact", facts_of("scheduling_order"), ids=named)
def test_operations_start_in_the_order_of_the_fact(fact: Fact) -> None:
    plan = cede.plan(cede.load(document(fact)))

    assert [str(made.workload).partition("/")[0] for made in plan.decisions] == fact["expect"]["order"]
    assert {made.action for made in plan.decisions} == {"start"}


@pytest.mark.parametrize("fact", facts_of("scheduling_priority"), ids=named)
def test_operations_below_what_they_are_promised_start_first(fact: Fact) -> None:
    expect = fact["expect"]
    first = [str(made.workload).partition("/")[0] for made in cede.plan(cede.load(document(fact))).decisions]

    assert first[: len(expect["high"])] == expect["high_order"]
    assert set(first[len(expect["high"]) :]) == set(expect["medium"])

    fact = {**fact, "tree_config": {"enable_guarantee_priority_scheduling": False}}
    plain = [str(made.workload).partition("/")[0] for made in cede.plan(cede.load(document(fact))).decisions]
    assert plain != first, "without the option the least satisfied one comes first"


@pytest.mark.parametrize("fact", facts_of("snapshot"), ids=named)
def test_a_snapshot_is_the_one_of_the_fact(fact: Fact) -> None:
    update, expect = updated(fact), fact["expect"]

    for name, share in expect["fair_share"].items():
        assert same(element(update, name, update.pool_fair, update.op_fair), share, fact), name
    for name, wanted in expect["local_satisfaction"].items():
        is_pool = name in update.state.tree.index
        found = update.pool_local[pool_row(update, name)] if is_pool else update.op_local[operation_row(update, name)]
        assert found == pytest.approx(wanted, abs=TOLERANCE), name
    plan = cede.plan(cede.load(document(fact)), shares=True).to_dict()
    shown = plan["queues"] | plan["apps"]
    assert {name: shown[name]["status"] for name in expect["status"]} == expect["status"]
    for name, first in expect["group_first_preemptible"].items():
        [entry] = [one for one in fact["operations"] if one["id"] == name]
        groups = [plan["workloads"][one["id"]] for one in entry["running"]]
        assert groups.index("preemptible") == first
        assert set(groups[first:]) == {"preemptible"}
